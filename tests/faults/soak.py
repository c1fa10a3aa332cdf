#!/usr/bin/env python3
"""A long run: trains for a while and looks whether memory, open files and step time stay flat.

usage: soak.py [--minutes N] [--ranks P] [--json FILE] ... [-- OPTIONS OF TRAIN]

Every few seconds it reads of each rank, from /proc: resident memory, open files, threads. Step times
are those of steps.csv, device memory that of run.json's gpu_samples, where there is a GPU. A little
work of its own, always the same, tells whether the machine itself changed. Then it ends the run. Exit
code 1: the run ended by itself, memory grew beyond --most-growth-mb, or open files or threads are not
as many as at the beginning. Needs Linux and an MPI that runs ranks on this host.
"""

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from soak_figures import Bounds, change, machine_figures, rank_figures, step_figures, verdicts

ROOT = Path(__file__).resolve().parents[2]
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
# Epochs long enough that what run.json keeps of each is little.
TRAIN = ["--model", "resnet20", "--data", "synthetic", "--data-limit", "8192", "--batch-per-rank", "32"]
TRAIN += ["--threads", "1", "--epochs", "1000000", "--eval-every", "10", "--progress", "off"]
SECONDS_TO_END = 20

# Work that is always the same, in CPU time, tells how fast this machine is just now: waiting for a core
# does not count, but a slower clock, and others in caches and on the memory bus do.
LOOPS = 100_000
COPIED = bytearray(16 << 20)
TARGET = bytearray(len(COPIED))


def milliseconds(work):
    begin = time.thread_time()
    work()
    return 1e3 * (time.thread_time() - begin)


def copy():
    TARGET[:] = COPIED


def machine_speed():
    return {"loop_ms": milliseconds(lambda: sum(range(LOOPS))), "copy_ms": milliseconds(copy)}


