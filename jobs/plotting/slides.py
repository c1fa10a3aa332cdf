"""slides.pdf: one page a task with figure, table and facts. The judgement is left to who presents it."""

import io

from matplotlib import rc_context
from matplotlib.backends.backend_pdf import PdfPages

from .number_text import cell_text
from .report import entries, tables_of, text
from .slide_page import Page, draw_page
from .style import SETTINGS

_MOST_FACTS = 5
# Of a study with more series than this, only what combines them gets pages.
_MOST_SERIES = 4


def _findings(report):
    listed = report.get("findings")
    return [text(one) for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def facts_about(chart, findings):
    """The chart's own remarks, and the findings that name one of its series and its topic."""
    named = [
        one
        for one in findings
        if any(subject in one for subject in chart.subjects) and any(topic in one.lower() for topic in chart.topics)
    ]
    return (chart.remarks + named)[:_MOST_FACTS]


def _of_chart(chart, findings):
    return Page(chart.title, chart, chart.columns, chart.rows, facts_about(chart, findings))


def _of_table(table, chart=None, title=None, facts=None):
    columns = table["columns"]
    rows = [[cell_text(cell, column.get("show")) for cell, column in zip(row, columns)] for row in table["rows"]]
    notes = table.get("notes")
    facts = facts or (notes if isinstance(notes, list) else [])
    headings = [text(column.get("heading") or column.get("key")) for column in columns]
    return Page(title or text(table.get("title")), chart, headings, rows, [text(one) for one in facts][:_MOST_FACTS])


def _asked_for(report, charts):
    """The pages that the report describes: `slides`, each with title, chart, table and facts."""
    by_name = {chart.name: chart for chart in charts}
    tables = {table.get("id"): table for _, members in tables_of(report) for table in members}
    pages = []
    for one in entries(report, "slides"):
        chart, table = by_name.get(one.get("chart")), tables.get(one.get("table"))
        facts = one.get("facts") if isinstance(one.get("facts"), list) else []
        if table:
            pages.append(_of_table(table, chart, text(one.get("title")), facts))
        elif chart:
            facts = [text(fact) for fact in facts] or facts_about(chart, _findings(report))
            pages.append(Page(text(one.get("title")) or chart.title, chart, chart.columns, chart.rows, facts))
    return pages


def _is_within(chart, other):
    """Whether the other chart shows the same of this one's series and of more."""
    return len(other.subjects) > 1 and chart.topics == other.topics and set(chart.subjects) < set(other.subjects)


def _worth_a_page(charts):
    """What combines series; of few series, also what only belongs to each alone."""
    chosen = [one for one in charts if not any(_is_within(one, other) for other in charts)]
    combined = [chart for chart in chosen if len(chart.subjects) != 1]
    alone = [chart for chart in chosen if len(chart.subjects) == 1]
    return combined + alone if len({chart.section for chart in alone}) <= _MOST_SERIES else combined


def pages_of(report, charts):
    """The pages in order: those asked for, or a page for each chart and each table of a layout."""
    pages = _asked_for(report, charts)
    if pages:
        return pages
    findings = _findings(report)
    pages = [_of_chart(chart, findings) for chart in _worth_a_page(charts)]
    for heading, tables in tables_of(report):
        if heading.startswith("Layout"):
            pages += [_of_table(table) for table in tables]
    return pages or [Page(text(report.get("title")) or "Scaling report", None, [], [], ["There is nothing to show."])]


def slides(report, charts):
    """The bytes of slides.pdf."""
    buffer = io.BytesIO()
    pages = pages_of(report, charts)
    dateless = {"CreationDate": None, "Title": text(report.get("title"))}
    with rc_context(SETTINGS), PdfPages(buffer, metadata=dateless) as document:
        for i, one in enumerate(pages, 1):
            document.savefig(draw_page(one, f"{i} / {len(pages)}", text(report.get("made_with"))))
    return buffer.getvalue()
