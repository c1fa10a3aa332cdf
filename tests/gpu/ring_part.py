"""All-reduce of the gradients of ResNet-18 and ResNet50V2: over device buffers, through the host, and
MPI_Allreduce beside them."""

import re

from runner import Failure, Item, NotRun, complaint
from training import require

SIZES = (44_695_848, 94_159_400)
REHEARSAL_WORDS = ("--repetitions", 2, 400_000, 1_000_000)
RANKS = (2, 4)
TRANSPORTS = ("device", "staged")
# How tests/bench/ring_bandwidth is told to use a GPU's memory.
DEVICE_WORDS = ("--backend", "cuda", "--allow-shared-gpu", "--transport")
ROW = re.compile(r"^\s*(\d+)\s+(\S+(?: \S+)*)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$")


def items(places):
    return [item(places, ranks, transport) for ranks in RANKS for transport in TRANSPORTS]


def item(places, ranks, transport):
    name = f"all-reduce on {ranks}, {transport}"
    return Item("ring", name, 60, lambda shell: measure(shell, places, ranks, transport), needs=10)


def parse(output):
    """The rows of ring_bandwidth's table."""
    rows = [match for match in map(ROW.match, output.splitlines()) if match]
    return [
        {"bytes": int(row[1]), "algorithm": row[2], "milliseconds": float(row[3]), "busbw_GBps": float(row[5])}
        for row in rows
    ]


def measure(shell, places, ranks, transport):
    require(places, ranks, "ring_bandwidth")
    sizes = REHEARSAL_WORDS if places.rehearsal else SIZES
    words = places.launch(ranks, "ring_bandwidth", *DEVICE_WORDS, transport, *sizes)
    done = shell.run(words, LD_LIBRARY_PATH=places.library_path)
    rows = parse(done.stdout)
    if done.returncode == 2 and not rows:
        raise NotRun(f"ring_bandwidth of this build: {complaint(done)}")
    if done.returncode != 0 or not rows:
        raise Failure(complaint(done), {"rows": rows})
    return {"rows": rows}
