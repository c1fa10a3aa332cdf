"""What a chart is, and how it is laid out: axes, legend and title always fit their box."""

import io
import textwrap

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from .style import GRID, QUIET, SETTINGS, plain

WIDTH, HEIGHT = 8.0, 5.2  # inches
PNG_DPI = 160
_LEGEND_WIDTH = 82  # letters


class Chart:
    """A picture and what belongs to it.

    name      of its files, without ending; title is short
    section   the heading under which the page shows it
    draw      function of an axes; draws everything but the title
    rows      the values drawn, [[name, text...]...] under `columns`: for the slides
    remarks   sentences for those who read it
    about     names of series, and words: findings that hold one of each belong to the chart
    """

    def __init__(self, name, title, section, draw, columns=(), rows=(), remarks=(), height=HEIGHT,
                 about=((), ())):  # fmt: skip
        self.name, self.title, self.section, self.draw = name, title, section, draw
        self.columns, self.rows, self.remarks = list(columns), list(rows), list(remarks)
        self.height = height
        self.subjects, self.topics = about

    def figure(self):
        """The chart as a matplotlib figure of its own."""
        with rc_context(SETTINGS):
            figure = new_figure(WIDTH, self.height)
            axes = figure.add_subplot()
            self.draw(axes)
            axes.set_title(plain(title_lines(self.title)))
            figure.set_size_inches(WIDTH, self.height + legend_height(axes))
            fit(axes, (0.02, 0.02, 0.98, 0.98))
        return figure


def title_lines(title, width=58):
    """One line, or what stands behind the colon above what stands before it."""
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
    dated = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}
    buffer = io.BytesIO()
    with rc_context(SETTINGS):
        figure.savefig(buffer, format=form, dpi=PNG_DPI, metadata=dated[form])
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
        place = axes.get_position()
        left = place.x0 + box[0] - extent.x0
        bottom = place.y0 + box[1] - extent.y0
        right = place.x1 + box[2] - extent.x1
        top = place.y1 + box[3] - extent.y1
        axes.set_position((left, bottom, max(right - left, 0.1), max(top - bottom, 0.1)))


def legend_below(axes, handles, offset=50):
    """A legend `offset` points below the axes, in as many columns as its labels allow."""
    if not handles:
        return
    labels = [plain("\n".join(textwrap.wrap(one.get_label(), 66))) for one in handles]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    columns = max(1, min(len(handles), _LEGEND_WIDTH // (longest + 7)))  # 7: the sample and the gap
    below = axes.transAxes + ScaledTranslation(0, -offset / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below,
        ncol=columns, borderaxespad=0, handlelength=2.6, columnspacing=1.6,
    )  # fmt: skip


def horizontal_grid(axes):
    axes.grid(True, axis="y", color=GRID, linewidth=0.7)
    axes.tick_params(length=0, axis="y")


def nothing_to_draw(axes, why):
    """Says so in the middle of the axes."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, plain(why), ha="center", va="center", color=QUIET, transform=axes.transAxes)
