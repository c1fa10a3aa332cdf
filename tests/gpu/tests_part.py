"""The tests on the device: the test programs, and training runs whose bits must agree."""

import sys
from pathlib import Path

from runner import Failure, Item
from training import parameter_hash, require, train

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))

from count_tests import count_of_output  # noqa: E402

RANKS = (1, 2, 4)
SMALL_RUN = {
    "model": "resnet18", "data-limit": 512, "batch-per-rank": 32, "epochs": 2, "deterministic": None,
    "scale-lr": "none", "check-replicas": "step",
}  # fmt: skip


def items(places):
    found = [train_item(places, ranks) for ranks in RANKS]
    found.append(Item("tests", "cuda tests", 150, lambda shell: run_tests(shell, places, 1, "cuda")))
    found += [mpi_item(places, ranks) for ranks in RANKS]
    found.append(Item("tests", "4 ranks equal 4 micro-batches", 60, lambda shell: fixed_order(shell, places)))
    return found


def mpi_item(places, ranks):
    return Item("tests", f"mpi tests on {ranks}", 90, lambda shell: run_tests(shell, places, ranks, "mpi"))


def train_item(places, ranks):
    return Item("tests", f"train on {ranks}", 90, lambda shell: same_bits(shell, places, ranks))


def run_tests(shell, places, ranks, program):
    """Counts of a test program. Cases that are skipped for want of a device have failed here."""
    require(places, ranks, program)
    done = shell.run(places.launch(ranks, program), LD_LIBRARY_PATH=places.library_path)
    count = count_of_output(done.stdout)
    output = (done.stdout + done.stderr)[-4000:]
    if count is None:
        raise Failure(f"exit code {done.returncode} without a summary", {"output": output})
    data = count._asdict()
    if done.returncode != 0 or count.failed:
        raise Failure(f"{count.failed} of {sum(count)} cases failed", {**data, "output": output})
    skipped = [line for line in done.stdout.splitlines() if line.startswith("skipped: ")]
    if any("CUDA" in line for line in skipped):
        raise Failure(skipped[0], data)
    return data


def same_bits(shell, places, ranks):
    """Over device buffers and through the host, and (on one rank) from run to run, the same bits."""
    records = {
        transport: train(shell, places, ranks, f"train-{ranks}-{transport}", {**SMALL_RUN, "transport": transport})
        for transport in ("device", "staged")
    }
    hashes = {transport: parameter_hash(record) for transport, record in records.items()}
    data = {"parameter_hashes": hashes, "devices": [one["device"] for one in records["device"]["ranks"]]}
    if len(set(hashes.values())) > 1:
        raise Failure("device and staged transport end with different bits", data)
    return data


def fixed_order(shell, places):
    """One rank that adds up four micro-batches, and four ranks that add in the same order."""
    common = {**SMALL_RUN, "reduce-order": "fixed", "batch-per-rank": 16}
    alone = train(shell, places, 1, "fixed-1", {**common, "accumulate": 4})
    four = train(shell, places, 4, "fixed-4", {**common, "transport": "device"})
    hashes = {"one rank": parameter_hash(alone), "four ranks": parameter_hash(four)}
    if len(set(hashes.values())) > 1:
        raise Failure("one rank and four end with different bits", {"parameter_hashes": hashes})
    return {"parameter_hashes": hashes}
