"""One series over P: bars of measured and ideal values. Single runs: one bar each."""

import textwrap

from matplotlib import rcParams
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from ..base.estimate import NOT_DETERMINED, exactly
from . import lines
from .chart import RANKS, Chart, horizontal_grid, legend_below, tick_text, width_of
from .quantity import (
    EFFICIENCY, SPEEDUP, bar_text, estimate_text, ideal_values, is_hollow, known_points, ordered, world_of, world_text,
    worlds_of, ranks_of, remarks_on, scale, unit_text,
)  # fmt: skip
from .report import figure, name_of
from .style import LIGHT, MEASURED, QUIET, plain, styles_for

_IDEAL_LOOK = {"facecolor": "white", "edgecolor": "#555555", "hatch": "///", "linewidth": 1}
_MOST_GROUPS = 6
_MOST_SIDE_BY_SIDE = 4
_WIDEST_RANGE = 16  # of P
_LETTERS = 100  # of small numbers that an inch holds, times the size of letters in points


def look(colour, hollow):
    """Of a bar."""
    return {"facecolor": "white" if hollow else colour, "edgecolor": colour, "linewidth": 1.8 if hollow else 1}


class _Columns:
    """Bars side by side in groups, one group for each point."""

    def __init__(self, axes, points, kinds):
        self.axes, self.kinds = axes, kinds
        self.width = 0.8 / kinds
        self.letters = width_of(axes) * _LETTERS / rcParams["font.size"] / (points * kinds)
        self.labels, self.tops = [], [0]

    def add(self, group, kind, value, looks, error=None):
        x = group + (kind - (self.kinds - 1) / 2) * self.width
        self.axes.bar([x], [value], 0.92 * self.width, **looks)
        top = value
        if error and error[0] < error[1]:
            self.axes.errorbar([x], [value], [[value - error[0]], [error[1] - value]], ecolor="black", capsize=4)
            top = error[1]
        self.labels.append((bar_text(value), x, top))
        self.tops.append(top)

    def add_estimate(self, group, kind, value, factor, looks):
        """With its range; words in place of what is not determined, nothing of what is unknown."""
        if value.determined:
            self.add(group, kind, factor * value.value, looks, (factor * value.low, factor * value.high))
        elif value.known:
            x = group + (kind - (self.kinds - 1) / 2) * self.width
            self.axes.annotate(
                NOT_DETERMINED, (x, 0), (0, 4), textcoords="offset points", ha="center", va="bottom", rotation=90,
                fontsize="small", color=QUIET,
            )  # fmt: skip

    def label(self, ground=None):
        """Numbers above the bars, if all have the room, on a ground where lines cross them."""
        if max(len(words) for words, _, _ in self.labels) <= self.letters:
            for words, x, top in self.labels:
                self.axes.annotate(
                    words, (x, top), (0, 5 if ground else 3), textcoords="offset points", ha="center",
                    fontsize="small", bbox=ground,
                )  # fmt: skip


def _kinds(series, quantity):
    """[(label, key or None for the ideal, colour)] of what is known."""
    kinds = [("measured", quantity.key, MEASURED)]
    if quantity.step_key and len(known_points(series, quantity.step_key)) > 1:
        kinds = [("measured, epochs", quantity.key, MEASURED), ("measured, full steps", quantity.step_key, LIGHT)]
    return kinds + ([("ideal", None, None)] if ideal_values(series, quantity) else [])


def draw(axes, series, quantity):
    """Measured values, also in the step view where it is known, and ideal ones."""
    kinds = _kinds(series, quantity)
    points = ordered(series)
    columns = _Columns(axes, len(points), len(kinds))
    ideal = ideal_values(series, quantity)
    known = [value for _, key, _ in kinds[:2] if key for _, value in known_points(series, key)]
    factor, label = scale(quantity, [value.high for value in known])
    for kind, (_, key, colour) in enumerate(kinds):
        for group, point in enumerate(points):
            value = figure(point, key) if key else None
            if value is None:
                columns.add(group, kind, factor * ideal[group][1], _IDEAL_LOOK)
            else:
                columns.add_estimate(group, kind, value, factor, look(colour, is_hollow(point)))
    columns.label()
    _finish(axes, points, label, max(columns.tops))
    legend_below(axes, _legend(kinds, points))


def _finish(axes, points, label, top):
    axes.set_ylim(0, 1.12 * top or 1)
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
    rank_categories(axes, points, star="")
    horizontal_grid(axes)


def rank_categories(axes, points, star=" *"):
    """A tick for each point; `star` behind those that share cores, for bars that are not hollow."""
    worlds = [world_of(point) for point in points]
    labels = [world_text(one, worlds).replace(" (", "\n(") for one in worlds]
    axes.set_xticks(range(len(worlds)), [label + star * is_hollow(one) for label, one in zip(labels, points)])
    margin = 0.6 if len(worlds) > 1 else 1.2
    axes.set_xlim(-margin, len(worlds) - 1 + margin)
    axes.set_xlabel(RANKS + "   * more threads than cores" * any(star and is_hollow(one) for one in points))
    axes.tick_params(length=0, axis="x")


def _legend(kinds, points):
    entries = [
        Patch(label=label, **(_IDEAL_LOOK if key is None else look(colour, False))) for label, key, colour in kinds
    ]
    if any(is_hollow(point) for point in points):
        entries.append(hollow_patch())
    return entries


def hollow_patch():
    return Patch(label=lines.HOLLOW, facecolor="white", edgecolor="#333333", linewidth=1.8)


