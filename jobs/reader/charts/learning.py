"""How much faster more ranks train and how much faster they learn: ideal, throughput and learning in one chart."""

from .chart import RANKS, Chart, horizontal_grid, legend_below, powers_of_two_axis
from .lines import draw_ideal, draw_series, hollow_entry, speedup_axis
from .quantity import (
    LEARNING, SPEEDUP, figure_text, is_hollow, known_points, ordered, ranks_of, remarks_on, world_of, world_text,
)  # fmt: skip
from .report import estimate, name_of, number
from .style import style_at

_KINDS = ((SPEEDUP, "throughput"), (LEARNING, "learning"))
_TITLE = "speedup of throughput and of learning"


def _noise_remark(series):
    """What the noise scale is; nothing where it is not known."""
    noise = series.get("gradient_noise")
    scale = estimate(noise, "scale") if isinstance(noise, dict) else None
    if scale is None:
        return []
    epoch = number(noise.get("epoch"))
    when = f" in epoch {epoch:.0f}" if epoch else ""
    words = f"The gradient noise scale is {scale.text('count', unit='')} images{when}"
    return [f"{words}; ranges are its 90 % interval and that of repeats."]


def draw(axes, series):
    known = [(known_points(series, quantity.key), label) for quantity, label in _KINDS]
    entries = [draw_series(axes, points, 1, style_at(2 * i), label) for i, (points, label) in enumerate(known)]
    ideal, ideal_entry = draw_ideal(axes, [series], SPEEDUP, 1, [None])
    powers_of_two_axis(axes.xaxis, [ranks_of(point) for points, _ in known for point, _ in points], RANKS)
    ends = [end for points, _ in known for _, value in points for end in (value.low, value.high)]
    speedup_axis(axes, ends + ideal, "speedup")
    horizontal_grid(axes)
    hollow = any(is_hollow(point) for point in series["points"])
    legend_below(axes, ideal_entry + entries + [hollow_entry()] * hollow)


def chart(series, section):
    """The chart of a series whose batch grows with P; None of others, of which both speedups are equal, and where that
    of learning is not determined on two P."""
    if series.get("scaling") != "weak" or len(known_points(series, LEARNING.key)) < 2:
        return None
    points = ordered(series)
    worlds = [world_of(point) for point in points]
    ideal = ["ideal", *[f"{ranks_of(point):g}" for point in points]]
    rows = [[label, *[figure_text(quantity, point) for point in points]] for quantity, label in _KINDS]
    return Chart(
        f"{series['file']}-learning-speedup", f"{name_of(series)}: {_TITLE}", section, lambda axes: draw(axes, series),
        ["speedup", *[f"P = {world_text(one, worlds)}" for one in worlds]], [ideal, *rows],
        _noise_remark(series) + remarks_on([series], SPEEDUP.key, LEARNING.key), series=[series], topics=("learning",),
    )  # fmt: skip
