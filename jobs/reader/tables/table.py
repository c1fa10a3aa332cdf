"""A table for people and programs: one source for Markdown, CSV, JSON and the terminal.

A cell is None, a text, a number in SI units, unrounded, or an Estimate. An Estimate that is not determined is said to
be so where people read, with its reason below the table, and is nothing where programs read.
"""

import math
from collections import namedtuple

from ..base.estimate import NOT_DETERMINED, Estimate
from ..base.terminal import TextTable, paragraph
from ..base.text import cell_text, setting_text

Column = namedtuple("Column", "key heading show")
"""`key` is for programs: snake_case with the unit of the stored number. `heading` is for people, with the unit of the
number shown. `show`: "text", "count", "seconds", "millis", "rate", "ratio", "percent", "bytes" or "gigabytes"."""

Field = namedtuple("Field", "key heading show cell")
"""A cell and its column."""


def is_undetermined(cell):
    return isinstance(cell, Estimate) and cell.known and not cell.determined


def plain(cell):
    """As programs read it: a finite number, a text, or None."""
    if isinstance(cell, Estimate):
        cell = cell.value if cell.determined else None
    if isinstance(cell, str):
        return cell or None
    return cell if cell is not None and math.isfinite(cell) else None


def shown(cell, show):
    """As people read it; a dash where there is nothing."""
    return NOT_DETERMINED if is_undetermined(cell) else cell_text(plain(cell), show)


class Table:
    """`id` names it for programs and files, in snake_case; `title` is one line; `notes` are definitions and remarks."""

    def __init__(self, id, title, columns=(), notes=()):
        self.id, self.title = id, title
        self.columns = [Column(*column) for column in columns]
        self.rows = []
        self.notes = list(notes)

    def add(self, row):
        """Appends a row. Raises ValueError if its length is not the number of columns."""
        if len(row) != len(self.columns):
            raise ValueError(f"table {self.id}: {len(row)} cells for {len(self.columns)} columns")
        self.rows.append(list(row))

    def add_fields(self, fields):
        """Appends a row of Fields; the first one makes the columns."""
        if not self.rows:
            self.columns = [Column(*field[:3]) for field in fields]
        self.add([field[3] for field in fields])

    def column(self, key):
        """The index of a column. Raises ValueError."""
        return [column.key for column in self.columns].index(key)

    def undetermined(self):
        """[(row, key, reason)] of the cells that are not determined."""
        return [(index, column.key, cell.why) for index, row in enumerate(self.rows)
                for column, cell in zip(self.columns, row) if is_undetermined(cell)]  # fmt: skip

    def all_notes(self):
        """With the reasons for what is not determined, each once."""
        reasons = dict.fromkeys(why for _, _, why in self.undetermined())
        return self.notes + [f"*Not determined*: {'; '.join(reasons)}."] * bool(reasons)

    def texts(self):
        """The headings, then the cells of every row, as people read them."""
        rows = [[shown(cell, column.show) for column, cell in zip(self.columns, row)] for row in self.rows]
        return [[column.heading for column in self.columns], *rows]

    def json(self):
        missing = [{"row": row, "key": key, "why": why} for row, key, why in self.undetermined()]
        return {"id": self.id, "title": self.title, "columns": [column._asdict() for column in self.columns],
                "rows": [[plain(cell) for cell in row] for row in self.rows], "not_determined": missing,
                "notes": self.all_notes()}  # fmt: skip

    def row_objects(self):
        """A dict for each row, by the keys of the columns."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, map(plain, row))) for row in self.rows]


def without_empty(tables):
    """Those that have a row."""
    return [table for table in tables if table.rows]


def _markdown_text(text):
    """A bar would end the cell; the others begin HTML and links."""
    return "".join("\\" * (c in "|<[") + c for c in text).replace("\n", " ")


def markdown_rows(headings, are_numbers, rows):
    """A table of texts; columns of numbers are aligned at the right."""
    head, *others = [f"| {' | '.join(map(_markdown_text, row))} |\n" for row in [headings, *rows]]
    rule = "".join("|---:" if is_number else "|---" for is_number in are_numbers) + "|\n"
    return "".join([head, rule, *others])


def to_markdown(table):
    """A heading, the table, and its notes as a list."""
    headings, *rows = table.texts()
    written = markdown_rows(headings, [column.show != "text" for column in table.columns], rows)
    notes = [f"- {note}\n" for note in table.all_notes()]
    return "".join([f"### {_markdown_text(table.title)}\n\n", written, "\n" * bool(notes), *notes])


def _csv_text(cell):
    cell = plain(cell)
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return setting_text(cell)
    cell = "".join(c if c.isprintable() else "?" for c in cell)  # a terminal would obey it
    if cell[0] in "=+-@":
        cell = "'" + cell  # a spreadsheet would compute it
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in '",') else cell


def to_csv(table):
    """One header line of keys, then a line for each row, quoted as RFC 4180 has it; empty where there is nothing."""
    rows = [[column.key for column in table.columns], *table.rows]
    return "".join(",".join(map(_csv_text, row)) + "\r\n" for row in rows)


def to_text(table):
    """For a terminal: columns padded, notes wrapped."""
    lines = TextTable(["left" if column.show == "text" else "right" for column in table.columns], 2)
    for row in table.texts():
        lines.add(row)
    return table.title + "\n" + lines.text() + "".join(paragraph("  - ", 4, note) for note in table.all_notes())
