#!/usr/bin/env python3
"""Trains the benchmark's steps with rueda; prints seconds and losses of the steps as JSON. Without ranks it
runs the convolutions alone.

usage: rueda_worker.py TASK    (JSON, from frameworks.py)
"""

import csv
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path


def command(task, run_dir):
    """As many epochs as there are passes, of full batches, and nothing else."""
    options = {
        "model": task["model"], "image-size": task["image_size"], "precision": task["precision"],
        "data": task["data"], "data-limit": task["batches"] * task["batch"], "shuffle": "off",
        "global-batch": task["batch"], "epochs": task["passes"], "lr": task["lr"], "momentum": task["momentum"],
        "weight-decay": 0, "scale-lr": "none", "lr-schedule": "constant", "backend": "cpu",
        "threads": task["threads"] // task["ranks"], "check-replicas": "off", "eval-every": 0,
        "progress": "off", "run-dir": run_dir,
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    launcher = [task["mpiexec"], "--bind-to", "none", "-n", str(task["ranks"])]
    return [*launcher, task["binary"], "train", *words]


def run(words):
    """Ends this process with rueda's own message if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        own = [line for line in done.stderr.splitlines() if line.startswith("rueda: ")]
        sys.exit(own[0] if own else done.stderr)


def time_convolutions(task, folder):
    """The sum over all convolutions as the only step, and the FLOP of an image."""
    file = Path(folder, "layers.json")
    run([
        task["binary"], "bench", "layers", "--model", task["model"], "--image-size", str(task["image_size"]),
        "--batch-per-rank", str(task["batch"]), "--precision", task["precision"],
        "--threads", str(task["threads"]), "--repetitions", "3", "--json", str(file),
    ])  # fmt: skip
    report = json.loads(file.read_text("utf-8"))
    step = report["step"][0]
    flop = 1e9 * step["gflops_per_core"] * task["threads"] / step["images_per_second"]
    return {"step_seconds": [step["convolution_seconds"]], "losses": [], "flop_per_image": flop}


def read_steps(file):
    """Seconds of the slowest rank and loss of all, by step."""
    seconds, losses = {}, {}
    with open(file, encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            step = (int(row["epoch"]), int(row["step"]))
            seconds[step] = max(seconds.get(step, 0.0), float(row["seconds"]))
            losses[step] = float(row["train_loss"])
    return [seconds[step] for step in sorted(seconds)], [losses[step] for step in sorted(losses)]


def time_training(task, folder):
    run(command(task, folder + "/run"))
    seconds, losses = read_steps(Path(folder, "run", "steps.csv"))
    versions = json.loads(Path(folder, "run", "run.json").read_text("utf-8"))["versions"]
    # Of the largest process below this one: no rank had more.
    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * task["ranks"]
    return {"step_seconds": seconds, "losses": losses, "versions": versions, "peak_bytes": peak}


def main():
    task = json.loads(sys.argv[1])
    if task["threads"] % (task["ranks"] or 1):
        sys.exit(f"{task['threads']} cores can not be shared evenly by {task['ranks']} ranks")
    with tempfile.TemporaryDirectory(prefix="rueda-bench-run-") as folder:
        print(json.dumps((time_training if task["ranks"] else time_convolutions)(task, folder)))


if __name__ == "__main__":
    main()
