"""report.html: one file that needs nothing else, neither a network nor scripts."""

import base64
from html import escape

from .number_text import cell_text
from .quantity import is_hollow, ordered
from .report import EMPHASIS, estimate, findings_of, is_own, name_of, tables_of, text, texts_of

_SHORT = 18  # letters of a text in a cell that stay in one line
_SHOWN = 3  # findings of a series
_LOST_IN = {"all_reduce": "exposed all-reduce", "rest": "uneven ranks and time between steps"}
_SUMMARY = {"epoch_seconds": "seconds", "images_per_second": "rate", "speedup": "ratio", "efficiency": "percent"}

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --quiet: #444; --line: #bbb; --link: #004a80; --paper: #fff; }
body { font: 15px/1.45 "DejaVu Sans", Verdana, Arial, sans-serif; max-width: 78rem; margin: 0 auto;
  padding: .75rem 1rem 3rem; overflow-wrap: break-word; color: var(--ink); background: var(--paper); }
header { display: flex; flex-wrap: wrap; align-items: baseline; column-gap: 1rem; }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
.made, .notes, figcaption { color: var(--quiet); margin: 0; }
nav ul { columns: 2 18rem; padding-left: 1.2rem; } li { margin: .2rem 0; } a { color: var(--link); }
summary { cursor: pointer; color: var(--link); margin: .25rem 0 .5rem; }
.headlines { padding-left: 1.1rem; margin: .4rem 0; }
.scroll { overflow-x: auto; margin: 1.5rem 0 .5rem; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; font-size: 1rem; padding-bottom: .5rem; }
th, td { padding: .2rem .6rem .2rem 0; text-align: left; vertical-align: top; }
th { vertical-align: bottom; border-bottom: 1px solid var(--line); }
td { border-bottom: 1px solid color-mix(in srgb, var(--line) 50%, transparent); }
td:first-child { min-width: 8rem; } td.number { min-width: 0; } .number { text-align: right; }
td.number, .short { white-space: nowrap; } td:last-child { white-space: normal; min-width: 4rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
.notes { font-size: .8125rem; margin: 0 0 1.5rem; padding-left: 1.1rem; max-width: 46rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 1.75rem; }
figure { margin: 0; break-inside: avoid; }
img { width: 100%; height: auto; display: block; }
figcaption { font-size: .8125rem; }
@media (min-width: 60rem) {
  #s1 h2 { display: none; }
  #s1 { display: grid; grid-template-columns: 2fr 3fr; column-gap: 1.5rem; }
  #s1 .charts { grid-column: 1 / 3; grid-template-columns: 1fr 1fr; justify-items: center; }
  #s1 .headlines, #s1 .scroll { max-height: 19rem; overflow: auto; margin: .4rem 0; }
  #s1 td, #s1 th { padding-top: .1rem; padding-bottom: .1rem; }
  #s1 img { width: auto; max-width: 100%; max-height: 24rem; }
}
@media (max-width: 40rem) { table { font-size: .7rem; } th, td { padding-right: .35rem; } td:first-child { min-width: 5rem; } }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --quiet: #b4b4b4; --line: #555; --link: #8cc4ff; --paper: #161616; }
  img { filter: invert(.91) hue-rotate(180deg); }
}
@media print {
  :root { --ink: #000; --quiet: #333; --paper: #fff; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, summary { display: none; }
  details::details-content { content-visibility: visible; height: auto; }
  a { color: inherit; text-decoration: none; } img { filter: none; }
  .scroll, #s1 .headlines, #s1 .scroll { overflow: visible; max-height: none; }
  table, figcaption, .notes { font-size: 7.5pt; }
  .short { white-space: normal; } tr { break-inside: avoid; } h2, h3, caption { break-after: avoid; }
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
    """Those of each series below its label, most of them folded; those about the study before them."""
    found = findings_of(report)
    parts = [_items([one.text for one in found if not one.about])]
    for label in dict.fromkeys(one.about for one in found if one.about):
        own = [one.text for one in found if one.about == label]
        more = f"<details><summary>{len(own) - _SHOWN} more</summary>\n{_items(own[_SHOWN:])}</details>\n"
        parts.append(f"<h3>{clean(label)}</h3>\n" + _items(own[:_SHOWN]) + more * (len(own) > _SHOWN))
    return "".join(parts)


def _headline(series):
    """What one looks for first: how far it scales with a core for every thread, and what that cost most."""
    points = [point for point in ordered(series) if estimate(point, "efficiency")]
    found = ([point for point in points if not is_hollow(point)] or points)[-1:]
    if not found or len(points) < 2:
        return ""
    words = f"{int(found[0]['ranks'])} ranks: speedup {estimate(found[0], 'speedup').value:.2f}, "
    words += f"efficiency {100 * estimate(found[0], 'efficiency').value:.1f} %"
    most = text((found[0].get("losses") or {}).get("most"))
    if most:
        words += f"; most lost in {_LOST_IN.get(most, most)}"
    return f"<li><b>{clean(name_of(series))}</b>, {clean(words)}</li>\n"


def _marks(series, point):
    known = {"shares cores": is_hollow(point), "includes warm-up": point.get("includes_warm_up") is True,
             "nothing computed": series.get("processor") == "timed",
             "disturbed": point.get("disturbed") is True, "single run": point.get("repeats") == 1 and is_own(series)}  # fmt: skip
    return ", ".join(word for word, applies in known.items() if applies) or " "


def _summary(report, drawn):
    """Headlines, a table and two charts, which together fill a screen. Returns it and the charts that it shows."""
    rows = []
    for series in report["series"]:
        for point in ordered(series):
            value = [(estimate(point, key) or (None,))[0] for key in _SUMMARY]
            name = name_of(series) if point is ordered(series)[0] else " "
            rows.append([name, point["ranks"], *value, _marks(series, point)])
    headings = ["series", "P", "epoch, s", "images/s", "speedup", "eff., %", "marks"]
    shows = ["text", "count", *_SUMMARY.values(), "text"]
    columns = [{"heading": heading, "show": show} for heading, show in zip(headings, shows)]
    shown = [next((one for one in drawn if topic in one[0].topics), None) for topic in ("speedup", "phase")]
    shown = [one for one in shown if one]
    headlines = "".join(map(_headline, report["series"]))
    html = f'<ul class="headlines">{headlines}</ul>\n' + table_html({"columns": columns, "rows": rows})
    return html + _charts_html(shown), shown


def _cell(cell, column, tag="td"):
    show = column.get("show", "text")
    words = column.get("heading") or column.get("key") if tag == "th" else cell_text(cell, show)
    css = ' class="number"' if show != "text" else ' class="short"' if len(text(words)) <= _SHORT else ""
    scope = ' scope="col"' if tag == "th" else ""
    return f"<{tag}{scope}{css}>{clean(words)}</{tag}>"


def table_html(table):
    """A table with its title above and its notes beneath."""
    columns = table["columns"]
    caption = f"<caption>{clean(table['title'])}</caption>\n" if table.get("title") else ""
    head = "".join(_cell(None, column, "th") for column in columns)
    body = "\n".join(
        "<tr>" + "".join(_cell(cell, column) for cell, column in zip(row, columns)) + "</tr>" for row in table["rows"]
    )
    return (
        f'<div class="scroll"><table>\n{caption}'
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
    """[(heading, HTML)]: summary, findings, tables, charts. `drawn` holds (chart, png)."""
    found = _findings(report)
    first, shown = _summary(report, drawn)
    sections = [("Summary", first)] * bool(report["series"]) + [("Findings", found)] * bool(found)
    drawn = [one for one in drawn if one not in shown]
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
    parts = [f'<section id="s{i}"><h2>{clean(heading)}</h2>\n{html}</section>\n' for i, (heading, html) in sections]
    parts.insert(1, f"<nav><ul>{links}</ul></nav>\n")
    made = clean(report.get("made_with"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style></head>\n<body>\n<header><h1>{title}</h1>\n"
        + (f'<p class="made">Made with {made}</p>\n' if made else "")
        + f"</header>\n<main>\n{''.join(parts)}</main>\n</body></html>\n"
    )
