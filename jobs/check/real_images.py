#!/usr/bin/env python3
"""Trains ResNet-20 on real images with rueda on 1 and 2 ranks and with PyTorch, from the same weights, by the same
recipe and in the same order of the images, once for each seed. Prints the test accuracies and draws the curves.

Run it by jobs/check/real_images.sh; docs/results/cpu.md has the result. Every training leaves its result in a
file below --out. What is there is not trained again, so a call that was interrupted goes on where it stopped.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from real_images_report import as_markdown
from trainings import LIMIT, UsageError, check_inputs, draw, end_of, figures_of, numbers, steps_of
from frameworks import python_of  # of tests/bench, where `trainings` looks, too

HERE = Path(__file__).resolve().parent

# By the names of rueda's options.
RECIPE = {
    "model": "resnet20", "global-batch": 128, "lr": 0.1, "momentum": 0.9, "weight-decay": 1e-4, "augment": "none",
    "normalize": "cifar10", "lr-schedule": "cosine", "scale-lr": "none", "precision": "fp32",
}  # fmt: skip
RANKS = {"rueda-1": 1, "rueda-2": 2}
CONTESTANTS = (*RANKS, "torch")
# A rank may wait long for one that other programs keep from its core.
PATIENT = ("--stall-seconds", "600")


class Training:
    """One contestant with one seed: its files and its command."""

    def __init__(self, arguments, recipe, seed, contestant):
        self.arguments, self.recipe, self.seed, self.contestant = arguments, recipe, seed, contestant
        self.folder = Path(arguments.out, f"seed-{seed}")
        self.start = self.folder / "start.safetensors"
        self.log = self.folder / f"{contestant}.log"
        file = f"{contestant}.json" if contestant == "torch" else f"{contestant}/run.json"
        self.result = self.folder / file

    def command(self):
        if self.contestant == "torch":
            task = {"data": self.arguments.data, "weights": str(self.start), "result": str(self.result)}
            task |= {"recipe": self.recipe, "seed": self.seed, "limit": self.arguments.data_limit}
            return [python_of("torch"), str(HERE / "real_images_torch.py"), json.dumps(task)]
        launcher = ["mpiexec", "--bind-to", "none", "-n", str(RANKS[self.contestant])]
        return [
            *launcher, *rueda(self.arguments, self.recipe, self.seed), "--init-weights", str(self.start),
            "--data-limit", str(self.arguments.data_limit), "--save-weights", "none", *PATIENT,
            "--run-dir", str(self.result.parent), "--overwrite",
        ]  # fmt: skip

    def read(self):
        """What the result says, or None if there is none yet. Throws if it comes from another recipe."""
        if not self.result.is_file():
            return None
        found = figures_of(self.result, self.parse, "it")
        if found is None:
            return None
        settings = found.pop("settings")
        for name, value in self.settings().items():
            if settings.get(name) != value:
                raise UsageError(
                    f"{self.result} comes from {name} {settings.get(name)}, this call has {value}: give another --out"
                )
        if self.contestant != "torch":
            found["losses"] = figures_of(self.result.with_name("steps.csv"), steps_of, self.result)[1]
        return found

    def parse(self, text):
        """Of a result. None if the training did not come to its end."""
        report = json.loads(text)
        epochs = report["epochs"]
        found = {"accuracies": [float(one["val_accuracy"]) for one in epochs], "versions": dict(report["versions"])}
        if self.contestant == "torch":
            task = report["task"]
            settings = {**task["recipe"], "seed": task["seed"], "data-limit": task["limit"]}
            return {**found, "settings": settings, "losses": [float(loss) for one in epochs for loss in one["losses"]]}
        return {**found, "settings": dict(report["config"])} if report["outcome"] == "completed" else None

    def settings(self):
        return {**self.recipe, "seed": self.seed, "data-limit": self.arguments.data_limit}

    def run(self):
        if self.read():
            return
        self.log.parent.mkdir(parents=True, exist_ok=True)
        run_logged(self.command(), self.log)
        print(f"real_images: seed {self.seed}, {self.contestant}: done", file=sys.stderr)


def rueda(arguments, recipe, seed):
    """The words of a training on one thread a rank, without where it begins and what it leaves."""
    options = {**recipe, "seed": seed, "data": arguments.data, "backend": "cpu", "threads": 1, "progress": "off"}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return [str(Path(arguments.binary).resolve()), "train", *words]


def run_logged(words, log):
    """Runs the words with one thread for every pool. All that they say goes to the log."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with open(log, "w", encoding="utf-8") as file:
        try:
            code = subprocess.run(
                words, env={**os.environ, **one_thread}, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                check=False, timeout=LIMIT,
            ).returncode
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{words[0]} did not end within {LIMIT // 3600} hours: {log}") from None
    if code:
        raise RuntimeError(f"{words[0]} ended with exit code {code}: {log} says why")


def make_start(arguments, recipe, seed):
    """Rueda's first weights, after a step that is too small to change one: only running statistics have moved."""
    folder = Path(arguments.out, f"seed-{seed}")
    file = folder / "start.safetensors"
    if file.is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    tiny = {**recipe, "epochs": 1, "lr": 1e-30}
    words = ["--data-limit", str(recipe["global-batch"]), "--shuffle", "off", "--eval-every", "0", "--overwrite"]
    words += ["--run-dir", str(folder / "start"), "--save-weights", str(file)]
    run_logged([*rueda(arguments, tiny, seed), *words], folder / "start.log")


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--binary", default="build/rueda", help="rueda [%(default)s]")
    parser.add_argument("--data", default="data/fashion-mnist", metavar="DIR",
                        help="images in CIFAR-10's binary layout [%(default)s]")  # fmt: skip
    parser.add_argument("--out", default="runs/real-images", metavar="DIR", help="results [%(default)s]")
    parser.add_argument("--seeds", default="1,2,3", metavar="LIST", help="[%(default)s]")
    parser.add_argument("--epochs", type=int, default=2, help="[%(default)s]")
    parser.add_argument("--augment", choices=("none", "standard"), default="none", help="[%(default)s]")
    parser.add_argument("--data-limit", type=int, default=0, metavar="N", help="training images, 0 for all [0]")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at the same time [%(default)s]")
    parser.add_argument("--plot", default="", metavar="FILE", help="also draws the curves (needs matplotlib)")
    return parser.parse_args(words)


def check(arguments):
    """The seeds, once all that a training needs is there."""
    seeds = numbers("--seeds", arguments.seeds)
    if min(arguments.epochs, arguments.jobs, arguments.data_limit + 1) < 1:
        raise UsageError("--epochs and --jobs begin at 1, --data-limit at 0")
    check_inputs(arguments, "jobs/check/real_images.sh")
    if python_of("torch") is None:
        raise UsageError("no Python has PyTorch: call jobs/check/real_images.sh, or set RUEDA_TORCH_PYTHON to one")
    return seeds


def train_all(trainings, jobs):
    """The missing ones, by seed; the first that fails ends the call when those beside it have ended."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(training.run) for training in trainings]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run(arguments):
    seeds = check(arguments)
    recipe = {**RECIPE, "epochs": arguments.epochs, "augment": arguments.augment}
    trainings = [Training(arguments, recipe, seed, name) for seed in seeds for name in CONTESTANTS]
    for training in trainings:
        training.read()  # refuses another recipe's results before anything is trained
    for seed in seeds:
        make_start(arguments, recipe, seed)
    train_all(trainings, arguments.jobs)
    results = {(one.seed, one.contestant): one.read() for one in trainings}
    print(as_markdown(results))
    if arguments.plot:
        drawn = [{"contestant": contestant, **one} for (_, contestant), one in results.items()]
        draw("real_images_plot.py", drawn, arguments.plot)


if __name__ == "__main__":
    sys.exit(end_of("real_images", lambda: run(parse_arguments(sys.argv[1:]))))
