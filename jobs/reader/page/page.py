"""report.html: one file that needs nothing else, neither a network nor scripts."""

from ..charts.report import findings_of, tables_of
from .head import evaluations, head
from .html_parts import charts_html, clean, items, table_html

_SHOWN = 3  # findings of a series

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
.runs > .charts, .evaluated { margin: 1rem 0; }
.samples { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr)); gap: .75rem; list-style: none;
  padding: 0; font-size: .75rem; line-height: 1.3; }
.samples li { margin: 0; overflow-wrap: anywhere; }
.samples img { width: 4.5rem; image-rendering: pixelated; filter: none !important; } .samples b { display: block; }
@media (min-width: 60rem) {
  #s1 h2 { display: none; }
  .scaling { display: grid; grid-template-columns: 2fr 3fr; column-gap: 1.5rem; }
  .scaling h2 { grid-column: 1 / 3; }
  .scaling .charts { grid-column: 1 / 3; grid-template-columns: 1fr 1fr; justify-items: center; }
  .scaling .headlines, .scaling .scroll { max-height: 19rem; overflow: auto; margin: .4rem 0; }
  .scaling td, .scaling th { padding-top: .1rem; padding-bottom: .1rem; }
  .scaling img { width: auto; max-width: 100%; max-height: 24rem; }
  .evaluated { display: grid; grid-template-columns: 3fr 2fr; column-gap: 1.75rem; }
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
  .scroll, .scaling .headlines, .scaling .scroll { overflow: visible; max-height: none; }
  table, figcaption, .notes { font-size: 7.5pt; }
  .short { white-space: normal; } tr { break-inside: avoid; } h2, h3, caption { break-after: avoid; }
  .charts { grid-template-columns: 1fr 1fr; gap: 1rem; }
}
"""
# The page can load nothing, whatever its texts hold.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def _findings(report):
    """Those of each series below its label, most of them folded; those about the study before them."""
    found = findings_of(report)
    parts = [items([one.text for one in found if not one.about])]
    for label in dict.fromkeys(one.about for one in found if one.about):
        own = [one.text for one in found if one.about == label]
        more = f"<details><summary>{len(own) - _SHOWN} more</summary>\n{items(own[_SHOWN:])}</details>\n"
        parts.append(f"<h3>{clean(label)}</h3>\n" + items(own[:_SHOWN]) + more * (len(own) > _SHOWN))
    return "".join(parts)


def _sections(report, drawn):
    """[(heading, class, HTML)]: the head, findings, tables, charts. `drawn` holds (chart, png)."""
    sections, shown = head(report, drawn)
    drawn = [one for one in drawn if one not in shown]
    evaluated, shown = evaluations(drawn)
    drawn = [one for one in drawn if one not in shown]
    found = _findings(report)
    sections += [("Evaluation", "runs", evaluated)] * bool(evaluated) + [("Findings", "", found)] * bool(found)
    for heading, tables in tables_of(report):
        sections.append((heading, "", "".join(map(table_html, tables))))
    for heading in dict.fromkeys(chart.section for chart, _ in drawn):
        members = [(chart, png) for chart, png in drawn if chart.section == heading]
        sections.append((f"Charts: {heading}", "", charts_html(members)))
    return sections or [("Nothing to show", "", "<p>The report holds no tables and nothing to draw.</p>")]


def page(report, drawn):
    """The whole of report.html; `drawn` holds (chart, bytes of its PNG)."""
    title = clean(report.get("title")) or "Scaling report"
    sections = list(enumerate(_sections(report, drawn), 1))
    links = "".join(f'<li><a href="#s{i}">{clean(heading)}</a></li>' for i, (heading, *_) in sections)
    parts = [
        f'<section id="s{i}" class="{kind}"><h2>{clean(heading)}</h2>\n{html}</section>\n'
        for i, (heading, kind, html) in sections
    ]
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
