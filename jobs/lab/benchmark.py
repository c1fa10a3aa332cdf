#!/usr/bin/env python3
"""Measures the all-reduce over emulated hosts of this machine beside what their links allow.

usage: jobs/lab/benchmark.py [ring] [overlap] [--ranks 2,3,4] [--rate 1gbit] [--delay 50us]
                        [--compute-ms 800,1000] [--bucket-mb 25,5,2]
                        [--repetitions N] [--json FILE]

ring     the ring over one rank on each host at 45 MB, beside the bound from alpha and bandwidth
         measured in the same run
overlap  a timed run of resnet18 (--backend timed), whose gradients travel while backward waits: the
         share of the all-reduce that a step waits for; by default with backward passes that take
         about as long as the all-reduce, and a third longer
Without a word, both. Needs root and a build (jobs/setup.sh). The ranks run by `nice -n -20`, so that
other programs of the machine bend the figures less. (By `chrt -r 5` before this script they do not
at all, but Linux takes 50 ms of each second from real-time programs, and so from the links.) Prints
Markdown tables of medians, with the load of the machine. docs/ring.md, "On emulated hosts", tells
what they mean.
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
HOSTS = ROOT / "tests" / "lab" / "hosts.sh"
RING = ROOT / "build" / "tests" / "lab" / "ring_bound"
PROGRAM = ROOT / "build" / "rueda"
BYTES = 45_000_000
COMPUTE_MS = {2: [600, 800], 3: [800, 1050], 4: [900, 1200]}  # by ranks


def numbers(text):
    return [int(word) for word in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help="ring, overlap; both by default")
    parser.add_argument("--ranks", type=numbers, default=[2, 3, 4])
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--delay", default="50us")
    parser.add_argument("--compute-ms", type=numbers)
    parser.add_argument("--bucket-mb", type=numbers, default=[25, 5, 2])
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if unknown := set(options.what) - {"ring", "overlap"}:
        parser.error(f"unknown: {' '.join(sorted(unknown))}")
    options.what = options.what or ["ring", "overlap"]
    return options


class Lab:
    """Hosts with names of this process's own."""

    def __init__(self, options):
        self.options = options
        self.environment = {**os.environ, "LAB_NAME": f"bench{os.getpid()}-"}

    @contextlib.contextmanager
    def hosts(self, count):
        self.call("up", str(count), self.options.rate, self.options.delay)
        try:
            yield
        finally:
            self.call("down")

    def call(self, *words):
        done = subprocess.run(
            ["nice", "-n", "-20" if words[0] == "run" else "0", str(HOSTS), *words], env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"hosts.sh {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout


def measure_ring(lab, ranks):
    words = ("--repetitions", str(lab.options.repetitions), str(BYTES))
    told = json.loads(lab.call("run", str(ranks), "--", str(RING), *words).splitlines()[-1])
    told["load"] = os.getloadavg()[0]
    return told


def ring_row(told):
    median, least = statistics.median(told["seconds"]), min(told["seconds"])
    cells = [
        told["ranks"], f"{told['alpha'] * 1e6:.0f}", f"{told['bandwidth'] * 8e-6:.0f}",
        f"{told['bound'] * 1e3:.0f}", f"{median * 1e3:.0f}", f"{least * 1e3:.0f}",
        f"{told['bandwidth_bound'] / median:.1%}", f"{told['bound'] / median:.1%}",
        f"{told['load']:.1f}",
    ]  # fmt: skip
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def print_rings(results):
    print("| P | alpha, us | B, Mbit/s | bound, ms | median, ms | fastest, ms | of the bandwidth "
          "bound | of the bound | load |")  # fmt: skip
    print("|---:" * 9 + "|")
    for told in results:
        print(ring_row(told), flush=True)


def summed_steps(record, name):
    """Mean over ranks of a phase or sum, a list over the epochs."""
    return [epoch["communication"][name]["mean"] for epoch in record["epochs"]]


def measure_overlap(lab, folder, ranks, compute_ms, bucket_mb):
    steps = 3  # of an epoch; each epoch gives one value
    words = [
        "train", "--backend", "timed", "--model", "resnet18", "--compute-ms", compute_ms,
        "--batch-per-rank", 64, "--data-limit", steps * 64 * ranks, "--overlap", "on",
        "--epochs", lab.options.repetitions, "--bucket-mb", bucket_mb, "--check-replicas", "off",
        "--progress", "off", "--run-dir", folder, "--overwrite",
    ]  # fmt: skip
    lab.call("run", str(ranks), "--", str(PROGRAM), *(str(word) for word in words))
    record = json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))
    exposed = statistics.median(summed_steps(record, "exposed"))
    busy = statistics.median(summed_steps(record, "busy"))
    return {
        "ranks": ranks, "compute_ms": compute_ms, "bucket_mb": bucket_mb, "all_reduce": busy,
        "exposed": exposed, "share": exposed / busy, "load": os.getloadavg()[0],
    }  # fmt: skip


def print_overlaps(results):
    print("| P | compute, ms | bucket, MB | all-reduce, ms | exposed, ms | exposed share | load |")
    print("|---:" * 7 + "|")
    for told in results:
        print(f"| {told['ranks']} | {told['compute_ms']} | {told['bucket_mb']} | "
              f"{told['all_reduce'] * 1e3:.0f} | {told['exposed'] * 1e3:.1f} | {told['share']:.1%} | "
              f"{told['load']:.1f} |", flush=True)  # fmt: skip


def main():
    options = parse()
    lab = Lab(options)
    results = {"ring": [], "overlap": []}
    with tempfile.TemporaryDirectory(prefix="rueda-lab-benchmark-") as folder:
        for ranks in options.ranks:
            with lab.hosts(ranks):
                if "ring" in options.what:
                    results["ring"].append(measure_ring(lab, ranks))
                if "overlap" not in options.what:
                    continue
                for compute_ms in options.compute_ms or COMPUTE_MS.get(ranks, [1200]):
                    for bucket_mb in options.bucket_mb:
                        told = measure_overlap(lab, folder, ranks, compute_ms, bucket_mb)
                        results["overlap"].append(told)
    if results["ring"]:
        print_rings(results["ring"])
    if results["overlap"]:
        print_overlaps(results["overlap"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
