#!/usr/bin/env python3
"""Trains a network with PyTorch on a GPU, or measures what the GPU can do; for jobs/gpu-check.sh.

usage: torch_gpu_worker.py TASK    (JSON; prints a line of JSON for each variant, or one for the probe)

A TASK with "probe" measures the products and the copy that the floor is computed from. Any other one
trains: model, side, batch, precision (bf16 or tf32), and variants, which share the process.
"""

import json
import math
import sys
from statistics import median
from time import perf_counter

import torch
from torch.nn import functional

WARM_UP_STEPS = 8
BLOCKS = 3
BLOCK_SECONDS = 0.7
BATCHES = 4
COMPILE_MODES = {"compile": "default", "compile-graphs": "reduce-overhead"}


def seconds_of(work, repetitions):
    """Per repetition, the device's own work included; after one that does not count."""
    work()
    torch.cuda.synchronize()
    begin = perf_counter()
    for _ in range(repetitions):
        work()
    torch.cuda.synchronize()
    return (perf_counter() - begin) / repetitions


def product_flops(dtype, side=8192):
    a, b = (torch.randn(side, side, device="cuda", dtype=dtype) for _ in range(2))
    return 2 * side**3 / min(seconds_of(lambda: a @ b, 20) for _ in range(3))


def copy_bytes(count=2**31):
    """Read and written per second."""
    source = torch.empty(count, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    return 2 * count / min(seconds_of(lambda: target.copy_(source), 20) for _ in range(3))


def probe():
    return {
        "device": torch.cuda.get_device_name(),
        "memory_bytes": torch.cuda.get_device_properties(0).total_memory,
        "versions": {"PyTorch": torch.__version__, "cuDNN of PyTorch": str(torch.backends.cudnn.version())},
        "bf16_flops_per_second": product_flops(torch.bfloat16),
        "tf32_flops_per_second": product_flops(torch.float32),
        "copy_bytes_per_second": copy_bytes(),
    }


def draw_batches(task):
    """Random images and labels, resident and ready in the network's layout."""
    side, batch = task["side"], task["batch"]
    batches = []
    for _ in range(BATCHES):
        images = torch.randn(batch, 3, side, side, device="cuda").to(memory_format=torch.channels_last)
        batches.append((images, torch.randint(0, 10, (batch,), device="cuda")))
    return batches


class Training:
    def __init__(self, task, variant, batches):
        from torch_networks import build

        torch.manual_seed(1)
        model = build(task["model"]).cuda().to(memory_format=torch.channels_last).train()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9, fused=True)
        compiled = variant != "eager"
        self.run = torch.compile(model, mode=COMPILE_MODES[variant]) if compiled else model
        self.batches = batches
        self.bf16 = task["precision"] == "bf16"
        self.done = 0

    def step(self):
        images, labels = self.batches[self.done % len(self.batches)]
        self.done += 1
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.bf16):
            loss = functional.cross_entropy(self.run(images), labels)
        loss.backward()
        self.optimizer.step()
        return loss


def measure(task, variant, batches):
    begin = perf_counter()
    training = Training(task, variant, batches)
    first = training.step().item()
    startup = perf_counter() - begin
    step = seconds_of(training.step, WARM_UP_STEPS)
    torch.cuda.reset_peak_memory_stats()
    steps = max(3, math.ceil(BLOCK_SECONDS / step))
    blocks = [seconds_of(training.step, steps) for _ in range(BLOCKS)]
    resident = sum(tensor.nbytes for pair in batches for tensor in pair)
    return {
        "images_per_second": task["batch"] / median(blocks),
        "step_seconds": blocks,
        "peak_memory_bytes": torch.cuda.max_memory_allocated() - resident,
        "startup_seconds": startup,
        "first_loss": first,
        "last_loss": training.step().item(),
    }


def train(task):
    batches = draw_batches(task)
    for variant in task["variants"]:
        try:
            report = measure(task, variant, batches)
        except Exception as error:  # of whatever kind: the other variants go on
            lines = str(error).splitlines() or [type(error).__name__]
            report = {"failure": lines[0][:200]}
        torch._dynamo.reset()
        torch.cuda.empty_cache()
        print(json.dumps({"variant": variant, **report}), flush=True)


def main():
    task = json.loads(sys.argv[1])
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    if task.get("probe"):
        print(json.dumps(probe()))
    else:
        train(task)


if __name__ == "__main__":
    main()
