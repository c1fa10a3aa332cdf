"""Text laid out for a terminal, as the program lays out its own (src/display/text.hpp)."""

import unicodedata

from .text import printable

PAGE_COLUMNS = 80
_GAP = 2
_LEAST_LAST_COLUMN = 12
_LONGEST_CELL = 4000


def _width(letter):
    if unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def columns_of(text):
    """How many columns a terminal takes for a text: two for a Chinese character, none for an accent after its
    letter."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _padded(cell, width, align):
    blanks = " " * (width - columns_of(cell))
    return cell + blanks if align == "left" else blanks + cell


def _front_of(text, width):
    columns = 0
    for index, letter in enumerate(text):
        columns += _width(letter)
        if columns > width:
            return text[:index]
    return text


def _shortened(cell, width):
    return cell if columns_of(cell) <= width else _front_of(cell, width - 3) + "..."


class TextTable:
    """Rows of cells in columns as wide as their widest cell, two blanks apart. The last column may be shortened (with
    "...") to keep a row within the page. `columns` has "left" or "right" for each."""

    def __init__(self, columns, indent):
        self.columns, self.indent, self.rows = columns, indent, []

    def add(self, cells):
        if len(cells) != len(self.columns):
            raise ValueError("TextTable: wrong cell count")
        self.rows.append([printable(cell, _LONGEST_CELL) for cell in cells])

    def _widths(self):
        widths = [max(map(columns_of, column)) for column in zip(*self.rows)]
        before = self.indent + sum(width + _GAP for width in widths[:-1])
        room = max(PAGE_COLUMNS, before) - before
        return widths[:-1] + [min(widths[-1], max(room, _LEAST_LAST_COLUMN))]

    def text(self):
        """Every row with its line end, without trailing blanks."""
        if not self.rows:
            return ""
        widths, gap = self._widths(), " " * _GAP
        lines = []
        for row in self.rows:
            cells = [_padded(_shortened(cell, width), width, align)
                     for cell, width, align in zip(row, widths, self.columns)]  # fmt: skip
            lines.append((" " * self.indent + gap.join(cells)).rstrip(" ") + "\n")
        return "".join(lines)


def paragraph(label, indent, text, columns=PAGE_COLUMNS):
    """`text` in lines of at most `columns`, broken at blanks. Each line begins with `indent` blanks, the first one with
    `label` instead (padded to `indent`). Ends with a line end."""
    lines, line, fresh = [], _padded(label, indent, "left"), True
    for word in text.split():
        if not fresh and columns_of(line) + 1 + columns_of(word) > columns:
            lines.append(line)
            line, fresh = " " * indent, True
        line += word if fresh else " " + word
        fresh = False
    return "".join(one.rstrip(" ") + "\n" for one in [*lines, line])
