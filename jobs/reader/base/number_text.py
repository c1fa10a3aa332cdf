"""Numbers as people read them, in the same words as the program's own tables."""

import math

NOTHING = "-"
UNITS = ("B", "kB", "MB", "GB", "TB")


def _decimals(value, least):
    """Decimals that leave three significant digits, `least` of them at least."""
    if value == 0:
        return least
    return min(12, max(least, 2 - math.floor(math.log10(abs(value)))))


def significant(value):
    """Three digits that count: 1930, 45.2, 3.21, 0.0214."""
    return f"{value:.{_decimals(value, 0)}f}"


def byte_text(value):
    """1.09 MB, 44.7 MB: decimal units."""
    unit = 0
    while value >= 1000 and unit + 1 < len(UNITS):
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} B" if unit == 0 else f"{significant(value)} {UNITS[unit]}"


def size_text(size, _=None):
    """Of a round number of bytes, for an axis: 10 MB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size:g} B"


def _milliseconds(seconds):
    size = abs(1e3 * seconds)
    if size < 5e-4:
        return "0.000"
    return f"{1e3 * seconds:.{1 if size >= 10 else 2 if size >= 1 else 3}f}"


def _count(value):
    """Halves away from zero, as the program rounds."""
    return f"{math.floor(max(0.0, value) + 0.5):,}"


def _rate(value):
    return _count(value) if value >= 1000 else significant(value)


def _shortest(value):
    return repr(float(value)).removesuffix(".0")


SHOW = {
    "count": _count,
    "seconds": lambda value: f"{value:.{_decimals(value, 3)}f}",
    "millis": _milliseconds,
    "rate": _rate,
    "ratio": lambda value: f"{value:.2f}",
    "percent": lambda value: f"{100 * value:.1f}",
    "bytes": byte_text,
    "gigabytes": lambda value: f"{value:.3g}",
}


def cell_text(cell, show):
    """The text of a table's cell, whose column is shown as `show`; a dash where nothing is known."""
    if isinstance(cell, str):
        return cell or NOTHING
    if cell is None or isinstance(cell, (list, dict)) or not math.isfinite(cell):
        return NOTHING
    return SHOW.get(show, _shortest)(cell)


def unit_of_time(seconds):
    """(factor, unit) in which the largest of these reads well."""
    largest = max((abs(one) for one in seconds), default=1)
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if largest * factor >= 0.9995:
            return factor, unit
    return (1, "s") if largest == 0 else (1e6, "µs")
