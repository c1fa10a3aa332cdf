"""answers.md: what a student says of the tasks. The program writes it once, with sentences to complete, and only
reads it from then on."""

import os
import re
from dataclasses import dataclass, field

from ..base.json_view import InputFile, decoded
from ..base.prose import BLANK, blanks_in, passages
from ..base.text import first_few, printable
from ..command_line import did_you_mean

NAME = "answers.md"
_HEAD = ("Title", "Names", "Group", "Date")
_MOST_BYTES = 1_000_000
_REMEDY = "correct it, or move it away, so that a new one is written"
_TASK, _SLIDE = "## ", "### "
_NAMED = 20
_HELP = ("> Fill in each ___ and run the same command again: the document has what stands here. Lines that begin "
         "with > are questions and stay.")  # fmt: skip


@dataclass
class Answers:
    head: dict  # by _HEAD
    lines: dict = field(default_factory=dict)  # (name of a task, title of a slide) to lines; empty: of the task itself


def first_answers(course, title):
    """The text of a new answers.md."""
    lines = [f"Title: {title}", *(f"{name}: {BLANK}" for name in _HEAD[1:]), "", _HELP]
    for task in course.tasks:
        lines += ["", f"{_TASK}{task.name}: {task.title}", ""]
        for slide in task.slides:
            lines += [_SLIDE + slide.title, ""] if slide.title else []
            lines += slide.lines()
    return re.sub("\n{3,}", "\n\n", "\n".join(lines).strip() + "\n")


class _AnswersReader:
    def __init__(self, file, course):
        self._file, self._number = file, 0
        self._tasks = {task.name.lower(): task for task in course.tasks}
        self._task, self._key, self._fenced = None, None, False
        self.answers = Answers(dict.fromkeys(_HEAD, ""))

    def _refuse(self, why):
        self._file.refuse(f"line {self._number}: {why}")

    def _begin(self, key):
        if key in self.answers.lines:
            self._refuse(f"{key[1] or key[0]} stands there twice")
        self._key = key
        self.answers.lines[key] = []

    def _begin_task(self, name):
        self._task = self._tasks.get(name.lower())
        if self._task is None:
            names = [task.name for task in self._tasks.values()]
            known = did_you_mean(name, names) or f"; there are {first_few(names, _NAMED)}"
            self._refuse(f'"{printable(name)}" is no task that is handed in{known}')
        self._begin((self._task.name, ""))

    def _begin_slide(self, title):
        slide = next((one for one in self._task.slides if one.title and one.title.lower() == title.lower()), None)
        if slide is None:
            return False
        self._begin((self._task.name, slide.title))
        return True

    def _add_head(self, line):
        name, colon, value = line.partition(":")
        if name.strip().capitalize() in _HEAD and colon:
            self.answers.head[name.strip().capitalize()] = value.strip()
        elif line.strip() and not line.startswith((">", "# ")):
            self._refuse(f'"{printable(line)}": before the first task stand {", ".join(f"{one}:" for one in _HEAD)}')

    def add(self, line):
        self._number += 1
        self._fenced ^= line.lstrip().startswith("```")
        if line.startswith(_TASK) and not self._fenced:
            self._begin_task(line[len(_TASK):].partition(":")[0].strip())
        elif self._key is None:
            self._add_head(line)
        elif self._fenced or not (line.startswith(_SLIDE) and self._begin_slide(line[len(_SLIDE):].strip())):
            self.answers.lines[self._key].append(line)

    def finish(self):
        """What stands before the first slide of a task that has only titled ones belongs to that slide."""
        for task in self._tasks.values():
            first, lines = task.slides[0], self.answers.lines.get((task.name, ""), [])
            if first.title and any(map(str.strip, lines)):
                key = (task.name, first.title)
                self.answers.lines[key] = lines + self.answers.lines.get(key, first.lines())
        return self.answers


def _parsed(text, course, file):
    reader = _AnswersReader(file, course)
    for line in text.splitlines():
        reader.add(line)
    return reader.finish()


def read_answers(path, name, course):
    """The Answers in a file, which messages call `name`; None where there is none. Raises Unusable for what is no text
    in UTF-8 or larger than 1 MB, for a task that is none of the course or stands there twice, and for links."""
    file = InputFile(path, _REMEDY, name)
    if not os.path.lexists(path):
        return None
    if os.path.islink(path):
        file.refuse("it is a link")
    try:
        text = decoded(file.read(_MOST_BYTES))
    except UnicodeDecodeError as error:
        InputFile(path, "save it as UTF-8", name).refuse(f"it is no text in UTF-8 from byte {error.start + 1} on")
    return _parsed(text, course, file)


def parse_answers(text, course):
    """The Answers of a text that first_answers made."""
    return _parsed(text, course, InputFile(NAME, _REMEDY))


def text_of(answers, task, slide):
    """[Passage] of a slide: what the student wrote, or what the page of the course has if answers.md lacks it."""
    return passages(answers.lines.get((task.name, slide.title), slide.lines()))


def open_blanks(answers, course):
    """({where: blanks that are open, from 1 on}, blanks that there were). What was deleted altogether is open, too."""
    found = {"the head": sum(BLANK in words or not (words or name == "Title") for name, words in answers.head.items())}
    total = len(_HEAD) - 1  # the title is known
    for task in course.tasks:
        for slide in task.slides:
            asked, written = blanks_in(passages(slide.lines())), text_of(answers, task, slide)
            left = blanks_in(written) if any(one.kind != "question" for one in written) else min(asked, 1)
            found[task.name] = found.get(task.name, 0) + left
            total += max(asked, left)
    return {where: count for where, count in found.items() if count}, total
