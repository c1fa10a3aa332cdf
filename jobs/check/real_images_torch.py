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
WORD = (1 << 64) - 1


def read_images(files):
    """Pixels (N, 3, 32, 32) as bytes and labels (N) of files in CIFAR-10's binary layout."""
    records = torch.frombuffer(bytearray(b"".join(file.read_bytes() for file in files)), dtype=torch.uint8)
    records = records.view(-1, 1 + PIXELS)
    return records[:, 1:].reshape(-1, 3, SIDE, SIDE), records[:, 0].long()


def normalise(pixels):
    return ((pixels.float() / 255 - MEAN) / DEVIATION).contiguous(memory_format=torch.channels_last)


def mixed(bits):
    """mix64 of src/base/random.hpp."""
    bits = (bits + 0x9E3779B97F4A7C15) & WORD
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & WORD
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & WORD
    return bits ^ bits >> 31


def key_of(seed, purpose, epoch):
    return mixed(mixed(mixed(seed) ^ purpose) ^ epoch)


def below(bits, bound):
    return (bits >> 32) * bound >> 32


def crops_of(seed, epoch, samples):
    """What rueda draws for these samples: draw_augment of src/kernels/pixel.hpp."""
    key, places = key_of(seed, 0x6175676D, epoch), 2 * PADDING + 1
    bits = [mixed(key ^ sample) for sample in samples]
    return [(below(one, places), below(one << 20 & WORD, places), one >> 3 & 1) for one in bits]


def order_of(seed, epoch, samples):
    """The order in which rueda takes the samples in an epoch from 0: shuffle of src/data/sampler.cpp."""
    name = 0xCBF29CE484222325
    for letter in b"order":
        name = (name ^ letter) * 0x100000001B3 & WORD
    key = key_of(seed, name, epoch)
    order = list(range(samples))
    for i in range(samples - 1, 0, -1):
        other = below(mixed(key ^ i), i + 1)
        order[i], order[other] = order[other], order[i]
    return order


def augment(pixels, crops):
    """A crop of each image after padding it with zeros, some mirrored: crops has top, left and mirrored by image."""
    padded = functional.pad(pixels, (PADDING,) * 4)
    top, left, mirrored = torch.tensor(crops).unbind(1)
    across = torch.where(mirrored[:, None] == 1, torch.arange(SIDE).flip(0), torch.arange(SIDE))
    rows, columns = top[:, None] + torch.arange(SIDE), left[:, None] + across
    at = (torch.arange(len(pixels)).view(-1, 1, 1), slice(None), rows[:, :, None], columns[:, None, :])
    return padded[at].permute(0, 3, 1, 2)


def train_epoch(model, optimizer, images, labels, task, epoch):
    """One pass over the images, in the order and with the crops that rueda draws; returns the losses of the steps."""
    model.train()
    recipe, losses = task["recipe"], []
    batches = torch.tensor(order_of(task["seed"], epoch, len(images))).split(recipe["global-batch"])
    steps = len(batches) * recipe["epochs"]
    for step, batch in enumerate(batches, len(batches) * epoch):
        rate = recipe["lr"] * 0.5 * (1 + cos(pi * step / steps))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        pixels = images[batch]
        if recipe["augment"] == "standard":
            pixels = augment(pixels, crops_of(task["seed"], epoch, batch.tolist()))
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
    epochs = []
    for epoch in range(recipe["epochs"]):
        losses = train_epoch(model, optimizer, images, labels, task, epoch)
        epochs.append({"epoch": epoch + 1, "losses": losses, "val_accuracy": evaluate(model, *test)})
        print(f"epoch {epoch + 1}: test accuracy {epochs[-1]['val_accuracy']}", file=sys.stderr, flush=True)
    return epochs


def main():
    task = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    report = {"task": task, "versions": {"PyTorch": torch.__version__}, "epochs": train(task)}
    result = Path(task["result"])
    partial = result.with_suffix(".part")
    partial.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, result)


if __name__ == "__main__":
    main()
