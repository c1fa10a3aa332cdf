"""What the tables of all hand-ins have in common."""

from ..base.estimate import UNKNOWN
from ..study.observation import Processor
from ..tables.point_table import marks_of
from ..tables.table import Column


def epoch_figure(_, point):
    return point.point.epoch


def rate_figure(_, point):
    return point.images_per_second


def speedup_figure(_, point):
    return point.epoch_view.speedup


def efficiency_figure(_, point):
    return point.epoch_view.efficiency


def ranks_heading(processor):
    return "GPUs" if processor is Processor.gpu else "Ranks"


def speedup_note(series):
    """The formulas of speedup and efficiency."""
    fewest = series.points[0].ranks
    if fewest == 1:
        return "Speedup S(P) = T(1) / T(P); efficiency = S(P) / P."
    return f"No run on one rank: speedup S(P) = {fewest} T({fewest}) / T(P); efficiency = S(P) / P."


def _figure_at(series, ranks, value):
    """Of the first point on so many ranks; unknown where there is none."""
    return next((value(series, point) for point in series.points if point.ranks() == ranks), UNKNOWN)


def add_side_by_side(table, group, values, fewest=1):
    """A row for each P from `fewest` on: P, then the values of each series of the group, each a function of series and
    point; nothing where this P was not run. Of several points with the same P the one on fewest hosts. A last column
    has their marks, if there are any."""
    marks = {}  # by P, each once
    for series in group:
        for point in series.points:
            own = marks.setdefault(point.ranks(), {})
            own.update(dict.fromkeys(marks_of(point.point).split("; ")))
    marks = {ranks: "; ".join(filter(None, own)) for ranks, own in sorted(marks.items()) if ranks >= fewest}
    marked = any(marks.values())
    if marked:
        table.columns.append(Column("marks", "Marks", "text"))
    for ranks, mark in marks.items():
        row = [ranks, *(_figure_at(series, ranks, value) for series in group for value in values)]
        table.add(row + [mark] * marked)
