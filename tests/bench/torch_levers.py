#!/usr/bin/env python3
"""What parts of a step of ResNet-18 at batch 128 would gain from changes that rueda has not, measured with PyTorch in
about a minute; for jobs/gpu-check.sh. Prints one line of JSON.

node_us     a node of a CUDA graph that does nothing to speak of
rows        for each stage, microseconds within a CUDA graph: a convolution forward, its gradients, the sums of a batch
            norm's gradients; forward also alone and with a cold cache, as a tuner measures that launches one at a
            time. `one_stream`: weight gradient, data gradient and two sums after each other; `two_streams`: the
            weight gradient beside the others; `saved`: the share that this saves
"""

import json
import sys
from pathlib import Path
from statistics import median

import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_gpu_worker import warm_up_aside  # noqa: E402

STAGES = ((64, 32), (128, 16), (256, 8), (512, 4))  # channels, side
BATCH = 128
NODES, REPLAYS = 20, 50
TIMES = 30
COLD_BYTES = 2**27  # more than any cache


def between_events(work):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end)


def recorded_us(work, nodes=NODES):
    """Of one among several in a CUDA graph, which follow each other without the host."""
    warm_up_aside(work)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(nodes):
            work()
    graph.replay()
    return median(between_events(graph.replay) for _ in range(REPLAYS)) / nodes


def cold_us(work):
    """Of a lone launch, after something has filled the cache."""
    filler = torch.empty(COLD_BYTES, device="cuda", dtype=torch.uint8)
    times = []
    for _ in range(TIMES):
        filler.zero_()
        times.append(between_events(work))
    return median(times)


class Stage:
    def __init__(self, channels, side):
        def drawn(*shape):
            tensor = torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
            return tensor.to(memory_format=torch.channels_last)

        self.x, self.dy = (drawn(BATCH, channels, side, side) for _ in range(2))
        self.weights = drawn(channels, channels, 3, 3)
        self.aside = torch.cuda.Stream()

    def forward(self):
        return functional.conv2d(self.x, self.weights, padding=1)

    def gradient(self, *which):
        one = [1, 1]
        return torch.ops.aten.convolution_backward(
            self.dy, self.x, self.weights, None, one, one, one, False, [0, 0], 1, [*which, False]
        )

    def data_gradient(self):
        return self.gradient(True, False)

    def weight_gradient(self):
        return self.gradient(False, True)

    def sums(self):
        return (self.dy * self.x).sum((0, 2, 3), dtype=torch.float32)

    def one_stream(self):
        self.weight_gradient()
        self.data_gradient()
        self.sums()
        self.sums()

    def two_streams(self):
        now = torch.cuda.current_stream()
        self.aside.wait_stream(now)
        with torch.cuda.stream(self.aside):
            self.weight_gradient()
        self.data_gradient()
        self.sums()
        self.sums()
        now.wait_stream(self.aside)


def row(channels, side):
    stage = Stage(channels, side)
    names = ("forward", "data_gradient", "weight_gradient", "sums", "one_stream", "two_streams")
    times = {name: recorded_us(getattr(stage, name)) for name in names}
    saved = 1 - times["two_streams"] / times["one_stream"]
    return {"channels": channels, "side": side, **times, "forward_cold": cold_us(stage.forward), "saved": saved}


def main():
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 0
    tiny = torch.zeros(32, device="cuda")
    node = recorded_us(lambda: tiny.add_(1), 200)
    print(json.dumps({"node_us": node, "rows": [row(*stage) for stage in STAGES]}))


if __name__ == "__main__":
    main()
