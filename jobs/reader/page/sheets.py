"""The sheets of slides.html, one for each task, with its title, charts, tables, facts, and room for a judgement; and
those of a hand-in, with the tasks of the course's page and what the student says of them."""

import re
from collections import namedtuple
from fnmatch import fnmatchcase

from ..base.text import counted
from ..charts.report import columns_of, entries, findings_of, has_quantity, layout_tables_of, tables_of, text
from ..handin.answers import text_of
from ..handin.course_page import is_for_cluster, lines_of
from ..handin.network_table import is_stand_in_note
from .parts import charts_block, table_view

Sheet = namedtuple("Sheet", "title charts tables facts beside commands said missing", defaults=((), None, ""))
"""beside: a single chart has narrow tables and the facts at its right. commands: [(text, what it is)]. said: [Passage],
None for a box to write into. missing: a sentence on what the course asks for and the runs do not give."""

# A study with more series than this has sheets of what combines them alone.
_MOST_SERIES = 4
_QUANTITIES = ("epoch-time", "throughput", "speedup", "efficiency")
# Charts of the tables of layouts, by the table's id: baseline and acceleration in each course's numbers, and the lab's
# table of times.
_OF_TABLES = {
    re.compile(r"(book|sa_miri)_task_10_[34]|lab5_task_[23]|sa_miri_2021_task_7"): ["single-epoch-time"],
    re.compile(r"nyu_table_1_g\d+"): ["weak-epoch-time", "weak-speedup", "strong-epoch-time", "strong-speedup"],
}
_SCALINGS = ("weak", "strong")
_NARROW = 5  # columns
_IN_A_ROW = 2  # charts; more have a sheet of their own
_PLACE = re.compile(r"--(?:run-dir|out) (\S+)")
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


def _of_its_series(table, charts, wanted):
    """Charts of just the series that a table compares, where the combined ones show more."""
    keys, names = columns_of(table), []
    for combined in (one for one in charts if one.name in wanted):
        names.append("-".join([combined.name, *(id for id in combined.ids if id in keys), "bars"]))
    return [one for one in charts if one.name in names]


def charts_of_table(table, charts):
    """Those of a layout's table, up to four: of one series if its id ends the table's, or those of a quantity that
    combine all series, or the ones that the table compares."""
    name = text(table.get("id"))
    of_series = [
        one for one in charts for quantity in _QUANTITIES
        if len(one.ids) == 1 and one.ids[0] and name.endswith("_" + one.ids[0]) and one.name.endswith("-" + quantity)
    ]  # fmt: skip
    wanted = [f"{scaling}-{one}" for one in _QUANTITIES if has_quantity(table, one) for scaling in _SCALINGS]
    of_series = of_series or _of_its_series(table, charts, wanted)
    wanted += [chart for pattern, names in _OF_TABLES.items() if pattern.fullmatch(name) for chart in names]
    named = [scaling for scaling in _SCALINGS if f"{scaling} scaling" in text(table.get("title"))]
    others = tuple(f"{scaling}-" for scaling in _SCALINGS if named and scaling not in named)
    found = of_series or [one for one in charts if one.name in wanted and not one.name.startswith(others)]
    as_bars = {_without_form(one): one for one in charts if one.name.endswith("-bars")}
    return [as_bars.get(one.name, one) for one in found[:4]]


def with_task_numbers(report, charts):
    """The same charts; the title of each begins with the tasks whose tables it belongs to."""
    for one in charts:
        tables = [table for table in layout_tables_of(report)
                  if _without_form(one) in map(_without_form, charts_of_table(table, charts))]  # fmt: skip
        tasks = ", ".join(dict.fromkeys(text(table.get("title")).partition(":")[0] for table in tables))
        if tasks:
            one.title = f"{tasks}: {one.title}"
    return charts


def _sheet(title, blocks, views, facts):
    beside = sum(len(block.content) for block in blocks) == 1 and all(len(view.head) <= _NARROW for view in views)
    return Sheet(title, blocks, views, facts, beside)


def _with_sheets_of_charts(sheets):
    """More charts than stand in a row follow on a sheet of their own, so that words and tables have theirs."""
    for sheet in sheets:
        many = sum(len(block.content) for block in sheet.charts) > _IN_A_ROW
        yield sheet._replace(charts=[]) if many else sheet
        if many:
            facts = [fact for fact in sheet.facts if is_stand_in_note(fact)]
            yield Sheet(f"{sheet.title}: charts", sheet.charts, [], facts, False, said=[])


