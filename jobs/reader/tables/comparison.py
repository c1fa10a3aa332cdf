"""Tables of two runs, one against the other: A and B, both with an epoch."""

import json

from ..base.definitions import DEFINITIONS, PHASES
from ..base.estimate import Estimate, per
from ..base.statistics import each_once, median_of
from ..base.text import printable
from ..runs.run import means_of, steady_epochs
from ..study.observation import machine_of, observe
from .table import Field, Table

PHASE_WORDS = {phase["key"]: phase["words"] for phase in DEFINITIONS["phases"]}
_COUNTS = 0.01  # of A's step: a ratio of what hardly takes time says nothing


def rank_batch_text(run):
    """"64", "63 to 64": images of a rank in a full step."""
    least, most = min(run.rank_batches), max(run.rank_batches)
    return str(least) if least == most else f"{least} to {most}"


def which_is_which(runs):
    return "A is {}, B is {}.".format(*(printable(run.file.parent) for run in runs))


def steady_rate(run):
    """Images a second in the steady epochs: of the median one, the slowest and the fastest."""
    seconds = [epoch.seconds for epoch in steady_epochs(run)]
    return per(observe(run).images, Estimate(median_of(seconds), min(seconds), max(seconds)))


def full_step_phases(run):
    """Seconds of each phase of a mean full step, mean over ranks; they add up to it. NaN without full steps."""
    return means_of(run.summary.full_step.phases)


def _option_text(run, name):
    value = run.options.get(name)
    if value is None:
        return "-"
    return printable(value if isinstance(value, str) else json.dumps(value))


def _describes(option):
    """Names of files and other things that belong to a run alone tell nothing about it."""
    return option["resume"] != "own" or option["name"] == "init-weights"


def _settings_of(run):
    """What describes a run, by name, as text that a terminal can show: what the options led to, then the options, then
    the machine."""
    settings = {
        "ranks": str(run.world_size()),
        "hosts": str(run.hosts()),
        "images of a step": str(run.global_batch),
        "images of a rank in it": rank_batch_text(run),
        "training images": str(run.train_images),
        "threads of rank 0": str(run.ranks[0].threads),
        "sums by": printable(run.all_reduce) if run.all_reduce else "-",
    }
    for option in filter(_describes, DEFINITIONS["options"]):
        settings[option["name"]] = _option_text(run, option["name"])
    machine = machine_of(run)
    settings.update({printable(name): printable(machine[name]) for name in sorted(machine)})
    return settings


def settings_table(runs):
    """Those that differ."""
    columns = [("setting", "setting", "text"), ("a", "A", "text"), ("b", "B", "text")]
    table = Table("comparison_settings", "Settings that differ", columns, [which_is_which(runs)])
    a, b = map(_settings_of, runs)
    for name in each_once([*a, *b]):
        of_a, of_b = a.get(name, "-"), b.get(name, "-")
        if of_a != of_b:
            table.add([name, of_a, of_b])
    return table


def last_test(run):
    """The last evaluated epoch, or None."""
    return next((epoch for epoch in reversed(run.epochs) if epoch.test), None)


def _run_fields(letter, run):
    rate, last = steady_rate(run), last_test(run)
    return [
        Field("run", "run", "text", letter),
        Field("epochs", "epochs", "count", len(run.epochs)),
        Field("epoch_seconds", "steady epoch, s", "seconds", observe(run).epoch),
        Field("images_per_second", "images/s", "rate", rate),
        Field("slowest", "slowest, images/s", "rate", rate.low),
        Field("fastest", "fastest, images/s", "rate", rate.high),
        Field("val_loss", "test loss", "ratio", last and last.test.loss),
        Field("val_accuracy", "test accuracy, %", "percent", last and last.test.accuracy),
        Field("best_val_accuracy", "best, %", "percent", best_accuracy(run)),
        Field("memory_bytes", "memory of a rank", "bytes", run.memory_bytes),
    ]


def best_accuracy(run):
    """The highest of all evaluations; None without one."""
    return max((epoch.test.accuracy for epoch in run.epochs if epoch.test), default=None)


def runs_table(runs):
    """What both took and reached."""
    table = Table("comparison_runs", "What both runs took and reached", notes=[
        "Images/s: of the steady epoch of median time, and of the slowest and the fastest of them.",
        "Test loss and accuracy: of the last epoch that was evaluated; *best*: the highest accuracy of "
        "all."])  # fmt: skip
    for letter, run in zip("AB", runs):
        table.add_fields(_run_fields(letter, run))
    return table


def _add_step_row(table, name, a, b, step):
    if a != 0 or b != 0:
        table.add([name, a, b, b - a, b / a if a >= _COUNTS * step else None])


def step_table(runs):
    """A mean full step, phase by phase. No rows where one of the runs has no full step."""
    columns = [("phase", "phase", "text"), ("a_seconds", "A, ms", "millis"), ("b_seconds", "B, ms", "millis"),
               ("difference_seconds", "B - A, ms", "millis"), ("ratio", "B / A", "ratio")]  # fmt: skip
    note = ("Means over ranks and steady steps; the phases add up to the step. *B / A*: of what takes at "
            "least 1 % of A's step.")  # fmt: skip
    table = Table("comparison_steps", "A mean full step", columns, [note])
    a, b = map(full_step_phases, runs)
    whole_a, whole_b = sum(a.values()), sum(b.values())
    if not (whole_a > 0 and whole_b > 0):
        return table
    for phase in PHASES:
        _add_step_row(table, PHASE_WORDS[phase], a[phase], b[phase], whole_a)
    _add_step_row(table, "step", whole_a, whole_b, whole_a)
    return table
