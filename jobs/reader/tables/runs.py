"""Tables of single runs and of what points cost: device hours, energy, start-up, batches."""

import math

from ..runs.places import depth_of
from ..runs.run import folder_name
from ..study.observation import Processor, observe
from .point_table import point_table, points_of
from .table import Field, Table


def _cost_row(f):
    joules = f.energy.total()
    return [
        Field("device_seconds_per_epoch", "P x epoch, s", "seconds", f.device_seconds),
        Field("device_hours_per_100_epochs", "h for 100 epochs", "rate", f.device_seconds * 100 / 3600),
        Field("epoch_seconds", "epoch, s", "seconds", f.point.epoch),
        Field("watt_hours_per_epoch", "Wh per epoch", "rate", joules / 3600),
        Field("joules_per_image", "J per image", "rate", joules / f.point.images),
        Field("energy_of", "energy of", "text", f.energy.includes()),
    ]


_COST_NOTES = (
    "Device hours: ranks x epoch time, as a site bills them, without start-up and evaluation. A rank is one GPU or the "
    "threads of one rank.",
    "Energy: of the training steps, by the counters of GPUs (NVML) and of hosts (RAPL: processors and memory), which "
    "count for all programs on them. Compare only rows that include the same. A dash: not measured.",
)


def cost_table(figures):
    return point_table("cost", "Device hours and energy", figures, _cost_row, _COST_NOTES)


def _startup_seconds(run, item):
    """Of the slowest rank; of all items together where `item` is None. Unknown where that was not measured."""
    if run is None:
        return None
    if item is None:
        return run.summary.startup_seconds if run.summary.startup_seconds > 0 else None
    return run.startup[item].max if item in run.startup else None


_STARTUP_NOTES = (
    "Start-up: everything before the first step, of the rank that took longest. Each item is the longest of a rank, so "
    "they may add up to more. It belongs to no epoch here; frameworks book most of it on the first.",
    "First epoch: the time beyond the steady ones went to caches, page faults, new connections, and kernels that were "
    "chosen or compiled.",
)


def startup_table(figures):
    items = dict.fromkeys(item for f in points_of(figures) if f.run for item in f.run.startup)

    def row(f):
        p = f.point
        if f.run is None and not p.first_epoch.known:
            return []
        parts = [Field(f"{item}_seconds", item, "seconds", _startup_seconds(f.run, item)) for item in items]
        return [Field("startup_seconds", "start-up, s", "seconds", _startup_seconds(f.run, None)), *parts,
                Field("first_epoch_seconds", "first epoch, s", "seconds", p.first_epoch),
                Field("first_epoch_excess_seconds", "more than steady, s", "seconds",
                      p.first_epoch.value - p.epoch.value)]  # fmt: skip

    return point_table("startup", "Start-up and the first epoch", figures, row, _STARTUP_NOTES)


def _subject_of(series, figures):
    """The model and all but P and batch in which series of this study differ."""
    others = [one.series for one in figures]
    name = series.model + (f", {series.variant}" if series.variant else "")
    if len({other.processor for other in others}) > 1:
        name += f", {series.processor.value}"
    if len({other.image_size for other in others if other.model == series.model}) > 1:
        name += f", {series.image_size} pixels"
    return name + series.source_remark()


def _batch_fields(model, ranks, rank_batch, figures, marks):
    rate, epoch, step, memory = figures
    return [
        Field("model", "model", "text", model),
        Field("ranks", "P", "count", ranks),
        Field("rank_batch", "batch per rank", "count", rank_batch),
        Field("global_batch", "global batch", "count", rank_batch * ranks),
        Field("images_per_second", "images/s", "rate", rate),
        Field("epoch_seconds", "epoch, s", "seconds", epoch),
        Field("full_step_seconds", "full step, ms", "millis", step),
        Field("memory_bytes", "memory of a rank", "bytes", memory),
        Field("marks", "marks", "text", marks),
    ]


def _most_memory(point):
    """Of the rank that holds most."""
    return max((run.memory_bytes for run in point.runs if not math.isnan(run.memory_bytes)), default=None)


def _batch_of_rank(attempt):
    return attempt.rank_batch or attempt.global_batch // attempt.ranks


def batch_table(study, figures):
    """Rows by depth, model, P and batch of a rank."""
    batches = {}
    for f in points_of(figures):
        p, subject = f.point, _subject_of(f.series, figures)
        if p.rank_batch:
            marks = "nothing computed" if p.processor is Processor.timed else ""
            measured = (f.images_per_second, p.epoch, p.full_step, _most_memory(p))
            batches[depth_of(subject), subject, p.ranks, p.rank_batch] = measured, marks
    for attempt in study.failed:
        marks = "refused: memory" if "memory" in attempt.message else "failed"
        key = depth_of(attempt.model), attempt.model, attempt.ranks, _batch_of_rank(attempt)
        batches[key] = (None,) * 4, marks
    notes = ["Memory: of training on the device of the rank that holds most. *Refused*: the plan of this batch did not "
             "fit into the free memory, so the run did not begin."]  # fmt: skip
    table = Table("batches", "Throughput over the batch", notes=notes)
    for (_, model, ranks, rank_batch), (measured, marks) in sorted(batches.items(), key=lambda one: one[0]):
        table.add_fields(_batch_fields(model, ranks, rank_batch, measured, marks))
    return table


def _run_row(run):
    model, seconds, accuracy = run.model, None, None
    if run.epochs:
        seen = observe(run)
        model += " (nothing computed)" * (seen.processor is Processor.timed)
        seconds = seen.epoch
        accuracy = run.epochs[-1].test.accuracy if run.epochs[-1].test else None
    outcome = run.outcome + ", diverged" * run.summary.diverged
    return [folder_name(run.file), model, run.world_size(), run.global_batch, len(run.epochs), seconds,
            accuracy, outcome, run.summary.failure or ""]  # fmt: skip


def run_table(study):
    columns = [("run", "run", "text"), ("model", "model", "text"), ("ranks", "P", "count"),
               ("global_batch", "global batch", "count"), ("epochs", "epochs", "count"),
               ("epoch_seconds", "epoch, s", "seconds"), ("val_accuracy", "val. accuracy, %", "percent"),
               ("outcome", "outcome", "text"), ("message", "message", "text")]  # fmt: skip
    table = Table("runs", "Runs", columns)
    for run in [*study.runs, *study.empty_runs]:
        table.add(_run_row(run))
    for a in study.failed:
        batch = a.global_batch or a.rank_batch * a.ranks
        outcome = "refused" if a.exit_code == 2 else "failed"
        table.add([folder_name(a.file), a.model, a.ranks, batch, None, None, None, outcome, a.message])
    for file in study.unreadable:
        table.add([folder_name(file.file), *[None] * 6, "not readable", file.why])
    return table
