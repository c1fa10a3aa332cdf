"""slides.pdf: one page a task with figure, table and facts, and an empty space for the presenter's
judgement."""

import io
import re
from collections import namedtuple

from matplotlib import rc_context
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.patches import Rectangle

from .chart import fit, legend_height, new_figure
from ..base.text import cell_text
from .report import EMPHASIS, findings_of, tables_of, text, texts_of
from .slide_text import SIZE, draw_facts, draw_table, put, wrapped_to
from .style import QUIET, plain, settings

Page = namedtuple("Page", "title charts columns rows facts by_ranks judged", defaults=(True,))
"""Up to four charts; rows are texts under columns, the first of which holds names. by_ranks: the other
columns are numbers of ranks or the like, of which a selection will do; else the first matter most.
judged: has the space for a judgement."""

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
_FLATTEST = 0.35  # height of axes over their width
_LEGENDS = (12, 10, 9, 8, 7, 6)  # letters of a legend next to its chart


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


def _is_squashed(axes):
    """Whether the legend left the axes too low for their width, or for the labels at their left."""
    figure = axes.figure
    extent = axes.get_window_extent()
    low, high = sorted(axes.get_ylim())
    labels = [
        label.get_window_extent(figure.canvas.get_renderer()).height
        for at, label in zip(axes.get_yticks(), axes.get_yticklabels())
        if low <= at <= high
    ]
    return extent.height < max(_FLATTEST * extent.width, sum(labels))


def _legend_beside(axes, height):
    """Moves the legend to the right of the axes, in the largest letters with which it takes so many inches."""
    below = axes.get_legend()
    if below is None:
        return
    handles = below.legend_handles if hasattr(below, "legend_handles") else below.legendHandles  # before 3.7
    words = [one.get_text() for one in below.get_texts()]
    for size in _LEGENDS:
        axes.legend(
            handles, words, loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0,
            handlelength=2.6, fontsize=size,
        )  # fmt: skip
        if legend_height(axes) <= height:
            return


def _draw_alone(figure, page):
    """Charts as large as the page allows; a single one with its legend at the right."""
    box = _PAGE._replace(bottom=0.09)
    if len(page.charts) > 1:
        _draw_charts(figure, page.charts, box)
        return
    with rc_context(settings()):
        axes = figure.add_axes((box.left, box.bottom, box.right - box.left, box.top - box.bottom))
        page.charts[0].draw(axes)
        _legend_beside(axes, 0.96 * (box.top - box.bottom) * SIZE[1])
        fit(axes, box)


def _draw_beside(figure, page):
    """The figure at the left, its table and the facts at the right."""
    left = _PAGE.left
    if page.charts:
        _draw_charts(figure, page.charts, _PAGE._replace(right=_MIDDLE))
        left = _MIDDLE
    end, whole = draw_table(figure, page, _PAGE._replace(left=left, bottom=_PAGE.bottom + 0.08))
    draw_facts(figure, page.facts, _PAGE._replace(left=left, top=end - 0.03))
    return whole


def _draw_above(figure, page):
    """The figure above a table that is as wide as the page, then the facts; those are at the
    right of the figure if it is a single chart."""
    upper = _PAGE._replace(bottom=_ABOVE)
    if len(page.charts) == 1:
        _draw_charts(figure, page.charts, upper._replace(right=_MIDDLE))
        draw_facts(figure, page.facts, upper._replace(left=_MIDDLE))
        return draw_table(figure, page, _PAGE._replace(top=_ABOVE - 0.01))[1]
    if page.charts:
        _draw_charts(figure, page.charts, upper)
    top = _ABOVE - 0.01 if page.charts else _PAGE.top
    end, whole = draw_table(figure, page, _PAGE._replace(top=top, bottom=_PAGE.bottom + 0.045))
    draw_facts(figure, page.facts, _PAGE._replace(top=end - 0.01))
    return whole


def _draw_judgement(figure):
    """The empty space, labelled."""
    width = _PAGE.right - _PAGE.left
    look = {"facecolor": "none", "edgecolor": "#888888", "linestyle": "--", "linewidth": 1}
    figure.add_artist(Rectangle((_PAGE.left, 0.065), width, 0.145, **look))
    put(figure, _PAGE.left + 0.01, 0.2, JUDGEMENT, fontsize=12, color=QUIET, style="italic")


def _draw_with_table(figure, page):
    """Returns whether the table is whole."""
    return (_draw_above if len(page.columns) >= _WIDE_TABLE[page.by_ranks] else _draw_beside)(figure, page)


def in_proportion(page):
    """The page; or, where charts and table together squash a chart or cut the table, pages of the charts and
    then one of the table."""
    figure = new_figure(*SIZE)
    whole = not page.charts or _draw_with_table(figure, page)
    squashed = any(map(_is_squashed, figure.axes))
    if whole and not squashed:
        return [page]
    alone = page._replace(columns=[], rows=[], facts=[], judged=False)
    pages = [alone]
    if squashed and len(page.charts) > 1:
        pages = [alone._replace(title=chart.title, charts=[chart]) for chart in page.charts]
    return [*pages, page._replace(charts=[])]


