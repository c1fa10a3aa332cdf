"""One page of the slides, 16 to 9: figure, table and facts, and beneath them an empty space for the
judgement."""

from collections import namedtuple

from matplotlib import rc_context
from matplotlib.patches import Rectangle

from .chart import fit, legend_height, new_figure
from .slide_text import SIZE, draw_facts, draw_table, put, wrapped_to
from .style import QUIET, plain, settings

Page = namedtuple("Page", "title charts columns rows facts by_ranks")
"""Up to four charts; rows are texts under columns, the first of which holds names. by_ranks: the other
columns are numbers of ranks or the like, of which a selection will do; else the first matter most."""

Box = namedtuple("Box", "left bottom right top")
"""Of the page, from 0 to 1."""

JUDGEMENT = "Judgement (yours):"
_PAGE = Box(0.04, 0.25, 0.96, 0.87)
_MIDDLE = 0.57  # between figure and table
_WIDE_TABLE = {True: 7, False: 6}  # columns that need the width of the page, by Page.by_ranks
_ABOVE = 0.51  # where a wide table begins below the figure
_LETTERS = {1: 13, 2: 10, 3: 8, 4: 8}  # size of those of so many charts
_TALL_LEGEND = 1.2  # inches
_GUTTER = 0.025


def _tighten_legend(axes):
    """A long one in smaller letters, to leave the chart its room."""
    if legend_height(axes) > _TALL_LEGEND:
        for words in axes.get_legend().get_texts():
            words.set_fontsize(9)


def _cells(box, count):
    """Side by side where the box is wide, else one below the other or in two rows of two."""
    wide = box.right - box.left > 2 * (box.top - box.bottom)
    across, down = (count, 1) if wide else (1, count) if count <= 2 else (2, 2)
    width, height = (box.right - box.left) / across, (box.top - box.bottom) / down
    for i in range(count):
        left, top = box.left + width * (i % across), box.top - height * (i // across)
        yield Box(left, top - height + _GUTTER, left + width - _GUTTER, top)


def _draw_charts(figure, charts, box):
    """Several ones in smaller letters and with their titles."""
    with rc_context(settings(_LETTERS[len(charts)])):
        for chart, cell in zip(charts, _cells(box, len(charts))):
            axes = figure.add_axes((cell.left, cell.bottom, cell.right - cell.left, cell.top - cell.bottom))
            chart.draw(axes)
            if len(charts) > 1:
                axes.set_title(plain(chart.title.rsplit(": ", 1)[-1]), pad=4)
            _tighten_legend(axes)
            fit(axes, cell)


def _draw_beside(figure, page):
    """The figure at the left, its table and the facts at the right."""
    left = _PAGE.left
    if page.charts:
        _draw_charts(figure, page.charts, _PAGE._replace(right=_MIDDLE))
        left = _MIDDLE
    end = draw_table(figure, page, _PAGE._replace(left=left, bottom=_PAGE.bottom + 0.08))
    draw_facts(figure, page.facts, _PAGE._replace(left=left, top=end - 0.03))


def _draw_above(figure, page):
    """The figure above a table that is as wide as the page, then the facts; those stand beside the
    figure where it is a single chart."""
    upper = _PAGE._replace(bottom=_ABOVE)
    if len(page.charts) == 1:
        _draw_charts(figure, page.charts, upper._replace(right=_MIDDLE))
        draw_facts(figure, page.facts, upper._replace(left=_MIDDLE))
        draw_table(figure, page, _PAGE._replace(top=_ABOVE - 0.01))
        return
    if page.charts:
        _draw_charts(figure, page.charts, upper)
    top = _ABOVE - 0.01 if page.charts else _PAGE.top
    end = draw_table(figure, page, _PAGE._replace(top=top, bottom=_PAGE.bottom + 0.045))
    draw_facts(figure, page.facts, _PAGE._replace(top=end - 0.01))


def _draw_judgement(figure):
    """The empty space, labelled."""
    width = _PAGE.right - _PAGE.left
    look = {"facecolor": "none", "edgecolor": "#888888", "linestyle": "--", "linewidth": 1}
    figure.add_artist(Rectangle((_PAGE.left, 0.065), width, 0.145, **look))
    put(figure, _PAGE.left + 0.01, 0.2, JUDGEMENT, fontsize=12, color=QUIET, style="italic")


def draw_page(page, number, made_with):
    """The page as a figure."""
    figure = new_figure(*SIZE)
    size = 22 if "\n" not in wrapped_to(page.title, 0.9, 22) else 16
    put(figure, _PAGE.left, 0.955, wrapped_to(page.title, 0.9, size), fontsize=size)
    (_draw_above if len(page.columns) >= _WIDE_TABLE[page.by_ranks] else _draw_beside)(figure, page)
    _draw_judgement(figure)
    put(figure, _PAGE.right, 0.045, number, fontsize=10, color=QUIET, ha="right")
    put(figure, _PAGE.left, 0.045, made_with, fontsize=10, color=QUIET)
    return figure
