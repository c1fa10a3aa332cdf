"""Distributions of a few numbers."""

import math
from dataclasses import dataclass


@dataclass
class Spread:
    """The distribution of some values; all NaN where `count` is 0. In run.json a range over ranks has minimum, mean and
    maximum alone."""

    count: int = 0
    min: float = math.nan
    mean: float = math.nan
    median: float = math.nan  # of an even count: the mean of the middle two
    p90: float = math.nan  # 90th percentile, linear between the two nearest values
    max: float = math.nan
    deviation: float = math.nan  # standard deviation of the values themselves (divided by their count)


def _quantile_of_sorted(values, q):
    if not values:
        return math.nan
    position = q * (len(values) - 1)
    below = int(position)
    above = min(below + 1, len(values) - 1)
    return values[below] + (position - below) * (values[above] - values[below])


def quantile(values, q):
    """The value below which the share `q` (0 ... 1) of the values lies, linear between neighbours. NaN where there are
    none."""
    return _quantile_of_sorted(sorted(values), q)


def median_of(values):
    return quantile(values, 0.5)


def median_of_others(values, index):
    """Of all but the one at `index`; NaN where there is no other."""
    values = list(values)
    del values[index]
    return median_of(values)


def mean_of(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def spread_of(values):
    values = sorted(values)
    if not values:
        return Spread()
    mean = mean_of(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    median, p90 = _quantile_of_sorted(values, 0.5), _quantile_of_sorted(values, 0.9)
    return Spread(len(values), values[0], mean, median, p90, values[-1], deviation)


def each_once(values):
    """Without repetitions, in the order in which each came first."""
    return list(dict.fromkeys(values))


def quotient(a, b):
    """a / b as a processor divides: of zeros NaN, by zero infinite."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def bandwidth(size, seconds, ranks):
    """(algbw, busbw) in GB/s of an all-reduce, as NCCL's tests define it: bytes over seconds, and that times 2(P-1)/P.
    The second counts what each rank sends, so that it compares with a link's speed. None on one rank, or where no time
    was measured."""
    if ranks < 2 or not seconds > 0:
        return None
    algbw = size / seconds / 1e9
    return algbw, algbw * 2 * (ranks - 1) / ranks
