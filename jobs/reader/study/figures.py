"""Everything that is derived of the points of a study."""

import math
from dataclasses import dataclass, field

from ..base.estimate import Estimate, per
from ..base.statistics import Spread, mean_of, quotient, spread_of
from ..runs.epochs import Energy
from ..runs.run import RunResult, batches_of, means_of, middle_epoch, steady_epochs
from .efficiency import FACTORS, costliest_factor, efficiency_factors
from .learning import Learning, learning_of, noises_of
from .losses import Losses, losses_of
from .observation import Observation
from .series import Series, Speedup, epoch_speedup, gustafson_fraction, karp_flatt, step_speedup
from .waiting import Waiting, waiting_of


@dataclass
class CommunicationFigures:
    """Communication of the steady epoch of median time; seconds. `bytes` are those of a step, rates those of all steady
    epochs."""

    bytes: float = math.nan
    busy: float = math.nan  # inside the all-reduce
    exposed: float = math.nan  # what steps waited for it
    wait: float = math.nan  # parts of `busy`
    transfer: float = math.nan
    add: float = math.nan
    exposed_waiting: float = math.nan  # parts of `exposed`, by its own rule (waiting.py): for ranks that were later,
    exposed_transfer: float = math.nan  # and for messages and adding
    algbw: float = math.nan  # GB/s, of the slowest rank's busy time
    busbw: float = math.nan
    inferred: float = math.nan  # T(P) - T(P0) P0 / P
    # The same against P = 1 at this rank batch instead of this global batch, where that was run: small batches are
    # slower, which is no communication.
    inferred_same_batch: float = math.nan
    link_busbw: float = math.nan  # GB/s, of the time in transfer alone


@dataclass
class StragglerFigures:
    """How even the ranks were: seconds of a full step without waiting for the all-reduce."""

    compute: Spread = field(default_factory=Spread)  # of the ranks' medians
    slowest: int = 0  # rank
    slowest_host: str = ""


@dataclass
class PointFigures:
    """From the repeat that stands for all (merged), so that times and their parts add up; ranges are over all
    repeats."""

    series: Series = None
    point: Observation = None
    images_per_second: Estimate = Estimate()
    epoch_view: Speedup = field(default_factory=Speedup)
    step_view: Speedup = field(default_factory=Speedup)
    learning: Learning = Learning()
    karp_flatt: float = math.nan  # serial fraction from the epoch view
    gustafson: float = math.nan  # serial fraction from the step view
    run: RunResult = None  # that repeat; None for what rueda did not run
    step_phases: dict = field(default_factory=dict)  # phase to seconds of a mean full step
    epoch_phases: dict = field(default_factory=dict)  # to seconds of a steady epoch, mean over ranks
    factors: dict = field(default_factory=lambda: dict.fromkeys(FACTORS, math.nan))
    costliest: str = None  # key of the least of the four causes; None where repeats do not agree on it
    communication: CommunicationFigures = field(default_factory=CommunicationFigures)
    stragglers: StragglerFigures = field(default_factory=StragglerFigures)
    # Of several ranks: what steps waited for, and the rank that is late.
    waits: Waiting = field(default_factory=Waiting)
    energy: Energy = field(default_factory=Energy)  # of an epoch
    device_seconds: float = math.nan  # P x epoch time
    losses: Losses = None  # None for the first point, oversubscribed ones and those that rueda did not run

    def ranks(self):
        return self.point.ranks

    def of_fewest_ranks(self):
        return self.point.ranks == self.series.points[0].ranks


@dataclass
class SeriesFigures:
    series: Series
    points: list


@dataclass
class EpochParts:
    """The parts of a mean steady epoch other than full steps of median length; seconds."""

    slow_steps: float = math.nan  # what full steps took beyond the median of all
    partial: float = math.nan  # everything but full steps
    partial_images: int = 0
    partial_by_images: float = math.nan  # of a full step, their share of the images


def _one_rank_epochs(all_series):
    """Seconds of each P = 1 epoch by subject, batch and images; of the first series that has it."""
    found = {}
    for series in all_series:
        for one in series.points:
            if one.ranks == 1 and not math.isnan(one.images):
                found.setdefault((one.plain_subject(), one.global_batch, one.images), one.epoch.value)
    return found


