"""A run's records say many things twice: run.json against itself, epochs.csv, steps.csv and the command line. Records
that contradict each other were changed, or come from different runs."""

import csv
import io
import math
import shlex
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..base.definitions import FILES, PHASES
from ..base.json_view import InputFile, decoded
from ..base.statistics import median_of, quotient
from ..base.text import printable
from ..start import Unusable, path_of
from .noise import columns_of, learning_efficiency
from .ranks import MOST_ROWS, read_ranks
from .ranks import NAME as RANKS_NAME
from .rows import spaced
from .run import folder_name, steady_epochs
from .steps import NAME as STEPS_NAME
from .steps import read_steps

EPOCHS_NAME = FILES["epochs"]["name"]
_CLOSE = 1e-6  # sums in another order
_BETWEEN_STEPS = 1e-3  # of an epoch: the last digits of two clocks
_MOST_BYTES = 1_000_000_000
_REMEDY = "give the epochs.csv that the run wrote"
# The program replaces these by the values in use, or they are paths.
_NOT_AS_TYPED = {"threads", "batch-per-rank", "accumulate", "input-workers", "bucket-mb", "segment-kb",
                 "data", "run-dir",
                 "log-dir", "trace", "save-weights", "init-weights", "compute-from", "compute", "tuning-file",
                 "plan-cache"}  # fmt: skip


@dataclass
class Remark:
    """What does not fit together. `contradiction`: no honest run writes such records; else it only has to be known."""

    code: str
    runs: list  # paths of run.json
    text: str
    contradiction: bool = True
    figures: dict = field(default_factory=dict)


def _differ(a, b, close=_CLOSE):
    """NaN says nothing, so it contradicts nothing."""
    return abs(a - b) > close * max(abs(a), abs(b)) if math.isfinite(a) and math.isfinite(b) else False


class _Check:
    """Collects the remarks on one run, of each code the first."""

    def __init__(self, run):
        self.run, self.remarks, self.name = run, {}, printable(folder_name(run.file))

    def add(self, code, text, contradiction=True, **figures):
        self.remarks.setdefault(code,
                                Remark(code, [str(self.run.file)], f"{self.name}: {text}", contradiction, figures))

    def compare(self, code, what, recorded, other, where, close=_CLOSE):
        """`recorded` is the figure of run.json, `other` that of `where`."""
        if _differ(recorded, other, close):
            self.add(code, f"{what} is {recorded:.6g} in run.json and {other:.6g} {where}", recorded=recorded,
                     other=other)


def _in_run_json(epoch):
    """What epochs.csv has of an epoch, by column."""
    test = epoch.test
    values = {"seconds": epoch.seconds, "images_per_second": epoch.images_per_second, "samples": epoch.train.samples,
              "steps": epoch.steps, "loss": epoch.train.loss, "accuracy": epoch.train.accuracy,
              "val_loss": test.loss if test else math.nan, "val_accuracy": test.accuracy if test else math.nan}
    return {**values, **columns_of(epoch.noise), **{f"{name}_seconds": epoch.phases[name].mean for name in PHASES}}


def _number(text):
    try:
        return float(text) if text else math.nan
    except ValueError:
        return math.nan


def read_epochs(path):
    """{epoch: {column: number}} of an epochs.csv; NaN where a cell has none. Raises Unusable."""
    file = InputFile(path, _REMEDY)
    try:
        rows = list(csv.DictReader(io.StringIO(decoded(file.read(_MOST_BYTES)))))
    except (UnicodeDecodeError, csv.Error) as error:
        file.refuse(f"it is no table ({printable(error)})")
    numbers = [{name: _number(value) for name, value in row.items() if name and isinstance(value, str)} for row in rows]
    return {int(row["epoch"]): row for row in numbers if 0 < row.get("epoch", 0) < 1e15}


def _read_beside(check, name, code, read):
    """What `read` makes of this file beside run.json; None, with a remark, where it cannot be read."""
    file = Path(check.run.file).parent / name
    try:
        return read(file)
    except Unusable as error:
        check.add(code, f"its {name} cannot be compared ({error})", path_of(file).exists())
        return None


def _check_epochs_csv(check):
    table = _read_beside(check, EPOCHS_NAME, "epochs-csv", read_epochs)
    for epoch in check.run.epochs if table is not None else ():
        row = table.get(epoch.epoch)
        if row is None:
            check.add("epochs-csv", f"epoch {epoch.epoch} of run.json is not in epochs.csv")
            continue
        for column, recorded in _in_run_json(epoch).items():
            check.compare("epochs-csv", f"{column} of epoch {epoch.epoch}", recorded, row.get(column, math.nan),
                          "in epochs.csv")


