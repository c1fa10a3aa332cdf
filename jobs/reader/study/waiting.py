"""What a step waits for in the all-reduce: for messages, or for a rank that is later."""

import math
from dataclasses import dataclass

import numpy

from ..base.definitions import PHASES
from ..base.statistics import median_of_others
from ..runs.run import middle_epoch, middle_epochs
from ..runs.steps import steps_of

_USEFUL = tuple(name for name in PHASES if name != "all_reduce")
_MOST = 0.5  # of the waiting, from which one rank is the one that others wait for


@dataclass
class LateRank:
    """The rank that others wait for. Seconds of a step above the median of the other ranks."""

    rank: int = 0
    host: str = ""
    share: float = math.nan  # of the waiting
    seconds: float = math.nan  # of a step without the all-reduce
    phase: str = ""  # that is most above
    phase_seconds: float = math.nan


@dataclass
class Waiting:
    """The exposed all-reduce of the steady epoch of median time, in seconds: mean over ranks. Both add up to it."""

    transfer: float = math.nan  # what the last rank to arrive waits: messages and adding
    waiting: float = math.nan  # the rest of each rank's: for ranks that were later
    late: LateRank = None  # None: no rank in particular
    by_step: bool = False  # by steps.csv; else bounds by sums over the epoch: transfer may be less


def _late_rank(run, rank, share, phases):
    """`phases`: {phase: seconds of a step by rank}."""
    above = {name: own[rank] - median_of_others(own, rank) for name, own in phases.items()}
    phase = max(above, key=above.get)
    host = run.ranks[rank].host if rank < len(run.ranks) else ""
    return LateRank(rank, host, share, sum(above.values()), phase, above[phase])


def _by_step(run, tables):
    """By the least exposed all-reduce of all ranks in each step."""
    exposed = numpy.concatenate([table["all_reduce"] for table in tables])
    least = exposed.min(axis=1)
    waited = (exposed - least[:, None]).sum(axis=1)
    blame = numpy.bincount(exposed.argmin(axis=1), waited, exposed.shape[1])
    found = Waiting(least.sum() / len(tables), waited.sum() / exposed.shape[1] / len(tables), by_step=True)
    worst = int(blame.argmax())
    if found.waiting > 0 and blame[worst] > _MOST * blame.sum():
        phases = {name: list(numpy.median(numpy.concatenate([table[name] for table in tables]), axis=0))
                  for name in _USEFUL}
        found.late = _late_rank(run, worst, float(blame[worst] / blame.sum()), phases)
    return found


def _by_sums(run, epoch):
    """Without steps.csv: the least sum of a rank, which is right where one rank is always last, or the waiting that was
    measured in the all-reduce as a whole, whichever leaves less for transfer."""
    steps, exposed = epoch.all_steps, epoch.phases["all_reduce"].mean
    sums = [rank.phases["all_reduce"] for rank in epoch.of_ranks]
    bounds = [min(sums)] if sums else []
    if steps.busy.mean > 0 and not math.isnan(steps.wait.mean):
        bounds.append(exposed * (1 - steps.wait.mean / steps.busy.mean))
    if not bounds:
        return Waiting()
    found = Waiting(min(bounds), exposed - min(bounds))
    late = sums.index(min(sums)) if sums else None
    if late is None or epoch.steps == 0 or len(sums) < 2:
        return found
    phases = {name: [rank.phases[name] / epoch.steps for rank in epoch.of_ranks] for name in _USEFUL}
    rank = _late_rank(run, late, math.nan, phases)
    if found.waiting > 0 and rank.seconds * epoch.steps > _MOST * found.waiting:
        found.late = rank
    return found


def waiting_of(run):
    """Of a run on several ranks."""
    epochs = middle_epochs(run)
    tables = steps_of(run, epochs)
    if len(tables) < len({epoch.epoch for epoch in epochs}):
        return _by_sums(run, middle_epoch(run))
    return _by_step(run, list(tables.values()))
