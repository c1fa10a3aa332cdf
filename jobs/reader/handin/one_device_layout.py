"""The layout `sa-miri-2021`: one device at a time, to the end of a job, to an accuracy, and with a larger network."""

import math

from ..base.statistics import median_of
from ..runs.run import folder_name, steady_stretch
from ..study.observation import Processor, merged
from ..tables.point_table import cores_of, count_cell, marks_of
from ..tables.table import Field, Table, without_empty
from .work import parameters_of, work_of

_BYTES = 4  # of an fp32 number


def _table(task, what, notes=()):
    return Table(f"sa_miri_2021_task_{task}", f"Task {task}: {what}", notes=notes)


def _ends_early(run):
    """Whether it was to end with an accuracy, as task 6 asks."""
    return run.options.get("target-accuracy") is not None


def _has_target(seen):
    return bool(seen.runs) and _ends_early(seen.runs[0])


def _repeats(observations):
    """Each configuration once, those with less work for an image first. What ends a run changes no time of an epoch."""
    groups = {}
    for seen in observations:
        groups.setdefault((seen.subject(), seen.global_batch, str(seen.images)), []).append(seen)
    work = {key: work_of(group[0]) for key, group in groups.items()}
    ordered = sorted(groups, key=lambda key: math.inf if math.isnan(work[key]) else work[key])
    return [merged(groups[key]) for key in ordered]


def _run_field(runs):
    """The directory of the run whose figures these are, the first of its repeats."""
    names = [folder_name(run.file) for run in runs if run and run.file]
    others = f" (middle of {len(names)})" if len(names) > 1 else ""
    return Field("run", "Run", "text", names[0] + others if names else None)


def _named(seen):
    what = f"{seen.model}, {seen.processor.value}{seen.source_remark()}"
    return [Field("model", "Model", "text", f"{what}, {seen.variant}" if seen.variant else what),
            Field("batch", "Batch", "count", count_cell(seen.global_batch))]


def _parameters(seen):
    return float(seen.runs[0].parameters) if seen.runs and seen.runs[0].parameters else parameters_of(seen.model)


def _networks(seen_once):
    table = _table(2, "the networks", (
        "GFLOP: forward and backward of one image, a multiply-add is two. Gradient: 4 bytes for each parameter, which "
        "data-parallel ranks would sum in each step.",))
    found = {}
    for seen in seen_once:
        found.setdefault((seen.model, seen.image_size), seen)
    least = min((work_of(seen) for seen in found.values()), default=math.nan)
    for seen in found.values():
        table.add_fields([Field("model", "Model", "text", seen.model),
                          Field("image_size", "Pixels", "count", count_cell(seen.image_size)),
                          Field("parameters", "Parameters", "count", _parameters(seen)),
                          Field("gradient_bytes", "Gradient", "bytes", _BYTES * _parameters(seen)),
                          Field("train_gflop", "GFLOP", "ratio", work_of(seen) / 1e9),
                          Field("work_ratio", "Times the work", "ratio", work_of(seen) / least)])
    return table


def _process_fields(seen, epochs, started, outcome, times):
    """Of a process: `epochs` that were finished when it ended; `times`: first and steady epoch."""
    first, steady = times
    cores = [Field("cores", "Cores", "count", cores_of(seen))] if seen.processor is Processor.cpu else []
    return [_run_field(seen.runs), *_named(seen), *cores,
            Field("started", "Started", "text", started), Field("epochs", "Epochs", "count", epochs),
            Field("outcome", "Outcome", "text", outcome), Field("first_epoch_s", "First epoch (s)", "seconds", first),
            Field("epoch_s", "Steady epoch (s)", "seconds", steady),
            Field("images_per_second", "Throughput (images/s)", "rate", steady and seen.images / steady)]


def _times_of(epochs):
    """Of the first and of a steady epoch that a process finished; None where there is none, or another process began
    it."""
    first = [one.seconds for one in epochs[:1] if not one.resumed_at_step]
    steady = [one.seconds for one in steady_stretch(epochs)]
    return (first[0] if first else None), (median_of(steady) if steady else None)


