#!/usr/bin/env python3
"""One of the processes that sum by PyTorch's gloo process group; rank 0 prints the times as JSON.

usage: gloo_worker.py TASK    (JSON, from gloo.py)
"""

import json
import sys
from time import perf_counter

import torch
import torch.distributed as dist

WHOLE = 1 << 16  # below, sums of whole numbers over a few ranks are exact in fp32


def start(task):
    torch.set_num_threads(1)
    store = dist.FileStore(task["store"], task["ranks"])
    dist.init_process_group("gloo", store=store, rank=task["rank"], world_size=task["ranks"])


def measure(task, floats):
    """Seconds of each repetition, the slowest rank's; as rueda bench all-reduce takes them."""
    index = torch.arange(floats, dtype=torch.int64) % WHOLE
    mine = (index + task["rank"]).float()
    expected = (task["ranks"] * index + sum(range(task["ranks"]))).float()
    slice_ = torch.empty(floats)
    seconds = []
    for repetition in range(task["repetitions"] + 1):
        slice_.copy_(mine)
        dist.barrier()
        begin = perf_counter()
        dist.all_reduce(slice_)
        taken = torch.tensor([perf_counter() - begin], dtype=torch.float64)
        if not torch.equal(slice_, expected):
            sys.exit(f"gloo_worker: wrong sum of {floats} floats")
        dist.all_reduce(taken, op=dist.ReduceOp.MAX)
        if repetition > 0:  # the first one warms up
            seconds.append(taken.item())
    return seconds


def main():
    task = json.loads(sys.argv[1])
    start(task)
    seconds = {size: measure(task, size // 4) for size in task["sizes"]}
    if task["rank"] == 0:
        print(json.dumps({"version": torch.__version__, "seconds": seconds}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
