"""Time lost compared with ideal scaling, and the parts that explain it."""

import math
from dataclasses import dataclass, field

from ..base.definitions import PHASES
from ..runs.run import middle_epoch


@dataclass
class Losses:
    """T(P) - T(P0) P0 / P, and what of it each phase explains: the phase's seconds per epoch less its share of the
    fewest ranks' ones. The rest lies between steps or in the ranks' unevenness. Seconds per epoch."""

    lost: float = math.nan
    phases: dict = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    waiting: float = math.nan  # of the phase all_reduce: for ranks that were later
    rest: float = math.nan
    # How far the repeats of both points differ in the same figures, added up; 0 for single runs.
    lost_spread: float = 0.0
    rest_spread: float = 0.0
    phase_spreads: dict = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    def determined(self):
        """Whether it is more than repeats differ by, so that a cause can be looked for."""
        return self.lost > self.lost_spread


def _differ_by(values):
    """Most less least; 0 for less than two."""
    return max(values) - min(values) if len(values) > 1 else 0.0


def repeats_differ_by(point, of):
    """How far the repeats of a point differ in a figure of a run: most less least; 0 for less than two."""
    return _differ_by([of(run) for run in point.runs])


def _parts(run):
    """The middle epoch's seconds, its phases' means, and what of it is in no phase."""
    epoch = middle_epoch(run)
    phases = {name: epoch.phases[name].mean for name in PHASES}
    return {"lost": epoch.seconds, "rest": epoch.seconds - sum(phases.values()), **phases}


def _add_spreads(losses, base, point):
    share = base.ranks / point.ranks
    parts, base_parts = [_parts(run) for run in point.runs], [_parts(run) for run in base.runs]

    def differ(name):
        return _differ_by([one[name] for one in parts]) + share * _differ_by([one[name] for one in base_parts])

    losses.lost_spread, losses.rest_spread = differ("lost"), differ("rest")
    losses.phase_spreads = {name: differ(name) for name in PHASES}


def _waiting_of_base(base):
    return base.waits.waiting if base.point.ranks > 1 else 0.0


def losses_of(base, figures):
    """Of two PointFigures. None for the first point, oversubscribed ones and those that rueda did not run."""
    point = figures.point
    if figures.of_fewest_ranks() or point.oversubscribed or figures.run is None or base.run is None:
        return None
    share = base.point.ranks / point.ranks
    losses = Losses(lost=point.epoch.value - base.point.epoch.value * share)
    losses.phases = {name: figures.epoch_phases[name] - base.epoch_phases[name] * share for name in PHASES}
    losses.rest = losses.lost - sum(losses.phases.values())
    losses.waiting = figures.waits.waiting - share * _waiting_of_base(base)
    _add_spreads(losses, base.point, point)
    return losses
