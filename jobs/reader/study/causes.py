"""Which part of a loss may be called its cause. Sentences, report.json and headlines take it from here."""

import math
from collections import namedtuple

from .conclude import NOTHING_LOST, SINGLE_RUNS_DIFFER, margin, may_conclude
from .efficiency import CAUSES
from .observation import is_single_run

Part = namedtuple("Part", "key seconds margin")
"""A phase, or "rest": what it took longer than with ideal scaling, and what that may be off: how far repeats differ, or
what single runs leave open."""


def lost_margin(base, f):
    """What the seconds of a loss may be off."""
    share = base.ranks() / f.ranks()
    return (f.losses.lost_spread + margin(f.point.epoch.value, f.point)
            + margin(share * base.point.epoch.value, base.point))


def is_determined(base, f):
    """Whether a cause of the loss may be looked for."""
    return may_conclude(base.point, f.point) and f.losses.lost > lost_margin(base, f)


def _rest(f):
    return f.point.epoch.value - sum(f.epoch_phases.values())


def loss_parts(base, f):
    """The largest first."""
    loss, share = f.losses, base.ranks() / f.ranks()

    def part(key, seconds, spread, own, of_base):
        return Part(key, seconds, spread + margin(own, f.point) + margin(share * of_base, base.point))

    parts = [part(key, loss.phases[key], loss.phase_spreads[key], f.epoch_phases[key], base.epoch_phases[key])
             for key in loss.phases]  # fmt: skip
    parts.append(part("rest", loss.rest, loss.rest_spread, _rest(f), _rest(base)))
    return sorted(parts, key=lambda one: -one.seconds)


def is_sure(part):
    return part.seconds > part.margin


def most_lost(base, f):
    """The Part that lost most; None where too little is lost to look for a cause, the runs may not conclude, or that
    part is not more than it may be off."""
    if not f.epoch_view.efficiency.value < NOTHING_LOST or not is_determined(base, f):
        return None
    largest = loss_parts(base, f)[0]
    return largest if is_sure(largest) else None


def costliest(base, f):
    """The factor of efficiency that costs most; None where repeats do not agree on it, or single runs have another
    within 5 % of it."""
    if f.costliest is None or not (is_single_run(base.point) or is_single_run(f.point)):
        return f.costliest
    least, *others = sorted(f.factors[cause] for cause in CAUSES if math.isfinite(f.factors[cause]))
    if others and others[0] <= least * (1 + SINGLE_RUNS_DIFFER):
        return None
    return f.costliest