def _processes(seen):
    """[Field...] of each process of a run, or of what a log has. What came before the last one was stopped."""
    if not seen.runs:
        yield _process_fields(seen, None, None, None, (seen.first_epoch.value, seen.epoch.value))
        return
    run = seen.runs[0]
    started, begin = run.started_at, 0
    for index, (at, count) in enumerate(run.resumptions):
        kept = min(later for _, later in run.resumptions[index:])  # a later process may take epochs anew
        yield _process_fields(seen, count, started, "stopped", _times_of(run.epochs[begin:kept]))
        started, begin = at, count
    yield _process_fields(seen, len(run.epochs), started, run.outcome, _times_of(run.epochs[begin:]))


def _times(task, what, observations):
    """A row for each process of each run."""
    table = _table(task, what, (
        "A row for each process. Epochs: finished when it ended. Stopped: its job ended before the epochs did, and "
        "--resume went on in the same directory. First epoch: of this process, none if another one began it. Steady: "
        "median of the epochs that this process finished after its first one.",))
    for seen in observations:
        for fields in _processes(seen):
            table.add_fields([*fields, Field("remark", "Remark", "text", marks_of(seen, ", "))])
    return table


def _learning(task, what, seen_once):
    """A row for each epoch."""
    table = _table(task, what, (
        "Loss and accuracy: means over the training images of the epoch, each by the weights of its step. Of repeats "
        "the run that stands for all.",))
    for seen in seen_once:
        minutes = 0
        for epoch in seen.runs[0].epochs if seen.runs else ():
            minutes += epoch.seconds / 60
            table.add_fields([_run_field(seen.runs), *_named(seen), Field("epoch", "Epoch", "count", epoch.epoch),
                              Field("train_loss", "Loss", "seconds", epoch.train.loss),
                              Field("train_accuracy", "Accuracy (%)", "percent", epoch.train.accuracy),
                              Field("seconds", "Time (s)", "seconds", epoch.seconds),
                              Field("minutes", "Minutes so far", "ratio", minutes),
                              Field("remark", "Remark", "text", marks_of(seen, ", "))])
        if _has_target(seen):
            table.notes.append(f"{seen.model}, {seen.processor.value}: {seen.runs[0].outcome}.")
    return table


def _compared(seen_once):
    table = _table(7, "a larger network on one device", (
        "Times the time, times the work: of the first row. Batches are those of the runs; compare rows of the same "
        "one. Of repeats, also those that ended with an accuracy, the middle run by its epochs, or the faster of the "
        "middle two.",))
    for seen in seen_once:
        first = seen_once[0]
        table.add_fields([_run_field(seen.runs), *_named(seen),
                          Field("first_epoch_s", "First epoch (s)", "seconds", seen.first_epoch),
                          Field("epoch_s", "Steady epoch (s)", "seconds", seen.epoch),
                          Field("images_per_second", "Throughput (images/s)", "rate", seen.images / seen.epoch.value),
                          Field("time_ratio", "Times the time", "ratio", seen.epoch / first.epoch),
                          Field("work_ratio", "Times the work", "ratio", work_of(seen) / work_of(first)),
                          Field("remark", "Remark", "text", marks_of(seen, ", "))])
    return table


def one_device_layout(observations):
    """Tasks 2 to 7. The tasks on a GPU are shown of the CPU where no run has a GPU, as in a rehearsal."""
    alone = [seen for seen in observations if seen.ranks == 1]
    cpu = [seen for seen in alone if seen.processor is Processor.cpu]
    device = [seen for seen in alone if seen.processor is Processor.gpu] or cpu
    compared = _repeats(device)

    def of_first(found):
        """Whole runs of the network with the least work."""
        least = [seen.model for seen in _repeats(found)[:1]]
        return [seen for seen in found if seen.model in least and not _has_target(seen)]

    return without_empty([
        _networks(_repeats(alone)),
        _times(3, "a CPU, to the end of its job", of_first(cpu)),
        _times(4, "one GPU", of_first([seen for seen in device if seen.processor is Processor.gpu])),
        _learning(5, "accuracy", _repeats(of_first(device))),
        _learning(6, "to an accuracy", _repeats([seen for seen in device if _has_target(seen)])),
        _compared(compared) if len({seen.model for seen in compared}) > 1 else _table(7, ""),
    ])
