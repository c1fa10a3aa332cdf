#!/usr/bin/env python3
"""Runs one training with resident input and with streamed input and compares the two.

usage: jobs/check/compare_input.py [--out DIR] -- COMMAND...

COMMAND is a `rueda train` with its launcher, without --input and --run-dir, for example

  jobs/check/compare_input.py -- mpirun -n 2 build/rueda train --epochs 3

The runs go to DIR/resident and DIR/stream [runs/compare-input]. Times are in milliseconds, means over the
full steps of the steady epochs and over ranks (docs/metrics.md).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

MODES = ("resident", "stream")
ENVIRONMENT = Path(__file__).resolve().parents[1] / "env.sh"  # root, and more ranks than cores
PHASES = ("load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other")


def train(command, mode, folder):
    """The run.json of a run in one of the modes. If the run fails, ends with its exit code."""
    words = [str(ENVIRONMENT), *command, "--input", mode, "--run-dir", str(folder), "--overwrite"]
    code = subprocess.run(words, stdout=sys.stderr, check=False).returncode
    if code != 0:
        sys.exit(code)
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def milliseconds(value):
    return "-" if value is None else f"{1e3 * value:.3f}"


def column(run):
    """One run's cells, by the name of their row."""
    summary = run["summary"]
    step = summary["steady_full_step"] or {}
    busy = summary["steady_input"]
    rate = summary["steady_images_per_second"]
    cells = {"input": run["input"]["mode"], "images/s": "-" if rate is None else f"{rate:.1f}"}
    cells["step ms"] = milliseconds(step.get("seconds", {}).get("mean"))
    for phase in PHASES:
        cells[f"  {phase}"] = milliseconds(step.get("phases", {}).get(phase, {}).get("mean"))
    cells["preparing (busy)"] = milliseconds(busy["prepare_busy"]["mean"])
    cells["copying (busy)"] = milliseconds(busy["copy_busy"]["mean"])
    return cells


def hashes(run):
    return [epoch["parameter_hash"] for epoch in run["epochs"]]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--out", default="runs/compare-input")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    runs = [train(options.command, mode, Path(options.out, mode)) for mode in MODES]
    columns = [column(run) for run in runs]
    for name in columns[0]:
        print(f"{name:<18}" + "".join(f"{cells[name]:>14}" for cells in columns))
    same = hashes(runs[0]) == hashes(runs[1])
    print("same bits after every epoch" if same else "the networks differ")


if __name__ == "__main__":
    main()
