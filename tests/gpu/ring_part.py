"""All-reduce of the gradients of ResNet-18 and ResNet50V2: over device buffers, through the host, and
MPI_Allreduce for comparison."""

import json
from pathlib import Path

from runner import Failure, Item, NotRun, complaint
from training import require

SIZES = "resnet18,resnet50v2"
REHEARSAL_WORDS = ("--repetitions", 2, "--sizes", "100k,400k")
RANKS = (2, 4)
REHEARSAL_RANKS = (2,)
TRANSPORTS = ("device", "staged")
WORDS = ("bench", "all-reduce", "--algorithms", "ring,fixed,mpi", "--backend", "cuda", "--allow-shared-gpu")


def items(tools):
    every = REHEARSAL_RANKS if tools.rehearsal else RANKS
    return [item(tools, ranks, transport) for ranks in every for transport in TRANSPORTS]


def item(tools, ranks, transport):
    name = f"all-reduce on {ranks}, {transport}"
    return Item("ring", name, 60, lambda shell: measure(shell, tools, ranks, transport), needs=10)


def rows_of(record):
    """What the report shows of what `rueda bench all-reduce --json` wrote."""
    return [
        {
            "bytes": one["bytes"], "algorithm": one["algorithm"],
            "milliseconds": 1e3 * one["median_seconds"], "busbw_GBps": one["busbw_GBps"],
        }
        for one in record["results"]
    ]  # fmt: skip


def measure(shell, tools, ranks, transport):
    require(tools, ranks)
    sizes = REHEARSAL_WORDS if tools.rehearsal else ("--sizes", SIZES)
    file = Path(shell.folder, f"all-reduce-{ranks}-{transport}.json")
    words = tools.launch(ranks, "rueda", *WORDS, "--transport", transport, *sizes, "--json", file)
    done = shell.run(words, LD_LIBRARY_PATH=tools.library_path)
    if done.returncode == 2:
        raise NotRun(f"rueda bench of this build: {complaint(done)}")
    if done.returncode != 0:
        raise Failure(complaint(done))
    return {"rows": rows_of(json.loads(file.read_text(encoding="utf-8")))}
