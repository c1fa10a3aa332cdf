"""The quantities of a scaling study, as the charts show them."""

from collections import namedtuple

from ..base.text import rate_text, unit_of_time
from .report import estimate, figure, is_own, number

Quantity = namedtuple("Quantity", "name title key step_key kind ideal")
"""name of files, title, keys of report.json in the epoch view and the step view (or None), kind of
number, and what ideal scaling gives: a function of P, the fewest ranks P0, and the value there."""

EPOCH_TIME = Quantity(
    "epoch-time", "epoch time", "epoch_seconds", None, "seconds", lambda p, p0, base: base * p0 / p
)
THROUGHPUT = Quantity(
    "throughput", "throughput", "images_per_second", None, "rate", lambda p, p0, base: base * p / p0
)
SPEEDUP = Quantity("speedup", "speedup", "speedup", "step_speedup", "ratio", lambda p, p0, base: p)
LEARNING = Quantity(
    "learning-speedup", "speedup of learning", "learning_speedup", None, "ratio", lambda p, p0, base: p
)
EFFICIENCY = Quantity(
    "efficiency", "efficiency", "efficiency", "step_efficiency", "percent", lambda p, p0, base: 1.0
)
ENERGY = Quantity("energy", "energy of an epoch", "watt_hours", None, "energy", lambda p, p0, base: base)
ALL = (EPOCH_TIME, ENERGY, THROUGHPUT, SPEEDUP, EFFICIENCY)


NOTHING_COMPUTED = "Nothing was computed (--backend timed): ranks waited as long as it would take."


def ranks_of(point):
    return int(point["ranks"])


def world_of(point):
    """(ranks, hosts)."""
    return ranks_of(point), int(number(point.get("hosts")) or 1)


def worlds_of(all_series):
    """All worlds of these series, ascending."""
    return sorted({world_of(point) for series in all_series for point in series["points"]})


def world_text(world, worlds):
    """The ranks, with the hosts where these ranks were run on several numbers of hosts."""
    hosts = {other[1] for other in worlds if other[0] == world[0]}
    return f"{world[0]}" + (f" ({world[1]} host{'s' * (world[1] > 1)})" if len(hosts) > 1 else "")


def ordered(series):
    """Points by ranks."""
    return sorted(series["points"], key=world_of)


def known_points(series, key):
    """[(point, Estimate)] by ranks, where it is determined."""
    found = [(point, estimate(point, key)) for point in ordered(series)]
    return [(point, value) for point, value in found if value is not None]


def ideal_values(series, quantity):
    """[(ranks, value)] of ideal scaling from the fewest ranks; empty if these are unknown."""
    points = ordered(series)
    base = estimate(points[0], quantity.key) if points else None
    if base is None:
        return []
    first = ranks_of(points[0])
    return [(ranks_of(one), quantity.ideal(ranks_of(one), first, base.value)) for one in points]


def scale(quantity, values):
    """(factor, label of the axis) for these values."""
    if quantity.kind == "seconds":
        factor, unit = unit_of_time(values)
        return factor, f"{quantity.title}, {unit}"
    if quantity.kind == "percent":
        return 100, f"{quantity.title}, %"
    unit = unit_text(quantity)
    return 1, quantity.title + (f", {unit}" if unit else "")


def bar_text(scaled):
    """Three digits, above a bar; the value is in the units of the axis."""
    if abs(scaled) >= 1e6:
        return f"{scaled / 1e6:.3g} M"
    if scaled == 0:
        return "0"
    return f"{scaled:,.0f}" if abs(scaled) >= 999.5 else rate_text(scaled)


def unit_text(quantity):
    """Of the numbers in a table."""
    return {"seconds": "s", "rate": "images/s", "energy": "Wh", "percent": "%"}.get(quantity.kind, "")


def estimate_text(quantity, value):
    """With its range where it has one."""
    return value.text("rate" if quantity.kind == "energy" else quantity.kind, unit="")


def figure_text(quantity, point):
    """A dash for no point."""
    return estimate_text(quantity, figure(point or {}, quantity.key))


def is_hollow(point):
    """More threads than cores."""
    return point.get("oversubscribed") is True


def _spread_remarks(all_series, keys):
    """What the error bars of these series mean."""
    spread = [
        (series, point)
        for series in all_series
        for point in series["points"]
        if any(value and value.low < value.high for value in (estimate(point, key) for key in keys))
    ]
    most = max((number(point.get("repeats")) or 1 for series, point in spread if is_own(series)), default=1)
    remarks = [f"Error bars: minimum and maximum of up to {most:.0f} repeats."] if most > 1 else []
    if any(not is_own(series) for series, _ in spread):
        remarks.append("Error bars of other sources: what their rounding leaves.")
    return remarks


def _not_determined(points, keys):
    """What is left out of a picture, and why."""
    found = {(world_of(point), figure(point, key).why) for point in points for key in keys if figure(point, key).why}
    listed = "; ".join(f"P = {world[0]} ({why})" for world, why in sorted(found))
    return [f"Not determined: {listed}."] if listed else []


def remarks_on(all_series, *keys):
    """What has to be known about the points of these series; of error bars and of what is not determined, if the
    estimates `keys` are drawn."""
    points = [point for series in all_series for point in series["points"]]
    remarks = [NOTHING_COMPUTED] if any(series.get("processor") == "timed" for series in all_series) else []
    remarks += _spread_remarks(all_series, keys) + _not_determined(points, keys)
    if any(is_hollow(point) for point in points):
        remarks.append("Hollow: more threads than cores; such points are left out of fits.")
    warm = sorted({ranks_of(point) for point in points if point.get("includes_warm_up") is True})
    if warm:
        remarks.append("A single epoch, which includes warm-up: P = " + ", ".join(map(str, warm)) + ".")
    return remarks
