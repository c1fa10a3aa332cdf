"""Several series over P in one chart, with the ideal line."""

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from .chart import RANKS, Chart, horizontal_grid, legend_below, powers_of_two_axis, tick_text, value_axis
from .quantity import (
    EFFICIENCY, SPEEDUP, figure_text, ideal_values, is_hollow, known_points, world_of, world_text, worlds_of,
    ranks_of, remarks_on, scale, unit_text,
)  # fmt: skip
from .report import name_of
from .style import IDEAL_COLOUR, plain, styles_for

_MOST_IDEAL_LINES = 3
HOLLOW = "hollow: more threads than cores"


def _errors(known, factor):
    """Lengths of the error bars, below and above."""
    return [
        [factor * (value.value - value.low) for _, value in known],
        [factor * (value.high - value.value) for _, value in known],
    ]


def draw_series(axes, known, factor, style, label):
    """One line; hollow markers where the cores were oversubscribed. Returns its entry of the legend."""
    ranks = [ranks_of(point) for point, _ in known]
    values = [factor * value.value for _, value in known]
    axes.plot(ranks, values, color=style.colour, linestyle=style.dash, linewidth=2, label=plain(label))
    for point, value in known:
        face = "white" if is_hollow(point) else style.colour
        axes.plot(
            [ranks_of(point)], [factor * value.value], color=style.colour, marker=style.marker,
            markersize=8, markerfacecolor=face, markeredgewidth=1.6, linestyle="",
        )  # fmt: skip
    if any(value.low < value.high for _, value in known):
        axes.errorbar(
            ranks, values, yerr=_errors(known, factor), fmt="none", ecolor=style.colour, elinewidth=1.2,
            capsize=4,
        )  # fmt: skip
    return Line2D(
        [], [], color=style.colour, marker=style.marker, linestyle=style.dash, linewidth=2, markersize=8,
        label=label,
    )  # fmt: skip


def hollow_entry():
    return Line2D(
        [], [], color="#333333", marker="o", linestyle="", markerfacecolor="white", markersize=8,
        markeredgewidth=1.6, label=HOLLOW,
    )  # fmt: skip


def draw_ideal(axes, all_series, quantity, factor, styles):
    """One common line for speedup and efficiency, one for each of a few series otherwise. Returns the
    values drawn, and its entries of the legend."""
    reached = {ranks_of(point) for series in all_series for point, _ in known_points(series, quantity.key)}
    lines = [[pair for pair in ideal_values(series, quantity) if pair[0] in reached] for series in all_series]
    if quantity in (SPEEDUP, EFFICIENCY):
        common = sorted({pair for line in lines for pair in line})
        lines, styles = [common], [None]
    elif len(all_series) > _MOST_IDEAL_LINES:
        return [], []
    drawn = []
    for line, style in zip(lines, styles):
        colour = IDEAL_COLOUR if style is None else style.colour
        values = [factor * value for _, value in line]
        axes.plot([ranks for ranks, _ in line], values, color=colour, linestyle="--", linewidth=1.1, zorder=1.5)
        drawn += values
    entry = Line2D([], [], color=IDEAL_COLOUR, linestyle="--", linewidth=1.1, label="ideal")
    return drawn, [entry] if drawn else []


def draw(axes, all_series, quantity):
    """All series, each from the points at which the quantity is known."""
    known = [known_points(series, quantity.key) for series in all_series]
    ends = [end for line in known for _, value in line for end in (value.low, value.high)]
    factor, label = scale(quantity, ends)
    styles = styles_for(all_series)
    ideal, ideal_entries = draw_ideal(axes, all_series, quantity, factor, styles)
    entries = [
        draw_series(axes, line, factor, style, name_of(series))
        for series, line, style in zip(all_series, known, styles)
        if line
    ]
    hollow = any(is_hollow(point) for line in known for point, _ in line)
    powers_of_two_axis(axes.xaxis, [ranks_of(point) for line in known for point, _ in line], RANKS)
    axis = speedup_axis if quantity is SPEEDUP else value_axis
    axis(axes, [factor * end for end in ends] + ideal, label)
    horizontal_grid(axes)
    legend_below(axes, entries + ideal_entries + ([hollow_entry()] if hollow else []))


def speedup_axis(axes, values, label):
    """On the scale of P, so that the ideal is a straight line."""
    value_axis(axes, values, label, wide=1)
    if axes.get_yscale() == "log":
        axes.set_yscale("log", base=2)
        few = min(values) >= 1 and max(values) <= 16
        axes.yaxis.set_major_locator(LogLocator(base=2, subs=(1, 1.5) if few else (1,)))
        axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
        axes.yaxis.set_minor_locator(NullLocator())


def chart(name, title, section, all_series, quantity, least=2):
    """The combined chart of these series, or None if the quantity is known of fewer than `least`."""
    shown = [series for series in all_series if known_points(series, quantity.key)]
    if len(shown) < least:
        return None
    worlds = worlds_of(shown)
    return Chart(
        name, title, section, lambda axes: draw(axes, shown, quantity),
        columns=[unit_text(quantity), *[f"P = {world_text(one, worlds)}" for one in worlds]],
        rows=[_row(series, worlds, quantity) for series in shown], remarks=remarks_on(shown, quantity.key),
        series=shown, topics=(quantity.title,),
    )  # fmt: skip


def _row(series, worlds, quantity):
    points = {world_of(point): point for point in series["points"]}
    return [name_of(series), *[figure_text(quantity, points.get(one)) for one in worlds]]
