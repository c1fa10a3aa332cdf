"""The sheets of slides.html, one for each task, with its title, charts, tables, facts, and room for a judgement; and
those of a hand-in, with the tasks of the course's page and what the student says of them."""

import re
from collections import namedtuple
from fnmatch import fnmatchcase

from ..charts.report import findings_of, tables_of, text
from ..handin.answers import text_of
from .parts import Cell, charts_block, table_view

Sheet = namedtuple("Sheet", "title charts tables facts beside commands said missing", defaults=((), None, ()))
"""beside: a single chart, or more than two, have narrow tables and the facts at their right. said: [Passage], None for
a box to write into. missing: names of tables that the course asks for and the runs do not give."""

# A study with more series than this has sheets of what combines them alone.
_MOST_SERIES = 4
_QUANTITIES = ("epoch-time", "throughput", "speedup", "efficiency")
# Charts of the tables of layouts, by the table's id: baseline and acceleration in each course's numbers, and the lab's
# table of times.
_OF_TABLES = {
    re.compile(r"(book|sa_miri)_task_10_[34]|lab5_task_[23]|sa_miri_2021_task_[347]"): ["single-epoch-time"],
    re.compile(r"nyu_table_1_g\d+"): ["weak-epoch-time", "weak-speedup", "strong-epoch-time", "strong-speedup"],
}
_SCALINGS = ("weak", "strong")
_NARROW = 5  # columns
_IN_A_ROW = 2  # charts; more stand in two rows, and leave the right of the sheet to tables
_IN_NAMES_OF_CHARTS = "-"  # and not in ids of tables
# Task 10.7 of the book asks for three slides with these titles.
_DECK = {
    "Absolute performance": ("_epoch_time", "_throughput"),
    "Scaling behavior": ("_speedup", "_efficiency"),
    "Generalization": (),
}
_IN_DECK = re.compile(r"book_task_10_7(?=_)")


def facts_about(chart, findings):
    """The findings about the chart's series that have its topic, and its own remarks. A sheet about one series alone
    need not repeat its label."""
    facts = []
    for one in findings:
        if one.about not in chart.labels or not any(topic in one.text.lower() for topic in chart.topics):
            continue
        facts.append(one.text if len(chart.labels) == 1 else f"{one.about}: {one.text}")
    return facts + chart.remarks


def _without_form(chart):
    """The name that a chart has as lines and as bars."""
    return chart.name.removesuffix("-bars")


def charts_of_table(table, charts):
    """Those of a layout's table, up to four: of one series if its id ends the table's, or the combined ones of a
    quantity."""
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


def _layouts(report):
    """The tables of all layouts that were asked for."""
    return [table for heading, tables in tables_of(report) if heading.startswith("Layout") for table in tables]


def with_task_numbers(report, charts):
    """The same charts; the title of each begins with the tasks whose tables it belongs to."""
    for one in charts:
        tables = [table for table in _layouts(report)
                  if _without_form(one) in map(_without_form, charts_of_table(table, charts))]  # fmt: skip
        tasks = ", ".join(dict.fromkeys(text(table.get("title")).partition(":")[0] for table in tables))
        if tasks:
            one.title = f"{tasks}: {one.title}"
    return charts


def _turned(view):
    """A wide table of few rows with a row for each of its columns; any other as it is."""
    if len(view.head) <= _NARROW or len(view.rows) >= _NARROW:
        return view
    columns = zip(view.head[1:], *(row[1:] for row in view.rows))
    rows = [[Cell(heading.words, ""), *cells] for heading, *cells in columns]
    return view._replace(head=[view.head[0], *(row[0] for row in view.rows)], rows=rows)


def _sheet(title, blocks, views, facts):
    charts = sum(len(block.content) for block in blocks)
    if charts > _IN_A_ROW:
        views = [_turned(view) for view in views]
    beside = charts not in (0, _IN_A_ROW) and all(len(view.head) <= _NARROW for view in views)
    return Sheet(title, blocks, views, facts, beside)


