#!/usr/bin/env python3
"""Times steps with equal parts of the batch and with --balance speed, in turn, on ranks that are not equally fast and
on some that are. Prints a table in Markdown: docs/results/cpu.md has it.

    jobs/env.sh jobs/check/balance.py [--binary build/rueda] [--rounds 3] [--cases timed,competitor,alike]

Nothing else should run: a case competes for a core on purpose, and for one only. Takes 5 minutes.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median

TIMED = ["--backend", "timed", "--compute", "200", "--batch-per-rank", "64", "--epochs", "3", "--data-limit", "4608"]
CPU = ["--model", "resnet20", "--batch-per-rank", "64", "--threads", "1", "--eval-every", "0", "--save-weights", "none"]
# Name, ranks, what it is, options, whether a program competes for the core of the last rank.
CASES = {
    "timed": (8, "8 ranks that wait, two of them 30 % longer",
              [*TIMED, "--compute", "ms=200,factors=1:1:1:1:1:1:1.3:1.3"], False),
    "competitor": (2, "2 CPU ranks, a program competes for the core of one",
                   [*CPU, "--epochs", "3", "--data-limit", "2560"], True),
    "alike": (2, "2 CPU ranks that are alike", [*CPU, "--epochs", "6", "--data-limit", "2560"], False),
}  # fmt: skip


@contextmanager
def competitor(wanted):
    """A program that wants the second core all the time."""
    if not wanted:
        yield
        return
    core = sorted(os.sched_getaffinity(0))[1]
    busy = subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def train(binary, ranks, words, balance, folder):
    """The rows of steps.csv of the full steps after the first epoch, and run.json."""
    run_dir = folder / balance
    shutil.rmtree(run_dir, ignore_errors=True)
    bind = ["--bind-to", "core", "--map-by", "core"] if "timed" not in words else ["--oversubscribe"]
    command = ["mpirun", *bind, "-n", str(ranks), binary, "train", *words, "--balance", balance]
    subprocess.run([*command, "--run-dir", str(run_dir), "--progress", "off"], check=True, stdout=subprocess.DEVNULL,
                   timeout=1800)  # fmt: skip
    record = json.loads((run_dir / "run.json").read_text(encoding="utf-8"))
    with open(run_dir / "steps.csv", encoding="ascii", newline="") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    full = [row for row in rows if row["epoch"] > 1 and row["global_samples"] == record["batch"]["global"]]
    return full, record


def step_seconds(rows):
    """The median over steps of the slowest rank's time."""
    slowest = {}
    for row in rows:
        key = (row["epoch"], row["step"])
        slowest[key] = max(slowest.get(key, 0), row["seconds"])
    return median(slowest.values())


def ideal_seconds(rows):
    """If all ranks computed all the time: the images by the sum of their speeds, and a mean rank's other work."""
    speed, other = 0, []
    for rank in sorted({row["rank"] for row in rows}):
        own = [row for row in rows if row["rank"] == rank]
        fixed = median(row["optimizer"] + row["other"] for row in own)
        by_images = median((row["seconds"] - row["all_reduce"] - fixed) / row["samples"] for row in own)
        speed += 1 / by_images
        other.append(fixed)
    return rows[0]["global_samples"] / speed + fmean(other)


def changes(record):
    """How often an epoch had other parts than the one before."""
    batches = [epoch["batch_per_rank"] for epoch in record["epochs"]]
    return sum(one != other for one, other in zip(batches, batches[1:]))


def measure(name, options, folder):
    ranks, what, words, competes = CASES[name]
    steps, ideals, parts, changed = {"equal": [], "speed": []}, [], [], []
    with competitor(competes):
        for _ in range(options.rounds):
            for balance, seconds in steps.items():
                rows, record = train(options.binary, ranks, words, balance, folder)
                seconds.append(step_seconds(rows))
                if balance == "equal":
                    ideals.append(ideal_seconds(rows))
                else:
                    parts.append(record["epochs"][-1]["batch_per_rank"])
                    changed.append(changes(record))
    equal, speed, ideal = (1e3 * median(some) for some in (*steps.values(), ideals))
    cells = [what, f"{equal:.1f}", f"{speed:.1f}", f"{ideal:.1f}", f"{equal / ideal:.2f}", f"{speed / ideal:.2f}"]
    cells += ["; ".join(", ".join(map(str, part)) for part in parts), ", ".join(map(str, changed))]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/rueda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    if not Path(options.binary).is_file():
        parser.error(f"{options.binary} is not there: run jobs/setup.sh, or give --binary")
    names = options.cases.split(",")
    if unknown := set(names) - set(CASES):
        parser.error(f"--cases: {', '.join(sorted(unknown))} is not one of {', '.join(CASES)}")
    if "competitor" in names and len(os.sched_getaffinity(0)) < 2:
        parser.error("--cases: competitor needs two cores, and this process may use one: leave it out")
    print("| ranks | equal, ms | speed, ms | ideal, ms | equal / ideal | speed / ideal | images per rank at last, by "
          "round | changes |\n|---|---:|---:|---:|---:|---:|---|---|")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in names:
                print(measure(name, options, Path(folder)), flush=True)
        except subprocess.CalledProcessError as error:
            sys.exit(f"balance: {options.binary} ended with {error.returncode}; its message stands above")
        except subprocess.TimeoutExpired as error:
            sys.exit(f"balance: {options.binary} did not end within {error.timeout} s")


if __name__ == "__main__":
    main()