def _add_measured(c, run, waits, steps, ranks):
    """What was measured in the steady epoch of median time."""
    step, steady = middle_epoch(run).all_steps, run.summary.all_steps
    c.busy = step.busy.mean * steps
    c.exposed = step.phases["all_reduce"].mean * steps
    c.wait, c.transfer, c.add = (part.mean * steps for part in (step.wait, step.transfer, step.add))
    if ranks > 1:
        c.exposed_transfer = min(waits.transfer, c.exposed)
        c.exposed_waiting = c.exposed - c.exposed_transfer
    c.bytes, c.algbw, c.busbw = steady.bytes, steady.algbw, steady.busbw
    if c.transfer > 0 and run.sums_go_over_links():
        c.link_busbw = 2 * (ranks - 1) / ranks * c.bytes * steps / c.transfer / 1e9


def _communication(one_rank, figures):
    base, point, c = figures.series.points[0], figures.point, CommunicationFigures()
    if figures.of_fewest_ranks():
        return c
    c.inferred = point.epoch.value - base.epoch.value * base.ranks / point.ranks
    alone = one_rank.get((point.plain_subject(), point.rank_batch, point.images), math.nan)
    c.inferred_same_batch = point.epoch.value - alone / point.ranks
    if figures.run is not None:
        _add_measured(c, figures.run, figures.waits, point.steps, point.ranks)
    return c


def _stragglers(run):
    """Of the last steady epoch. A rank that has more images takes longer and is not slow for that: its time counts as
    if it had those of a mean rank."""
    epoch = steady_epochs(run)[-1]
    medians = [rank.full_compute.median for rank in epoch.of_ranks]
    images = batches_of(run, epoch)
    if len(images) == len(medians):
        mean = mean_of(images)
        medians = [median * mean / own if own > 0 else median for median, own in zip(medians, images)]
    figures = StragglerFigures(compute=spread_of(medians), slowest=len(medians))
    if figures.compute.max in medians:
        figures.slowest = medians.index(figures.compute.max)
    if figures.slowest < len(run.ranks):
        figures.slowest_host = run.ranks[figures.slowest].host
    return figures


def _add_run(figures):
    run = figures.run
    epoch = middle_epoch(run)
    figures.step_phases = means_of(run.summary.full_step.phases)
    figures.epoch_phases = means_of(epoch.phases)
    figures.stragglers = _stragglers(run)
    figures.energy = epoch.energy


def _evaluate_point(one_rank, series, point):
    base = series.points[0]
    ranks = point.ranks / base.ranks
    figures = PointFigures(series, point, per(point.images, point.epoch), epoch_speedup(series, point),
                           step_speedup(series, point))
    figures.karp_flatt = karp_flatt(figures.epoch_view.speedup.value / base.ranks, ranks)
    figures.gustafson = gustafson_fraction(figures.step_view.speedup.value / base.ranks, ranks)
    if point.runs and base.runs:
        figures.factors = efficiency_factors(base.runs[0], point.runs[0])
        figures.costliest = costliest_factor(base.runs, point.runs)
    figures.device_seconds = point.ranks * point.epoch.value
    figures.run = point.runs[0] if point.runs else None
    if figures.run is not None and point.ranks > 1:
        figures.waits = waiting_of(figures.run)
    figures.communication = _communication(one_rank, figures)
    if figures.run is not None:
        _add_run(figures)
    return figures


def evaluate(all_series):
    """[SeriesFigures]."""
    one_rank, noises, result = _one_rank_epochs(all_series), noises_of(all_series), []
    for series in all_series:
        points = [_evaluate_point(one_rank, series, point) for point in series.points]
        for figures in points:
            figures.losses = losses_of(points[0], figures)
            figures.learning = learning_of(noises, series.points[0], figures.point, figures.epoch_view.speedup)
        result.append(SeriesFigures(series, points))
    return result


def epoch_parts(figures):
    point, step = figures.point, figures.run.summary.full_step.slowest
    full_steps, images = divmod(int(point.images), point.global_batch)
    epoch = mean_of(one.seconds for one in steady_epochs(figures.run))
    return EpochParts(slow_steps=full_steps * (step.mean - step.median), partial=epoch - full_steps * step.mean,
                      partial_images=images, partial_by_images=quotient(step.median * images, point.global_batch))
