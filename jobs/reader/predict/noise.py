"""How the steps of ranks vary, and how fast each rank is."""

import math
from dataclasses import dataclass
from functools import cached_property

from ..runs.ranks import MOST_ROWS
from ..runs.rows import spaced
from ..runs.run import balance_of, steady_epochs
from ..runs.steps import full_steps, steps_of
from ..study.shares import equal_parts, is_known, measured_costs, parts_by_speed
from .model import STILL, Noise

_QUANTILES = ("min", "median", "p90", "max")
_MOST_FACTORS = 16  # kinds of ranks that a forecast tells apart


@dataclass(frozen=True)
class NoiseFit:
    """How the time of a rank's full step without waiting for the all-reduce varies relative to its mean, which is 1."""

    noise: Noise = STILL
    samples: int = 0  # steps of a rank; 0: nothing is known
    from_steps: bool = False  # from steps.csv, value by value; else from the spreads of run.json


def _relative(values):
    """Arrays of times, each relative to its mean."""
    return [own / own.mean() for own in values if len(own) and own.mean() > 0]


class RunNoise:
    """What one run shows. Its steps.csv is read once."""

    def __init__(self, run):
        self.run = run
        self._tables = steps_of(run, [epoch for epoch in steady_epochs(run) if epoch.ranks == run.world_size()])
        self._costs = measured_costs(run, self._tables) if self._may_differ() else []

    def _may_differ(self):
        return self.run.world_size() > 1 and balance_of(self.run) != "speed"

    def balance_questions(self):
        """What parts_by_speed has to be asked for `factors`: one question, or none."""
        ranks = self.run.world_size()
        if len(self._costs) != ranks or self.run.global_batch < ranks or not is_known(self._costs):
            return []
        return [(self._costs, equal_parts(self.run.global_batch, ranks))]

    @cached_property
    def factors(self):
        """Times of the ranks for equal parts, relative to their mean: 1 where --balance speed would leave equal
        parts as they are, or gave parts. None where they are not known."""
        ranks, questions = self.run.world_size(), self.balance_questions()
        if not self._may_differ():
            return [1.0] * ranks
        if not questions:
            return None
        if parts_by_speed(questions) == [equal for _, equal in questions]:
            return [1.0] * ranks
        seconds = [cost.all.seconds(self.run.global_batch / ranks) for cost in self._costs]
        return [own * ranks / sum(seconds) for own in seconds]

    def step_seconds(self):
        """Of a mean full step without its sums, mean over ranks."""
        full = self.run.summary.full_step
        return full.step.mean - full.phases["all_reduce"].mean

    def _ranks_apart(self):
        """Whether a rank's times are relative to its own mean: ranks, or their parts, differ always and not by
        chance."""
        return balance_of(self.run) not in ("equal", "speed") or len(set(self.factors or [1.0])) > 1

    def relative_steps(self):
        """Arrays of the times of full steps, relative to their mean; none without a steps.csv."""
        import numpy

        times = []
        for table in self._tables.values():
            full = full_steps(table, self.run.global_batch)
            times.append((table["seconds"] - table["all_reduce"])[full])
        if not times or not sum(map(len, times)):
            return []
        times = numpy.concatenate(times)
        times = times[numpy.isfinite(times).all(axis=1)]
        return _relative(times.T if self._ranks_apart() else [times.ravel()])

    def relative_spread(self):
        """(quantiles relative to their mean, steps) of the spreads of all ranks and epochs in one: the least and the
        most of all, the means of median and 90th percentile. None where there are none."""
        epochs = spaced(steady_epochs(self.run), self.run.world_size(), MOST_ROWS)
        spreads = [rank.full_compute for epoch in epochs for rank in epoch.of_ranks if rank.full_compute.count > 0]
        units = [one.mean if self._ranks_apart() else 1.0 for one in spreads]
        count = sum(one.count for one in spreads)
        mean = sum(one.mean / unit * one.count for one, unit in zip(spreads, units)) / count if count else math.nan
        if not mean > 0:
            return None
        values = {name: [getattr(one, name) / unit for one, unit in zip(spreads, units)] for name in _QUANTILES}
        median = sum(values["median"]) / len(spreads)
        united = {"min": min(values["min"]), "median": median, "max": max(values["max"]),
                  "p90": max(sum(values["p90"]) / len(spreads), median)}
        return {name: value / mean for name, value in united.items()}, count


def _from_spreads(seen):
    spreads = [one for one in (run.relative_spread() for run in seen) if one]
    if not spreads:
        return NoiseFit()
    means = {name: sum(spread[name] for spread, _ in spreads) / len(spreads) for name in _QUANTILES}
    return NoiseFit(Noise(spread=means), sum(count for _, count in spreads))


def noises_of(runs):
    """A RunNoise of each run. The program is asked once for all."""
    seen = [RunNoise(run) for run in runs]
    parts_by_speed([question for one in seen for question in one.balance_questions()])
    return seen


def fit_noise(seen):
    """From the steps.csv in each run's directory, if all have one. `seen`: RunNoise of each run."""
    steps = [run.relative_steps() for run in seen]
    if not seen or not all(steps):
        return _from_spreads(seen)
    values = [float(value) for run in steps for own in run for value in own]
    return NoiseFit(Noise(values), len(values), True)


def fit_rank_factors(seen, predicted_seconds):
    """Times of ranks relative to what is predicted of a rank, ascending: quantiles of all runs together where they are
    many; () if all ranks are equally fast, None if no run on several ranks shows it. `predicted_seconds`: of a step
    without its sums, for a list of runs."""
    known = [one for one in seen if one.factors and one.step_seconds() > 0]
    if not any(one.run.world_size() > 1 for one in known):
        return None
    if all(set(one.factors) == {1.0} for one in known):
        return ()
    predicted = predicted_seconds([one.run for one in known])
    factors = sorted(factor * one.step_seconds() / seconds
                     for one, seconds in zip(known, predicted) for factor in one.factors)
    kinds = min(len(factors), _MOST_FACTORS)
    return tuple(factors[(2 * kind + 1) * len(factors) // (2 * kinds)] for kind in range(kinds))
