"""The page of a course, docs/courses/NAME.md: its tasks, and what the hand-in of each has. jobs/site/courses.py makes
these pages; this is the form that both rely on:

    # Title of the course: tasks and hand-in
    ## Task 3: Title (10 %)                        a task, a part, a question or a session; the weight may be missing
    **Hand in**: a slide                           "nothing" leaves the task out of the hand-in
    ```sh ... ```                                  commands, which the hand-in shows; those before the first task may
                                                   end with a comment that names the tasks whose runs they make
    **Tables and charts**: `lab5_task_3`, `*-speedup`   what it shows, by id of a table and name of a chart
    > The epoch takes ___ s.                       a sentence to complete; several are several paragraphs
    > **Explain**: why?                            a question that only the student can answer
    ### Absolute performance                       a slide of its own with what follows it

Other text is for the student alone.
"""

import pkgutil
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..base.prose import BLANK
from ..start import Unusable

_DOCS = Path(__file__).resolve().parents[3] / "docs" / "courses"  # of the source tree
_WEIGHT = r"\([\d.,]+ ?(?:%|points?|pts?|marks?)\)"
_TASK = re.compile(rf"## ((?:Task|Part|Question|Session|Exercise) [\w.]+): (.+?)(?: {_WEIGHT})?\s*")
_HAND_IN, _SHOWS, _EXPLAIN = "**Hand in**:", "**Tables and charts**:", "**Explain**"
_OF_ALL = ": tasks and hand-in"  # in the heading of each page
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,4})?")
_SPAN = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)(?: to (\d{1,4}(?:\.\d{1,4})?))?")
_NAMES = re.compile(r"`([^`]+)`")


@dataclass
class Slide:
    """A part of a task that stands alone."""

    title: str = ""  # empty: the task's
    commands: list = field(default_factory=list)  # texts
    shows: list = field(default_factory=list)  # ids of tables and names of charts, with * as a wildcard
    sentences: list = field(default_factory=list)  # paragraphs; one that begins with **Explain** is a question

    def is_empty(self):
        return not (self.commands or self.shows or self.sentences)

    def lines(self):
        """For the student to complete: sentences, and questions as quotes, each with a blank below."""
        lines = []
        for sentence in self.sentences:
            lines += [f"> {sentence}", "", BLANK, ""] if sentence.startswith(_EXPLAIN) else [sentence, ""]
        return lines


@dataclass
class Task:
    name: str  # "Task 3"
    title: str
    wanted: str = ""  # what is to be handed in
    slides: list = field(default_factory=lambda: [Slide()])

    def is_handed_in(self):
        return not self.wanted.lower().startswith("nothing")


@dataclass
class Course:
    title: str
    tasks: list  # those that are handed in
    preparation: list = field(default_factory=list)  # lines of the first commands of the page

    def runs_of(self, task):
        """The commands that make the runs of a task: its own for a cluster, or else those of the preparation that say
        so."""
        own = [line for slide in task.slides for one in slide.commands for line in lines_of(one)
               if is_for_cluster(line)]  # fmt: skip
        said = [line.partition("#") for line in self.preparation]
        return own or [words.strip() for words, _, comment in said if _names(comment, task.name)]


def lines_of(commands):
    """Each command in one line."""
    return re.sub(r"\\\n\s*", "", commands).splitlines()


def is_for_cluster(command):
    """Whether a command is only for a cluster with Slurm."""
    return command.startswith("jobs/slurm/") or " --submit" in command


def _parts(number):
    return tuple(map(int, number.split(".")))


def _names(comment, task):
    """Whether a comment such as "10.5 to 10.7: 18 runs" names the task."""
    number = _parts(task.split()[-1]) if _NUMBER.fullmatch(task.split()[-1]) else ()
    ends = [(first, last or first) for first, last in _SPAN.findall(comment.partition(":")[0])]
    return any(_parts(first) <= number <= _parts(last) for first, last in ends if number)


def _page_bytes(layout):
    """From the program's archive, or from the source tree."""
    try:
        return pkgutil.get_data(__package__, f"courses/{layout}.md")
    except OSError:
        return (_DOCS / f"{layout}.md").read_bytes()


class _PageReader:
    def __init__(self):
        self.title, self.tasks, self.preparation = "", [], []
        self._fenced = None  # lines of the block of code that is open; None outside of one
        self._is_command, self._quotes, self._lists = False, False, False

    def _slide(self):
        return self.tasks[-1].slides[-1] if self.tasks and self.tasks[-1].name else None

    def _add_code(self, line):
        if not line.startswith("```"):
            self._fenced.append(line)
            return
        if self._is_command and self._slide():
            self._slide().commands.append("\n".join(self._fenced))
        elif self._is_command and not self.tasks and not self.preparation:
            self.preparation = lines_of("\n".join(self._fenced))
        self._fenced = None

    def _add_heading(self, line):
        task = _TASK.fullmatch(line)
        if line.startswith("# "):
            self.title = line[2:].strip().removesuffix(_OF_ALL)
        elif task:
            self.tasks.append(Task(task[1], task[2]))
        elif line.startswith("## "):
            self.tasks.append(Task("", ""))  # of no task, and left out
        elif line.startswith("### ") and self._slide():
            self.tasks[-1].slides.append(Slide(line[4:].strip()))

    def _add_text(self, line):
        slide = self._slide()
        if slide is None:
            return
        if line.startswith(_HAND_IN):
            self.tasks[-1].wanted = line[len(_HAND_IN):].strip()
        if line.startswith(_SHOWS):
            self._lists = True
        if self._lists:
            slide.shows += _NAMES.findall(line)
        if line.startswith(">") and not line[1:].strip():
            self._quotes = False
        elif line.startswith(">") and self._quotes:
            slide.sentences[-1] += " " + line[1:].strip()
        elif line.startswith(">"):
            slide.sentences.append(line[1:].strip())
            self._quotes = True

    def add(self, line):
        if self._fenced is not None:
            self._add_code(line)
            return
        self._quotes = self._quotes and line.startswith(">")
        self._lists = self._lists and bool(line.strip())
        if line.startswith("```"):
            self._fenced, self._is_command = [], line.strip("` ") in ("sh", "bash", "console")
        elif line.startswith("#"):
            self._add_heading(line)
        else:
            self._add_text(line)


def parse_course(text):
    """A Course of a page's text. Slides without any content are left out, but for the only one of a task."""
    reader = _PageReader()
    for line in text.splitlines():
        reader.add(line.rstrip())
    tasks = [task for task in reader.tasks if task.name and task.is_handed_in()]
    for task in tasks:
        task.slides = [slide for slide in task.slides if not slide.is_empty() or slide.title] or [Slide()]
    return Course(reader.title, tasks, reader.preparation)


def course_of(layout):
    """The Course of a layout. Raises Unusable where there is no page of it."""
    try:
        return parse_course(_page_bytes(layout).decode("utf-8"))
    except OSError as error:
        raise Unusable(f"--hand-in: the page of the course {layout} is missing ({error.strerror}); build rueda "
                       "again") from None  # fmt: skip
