"""ranks.csv: what run.json says of each rank in an epoch, where ranks are few, and what it leaves out of many."""

from collections.abc import Sequence

from ..base.definitions import FILES, PHASES
from ..base.json_view import InputFile
from ..base.statistics import Spread
from ..start import Unusable
from .rows import rows_by_epoch

NAME = FILES["ranks"]["name"]
MOST_ROWS = 20_000  # of all epochs together, where each row becomes figures
_REMEDY = "give the ranks.csv of the run, whole"
_SPREAD = ("min", "mean", "median", "p90", "max", "deviation")


def _spread(row, name):
    return Spread(int(row["full_steps"]), *(row[f"{name}_{part}"] for part in _SPREAD))


def _figures(row):
    from .epochs import RankFigures

    return RankFigures(
        int(row["rank"]), row["seconds"], int(row["samples"]), {name: row[name] for name in PHASES},
        row["all_reduce_busy"],
        row["all_reduce_wait"], row["all_reduce_add"], row["prepare_busy"], row["copy_busy"], row["copy_bytes"],
        row["core_share"], _spread(row, "full_step_seconds"), _spread(row, "full_step_compute_seconds"),
        int(row["batch"]))


def read_ranks(path, epoch, ranks):
    """RankFigures of each rank in an epoch. Raises Unusable where the file does not have each rank once."""
    file = InputFile(path, _REMEDY)
    names, found = rows_by_epoch(file, [epoch])
    try:
        rows = [dict(zip(names, map(float, line.split(b",")))) for line in found.get(epoch, [])]
        figures = [_figures(row) for row in rows if len(row) == len(names)]
    except (ValueError, KeyError, OverflowError):
        file.refuse(f"a line of epoch {epoch} is not a number for each column")
    if [rank.rank for rank in figures] != list(range(ranks)):
        file.refuse(f"it does not have each of the {ranks} ranks of epoch {epoch} once")
    return figures


class RanksInFile(Sequence):
    """RankFigures of an epoch, which are read when they are wanted, and kept until those of another epoch of the run
    are. Empty where they cannot be read, which the check of records tells."""

    def __init__(self, path, epoch, ranks, cache):
        self._path, self._epoch, self._ranks, self._cache = path, epoch, ranks, cache

    def _figures(self):
        if self._epoch not in self._cache:
            try:
                figures = read_ranks(self._path, self._epoch, self._ranks)
            except Unusable:
                figures = []
            self._cache.clear()
            self._cache[self._epoch] = figures
        return self._cache[self._epoch]

    def __len__(self):
        return len(self._figures())

    def __getitem__(self, index):
        return self._figures()[index]

    def __iter__(self):
        return iter(self._figures())

