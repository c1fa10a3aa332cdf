"""Texts and tables of a slide, in the largest letters that fit."""

import textwrap
from functools import lru_cache

from matplotlib.patches import Rectangle

from .chart import new_figure
from .style import QUIET, plain

SIZE = (13.333, 7.5)  # of a page in inches
_FONTS = (14, 12, 11, 10, 9, 8)  # of tables
_LEAST_WITH_RANGES = 11  # below this size a table does without them
_LONG, _HEADING = 18, 13  # letters of a line of a text in a cell, and of a heading
_MOST_COLUMNS = 6  # of numbers, where it has to do with fewer
_FACTS = (13, 11)  # of facts
_GAP = 0.012  # between columns
_LEADING = 0.014  # between rows


def put(figure, x, y, words, **how):
    return figure.text(x, y, plain(words), **{"va": "top", "ha": "left", **how})


@lru_cache(maxsize=None)
def _inches(words, weight):
    """(width, height) of the words in letters of 10 points."""
    figure = new_figure(1, 1)
    artist = put(figure, 0, 0, words, fontsize=10, weight=weight)
    box = artist.get_window_extent(figure.canvas.get_renderer())
    return box.width / figure.dpi, box.height / figure.dpi


def measured(words, size, weight="normal"):
    """(width, height) as shares of the page."""
    width, height = _inches(words, weight)
    return width * size / 10 / SIZE[0], height * size / 10 / SIZE[1]


def wrapped_to(words, width, size):
    """In as many lines as it takes."""
    letters = max(8, int(width / measured("n" * 50, size)[0] * 50 * 1.08))
    return "\n".join(textwrap.wrap(words, letters)) or " "


def _narrow(words, letters):
    """A range below its value, and a long text in lines."""
    value, bracket, rest = words.partition(" (")
    if bracket and value[:1].isdigit():
        return f"{value}\n({rest}"
    return "\n".join(textwrap.wrap(words, letters)) or " "


class _Grid:
    """A table's cells as texts of one size, with what they take."""

    def __init__(self, figure, rows, size, width):
        self.figure, self.size = figure, size
        numbers = [[_narrow(cell, _LONG if i else _HEADING) for cell in row[1:]] for i, row in enumerate(rows)]
        extents = [self._extents(row, i == 0) for i, row in enumerate(numbers)]
        columns = [max(row[i][0] for row in extents) + _GAP for i in range(len(numbers[0]))]
        room = min(0.55 * width, max(0.2 * width, width - sum(columns) - _GAP))
        names = [wrapped_to(row[0], room, size) for row in rows]
        named = self._extents(names, True)
        self.cells = [[name, *row] for name, row in zip(names, numbers)]
        self.widths = [max(extent[0] for extent in named) + _GAP, *columns]
        self.heights = [max(one[1] for one in (name, *row)) + _LEADING for name, row in zip(named, extents)]
        self.width = sum(self.widths) - _GAP

    def _extents(self, cells, bold):
        return [measured(cell, self.size, "bold" if bold else "normal") for cell in cells]

    def fits(self, box):
        return self.width <= box.right - box.left and sum(self.heights) <= box.top - box.bottom

    def draw(self, box):
        """Rows as long as there is room. Returns where they end and how many were left out."""
        top = box.top
        for number, (row, height) in enumerate(zip(self.cells, self.heights)):
            if top - height < box.bottom and number > 0:
                return top, len(self.cells) - number
            self._draw_row(row, box.left, top, "bold" if number == 0 else "normal")
            top -= height
            line = {"edgecolor": "#555555" if number == 0 else "#dddddd", "linewidth": 0.8}
            self.figure.add_artist(Rectangle((box.left, top + 0.4 * _LEADING), self.width, 0, **line))
        return top, 0

    def _draw_row(self, row, left, top, weight):
        for i, (cell, width) in enumerate(zip(row, self.widths)):
            if i == 0:
                put(self.figure, left, top, cell, fontsize=self.size, weight=weight)
            else:
                put(self.figure, left + width - _GAP, top, cell, fontsize=self.size, weight=weight, ha="right")
            left += width


def _without_ranges(rows):
    return [[row[0], *[cell.split(" (", 1)[0] for cell in row[1:]]] for row in rows]


def _fewer_columns(rows):
    """The names and some of the numbers, first and last among them, evenly between."""
    count = len(rows[0]) - 1
    if count <= _MOST_COLUMNS:
        return rows
    chosen = [1 + round(i * (count - 1) / (_MOST_COLUMNS - 1)) for i in range(_MOST_COLUMNS)]
    return [[row[0], *[row[i] for i in chosen]] for row in rows]


def _narrower(rows, by_ranks):
    """The table with ever fewer columns."""
    if by_ranks:
        yield _fewer_columns(rows)
        return
    for count in range(len(rows[0]) - 1, 2, -1):
        yield [row[:count] for row in rows]


def _grids(figure, page, width):
    """The table in ever less room."""
    rows = [page.columns, *page.rows]
    bare = [page.columns, *_without_ranges(page.rows)]
    for size in _FONTS:
        if size >= _LEAST_WITH_RANGES:
            yield _Grid(figure, rows, size, width)
    for size in _FONTS:
        yield _Grid(figure, bare, size, width)
    for fewer in _narrower(bare, page.by_ranks):
        for size in _FONTS if page.by_ranks else _FONTS[-2:]:
            yield _Grid(figure, fewer, size, width)


def draw_table(figure, page, box):
    """In the largest letters with which it fits. Returns where it ends."""
    if not page.columns:
        return box.top
    for grid in _grids(figure, page, box.right - box.left):
        if grid.fits(box):
            break
    end, rows = grid.draw(box)
    shown = {words.replace("\n", " ") for words in grid.cells[0]}
    left_out = [f"{rows} row{'s' * (rows > 1)}"] if rows else []
    left_out += [one for one in page.columns if one.strip() and one not in shown]
    if left_out:
        words = wrapped_to("Not shown: " + ", ".join(left_out) + ". All is in report.html.", box.right - box.left, 10)
        put(figure, box.left, end, words, fontsize=10, color=QUIET)
        end -= 0.01 + measured(words, 10)[1]
    return end


def _bullets(facts, width, size):
    """[(text, height)]."""
    texts = ["•  " + wrapped_to(one, width - 0.02, size).replace("\n", "\n    ") for one in facts]
    return [(words, measured(words, size)[1] + 1.2 * _LEADING) for words in texts]


def draw_facts(figure, facts, box):
    """In letters with which all fit, or as many as there is room for."""
    for size in _FACTS:
        bullets = _bullets(facts, box.right - box.left, size)
        if sum(height for _, height in bullets) <= box.top - box.bottom:
            break
    top = box.top
    for words, height in bullets:
        if top - height < box.bottom - _LEADING:
            return
        put(figure, box.left, top, words, fontsize=size)
        top -= height
