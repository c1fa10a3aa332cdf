#!/usr/bin/env python3
"""Writes what a run recorded as an event file, which TensorBoard shows. Needs Python's package tensorboard.

usage: to_tensorboard.py RUN_DIR [--out DIR] [--overwrite]

Reads run.json, epochs.csv and, where it is there, steps.csv of RUN_DIR (docs/run-json.md). Writes into DIR, by
default RUN_DIR/tensorboard. docs/report.md lists the scalars.
"""

import argparse
import csv
import io
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from reader import start
from reader.start import Unusable
from reader.base.files import Ownership, make_folder, open_regular, read_regular

EPOCH_TAGS = {
    "loss": "loss/training", "val_loss": "loss/test", "accuracy": "accuracy/training", "val_accuracy": "accuracy/test",
    "learning_rate": "epoch/learning_rate", "seconds": "epoch/seconds", "val_seconds": "epoch/evaluation_seconds",
    "images_per_second": "epoch/images_per_second", "joules": "epoch/joules",
}  # fmt: skip
NOISE_TAGS = {"noise_scale": "noise/scale", "learning_efficiency": "noise/learning_efficiency"}  # not of older versions
# The same on all ranks; times are those of the slowest rank, phases means over ranks.
STEP_TAGS = {"train_loss": "step/loss", "train_accuracy": "step/accuracy", "learning_rate": "step/learning_rate"}
PHASES = ("load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other")
EVENTS = "events.out.tfevents.*"
PACKAGE = "python3 -m venv venv && venv/bin/pip install tensorboard; then run this script with venv/bin/python"
REMEDY = "give the directory of a run of rueda train"
MOST = 10**15  # epochs or steps, far from where a double or an event's step cannot hold a whole number