def read(path):
    """The text of a file of a process; empty if that has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def rank_of(process):
    words = dict(word.partition("=")[::2] for word in read(process / "environ").split("\0"))
    return next((int(words[name]) for name in RANK_VARIABLES if words.get(name, "").isdigit()), None)


def find_ranks(binary, run_dir):
    """The processes of this run by rank."""
    found = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        words = read(process / "cmdline").split("\0")
        if words[:1] == [binary] and str(run_dir) in words:
            found[rank_of(process) or 0] = process
    return found


def sample(process, began):
    """None if it has ended."""
    status = dict(line.partition(":")[::2] for line in read(process / "status").splitlines())
    try:
        files = len(os.listdir(process / "fd"))
    except OSError:
        return None
    if "VmRSS" not in status:
        return None
    return {
        "seconds": time.monotonic() - began,
        "rss_mb": int(status["VmRSS"].split()[0]) * 1024 / 1e6,
        "files": files,
        "threads": int(status["Threads"]),
    }


def watch(launched, options, run_dir):
    """Samples of each rank and of the machine, after the ranks have settled, until time is up or the
    run ends."""
    began = time.monotonic()
    samples, ranks, machine = {}, {}, []
    while launched.poll() is None and time.monotonic() - began < 60 * options.minutes:
        if len(ranks) < options.ranks:
            ranks = find_ranks(options.rueda, run_dir)
        for rank, process in ranks.items():
            one = sample(process, began)
            if one is not None and one["seconds"] >= options.settle_seconds:
                samples.setdefault(rank, []).append(one)
        if samples:
            machine.append({"seconds": time.monotonic() - began, **machine_speed()})
        time.sleep(options.every)
    return [samples[rank] for rank in sorted(samples)], machine


def end(launched):
    if launched.poll() is None:
        launched.send_signal(signal.SIGTERM)
    try:
        launched.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        os.killpg(launched.pid, signal.SIGKILL)
        launched.wait()


def slowest_steps(run_dir, settle_seconds):
    """(seconds since the first, seconds) of each full step, the slowest rank's, once settled."""
    steps = {}
    try:
        with open(run_dir / "steps.csv", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                steps.setdefault((int(row["epoch"]), int(row["step"])), []).append(row)
    except FileNotFoundError:
        return []
    full = max((int(rows[0]["global_samples"]) for rows in steps.values()), default=0)
    series, at = [], 0.0
    for key in sorted(steps):
        taken = max(float(row["seconds"]) for row in steps[key])
        at += taken
        if at >= settle_seconds and int(steps[key][0]["global_samples"]) == full:
            series.append((at, taken))
    return series


def device_figures(run_dir, settle_seconds):
    """Of each rank whose GPU tells."""
    text = read(run_dir / "run.json")
    ranks = (json.loads(text).get("gpu_samples") or []) if text else []
    figures = []
    for rank in filter(None, ranks):
        points = [
            (at, memory / 1e6)
            for at, memory in zip(rank["seconds"], rank["memory_bytes"])
            if memory is not None and at >= settle_seconds
        ]
        if points:
            figures.append({"memory_mb": change(points)})
    return figures


def table(ranks, steps, machine):
    lines = ["rank  samples        RSS, MB     MB/hour      files    threads"]
    for rank, figures in enumerate(ranks):
        rss, files, threads = (figures[key] for key in ("rss_mb", "files", "threads"))
        lines.append(
            f"{rank:4}  {figures['samples']:7}  {rss['first']:6.1f} {rss['last']:6.1f}  "
            f"{rss['per_hour']:+10.2f}  {files['first']:4} {files['last']:4}  "
            f"{threads['first']:4} {threads['last']:4}"
        )
    if steps is not None:
        lines.append(
            f"step time: {steps['first']:.2f} ms, then {steps['last']:.2f} ms "
            f"({steps['per_hour']:+.2f} ms/hour, {steps['steps']} steps)"
        )
    loop, copy = machine["loop_ms"], machine["copy_ms"]
    lines.append(
        f"the machine: the same loop takes {loop['first']:.2f} ms of CPU time, then {loop['last']:.2f}; "
        f"the same copy {copy['first']:.2f}, then {copy['last']:.2f}"
    )
    return "\n".join(lines + ["(medians of the first and the last quarter; of files and threads the least)"])


def command(options, run_dir):
    words = [options.mpiexec, "--bind-to", "none", "-n", str(options.ranks)] if options.ranks > 1 else []
    words += [options.rueda, "train", *TRAIN, *options.train]
    return [*words, "--run-dir", str(run_dir)]


def soak(options, folder):
    run_dir = Path(folder) / "run"
    with open(Path(folder) / "output.txt", "w", encoding="utf-8") as output:
        launched = subprocess.Popen(
            command(options, run_dir), stdout=output, stderr=output, start_new_session=True
        )
        try:
            samples, machine = watch(launched, options, run_dir)
            ended = launched.poll()
        finally:
            end(launched)
    if ended is not None or len(samples) < options.ranks:
        told = read(Path(folder) / "output.txt")[-3000:]
        sys.exit(f"{told}\nsoak: the run ended by itself with exit code {ended}; its last words are above")
    ranks = [rank_figures(series) for series in samples]
    steps = step_figures(slowest_steps(run_dir, options.settle_seconds))
    devices = device_figures(run_dir, options.settle_seconds)
    bounds = Bounds(options.most_growth_mb, options.most_drift_percent)
    lines = verdicts(ranks, devices, steps, bounds)
    speed = machine_figures(machine)
    print(table(ranks, steps, speed))
    for line in lines:
        print(f"{line['what']}: {'flat' if line['flat'] else 'NOT FLAT'}: {line['text']}")
    if options.json:
        record = {"minutes": options.minutes, "ranks": ranks, "devices": devices, "steps": steps}
        record.update(verdicts=lines, machine=speed, samples=samples, machine_samples=machine)
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 1 if any(line["fails"] for line in lines) else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--every", type=float, default=3, help="seconds between samples")
    parser.add_argument("--settle-seconds", type=float, default=None,
                        help="at the beginning, which do not count; by default a tenth")
    parser.add_argument("--most-growth-mb", type=float, default=Bounds.growth_mb)
    parser.add_argument("--most-drift-percent", type=float, default=Bounds.drift_percent)
    parser.add_argument("--rueda", default=str(ROOT / "build" / "rueda"))
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--json", default="", help="file to write")
    parser.add_argument("train", nargs="*", help="further options of rueda train, behind --")
    options = parser.parse_args()
    options.rueda = str(Path(options.rueda).resolve())
    if options.settle_seconds is None:
        options.settle_seconds = 60 * options.minutes / 10
    with tempfile.TemporaryDirectory(prefix="rueda-soak-") as folder:
        sys.exit(soak(options, folder))


if __name__ == "__main__":
    main()
