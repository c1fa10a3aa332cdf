#!/usr/bin/env python3
"""Trains the benchmark's steps with PyTorch; prints seconds and losses of the steps as JSON.

usage: torch_worker.py TASK    (JSON, from frameworks.py)
"""

import json
import sys
import tempfile

import torch
import torch.distributed as dist
from images import normalise, read_images, time_steps
from torch.nn import functional
from torch_networks import build


def make_batches(task, memory_format, rank):
    """Resized and normalised images in the layout of the network, labels; the rank's part of each batch."""
    pixels, labels = read_images(task["data"], task["batches"] * task["batch"])
    images = torch.from_numpy(normalise(pixels))
    batches = []
    for part, marks in zip(images.split(task["batch"]), torch.from_numpy(labels).split(task["batch"])):
        size = (task["image_size"], task["image_size"])
        resized = functional.interpolate(part, size, mode="bilinear", align_corners=False)
        mine, labels = (whole.chunk(task["ranks"] or 1)[rank] for whole in (resized, marks))
        batches.append((mine.contiguous(memory_format=memory_format), labels))
    return batches


def train_step(model, optimizer, images, labels, precision):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        loss = functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def merge(reports):
    """Of several ranks: the slowest one's seconds, the mean loss, the memory of all."""
    seconds, losses = (list(zip(*(one[key] for one in reports))) for key in ("step_seconds", "losses"))
    return {
        **reports[0], "step_seconds": [max(of_step) for of_step in seconds],
        "losses": [sum(of_step) / len(reports) for of_step in losses],
        "peak_bytes": sum(one["peak_bytes"] for one in reports),
    }  # fmt: skip


def work(rank, task):
    """One process; rank 0 prints the report."""
    ranks = task["ranks"] or 1
    torch.set_num_threads(task["threads"] // ranks)
    torch.manual_seed(1)
    last = task["layout"] == "channels_last"
    memory_format = torch.channels_last if last else torch.contiguous_format
    batches = make_batches(task, memory_format, rank)
    model = run = build(task["model"]).to(memory_format=memory_format).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=task["lr"], momentum=task["momentum"], fused=True)
    versions = {"PyTorch": torch.__version__}
    if task["compile"]:
        run = torch.compile(model)
    if task["python"] == "ipex":
        run, optimizer, versions = extend(model, optimizer, task["precision"])
    if ranks > 1:
        dist.init_process_group("gloo", init_method=task["store"], rank=rank, world_size=ranks)
        run = torch.nn.parallel.DistributedDataParallel(model)

    def step(images, labels):
        return train_step(run, optimizer, images, labels, task["precision"])

    reports = [time_steps(task, batches, step, versions)] * ranks
    if ranks > 1:
        dist.all_gather_object(reports, reports[rank])
        dist.destroy_process_group()
    if rank == 0:
        print(json.dumps(merge(reports)))


def extend(model, optimizer, precision):
    """What Intel's extension makes of a network, as its guide does; in bf16 it splits the weights in two parts."""
    import intel_extension_for_pytorch as ipex

    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    versions = {"PyTorch of ipex": torch.__version__, "ipex": ipex.__version__}
    return *ipex.optimize(model, optimizer=optimizer, dtype=kind), versions


def main():
    task = json.loads(sys.argv[1])
    if not task["ranks"]:
        return work(0, task)
    with tempfile.TemporaryDirectory(prefix="rueda-bench-ddp-") as folder:
        torch.multiprocessing.spawn(work, ({**task, "store": f"file://{folder}/store"},), task["ranks"])


if __name__ == "__main__":
    main()