def rows_of(path):
    """The rows of a CSV file, each a dictionary. A last one that a crash cut is left out."""
    with io.TextIOWrapper(open_regular(path), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        cut = None
        for row in reader:
            if cut:
                raise Unusable(f"{path}: line {cut} does not have a cell for each column; {REMEDY}")
            if None in row or None in row.values():
                cut = reader.line_num
            else:
                yield row, f"{path}: line {reader.line_num}"


def number(row, key, where):
    """None where the cell is empty."""
    try:
        return float(row[key]) if row[key] else None
    except KeyError:
        raise Unusable(f"{where.rpartition(':')[0]} has no column {key}; {REMEDY}") from None
    except ValueError:
        raise Unusable(f"{where}: {key} is no number; {REMEDY}") from None


def whole(row, key, where):
    value = number(row, key, where)
    if value is None or value != value // 1 or not 0 <= value <= MOST:
        raise Unusable(f"{where}: {key} is no whole number up to {MOST}; {REMEDY}")
    return int(value)


def begun_at(path):
    """Seconds since 1970 at which the run of a run.json began."""
    try:
        run = json.loads(read_regular(path))
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{path} is not JSON, perhaps cut off ({error}); {REMEDY}") from None
    if not isinstance(run, dict) or run.get("schema") != "rueda-run":
        raise Unusable(f"{path} is not the run.json of a run; {REMEDY}")
    try:
        began = datetime.fromisoformat(str(run.get("started_at")).replace("Z", "+00:00"))
        return (began if began.tzinfo else began.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        raise Unusable(f"{path}: started_at is no time; {REMEDY}") from None


def of_epoch(row, where):
    """{tag: value}."""
    values = {tag: number(row, key, where) for key, tag in EPOCH_TAGS.items()}
    values.update({tag: number(row, key, where) for key, tag in NOISE_TAGS.items() if key in row})
    values.update({f"epoch_phases/{phase}": number(row, f"{phase}_seconds", where) for phase in PHASES})
    return {tag: value for tag, value in values.items() if value is not None}


def of_step(ranks):
    """{tag: value} of the rows of a step, each with its place."""
    row, where = ranks[0]
    values = {tag: number(row, key, where) for key, tag in STEP_TAGS.items()}
    values["step/seconds"] = max(number(one, "seconds", place) or 0 for one, place in ranks)
    for phase in PHASES:
        values[f"step_phases/{phase}"] = sum(number(one, phase, place) or 0 for one, place in ranks) / len(ranks)
    return {tag: value for tag, value in values.items() if value is not None}


def steps_of(path):
    """[rows of the ranks] of each step, in order."""
    ranks, at = [], None
    for row, where in rows_of(path):
        step = (whole(row, "epoch", where), whole(row, "step", where))
        if step != at and ranks:
            yield ranks
            ranks = []
        ranks.append((row, where))
        at = step
    if ranks:
        yield ranks


def scalars(run_dir):
    """(seconds since 1970, step, {tag: value}): of each epoch by its number, of each step by its number in the run."""
    began = begun_at(run_dir / "run.json")
    clock = began
    for row, where in rows_of(run_dir / "epochs.csv"):
        clock += sum(number(row, key, where) or 0 for key in ("seconds", "val_seconds"))
        yield clock, whole(row, "epoch", where), of_epoch(row, where)
    steps = run_dir / "steps.csv"
    clock = began
    for count, ranks in enumerate(steps_of(steps) if steps.exists() else (), 1):
        values = of_step(ranks)
        clock += values["step/seconds"]
        yield clock, count, values


def prepare(folder, overwrite):
    """Makes the folder, without event files of earlier calls, and returns whose files it holds and what was removed.
    Those that this script is not known to have written are somebody else's."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Unusable(f"{folder} is no folder of its own; name another with --out")
    make_folder(folder)
    ownership = Ownership(folder)
    earlier = sorted(path.name for path in folder.glob(EVENTS))
    foreign = [name for name in earlier if not ownership.proven(name)]
    if foreign:
        raise Unusable(f"{folder} holds {foreign[0]}, which this script did not write: TensorBoard would "
                       "show both; name another folder with --out")
    if earlier and not overwrite:
        raise Unusable(f"{folder} holds {earlier[0]}: TensorBoard would show both; give --overwrite or another --out")
    return ownership, ownership.remove_others(())


def events_of(run_dir):
    """All events of a run, each as TensorBoard's package has it."""
    known = list(scalars(run_dir))
    if not known:
        raise Unusable(f"{run_dir} has no finished epoch yet; write again when it has one")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    def event(seconds, step, values):
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        return Event(wall_time=seconds, step=step, summary=summary)

    return [event(*one) for one in known]


def write(run_dir, folder, overwrite):
    """Returns the lines that tell so. All input is read before anything is written."""
    events = events_of(run_dir)
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    ownership, removed = prepare(folder, overwrite)
    writer = EventFileWriter(str(folder))
    for event in events:
        writer.add_event(event)
    writer.close()
    ownership.write({path.name: read_regular(path) for path in folder.glob(EVENTS)})
    lines = [f"Removed {folder / name}" for name in removed]
    return [*lines, f"Written to {folder}: {len(events)} epochs and steps. Show them: tensorboard --logdir {folder}"]


def command_line(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], prog="to_tensorboard")
    parser.add_argument("run_dir", metavar="RUN_DIR", type=Path, help="of a run of rueda train")
    parser.add_argument("--out", metavar="DIR", type=Path, help="where the event file is written [RUN_DIR/tensorboard]")
    parser.add_argument("--overwrite", action="store_true", help="replaces the event files there")
    options = parser.parse_args(words)
    options.out = options.out or options.run_dir / "tensorboard"
    return options


def converted(options):
    """The lines that tell what was written. Whatever goes wrong is Unusable."""
    try:
        return write(options.run_dir, options.out, options.overwrite)
    except ImportError as error:
        raise Unusable(f"needs Python's package tensorboard ({error}): {PACKAGE}") from None
    except OSError as error:
        raise Unusable(f"{error.filename or options.out}: {error.strerror}; {REMEDY}") from None
    except UnicodeDecodeError as error:
        raise Unusable(f"{options.run_dir}: a file is not text ({error.reason}); {REMEDY}") from None
    except csv.Error as error:
        raise Unusable(str(error)) from None
    except (ValueError, OverflowError) as error:
        raise Unusable(f"{options.run_dir}: TensorBoard's package takes not all of it ({error}); {REMEDY}") from None


def main():
    try:
        try:
            for line in converted(command_line(sys.argv[1:])):
                print(start.printable(line))
        finally:
            if sys.stdout:  # none where it was closed
                sys.stdout.flush()
        return
    except Unusable as error:
        reason = error
    except OSError as error:
        reason = f"the output: {error.strerror}"
    start.end("to_tensorboard", reason, 2)


if __name__ == "__main__":
    main()
