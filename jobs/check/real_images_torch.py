#!/usr/bin/env python3
"""Trains ResNet-20 with PyTorch by the recipe of jobs/check/real_images.py, which starts this program.

usage: real_images_torch.py TASK    (JSON: the recipe, seed, data, weights to begin with, result)

The result is a JSON file that appears when the training has ended.
"""

import json
import os
import sys
from math import cos, pi
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "parity"))

import torch_models  # noqa: E402

SIDE = 32
PIXELS = 3 * SIDE * SIDE
PADDING = 4
MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
DEVIATION = torch.tensor([0.2023, 0.1994, 0.2010]).view(3, 1, 1)
IMAGES_AT_ONCE = 250  # in an evaluation


def read_images(files):
    """Pixels (N, 3, 32, 32) as bytes and labels (N) of files in CIFAR-10's binary layout."""
    records = torch.frombuffer(bytearray(b"".join(file.read_bytes() for file in files)), dtype=torch.uint8)
    records = records.view(-1, 1 + PIXELS)
    return records[:, 1:].reshape(-1, 3, SIDE, SIDE), records[:, 0].long()


def normalise(pixels):
    return ((pixels.float() / 255 - MEAN) / DEVIATION).contiguous(memory_format=torch.channels_last)


def augment(pixels):
    """A crop of each image after padding it with zeros, and half of the images mirrored."""
    count = len(pixels)
    padded = functional.pad(pixels, (PADDING,) * 4)
    top, left = torch.randint(0, 2 * PADDING + 1, (2, count, 1))
    columns = left + torch.arange(SIDE)
    columns = torch.where(torch.rand(count, 1) < 0.5, columns.flip(1), columns)
    rows = top + torch.arange(SIDE)
    at = (torch.arange(count).view(-1, 1, 1), slice(None), rows[:, :, None], columns[:, None, :])
    return padded[at].permute(0, 3, 1, 2)


def train_epoch(model, optimizer, images, labels, recipe, first_step):
    """One pass in a new order; returns the mean loss of every step."""
    model.train()
    losses = []
    batches = torch.randperm(len(images)).split(recipe["global-batch"])
    steps = len(batches) * recipe["epochs"]
    for step, batch in enumerate(batches, first_step):
        rate = recipe["lr"] * 0.5 * (1 + cos(pi * step / steps))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        pixels = augment(images[batch]) if recipe["augment"] == "standard" else images[batch]
        loss = functional.cross_entropy(model(normalise(pixels)), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def evaluate(model, images, labels):
    model.eval()
    parts = zip(images.split(IMAGES_AT_ONCE), labels.split(IMAGES_AT_ONCE))
    return sum((model(normalise(part)).argmax(1) == marks).sum().item() for part, marks in parts) / len(labels)


def train(task):
    """The epochs, each with the loss of its steps and the test accuracy after it."""
    recipe, data = task["recipe"], Path(task["data"])
    images, labels = read_images(sorted(data.glob("data_batch_*.bin")))
    if task["limit"]:
        images, labels = images[: task["limit"]], labels[: task["limit"]]
    test = read_images([data / "test_batch.bin"])
    model = torch_models.build(recipe["model"])
    model.load_state_dict(load_file(task["weights"]))
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=recipe["lr"], momentum=recipe["momentum"], weight_decay=recipe["weight-decay"]
    )
    epochs, steps = [], 0
    for epoch in range(1, recipe["epochs"] + 1):
        losses = train_epoch(model, optimizer, images, labels, recipe, steps)
        steps += len(losses)
        epochs.append({"epoch": epoch, "losses": losses, "val_accuracy": evaluate(model, *test)})
        print(f"epoch {epoch}: test accuracy {epochs[-1]['val_accuracy']}", file=sys.stderr, flush=True)
    return epochs


def main():
    task = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(task["seed"])
    report = {"task": task, "versions": {"PyTorch": torch.__version__}, "epochs": train(task)}
    result = Path(task["result"])
    partial = result.with_suffix(".part")
    partial.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, result)


if __name__ == "__main__":
    main()
