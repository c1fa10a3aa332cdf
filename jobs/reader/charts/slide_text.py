"""Texts and tables of a slide, in the largest letters that fit."""

import textwrap
from functools import lru_cache

from matplotlib.patches import Rectangle

from .chart import new_figure
from .style import QUIET, plain

SIZE = (13.333, 7.5)  # of a page in inches
_FONTS = (14, 12, 11, 10, 9)  # of tables
_LEAST_WITH_RANGES = 11  # below this size a table does without them
_LONG, _HEADING = 18, 13  # letters of a line of a text in a cell, and of a heading
_MOST_COLUMNS = 6  # of numbers, where it has to do with fewer
_FACTS = (13, 11)  # of facts
_MOST_FACTS = 6
_NOTE = 10  # of what was left out
LEFT_OUT = "Not shown here, see report.html: "
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


def _has_range(words):
    """Of a number with its range, as "4.29 (4.19–4.49)"; a name may have brackets too."""
    return words[:1].isdigit() and " (" in words


def _narrow(words, letters):
    """A range below its value, and a long text in lines."""
    if _has_range(words):
        return words.replace(" (", "\n(", 1)
    return "\n".join(textwrap.wrap(words, letters)) or " "


class _Grid:
    """A table's cells as texts of one size, with what they take."""

    def __init__(self, figure, rows, size, width):
        self.figure, self.size = figure, size
        numbers = [[_narrow(cell, _LONG if i else _HEADING) for cell in row[1:]] for i, row in enumerate(rows)]
        extents = [self._extents(row, i == 0) for i, row in enumerate(numbers)]
        columns = [max(row[i][0] for row in extents) + _GAP for i in range(len(numbers[0]))]
        word = max(measured(one, size, "bold")[0] for row in rows for one in row[0].split() or [" "])
        room = min(0.55 * width, max(0.2 * width, 1.15 * word, width - sum(columns) - _GAP))
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
    return [[cell.split(" (", 1)[0] if i and _has_range(cell) else cell for i, cell in enumerate(row)] for row in rows]


def _some_columns(columns):
    """The names and some of the numbers, first and last among them, evenly between."""
    numbers = len(columns) - 1
    if numbers <= _MOST_COLUMNS:
        return columns
    return columns[:1] + [columns[1 + round(i * (numbers - 1) / (_MOST_COLUMNS - 1))] for i in range(_MOST_COLUMNS)]


def _narrower(columns, by_ranks):
    """The columns of ever narrower tables."""
    yield columns
    if by_ranks:
        yield _some_columns(columns)
        return
    for fewer in range(len(columns) - 1, 2, -1):
        yield columns[:fewer]


def _named(what, headings):
    """["columns “steps”, “batch”"]; none of none."""
    names = ", ".join(f"“{one}”" for one in headings)
    return [f"{what}{'s' * (len(headings) > 1)} {names}"] * bool(headings)


def _grids(figure, page, width):
    """The table in ever less room, each with what it leaves out, as texts."""
    rows = [page.columns, *page.rows]
    bare = [page.columns, *_without_ranges(page.rows)]
    ranges = ["ranges"] * (rows != bare)
    for size in _FONTS:
        if size >= _LEAST_WITH_RANGES:
            yield _Grid(figure, rows, size, width), []
    for size in _FONTS:
        yield _Grid(figure, bare, size, width), ranges
    filled = [i for i in range(len(page.columns)) if i == 0 or any(row[i].strip("- ") for row in page.rows)]
    empty = [heading for i, heading in enumerate(page.columns) if i not in filled]
    for kept in _narrower(filled, page.by_ranks):
        fewer = [[row[i] for i in kept] for row in bare]
        names = [page.columns[i] for i in filled if i not in kept]
        left_out = _named("column", names) + _named("empty column", empty) + ranges
        for size in _FONTS if page.by_ranks else _FONTS[-2:]:
            yield _Grid(figure, fewer, size, width), left_out


def _note(left_out, width):
    """What a table leaves out and where that is, in lines, with the height they take."""
    if not left_out:
        return "", 0
    words = wrapped_to(LEFT_OUT + "; ".join(left_out), width, _NOTE)
    return words, measured(words, _NOTE)[1] + _LEADING


def draw_table(figure, page, box):
    """In the largest letters with which it fits. Returns where it ends, and whether it lacks no row and no
    column that holds something."""
    if not page.columns:
        return box.top, True
    width = box.right - box.left
    for grid, left_out in _grids(figure, page, width):
        above = box._replace(bottom=box.bottom + _note(left_out, width)[1])
        if grid.fits(above):
            break
    else:
        above = box._replace(bottom=box.bottom + _note(["rows", *left_out], width)[1])
    end, rows = grid.draw(above)
    words, height = _note([f"{rows} row{'s' * (rows > 1)}"] * bool(rows) + left_out, width)
    if words:
        put(figure, box.left, end, words, fontsize=_NOTE, color=QUIET)
    return end - height, not rows and not any(one.startswith("column") for one in left_out)


def _bullets(facts, width, size):
    """[(text, height)]."""
    texts = ["•  " + wrapped_to(one, width - 0.02, size).replace("\n", "\n    ") for one in facts]
    return [(words, measured(words, size)[1] + 1.2 * _LEADING) for words in texts]


def draw_facts(figure, facts, box):
    """In letters with which all fit, or as many as there is room for, and how many were left out."""
    for size in _FACTS:
        bullets = _bullets(facts, box.right - box.left, size)
        if len(facts) <= _MOST_FACTS and sum(height for _, height in bullets) <= box.top - box.bottom:
            break
    top = box.top
    for i, (words, height) in enumerate(bullets):
        last = i + 1 == len(bullets)
        note = 0 if last else _note(["facts"], 1)[1]
        if i == _MOST_FACTS or top - height - note < box.bottom - _LEADING:
            more = len(bullets) - i
            put(figure, box.left, top, f"{LEFT_OUT}{more} fact{'s' * (more > 1)}", fontsize=_NOTE, color=QUIET)
            return
        put(figure, box.left, top, words, fontsize=size)
        top -= height
