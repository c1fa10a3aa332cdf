"""Tables that somebody wrote: as CSV, or as spreadsheets make of it."""

import csv
import io
import re
from collections import Counter
from typing import NamedTuple

from ..base.json_view import InputFile
from .text_input import decoded_text

_MOST_BYTES = 4_000_000
_MOST_CELLS = 2000  # of a row or a column: the tables of a study have fewer
_MOST_LINES = 100  # that tell the separator
_SEPARATORS = ",;\t"
_QUOTED = re.compile('"(?:[^"]|"")*"')
_REMEDY = "give a table as rueda report writes it, or a copy of it from a spreadsheet"


class HandRow(NamedTuple):
    where: str  # "line 3", or "column 3" of a transposed table
    cells: list


class HandTable(NamedTuple):
    """Its rows have as many cells as there are headings."""

    headings: list
    rows: list

    def column(self, index):
        return [row.cells[index] for row in self.rows]

    def transposed(self):
        """With the first cell of each row as a heading."""
        lines = [self.headings, *(row.cells for row in self.rows)]
        headings, *columns = [list(column) for column in zip(*lines)]
        return HandTable(headings, [HandRow(f"column {number}", cells) for number, cells in enumerate(columns, 2)])


def _separator_of(text):
    """What most lines have the same number of."""
    lines = _QUOTED.sub("", text[:_MOST_BYTES // 40]).splitlines()[:_MOST_LINES]

    def agreement(separator):
        counts = Counter(line.count(separator) for line in lines if separator in line)
        return max(counts.values(), default=0)

    return max(_SEPARATORS, key=agreement)


def _rows(file, text):
    """[HandRow] of every line that has any text."""
    reader = csv.reader(io.StringIO(text), delimiter=_separator_of(text), strict=True)
    rows, begin = [], 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(HandRow(f"line {begin}", cells))
            begin = reader.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            file.refuse(f"line {begin}: a quote is not closed")
        if "field" in str(error):
            file.refuse(f"line {begin}: a cell is too long")
        file.refuse(f"line {reader.line_num}: text follows a closing quote")
    return rows


def _without_titles(rows):
    """Lines with text in one cell alone, above a table with more columns, are a title."""
    def width(row):
        return sum(bool(cell.strip()) for cell in row.cells)

    widest = max(map(width, rows), default=0)
    first = next((index for index, row in enumerate(rows) if widest < 2 or width(row) > 1), 0)
    return rows[first:]


def read_hand_table(path, name=None):
    """A HandTable with a line of headings: RFC 4180, or what spreadsheets make of it, with semicolons or tabs between
    cells, in UTF-16, with a title above. Rows without any text are left out. Raises Unusable naming file, line and
    remedy for what is no text, has no heading, leaves a quote open, or has a row of another length; and for more than 4
    MB."""
    file = InputFile(path, _REMEDY, name)
    text = decoded_text(file.read(_MOST_BYTES))
    if "\0" in text:
        file.refuse("it is not a text")
    rows = _without_titles(_rows(file, re.sub("\r\n?", "\n", text)))
    if not rows:
        file.refuse("it is empty")
    headings, rows = [heading.strip() for heading in rows[0].cells], rows[1:]
    if not rows:
        file.refuse("it has headings only, and no row")
    if max(len(rows), len(headings)) > _MOST_CELLS:
        file.refuse(f"it has {len(rows)} rows and {len(headings)} columns, more than the {_MOST_CELLS} that are "
                    f"compared")
    for row in rows:
        if len(row.cells) != len(headings):
            file.refuse(f"{row.where} has {len(row.cells)} cells, but there are {len(headings)} headings")
    return HandTable(headings, rows)
