"""The layouts `book`, `sa-miri` and `lab5`: the same tables under the numbers of each course's tasks."""

import math
from typing import NamedTuple

from ..base.text import count_text
from ..study.causes import most_lost
from ..study.observation import Processor, merged
from ..study.series import Scaling, epoch_speedup
from ..tables.acceleration import acceleration_table
from ..tables.point_table import cores_of, count_cell, high_of, low_of, marks_of
from ..tables.serial import serial_table
from ..tables.table import Column, Field, Table, without_empty
from .network_table import add_networks, stand_in_note
from .side_by_side import (add_side_by_side, efficiency_figure, epoch_figure, ranks_heading, rate_figure,
                           speedup_figure, speedup_note)  # fmt: skip
from .work import known_work_of, order_by_work


class Course(NamedTuple):
    """Which task of a course asks for which table; empty: none."""

    baseline: str
    acceleration: str
    first: str
    larger: str
    comparison: str
    networks: str  # what tells them apart
    third: str = ""  # ResNet101V2; without a task it is one of the larger models
    laws: str = ""
    third_laws: str = ""


COURSES = {  # by the word of --layout
    "book": Course("10.3", "10.4", "10.5", "10.6", "10.7", "10.6"),
    "sa-miri": Course("10.3", "10.4", "10.6", "10.7", "10.8", "10.8", "10.9", "10.10", "10.11"),
    "lab5": Course("2", "3", "6", "7", "8", "8"),
}
_FIRST_MODEL, _THIRD_MODEL, _LARGEST_MODEL = "resnet50v2", "resnet101v2", "resnet152v2"
_LOST_IN = {"all_reduce": "exposed all-reduce", "rest": "uneven ranks and time between steps"}
_COMPARED = (
    ("epoch_time", "epoch time (s)", "seconds", epoch_figure),
    ("throughput", "throughput (images/s)", "rate", rate_figure),
    ("speedup", "speedup", "ratio", speedup_figure),
    ("efficiency", "efficiency (%)", "percent", efficiency_figure),
)


def _task_table(layout, number, what, suffix="", notes=()):
    """An empty table with an id such as sa_miri_task_10_3."""
    task = f"{layout}_task_{number}".replace("-", "_").replace(".", "_")
    return Table(task + suffix, f"Task {number}: {what}", notes=notes)


def _cpu_baseline(layout, number, observations):
    """The steady epoch on a CPU, the reference of all that follows: a row for each configuration."""
    table = _task_table(layout, number, "the CPU as baseline", notes=(
        "One rank. Steady: median of the epochs after the first. Of repeats the middle run by this time, or the "
        "faster of the middle two. Cores: that its threads had.",))
    repeats = {}
    for seen in observations:
        if seen.ranks == 1 and seen.processor is Processor.cpu:
            repeats.setdefault((seen.subject(), seen.global_batch, str(seen.images)), []).append(seen)
    merged_once = [merged(group) for group in repeats.values()]
    different = any(o.variant for o in merged_once)
    for o in sorted(merged_once, key=known_work_of):
        table.add_fields([
            Field("model", "Model", "text", o.model), Field("image_size", "Pixels", "count", count_cell(o.image_size)),
            Field("source", "Source", "text", o.source), Field("batch", "Batch", "count", count_cell(o.global_batch)),
            Field("cores", "Cores", "count", cores_of(o)),
            Field("first_epoch_s", "First epoch (s)", "seconds", o.first_epoch),
            Field("epoch_s", "Steady epoch (s)", "seconds", o.epoch),
            Field("images_per_second", "Throughput (images/s)", "rate", o.images / o.epoch.value),
            *([Field("variant", "Options, processor", "text", o.variant)] if different else []),
            Field("remark", "Remark", "text", marks_of(o, ", "))])
    if different:
        table.notes.append("Options, processor: what differs between the runs of the study.")
    return table


def _acceleration(layout, number, observations):
    table = acceleration_table(observations)
    own = _task_table(layout, number, "acceleration, " + table.title.partition(": ")[2])
    table.id, table.title = own.id, own.title
    return table


def _last_step(point):
    """Images of the last step of an epoch, if they are known."""
    if not point.steps or math.isnan(point.images):
        return None
    return point.images - (point.steps - 1) * point.global_batch


def _view_fields(prefix, heading, view):
    """Speedup and efficiency, with what repeats or rounding leave of it."""
    return [Field(f"{prefix}speedup", f"Speedup{heading}", "ratio", view.speedup),
            Field(f"{prefix}efficiency", f"Efficiency{heading} (%)", "percent", view.efficiency),
            Field(f"{prefix}efficiency_low", "at least", "percent", low_of(view.efficiency)),
            Field(f"{prefix}efficiency_high", "at most", "percent", high_of(view.efficiency))]


def _learning_rate(point):
    """Of the run that stands for all."""
    return point.runs[0].learning_rate if point.runs else None


