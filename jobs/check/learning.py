#!/usr/bin/env python3
"""Trains ResNet-20 on real images with one global batch after another, each by the best learning rate of one grid, and
compares the images that each needs to a training loss or test accuracy with what a single run's gradient noise scale
predicts.

docs/results/learning.md has the result; after --write run jobs/site/pictures.py. Every training leaves its result in a
folder below --out. What is there is not trained again, so a call that was interrupted, or that --minutes ended, goes on
where it stopped. All batches are made of micro-batches of 32 images, so batch norm is the same for all, as it is for
ranks of 32 images each.
"""

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from math import ceil, log2
from pathlib import Path

from learning_figures import examples_to, noise_by_steps
from learning_report import COLUMNS, as_markdown, rows
from trainings import LIMIT, UsageError, check_inputs, draw, end_of, figures_of, numbers, steps_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "results" / "learning.md"
PICTURE = ROOT / "docs" / "pictures" / "learning.png"
BEGIN, END = "<!-- figures of jobs/check/learning.py -->", "<!-- end -->"
MICRO = 32
# By the names of rueda's options.
RECIPE = {
    "model": "resnet20", "batch-per-rank": MICRO, "momentum": 0.9, "weight-decay": 1e-4, "augment": "none",
    "normalize": "cifar10", "lr-schedule": "constant", "scale-lr": "none", "last-batch": "drop", "precision": "fp32",
}  # fmt: skip
OLDER = {"optimizer": "sgd", "label-smoothing": 0}  # of versions that do not know these options
RATES = tuple(0.0125 * 2**i for i in range(14))
FIRST = {"sgd": 0.1, "lars": 6.4}
"""Where the search for the rate of a large batch begins, by optimizer: LARS multiplies rates by some hundredths."""
GOALS = (
    ("loss", 1.0), ("loss", 0.6), ("loss", 0.5), ("loss", 0.4), ("accuracy", 0.8), ("accuracy", 0.82),
    ("accuracy", 0.84),
)  # fmt: skip
MAIN_GOAL = GOALS[3]
"""Rates are compared by the main goal, and a training ends once it has been reached. Smoothed labels change the
training loss itself, so only accuracies compare them with others."""
SMOOTHED_GOALS = tuple(goal for goal in GOALS if goal[0] == "accuracy")
PATIENCE = 1.3  # a rate is given up at so many times the images of the best one, and a goal at so many of the main goal


