"""slides.pdf: one page a task with figure, table and facts. The judgement is left to who presents it."""

import io

from matplotlib import rc_context
from matplotlib.backends.backend_pdf import PdfPages

from .number_text import cell_text
from .report import EMPHASIS, tables_of, text, texts_of
from .slide_page import Page, draw_page
from .style import settings

_MOST_FACTS = 6
# Of a study with more series than this, only what combines them gets pages.
_MOST_SERIES = 4
_QUANTITIES = ("epoch-time", "throughput", "speedup", "efficiency")
# Charts of the tables of layouts, by the beginning of the table's id.
_OF_TABLES = {
    "book_task_10_3": ["single-epoch-time"],
    "book_task_10_4": ["single-epoch-time"],
    "nyu_table_1": ["weak-epoch-time", "weak-speedup", "strong-epoch-time", "strong-speedup"],
}
_SCALINGS = ("weak", "strong")


def _without_subject(finding, labels):
    """A finding begins with the label of its series, which a page about this series alone need not repeat."""
    beginning = f"{labels[0]}: " if len(labels) == 1 else ""
    return finding[len(beginning) :] if beginning and finding.startswith(beginning) else finding


def facts_about(chart, findings):
    """The findings that name one of the chart's series and its topic, and its own remarks."""
    named = [
        _without_subject(one, chart.labels)
        for one in findings
        if any(label and label in one for label in chart.labels)
        and any(topic in one.lower() for topic in chart.topics)
    ]
    return (named + chart.remarks)[:_MOST_FACTS]


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
    wanted += [chart for beginning, names in _OF_TABLES.items() if name.startswith(beginning) for chart in names]
    told = [scaling for scaling in _SCALINGS if f"{scaling} scaling" in text(table.get("title"))]
    others = tuple(f"{scaling}-" for scaling in _SCALINGS if told and scaling not in told)
    return (of_series or [one for one in charts if one.name in wanted and not one.name.startswith(others)])[:4]


def _of_table(table, charts):
    columns = table["columns"]
    rows = [[cell_text(cell, column.get("show")) for cell, column in zip(row, columns)] for row in table["rows"]]
    facts = [EMPHASIS.sub(r"\1", one) for one in texts_of(table, "notes")][:_MOST_FACTS]
    headings = [text(column.get("heading") or column.get("key")) for column in columns]
    return Page(text(table.get("title")), charts_of_table(table, charts), headings, rows, facts, False)


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
    layouts = [table for heading, tables in tables_of(report) if heading.startswith("Layout") for table in tables]
    pages = [_of_table(table, charts) for table in layouts]
    if not pages:
        findings = texts_of(report, "findings")
        pages = [_of_chart(chart, findings) for chart in _worth_a_page(charts)]
    title = text(report.get("title")) or "Scaling report"
    return pages or [Page(title, [], [], [], ["There is nothing to show."], False)]


def slides(report, charts):
    """The bytes of slides.pdf."""
    buffer = io.BytesIO()
    pages = pages_of(report, charts)
    dateless = {"CreationDate": None, "Title": text(report.get("title"))}
    with rc_context(settings()), PdfPages(buffer, metadata=dateless) as document:
        for i, one in enumerate(pages, 1):
            document.savefig(draw_page(one, f"{i} / {len(pages)}", text(report.get("made_with"))))
    return buffer.getvalue()
