"""Serial fractions as Estimates: not determined where the law does not fit or the runs may not conclude. Tables and
sentences take them from here."""

import math

from ..base.estimate import UNKNOWN, Estimate
from ..base.text import counted
from .conclude import DOUBTS, doubts_of, judged, undecided
from . import series as laws


def _fitted(series):
    """The points that Amdahl's fit uses, the base first."""
    return [point for point in series.points if not point.oversubscribed]


def _doubt(points):
    """Why nothing follows from these observations; empty where it may."""
    for point in points:
        for code in doubts_of(point):
            return f"of a run on {counted(point.ranks, 'rank')}: {DOUBTS[code].reason}"
    return ""


def _range_text(points):
    return f"{undecided(*points)} leave anything from 0 to 100 %"


def serial_fraction(series):
    """Amdahl's serial fraction, fitted to all P; unknown where there is no fit, and not determined where it is none."""
    fit = laws.amdahl_fraction(series)
    if fit is None:
        return UNKNOWN
    points = _fitted(series)
    if why := _doubt(points):
        return fit.because(why)
    if fit.low <= 0 and fit.high >= 1:
        return fit.because(_range_text(points))
    if fit.value <= 0:
        return fit.because("Amdahl's fit finds nothing serial: the speedup is ideal or better")
    if fit.value >= 1:
        return fit.because("Amdahl's law does not fit: epochs are not shorter on more ranks")
    limit, most = laws.amdahl_limit(series, fit).value, laws.most_speedup(series)
    if most > limit:
        return fit.because(f"Amdahl's law does not fit: its limit for the speedup would be {limit:.2f}, and {most:.2f} "
                           "was measured")  # fmt: skip
    return fit


def speedup_limit(series, fraction):
    """Amdahl's limit P0 / s; not determined where the range of the fraction reaches 0 or 100 %."""
    if not fraction.known:
        return UNKNOWN
    limit = laws.amdahl_limit(series, fraction)
    if fraction.determined and not (fraction.low > 0 and fraction.high < 1):
        return limit.because("the range of the serial fraction reaches " + ("0 %" if fraction.low <= 0 else "100 %"))
    return limit


def amdahl_speedup(f, fraction):
    """On the ranks of this point by Amdahl's law with this serial fraction; the fewest ranks P0 count as P0."""
    if not fraction.known:
        return UNKNOWN
    fewest = f.series.points[0].ranks

    def speedup(s):
        time = s + (1 - s) * fewest / f.ranks()
        return fewest / time if time > 0 else math.nan  # a fraction below 0 leaves no time

    return Estimate(speedup(fraction.value), speedup(fraction.high), speedup(fraction.low), fraction.why)


def _share(estimate, points, law):
    """A fraction outside of 0 to 100 % is none."""
    if not estimate.known:
        return UNKNOWN
    if why := _doubt(points):
        return estimate.because(why)
    if estimate.value > 1:
        return estimate.because(f"{law} does not fit: more than 100 % would be serial")
    if estimate.value < 0:
        return estimate.because(f"{law} finds nothing serial: the speedup is better than ideal")
    return estimate


def flatt_of(f, speedup):
    """Karp and Flatt's fraction for a speedup, an Estimate, at this point."""
    base = f.series.points[0].ranks
    ranks = f.ranks() / base
    value, low, high = (laws.karp_flatt(s / base, ranks) for s in (speedup.value, speedup.high, speedup.low))
    return Estimate(value, low, high)


def karp_flatt(f):
    """Of the epoch view, with what repeats leave of it."""
    return _share(flatt_of(f, f.epoch_view.speedup), [f.series.points[0], f.point], "Karp and Flatt's formula")


def judged_karp_flatt(f):
    """As a trend takes it (`judged`)."""
    base = f.series.points[0]
    times = judged(base.epoch, base) / judged(f.point.epoch, f.point)
    return flatt_of(f, times * base.ranks)


def gustafson(f):
    """Of the step view."""
    base = f.series.points[0]
    ranks, s = f.ranks() / base.ranks, f.step_view.speedup
    value, low, high = (laws.gustafson_fraction(one / base.ranks, ranks) for one in (s.value, s.high, s.low))
    return _share(Estimate(value, low, high), [base, f.point], "Gustafson's law")
