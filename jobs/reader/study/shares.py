"""What --balance speed would change in a run: the trainer's own rule (src/train/balance.hpp, docs/balance.md), from the
medians of full steps."""

import heapq
import math
from dataclasses import dataclass, field

import numpy

from ..base.definitions import PHASES, THRESHOLDS
from ..base.estimate import Estimate, exactly
from ..base.statistics import median_of
from ..runs.run import balance_of, batches_of, steady_epochs
from ..runs.steps import full_steps, steps_of

LEAST_GAIN, LEAST_STEPS = THRESHOLDS["balance_least_gain"], THRESHOLDS["balance_least_steps"]
_FIXED = ("optimizer", "other")
_BY_IMAGES = tuple(name for name in PHASES if name not in (*_FIXED, "all_reduce"))
_APART = 1.25  # of two numbers of images, for a line through their times
_NOT_KNOWN = "what of a step does not depend on images is not known: all steps had the same parts"


@dataclass
class RankCost:
    """What a step takes a rank, without waiting for others. Seconds."""

    fixed: float = 0.0  # however many images it has: update, bookkeeping
    per_image: float = 0.0  # input, forward, loss and backward

    def seconds(self, images):
        return self.fixed + self.per_image * images


@dataclass
class MeasuredCost:
    """What the steps of an epoch take a rank: all of them, and each half."""

    all: RankCost = field(default_factory=RankCost)
    first_half: RankCost = field(default_factory=RankCost)
    second_half: RankCost = field(default_factory=RankCost)


@dataclass
class RankShares:
    """The ranks' parts of a batch in a run, and those that --balance speed would give them."""

    costs: list  # RankCost of each rank
    images: list  # that it had in a full step
    by_speed: list  # that it would have
    given: bool  # whether the parts are those of --balance 3,1
    ranks_differ: bool  # whether the ranks would also get other parts than equal ones: if not, only the given parts differ
    now: float  # seconds until the slowest is ready, without waiting for others
    then: Estimate  # the same with the parts by speed; high is `now` where the fixed cost of a step is not known

    def gain(self):
        """Share of `now` that parts by speed would save."""
        return Estimate(1 - self.then.value / self.now, 1 - self.then.high / self.now, 1 - self.then.low / self.now,
                        self.then.why)


def median_cost(steps):
    return RankCost(median_of(step.fixed for step in steps), median_of(step.per_image for step in steps))


def measured_cost(steps):
    """From the RankCost of each step: medians. No time per image where there were fewer than three."""
    if len(steps) < LEAST_STEPS:
        return MeasuredCost()
    half = len(steps) // 2
    return MeasuredCost(median_cost(steps), median_cost(steps[:half]), median_cost(steps[half:]))


def slowest_seconds(costs, images):
    """When the last rank is ready."""
    return max(cost.seconds(own) for cost, own in zip(costs, images))


def _images_ready_by(moment, costs):
    """Images with which each rank is ready by a moment, one at least."""
    return [max(1, math.floor((moment - cost.fixed) / cost.per_image)) for cost in costs]


def balanced_images(costs, global_batch):
    """Images of each rank with which the slowest is ready soonest, one each at least. Each image in turn goes to the rank
    that would be ready first with it, which is optimal because a rank's time only grows (Fox 1966, "Discrete optimization
    via marginal analysis"). All but the last few go at once: bisection finds a moment by which they are done."""
    early, late = 0.0, slowest_seconds(costs, [global_batch] * len(costs))
    for _ in range(60):
        middle = (early + late) / 2
        if sum(_images_ready_by(middle, costs)) < global_batch:
            early = middle
        else:
            late = middle
    images = _images_ready_by(early * (1 - 1e-12), costs)
    turns = [(cost.seconds(own + 1), rank) for rank, (cost, own) in enumerate(zip(costs, images))]
    heapq.heapify(turns)
    for _ in range(global_batch - sum(images)):
        rank = turns[0][1]
        images[rank] += 1
        heapq.heapreplace(turns, (costs[rank].seconds(images[rank] + 1), rank))
    return images


def _pays(costs, now, then):
    return slowest_seconds(costs, then) <= (1 - LEAST_GAIN) * slowest_seconds(costs, now)


def steadily_rebalanced_images(costs, now):
    """`costs`: MeasuredCost of each rank. Balanced, or `now` where all steps or either half of them gain less than 5 % of
    the slowest rank's time: what is measured varies between ranks that are alike, and ranks that are slow in turn, for
    seconds, keep their images."""
    images = balanced_images([cost.all for cost in costs], sum(now))
    for part in ("all", "first_half", "second_half"):
        if not _pays([getattr(cost, part) for cost in costs], now, images):
            return list(now)
    return images


