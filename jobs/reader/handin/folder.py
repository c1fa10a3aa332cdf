"""`rueda report --hand-in`: the folder that is handed in."""

import os
from pathlib import Path

from ..base.files import Ownership
from ..base.owned import remove_earlier, write_owned
from ..base.text import counted, first_few, in_utf8, printable
from ..findings.report_json import report_json
from ..report_files import csv_files
from ..start import Unusable, path_of
from .answers import NAME as ANSWERS
from .answers import first_answers, open_blanks, parse_answers, read_answers
from .course_page import course_of
from .document import document_of, markdown_of
from .extract import extract

_PAGES = ("hand-in.md", "hand-in.html")
_REMEDY = "move it away, or name another folder with --hand-in"
_SHOWN = 10
_LONGEST = 4000


def _real(word):
    return Path(os.path.realpath(path_of(word)))


def check_place(word, places, report=""):
    """Raises Unusable for a folder in which runs are, or which lies among them, for its extract would be read as runs;
    and for one that has or will have the output of another command. `report` is the folder of --out."""
    own = _real(word)
    if report and own == _real(report):
        raise Unusable(f"--hand-in {word}: --out is the same folder; name another")
    others = sorted(set(Ownership(own).known) - set(_PAGES))
    if others:
        raise Unusable(f"--hand-in {word}: it has what another command wrote ({printable(others[0])}); name another "
                       "folder")  # fmt: skip
    for place in places:
        other = _real(place)
        other = other.parent if other.is_file() else other
        if own == other or own in other.parents or other in own.parents:
            raise Unusable(f"--hand-in {word}: it lies among the runs in {place}, or they lie in it, so that its "
                           "records would be read as more runs; name a folder beside them")  # fmt: skip


def _pages(layout, course, answers, report, draws):
    """({folder: {file: bytes}}, sheets) of document and charts."""
    content, drawn = report_json(report), []
    if draws:
        from ..page.output import draw_all
        from ..page.render import hand_in

        _, drawn = draw_all(content, (), printed=True)
    document = document_of(layout, course, answers, content, drawn)
    pictures = {chart.name: png for chart, png in drawn}
    shown = [view.name for sheet in document.sheets for block in sheet.charts for view in block.content]
    pages = {_PAGES[0]: in_utf8(markdown_of(document))}
    if draws:
        pages[_PAGES[1]] = in_utf8(hand_in(document))
    charts = {"charts": {f"{name}.png": pictures[name] for name in shown}} if shown else {}
    return {"": pages, **charts}, document.sheets


def _add_answers(folder, word, text):
    """Where there is none: what a student wrote is never replaced."""
    try:
        with open(folder / ANSWERS, "xb") as file:
            file.write(text.encode("utf-8"))
    except FileExistsError:
        raise Unusable(f"{word}/{ANSWERS}: somebody else has just written it; start again") from None


def _say(word, contents, runs, missing, is_new):
    files = [*contents[""], "tables/*.csv", *(["charts/*.png"] if "charts" in contents else [])]
    files += [f"runs/ (the records of {counted(runs, 'run')})"] * bool(runs)
    files += [f"{ANSWERS} (yours to complete)"] * is_new
    print(f"\nHand-in in {printable(word, _LONGEST)}: {', '.join(files)}")
    if missing:
        print(f"Left out: {first_few(missing, _SHOWN)}")


def _say_what_is_open(word, course, answers, sheets):
    blanks, total = open_blanks(answers, course)
    for sentence in dict.fromkeys(sheet.missing for sheet in sheets if sheet.missing):
        print(sentence)
    if blanks:
        print(f"{sum(blanks.values())} of {counted(total, 'blank')} are open: {', '.join(blanks)}. Fill them in in "
              f"{printable(word, _LONGEST)}/{ANSWERS}, and run the command again.")  # fmt: skip
    else:
        print(f"All {counted(total, 'blank')} are filled in.")


def write_hand_in(word, layout, title, places, report, draws):
    """Into the folder that the user calls `word`: document, tables, charts and an extract of the records in `places`,
    and answers.md if it is not there. Raises Unusable, before anything is written, for an answers.md that cannot be
    used and where a file is there that no earlier call is known to have written."""
    folder, course = path_of(word), course_of(layout)
    answers = read_answers(folder / ANSWERS, f"{word}/{ANSWERS}", course)
    is_new = answers is None
    text = first_answers(course, title or course.title)
    answers = answers or parse_answers(text, course)
    pages, sheets = _pages(layout, course, answers, report, draws)
    records, missing = extract(places)
    contents = {**pages, "tables": csv_files(report.layouts[layout]), "runs": {}, **records}
    write_owned(folder, word, contents, _REMEDY)
    remove_earlier(folder, contents)
    if is_new:
        _add_answers(folder, word, text)
    _say(word, contents, len(report.all_runs), missing, is_new)
    _say_what_is_open(word, course, answers, sheets)