def _compared(run):
    """The epochs whose rows of ranks are compared: of very many rows those of some."""
    return spaced(run.epochs, run.world_size(), MOST_ROWS)


def _of_rank(rank):
    return {"seconds": rank.seconds, "samples": rank.samples, **rank.phases}


def _check_ranks_csv(check):
    """Of few ranks run.json has the rows, too. Older versions wrote no such file."""
    if not path_of(Path(check.run.file).parent / RANKS_NAME).exists():
        return
    for epoch in _compared(check.run):
        if epoch.resumed_at_step is not None:
            continue  # an earlier process may have had it elsewhere
        rows = _read_beside(check, RANKS_NAME, "ranks-csv", partial(read_ranks, epoch=epoch.epoch, ranks=epoch.ranks))
        if rows is None:
            return
        for row, rank in zip(rows, epoch.of_ranks):
            for name, recorded in _of_rank(rank).items():
                check.compare("ranks-csv", f"{name} of rank {row.rank} in epoch {epoch.epoch}", recorded,
                              _of_rank(row)[name], "in ranks.csv")


def _check_score(check, epoch, table):
    """The loss and accuracy of an epoch are those of its steps, by their images."""
    images = table["global_samples"][:, 0]
    for name, recorded in (("loss", epoch.train.loss), ("accuracy", epoch.train.accuracy)):
        of_steps = table.get(f"train_{name}")
        if of_steps is not None:
            mean = quotient(float(images @ of_steps[:, 0]), float(images.sum()))
            check.compare("steps-csv", f"{name} of epoch {epoch.epoch}", recorded, mean, "as the mean over steps.csv")


def _check_steps_csv(check):
    compared = _compared(check.run)
    tables = _read_beside(check, STEPS_NAME, "steps-csv",
                          partial(read_steps, wanted=[epoch.epoch for epoch in compared]))
    for epoch in compared if tables is not None else ():
        table = tables.get(epoch.epoch)
        if table is None or table["rank"].shape[1] != epoch.ranks:
            if epoch.resumed_at_step is None:  # else an earlier process may have taken them
                check.add("steps-csv", f"the steps of epoch {epoch.epoch} are not all in steps.csv")
            continue
        sums = {name: table[name].sum(axis=0) for name in ("seconds", "samples", *PHASES) if name in table}
        for number, rank in enumerate(epoch.of_ranks):
            recorded = _of_rank(rank)
            for name, by_rank in sums.items():
                check.compare("steps-csv", f"{name} of rank {number} in epoch {epoch.epoch}", recorded[name],
                              float(by_rank[number]), "as a sum over steps.csv")
        if epoch.resumed_at_step is None:
            _check_score(check, epoch, table)


def _check_epoch(check, epoch):
    """An epoch of run.json against itself."""
    when = f"of epoch {epoch.epoch}"
    slowest = max((rank.seconds for rank in epoch.of_ranks), default=math.nan)
    whole = not epoch.resumed_at_step
    if epoch.seconds < slowest * (1 - _BETWEEN_STEPS):
        check.add("epoch-seconds",
                  f"the steps {when} take its slowest rank {slowest:.6g} s, longer than the epoch itself "
                  f"({epoch.seconds:.6g} s)", recorded=epoch.seconds, other=slowest)
    check.compare("rate", f"images/s {when}", epoch.images_per_second, epoch.train.samples / epoch.seconds,
                  "by its images and seconds")
    for rank in epoch.of_ranks:
        check.compare("phases", f"seconds of rank {rank.rank} {when}", rank.seconds, sum(rank.phases.values()),
                      "as the sum of its phases")
    for name in PHASES if epoch.of_ranks else ():
        mean = sum(rank.phases[name] for rank in epoch.of_ranks) / len(epoch.of_ranks)
        check.compare("phases", f"{name} {when}", epoch.phases[name].mean, mean, "as the mean over its ranks")
    if epoch.of_ranks and whole:
        useful = sum(rank.seconds - rank.phases["all_reduce"] for rank in epoch.of_ranks) / len(epoch.of_ranks)
        check.compare("efficiency", f"the useful time {when}", epoch.efficiency.useful_mean, useful, "by its ranks")
        samples = sum(rank.samples for rank in epoch.of_ranks)
        check.compare("samples", f"the number of images {when}", epoch.train.samples, samples,
                      "as the sum over its ranks")


