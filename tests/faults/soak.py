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
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from job import Job, send  # noqa: E402

# Epochs long enough that what run.json keeps of each is little.
TRAIN = ["--model", "resnet20", "--data", "synthetic", "--data-limit", "8192", "--batch-per-rank", "32"]
TRAIN += ["--threads", "1", "--epochs", "1000000", "--eval-every", "10", "--progress", "off"]
SECONDS_TO_END = 60

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
    """The text of a file; empty if it is not there, or its process has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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


def watch(job, options, run_dir):
    """Samples of each rank and of the machine, after the ranks have settled, until time is up or the
    run ends."""
    job.wait_for((run_dir / "steps.csv").exists, 60)  # start-up does not count
    began = time.monotonic()
    samples, ranks, machine = {}, {}, []
    while job.runs and time.monotonic() - began < 60 * options.minutes:
        if len(ranks) < options.ranks:
            alone = options.ranks == 1  # without a launcher
            ranks = {rank or 0: pid for pid, rank in job.processes().items() if alone or rank is not None}
        for rank, pid in ranks.items():
            one = sample(Path("/proc", str(pid)), began)
            if one is not None and one["seconds"] >= options.settle_seconds:
                samples.setdefault(rank, []).append(one)
        if samples:
            machine.append({"seconds": time.monotonic() - began, **machine_speed()})
        time.sleep(options.every)
    return [samples[rank] for rank in sorted(samples)], machine


@dataclass
class Bounds:
    """What still counts as flat, between the first and the last quarter of a run."""

    growth_mb: float = 8.0  # of a rank's resident or device memory
    drift_percent: float = 5.0  # of the median step; printed, but no failure: a machine has other work


def slope_per_hour(points):
    """Of the line that is nearest to the (seconds, value)."""
    times, values = zip(*points)
    if len(set(times)) < 2:
        return 0.0
    time, value = statistics.fmean(times), statistics.fmean(values)  # Python 3.10 has linear_regression
    covariance = sum((t - time) * (v - value) for t, v in points)
    return 3600 * covariance / sum((t - time) ** 2 for t in times)


def quarters(values):
    """The first and the last quarter, of at least one value each."""
    length = max(1, len(values) // 4)
    return values[:length], values[-length:]


def change(points, of=statistics.median):
    """How a series of (seconds, value) begins, ends and rises."""
    first, last = quarters([value for _, value in points])
    return {"first": of(first), "last": of(last), "per_hour": slope_per_hour(points)}


def rank_figures(samples):
    """Of one rank's samples. Files and threads that come and go are no leak: the least counts."""
    def series(key):
        return [(sample["seconds"], sample[key]) for sample in samples]

    return {
        "samples": len(samples),
        "rss_mb": change(series("rss_mb")),
        "files": change(series("files"), min),
        "threads": change(series("threads"), min),
    }


def machine_figures(samples):
    """Of machine_speed's samples."""
    return {key: change([(one["seconds"], one[key]) for one in samples]) for key in ("loop_ms", "copy_ms")}


def step_figures(steps):
    """Of (seconds since the first step, seconds of the step); None without enough of them."""
    if len(steps) < 8:
        return None
    points = [(at, 1e3 * taken) for at, taken in steps]
    figures = change(points)
    figures["steps"] = len(steps)
    figures["drift_percent"] = 100 * (figures["last"] / figures["first"] - 1)
    return figures


def verdicts(ranks, devices, steps, bounds):
    """For each subject whether it is flat, and in which words."""
    lines = []

    def say(what, bad, text, fails=True):
        lines.append({"what": what, "flat": not bad, "fails": bad and fails, "text": text})

    for what, unit, group in (("memory", "rss_mb", ranks), ("device memory", "memory_mb", devices)):
        worst = max((one[unit] for one in group), key=lambda f: f["last"] - f["first"], default=None)
        if worst is None:
            continue
        grown = worst["last"] - worst["first"]
        say(what, grown > bounds.growth_mb,
            f"{grown:+.2f} MB between the first and the last quarter (bound {bounds.growth_mb:g}), "
            f"{worst['per_hour']:+.2f} MB/hour")
    for what, key in (("open files", "files"), ("threads", "threads")):
        worst = max((one[key] for one in ranks), key=lambda f: f["last"] - f["first"])
        # A checkpoint that is being written has a thread and a file.
        say(what, worst["last"] - worst["first"] > 1,
            f"{worst['first']} in the first quarter, {worst['last']} in the last")
    if steps is not None:
        drift = steps["drift_percent"]
        say("step time", abs(drift) > bounds.drift_percent,
            f"{drift:+.1f} % between the first and the last quarter (bound {bounds.drift_percent:g})",
            fails=False)
    return lines


def slowest_steps(run_dir, settle_seconds):
    """(seconds since the first, seconds) of each full step, the slowest rank's, once settled."""
    rows = csv.DictReader(read(run_dir / "steps.csv").splitlines())
    steps = {}  # its images and seconds
    for row in rows:
        one = steps.setdefault((int(row["epoch"]), int(row["step"])), [int(row["global_samples"]), 0.0])
        one[1] = max(one[1], float(row["seconds"]))
    full = max((images for images, _ in steps.values()), default=0)
    series, at = [], 0.0
    for _, (images, taken) in sorted(steps.items()):
        at += taken
        if at >= settle_seconds and images == full:
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
    job = Job(command(options, run_dir), Path(folder), "job")
    try:
        samples, machine = watch(job, options, run_dir)
        ended = job.process.poll()
    finally:
        if job.runs:
            send(job.process.pid, signal.SIGTERM)
        job.end(SECONDS_TO_END)
    if ended is not None or len(samples) < options.ranks:
        output = (read(job.out) + read(job.err))[-3000:]
        sys.exit(f"{output}\nsoak: the run ended by itself with exit code {ended}; its last words are above")
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
    parser.add_argument("train", nargs="*", help="further options of rueda train, after --")
    options = parser.parse_args()
    options.rueda = str(Path(options.rueda).resolve())
    if options.settle_seconds is None:
        options.settle_seconds = 60 * options.minutes / 10
    with tempfile.TemporaryDirectory(prefix="rueda-soak-") as folder:
        sys.exit(soak(options, folder))


if __name__ == "__main__":
    main()