def chart(name, section, series, quantity):
    """The chart of one series, or None if the quantity is not known of it. Many P, or P far apart, get a
    line, on which small values can be read too."""
    title = f"{name_of(series)}: {quantity.title}"
    ranks = [ranks_of(point) for point in ordered(series)]
    if len(ranks) > _MOST_GROUPS or ranks[-1] > _WIDEST_RANGE * ranks[0]:
        return lines.chart(name, title, section, [series], quantity, least=1)
    if not known_points(series, quantity.key):
        return None
    worlds = [world_of(point) for point in ordered(series)]
    columns = [unit_text(quantity), *[f"P = {world_text(one, worlds)}" for one in worlds]]
    return Chart(
        name, title, section, lambda axes: draw(axes, series, quantity),
        columns, _rows(series, quantity), remarks_on([series], quantity.key), series=[series],
        topics=(quantity.title,),
    )  # fmt: skip


def _rows(series, quantity):
    rows = []
    for label, key, _ in _kinds(series, quantity):
        if key:
            values = [figure(point, key) for point in ordered(series)]
        else:
            values = [exactly(one) for _, one in ideal_values(series, quantity)]
        rows.append([label, *[estimate_text(quantity, one) for one in values]])
    return rows


def draw_side_by_side(axes, all_series, quantity):
    """A group of bars for each P, one for each series; where the ideal is the same for all, a dashed line upon them."""
    points = {world_of(point): point for series in all_series for point in ordered(series)}
    worlds = sorted(points)
    factor, label = scale(quantity,
                          [one.high for series in all_series for _, one in known_points(series, quantity.key)])
    columns = _Columns(axes, len(worlds), len(all_series))
    styles = styles_for(all_series)
    for kind, (series, style) in enumerate(zip(all_series, styles)):
        for point in ordered(series):
            looks = look(style.colour, is_hollow(point))
            columns.add_estimate(worlds.index(world_of(point)), kind, figure(point, quantity.key), factor, looks)
    columns.label({"facecolor": "white", "edgecolor": "none", "pad": 0})
    common = quantity in (SPEEDUP, EFFICIENCY)
    ideal = {worlds.index((ranks, hosts)): factor * quantity.ideal(ranks, worlds[0][0], worlds[0][0])
             for ranks, hosts in worlds if common}  # fmt: skip
    for group, value in ideal.items():
        axes.hlines([value], group - 0.45, group + 0.45, colors="black", linestyles="--", linewidth=1.2)
    _finish(axes, [points[one] for one in worlds], label, max(columns.tops + list(ideal.values())))
    entries = [Patch(label=name_of(series), **look(style.colour, False)) for series, style in zip(all_series, styles)]
    entries += [Line2D([], [], color="black", linestyle="--", linewidth=1.2, label="ideal")] * common
    hollow = any(is_hollow(point) for series in all_series for point in series["points"])
    legend_below(axes, entries + [hollow_patch()] * hollow)


def side_by_side_chart(name, title, section, all_series, quantity):
    """The bars of several series, or None where there are too many of them, or of P, for bars that can be read."""
    shown = [series for series in all_series if known_points(series, quantity.key)]
    worlds = worlds_of(shown)
    if not 1 < len(shown) <= _MOST_SIDE_BY_SIDE or len(worlds) > _MOST_GROUPS:
        return None
    combined = lines.chart(name, title, section, shown, quantity)
    return Chart(
        name, title, section, lambda axes: draw_side_by_side(axes, shown, quantity), combined.columns, combined.rows,
        combined.remarks, series=shown, topics=(quantity.title,),
    )  # fmt: skip


def draw_singles(axes, all_series, quantity):
    """A horizontal bar for each series of one point."""
    known = [(series, *known_points(series, quantity.key)[0]) for series in all_series]
    factor, label = scale(quantity, [value.high for _, _, value in known])
    for i, (_, point, value) in enumerate(known):
        axes.barh([i], [factor * value.value], 0.62, **look(MEASURED, is_hollow(point)))
        if value.low < value.high:
            ends = [[factor * (value.value - value.low)], [factor * (value.high - value.value)]]
            axes.errorbar([factor * value.value], [i], xerr=ends, ecolor="black", capsize=4)
        axes.annotate(
            bar_text(factor * value.value), (factor * value.high, i), (5, 0), textcoords="offset points",
            va="center", fontsize="small",
        )  # fmt: skip
    axes.set_yticks(range(len(known)))
    axes.set_yticklabels(["\n".join(textwrap.wrap(plain(name_of(series)), 36)) for series, _, _ in known])
    axes.set_ylim(len(known) - 0.4, -0.6)
    axes.set_xlim(0, 1.15 * max(factor * value.high for _, _, value in known) or 1)
    axes.set_xlabel(label)
    axes.grid(True, axis="x", color="#d4d4d4", linewidth=0.7)
    axes.tick_params(length=0, axis="y", labelsize="small")
    axes.spines["left"].set_color(QUIET)


def singles_chart(all_series, quantity):
    """One chart of all series of one point, or None if no series has the quantity."""
    shown = [series for series in all_series if known_points(series, quantity.key)]
    if not shown:
        return None
    rows = [
        [name_of(series), estimate_text(quantity, known_points(series, quantity.key)[0][1])]
        for series in shown
    ]
    return Chart(
        f"single-{quantity.name}", f"Single configurations: {quantity.title}", "Single configurations",
        lambda axes: draw_singles(axes, shown, quantity), ["", f"{quantity.title}, {unit_text(quantity)}"], rows,
        remarks_on(shown, quantity.key),
        height=1.6 + 0.55 * len(shown), series=shown, topics=(quantity.title,),
    )  # fmt: skip
