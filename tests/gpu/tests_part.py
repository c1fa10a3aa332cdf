"""The tests on the device: the test programs, and training runs whose bits must agree. Then compute-sanitizer's tools
over the small tests of the CUDA part: own kernels by all of them, single operations, in which NVIDIA's kernels run
as well, by the one that finds what own code hands them."""

import json
import re
import sys
from pathlib import Path

from runner import Failure, NotRun, complaint, ending, slug, tail
from tools import parameter_hash, require, train

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "jobs" / "check"))

from count_tests import count_of_output  # noqa: E402

RANKS = (1, 2, 4)
SMALL_RUN = {
    "model": "resnet18", "data-limit": 512, "batch-per-rank": 32, "epochs": 2, "deterministic": None,
    "scale-lr": "none", "check-replicas": "step",
}  # fmt: skip
REHEARSAL_WORDS = {
    "cuda": ["[device]~[large]"], "backend_cuda": ["[operations]"],
    "parity_cuda": ["~twenty*", "~[long]", "-c", "resnet20"],
}  # fmt: skip
REHEARSAL_RUN = {**SMALL_RUN, "model": "resnet20", "image-size": 8, "data-limit": 8, "batch-per-rank": 4}
SANITIZERS = (("memcheck", "cuda"), ("initcheck", "cuda"))
MORE_SANITIZERS = (("racecheck", "cuda"), ("memcheck", "backend_cuda"), ("synccheck", "cuda"))
SANITIZED = {"cuda": "[device]~[large]", "backend_cuda": "[operations]~[large]"}
SANITIZER_WORDS = ("--target-processes", "all", "--error-exitcode", 99)
FAILED_CASE = re.compile(r"^-{79}\n(\S.*)\n(?:(?![-.]{79}).*\n)*-{79}$", re.MULTILINE)  # as Catch2 heads its complaints


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
        raise Failure(f"{ending(done)} without a summary", {"output": output})
    data = count._asdict()
    skipped = [line for line in done.stdout.splitlines() if line.startswith("skipped: ")]
    if any("CUDA" in line for line in skipped):
        raise Failure(skipped[0], data)
    if done.returncode != 0 or count.failed:
        names = "; ".join(dict.fromkeys(FAILED_CASE.findall(done.stdout)))
        raise Failure(f"{ending(done)}, {count.failed} of {sum(count)} cases failed: {names}",
                      {**data, "output": output})
    return data


def same_bits(shell, tools, ranks):
    """Over device buffers and through the host, and (on one rank) from run to run, the same bits."""
    records = {
        transport: train(shell, tools, ranks, f"train-{ranks}-{transport}",
                         {**small_run(tools), "transport": transport})
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


def shared_bits(shell, tools, ranks):
    """Ranks that add up each other's device memory in one kernel, and ranks whose ring keeps the same order."""
    choices = {"shared": {"all-reduce": "shared"}, "fixed order": {"reduce-order": "fixed", "transport": "device"}}
    hashes = {
        name: parameter_hash(train(shell, tools, ranks, f"shared-{ranks}-{slug(name)}", {**small_run(tools), **choice}))
        for name, choice in choices.items()
    }
    if len(set(hashes.values())) > 1:
        raise Failure("shared sums and those of a fixed order end with different bits", {"parameter_hashes": hashes})
    return {"parameter_hashes": hashes}


def overlapped(shell, tools):
    """Two ranks whose sums travel while backward computes: what of them the step still waits for, and trace.json."""
    trace = Path(tools.out, "trace.json")
    options = {**small_run(tools), "check-replicas": "off", "overlap": "on", "bucket-mb": 5, "trace": trace}
    record = train(shell, tools, 2, "overlap", options)
    if not record["all_reduce"]["overlaps_backward"]:
        raise Failure("the sums do not overlap backward")
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    figures = record["summary"]["steady_communication"]
    return {"events": len(events), **{key: figures[key] for key in ("busy", "exposed")}}


def balanced(shell, tools):
    """Two ranks on parts of 3 to 1, and on parts by speed."""
    parts = {}
    for balance in ("3,1", "speed"):
        record = train(shell, tools, 2, f"balance-{balance[0]}", {**small_run(tools), "balance": balance})
        parts[balance] = record["batch"]["per_rank"]
    if parts["3,1"][0] != 3 * parts["3,1"][1]:
        raise Failure("the parts are not 3 to 1", parts)
    return parts


def sanitize(shell, tools, tool, program):
    require(tools, 1, program)
    if tools.sanitizer is None:
        raise NotRun("no compute-sanitizer")
    words = [tools.sanitizer, "--tool", tool, *SANITIZER_WORDS, tools.programs[program], SANITIZED[program]]
    done = shell.run(words, LD_LIBRARY_PATH=tools.library_path)
    remarks = [line for line in done.stdout.splitlines() if line.startswith("=========")]
    if done.returncode != 0:
        said = remarks[:20] or done.stderr.splitlines()[-5:]
        raise Failure(f"exit code {done.returncode}", {"remarks": said})
    return {"summary": remarks[-1] if remarks else ""}
