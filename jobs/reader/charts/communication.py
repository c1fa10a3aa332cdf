"""Communication of an epoch, in three ways: inferred, measured and exposed."""

from matplotlib.patches import Patch

from .bars import rank_categories
from .chart import Chart, horizontal_grid, legend_below
from ..base.text import shown_seconds, unit_of_time
from .quantity import bar_text, ordered, world_of, world_text, remarks_on
from .report import name_of, number

# key: (label, looks)
_KINDS = {
    "inferred": ("inferred: T(P) − T(P0) P0/P", {"facecolor": "white", "hatch": "//", "edgecolor": "#404040"}),
    "inferred_same_batch": (
        "inferred at equal rank batch", {"facecolor": "#e4e4e4", "hatch": "..", "edgecolor": "#404040"},
    ),
    "measured": ("measured", {"facecolor": "#0072b2", "edgecolor": "#202020"}),
    "exposed": ("exposed", {"facecolor": "#f0b030", "edgecolor": "#202020"}),
}  # fmt: skip
_PARTS = {
    "wait": ("measured: waiting for later ranks", {"facecolor": "#b9d9ee", "edgecolor": "#202020"}),
    "transfer": ("measured: transfer", {"facecolor": "#0072b2", "edgecolor": "#202020"}),
    "add": ("measured: adding", {"facecolor": "#002540", "edgecolor": "#202020"}),
}
_MOST_LABELS = 20


def communication_of(point):
    """Kind to seconds of an epoch, what is known; None if nothing is."""
    measured = point.get("communication")
    if not isinstance(measured, dict):
        return None
    known = {key: number(measured.get(key)) for key in (*_KINDS, *_PARTS)}
    known = {key: value for key, value in known.items() if value is not None}
    return known if any(key in known for key in _KINDS) else None


def points_of(series):
    """Those with communication: on several ranks."""
    return [point for point in ordered(series) if int(point["ranks"]) > 1 and communication_of(point)]


def _has_parts(known):
    return all(part in known for part in _PARTS)


def _bar(axes, x, width, kind, known, factor):
    """One bar, the measured one in its parts. Returns its top."""
    if kind != "measured" or not _has_parts(known):
        axes.bar([x], [factor * known[kind]], width, **_KINDS[kind][1])
        return factor * known[kind]
    bottom = 0
    for part, (_, looks) in _PARTS.items():
        axes.bar([x], [factor * known[part]], width, bottom=[bottom], **looks)
        bottom += factor * known[part]
    return bottom


def draw(axes, series):
    points = points_of(series)
    values = [communication_of(point) for point in points]
    kinds = [kind for kind in _KINDS if any(kind in known for known in values)]
    factor, unit = unit_of_time([known[kind] for known in values for kind in kinds if kind in known])
    width, tops = 0.8 / len(kinds), [0]
    for i, known in enumerate(values):
        for j, kind in enumerate(kinds):
            x = i + (j - (len(kinds) - 1) / 2) * width
            top = _bar(axes, x, 0.92 * width, kind, known, factor) if kind in known else 0
            tops.append(top)
            if len(values) * len(kinds) <= _MOST_LABELS:
                _label(axes, x, top, bar_text(top) if kind in known else "–")
    _finish(axes, points, tops, f"time in an epoch, {unit}")
    legend_below(axes, _legend(kinds, values))


def _label(axes, x, top, words):
    up = top >= 0
    axes.annotate(
        words, (x, top), (0, 3 if up else -3), textcoords="offset points", ha="center",
        va="bottom" if up else "top", fontsize="small",
    )  # fmt: skip


def _finish(axes, points, tops, label):
    rank_categories(axes, points)
    axes.set_ylim(1.15 * min(tops), 1.12 * max(tops) or 1)
    axes.axhline(0, color="#404040", linewidth=0.8)
    axes.set_ylabel(label)
    horizontal_grid(axes)


def _legend(kinds, values):
    entries = []
    for kind in kinds:
        label, looks = _KINDS[kind]
        whole = kind != "measured" or not any(_has_parts(known) for known in values)
        parts = [(label, looks)] if whole else _PARTS.values()
        entries += [Patch(label=word, **look) for word, look in parts]
    return entries


def chart(series, section):
    """The chart of a series, or None if it has no communication."""
    points = points_of(series)
    if not points:
        return None
    worlds = [world_of(point) for point in points]
    remarks = ["Exposed is the phase all-reduce; what is measured but not exposed was hidden by computation."]
    return Chart(
        f"{series['file']}-communication", f"{name_of(series)}: communication", section,
        lambda axes: draw(axes, series), ["s of an epoch", *[f"P = {world_text(one, worlds)}" for one in worlds]],
        _rows(points),
        remarks + [one.replace("Hollow:", "*") for one in remarks_on([{**series, "points": points}])],
        series=[series], topics=("communication", "all-reduce", "exposed"),
    )  # fmt: skip


def _rows(points):
    """A row for each kind and part that is known."""
    known = set().union(*map(communication_of, points))
    kinds = [(kind, label) for kind, (label, _) in {**_KINDS, **_PARTS}.items() if kind in known]
    return [[label, *[_cell(point, kind) for point in points]] for kind, label in kinds]


def _cell(point, kind):
    value = communication_of(point).get(kind)
    return "-" if value is None else shown_seconds(value)