def _caption(title, sheet):
    """The title of a table without the task's number, which the title of its sheet has; empty if that says it all."""
    words = "" if title == sheet else title.removeprefix(sheet.partition(": ")[0] + ": ")
    is_name = any(map(str.isdigit, words.partition(" ")[0]))  # resnet18
    return words if is_name else words[:1].upper() + words[1:]


def _sheet_of_tables(title, tables, drawn, named=()):
    """Of tables of layouts, with their charts and those that are named. Notes are the facts."""
    views = [table_view(table) for table in tables]
    facts = list(dict.fromkeys(note for view in views for note in view.notes))
    views = [view._replace(notes=[], title=_caption(view.title, title)) for view in views]
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
    tables = layout_tables_of(report)
    if tables:
        return list(_with_sheets_of_charts(_sheets_of_layouts(tables, drawn)))
    findings = findings_of(report)
    return [_sheet_of_chart(chart, png, findings) for chart, png in _worth_a_sheet(drawn)]


def _matching(names, pattern):
    return [name for name in names if fnmatchcase(name, pattern)]


def _missing(course, task, slide, tables):
    """A sentence where a table that a slide asks for is none of these."""
    asked = [pattern for pattern in slide.shows if _IN_NAMES_OF_CHARTS not in pattern]
    if all(_matching(tables, pattern) for pattern in asked):
        return ""
    runs = [f"`{command}`" for command in course.runs_of(task)]
    return f"No run gives all tables of {task.name}" + (f"; what makes its runs: {', '.join(runs)}." if runs else ".")


def _was_run(command, ran):
    """None for a command that does not say where its runs lie."""
    places = _PLACE.findall(command)
    found = any(word == place or word.startswith(f"{place}/") for word in ran for place in places)
    return found if places else None


def kind_of(commands, ran):
    """What the hand-in says of commands of the page: those for a cluster may have been run or not, where that is
    known."""
    was_run = {_was_run(line, ran) for line in lines_of(commands) if is_for_cluster(line)}
    if was_run in ({True}, {False}):
        return "Run on a cluster:" if was_run == {True} else "For a cluster; no run here is of it:"
    return "For a cluster:" if was_run else ""


def _sheet_of_slide(course, task, slide, said, tables, drawn, ran):
    """`tables`: {id: table} of all that the report has; `ran`: the words of all commands that were run."""
    charts = [chart.name for chart, _ in drawn]
    ids = list(dict.fromkeys(name for pattern in slide.shows for name in _matching(tables, pattern)))
    named = [name for pattern in slide.shows for name in _matching(charts, pattern)]
    sheet = _sheet_of_tables(f"{task.name}: {slide.title or task.title}", [tables[name] for name in ids], drawn, named)
    return sheet._replace(commands=[(one, kind_of(one, ran)) for one in slide.commands], said=said,
                          missing=_missing(course, task, slide, tables))  # fmt: skip


def _command_line(one):
    """With the ranks, of which a command says nothing by itself."""
    ranks = one.get("ranks")
    return text(one.get("command")) + (f"  # {counted(ranks, 'rank')}" if isinstance(ranks, int) else "")


def _sheet_of_commands(commands):
    """What the records say was run."""
    listed = "\n".join(map(_command_line, commands))
    return [Sheet("Commands of the runs", [], [], [], False, [(listed, "By their records:")], [])] if listed else []


def sheets_of_course(course, answers, report, drawn, with_sheets_of_charts):
    """A sheet for each task that is handed in, or for each slide that the course asks for in it; then what was run."""
    tables = {text(table.get("id")): table for _, part in tables_of(report) for table in part}
    measured = report.get("measured")
    commands = entries(measured, "commands") if isinstance(measured, dict) else []
    ran = " ".join(text(one.get("command")) for one in commands).split()
    sheets = [_sheet_of_slide(course, task, slide, text_of(answers, task, slide), tables, drawn, ran)
              for task in course.tasks for slide in task.slides]  # fmt: skip
    sheets += _sheet_of_commands(commands)
    return list(_with_sheets_of_charts(sheets)) if with_sheets_of_charts else sheets