def _sheet_of_tables(title, tables, drawn, named=()):
    """Of tables of layouts, with their charts and those that are named. Notes are the facts; the title of a lone table
    is the sheet's."""
    views = [table_view(table) for table in tables]
    facts = list(dict.fromkeys(note for view in views for note in view.notes))
    views = [view._replace(notes=[], title=view.title if len(views) > 1 else "") for view in views]
    charts = [chart for chart, _ in drawn]
    wanted = {*named, *(one.name for table in tables for one in charts_of_table(table, charts))}
    return _sheet(title, charts_block([one for one in drawn if one[0].name in wanted]), views, facts)


def _sheets_of_layouts(tables, drawn):
    deck = [table for table in tables if _IN_DECK.match(text(table.get("id")))]
    sheets = []
    for table in tables:
        if table not in deck:
            sheets.append(_sheet_of_tables(text(table.get("title")), [table], drawn))
        elif table is deck[0]:
            task = text(table.get("title")).partition(":")[0]
            for title, ends in _DECK.items():
                members = [one for one in deck if text(one.get("id")).endswith(ends)] if ends else []
                sheets.append(_sheet_of_tables(f"{task}: {title}", members, drawn))
    return sheets


def _sheet_of_chart(chart, png, findings):
    columns = [{"heading": heading, "show": "text"} for heading in chart.columns]
    views = [table_view({"columns": columns, "rows": chart.rows})] if chart.rows else []
    (block,) = charts_block([(chart, png)])
    block = block._replace(content=[view._replace(caption="") for view in block.content])  # the facts have it
    return _sheet(chart.title, [block], views, facts_about(chart, findings))


def _is_within(chart, other):
    """Whether the other chart shows the same of this one's series and of more."""
    return chart.topics == other.topics and set(chart.ids) < set(other.ids)


def _worth_a_sheet(drawn):
    """What combines series; of few series, also what only belongs to each alone."""
    chosen = [one for one in drawn if not one[0].ids or not any(_is_within(one[0], other) for other, _ in drawn)]
    alone = [one for one in chosen if len(one[0].ids) == 1]
    combined = [one for one in chosen if len(one[0].ids) != 1]
    return combined + alone if len({chart.section for chart, _ in alone}) <= _MOST_SERIES else combined


def sheets_of(report, drawn):
    """A sheet for each task of the layouts asked for; without a layout, for the study's charts."""
    tables = _layouts(report)
    if tables:
        return _sheets_of_layouts(tables, drawn)
    findings = findings_of(report)
    return [_sheet_of_chart(chart, png, findings) for chart, png in _worth_a_sheet(drawn)]


def _matching(names, pattern):
    return [name for name in names if fnmatchcase(name, pattern)]


def _sheet_of_slide(task, slide, said, tables, drawn):
    """`tables`: {id: table} of all that the report has."""
    charts = [chart.name for chart, _ in drawn]
    ids = list(dict.fromkeys(name for pattern in slide.shows for name in _matching(tables, pattern)))
    named = [name for pattern in slide.shows for name in _matching(charts, pattern)]
    sheet = _sheet_of_tables(f"{task.name}: {slide.title or task.title}", [tables[name] for name in ids], drawn, named)
    asked = [pattern for pattern in slide.shows if _IN_NAMES_OF_CHARTS not in pattern]
    missing = [pattern for pattern in asked if not _matching(tables, pattern)]
    return sheet._replace(commands=slide.commands, said=said, missing=missing)


def sheets_of_course(course, answers, report, drawn):
    """A sheet for each task that is handed in, or for each slide that the course asks for in it."""
    tables = {text(table.get("id")): table for _, part in tables_of(report) for table in part}
    return [_sheet_of_slide(task, slide, text_of(answers, task, slide), tables, drawn)
            for task in course.tasks for slide in task.slides]  # fmt: skip
