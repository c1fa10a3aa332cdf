"""What --balance speed would change in a run, from the medians of full steps. Which parts it would choose, the program
says (docs/why-not-scaling.md)."""

import json
import math
from dataclasses import dataclass, field

import numpy

from ..base.ask import ask
from ..base.definitions import PHASES, THRESHOLDS
from ..base.estimate import Estimate, exactly
from ..base.statistics import median_of
from ..runs.run import balance_of, batches_of, steady_epochs
from ..runs.steps import full_steps, steps_of

LEAST_STEPS = THRESHOLDS["balance_least_steps"]
_PARTS = ("all", "first_half", "second_half")  # of the steps of an epoch
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
    # Whether the ranks would also get other parts than equal ones: if not, only the given parts differ.
    ranks_differ: bool
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


def _cost_json(cost):
    return {part: vars(getattr(cost, part)) for part in _PARTS}


_answered = {}  # images by the text of a question: one run is asked for by several findings


def parts_by_speed(questions):
    """The images of each rank that --balance speed would choose, for each (MeasuredCost of each rank, images that it
    has): those that it has where other parts would gain too little. One call of the program answers all."""
    texts = [json.dumps({"images": images, "costs": [_cost_json(cost) for cost in costs]})
             for costs, images in questions]
    new = [text for text in dict.fromkeys(texts) if text not in _answered]
    if new:
        _answered.update(zip(new, ask({"balances": [json.loads(text) for text in new]})["balances"]))
    return [list(_answered[text]) for text in texts]


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
    """Seconds of forward and backward that do not depend on images, by the line through the times of the smallest and
    the largest part that the rank had; None where its parts were alike."""
    times = _times_by_images(tables, rank)
    least, most = min(times, default=0), max(times, default=0)
    if not least or most < _APART * least:
        return None
    slope = (times[most] - times[least]) / (most - least)
    return min(max(0.0, times[most] - slope * most), times[most]) if slope > 0 else times[least]


def _with_fixed(cost, fixed, images):
    """The same time for these images, with this much more of it fixed."""
    return RankCost(cost.fixed + fixed, max(cost.per_image - fixed / images, 1e-12))


def equal_parts(images, ranks):
    """Images of each rank without --balance."""
    return [images // ranks + (rank < images % ranks) for rank in range(ranks)]


def is_known(costs):
    """Whether the costs of each rank were measured, in all its steps and in both halves."""
    times = [getattr(cost, part) for cost in costs for part in _PARTS]
    return all(0 <= one.fixed < math.inf and 0 < one.per_image < math.inf for one in times)


def _seconds_then(costs, now, by_speed, known):
    then = slowest_seconds(costs, by_speed)
    return exactly(then) if known else Estimate(then, then, max(now, then)).because(_NOT_KNOWN)


def _with_fixed_costs(costs, images, tables):
    """(costs, whether their part that does not depend on images is known)."""
    fixed = [_fixed_of_pass(tables, rank) for rank in range(len(costs))] if tables else [None]
    if None in fixed:
        return costs, False
    return [MeasuredCost(*(_with_fixed(getattr(cost, part), one, own) for part in _PARTS))
            for cost, one, own in zip(costs, fixed, images)], True


def _known_costs(run):
    """(MeasuredCost of each rank, whether their fixed part is known); None where --balance speed was on, and where
    too little is known: fewer than three full steps."""
    if run.world_size() < 2 or balance_of(run) == "speed":
        return None
    tables, images = steps_of(run, steady_epochs(run)), batches_of(run, steady_epochs(run)[-1])
    costs = measured_costs(run, tables)
    if not len(costs) == len(images) == run.world_size() or not is_known(costs):
        return None
    return _with_fixed_costs(costs, images, tables)


def _shares(run, known, by_speed, for_equal):
    images, costs = list(batches_of(run, steady_epochs(run)[-1])), [cost.all for cost in known[0]]
    if by_speed == images:
        return None
    now = slowest_seconds(costs, images)
    return RankShares(costs, images, by_speed, balance_of(run) != "equal",
                      for_equal != equal_parts(sum(images), len(images)), now,
                      _seconds_then(costs, now, by_speed, known[1]))


def shares_to_change(runs):
    """RankShares of each run, by its last steady epoch; None where nothing is known, or its parts would stay."""
    known = [_known_costs(run) for run in runs]
    questions = []
    for run, one in zip(runs, known):
        if one is not None:
            images = list(batches_of(run, steady_epochs(run)[-1]))
            questions += [(one[0], images), (one[0], equal_parts(sum(images), len(images)))]
    answers = iter(parts_by_speed(questions))
    return [None if one is None else _shares(run, one, next(answers), next(answers)) for run, one in zip(runs, known)]
