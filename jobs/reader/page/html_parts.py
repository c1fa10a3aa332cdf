"""Pieces of report.html: texts, lists, tables and charts."""

import base64
from html import escape

from ..base.text import cell_text
from ..charts.report import EMPHASIS, text, texts_of

_SHORT = 18  # letters of a text in a cell that stay in one line


def clean(value):
    """A text of the report as HTML."""
    return escape(text(value))


def items(texts, css_class=""):
    if not texts:
        return ""
    opening = f'<ul class="{css_class}">' if css_class else "<ul>"
    each = (EMPHASIS.sub(r"<em>\1</em>", clean(one)) for one in texts)
    return opening + "".join(f"<li>{one}</li>" for one in each) + "</ul>\n"


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
        + items(texts_of(table, "notes"), "notes")
    )


def charts_html(drawn):
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
