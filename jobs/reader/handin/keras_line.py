"""What the lines say that Keras' fit() prints."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ..base.estimate import UNKNOWN, Estimate

_LONGEST = 1e9  # seconds: a longer time is none
_MOST_COUNT = 10**9
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_DURATION = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?(s|ms|us)(?![A-Za-z0-9_])")
_EPOCH_MARK = re.compile(r"Epoch:? *([0-9]{1,18})/([0-9]{1,18})(?![A-Za-z0-9_])")
_NAMED_MODEL = re.compile(r' *Model: "([^"]+)')
_MODEL_ON_GPUS = re.compile(r" *Model ([^ ]+) +([0-9]{1,18}) *GPU")
_SETTING = re.compile(r" *([^:=]*)[:=][:= ]*([0-9]{1,18}) *")
_BATCH_WORDS = ("batch_size", "global_batch_size")
_REPLICA_WORDS = ("num_replicas", "num_replicas_in_sync", "number_of_devices")
# Steps, and the bar of verbose=1: Keras 3 draws it with U+2501.
_STEPS = re.compile(r"[ -]*([0-9]{1,18})/([0-9]{1,18}) +(\[[=>.]*\]|\u2501+)?[ -]*")
_BETWEEN = re.compile("[ -]*")
_FIELD = re.compile("(?:(?! - ).)*", re.DOTALL)
_WORK = re.compile("(?:/(step|sample|epoch))?")  # what a time is of


class EpochMark(NamedTuple):
    """"Epoch 3/5" within a line."""

    number: int
    begin: int
    end: int


class RunHeader(NamedTuple):
    """What a line says about the run that follows; empty or 0 where it says nothing."""

    model: str = ""
    ranks: int = 0
    global_batch: int = 0


@dataclass
class LoggedEpoch:
    """A finished epoch as a log prints it: rounded. Seconds."""

    number: int = 0  # from 1
    steps: int = 0  # 0: unknown
    samples: int = 0  # counted instead of steps; 0: steps were counted
    printed: Estimate = field(default=UNKNOWN)  # what the rounding of its seconds leaves
    seconds: Estimate = field(default=UNKNOWN)  # what all figures of its line together leave, at most as wide
    validates: bool = False  # its seconds include a validation


def _duration(match):
    digits, unit = match.group(1), _UNITS[match.group(2)]
    seconds = float(digits) * unit
    if not seconds < _LONGEST:
        return None
    decimals = len(digits.partition(".")[2])
    half = 0.5 * 10.0**-decimals * unit
    return Estimate(seconds, max(seconds - half, 0.0), seconds + half)


def printed_duration(text):
    """"14s", "544ms", "73us", "23.44s", "8.715 s": an Estimate in seconds, with what rounding to the last digit leaves,
    never below 0. None if the text is not a whole duration."""
    match = _DURATION.fullmatch(text)
    return match and _duration(match)


def narrowed(first, second):
    """What both ranges leave, and the value of the narrower one within it; `first` if they exclude each other."""
    low, high = max(first.low, second.low), min(first.high, second.high)
    if not low <= high:
        return first
    narrower = second if second.high - second.low < first.high - first.low else first
    return Estimate(min(max(narrower.value, low), high), low, high)


def _count(digits):
    number = int(digits)
    return number if number < _MOST_COUNT else None


def find_epoch_mark(line):
    """The first EpochMark, or None."""
    for match in _EPOCH_MARK.finditer(line):
        number = _count(match.group(1))
        if number and _count(match.group(2)) is not None:
            return EpochMark(number, match.start(), match.end())
    return None


def parse_run_header(line):
    """A RunHeader of "Model ResNet50 4 GPUs", `Model: "resnet50v2"`, "Batch_size: 2048", "Num_replicas: 4"; None for
    any other line."""
    named, on_gpus = _NAMED_MODEL.match(line), _MODEL_ON_GPUS.match(line)
    if named:
        return RunHeader(model=named.group(1))
    if on_gpus:
        ranks = _count(on_gpus.group(2))
        return RunHeader(on_gpus.group(1), ranks) if ranks else None
    setting = _SETTING.fullmatch(line)
    value = setting and _count(setting.group(2))
    if not value:
        return None
    key = setting.group(1).lower().replace(" ", "_").replace("-", "_")
    if key in _BATCH_WORDS:
        return RunHeader(global_batch=value)
    return RunHeader(ranks=value) if key in _REPLICA_WORDS else None


def _times_of(line):
    """The line's times by the work that they are of ("epoch", "step", "sample"), and whether it has figures of a
    validation. Fields are separated by " - ", and one may hold several times; metrics are not read. No times where the
    first one is not that of the epoch."""
    times, validates, at = {}, False, 0
    while at < len(line):
        at = _BETWEEN.match(line, at).end()
        match = _DURATION.match(line, at)
        time = match and _duration(match)
        if time is None:
            validates = validates or line.startswith("val_", at)
            at = _FIELD.match(line, at).end()
        else:
            work = _WORK.match(line, match.end())
            at = work.end()
            if work.group(1) in ("step", "sample"):
                times[work.group(1)] = time
            elif work.group(1) is None:
                times.setdefault("epoch", time)
        if "epoch" not in times:
            return {}, False
    return times, validates


def _with_bar(seconds, per_step, steps):
    """A bar's time per step leaves out the first step. It bounds the epoch from below, and is its time if the first
    step was like the others."""
    low = max(seconds.low, min(seconds.high, per_step.low * (steps - 1)))
    return Estimate(min(max(per_step.value * steps, low), seconds.high), low, seconds.high)


def _combined(times, count, bar):
    seconds = times["epoch"]
    if "sample" in times:
        return narrowed(seconds, times["sample"] * count)
    if "step" not in times:
        return seconds
    if bar:
        return _with_bar(seconds, times["step"], count)
    return narrowed(seconds, times["step"] * count)


def parse_finished_line(line):
    """A LoggedEpoch of a finished epoch in any of these forms, after blanks and without line end:

      25/25 - 14s - loss: 2.1 - accuracy: 0.2 - 14s/epoch - 544ms/step   (verbose=2)
      25/25 - 14s - 544ms/step - accuracy: 0.2 - loss: 2.1               (verbose=2, Keras 3)
      25/25 - 14s - loss: 2.1 - accuracy: 0.2                            (verbose=2, before 2021)
      25/25 [========] - 14s 544ms/step - loss: 2.1                      (verbose=1)
      50000/50000 [====] - 14s 280us/sample - loss: 2.1                  (TensorFlow 1)
      40/40 - 8.715 s - 0.218 s/step - loss: 2.7 - accuracy: 0.1         (rueda)

    None for unfinished epochs, also at their last step, and for any other line. How Keras computes these figures:
    keras/src/utils/progbar.py. With verbose=1 the time per step leaves out the first one, so it bounds the epoch only
    from below; elsewhere it is the epoch's time / steps."""
    head = _STEPS.match(line)
    done = head and _count(head.group(1))
    if not done or done != _count(head.group(2)):
        return None
    times, validates = _times_of(line[head.end():])
    if not times:
        return None
    # Keras 3 prints the remaining time ("0s"), also at the last step, at the position of the time of a finished epoch.
    if "step" in times and times["epoch"].high < times["step"].low * (done - 1):
        return None
    counted = {"samples": done} if "sample" in times else {"steps": done}
    seconds = _combined(times, float(done), bool(head.group(3)))
    return LoggedEpoch(printed=times["epoch"], seconds=seconds, validates=validates, **counted)
