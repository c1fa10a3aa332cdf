"""The all-reduce of gradients: over device buffers, through the host, and MPI_Allreduce for comparison; and the ring
over lengths from 1 kB on, where processes take turns on the GPU and where they share it (NVIDIA's MPS)."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

from runner import Failure, NotRun, beside, complaint, text_of
from tools import require

SIZES = "resnet18,resnet50v2"
SWEEP = "1k,4k,16k,64k,256k,1M,4M,16M,resnet18,resnet50v2"
SIZE_SECONDS = 2
REHEARSAL_WORDS = ("--repetitions", 2)
RING_WORDS = ("bench", "all-reduce", "--backend", "cuda", "--allow-shared-gpu")
START_SECONDS, STOP_SECONDS = 10, 10  # of MPS


def rows_of(record):
    """What the report shows of what `rueda bench all-reduce --json` wrote."""
    return [
        {
            "bytes": one["bytes"], "gradients_of": one.get("gradients_of"), "algorithm": one["algorithm"],
            "milliseconds": 1e3 * one["median_seconds"], "busbw_GBps": one["busbw_GBps"],
        }
        for one in record["results"]
    ]  # fmt: skip


def measure(shell, tools, ranks, transport, algorithms, sizes=SIZES, **environment):
    """Failed also where the GPU refuses what an algorithm needs (exit code 2)."""
    require(tools, ranks)
    lengths = ("--sizes", sizes, *(REHEARSAL_WORDS if tools.rehearsal else ("--seconds", SIZE_SECONDS)))
    file = Path(shell.folder, "all-reduce.json")
    choice = ("--algorithms", algorithms, "--transport", transport)
    words = tools.launch(ranks, "rueda", *RING_WORDS, *choice, *lengths, "--json", file)
    done = shell.run(words, LD_LIBRARY_PATH=tools.library_path, **environment)
    if done.returncode != 0:
        raise Failure(complaint(done))
    return {"rows": rows_of(json.loads(file.read_text(encoding="utf-8")))}


def sweep(shell, tools, ranks, **environment):
    return measure(shell, tools, ranks, "device", "ring", SWEEP, **environment)


def sweep_under_mps(shell, tools, ranks):
    """With a daemon of its own, which ends with the step."""
    require(tools, ranks)
    if tools.mps_control is None:
        raise NotRun("no nvidia-cuda-mps-control")
    folder = Path(shell.folder, "mps")
    folder.mkdir(exist_ok=True)
    where = {"CUDA_MPS_PIPE_DIRECTORY": str(folder), "CUDA_MPS_LOG_DIRECTORY": str(folder)}
    said = shell.log.with_name("mps.txt")
    with beside([tools.mps_control, "-f"], said, **where) as daemon:
        until = min(shell.deadline, monotonic() + START_SECONDS)
        while daemon.poll() is None and not (folder / "control").exists() and monotonic() < until:
            sleep(0.1)
        if not (folder / "control").exists():
            raise NotRun(f"MPS does not start: {text_of(said)[-300:].strip() or 'it says nothing'}")
        try:
            found = sweep(shell, tools, ranks, **where)
        finally:
            stop(shell, tools, where)
    found["MPS served"] = any(text_of(log) for log in folder.glob("server.log"))
    return found


def stop(shell, tools, where):
    """The daemon's server is in a session of its own, and ends only when the daemon is told to quit."""
    shorter = replace(shell, deadline=monotonic() + STOP_SECONDS)
    with suppress(Failure):
        shorter.run(["sh", "-c", 'echo quit | "$0"', tools.mps_control], **where)
