#!/usr/bin/env python3
"""Trains the benchmark's steps with PyTorch; prints seconds and losses of the steps as JSON.

usage: torch_worker.py TASK    (JSON, from frameworks.py)
"""

import json
import sys

import torch
from images import normalise, read_images, time_steps
from torch.nn import functional
from torch_networks import build


def make_batches(task, memory_format):
    """Resized and normalised images in the layout of the network, labels; a pair per batch."""
    pixels, labels = read_images(task["data"], task["batches"] * task["batch"])
    images = torch.from_numpy(normalise(pixels))
    batches = []
    for part, marks in zip(images.split(task["batch"]), torch.from_numpy(labels).split(task["batch"])):
        size = (task["image_size"], task["image_size"])
        resized = functional.interpolate(part, size, mode="bilinear", align_corners=False)
        batches.append((resized.contiguous(memory_format=memory_format), marks))
    return batches


def train_step(model, optimizer, images, labels, precision):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        loss = functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    task = json.loads(sys.argv[1])
    torch.set_num_threads(task["threads"])
    torch.manual_seed(1)
    last = task["layout"] == "channels_last"
    memory_format = torch.channels_last if last else torch.contiguous_format
    batches = make_batches(task, memory_format)
    model = build(task["model"]).to(memory_format=memory_format).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=task["lr"], momentum=task["momentum"], fused=True)
    run = torch.compile(model) if task["compile"] else model

    def step(images, labels):
        return train_step(run, optimizer, images, labels, task["precision"])

    time_steps(task, batches, step, {"PyTorch": torch.__version__})


if __name__ == "__main__":
    main()
