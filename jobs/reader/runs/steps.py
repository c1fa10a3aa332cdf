"""steps.csv: every step of every rank of a run."""

from pathlib import Path

import numpy

from ..base.definitions import FILES
from ..base.json_view import InputFile
from ..start import Unusable
from .rows import rows_by_epoch, spaced

NAME = FILES["steps"]["name"]
_MAY_BE_EMPTY = ("parts", "part_norm2", "gradient_norm2")  # of a step, in the row of rank 0, where they were measured
_MOST_ROWS = 250_000  # of all epochs of which figures are made
_REMEDY = "give the steps.csv of a rueda run, or move it away: reports go without it"


def _numbers(names, lines):
    """Array [line][column]; NaN of an empty cell. Raises ValueError."""
    cells = b",".join(lines).split(b",")
    empty = [index for index, cell in enumerate(cells) if not cell]
    if any(names[index % len(names)] not in _MAY_BE_EMPTY for index in empty):
        raise ValueError
    for index in empty:
        cells[index] = b"nan"
    return numpy.array(list(map(float, cells))).reshape(len(lines), len(names))


def _table(file, names, lines):
    """{column: array [step][rank]}, or None unless every rank has each step once."""
    try:
        rows = _numbers(names, lines)
    except ValueError:
        file.refuse("a line is not a number for each column")
    columns = dict(zip(names, rows.T))
    order = numpy.lexsort((columns["rank"], columns["step"]))
    ranks, steps = (len(numpy.unique(columns[name])) for name in ("rank", "step"))
    pairs = {*zip(columns["step"], columns["rank"])}
    if ranks * steps != len(lines) or len(pairs) != len(lines):
        return None
    return {name: column[order].reshape(steps, ranks) for name, column in columns.items()}


def read_steps(path, wanted=None):
    """{epoch: {column: array [step][rank]}} of a steps.csv, for the epochs `wanted`, or all. An epoch in which a rank
    lacks a step is left out. Memory does not grow with other epochs. Raises Unusable."""
    file = InputFile(path, _REMEDY)
    names, found = rows_by_epoch(file, wanted)
    for name in ("epoch", "step", "rank", "samples", "global_samples", "seconds", "all_reduce"):
        if name not in names:
            file.refuse(f"it has no column {name}")
    tables = {epoch: _table(file, names, lines) for epoch, lines in found.items()}
    return {epoch: table for epoch, table in tables.items() if table is not None}


def steps_of(run, epochs):
    """The tables of these epochs (EpochFigures) of a run, where its directory has a steps.csv that can be read and has
    as many ranks as the epoch; else without them. Of very many rows only those of epochs evenly spaced, with the last.
    Unreadable ones are told by the check of records."""
    rows = max((epoch.steps * epoch.ranks for epoch in epochs), default=0)
    try:
        read = spaced(epochs, rows, _MOST_ROWS)
        tables = read_steps(Path(run.file).parent / NAME, [epoch.epoch for epoch in read])
    except (Unusable, TypeError):  # a made run has no file
        return {}
    ranks = {epoch.epoch: epoch.ranks for epoch in epochs}
    return {epoch: table for epoch, table in tables.items() if table["rank"].shape[1] == ranks[epoch]}


def full_steps(table, global_batch):
    """Which steps took the whole global batch: a mask over the first axis."""
    return table["global_samples"][:, 0] == global_batch
