"""Weights from rueda into PyTorch's ResNet-18 or Keras' ResNet50V2, and theirs into rueda.

usage: exchange.py RUEDA torch|keras
"""

import json
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import numpy as np

TRAINED = 32  # images: one step
TOLERANCE = 1e-5  # of a loss; both sides compute in float32
# load(path), save(path), and loss(images, labels, training), the mean cross entropy, which in training mode also
# updates the running statistics.
Model = namedtuple("Model", "load save loss")
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
        for what, a, b in zip(("training loss", "test loss after it"), ours, theirs):
            wrong = differs(f"{model} into rueda, {what}", a, b) or wrong
    return wrong


def torch_resnet18():
    import torch
    import torch_models
    from safetensors.torch import load_file, save_file
    from torch.nn import functional

    torch.manual_seed(4)
    net = torch_models.build("resnet18")

    def loss(images, labels, training):
        mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
        deviation = torch.tensor([0.2023, 0.1994, 0.2010]).view(1, 3, 1, 1)
        net.train(training)
        with torch.no_grad():
            logits = net((torch.from_numpy(images) - mean) / deviation)
        return functional.cross_entropy(logits, torch.from_numpy(labels)).item()

    return Model(lambda path: net.load_state_dict(load_file(path)),
                 lambda path: save_file(net.state_dict(), path), loss)


def keras_resnet50v2():
    import keras
    from safetensors.numpy import load_file, save_file

    keras.utils.set_random_seed(5)
    net = keras.applications.ResNet50V2(
        weights=None, classes=10, input_shape=(32, 32, 3), classifier_activation=None
    )

    def load(path):
        weights = load_file(path)
        for variable in net.weights:
            variable.assign(weights.pop(variable.path))
        assert not weights, f"unknown to the model: {list(weights)}"

    def loss(images, labels, training):
        logits = np.asarray(net(images.transpose(0, 2, 3, 1), training=training), np.float64)
        logits -= logits.max(1, keepdims=True)
        rows = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return -rows[np.arange(len(labels)), labels].mean()

    return Model(load, lambda path: save_file({v.path: v.numpy() for v in net.weights}, path), loss)


NETWORKS = {"torch": ("resnet18", "cifar10", torch_resnet18), "keras": ("resnet50v2", "scale", keras_resnet50v2)}


def main(binary, framework):
    wrong = exchange(binary, *NETWORKS[framework])
    print(f"weights of {NETWORKS[framework][0]}: {'different' if wrong else 'equal both ways'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
