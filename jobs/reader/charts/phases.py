"""Where the time of a mean full step goes, stacked over P."""

import textwrap

from matplotlib.patches import Patch

from ..base.definitions import PHASES
from .bars import rank_categories
from .chart import Chart, horizontal_grid, legend_below
from ..base.text import rate_text, unit_of_time
from .quantity import bar_text, ordered, world_of, world_text, remarks_on
from .report import name_of, number
from .style import PHASE_LOOKS, plain

_LEAST_LABELLED = 0.07  # share of the axis that a number needs
_MOST_LABELLED = 8  # points


def phases_of(point):
    """Phase to seconds; None if the point has none."""
    phases = point.get("phases")
    if not isinstance(phases, dict):
        return None
    return {phase: max(0.0, number(phases.get(phase)) or 0.0) for phase in PHASES}


def _look(phase):
    face, hatch = PHASE_LOOKS[phase]
    return {"facecolor": face, "hatch": hatch, "edgecolor": "#404040", "linewidth": 0.8}


def _text_colour(phase):
    return "white" if phase in ("backward", "optimizer") else "black"


def _stack(axes, x, seconds, factor, top, labelled):
    """The bar of one point, with the share of what is large enough to hold a number."""
    total, bottom = sum(seconds.values()), 0
    for phase, value in seconds.items():
        height = factor * value
        axes.bar([x], [height], 0.62, bottom=[bottom], **_look(phase))
        if labelled and height > _LEAST_LABELLED * top:
            axes.text(
                x, bottom + height / 2, f"{100 * value / total:.0f} %", ha="center", va="center",
                fontsize="small", color=_text_colour(phase), bbox=_ground(phase),
            )  # fmt: skip
        bottom += height
    axes.annotate(bar_text(bottom), (x, bottom), (0, 3), textcoords="offset points", ha="center", fontsize="small")


def _ground(phase):
    """A plain ground for numbers on hatches."""
    face, hatch = PHASE_LOOKS[phase]
    return {"facecolor": face, "edgecolor": "none", "pad": 1} if hatch else None


def draw_stacks(axes, stacks, names=None):
    """Bars side by side, with their names below."""
    largest = max(sum(one.values()) for one in stacks)
    factor, unit = unit_of_time([largest])
    top = factor * largest * 1.1 or 1
    for x, seconds in enumerate(stacks):
        _stack(axes, x, seconds, factor, top, len(stacks) <= _MOST_LABELLED)
    if names:
        axes.set_xticks(range(len(names)), ["\n".join(textwrap.wrap(plain(name), 30)) for name in names])
        axes.set_xlim(-0.8, len(names) - 0.2)
        axes.tick_params(length=0, axis="x")
    axes.set_ylim(0, top)
    axes.set_ylabel(f"mean full step, {unit}")
    horizontal_grid(axes)
    seen = [phase for phase in PHASES if any(one[phase] > 0 for one in stacks)]
    legend_below(axes, [Patch(label=word_of(phase), **_look(phase)) for phase in seen])


def draw(axes, series):
    points = [point for point in ordered(series) if phases_of(point)]
    draw_stacks(axes, [phases_of(point) for point in points])
    rank_categories(axes, points)


def word_of(phase):
    return "exposed all-reduce" if phase == "all_reduce" else phase


def chart(series, section):
    """The chart of a series, or None if it has no phases."""
    points = [point for point in ordered(series) if phases_of(point)]
    if not points or not any(sum(phases_of(point).values()) > 0 for point in points):
        return None
    worlds = [world_of(point) for point in points]
    remarks = ["Mean over ranks of a full step; the phases add up to it."] + remarks_on([series])
    remarks = [one.replace("Hollow:", "*") for one in remarks]
    return Chart(
        f"{series['file']}-phases", f"{name_of(series)}: where a step's time goes", section,
        lambda axes: draw(axes, series), ["phase, ms", *[f"P = {world_text(one, worlds)}" for one in worlds]],
        [[word_of(phase), *[rate_text(1e3 * phases_of(point)[phase]) for point in points]] for phase in PHASES],
        remarks, series=[series], topics=("phase", "explains"),
    )  # fmt: skip
