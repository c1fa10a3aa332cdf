"""What the templates show: lists, tables and charts, as plain values. Only the templates make HTML."""

import base64
from collections import namedtuple

from ..base.estimate import NOT_DETERMINED, Estimate
from ..base.text import cell_text
from ..charts.report import entries, text, texts_of

Block = namedtuple("Block", "kind content")
"""A part of a section; `kind` is the name of the macro in parts.html that shows the content."""

Section = namedtuple("Section", "heading kind blocks")
Cell = namedtuple("Cell", "words kind why", defaults=("",))
"""`kind` is "number", "short", a text that stays in one line, or empty; `why` is a reason for what is not
determined."""

TableView = namedtuple("TableView", "title head rows notes")
ChartView = namedtuple("ChartView", "name alternative data caption")

_SHORT = 18  # letters of a text in a cell that stay in one line


def _kind(words, show):
    if show != "text":
        return "number"
    return "short" if len(words) <= _SHORT else ""


def _cell(value, show, why):
    if isinstance(value, Estimate):
        return Cell(value.text(show, unit=""), "number", value.why)
    words = NOT_DETERMINED if why else text(cell_text(value, show))
    return Cell(words, _kind(words, show), why)


def table_view(table):
    """A table of report.json. A cell may be an Estimate, too."""
    columns = [(text(one.get("heading") or one.get("key")), one.get("show", "text"), one.get("key"))
               for one in table["columns"]]
    missing = {(one.get("row"), one.get("key")): text(one.get("why")) for one in entries(table, "not_determined")}
    rows = [
        [_cell(value, show, missing.get((index, key), "")) for value, (_, show, key) in zip(row, columns)]
        for index, row in enumerate(table["rows"])
    ]
    head = [Cell(heading, _kind(heading, show)) for heading, show, _ in columns]
    return TableView(text(table.get("title")), head, rows, texts_of(table, "notes"))


def tables_block(tables):
    return [Block("table", table_view(table)) for table in tables]


def _described(chart):
    """The chart for those who do not see it: its title and values."""
    rows = "; ".join(f"{row[0]}: " + ", ".join(map(" ".join, zip(chart.columns[1:], row[1:]))) for row in chart.rows)
    return text(f"Chart. {chart.title}. {rows}")


def charts_block(drawn):
    """[Block] of (chart, png); a remark stands below the first that it belongs to."""
    shown, views = set(), []
    for chart, png in drawn:
        caption = text(" ".join(one for one in chart.remarks if one not in shown))
        views.append(ChartView(chart.name, _described(chart), base64.b64encode(png).decode("ascii"), caption))
        shown.update(chart.remarks)
    return [Block("charts", views)] if views else []
