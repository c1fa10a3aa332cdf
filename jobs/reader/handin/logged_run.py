"""Runs of which only printed figures are known, as observations."""

import math
from dataclasses import dataclass, field, replace

from ..base.estimate import UNKNOWN, Estimate
from ..base.statistics import median_of
from ..study.observation import Observation, Subject


@dataclass
class LoggedRun(Subject):
    """A run of which only printed figures are known."""

    ranks: int = 1
    global_batch: int = 0  # 0: unknown
    images: float = math.nan  # in the data set
    epochs: list = field(default_factory=list)  # LoggedEpoch

    def without_epochs(self):
        return replace(self, epochs=[])


def images_of_epoch(images, steps, global_batch):
    """Images that an epoch of `steps` steps takes of `images`: all of them with a partial last step, or steps x batch
    where a remainder is left out. NaN if neither fits."""
    if not steps or not global_batch:
        return images
    over = images - steps * global_batch
    if -global_batch < over <= 0:
        return images
    return float(steps * global_batch) if 0 < over < global_batch else math.nan


def _median(estimates):
    return Estimate(*(median_of([getattr(one, part) for one in estimates]) for part in ("value", "low", "high")))


def _full_step(seen):
    """Without a partial last step a full step takes epoch / steps. With one its value supposes that time follows
    images, and its bounds that the partial step took from nothing to as long as a full one."""
    steps, batch = seen.steps, seen.global_batch
    if not seen.images > 0 or not batch or not steps:
        return UNKNOWN
    if seen.images == steps * batch:
        return seen.mean_step
    if steps < 2:
        return UNKNOWN  # the only step is a partial one
    return Estimate(seen.epoch.value * batch / seen.images, seen.epoch.low / steps, seen.epoch.high / (steps - 1))


def observe(run):
    """The observation of a LoggedRun. Steady: medians of values and bounds over the epochs after the first, or the only
    one. Raises ValueError if there is no epoch."""
    if not run.epochs:
        raise ValueError("no epoch was finished")
    later = [epoch for epoch in run.epochs if epoch.number != 1] or run.epochs[:1]
    seen = Observation(*run.subject(), ranks=run.ranks, global_batch=run.global_batch)
    if run.global_batch % run.ranks == 0:
        seen.rank_batch = run.global_batch // run.ranks
    seen.steps = later[0].steps
    seen.images = images_of_epoch(run.images, seen.steps, run.global_batch)
    seen.epoch = _median([epoch.seconds for epoch in later])
    seen.printed_epoch = _median([epoch.printed for epoch in later])
    if run.epochs[0].number == 1:
        seen.first_epoch = run.epochs[0].seconds
    if seen.steps:
        seen.mean_step = seen.epoch * (1 / seen.steps)
    seen.full_step = _full_step(seen)
    seen.includes_warm_up = later[0].number == 1
    return seen