def _check_noise(check, epoch):
    """Its figures against each other."""
    noise = epoch.noise
    if noise is None or not noise.scale.known:
        return
    when = f"of epoch {epoch.epoch}"
    check.compare("noise", f"the gradient noise scale {when}", noise.scale.value,
                  quotient(noise.variance, noise.gradient_norm2), "by its variance and its squared gradient")
    check.compare("noise", f"the learning efficiency {when}", noise.learning_efficiency,
                  learning_efficiency(noise.scale, noise.batch).value, "by its noise scale")


def _check_summary(check):
    run, summary = check.run, check.run.summary
    steady = median_of(epoch.seconds for epoch in steady_epochs(run))
    check.compare("summary", "the steady epoch time", summary.epoch_seconds, steady, "as the median of its epochs")
    training = sum(epoch.seconds for epoch in run.epochs)
    check.compare("summary", "the training time", summary.training_seconds, training, "as the sum of its epochs")
    if summary.total_seconds < summary.training_seconds * (1 - _BETWEEN_STEPS):
        check.add("summary", f"it trained for {summary.training_seconds:.6g} s, longer than the whole run of "
                  f"{summary.total_seconds:.6g} s", recorded=summary.total_seconds, other=summary.training_seconds)
    check.compare("batch", "the global batch", run.global_batch, sum(run.rank_batches), "as the sum over its ranks")


def _check_backend(check):
    """What computes nothing has no loss."""
    run = check.run
    backends = sorted({rank.backend for rank in run.ranks})
    waited = run.timed is not None or any(rank.device.startswith("none:") for rank in run.ranks)
    without_loss = all(math.isnan(epoch.train.loss) for epoch in run.epochs)
    if backends != ["timed"] and (waited or (run.outcome == "completed" and without_loss)):
        check.add("backend",
                  f"its backend is called {' and '.join(map(printable, backends))}, and it has no loss in any epoch: "
                  "the timed backend records so, which computes nothing" if without_loss else
                  f"its backend is called {' and '.join(map(printable, backends))}, and it says how long it "
                  "waited instead")
    asked = run.options.get("backend")
    if isinstance(asked, str) and asked != "auto" and [asked] != backends:
        check.add("backend", f"--backend {printable(asked)} was asked for, and its ranks had "
                  f"{', '.join(map(printable, backends))}")


def _typed_options(command_line):
    """{name: word} of a command line, without options that take no word."""
    try:
        words = shlex.split(command_line)
    except ValueError:
        return {}
    typed = {}
    for word, following in zip(words, words[1:] + [""]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if equals or not following.startswith("--"):
                typed[name] = value if equals else following
    return typed


def _same_value(typed, recorded):
    """Whether an option's word may have become this value: words such as auto and max become something else."""
    if isinstance(recorded, bool) or recorded is None or typed in ("", "0", "auto", "max"):
        return True
    if isinstance(recorded, (int, float)):
        return math.isnan(_number(typed)) or _number(typed) == recorded
    if str(recorded).lower() == typed.lower():
        return True
    numbers = [list(map(_number, str(text).split(","))) for text in (typed, recorded)]
    return numbers[0] == numbers[1] and not any(map(math.isnan, numbers[0]))  # 3.0,1 is 3,1


def _check_command_line(check):
    options = check.run.options
    for name, typed in _typed_options(check.run.command_line).items():
        if name in options and name not in _NOT_AS_TYPED and not _same_value(typed, options[name]):
            check.add("command-line", f"its command line has --{name} {printable(typed)}, and its configuration "
                      f"{printable(options[name])}")


def remarks_on_run(run):
    """[Remark] on one run with epochs, of each code at most one. Whoever changed every record alike is not found so."""
    check, folder = _Check(run), Path(run.file).parent
    if not any(path_of(folder / name).exists() for name in (EPOCHS_NAME, STEPS_NAME)):
        check.add("alone",
                  "there is neither epochs.csv nor steps.csv beside its run.json, which nothing confirms so", False)
    else:
        _check_epochs_csv(check)
        _check_steps_csv(check)
        _check_ranks_csv(check)
    for epoch in _compared(run):
        _check_epoch(check, epoch)
        _check_noise(check, epoch)
    _check_summary(check)
    _check_backend(check)
    _check_command_line(check)
    return list(check.remarks.values())
