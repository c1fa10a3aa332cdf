"""What the tables of points share: a row for each point of each series."""

import math

from ..study.observation import Processor, is_single_run
from .table import Field, Table, shown


def points_of(figures):
    """The points of every series, in order."""
    return [point for series in figures for point in series.points]


def point_table(id, title, figures, row_of, notes):
    """A table of all points: series, P and hosts, then the Fields that row_of(point) gives, the same columns for all;
    none where its row is left out."""
    table = Table(id, title, notes=notes)
    for f in points_of(figures):
        fields = row_of(f)
        if fields:
            table.add_fields([Field("series", "series", "text", f.series.label),
                              Field("ranks", "P", "count", f.ranks()),
                              Field("hosts", "hosts", "count", f.point.hosts), *fields])  # fmt: skip
    return table


def count_cell(count):
    """Nothing where a count is 0, which means unknown."""
    return count or None


def cores_of(seen):
    """Of the one rank of an observation on processors: as many as it ran threads, or all that it had. None where that
    is not recorded."""
    if not seen.runs or seen.processor is not Processor.cpu:
        return None
    rank = seen.runs[0].ranks[0]
    return count_cell(min(rank.threads, math.ceil(rank.cores))) if math.isfinite(rank.cores) else None


def low_of(estimate):
    """Nothing where low and high are the same."""
    return None if estimate.exact else estimate.low


def high_of(estimate):
    return None if estimate.exact else estimate.high


def range_cell(estimate, show):
    """"13.55 to 13.70"; nothing where low and high are the same, or nothing is determined."""
    if not estimate.determined or estimate.exact:
        return None
    return f"{shown(estimate.low, show)} to {shown(estimate.high, show)}"


_MARKS = (
    ("nothing computed", lambda point: point.processor is Processor.timed),
    ("more threads than cores", lambda point: point.oversubscribed),
    ("includes warm-up", lambda point: point.includes_warm_up),
    ("disturbed", lambda point: point.disturbed),
    ("single run", is_single_run),
)


def marks_of(point, between="; "):
    """What limits a point, in words that stand apart by `between`."""
    return between.join(words for words, applies in _MARKS if applies(point))
