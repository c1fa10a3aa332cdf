#!/usr/bin/env python3
"""Trains a network with PyTorch on a GPU, or measures what the GPU can do; for jobs/gpu-check.sh.

usage: torch_gpu_worker.py TASK    (JSON; prints a line of JSON for each variant, or one for the probe)

A TASK with "probe" measures the products and the copy that the floor is computed from. Any other one
trains: model, side, batch, precision (bf16 or tf32), and variants, which share the process.

PyTorch as fast as it can be had: channels_last, all of cuDNN's engines timed, TF32 for what stays fp32, loss and
network compiled together, one kernel for the update, and, in the variants that end in -graph, the whole step as
one CUDA graph, so that the host plays no part in it.
"""

import json
import math
import sys
from statistics import median
from time import perf_counter

import torch
from torch.nn import functional

WARM_UP_STEPS = 11
BLOCKS = 7
BLOCK_SECONDS = 1.0
HOST_STEPS = 9
HOST_BOUND = 0.9  # of a step's time
BATCHES = 4
# The mode of torch.compile, if any; whether the whole step is one CUDA graph.
VARIANTS = {
    "eager": (None, False),
    "eager-graph": (None, True),
    "compile-graph": ("default", True),
    "reduce-overhead": ("reduce-overhead", False),
    "autotune-graph": ("max-autotune-no-cudagraphs", True),
}


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
    def __init__(self, task, mode, batches):
        from torch_networks import build

        torch.manual_seed(1)
        self.model = build(task["model"]).cuda().to(memory_format=torch.channels_last).train()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.002, momentum=0.9, fused=True)
        self.bf16 = task["precision"] == "bf16"
        self.loss = torch.compile(self.loss_of, mode=mode) if mode else self.loss_of
        self.batches = batches
        self.done = 0

    def loss_of(self, images, labels):
        # Without its cache: what a cache keeps of one step must not be read by a graph's replay.
        with torch.autocast("cuda", torch.bfloat16, enabled=self.bf16, cache_enabled=False):
            return functional.cross_entropy(self.model(images), labels)

    def next_batch(self):
        self.done += 1
        return self.batches[self.done % len(self.batches)]

    def step_on(self, images, labels):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(images, labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def step(self):
        return self.step_on(*self.next_batch())


def warm_up_aside(work):
    """On a stream that is not the default one, as a recording needs it."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP_STEPS):
            work()
    torch.cuda.current_stream().wait_stream(aside)


def recorded(training):
    """The whole step as one CUDA graph. It reads a batch from where each step first copies its own."""
    place = [torch.empty_like(tensor) for tensor in training.batches[0]]

    def bring():
        for target, source in zip(place, training.next_batch()):
            target.copy_(source, non_blocking=True)

    bring()
    warm_up_aside(lambda: training.step_on(*place))
    training.optimizer.zero_grad(set_to_none=True)  # the graph then allocates gradients in its own memory
    graph = torch.cuda.CUDAGraph()
    torch.cuda.reset_peak_memory_stats()
    with torch.cuda.graph(graph):
        loss = training.step_on(*place)

    def step():
        bring()
        graph.replay()
        return loss

    return step


def block(step, count):
    """Milliseconds of a step, by the device's clock."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        step()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def host_milliseconds(step):
    """To queue a step while the device has nothing to do: with a full queue the host waits for the device."""
    times = []
    for _ in range(HOST_STEPS):
        torch.cuda.synchronize()
        begin = perf_counter()
        step()
        times.append(1e3 * (perf_counter() - begin))
    torch.cuda.synchronize()
    return median(times)


def measure(task, variant, batches):
    mode, in_one_graph = VARIANTS[variant]
    begin = perf_counter()
    training = Training(task, mode, batches)
    first = training.step().item()
    step = recorded(training) if in_one_graph else training.step
    startup = perf_counter() - begin
    trial = block(step, WARM_UP_STEPS)
    if not in_one_graph:
        torch.cuda.reset_peak_memory_stats()
    steps = max(3, math.ceil(1e3 * BLOCK_SECONDS / trial))
    blocks = [block(step, steps) for _ in range(BLOCKS)]
    host = host_milliseconds(step)
    resident = sum(tensor.nbytes for pair in batches for tensor in pair)
    return {
        "images_per_second": 1e3 * task["batch"] / median(blocks),
        "step_milliseconds": blocks,
        "host_milliseconds": host,
        "host_bound": host > HOST_BOUND * median(blocks),
        "peak_memory_bytes": torch.cuda.max_memory_allocated() - resident,
        "startup_seconds": startup,
        "first_loss": first,
        "last_loss": step().item(),
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
    torch.backends.cudnn.benchmark_limit = 0  # all engines, not ten
    if task.get("probe"):
        print(json.dumps(probe()))
    else:
        train(task)


if __name__ == "__main__":
    main()