def _step_costs(table, full):
    """RankCost of each full step of an epoch, by rank."""
    fixed = sum(table[name][full] for name in _FIXED)
    images = table["samples"][full]
    with numpy.errstate(divide="ignore", invalid="ignore"):
        per_image = (table["seconds"][full] - table["all_reduce"][full] - fixed) / images
    return [[RankCost(*cost) for cost in zip(fixed[:, rank], per_image[:, rank])] for rank in range(fixed.shape[1])]


def _cost_of_figures(rank, steps, images):
    """From the sums and medians of run.json."""
    if rank.full_compute.count < LEAST_STEPS or images == 0 or steps == 0:
        return RankCost()
    fixed = sum(rank.phases[name] for name in _FIXED) / steps
    return RankCost(fixed, (rank.full_compute.median - fixed) / images)


def _costs_without_steps(run):
    """Where there is no steps.csv, the last two steady epochs take the place of the halves."""
    if len(steady_epochs(run)) < 2:
        return []
    first, last = steady_epochs(run)[-2:]
    images = batches_of(run, last)
    if len(first.of_ranks) != len(last.of_ranks) or batches_of(run, first) != images:
        return []
    halves = [[_cost_of_figures(rank, epoch.steps, own) for rank, own in zip(epoch.of_ranks, images)]
              for epoch in (first, last)]
    return [MeasuredCost(second, one, second) for one, second in zip(*halves)]


def measured_costs(run, tables):
    """MeasuredCost of each rank in the last steady epoch; empty if it is not known."""
    epoch = steady_epochs(run)[-1]
    table = tables.get(epoch.epoch)
    if table is None:
        return _costs_without_steps(run)
    return [measured_cost(steps) for steps in _step_costs(table, full_steps(table, run.global_batch))]


def _times_by_images(tables, rank):
    """{images: median seconds of what depends on them} of a rank, of numbers of images that three steps or more had."""
    seconds = {}
    for table in tables.values():
        for images, own in zip(table["samples"][:, rank], sum(table[name][:, rank] for name in _BY_IMAGES)):
            seconds.setdefault(int(images), []).append(own)
    return {images: median_of(own) for images, own in seconds.items() if images > 0 and len(own) >= LEAST_STEPS}


def _fixed_of_pass(tables, rank):
    """Seconds of forward and backward that do not depend on images, by the line through the times of the smallest and the
    largest part that the rank had; None where its parts were alike."""
    times = _times_by_images(tables, rank)
    least, most = min(times, default=0), max(times, default=0)
    if not least or most < _APART * least:
        return None
    slope = (times[most] - times[least]) / (most - least)
    return min(max(0.0, times[most] - slope * most), times[most]) if slope > 0 else times[least]


def _with_fixed(cost, fixed, images):
    """The same time for these images, with this much more of it fixed."""
    return RankCost(cost.fixed + fixed, max(cost.per_image - fixed / images, 1e-12))


def _seconds_then(costs, now, by_speed, known):
    then = slowest_seconds(costs, by_speed)
    return exactly(then) if known else Estimate(then, then, max(now, then)).because(_NOT_KNOWN)


def _shares(run, costs, tables):
    images = list(batches_of(run, steady_epochs(run)[-1]))
    fixed = [_fixed_of_pass(tables, rank) for rank in range(len(costs))] if tables else [None]
    known = all(one is not None for one in fixed)
    if known:
        costs = [MeasuredCost(*(_with_fixed(part, one, own) for part in (cost.all, cost.first_half, cost.second_half)))
                 for cost, one, own in zip(costs, fixed, images)]
    by_speed = steadily_rebalanced_images(costs, images)
    if by_speed == images:
        return None
    all_steps = [cost.all for cost in costs]
    equal = [sum(images) // len(images) + (rank < sum(images) % len(images)) for rank in range(len(images))]
    now = slowest_seconds(all_steps, images)
    return RankShares(all_steps, images, by_speed, balance_of(run) != "equal",
                      steadily_rebalanced_images(costs, equal) != equal, now,
                      _seconds_then(all_steps, now, by_speed, known))


def shares_to_change(run):
    """By the run's last steady epoch. None where --balance speed was on or would leave the parts as they are, where a rank
    had no image, and where too little is known: fewer than three full steps."""
    if run.world_size() < 2 or balance_of(run) == "speed":
        return None
    tables = steps_of(run, steady_epochs(run))
    costs = measured_costs(run, tables)
    known = len(costs) == len(batches_of(run, steady_epochs(run)[-1])) == run.world_size()
    if not known or not all(part.per_image > 0 for cost in costs for part in (cost.all, cost.first_half, cost.second_half)):
        return None
    return _shares(run, costs, tables)
