"""A CSV of epochs that another trainer wrote, with the columns of a run's epochs.csv."""

import csv
import io
import re

from .keras_line import LoggedEpoch, printed_duration
from .logged_run import LoggedRun
from .text_input import decoded_text

_HEAD_BYTES = 4096
_MOST_BYTES = 20_000_000
_MOST_EPOCHS = 100_000
_COUNT = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,20})?")
_NEEDED = ("epoch", "seconds")
_COUNTS = ("ranks", "steps", "samples", "global_batch")


def _headings(line):
    return [cell.strip().lower() for cell in line.split(",")]


def is_epoch_table(file, most_bytes):
    """Whether the first line of an InputFile names the columns `epoch` and `seconds`. Raises Unusable."""
    with file.open(most_bytes) as stream:
        head = decoded_text(stream.read(_HEAD_BYTES))
    return set(_NEEDED) <= set(_headings(head.partition("\n")[0]))


class _Row:
    """A line of the table, whose cells are numbers."""

    def __init__(self, file, line, cells):
        self._file, self._line, self._cells = file, line, cells

    def text(self, name, form, what):
        """Empty where there is no such cell, or nothing in it."""
        cell = (self._cells.get(name) or "").strip()
        if cell and not form.fullmatch(cell):
            self.refuse(f"{name} is no {what}")
        return cell

    def count(self, name):
        return int(self.text(name, _COUNT, "whole number") or 0)

    def refuse(self, why):
        self._file.refuse(f"line {self._line}: {why}")

    def epoch(self):
        seconds = printed_duration(self.text("seconds", _NUMBER, "number such as 12.345") + "s")
        number = self.count("epoch")
        if not number or not seconds or not seconds.value > 0:
            self.refuse("epoch and seconds are not numbers above 0")
        return LoggedEpoch(number, self.count("steps"), seconds=seconds)

    def images(self, seconds):
        """0 where neither they nor a rate are there."""
        rate = float(self.text("images_per_second", _NUMBER, "number such as 812.5") or 0)
        return self.count("samples") or round(rate * seconds)


def _add(runs, row):
    epoch, ranks = row.epoch(), row.count("ranks") or 1
    if not runs or runs[-1].ranks != ranks or epoch.number <= runs[-1].epochs[-1].number:
        runs.append(LoggedRun(ranks=ranks, global_batch=row.count("global_batch")))
    run = runs[-1]
    run.epochs.append(epoch)
    run.images = float(row.images(epoch.seconds.value)) or run.images


def read_epoch_table(file):
    """[LoggedRun] of an InputFile: a line of columns, then one of each epoch. `epoch` and `seconds` have to be there;
    `images_per_second`, `samples`, `steps`, `ranks` and `global_batch` are read, others are not. A run begins where
    epochs do not grow or ranks change. Seconds count as measured, not as rounded. Raises Unusable naming the line."""
    text = re.sub("\r\n?", "\n", decoded_text(file.read(_MOST_BYTES)))
    first, _, rest = text.partition("\n")
    reader, runs = csv.DictReader(io.StringIO(rest), _headings(first)), []
    try:
        for cells in reader:
            row = _Row(file, reader.line_num + 1, cells)
            if None in cells or None in cells.values():
                row.refuse("it has another number of cells than the first line")
            if reader.line_num > _MOST_EPOCHS:
                file.refuse(f"it has more than {_MOST_EPOCHS:,} epochs")
            _add(runs, row)
    except csv.Error as error:
        file.refuse(f"line {reader.line_num + 2}: it is no table ({error})")
    if not runs:
        file.refuse("it has no epoch")
    return runs
