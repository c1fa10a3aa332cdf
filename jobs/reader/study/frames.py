"""Series and points of a study as pandas' DataFrames. A figure with a range has two columns more: NAME_low and
NAME_high."""

import pandas

from ..base.definitions import PHASES
from ..base.estimate import UNKNOWN
from .observation import Observation

_MARKS = ("oversubscribed", "includes_warm_up", "disturbed")


def _columns(name, estimate):
    """NaN where nothing may be concluded from it."""
    if estimate.why:
        estimate = UNKNOWN
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _losses(losses):
    """Seconds of an epoch beyond ideal scaling, by phase."""
    if losses is None:
        return {}
    return {"lost_seconds": losses.lost, **{f"lost_{phase}": losses.phases[phase] for phase in PHASES},
            "lost_waiting": losses.waiting, "lost_rest": losses.rest}


def _row(series, figures):
    point: Observation = figures.point
    c = figures.communication
    return {
        "series": series.id, "ranks": point.ranks, "hosts": point.hosts, "global_batch": point.global_batch,
        "rank_batch": point.rank_batch or None, "repeats": point.repeats, **_columns("epoch_seconds", point.epoch),
        **_columns("full_step_seconds", point.full_step), **_columns("images_per_second", figures.images_per_second),
        **_columns("speedup", figures.epoch_view.speedup), **_columns("efficiency", figures.epoch_view.efficiency),
        **_columns("step_speedup", figures.step_view.speedup),
        **_columns("step_efficiency", figures.step_view.efficiency),
        **_columns("learning_speedup", figures.learning.speedup),
        "karp_flatt": figures.karp_flatt, "gustafson": figures.gustafson, **figures.factors,
        "all_reduce_busy": c.busy, "all_reduce_exposed": c.exposed, "all_reduce_waiting": c.exposed_waiting,
        "all_reduce_transfer": c.exposed_transfer, "busbw_GBps": c.busbw, **_losses(figures.losses),
        **{mark: getattr(point, mark) for mark in _MARKS},
    }  # fmt: skip


def frame_of_series(figures):
    """A row for each series."""
    rows = [{"series": one.series.id, "label": one.series.label, "model": one.series.model, "source": one.series.source,
             "processor": one.series.processor.name, "scaling": one.series.scaling.value, "batch": one.series.batch,
             "variant": one.series.variant, "points": len(one.points)} for one in figures]
    return pandas.DataFrame(rows).set_index("series") if rows else pandas.DataFrame()


def frame_of_points(figures):
    """A row for each number of ranks of each series."""
    rows = [_row(one.series, point) for one in figures for point in one.points]
    return pandas.DataFrame(rows).set_index(["series", "ranks"]) if rows else pandas.DataFrame()
