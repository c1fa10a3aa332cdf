"""report.html: one file that needs nothing else, neither a network nor scripts."""

import base64
from html import escape

from .number_text import cell_text
from .report import EMPHASIS, tables_of, text, texts_of

_SHORT = 28  # letters of a text in a cell that stay in one line

_STYLE = """
:root { color: #1c1c1c; background: #fff; }
body { font: 16px/1.5 "DejaVu Sans", Verdana, Arial, sans-serif; max-width: 72rem; margin: 0 auto;
  padding: 1.5rem 1.25rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid #bbb; }
.made { color: #555; margin: 0; }
nav ul { columns: 2 18rem; padding-left: 1.2rem; }
a { color: #004a80; }
li { margin: .25rem 0; }
.scroll { overflow-x: auto; margin: 1.5rem 0 .5rem; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; font-size: 1rem; padding-bottom: .5rem; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top; }
th { vertical-align: bottom; border-bottom: 1px solid #555; }
td { border-bottom: 1px solid #e2e2e2; }
td:first-child { min-width: 9rem; }
td.number { min-width: 0; }
.number { text-align: right; }
td.number, .short { white-space: nowrap; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
.notes { font-size: .8125rem; color: #444; margin: 0 0 1.5rem; padding-left: 1.1rem; max-width: 46rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 1.75rem; }
figure { margin: 0; break-inside: avoid; }
img { width: 100%; height: auto; display: block; }
figcaption { font-size: .8125rem; color: #444; margin-top: .35rem; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  a { color: inherit; text-decoration: none; }
  .scroll { overflow: visible; }
  table, figcaption, .notes { font-size: 8pt; }
  h2, h3, caption { break-after: avoid; }
  tr { break-inside: avoid; }
  .charts { grid-template-columns: 1fr 1fr; gap: 1rem; }
}
"""
# The page can load nothing, whatever its texts hold.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def clean(value):
    """A text of the report as HTML."""
    return escape(text(value))


def _items(texts, css_class=""):
    if not texts:
        return ""
    opening = f'<ul class="{css_class}">' if css_class else "<ul>"
    items = (EMPHASIS.sub(r"<em>\1</em>", clean(one)) for one in texts)
    return opening + "".join(f"<li>{one}</li>" for one in items) + "</ul>\n"


def _findings(report):
    """Those of each series below its label, with which they begin; the others before them."""
    rest, parts = texts_of(report, "findings"), []
    for label in dict.fromkeys(text(series.get("label")) for series in report["series"]):
        own = [one for one in rest if label and one.startswith(f"{label}: ")]
        rest = [one for one in rest if one not in own]
        if own:
            parts.append(f"<h3>{clean(label)}</h3>\n" + _items([one[len(label) + 2 :] for one in own]))
    return _items(rest) + "".join(parts)


def _cell(cell, column, tag="td"):
    show = column.get("show", "text")
    words = column.get("heading") or column.get("key") if tag == "th" else cell_text(cell, show)
    css = ' class="number"' if show != "text" else ' class="short"' if len(text(words)) <= _SHORT else ""
    scope = ' scope="col"' if tag == "th" else ""
    return f"<{tag}{scope}{css}>{clean(words)}</{tag}>"


def table_html(table):
    """A table with its title above and its notes beneath."""
    columns = table["columns"]
    head = "".join(_cell(None, column, "th") for column in columns)
    body = "\n".join(
        "<tr>" + "".join(_cell(cell, column) for cell, column in zip(row, columns)) + "</tr>" for row in table["rows"]
    )
    return (
        f'<div class="scroll"><table>\n<caption>{clean(table.get("title"))}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n"
        + _items(texts_of(table, "notes"), "notes")
    )


def _charts_html(drawn):
    """The charts of one section; a remark stands below the first that it belongs to."""
    shown, figures = set(), []
    for chart, png in drawn:
        figures.append(_chart_html(chart, png, [one for one in chart.remarks if one not in shown]))
        shown.update(chart.remarks)
    return '<div class="charts">\n' + "".join(figures) + "</div>\n"


def _chart_html(chart, png, remarks):
    data = base64.b64encode(png).decode("ascii")
    remarks = clean(" ".join(remarks))
    caption = f"<figcaption>{remarks}</figcaption>" if remarks else ""
    return f'<figure><img alt="{clean(_described(chart))}" src="data:image/png;base64,{data}">{caption}</figure>\n'


def _described(chart):
    """The chart for those who do not see it: its title and values."""
    rows = "; ".join(f"{row[0]}: " + ", ".join(map(" ".join, zip(chart.columns[1:], row[1:]))) for row in chart.rows)
    return f"Chart. {chart.title}. {rows}"


def _sections(report, drawn):
    """[(heading, HTML)]: findings, tables, charts. `drawn` holds (chart, png)."""
    found = _findings(report)
    sections = [("Findings", found)] if found else []
    for heading, tables in tables_of(report):
        sections.append((heading, "".join(map(table_html, tables))))
    for heading in dict.fromkeys(chart.section for chart, _ in drawn):
        members = [(chart, png) for chart, png in drawn if chart.section == heading]
        sections.append((f"Charts: {heading}", _charts_html(members)))
    return sections or [("Nothing to show", "<p>The report holds no tables and nothing to draw.</p>")]


def page(report, drawn):
    """The whole of report.html; `drawn` holds (chart, bytes of its PNG)."""
    title = clean(report.get("title")) or "Scaling report"
    sections = list(enumerate(_sections(report, drawn), 1))
    links = "".join(f'<li><a href="#s{i}">{clean(heading)}</a></li>' for i, (heading, _) in sections)
    body = "".join(
        f'<section id="s{i}"><h2>{clean(heading)}</h2>\n{html}</section>\n' for i, (heading, html) in sections
    )
    made = clean(report.get("made_with"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style></head>\n<body>\n<header><h1>{title}</h1>\n"
        + (f'<p class="made">Made with {made}</p>\n' if made else "")
        + f"</header>\n<nav><ul>{links}</ul></nav>\n<main>\n{body}</main>\n</body></html>\n"
    )
