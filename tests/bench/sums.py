#!/usr/bin/env python3
"""Compares the times of rueda's all-reduces inside a host with those of others, which take turns on the same
cores: MPI_Allreduce of several MPIs, PyTorch's gloo, DeepSpeed's sum in shared memory. All sum fp32 in place.

usage: sums.py [--binary build/rueda] [--other NAME=MPIEXEC:RUEDA] [--ranks 2] [--rounds 3] [--sizes LIST] ...
       sums.py TASK    (JSON; one of the processes, which sums; rank 0 prints the times)

docs/bench.md says more. Needs a Python with PyTorch: RUEDA_TORCH_PYTHON, or what jobs/check/parity.sh installs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from frameworks import UsageError, check_binary, python_of

ENVIRONMENT = str(Path(__file__).resolve().parents[2] / "jobs" / "env.sh")  # root, and more ranks than cores
TIME_LIMIT = 600  # seconds, of one process
LARGE = 40_000_000  # bytes from which caches do not help
WHOLE = 1 << 16  # below, sums of whole numbers over a few ranks are exact in fp32
NO_TORCH = "no Python has PyTorch: set RUEDA_TORCH_PYTHON, or let jobs/check/parity.sh install it in build-parity/"


def run_rueda(arguments, folder, mpiexec, binary, algorithms):
    """Sizes to algorithms to seconds."""
    file = Path(folder, "rueda.json")
    words = [
        ENVIRONMENT, mpiexec, "--bind-to", "none", "-n", str(arguments.ranks), binary,
        "bench", "all-reduce", "--threads", "1", "--sizes", arguments.sizes, "--json", str(file),
        "--algorithms", algorithms, "--repetitions", str(arguments.repetitions),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    if done.returncode:
        raise UsageError(f"{binary} bench all-reduce failed: {done.stderr.strip().splitlines()[:1]}")
    seconds = {}
    for one in json.loads(file.read_text(encoding="utf-8"))["results"]:
        seconds.setdefault(one["bytes"], {})[one["algorithm"]] = one["seconds"]
    return seconds


def run_python(arguments, what, sizes, folder):
    """Sizes to seconds."""
    task = {
        "what": what, "ranks": arguments.ranks, "sizes": sizes, "repetitions": arguments.repetitions,
        "store": tempfile.mktemp(prefix="store-", dir=folder),
    }  # fmt: skip
    env = {**os.environ, "LOCAL_SIZE": str(arguments.ranks), "OMP_NUM_THREADS": "1"}  # DeepSpeed's condition
    workers = [
        subprocess.Popen(
            [python_of("torch"), __file__, json.dumps({**task, "rank": rank})], stdout=subprocess.PIPE,
            text=True, env=env,
        )
        for rank in range(arguments.ranks)
    ]  # fmt: skip
    try:
        outputs = [worker.communicate(timeout=TIME_LIMIT)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    if any(worker.returncode for worker in workers):
        print(f"{what} failed and is left out", file=sys.stderr)
        return {}
    return {int(size): seconds for size, seconds in json.loads(outputs[0].splitlines()[-1]).items()}


def run_rounds(arguments):
    """Sizes to names to the median seconds of each round."""
    medians = {}

    def keep(size, name, seconds):
        medians.setdefault(size, {}).setdefault(name, []).append(statistics.median(seconds))

    with tempfile.TemporaryDirectory(prefix="rueda-sums-") as folder:
        for turn in range(arguments.rounds):
            ours = run_rueda(arguments, folder, arguments.mpiexec, arguments.binary, arguments.algorithms)
            for size, series in ours.items():
                for name, seconds in series.items():
                    keep(size, name, seconds)
            for other in arguments.other:
                name, _, (mpiexec, _, binary) = (*other.partition("=")[:2], other.partition("=")[2].partition(":"))
                for size, series in run_rueda(arguments, folder, mpiexec, binary, "mpi").items():
                    keep(size, name, series["mpi"])
            for what in ("gloo", "deepspeed", "copy"):
                for size, seconds in run_python(arguments, what, list(ours), folder).items():
                    keep(size, what, seconds)
            print(f"round {turn + 1} of {arguments.rounds} is done", file=sys.stderr)
    return medians


def as_markdown(medians, arguments):
    """A column each; then the strongest other's time / ours; the memory's rate of `shared` / that of a copy."""
    ours = arguments.algorithms.split(",")
    ours.remove("mpi") if "mpi" in ours else None
    names = list(dict.fromkeys(name for series in medians.values() for name in series if name != "copy"))
    head = ["bytes", *(f"{name}, ms" for name in names), *(f"best other / {name}" for name in ours), "mpi / ring",
            "of a copy, %"]
    lines = [
        f"{arguments.ranks} processes; medians of {arguments.rounds} rounds of {arguments.repetitions} sums (slowest "
        "rank), and their minimum and maximum.", "", f"| {' | '.join(head)} |", f"|{'---:|' * len(head)}",
    ]  # fmt: skip
    for size, series in medians.items():
        middle = {name: statistics.median(values) for name, values in series.items()}
        others = [seconds for name, seconds in middle.items() if name not in (*ours, "copy")]
        cells = [f"{size:,}"]
        for name in names:
            spread = [1e3 * f(series[name]) for f in (statistics.median, min, max)] if name in series else None
            cells.append("{:.4g} ({:.4g}-{:.4g})".format(*spread) if spread else "-")
        cells += [f"{min(others) / middle[name]:.2f}" if name in middle and others else "-" for name in ours]
        cells.append(f"{middle['mpi'] / middle['ring']:.2f}" if {"mpi", "ring"} <= middle.keys() else "-")
        # Each rank reads and writes its chunk in all arenas, where a copy reads and writes once.
        known = size >= LARGE and {"shared", "copy"} <= middle.keys()
        cells.append(f"{100 * middle['copy'] / middle['shared']:.0f}" if known else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measure(task, floats, sum_up):
    """Seconds of each repetition, the slowest rank's; as rueda bench all-reduce takes them."""
    import torch
    import torch.distributed as dist

    index = torch.arange(floats, dtype=torch.int64) % WHOLE
    mine = (index + task["rank"]).float()
    expected = (task["ranks"] * index + sum(range(task["ranks"]))).float()
    slice_, target = torch.empty(floats), torch.empty(floats)
    seconds = []
    for repetition in range(task["repetitions"] + 1):
        slice_.copy_(mine)
        dist.barrier()
        begin = perf_counter()
        sum_up(slice_, target)
        taken = torch.tensor([perf_counter() - begin], dtype=torch.float64)
        if task["what"] != "copy" and not torch.equal(slice_, expected):
            sys.exit(f"{task['what']}: wrong sum of {floats} floats")
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
    sum_up = lambda slice_, target: target.copy_(slice_)  # noqa: E731  (each its own memory)
    if task["what"] == "gloo":
        sum_up = lambda slice_, target: dist.all_reduce(slice_)  # noqa: E731
    if task["what"] == "deepspeed":
        os.environ.update(MASTER_ADDR=str(os.getppid()), MASTER_PORT="0")  # it names its memory so
        from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder

        ShareMemCommBuilder().load(verbose=False).initialize(task["ranks"], task["rank"])
        sum_up = lambda slice_, target: torch.ops.deepspeed.inference_all_reduce_(slice_)  # noqa: E731
    seconds = {size: measure(task, size // 4, sum_up) for size in task["sizes"]}
    if task["rank"] == 0:
        print(json.dumps(seconds), flush=True)
    dist.destroy_process_group()
    os._exit(0)  # DeepSpeed's threads are never joined


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="build/rueda", help="rueda [%(default)s]")
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher of its ranks [%(default)s]")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=MPIEXEC:RUEDA",
                        help="another MPI, by its launcher and a rueda that is built for it; may be given "
                             "again")  # fmt: skip
    parser.add_argument("--ranks", type=int, default=2, help="processes of each [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each [%(default)s]")
    parser.add_argument("--repetitions", type=int, default=20, help="sums a round [%(default)s]")
    parser.add_argument("--sizes", default="64,1k,10k,100k,resnet20,10M,40M,resnet18,resnet50v2,256M",
                        help="[%(default)s]")
    parser.add_argument("--algorithms", default="shared,ring,mpi", help="of rueda [%(default)s]")
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
        medians = run_rounds(arguments)
    except (UsageError, subprocess.TimeoutExpired) as error:
        print(f"sums: {error}", file=sys.stderr)
        return 2
    print(as_markdown(medians, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