def draw_page(page, number, made_with):
    """The page as a figure."""
    figure = new_figure(*SIZE)
    size = 22 if "\n" not in wrapped_to(page.title, 0.9, 22) else 16
    put(figure, _PAGE.left, 0.955, wrapped_to(page.title, 0.9, size), fontsize=size)
    if page.judged:
        _draw_with_table(figure, page)
        _draw_judgement(figure)
    else:
        _draw_alone(figure, page)
    put(figure, _PAGE.right, 0.045, number, fontsize=10, color=QUIET, ha="right")
    put(figure, _PAGE.left, 0.045, made_with, fontsize=10, color=QUIET)
    return figure


# Of a study with more series than this, only what combines them gets pages.
_MOST_SERIES = 4
_QUANTITIES = ("epoch-time", "throughput", "speedup", "efficiency")
# Charts of the tables of layouts, by the table's id: baseline and acceleration in each course's numbers,
# and the lab's table of times.
_OF_TABLES = {
    re.compile(r"(book|sa_miri)_task_10_[34]|lab5_task_[23]"): ["single-epoch-time"],
    re.compile(r"nyu_table_1_g\d+"): ["weak-epoch-time", "weak-speedup", "strong-epoch-time", "strong-speedup"],
}
_SCALINGS = ("weak", "strong")


def facts_about(chart, findings):
    """The findings about the chart's series that have its topic, and its own remarks. A page about one series
    alone need not repeat its label."""
    facts = []
    for one in findings:
        if one.about not in chart.labels or not any(topic in one.text.lower() for topic in chart.topics):
            continue
        facts.append(one.text if len(chart.labels) == 1 else f"{one.about}: {one.text}")
    return facts + chart.remarks


def _of_chart(chart, findings):
    return Page(chart.title, [chart], chart.columns, chart.rows, facts_about(chart, findings), True)


def charts_of_table(table, charts):
    """Those of a layout's table, up to four: of one series if its id ends the table's, or the combined
    ones of a quantity."""
    name = text(table.get("id"))
    of_series = [
        one for one in charts for quantity in _QUANTITIES
        if len(one.ids) == 1 and one.ids[0] and name.endswith("_" + one.ids[0]) and one.name.endswith("-" + quantity)
    ]  # fmt: skip
    wanted = [f"{scaling}-{one}" for one in _QUANTITIES if name.endswith("_" + one.replace("-", "_"))
              for scaling in _SCALINGS]  # fmt: skip
    wanted += [chart for pattern, names in _OF_TABLES.items() if pattern.fullmatch(name) for chart in names]
    named = [scaling for scaling in _SCALINGS if f"{scaling} scaling" in text(table.get("title"))]
    others = tuple(f"{scaling}-" for scaling in _SCALINGS if named and scaling not in named)
    found = of_series or [one for one in charts if one.name in wanted and not one.name.startswith(others)]
    as_bars = {_without_form(one): one for one in charts if one.name.endswith("-bars")}
    return [as_bars.get(one.name, one) for one in found[:4]]


def _without_form(chart):
    """The name that a chart has as lines and as bars."""
    return chart.name.removesuffix("-bars")


def with_task_numbers(report, charts):
    """The same charts; the title of each begins with the tasks whose tables it belongs to."""
    for one in charts:
        tables = [table for table in _layouts(report)
                  if _without_form(one) in map(_without_form, charts_of_table(table, charts))]  # fmt: skip
        tasks = ", ".join(dict.fromkeys(text(table.get("title")).partition(":")[0] for table in tables))
        if tasks:
            one.title = f"{tasks}: {one.title}"
    return charts


def _of_table(table, charts):
    columns = table["columns"]
    rows = [[cell_text(cell, column.get("show")) for cell, column in zip(row, columns)] for row in table["rows"]]
    facts = [EMPHASIS.sub(r"\1", one) for one in texts_of(table, "notes")]
    headings = [text(column.get("heading") or column.get("key")) for column in columns]
    return Page(text(table.get("title")), charts_of_table(table, charts), headings, rows, facts, False)


def _layouts(report):
    """The tables of all layouts that were asked for."""
    return [table for heading, tables in tables_of(report) if heading.startswith("Layout") for table in tables]


def _is_within(chart, other):
    """Whether the other chart shows the same of this one's series and of more."""
    return chart.topics == other.topics and set(chart.ids) < set(other.ids)


def _worth_a_page(charts):
    """What combines series; of few series, also what only belongs to each alone."""
    chosen = [one for one in charts if not one.ids or not any(_is_within(one, other) for other in charts)]
    alone = [chart for chart in chosen if len(chart.ids) == 1]
    combined = [chart for chart in chosen if len(chart.ids) != 1]
    return combined + alone if len({chart.section for chart in alone}) <= _MOST_SERIES else combined


def pages_of(report, charts):
    """A page for each table of the layouts asked for; without a layout, for the study's charts."""
    pages = [_of_table(table, charts) for table in _layouts(report)]
    if not pages:
        findings = findings_of(report)
        pages = [_of_chart(chart, findings) for chart in _worth_a_page(charts)]
    title = text(report.get("title")) or "Scaling report"
    return [part for page in pages for part in in_proportion(page)] or [Page(title, [], [], [], ["There is nothing to show."], False)]


def slides(report, charts):
    """The bytes of slides.pdf."""
    buffer = io.BytesIO()
    pages = pages_of(report, charts)
    dateless = {"CreationDate": None, "Title": text(report.get("title"))}
    with rc_context(settings()), PdfPages(buffer, metadata=dateless) as document:
        for i, one in enumerate(pages, 1):
            document.savefig(draw_page(one, f"{i} / {len(pages)}", text(report.get("made_with"))))
    return buffer.getvalue()
