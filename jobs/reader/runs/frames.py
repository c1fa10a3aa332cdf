"""Runs, epochs and steps as pandas' DataFrames. Seconds, bytes, images; docs/metrics.md defines the quantities."""

import math
from pathlib import Path

import numpy
import pandas

from ..base.definitions import PHASES
from ..base.statistics import mean_of
from ..start import Unusable
from .noise import columns_of
from .run import includes_warm_up, least_core_share, steady_epochs
from .steps import NAME as STEPS_NAME
from .steps import full_steps, read_steps

_WHOLE = ("epoch", "step", "rank", "samples", "global_samples")  # columns of steps
_FACTORS = ("load_balance", "serialisation", "transfer", "communication", "parallel")


def names_of(runs):
    """A name for each run: that of its directory, with as many above it as tell all apart."""
    parts = [Path(run.file).resolve().parent.parts for run in runs]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(own[-depth:]) for own in parts]
        if len(set(names)) == len(names):
            break
    return names


def _factors_of(efficiency):
    return {name: getattr(efficiency, name)() for name in _FACTORS}


def _last_test(run):
    """The score of the last evaluation; None without one."""
    return next((epoch.test for epoch in reversed(run.epochs) if epoch.test), None)


def _row_of_run(name, run):
    test, summary = _last_test(run), run.summary
    return {
        "run": name, "model": run.model, "image_size": run.image_size, "backend": run.ranks[0].backend,
        "ranks": run.world_size(), "hosts": run.hosts(), "host": run.ranks[0].host, "device": run.ranks[0].device,
        "global_batch": run.global_batch, "rank_batch": mean_of(run.rank_batches), "micro_batches": run.micro_batches,
        "precision": run.precision, "all_reduce": run.all_reduce, "overlap": run.overlaps, "images": run.train_images,
        "epochs": len(run.epochs), "outcome": run.outcome, "epoch_seconds": summary.epoch_seconds,
        "images_per_second": summary.images_per_second, "full_step_seconds": summary.full_step.slowest.median,
        "first_epoch_seconds": run.epochs[0].seconds if run.epochs else math.nan,
        **_factors_of(summary.efficiency), "startup_seconds": summary.startup_seconds,
        "training_seconds": summary.training_seconds, "total_seconds": summary.total_seconds,
        "busbw_GBps": summary.all_steps.busbw, "memory_bytes": run.memory_bytes,
        "val_loss": test.loss if test else math.nan, "val_accuracy": test.accuracy if test else math.nan,
        "includes_warm_up": includes_warm_up(run), "started_at": run.started_at, "command_line": run.command_line,
    }  # fmt: skip


def frame_of_runs(runs):
    """A row for each run. `epoch_seconds` is steady: the median of the epochs after the first."""
    rows = [_row_of_run(name, run) for name, run in zip(names_of(runs), runs)]
    frame = pandas.DataFrame(rows).set_index("run") if rows else pandas.DataFrame()
    if rows:
        frame["started_at"] = pandas.to_datetime(frame["started_at"], errors="coerce", utc=True)
    return frame


def _rows_of_epochs(name, run):
    steady = set(map(id, steady_epochs(run)))
    for epoch in run.epochs:
        test = epoch.test
        yield {
            "run": name, "epoch": epoch.epoch, "steady": id(epoch) in steady, "ranks": epoch.ranks,
            "steps": epoch.steps,
            "images": epoch.train.samples, "seconds": epoch.seconds, "images_per_second": epoch.images_per_second,
            "loss": epoch.train.loss, "accuracy": epoch.train.accuracy, "val_loss": test.loss if test else math.nan,
            "val_accuracy": test.accuracy if test else math.nan, "learning_rate": epoch.learning_rate,
            **{f"{phase}_seconds": epoch.phases[phase].mean for phase in PHASES}, **_factors_of(epoch.efficiency),
            "core_share": least_core_share(epoch), "joules": epoch.energy.total(), **columns_of(epoch.noise),
            "parameter_hash": epoch.parameter_hash,
        }  # fmt: skip


def frame_of_epochs(runs):
    """A row for each epoch of each run. The columns of phases have seconds of the epoch, mean over ranks."""
    rows = [row for name, run in zip(names_of(runs), runs) for row in _rows_of_epochs(name, run)]
    return pandas.DataFrame(rows).set_index(["run", "epoch"]) if rows else pandas.DataFrame()


def _columns_of_epoch(run, epoch, table, steady):
    """{column: array}, a value for each step and rank."""
    columns = {column: values.ravel() for column, values in table.items()}
    columns["full"] = full_steps(table, run.global_batch).repeat(table["rank"].shape[1])
    columns["steady"] = numpy.full(len(columns["full"]), epoch in steady)
    columns["useful"] = columns["seconds"] - columns["all_reduce"]
    return columns


def _tables_of(run):
    file = Path(run.file).parent / STEPS_NAME
    try:
        return read_steps(file)
    except Unusable:
        if file.exists():
            raise
        return {}  # a run whose steps nobody kept


def _columns_of_run(name, run):
    steady = {epoch.epoch for epoch in steady_epochs(run)}
    for epoch, table in sorted(_tables_of(run).items()):
        columns = _columns_of_epoch(run, epoch, table, steady)
        yield {"run": numpy.full(len(columns["full"]), name, object), **columns}


def frame_of_steps(runs):
    """A row for each step of each rank, where the run has a steps.csv: its columns, whether the step took the whole
    global batch (`full`) in an epoch that counts (`steady`), and `useful`, its seconds without the phase all_reduce."""
    parts = [columns for name, run in zip(names_of(runs), runs) for columns in _columns_of_run(name, run)]
    if not parts:
        return pandas.DataFrame()
    columns = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        missing = (numpy.full(len(part["run"]), math.nan) for part in parts)  # an older version did not write it
        columns[name] = numpy.concatenate([part.get(name, nothing) for part, nothing in zip(parts, missing)])
    frame = pandas.DataFrame(columns)
    return frame.astype(dict.fromkeys(_WHOLE, "int64")).set_index(["run", "epoch", "step", "rank"])
