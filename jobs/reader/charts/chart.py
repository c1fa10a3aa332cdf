"""What a chart is, and its layout: axes, legend and title always fit their box."""

import io
import math
import textwrap

from matplotlib import rc_context, rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from ..base.files import DATELESS
from .report import text
from .style import GRID, plain, settings

RANKS = "ranks P"
LOG = " (log scale)"  # in the label of each logarithmic axis
WIDTH, HEIGHT = 8.0, 5.2  # inches
LETTERS = 13  # points
# A sheet of paper shows a chart in at least five sixths of this size, and the least letters, 5/6 of the others, are to
# have 7 points there.
PRINTED, PRINTED_LETTERS = 0.62, 10.5
_TITLE = 58  # letters of a title
PNG_DPI = 160
_LETTERS = 172  # of a legend that an inch holds, times the size of letters in points


class Chart:
    """A picture and what belongs to it.

    name      of its files, without ending; title is short
    section   the heading under which the page shows it
    draw      function of an axes; draws everything but the title
    rows      the values drawn, [[name, text...]...] under `columns`: for the slides
    remarks   sentences for those who read it
    series    those that it shows, and topics, words for what it shows of them: findings that hold a
              series' label and a topic belong to the chart
    """

    def __init__(self, name, title, section, draw, columns=(), rows=(), remarks=(), height=HEIGHT,
                 series=(), topics=()):  # fmt: skip
        self.name, self.title, self.section, self.draw = name, title, section, draw
        self.columns, self.rows, self.remarks = list(columns), list(rows), list(remarks)
        self.height = height
        self.labels = [text(one.get("label")) for one in series]
        self.ids = [text(one.get("id")) for one in series]
        self.topics = topics

    def figure(self, printed=False):
        """The chart as a matplotlib figure of its own; `printed`: of the size that it has on paper, where each letter
        is to be read."""
        scale, letters = (PRINTED, PRINTED_LETTERS) if printed else (1, LETTERS)
        with rc_context(settings(letters)):
            width, height = WIDTH * scale, self.height * scale
            figure = new_figure(width, height)
            axes = figure.add_subplot()
            self.draw(axes)
            axes.set_title(plain(title_lines(self.title, round(_TITLE * scale * LETTERS / letters))))
            figure.set_size_inches(width, height + legend_height(axes))
            fit(axes, (0.02, 0.02, 0.98, 0.98))
        return figure


def title_lines(title, width=_TITLE):
    """One line; or, if it is too long, the part after the colon and below it the part before it."""
    parts = [title]
    if len(title) > width and ": " in title:
        whose, what = title.rsplit(": ", 1)
        parts = [what[0].upper() + what[1:], whose]
    return "\n".join(line for part in parts for line in textwrap.wrap(part, width))


def new_figure(width, height):
    """Of this size in inches, with a canvas on which texts can be measured."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def render(figure, form):
    """Bytes of the figure as png or pdf, without the time at which it was drawn."""
    buffer = io.BytesIO()
    with rc_context(settings()):
        figure.savefig(buffer, format=form, dpi=PNG_DPI, metadata=DATELESS[form])
    return buffer.getvalue()


def legend_height(axes):
    """Inches."""
    legend = axes.get_legend()
    if legend is None:
        return 0
    figure = axes.figure
    return legend.get_window_extent(figure.canvas.get_renderer()).height / figure.dpi


def fit(axes, box):
    """Moves and sizes the axes so that all that belongs to them fills `box` (left, bottom, right, top
    of the figure)."""
    figure = axes.figure
    for _ in range(3):  # tick labels may change with the size
        extent = axes.get_tightbbox(figure.canvas.get_renderer())
        extent = extent.transformed(figure.transFigure.inverted())
        now = axes.get_position()
        left = now.x0 + box[0] - extent.x0
        bottom = now.y0 + box[1] - extent.y0
        right = now.x1 + box[2] - extent.x1
        top = now.y1 + box[3] - extent.y1
        axes.set_position((left, bottom, max(right - left, 0.1), max(top - bottom, 0.1)))


def width_of(axes):
    """Inches."""
    return axes.get_window_extent().width / axes.figure.dpi


def legend_below(axes, handles):
    """A legend below the axes and their label, in as many columns as its own labels allow."""
    if not handles:
        return
    labels = [plain("\n".join(textwrap.wrap(one.get_label(), 66))) for one in handles]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    room = width_of(axes) * _LETTERS / rcParams["font.size"]
    columns = max(1, min(len(handles), int(room / (longest + 7))))  # 7: the sample and the gap
    below = axes.transAxes + ScaledTranslation(0, -3.9 * rcParams["font.size"] / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below,
        ncol=columns, borderaxespad=0, handlelength=2.6, columnspacing=1.6,
    )  # fmt: skip


def horizontal_grid(axes):
    axes.grid(True, axis="y", color=GRID, linewidth=0.7)
    axes.tick_params(length=0, axis="y")


def spaced(values, least):
    """Those of the ascending values whose base 2 logarithms are at least `least` apart; the last stays."""
    kept = []
    for value in reversed(values):
        if not kept or math.log2(kept[-1]) - math.log2(value) >= least:
            kept.append(value)
    return kept[::-1]


def tick_text(value, _=None):
    """A round number without trailing zeros."""
    return f"{value:,.0f}" if value >= 10000 else f"{value:g}"


def powers_of_two_axis(axis, values, label):
    """A logarithmic x axis that shows the values themselves."""
    values = sorted(set(values))
    axis.axes.set_xscale("log", base=2)
    span = math.log2(values[-1] / values[0])
    axis.set_major_locator(FixedLocator(spaced(values, max(span, 1) / 14)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(tick_text))
    axis.set_label_text(label + LOG)
    margin = max(0.15, 0.04 * span)
    axis.axes.set_xlim(values[0] * 2**-margin, values[-1] * 2**margin)


def value_axis(axes, values, label, wide=20):
    """Linear from 0; logarithmic where all are positive and the largest is more than `wide` times the
    least."""
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
    positive = [value for value in values if value > 0]
    if positive and len(positive) == len(values) and max(positive) > wide * min(positive):
        logarithmic(axes)
        return
    axes.set_ylim(min(0, *values, 0) * 1.12, max([*values, 0]) * 1.12 or 1)


def logarithmic(axes):
    axes.set_yscale("log")
    axes.set_ylabel(axes.get_ylabel() + LOG)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
