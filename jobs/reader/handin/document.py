"""The document of a hand-in: its front, and a sheet for each task. Here as Markdown; page/render.py makes HTML of
it."""

from collections import namedtuple

from ..base.prose import Passage, escaped, prose_markdown, spans
from ..charts.report import text
from ..page.head import facts
from ..page.sheets import sheets_of_course
from ..tables.table import markdown_rows

Document = namedtuple("Document", "title head facts form sheets")
"""head: [(name, words)] of what answers.md says of the whole; form: "slides" or "document"."""

_RUNNING = ("sa-miri-2021", "nyu")  # layouts of courses that ask for a report; others ask for slides
_ALL_COMMANDS = "runs/"


def document_of(layout, course, answers, report, drawn):
    """`report` is the content of a report.json, `drawn` [(chart, png)]."""
    head = [(name, text(words)) for name, words in answers.head.items() if name != "Title"]
    form = "document" if layout in _RUNNING else "slides"
    title = text(answers.head["Title"]) or course.title
    sheets = sheets_of_course(course, answers, report, drawn, with_sheets_of_charts=form == "slides")
    return Document(title, head, facts(report, _ALL_COMMANDS), form, sheets)


def _paragraph(words):
    return prose_markdown([Passage("paragraph", spans(words))])


def _table(view):
    title = [f"### {escaped(view.title)}"] if view.title else []
    rows = markdown_rows([cell.words for cell in view.head], [cell.kind == "number" for cell in view.head],
                         [[cell.words for cell in row] for row in view.rows])  # fmt: skip
    return [*title, rows.rstrip("\n")]


def _sheet(sheet):
    parts = [f"## {escaped(sheet.title)}"]
    for command, kind in sheet.commands:
        parts += [escaped(kind)] * bool(kind) + [f"```sh\n{command}\n```"]
    parts += [f"![{escaped(view.name)}](charts/{view.name}.png)" for block in sheet.charts for view in block.content]
    for view in sheet.tables:
        parts += _table(view)
    notes = [_paragraph(fact) for fact in sheet.facts]
    notes += [_paragraph(sheet.missing)] * bool(sheet.missing)
    return [*parts, *(["\n".join(f"- {note}" for note in notes)] if notes else []), prose_markdown(sheet.said)]


def markdown_of(document):
    """The whole of hand-in.md."""
    parts = [f"# {escaped(document.title)}"]
    lines = [f"- **{name}**: {_paragraph(words)}" for name, words in document.head]
    lines += [f"- {what}: {escaped(words)}" for what, words in document.facts]
    parts.append("\n".join(lines))
    for sheet in document.sheets:
        parts += _sheet(sheet)
    return "\n\n".join(filter(None, parts)) + "\n"
