"""How far it scales: by epochs, by full steps, and in short for a terminal."""

from functools import partial

from ..study.observation import Processor
from ..study.series import Scaling
from .learning import EQUAL_BATCHES, tells_learning
from .point_table import count_cell, marks_of, point_table, points_of, range_cell
from .table import Field, Table


def _scaling_row(f, with_learning):
    p = f.point
    efficiency = f.epoch_view.efficiency
    return [
        Field("scaling", "scaling", "text", None if f.series.scaling is Scaling.single else f.series.scaling.value),
        Field("rank_batch", "batch per rank", "count", count_cell(p.rank_batch)),
        Field("global_batch", "global batch", "count", count_cell(p.global_batch)),
        Field("repeats", "runs", "count", p.repeats),
        Field("epoch_seconds", "epoch, s", "seconds", p.epoch),
        Field("epoch_range", "from, to", "text", range_cell(p.epoch, "seconds")),
        Field("images_per_second", "images/s", "rate", f.images_per_second),
        Field("images_per_second_per_rank", "per rank", "rate", f.images_per_second * (1 / p.ranks)),
        Field("speedup", "speedup", "ratio", f.epoch_view.speedup),
        Field("efficiency", "efficiency, %", "percent", efficiency),
        Field("efficiency_range", "from, to", "text", range_cell(efficiency, "percent")),
        *[Field("learning_speedup", "speedup of learning", "ratio", f.learning.speedup)] * with_learning,
        Field("marks", "marks", "text", marks_of(p)),
    ]


_SCALING_NOTES = (
    "Epoch: seconds of training steps of an epoch, between barriers, without evaluation and start-up; median of the "
    "epochs after the first. Of several runs the median by this time, or the faster of the middle two; "
    "all figures of a row are of this run. *From, to*: minimum and maximum of the runs, or what the rounding "
    "of a log leaves.",
    "Epoch view: the epoch has the same images on any P. Speedup S(P) = P0 T(P0) / T(P) with the series' fewest ranks "
    "P0, which count as P0; efficiency = S / P. The baseline is the same program on P0 ranks. Without a second P there "
    "is no base, and no speedup.",
    "weak: the batch of each rank is fixed, so a step does more work on more ranks. strong: the global batch is fixed, "
    "so each rank's part of a step shrinks with P, which lowers efficiency by itself. An epoch is the same "
    "work in both, so the epoch view asks Amdahl's question for both; the step view of weak scaling asks Gustafson's.",
    "*More threads than cores*: ranks shared cores, so the figures also depend on the scheduler; left out "
    "of every fit. *Includes warm-up*: there is no epoch but the first of a process.",
)


def scaling_table(figures):
    row = partial(_scaling_row, with_learning=tells_learning(figures))
    return point_table("scaling", "Scaling by epoch time", figures, row, _SCALING_NOTES)


def _step_row(f):
    p = f.point
    if not p.full_step.known:
        return []
    return [
        Field("global_batch", "global batch", "count", count_cell(p.global_batch)),
        Field("steps", "steps of an epoch", "count", p.steps),
        Field("full_step_seconds", "full step, ms", "millis", p.full_step),
        Field("full_step_range", "from, to", "text", range_cell(p.full_step, "millis")),
        Field("step_images_per_second", "images/s", "rate", p.global_batch / p.full_step.value),
        Field("step_speedup", "scaled speedup", "ratio", f.step_view.speedup),
        Field("step_efficiency", "efficiency, %", "percent", f.step_view.efficiency),
    ]


_STEP_NOTES = (
    "Full step: one that takes the whole global batch; the median of the slowest rank's time. The last "
    "step of an epoch is partial where fewer images are left, and does not count here.",
    "Step view: speedup = ratio of the image rates of full steps, P0 (B(P)/t(P)) / (B(P0)/t(P0)). With a "
    "fixed batch per rank that is Gustafson's scaled speedup. Where it is better than the epoch view, partial steps "
    "and the time between steps make the difference.",
)


def step_table(figures):
    return point_table("steps", "Scaling by full steps", figures, _step_row, _STEP_NOTES)


def _short_label(series):
    """Of a terminal's width: a note says the rest."""
    if series.processor is not Processor.timed:
        return series.label
    return series.label.replace(f", {series.processor.value}", "", 1)


def overview_table(figures):
    """The shortest answer, narrow enough for a terminal."""
    columns = [("series", "series", "text"), ("ranks", "P", "count"), ("epoch_seconds", "epoch, s", "seconds"),
               ("images_per_second", "images/s", "rate"), ("speedup", "speedup", "ratio"),
               ("efficiency", "efficiency, %", "percent")]  # fmt: skip
    with_learning = tells_learning(figures)
    columns += [("learning_speedup", "learning", "ratio")] * with_learning
    table = Table("overview", "Scaling by epoch time", [*columns, ("marks", "", "text")])
    for f in points_of(figures):
        label = _short_label(f.series) if f.point is f.series.points[0] else " "
        mark = "*" if f.point.oversubscribed else " "
        cells = [label, f.ranks(), f.point.epoch, f.images_per_second, f.epoch_view.speedup, f.epoch_view.efficiency]
        table.add([*cells, *[f.learning.speedup] * with_learning, mark])
    if any(f.point.oversubscribed for f in points_of(figures)):
        table.notes.append("*: more threads than cores.")
    if with_learning:
        is_strong = any(one.series.scaling is Scaling.strong for one in figures)
        table.notes.append("Learning: the speedup of learning." + f" {EQUAL_BATCHES}" * is_strong)
    timed = [one.series for one in figures if one.series.processor is Processor.timed]
    table.notes += [f"{_short_label(series)}: nothing computed." for series in timed]
    return table
