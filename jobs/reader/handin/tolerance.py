"""Whether a figure that somebody wrote is one of the runs."""

import math

from ..base.text import cell_text
from .written import written_numbers

_EXACT = 1e-9  # relative: a CSV's last digits
_ROUGHEST = 0.05  # relative: what rounding may change at most. 1 for 0.67 says nothing.
_ROUGHEST_SECONDS = 0.1  # logs have whole ones: 5 for 5.376
_ROUGH_SHARE = 0.01  # a share rounded to one decimal says too little
# Which figures of the same table a figure is proportional to: (key, whether it is that of the fewest ranks, power).
_TIMES = ("epoch_s", "time_s", "epoch_seconds")
_FROM_TIMES = [((time, True, 1), (time, False, -1)) for time in _TIMES]
_RELATED = {
    "speedup": _FROM_TIMES,
    "scaled_speedup": [*_FROM_TIMES, (("speedup", False, 1),)],
    "efficiency": [*_FROM_TIMES, (("speedup", False, 1),)],
    "images_per_second": [((time, False, -1),) for time in _TIMES],
    "images_per_second_per_rank": [*(((time, False, -1),) for time in _TIMES), (("images_per_second", False, 1),)],
}


def _factors_of(show, unit, stated):
    """By what a stored number may be multiplied where people read it. `unit`: that of the heading; `stated`: of the
    cell."""
    unit = stated or unit
    kind = unit.kind if unit else None
    if show == "percent":
        return (100,) if stated and kind == "share" else (1, 100)
    if show in ("seconds", "millis") and kind == "time":
        return (1 / unit.factor,)
    if show == "millis":
        return (1, 1e3)
    if show == "bytes":
        return (1 / unit.factor,) if kind == "bytes" else (1, 1e-3, 1e-6, 1e-9)
    if (show, kind) in (("rate", "rate"), ("gigabytes", "bandwidth")):
        return (1 / unit.factor,)
    return (1,)


def _is_near(number, wanted, show, factor):
    """Within the rounding of the number, and no further than a share of what is wanted."""
    roughest = _ROUGHEST_SECONDS if show == "seconds" else _ROUGHEST
    allowed = min(number.half_unit, roughest * abs(wanted))
    if show == "percent" and factor == 1 and number.half_unit > _ROUGH_SHARE:
        allowed = 0
    return abs(number.value - wanted) <= allowed + _EXACT * abs(wanted)


def _readings(cell, wanted, show, unit):
    """(number, wanted in its unit, factor) for every way to read a cell."""
    return [(number, wanted * factor, factor) for number in written_numbers(cell)
            for factor in _factors_of(show, unit, number.unit)]


def agrees(cell, wanted, show, unit=None):
    """Whether a cell is this number, rounded to the digits that the cell has, or as a page shows it. `unit`: of the
    heading."""
    readings = _readings(cell, wanted, show, unit)
    if any(_is_near(number, amount, show, factor) for number, amount, factor in readings):
        return True
    try:
        page = float(cell_text(wanted, show).replace(",", ""))
    except ValueError:  # with a unit
        return False
    return unit is None and any(number.value == page for number in written_numbers(cell) if number.unit is None)


def _share(cell, wanted, show, unit, expected):
    """What a cell that agrees with `expected` shows, as a share of `wanted`."""
    near = [number.value / (wanted * factor) for number, amount, factor in _readings(cell, expected, show, unit)
            if wanted and _is_near(number, amount, show, factor)]
    return min(near, key=lambda share: abs(share - 1), default=1.0)


def _expectations(wanted, key, shown, base):
    """What a figure would be if it was computed from others of the table as shown: speedup and efficiency from the
    times, and so on."""
    prefix, name = "", key
    while name not in _RELATED and "_" in name:  # batch_128_speedup
        first, _, name = name.partition("_")
        prefix += first + "_"
    for related in _RELATED.get(name, ()):
        shares = [((base if of_base else shown).get(prefix + other), power) for other, of_base, power in related]
        if all(share is not None for share, _ in shares):
            yield wanted * math.prod(share**power for share, power in shares)


def shown_share(cell, wanted, column, unit, shown, base):
    """What a cell shows as a share of the runs' figure `wanted`, 1.03 for 14 where the runs give 13.6, if it agrees
    with that or follows from figures of the same table that agree; else None. `shown` has such shares of this row, by
    the keys of columns, `base` those of the row with fewest ranks."""
    for expected in (wanted, *_expectations(wanted, column.key, shown, base)):
        if agrees(cell, expected, column.show, unit):
            return _share(cell, wanted, column.show, unit, expected)
    return None
