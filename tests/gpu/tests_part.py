"""The tests on the device: the test programs, and training runs whose bits must agree. Then compute-sanitizer's tools
over the small tests of the CUDA part: own kernels by all of them, single operations, in which NVIDIA's kernels run
as well, by the one that finds what own code hands them."""

import json
import sys
from pathlib import Path

from runner import Failure, Item, NotRun, complaint, tail
from tools import parameter_hash, require, train

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "jobs" / "check"))

from count_tests import count_of_output  # noqa: E402

RANKS = (1, 2, 4)
SMALL_RUN = {
    "model": "resnet18", "data-limit": 512, "batch-per-rank": 32, "epochs": 2, "deterministic": None,
    "scale-lr": "none", "check-replicas": "step",
}  # fmt: skip
REHEARSAL_WORDS = {"backend_cuda": ["[operations]"], "parity_cuda": ["-c", "resnet20"]}
REHEARSAL_RANKS = (1, 2)
REHEARSAL_RUN = {**SMALL_RUN, "model": "resnet20", "image-size": 8, "data-limit": 8, "batch-per-rank": 4}
SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")
SANITIZED = {"cuda": "[device]~[large]", "backend_cuda": "[operations]~[large]"}
ERROR_CODE = 99


def items(tools):
    every = REHEARSAL_RANKS if tools.rehearsal else RANKS
    found = [Item("tests", "doctor", 60, lambda shell: doctor(shell, tools))]
    found += [train_item(tools, ranks) for ranks in every]
    found.append(program_item(tools, "cuda tests", "cuda"))
    found.append(program_item(tools, "backend tests", "backend_cuda"))
    found += [program_item(tools, f"mpi tests on {ranks}", "mpi", ranks) for ranks in every]
    found.append(Item("tests", "4 ranks equal 4 micro-batches", 60, lambda shell: fixed_order(shell, tools)))
    found.append(program_item(tools, "parity tests", "parity_cuda"))
    return found


def program_item(tools, name, program, ranks=1):
    return Item("tests", name, 150, lambda shell: run_tests(shell, tools, ranks, program))


def train_item(tools, ranks):
    return Item("tests", f"train on {ranks}", 90, lambda shell: same_bits(shell, tools, ranks))


def doctor(shell, tools):
    """What it found, of two ranks on the one GPU."""
    ranks = 2 if tools.mpirun else 1
    require(tools, ranks)
    file = Path(shell.folder, "doctor.json")
    words = ["doctor", "--backend", "cuda", "--allow-shared-gpu", "--json", file]
    done = shell.run(tools.launch(ranks, "rueda", *words), LD_LIBRARY_PATH=tools.library_path)
    if not file.exists():
        raise Failure(complaint(done), {"output": tail(done.stdout, done.stderr)})
    report = json.loads(file.read_text(encoding="utf-8"))
    data = {key: report[key] for key in ("verdict", "findings", "transfers", "largest_batch")}
    if done.returncode != 0:
        raise Failure(f"exit code {done.returncode}: {report['verdict']}", data)
    return data


def small_run(tools):
    return REHEARSAL_RUN if tools.rehearsal else SMALL_RUN


def run_tests(shell, tools, ranks, program):
    """Counts of a test program. Cases that are skipped for want of a device have failed here."""
    require(tools, ranks, program)
    words = REHEARSAL_WORDS.get(program, []) if tools.rehearsal else []
    done = shell.run(
        tools.launch(ranks, program, *words), LD_LIBRARY_PATH=tools.library_path,
        RUEDA_PARITY_REFERENCE=str(ROOT / "tests" / "parity" / "reference"),
    )  # fmt: skip
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


def same_bits(shell, tools, ranks):
    """Over device buffers and through the host, and (on one rank) from run to run, the same bits."""
    records = {
        transport: train(shell, tools, ranks, f"train-{ranks}-{transport}", {**small_run(tools), "transport": transport})
        for transport in ("device", "staged")
    }
    hashes = {transport: parameter_hash(record) for transport, record in records.items()}
    data = {"parameter_hashes": hashes, "devices": [one["device"] for one in records["device"]["ranks"]]}
    if len(set(hashes.values())) > 1:
        raise Failure("device and staged transport end with different bits", data)
    return data


def fixed_order(shell, tools):
    """One rank that adds up four micro-batches, and four ranks that add in the same order."""
    common = {**small_run(tools), "reduce-order": "fixed", "batch-per-rank": 4 if tools.rehearsal else 16}
    alone = train(shell, tools, 1, "fixed-1", {**common, "accumulate": 4})
    four = train(shell, tools, 4, "fixed-4", {**common, "transport": "device"})
    hashes = {"one rank": parameter_hash(alone), "four ranks": parameter_hash(four)}
    if len(set(hashes.values())) > 1:
        raise Failure("one rank and four end with different bits", {"parameter_hashes": hashes})
    return {"parameter_hashes": hashes}


def sanitizer_items(tools):
    return [sanitizer_item(tools, tool, "cuda") for tool in SANITIZERS] + [sanitizer_item(tools, "memcheck", "backend_cuda")]


def sanitizer_item(tools, tool, program):
    name = tool if program == "cuda" else f"{tool}, operations"
    return Item("sanitizer", name, 180, lambda shell: sanitize(shell, tools, tool, program), needs=20)


def sanitize(shell, tools, tool, program):
    require(tools, 1, program)
    if tools.sanitizer is None:
        raise NotRun("no compute-sanitizer")
    words = [tools.sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", ERROR_CODE]
    words += [tools.programs[program], SANITIZED[program]]
    done = shell.run(words, LD_LIBRARY_PATH=tools.library_path)
    remarks = [line for line in done.stdout.splitlines() if line.startswith("=========")]
    if done.returncode != 0:
        said = remarks[:20] or done.stderr.splitlines()[-5:]
        raise Failure(f"exit code {done.returncode}", {"remarks": said})
    return {"summary": remarks[-1] if remarks else ""}
