"""What may be serial: Amdahl's fit and its limit, and the trend of Karp and Flatt's fraction."""

import math

from ..study.conclude import may_conclude, undecided
from ..study.serial import flatt_of, judged_karp_flatt, serial_fraction, speedup_limit
from .finding import Finding, listed, percent

_SAME_FRACTION = 0.005
_GROWTH = 1.2


def _fraction_text(share):
    """Noise may move a serial fraction out of its range."""
    if share < 0:
        return "below 0 %"
    return "above 100 %" if share > 1 else percent(share)


def _limit_text(limit):
    """Two decimals as of a measured speedup, so that rounding cannot put it on the other side of one."""
    return f"{limit:.2f}"


def _at_least(bound):
    """Bounds are rounded outwards: what is shown still holds."""
    return "at least " + _limit_text(math.floor(bound * 100) / 100)


def _at_most(bound):
    return "at most " + _limit_text(math.ceil(bound * 100) / 100)


def _amdahl_text(series, s):
    if not s.determined:
        return s.why if s.why.startswith("Amdahl's") else f"Amdahl's serial fraction is not determined: {s.why}"
    limit = speedup_limit(series, s)
    text = "Amdahl's fit has a serial fraction of " + percent(s.value)
    if s.exact:
        return f"{text}, a limit of {_limit_text(limit.value)} for the speedup"
    text += f" ({_fraction_text(s.low)} to {_fraction_text(s.high)})"
    if not limit.determined:
        bound = _at_least(limit.low) if s.low <= 0 else _at_most(limit.high)
        return f"{text}: the limit of the speedup is not determined, but {bound}"
    return (f"{text}, a limit of {_limit_text(limit.value)} ({_limit_text(limit.low)} to {_limit_text(limit.high)}) "
            "for the speedup")


def _falls(a, b):
    return b.value < a.value - _SAME_FRACTION


def trend_of(fractions, runs):
    """What several fractions, P ascending, say: a code and words; by all of them, not by the two ends. `runs` leave the
    ranges."""
    pairs = list(zip(fractions, fractions[1:]))
    if any(_falls(a, b) for a, b in pairs) and any(_falls(b, a) for a, b in pairs):
        return "both", "it rises and falls with P, so nothing follows from it"
    first, last = fractions[0], fractions[-1]
    if not (last.value > _GROWTH * first.value and _falls(last, first)):
        return "none", "no overhead that grows with P"
    if last.low <= first.high:
        return "open", f"{runs} do not tell whether it grows with P"
    return "grows", "the loss is overhead that grows with P"


def how_serial_it_is(series):
    """None where there is no fit, or its runs may not conclude."""
    fit, points = serial_fraction(series.series), [f for f in series.points if not f.point.oversubscribed]
    if not fit.known or not may_conclude(*(f.point for f in points)):
        return None
    text = _amdahl_text(series.series, fit)
    limit = speedup_limit(series.series, fit)
    fitted = [f for f in points if math.isfinite(f.karp_flatt)]
    shares = [flatt_of(f, f.epoch_view.speedup) for f in fitted]
    figures = {"serial_fraction": fit, "limit": limit, "karp_flatt": {str(f.ranks()): f.karp_flatt for f in fitted},
               "trend": None}  # fmt: skip
    if len(shares) < 2:
        return Finding(series.series.label, "serial", text + " (from two points only).", figures)
    figures["trend"], trend = trend_of([judged_karp_flatt(f) for f in fitted], undecided(*(f.point for f in points)))
    first, *between, last = [_fraction_text(one.value) for one in shares]
    through = f" over {listed(between)}" if between else ""
    text += f"; by Karp and Flatt it goes from {first}{through} to {last}: {trend}."
    return Finding(series.series.label, "serial", text, figures)
