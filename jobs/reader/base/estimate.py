"""A figure with its uncertainty, from which tables, sentences, headlines and pictures are made."""

import math
from dataclasses import dataclass, replace

from .statistics import quotient
from .text import NOTHING, SHOW, UNITS, setting_text

NOT_DETERMINED = "not determined"


@dataclass(frozen=True)
class Estimate:
    """A value and how far it may be off: the range over repeats, or what rounding leaves. low <= value <= high; all NaN
    if unknown. `why`, where it is not empty, says why nothing may be concluded from the value: it is not determined."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: str = ""

    @property
    def known(self):
        return math.isfinite(self.value)

    @property
    def exact(self):
        """No spread is known."""
        return self.low == self.high

    @property
    def determined(self):
        return self.known and not self.why

    def __truediv__(self, other):
        """Extremes of the quotient of positive values that are independent of each other."""
        value, low, high = (quotient(self.value, other.value), quotient(self.low, other.high),
                            quotient(self.high, other.low))
        return Estimate(value, low, high, self.why or other.why)

    def __mul__(self, factor):
        """By a number; or the extremes of the product of positive values that are independent of each other."""
        other = factor if isinstance(factor, Estimate) else exactly(factor)
        return Estimate(self.value * other.value, self.low * other.low, self.high * other.high, self.why or other.why)

    def because(self, why):
        """The same, not determined for this reason."""
        return replace(self, why=why)

    def text(self, show, unit=None):
        """"83.2 % (80.1 to 85.0 %)", "83.2 %" without a spread, "not determined", or a dash where it is unknown. `show`
        is one of SHOW; `unit` replaces the unit that belongs to it: "" in a table whose heading has it."""
        if not self.known:
            return NOTHING
        if self.why:
            return NOT_DETERMINED
        unit = UNITS.get(show, "") if unit is None else unit
        words = SHOW.get(show, setting_text)
        low, middle, high = words(self.low), words(self.value), words(self.high)
        if low == high:
            return middle + unit
        return f"{middle}{unit} ({low} to {high}{unit})"


UNKNOWN = Estimate()


def exactly(value):
    """low = value = high: no spread is known."""
    return Estimate(value, value, value)


def per(numerator, estimate):
    """numerator / estimate: for rates."""
    return exactly(numerator) / estimate