def _scaling_fields(base, figures, printed):
    point = figures.point
    fields = [Field("ranks", ranks_heading(point.processor), "count", point.ranks),
              Field("epoch_s", "Time (s)", "seconds", point.epoch),
              Field("images_per_second", "Throughput (images/s)", "rate", figures.images_per_second),
              *_view_fields("", "", figures.epoch_view)]
    if printed:
        fields += [Field("printed_epoch_s", "Time as printed (s)", "text", point.printed_epoch),
                   *_view_fields("printed_", " as printed", epoch_speedup(figures.series, point, "printed_epoch"))]
    part = most_lost(base, figures) if figures.losses else None
    return fields + [Field("most_lost", "Most lost in", "text", part and _LOST_IN.get(part.key, part.key)),
                     Field("rank_batch", "Batch of each", "count", count_cell(point.rank_batch)),
                     Field("batch", "Batch", "count", count_cell(point.global_batch)),
                     Field("learning_rate", "Learning rate", "gigabytes", _learning_rate(point)),
                     Field("steps", "Steps", "count", count_cell(point.steps)),
                     Field("last_step_images", "Images of the last step", "count", _last_step(point)),
                     Field("remark", "Remark", "text", marks_of(point, ", "))]


def _scaling_note(series):
    images = count_text(series.batch)
    if series.scaling is Scaling.strong:
        return f"Strong scaling: {images} images per step over all ranks."
    return f"Weak scaling: {images} images per step on every rank; with more ranks an epoch has fewer steps."


def _stand_ins(first, larger, third):
    """{network: that of the course in whose place it ran}."""
    found = {}
    for group, wanted in ((first, _FIRST_MODEL), (larger, _LARGEST_MODEL), (third, _THIRD_MODEL)):
        models = {one.series.model for one in group}
        if wanted not in models:
            found.update(dict.fromkeys(models, wanted))
    return found


def _with_stand_ins(tables, group, stand_ins):
    """The same tables, which say what stands for what among the series of the group."""
    models = dict.fromkeys(one.series.model for one in group)
    for table in tables:
        table.notes += [stand_in_note(own, stand_ins[own]) for own in models if own in stand_ins]
    return tables


def _series_table(layout, number, figures, stand_ins):
    series = figures.series
    wanted = stand_ins.get(series.model)
    printed = any(point.printed_epoch.known for point in series.points)  # whether a log has rounded times
    title = series.label + (f", in place of {wanted}" if wanted else "")
    table = _task_table(layout, number, title, "_" + series.id, (
        _scaling_note(series),
        "Time: an epoch, steady (median of the epochs after the first). Throughput = images of an epoch / time, over "
        "all ranks.", speedup_note(series), "At least and at most: what repeats or rounding leave. Most lost in: "
        "nothing where the runs leave it open."))
    for point in figures.points:
        table.add_fields(_scaling_fields(figures.points[0], point, printed))
    if printed:
        table.notes.append("As printed: from the rounded seconds of an epoch alone. The figures before them use the "
                           "printed time per step, too, where there is one.")
    return table


def _comparisons(layout, number, group):
    """Four figures of all series, a series a column, as figures 10.12 to 10.15 of the book draw them; none of a single
    one."""
    tables = []
    for key, title, show, value in _COMPARED if len(group) > 1 else ():
        table = _task_table(layout, number, title, "_" + key, ["Definitions as in the tables of each model."])
        table.columns = [Column("ranks", "P", "count"), *(Column(one.series.id, one.series.label,
                                                                 show) for one in group)]
        add_side_by_side(table, group, [value])
        tables.append(table)
    return tables


def _networks(layout, number, group):
    table = _task_table(layout, number, "the networks", "_networks")
    add_networks(table, group)
    return table


def _laws(layout, number, group):
    """What Amdahl, Karp and Flatt, and Gustafson say of these series."""
    table = serial_table(group)
    own = _task_table(layout, number, "Amdahl's and Gustafson's laws")
    table.id, table.title = own.id, own.title
    return table


def _groups(course, figures):
    """The series by the task that is about them: those of the first network, of larger ones, and of the third one. The
    first network is the book's, or else the one with the least work for an image. In a study without the book's larger
    ones the third is between the others."""
    group = [one for one in figures if one.series.scaling is not Scaling.single]
    models = order_by_work(group)
    first = next((model for model in models if model == _FIRST_MODEL), models[0] if models else "")
    third = _THIRD_MODEL if course.third and first != _THIRD_MODEL else None
    if third and not {_THIRD_MODEL, _LARGEST_MODEL} & set(models) and len(models) > 2:
        third = models[len(models) // 2]

    def of(wanted):
        return [one for one in group if one.series.model == wanted]

    larger = [one for model in models if model not in (first, third) for one in of(model)]
    return of(first), larger, of(third)


def task_layout(layout, figures, observations):
    course = COURSES[layout]
    tables = [_cpu_baseline(layout, course.baseline, observations),
              _acceleration(layout, course.acceleration, observations)]
    first, larger, third = _groups(course, figures)
    stand_ins = _stand_ins(first, larger, third)

    def of_each(number, group):
        return [table for one in group
                for table in _with_stand_ins([_series_table(layout, number, one, stand_ins)], [one], stand_ins)]

    def of_all(networks, comparison, group):
        found = [_networks(layout, networks, group), *_comparisons(layout, comparison, group)]
        return _with_stand_ins(found, group, stand_ins)

    tables += of_each(course.first, first) + of_each(course.larger, larger)
    tables += of_all(course.networks, course.comparison, first + larger)
    if third:
        all_three = sorted(first + larger + third, key=lambda one: known_work_of(one.points[0].point))
        tables += of_each(course.third, third) + of_all(course.third, course.third, all_three)
    if course.laws:
        for number, group in ((course.laws, first + larger), (course.third_laws, third)):
            tables += _with_stand_ins([_laws(layout, number, group)], group, stand_ins)
    return without_empty(tables)
