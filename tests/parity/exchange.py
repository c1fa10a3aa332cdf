"""Weights from rueda into a framework and back: what both directions share.

A framework gives a model with three functions: load(path), save(path), and loss(images, labels,
training), the mean cross entropy, which in training mode also updates the running statistics.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TRAINED = 32  # images: one step
TOLERANCE = 1e-5  # of a loss; both sides compute in float32
OPTIONS = ["--data", "data", "--epochs", "1", "--data-limit", str(TRAINED), "--batch-per-rank"]
OPTIONS += [str(TRAINED), "--shuffle", "off", "--scale-lr", "none", "--lr-schedule", "constant"]


def read_images(path, count):
    """Pixels / 255 as (N, 3, 32, 32) and labels of a file of CIFAR-10's binary version."""
    rows = np.fromfile(path, np.uint8).reshape(-1, 3073)[:count]
    return rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255, rows[:, 0].astype(np.int64)


def differs(what, ours, theirs):
    error = abs(ours / theirs - 1)
    print(f"{what}: rueda {ours:.8f}, framework {theirs:.8f}, relative difference {error:.1e}")
    return not error <= TOLERANCE


def exchange(binary, model, normalize, make):
    """Both directions for one network; `make()` gives a fresh model. Whether anything differs."""
    rueda = Path(binary).resolve()
    with tempfile.TemporaryDirectory() as folder:

        def run(*words):
            subprocess.run([rueda, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)

        def train(run_dir, *words):
            fixed = ["--model", model, "--normalize", normalize, "--run-dir", run_dir, *OPTIONS]
            run("train", *fixed, "--progress", "off", *words)
            epoch = json.loads((Path(folder) / run_dir / "run.json").read_text("utf-8"))["epochs"][0]
            return epoch["loss"], epoch["val_loss"]

        # Five files of as many images: the first holds all that are trained on.
        made = ["--train", str(5 * TRAINED), "--test", "128"]
        run("synth", "--out", "data", "--format", "bin", *made)
        test = read_images(Path(folder) / "data/test_batch.bin", None)
        first = read_images(Path(folder) / "data/data_batch_1.bin", TRAINED)

        _, ours = train("out", "--lr", "0.01", "--save-weights", "out.safetensors")
        taken = make()
        taken.load(Path(folder) / "out.safetensors")
        wrong = differs(f"{model} from rueda, test loss", ours, taken.loss(*test, False))

        given = make()
        given.save(Path(folder) / "in.safetensors")
        # A step too small to change a weight: what remains is the update of the running statistics.
        ours = train("in", "--lr", "1e-30", "--init-weights", "in.safetensors")
        theirs = (given.loss(*first, True), given.loss(*test, False))
        for what, a, b in zip(("training loss", "test loss behind it"), ours, theirs):
            wrong = differs(f"{model} into rueda, {what}", a, b) or wrong
    return wrong


def main(model, normalize, make):
    wrong = exchange(sys.argv[1], model, normalize, make)
    print(f"weights of {model}: {'different' if wrong else 'equal both ways'}")
    sys.exit(1 if wrong else 0)
