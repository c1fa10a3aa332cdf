#!/usr/bin/env python3
"""Compares the times of rueda's all-reduces and that of PyTorch's gloo process group, which take turns on
the same cores. Both sum fp32 in place over as many processes.

usage: gloo.py [--binary build/rueda] [--ranks 2] [--rounds 3] [--sizes LIST] [--algorithms LIST]
       gloo.py TASK    (JSON; one of the processes, which sums; rank 0 prints the times)

docs/bench.md says more. Needs a Python with PyTorch: RUEDA_TORCH_PYTHON, or what jobs/check/parity.sh installs.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from frameworks import UsageError, check_binary, python_of

TIME_LIMIT = 600  # seconds, of one process
WHOLE = 1 << 16  # below, sums of whole numbers over a few ranks are exact in fp32
NO_TORCH = "no Python has PyTorch: set RUEDA_TORCH_PYTHON, or let jobs/check/parity.sh install it in build-parity/"


def run_rueda(arguments, folder):
    """Sizes to algorithms to seconds."""
    file = Path(folder, "rueda.json")
    words = [
        arguments.mpiexec, "--bind-to", "none", "-n", str(arguments.ranks), arguments.binary,
        "bench", "all-reduce", "--threads", "1", "--sizes", arguments.sizes, "--json", str(file),
        "--algorithms", arguments.algorithms, "--repetitions", str(arguments.repetitions),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    if done.returncode:
        raise UsageError(f"rueda bench all-reduce failed: {done.stderr.strip().splitlines()[:1]}")
    seconds = {}
    for one in json.loads(file.read_text(encoding="utf-8"))["results"]:
        seconds.setdefault(one["bytes"], {})[one["algorithm"]] = one["seconds"]
    return seconds


def run_gloo(arguments, sizes, folder, turn):
    task = {
        "ranks": arguments.ranks, "sizes": sizes, "repetitions": arguments.repetitions,
        "store": str(Path(folder, f"store-{turn}")),
    }  # fmt: skip
    workers = [
        subprocess.Popen(
            [python_of("torch"), __file__, json.dumps({**task, "rank": rank})],
            stdout=subprocess.PIPE, text=True,
        )
        for rank in range(arguments.ranks)
    ]  # fmt: skip
    try:
        outputs = [worker.communicate(timeout=TIME_LIMIT)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    if any(worker.returncode for worker in workers):
        raise UsageError("a process of gloo failed; it says why above")
    report = json.loads(outputs[0].splitlines()[-1])
    return report["version"], {int(size): seconds for size, seconds in report["seconds"].items()}


def run_rounds(arguments):
    """PyTorch's version, and sizes to names to the median seconds of each round."""
    medians, version = {}, ""
    with tempfile.TemporaryDirectory(prefix="rueda-gloo-") as folder:
        for turn in range(arguments.rounds):
            ours = run_rueda(arguments, folder)
            version, gloo = run_gloo(arguments, list(ours), folder, turn)
            for size, series in ours.items():
                for name, seconds in {**series, "gloo": gloo[size]}.items():
                    medians.setdefault(size, {}).setdefault(name, []).append(statistics.median(seconds))
            print(f"round {turn + 1} of {arguments.rounds} is done", file=sys.stderr)
    return version, medians


def as_markdown(version, medians, arguments):
    names = list(dict.fromkeys(name for series in medians.values() for name in series if name != "gloo"))
    head = ["bytes", "gloo, ms", *(f"{name}, ms" for name in names), *(f"gloo / {name}" for name in names)]
    lines = [
        f"{arguments.ranks} processes, gloo of PyTorch {version}; medians of {arguments.rounds} rounds of "
        f"{arguments.repetitions} repetitions (slowest rank). gloo / X: how many times as fast X is.",
        "", f"| {' | '.join(head)} |", f"|{'---:|' * len(head)}",
    ]  # fmt: skip
    for size, series in medians.items():
        gloo = statistics.median(series["gloo"])
        ours = [statistics.median(series[name]) for name in names]
        cells = [f"{size:,}", *(f"{1e3 * one:.4g}" for one in (gloo, *ours)), *(f"{gloo / one:.2f}" for one in ours)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measure(task, floats):
    """Seconds of each repetition, the slowest rank's; as rueda bench all-reduce takes them."""
    import torch
    import torch.distributed as dist

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
            sys.exit(f"gloo: wrong sum of {floats} floats")
        dist.all_reduce(taken, op=dist.ReduceOp.MAX)
        if repetition > 0:  # the first one warms up
            seconds.append(taken.item())
    return seconds


def work(task):
    """One of the processes."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    store = dist.FileStore(task["store"], task["ranks"])
    dist.init_process_group("gloo", store=store, rank=task["rank"], world_size=task["ranks"])
    seconds = {size: measure(task, size // 4) for size in task["sizes"]}
    if task["rank"] == 0:
        print(json.dumps({"version": torch.__version__, "seconds": seconds}))
    dist.destroy_process_group()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="build/rueda", help="rueda [%(default)s]")
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher of its ranks [%(default)s]")
    parser.add_argument("--ranks", type=int, default=2, help="processes of each [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each [%(default)s]")
    parser.add_argument("--repetitions", type=int, default=20, help="sums a round [%(default)s]")
    parser.add_argument("--sizes", default="4,1k,100k,resnet20,10M,40M,resnet18,resnet50v2", help="[%(default)s]")
    parser.add_argument("--algorithms", default="auto,ring,mpi", help="of rueda [%(default)s]")
    return parser.parse_args()


def main():
    if sys.argv[1:] and sys.argv[1].startswith("{"):
        return work(json.loads(sys.argv[1]))
    arguments = parse_arguments()
    try:
        if min(arguments.ranks, arguments.rounds, arguments.repetitions) < 1:
            raise UsageError("--ranks, --rounds and --repetitions are at least 1")
        check_binary(arguments.binary)
        if python_of("torch") is None:
            raise UsageError(NO_TORCH)
        version, medians = run_rounds(arguments)
    except (UsageError, subprocess.TimeoutExpired) as error:
        print(f"gloo: {error}", file=sys.stderr)
        return 2
    print(as_markdown(version, medians, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