class Training:
    """One batch with one rate and seed: its files and its command."""

    def __init__(self, arguments, batch, rate, seed, predicts=False):
        self.arguments, self.batch, self.rate, self.seed, self.predicts = arguments, batch, rate, seed, predicts
        self.folder = Path(arguments.out, f"batch-{batch}", f"rate-{rate:g}-seed-{seed}")

    def settings(self):
        return {
            **RECIPE, "optimizer": self.arguments.optimizer, "label-smoothing": self.arguments.label_smoothing,
            "lr": self.rate, "seed": self.seed, "accumulate": self.batch // MICRO,
            "image-size": self.arguments.image_size, "data-limit": self.arguments.data_limit,
            "eval-every": max(1, self.batch // 512),
        }  # fmt: skip

    def command(self, epochs):
        options = {
            **self.settings(), "epochs": epochs, "data": self.arguments.data, "backend": "cpu",
            "threads": self.arguments.threads, "progress": "off", "save-weights": "none", "stall-seconds": 0,
            "run-dir": self.folder,
        }  # fmt: skip
        if self.arguments.noise_scale:
            options["noise-scale"] = self.arguments.noise_scale
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return [str(Path(self.arguments.binary).resolve()), "train", *words, "--overwrite"]

    def read(self):
        """Losses, evaluations, noise by epoch and outcome, so far; None if nothing is there. Throws where the result
        is damaged or comes from other settings."""
        file = self.folder / "run.json"
        if not file.is_file():
            return None
        found = figures_of(file, self.parse_report, self.folder)
        if wrong := found.pop("wrong"):
            raise UsageError(f"{file} comes from other settings ({wrong}): give another --out")
        return {**found, **figures_of(file.with_name("steps.csv"), self.parse_steps, self.folder)}

    def parse_report(self, text):
        """Of run.json; `wrong` has settings that are not this training's."""
        report = json.loads(text)
        config = {**OLDER, **report["config"]}
        wrong = {name: config.get(name) for name, value in self.settings().items() if config.get(name) != value}
        return {"batch": self.batch, "outcome": report["outcome"], "wrong": wrong, **self.epochs_of(report["epochs"])}

    def parse_steps(self, text):
        rows_, losses = steps_of(text)
        return {"losses": losses, "blocks": noise_by_steps(rows_, self.arguments.data_limit)}

    def epochs_of(self, epochs):
        images, evaluations, noise = 0, [], []
        for epoch in epochs:
            images += epoch["samples"]
            if epoch.get("val_accuracy") is not None:
                evaluations.append((images, float(epoch["val_accuracy"])))
            noise.append((images, epoch.get("gradient_noise")))
        return {"images": images, "evaluations": evaluations, "noise": noise}

    def is_over(self, found):
        """Whether nothing more is to be learnt from it: the goal was reached, or its last epoch ended, or it failed.
        A run that is to predict has measured its noise."""
        if not found or (self.predicts and not any(of for _, of in found["noise"])):
            return False
        needed = examples_to(found, self.arguments.main_goal)
        enough = needed is not None and all(examples_to(found, goal) is not None for goal in self.arguments.goals)
        return (enough or (needed and found["images"] >= PATIENCE * needed)
                or found["outcome"] in ("completed", "failed"))

    def run(self, most):
        """Until the goals are reached, or for so many images. Returns what `read` does, or None if time was up."""
        found = self.read()
        if self.is_over(found):
            return found
        if time.monotonic() > self.arguments.deadline:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        self.train(ceil(most / self.arguments.data_limit))
        found = self.read()
        needed = found and examples_to(found, self.arguments.main_goal)
        print(f"learning: batch {self.batch}, rate {self.rate:g}, seed {self.seed}: "
              f"{needed or 'not reached'} after {time.monotonic() - begin:.0f} s", file=sys.stderr)  # fmt: skip
        return found

    def train(self, epochs):
        """Asks the training to stop as soon as its files have all that is wanted. Throws if it fails or takes LIMIT."""
        end = time.monotonic() + LIMIT
        one_pool = {**os.environ, "OMP_NUM_THREADS": str(self.arguments.threads)}
        with open(f"{self.folder}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(self.command(epochs), env=one_pool, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log)
            try:
                while process.poll() is None:
                    time.sleep(1)
                    if time.monotonic() > end:
                        raise RuntimeError(f"{self.folder} did not end within {LIMIT / 3600:g} hours: {log.name}")
                    if self.is_new() and self.is_over(self.read()):
                        process.send_signal(signal.SIGTERM)
                        process.wait(600)
            except BaseException:
                process.kill()
                raise
        if process.returncode not in (0, -signal.SIGTERM) and not self.is_over(self.read()):
            raise RuntimeError(f"{self.folder} ended with exit code {process.returncode}: {log.name} says why")

    def is_new(self):
        """Whether an epoch has ended since the last call."""
        try:
            changed = self.folder.joinpath("steps.csv").stat().st_mtime_ns
        except OSError:
            return False
        new = changed != getattr(self, "changed", None)
        self.changed = changed
        return new


def first_rate(batch, optimizer):
    """The place in RATES where a search begins: in proportion to small batches, constant for large ones."""
    return min(range(len(RATES)), key=lambda i: abs(log2(RATES[i] * (1 + 64 / batch) / FIRST[optimizer])))


def search(arguments, batch):
    """The best rate of a batch, both neighbours of which were tried; None if time was up or none reached the goal."""
    needed = {}

    def attempt(place):
        known = [images for images in needed.values() if images]
        most = PATIENCE * min(known) if known else 30_000 + 100 * batch
        found = Training(arguments, batch, RATES[place], arguments.seeds[0]).run(most)
        if found:
            needed[place] = examples_to(found, arguments.main_goal)
        return bool(found)

    best = first_rate(batch, arguments.optimizer)
    if not attempt(best):
        return None
    while True:
        beside = [place for place in (best + 1, best - 1) if 0 <= place < len(RATES) and place not in needed]
        if not beside:
            return RATES[best] if needed[best] else None
        if not attempt(beside[0]):
            return None
        best = min(needed, key=lambda place: needed[place] or float("inf"))


def train_all(arguments):
    """The best rate of each batch, or None where time was up."""
    with ThreadPoolExecutor(arguments.jobs) as pool:
        searches = {batch: pool.submit(search, arguments, batch) for batch in arguments.batches}

        def repeat(batch, seed):
            rate = searches[batch].result()
            if rate:
                first = examples_to(Training(arguments, batch, rate, arguments.seeds[0]).read(), arguments.main_goal)
                predicts = batch == arguments.base and arguments.noise_scale > 0
                Training(arguments, batch, rate, seed, predicts).run(2 * first)

        repeats = [pool.submit(repeat, batch, seed) for seed in arguments.seeds for batch in arguments.batches]
        try:
            for future in [*searches.values(), *repeats]:
                future.result()
        except BaseException:
            arguments.deadline = 0
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {batch: future.result() for batch, future in searches.items()}


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--binary", default="build/rueda", help="rueda [%(default)s]")
    parser.add_argument("--data", default="data/fashion-mnist", metavar="DIR",
                        help="images in CIFAR-10's binary layout, as jobs/data.sh makes them "
                             "[%(default)s]")  # fmt: skip
    parser.add_argument("--out", default="runs/learning", metavar="DIR", help="results [%(default)s]")
    parser.add_argument("--batches", default="32,64,128,256,512,1024,2048,4096", metavar="LIST", help="[%(default)s]")
    parser.add_argument("--base", type=int, default=128, metavar="B", help="the run that predicts [%(default)s]")
    parser.add_argument("--seeds", default="1,2,3", metavar="LIST", help="the first one for the rates [%(default)s]")
    parser.add_argument("--optimizer", choices=FIRST, default="sgd", help="[%(default)s]")
    parser.add_argument("--label-smoothing", type=float, default=0, metavar="X",
                        help="as rueda's; goals are accuracies")
    parser.add_argument("--image-size", type=int, default=32, help="[%(default)s]")
    parser.add_argument("--data-limit", type=int, default=12288, metavar="N", help="training images [%(default)s]")
    parser.add_argument("--noise-scale", type=int, default=1, metavar="N", help="as rueda's; 0: not measured [1]")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at the same time [%(default)s]")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of a training [%(default)s]")
    parser.add_argument("--write", action="store_true", help="put table, picture and figures into docs")
    parser.add_argument("--minutes", type=float, default=1e6, metavar="M", help="begin no training after them")
    arguments = parser.parse_args(words)
    smoothed = arguments.label_smoothing > 0
    arguments.goals = SMOOTHED_GOALS if smoothed else GOALS
    arguments.main_goal = SMOOTHED_GOALS[-1] if smoothed else MAIN_GOAL
    return arguments


def check(arguments):
    """Settles the lists. Throws if something is missing or cannot be."""
    arguments.batches, arguments.seeds = numbers("--batches", arguments.batches, 1), numbers("--seeds", arguments.seeds)
    if any(batch % MICRO or batch > arguments.data_limit for batch in arguments.batches):
        raise UsageError(f"--batches are multiples of {MICRO}, at most --data-limit")
    if min(arguments.jobs, arguments.threads, arguments.noise_scale + 1) < 1:
        raise UsageError("--jobs and --threads begin at 1, --noise-scale at 0")
    if not 0 <= arguments.label_smoothing < 1:
        raise UsageError("--label-smoothing is at least 0 and below 1")
    if arguments.write and (arguments.label_smoothing or arguments.optimizer != "sgd"):
        raise UsageError("--write fills in the figures of plain SGD: leave it out")
    check_inputs(arguments, "jobs/data.sh fashion-mnist")
    arguments.deadline = time.monotonic() + 60 * arguments.minutes


def collect(arguments, rates):
    """What the report takes: of each batch whose best rate is known, its trainings."""
    batches = {}
    for batch, rate in rates.items():
        found = {seed: Training(arguments, batch, rate, seed).read() for seed in arguments.seeds} if rate else {}
        if any(found.values()):
            batches[batch] = {"rate": rate, "seeds": {seed: one for seed, one in found.items() if one}}
    return batches


def write(arguments, batches, text):
    """The table, the picture and the figures of the page in docs."""
    lines = rows(batches, arguments.base, arguments.goals)
    with open(PAGE.with_suffix(".csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for line in lines:
            writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in line])
    draw("learning_plot.py", {"base": arguments.base, "rows": lines}, PICTURE)
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise UsageError(f"{PAGE} has no place for figures between {BEGIN} and {END}")
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def run(arguments):
    check(arguments)
    rates = train_all(arguments)
    batches = collect(arguments, rates)
    text = as_markdown(batches, arguments.base, arguments.goals, arguments.main_goal)
    print(text)
    if arguments.write:
        write(arguments, batches, text)


if __name__ == "__main__":
    sys.exit(end_of("learning", lambda: run(parse_arguments(sys.argv[1:]))))
