"""One page of the slides, 16 to 9: the figure at the left, its table and facts at the right, and beneath
an empty space for the judgement."""

import textwrap
from collections import namedtuple

from matplotlib.patches import Rectangle

from .chart import fit, legend_height, new_figure
from .style import QUIET, plain

Page = namedtuple("Page", "title chart columns rows facts")
"""chart may be None; rows are texts under columns, the first of which holds names."""

_SIZE = (13.333, 7.5)  # inches
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.04, 0.96, 0.86, 0.25
_MIDDLE = 0.585  # between chart and table
_TALL_LEGEND = 1.2  # inches
JUDGEMENT = "Judgement (yours):"
_FONTS = (14, 12, 11, 10, 9)
_LEAST_WITH_RANGES = 11  # below this size a table does without them
_MOST_COLUMNS = 6  # of numbers, where it has to do with fewer
_FACTS = 13  # size of letters
_GAP = 0.012  # between columns of the table


def _put(figure, x, y, words, **how):
    return figure.text(x, y, plain(words), **{"va": "top", "ha": "left", **how})


def _extent(figure, artist):
    """(width, height) as shares of the page."""
    box = artist.get_window_extent(figure.canvas.get_renderer())
    return box.width / figure.bbox.width, box.height / figure.bbox.height


def _measured(figure, words, size, weight="normal"):
    artist = _put(figure, 0, 0, words, fontsize=size, weight=weight)
    extent = _extent(figure, artist)
    artist.remove()
    return extent


def _wrapped_to(figure, words, width, size):
    """In as many lines as it takes."""
    letters = max(8, int(width / _measured(figure, "n" * 50, size)[0] * 50 * 1.08))
    return "\n".join(textwrap.wrap(words, letters)) or " "


class _Grid:
    """A table's cells as texts of one size, with what they take."""

    def __init__(self, figure, rows, size, width):
        self.figure, self.size = figure, size
        numbers = [[_two_lines(cell) for cell in row[1:]] for row in rows]
        extents = [self._extents(row, i == 0) for i, row in enumerate(numbers)]
        columns = [max(row[i][0] for row in extents) + _GAP for i in range(len(numbers[0]))]
        room = min(0.55 * width, max(0.26 * width, width - sum(columns) - _GAP))
        names = [_wrapped_to(figure, row[0], room, size) for row in rows]
        named = self._extents(names, True)
        self.cells = [[name, *row] for name, row in zip(names, numbers)]
        self.widths = [max(extent[0] for extent in named) + _GAP, *columns]
        self.heights = [max(one[1] for one in (name, *row)) + 0.014 for name, row in zip(named, extents)]

    def _extents(self, cells, bold):
        return [_measured(self.figure, cell, self.size, "bold" if bold else "normal") for cell in cells]

    def width(self):
        return sum(self.widths)

    def draw(self, left, top, bottom):
        """Rows as long as there is room. Returns where they end and how many were left out."""
        for number, (row, height) in enumerate(zip(self.cells, self.heights)):
            if top - height < bottom:
                return top, len(self.cells) - number
            self._draw_row(row, left, top, bold=number == 0)
            top -= height
            line = "#555555" if number == 0 else "#dddddd"
            self.figure.add_artist(
                Rectangle((left, top + 0.006), self.width() - _GAP, 0, edgecolor=line, linewidth=0.8)
            )
        return top, 0

    def _draw_row(self, row, left, top, bold):
        weight = "bold" if bold else "normal"
        for i, (cell, width) in enumerate(zip(row, self.widths)):
            if i == 0:
                _put(self.figure, left, top, cell, fontsize=self.size, weight=weight)
            else:
                _put(self.figure, left + width - _GAP, top, cell, fontsize=self.size, weight=weight, ha="right")
            left += width


def _two_lines(words):
    """A range below its value."""
    return words.replace(" (", "\n(", 1)


def _without_ranges(rows):
    return [[row[0], *[cell.split(" (", 1)[0] for cell in row[1:]]] for row in rows]


def _fewer_columns(rows):
    """The names and some of the numbers, first and last among them, evenly between."""
    count = len(rows[0]) - 1
    if count <= _MOST_COLUMNS:
        return rows
    chosen = [1 + round(i * (count - 1) / (_MOST_COLUMNS - 1)) for i in range(_MOST_COLUMNS)]
    return [[row[0], *[row[i] for i in chosen]] for row in rows]


def _grids(figure, page, width):
    """The table in ever less room."""
    rows = [page.columns, *page.rows]
    for size in _FONTS:
        if size >= _LEAST_WITH_RANGES:
            yield _Grid(figure, rows, size, width)
    bare = _without_ranges(rows)
    for size in _FONTS:
        yield _Grid(figure, bare, size, width)
    for size in _FONTS:
        yield _Grid(figure, _fewer_columns(bare), size, width)


def _draw_table(figure, page, left, width):
    """In the largest letters with which it fits. Returns where it ends."""
    if not page.columns:
        return _TOP
    for grid in _grids(figure, page, width):
        if grid.width() <= width + _GAP and sum(grid.heights) <= _TOP - _BOTTOM - 0.12:
            break
    end, missing = grid.draw(left, _TOP, _BOTTOM + 0.06)
    if missing:
        _put(figure, left, end, f"{missing} more rows: see report.html", fontsize=10, color=QUIET)
        end -= 0.04
    return end


def _draw_facts(figure, page, left, width, top):
    """As many as there is room for."""
    top -= 0.025
    for fact in page.facts:
        words = "•  " + _wrapped_to(figure, fact, width - 0.02, _FACTS).replace("\n", "\n    ")
        height = _measured(figure, words, _FACTS)[1] + 0.016
        if top - height < _BOTTOM - 0.02:
            return
        _put(figure, left, top, words, fontsize=_FACTS)
        top -= height


def _draw_judgement(figure):
    """The empty space, labelled."""
    box = Rectangle(
        (_LEFT, 0.065), _RIGHT - _LEFT, 0.145, facecolor="none", edgecolor="#888888", linestyle="--", linewidth=1
    )
    figure.add_artist(box)
    _put(figure, _LEFT + 0.01, 0.2, JUDGEMENT, fontsize=12, color=QUIET, style="italic")


def _tighten_legend(axes):
    """A long one in smaller letters, to leave the chart its room."""
    if legend_height(axes) > _TALL_LEGEND:
        for words in axes.get_legend().get_texts():
            words.set_fontsize(9)


def draw_page(page, number, made_with):
    """The page as a figure."""
    figure = new_figure(*_SIZE)
    title = _wrapped_to(figure, page.title, 0.9, 22)
    size = 22 if "\n" not in title else 16
    _put(figure, _LEFT, 0.95, _wrapped_to(figure, page.title, 0.9, size), fontsize=size)
    left = _LEFT
    if page.chart:
        axes = figure.add_subplot()
        page.chart.draw(axes)
        _tighten_legend(axes)
        fit(axes, (_LEFT, _BOTTOM, _MIDDLE - 0.03, _TOP))
        left = _MIDDLE
    end = _draw_table(figure, page, left, _RIGHT - left)
    _draw_facts(figure, page, left, _RIGHT - left, end)
    _draw_judgement(figure)
    _put(figure, _RIGHT, 0.045, number, fontsize=10, color=QUIET, ha="right")
    _put(figure, _LEFT, 0.045, made_with, fontsize=10, color=QUIET)
    return figure
