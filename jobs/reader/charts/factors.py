"""What each factor costs of the global efficiency, stacked over P."""

import math

from matplotlib.patches import Patch

from .bars import rank_categories
from .chart import Chart, horizontal_grid, legend_below
from .quantity import ordered, remarks_on, world_of, world_text
from .report import name_of, number

_LOOKS = {
    "load_balance": {"facecolor": "#a8c8e8"},
    "serialisation": {"facecolor": "#f0b030", "hatch": "//"},
    "transfer": {"facecolor": "#2f6aa8"},
    "computation_scaling": {"facecolor": "#f2f2f2", "hatch": "..."},
}


def lost_by(point):
    """Factor to percentage points of the global efficiency, in proportion to the logarithms of the factors: so they
    add up to what the product lost. A factor above 1 loses less than nothing. None if a factor is unknown."""
    known = point.get("factors")
    values = {key: number(known.get(key)) for key in _LOOKS} if isinstance(known, dict) else {}
    if not values or not all(value and value > 0 for value in values.values()):
        return None
    product = math.prod(values.values())
    mean = 1 if product == 1 else (product - 1) / math.log(product)  # the logarithmic mean of it and 1
    return {key: -100 * mean * math.log(value) for key, value in values.items()}


def draw(axes, series):
    points = [point for point in ordered(series) if lost_by(point)]
    ends = [0]
    for x, lost in enumerate(map(lost_by, points)):
        above = below = 0
        for key, part in lost.items():
            axes.bar([x], [part], 0.62, bottom=[above if part > 0 else below], edgecolor="#404040", **_LOOKS[key])
            above, below = above + max(part, 0), below + min(part, 0)
        axes.annotate(_number(sum(lost.values())), (x, above), (0, 3), textcoords="offset points", ha="center")
        ends += [above, below]
    rank_categories(axes, points)
    axes.set_ylim(1.15 * min(ends), 1.15 * max(ends) or 1)
    axes.axhline(0, color="#404040", linewidth=0.8)
    axes.set_ylabel("global efficiency lost, points")
    horizontal_grid(axes)
    legend_below(axes, [Patch(label=_word(key), edgecolor="#404040", **looks) for key, looks in _LOOKS.items()])


def _word(key):
    return key.replace("_", " ")


def _number(value):
    return f"{round(value, 1) + 0:.1f}"  # never -0.0


def chart(series, section):
    """The chart of a series, or None if no factors are known of it."""
    points = [point for point in ordered(series) if lost_by(point)]
    if not points:
        return None
    worlds = [world_of(point) for point in points]
    return Chart(
        f"{series['file']}-factors", f"{name_of(series)}: where efficiency was lost", section,
        lambda axes: draw(axes, series), ["lost, points", *[f"P = {world_text(one, worlds)}" for one in worlds]],
        [[_word(key), *[_number(lost_by(point)[key]) for point in points]] for key in _LOOKS],
        [
            "Points: percentage points of the global efficiency, of the 100 without losses.",
            "The factors multiply. Each part is the logarithm of its factor, scaled so that the parts add up.",
        ] + [one.replace("Hollow:", "*") for one in remarks_on([{**series, "points": points}])],
        series=[series], topics=("global efficiency",),
    )  # fmt: skip
