"""What tells networks apart that scale: a row for each figure, a column for each network."""

import math

from ..study.observation import Processor
from ..tables.point_table import marks_of
from ..tables.table import Column
from .work import work_of

_NOTES = (
    "Work: forward and backward, a multiply-add is two operations; that of a step is of one device. Summed: what an "
    "all-reduce adds up. Work for each byte: of a step / bytes summed in it.",
    "All-reduce: what a mean full step waits for it. Times: of the first network.",
)


_STANDS_FOR = " stands for "


def stand_in_note(own, wanted):
    """Of a network that ran in place of one of the course."""
    return f"{own}{_STANDS_FOR}{wanted}."


def is_stand_in_note(note):
    return _STANDS_FOR in note


def _work(one):
    return work_of(one.point) / 1e9


def _images(one):
    return float(one.point.rank_batch or math.nan)


def _summed(one):
    return one.communication.bytes / 1e6


# Name and figure of a point.
_FIGURES = (
    ("Epoch (s)", lambda one: one.point.epoch.value),
    ("Throughput (images/s)", lambda one: one.images_per_second.value),
    ("Efficiency (%)", lambda one: 100 * one.epoch_view.efficiency.value),
    ("Images of a step, each device", _images),
    ("Work of an image (GFLOP)", _work),
    ("Work of a step (GFLOP)", lambda one: _work(one) * _images(one)),
    ("Summed in a step (MB)", _summed),
    ("Work for each byte (kFLOP)", lambda one: _work(one) * _images(one) / _summed(one)),
    ("All-reduce of a step (ms)", lambda one: 1e3 * one.step_phases.get("all_reduce", math.nan)),
)


def _points(group):
    """[PointFigures] of the most ranks that all of these series ran, with a core for each thread if that was on
    several; none without such ranks, or where there are fewer than two series."""
    if len(group) < 2:
        return []
    by_ranks = [{one.ranks(): one for one in series.points[::-1]} for series in group]
    common = [ranks for ranks in by_ranks[0] if ranks > 1 and all(ranks in points for points in by_ranks)]
    with_cores = [ranks for ranks in common if not any(points[ranks].point.oversubscribed for points in by_ranks)]
    return [points[max(with_cores or common)] for points in by_ranks] if common else []


def _row(name, figures):
    first, *others = figures
    return [name, first, *(cell for other in others for cell in (other, other / first if first else None))]


def _marks(group, points):
    """Sentences on what limits these points and the bases of their efficiencies: one for each kind of limit."""
    limited = {}
    for series, point in zip(group, points):
        for one in (series.points[0], point):
            limited.setdefault(marks_of(one.point, ", "), []).append(f"{series.series.label}, P = {one.ranks()}")
    return [f"{'; '.join(names)}: {marks}." for marks, names in limited.items() if marks]


def add_networks(table, group):
    """Fills the table, and ends its title with P; leaves it without a row where no P lets these series be compared."""
    points = _points(group)
    if not points:
        return
    first = points[0].point
    table.title += f" on {first.ranks} {'GPUs' if first.processor is Processor.gpu else 'ranks'}"
    table.columns = [Column("figure", "Figure", "text"), Column(group[0].series.id, group[0].series.label, "rate")]
    for series in (one.series for one in group[1:]):
        table.columns += [Column(series.id, series.label, "rate"), Column(f"{series.id}_times", "times", "ratio")]
    for name, of in _FIGURES:
        figures = [of(one) for one in points]
        if any(map(math.isfinite, figures)):
            table.add(_row(name, figures))
    table.notes = [*_NOTES, *_marks(group, points)]
