#!/usr/bin/env python3
"""Measures the all-reduce over emulated hosts of this machine and compares it with what their links allow.

ring     the ring over one rank on each host at 45 MB, and the bound from alpha and bandwidth measured in
         the same run
overlap  a timed run of resnet18 (--backend timed), whose gradients travel while backward waits: the share
         of the all-reduce that a step waits for. By default backward takes about as long as the
         all-reduce, and a third longer

Needs root and a build (jobs/setup.sh). Prints Markdown tables of medians, with the load of the machine;
docs/results/all-reduce.md, "On emulated hosts", explains them.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "jobs"))

from reader import start  # noqa: E402

HOSTS = ROOT / "tests" / "lab" / "hosts.sh"
PROGRAM = ROOT / "build" / "rueda"
BYTES = 45_000_000
LIMIT = 1800  # seconds of a command on the hosts
COMPUTE_MS = {2: [600, 800], 3: [800, 1050], 4: [900, 1200]}  # by ranks


def numbers(text):
    return [int(word) for word in text.split(",")]


def lab_parser(description):
    """With the options of the hosts; --help shows the defaults."""

    class Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
        pass

    parser = argparse.ArgumentParser(description=description, formatter_class=Formatter)
    parser.add_argument("--rate", default="1gbit", help="of each link")
    parser.add_argument("--delay", default="50us", help="of each link, one way")
    return parser


def parse():
    parser = lab_parser(__doc__)
    parser.add_argument("what", nargs="*", default=["ring", "overlap"], help="ring, overlap")
    parser.add_argument("--ranks", type=numbers, default="2,3,4", help="numbers of hosts")
    parser.add_argument("--compute-ms", type=numbers, help="of overlap: forward and backward of a step")
    parser.add_argument("--bucket-mb", type=lambda text: text.split(","), default="25,5,2", help="of overlap")
    parser.add_argument("--repetitions", type=int, default=9, help="sums, or epochs of overlap")
    parser.add_argument("--json", type=Path, help="file for every time")
    options = parser.parse_args()
    if unknown := set(options.what) - {"ring", "overlap"}:
        parser.error(f"unknown: {' '.join(sorted(unknown))}")
    return options


class Lab:
    """Hosts whose names no other process uses. Ranks run by nice -n -20, so that other programs disturb them
    less. (chrt -r 5 before this script ends that, but Linux takes 50 ms of each second from real-time
    programs, and so from the links.)"""

    def __init__(self, options):
        self.options = options
        self.environment = {**os.environ, "LAB_NAME": f"bench{os.getpid()}-"}

    @contextlib.contextmanager
    def hosts(self, count):
        self.call("up", count, self.options.rate, self.options.delay)
        try:
            yield
        finally:
            self.call("down")

    def call(self, *words):
        done = subprocess.run(
            ["nice", "-n", "-20" if words[0] == "run" else "0", HOSTS, *map(str, words)], env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"hosts.sh {' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
        return done.stdout


def link_of(lab, folder, ranks):
    """Seconds of a message, and bytes a second: medians of what the doctor measures between neighbours."""
    file = folder / "doctor.json"
    lab.call("run", ranks, "--", PROGRAM, "doctor", "--backend", "cpu", "--json", file)
    links = [rank["host_link"] for rank in json.loads(file.read_text(encoding="utf-8"))["ranks"]]
    alpha = statistics.median(link["latency_us"] for link in links) * 1e-6
    return alpha, statistics.median(link["gb_per_second"] for link in links) * 1e9


def measure_ring(lab, folder, ranks):
    alpha, bandwidth = link_of(lab, folder, ranks)
    sums = folder / "bench.json"
    words = ("--algorithms", "ring", "--sizes", BYTES, "--repetitions", lab.options.repetitions)
    lab.call("run", ranks, "--", PROGRAM, "bench", "all-reduce", *words, "--json", sums)
    streaming = 2 * (ranks - 1) / ranks * BYTES / bandwidth
    return {
        "ranks": ranks, "alpha": alpha, "bandwidth": bandwidth, "bandwidth_bound": streaming,
        "bound": 2 * (ranks - 1) * alpha + streaming, "load": os.getloadavg()[0],
        "seconds": json.loads(sums.read_text(encoding="utf-8"))["results"][0]["seconds"],
    }  # fmt: skip


def print_table(heads, rows):
    for row in (heads, ["---:"] * len(heads), *rows):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def print_rings(results):
    heads = ("P", "alpha, us", "B, Mbit/s", "bound, ms", "median, ms", "fastest, ms", "of the bandwidth bound")
    print_table([*heads, "of the bound", "load"], map(ring_row, results))


def ring_row(result):
    median, least = statistics.median(result["seconds"]), min(result["seconds"])
    return [
        result["ranks"], f"{result['alpha'] * 1e6:.0f}", f"{result['bandwidth'] * 8e-6:.0f}",
        f"{result['bound'] * 1e3:.0f}", f"{median * 1e3:.0f}", f"{least * 1e3:.0f}",
        f"{result['bandwidth_bound'] / median:.1%}", f"{result['bound'] / median:.1%}", f"{result['load']:.1f}",
    ]  # fmt: skip


def summed_steps(record, name):
    """Mean over ranks of a phase or sum, a list over the epochs."""
    return [epoch["communication"][name]["mean"] for epoch in record["epochs"]]


def measure_overlap(lab, folder, ranks, compute_ms, bucket_mb):
    steps = 3  # of an epoch; each epoch gives one value
    words = [
        "train", "--backend", "timed", "--model", "resnet18", "--compute", compute_ms,
        "--batch-per-rank", 64, "--data-limit", steps * 64 * ranks, "--overlap", "on",
        "--epochs", lab.options.repetitions, "--bucket-mb", bucket_mb, "--check-replicas", "off",
        "--progress", "off", "--run-dir", folder, "--overwrite",
    ]  # fmt: skip
    lab.call("run", ranks, "--", PROGRAM, *words)
    record = json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))
    exposed = statistics.median(summed_steps(record, "exposed"))
    busy = statistics.median(summed_steps(record, "busy"))
    return {
        "ranks": ranks, "compute_ms": compute_ms, "all_reduce": busy,
        "bucket_mb": f"{bucket_mb} ({record['all_reduce']['bucket_mb']:g})" if bucket_mb == "auto" else bucket_mb,
        "exposed": exposed, "share": exposed / busy, "load": os.getloadavg()[0],
    }  # fmt: skip


def print_overlaps(results):
    heads = ("P", "compute, ms", "bucket, MB", "all-reduce, ms", "exposed, ms", "exposed share", "load")
    print_table(heads, (
        [one["ranks"], one["compute_ms"], one["bucket_mb"], f"{one['all_reduce'] * 1e3:.0f}",
         f"{one['exposed'] * 1e3:.1f}", f"{one['share']:.1%}", f"{one['load']:.1f}"] for one in results
    ))  # fmt: skip


def main():
    options = parse()
    lab = Lab(options)
    results = {"ring": [], "overlap": []}
    with tempfile.TemporaryDirectory(prefix="rueda-lab-benchmark-") as folder:
        for ranks in options.ranks:
            with lab.hosts(ranks):
                if "ring" in options.what:
                    results["ring"].append(measure_ring(lab, Path(folder), ranks))
                if "overlap" not in options.what:
                    continue
                for compute_ms in options.compute_ms or COMPUTE_MS.get(ranks, [1200]):
                    for bucket_mb in options.bucket_mb:
                        result = measure_overlap(lab, folder, ranks, compute_ms, bucket_mb)
                        results["overlap"].append(result)
    if results["ring"]:
        print_rings(results["ring"])
    if results["overlap"]:
        print_overlaps(results["overlap"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    start.run("benchmark", main, "see --help", needs=())
