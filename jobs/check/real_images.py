#!/usr/bin/env python3
"""Trains ResNet-20 on real images with rueda on 1 and 2 ranks and with PyTorch, from the same weights, by the same
recipe and in the same order of the images, once for each seed. Prints the test accuracies and draws the curves.

Run it by jobs/check/real_images.sh; docs/results/real-images.md has the result. Every training leaves its result in a
file below --out. What is there is not trained again, so a call that was interrupted goes on where it stopped.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from real_images_report import as_markdown

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "bench"))

from frameworks import UsageError, check_binary, python_of  # noqa: E402

# By the names of rueda's options.
RECIPE = {
    "model": "resnet20", "global-batch": 128, "lr": 0.1, "momentum": 0.9, "weight-decay": 1e-4, "augment": "none",
    "normalize": "cifar10", "lr-schedule": "cosine", "scale-lr": "none", "precision": "fp32",
}  # fmt: skip
RANKS = {"rueda-1": 1, "rueda-2": 2}
CONTESTANTS = (*RANKS, "torch")
# A rank may wait long for one that other programs keep from its core.
PATIENT = ("--stall-seconds", "600")
LIMIT = 12 * 3600  # seconds of a training, many times what one takes


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
        try:
            report = json.loads(self.result.read_text(encoding="utf-8"))
            if self.contestant != "torch" and report["outcome"] != "completed":
                return None
            settings, wanted = self.settings_of(report), self.settings()
            accuracies = [float(one["val_accuracy"]) for one in report["epochs"]]
            found = {"accuracies": accuracies, "losses": self.losses_of(report), "versions": dict(report["versions"])}
        except (ValueError, LookupError, TypeError) as error:
            raise UsageError(f"{self.result} is damaged ({error!r}): remove it, and it is trained again") from None
        for name, value in wanted.items():
            if settings.get(name) != value:
                raise UsageError(
                    f"{self.result} comes from {name} {settings.get(name)}, this call has {value}: give another --out"
                )
        return found

    def settings(self):
        return {**self.recipe, "seed": self.seed, "data-limit": self.arguments.data_limit}

    def settings_of(self, report):
        if self.contestant == "torch":
            task = report["task"]
            return {**task["recipe"], "seed": task["seed"], "data-limit": task["limit"]}
        return report["config"]

    def losses_of(self, report):
        """Of every step of the training, over all ranks."""
        if self.contestant == "torch":
            return [float(loss) for one in report["epochs"] for loss in one["losses"]]
        with open(self.result.with_name("steps.csv"), encoding="utf-8", newline="") as file:
            return [float(line["train_loss"]) for line in csv.DictReader(file) if line["rank"] == "0"]

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
                words, env={**os.environ, **one_thread}, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False,
                timeout=LIMIT,
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
    seeds = arguments.seeds.split(",")
    if not all(seed.isascii() and seed.isdecimal() and len(seed) < 10 for seed in seeds):
        raise UsageError(f"--seeds '{arguments.seeds}' is not a list of numbers, as 1,2,3")
    if min(arguments.epochs, arguments.jobs, arguments.data_limit + 1) < 1:
        raise UsageError("--epochs and --jobs begin at 1, --data-limit at 0")
    check_binary(arguments.binary)
    if not Path(arguments.data, "test_batch.bin").is_file():
        raise UsageError(f"{arguments.data} holds no test_batch.bin: call jobs/check/real_images.sh, or give --data")
    if python_of("torch") is None:
        raise UsageError("no Python has PyTorch: call jobs/check/real_images.sh, or set RUEDA_TORCH_PYTHON to one")
    return list(dict.fromkeys(map(int, seeds)))


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


def plot(results, picture):
    drawn = [{"contestant": contestant, **one} for (_, contestant), one in results.items()]
    words = [sys.executable, str(HERE / "real_images_plot.py"), picture]
    if subprocess.run(words, input=json.dumps(drawn), text=True, timeout=600, check=False).returncode:
        raise UsageError(f"{picture} was not drawn, see above; the results stay, so the same call only draws")


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
        plot(results, arguments.plot)


def main():
    try:
        run(parse_arguments(sys.argv[1:]))
    except (UsageError, OSError) as error:
        print(f"real_images: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"real_images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
