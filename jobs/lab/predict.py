#!/usr/bin/env python3
"""Tests what rueda predict says of more ranks than it was fitted to, over emulated hosts.

Runs resnet18 (--backend timed) with one rank on each host and the ring, without and with overlap. Rounds
spread what else the machine does over all of them. Also records rueda bench all-reduce on the most ranks of
--fit-ranks. Then `rueda predict --cross-validate` is fitted to the runs on --fit-ranks alone: once with alpha
and beta from their buckets and once from the record. Prints its predictions and the medians over rounds as
Markdown. Needs root and a build (jobs/setup.sh). docs/results/prediction.md has the results.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmark import PROGRAM, Lab, lab_parser, numbers, print_table

STEPS = 3  # full ones of an epoch, before a half one
BATCH = 64


def parse():
    parser = lab_parser(__doc__)
    parser.add_argument("--ranks", type=numbers, default="1,2,3,4", help="numbers of hosts")
    parser.add_argument("--fit-ranks", type=numbers, default="1,2", help="those that the model is fitted to")
    parser.add_argument("--compute-ms", type=int, default=800, help="forward and backward of a step")
    parser.add_argument("--jitter", type=float, default=5, help="percent by which that varies")
    parser.add_argument("--bucket-mb", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4, help="of each run")
    parser.add_argument("--keep", type=Path, help="folder for the runs, to look at them later")
    return parser.parse_args()


def train(lab, folder, ranks, overlap, number):
    options = lab.options
    run = folder / f"p{ranks}-{overlap}-{number}"
    words = [
        "train", "--backend", "timed", "--model", "resnet18", "--all-reduce", "ring",
        "--compute-ms", options.compute_ms, "--compute-jitter", options.jitter,
        "--batch-per-rank", BATCH, "--data-limit", (2 * STEPS + 1) * BATCH * ranks // 2,
        "--epochs", options.epochs, "--overlap", overlap, "--bucket-mb", options.bucket_mb,
        "--seed", number, "--check-replicas", "off", "--progress", "off", "--run-dir", run,
        "--overwrite",
    ]  # fmt: skip
    lab.call("run", ranks, "--", PROGRAM, *words)


def bench(lab, file):
    words = ["--sizes", "100k,1M,5M,resnet18", "--algorithms", "ring", "--repetitions", "15"]
    ranks = max(lab.options.fit_ranks)
    lab.call("run", ranks, "--", PROGRAM, "bench", "all-reduce", *words, "--json", file)


def measure(lab, folder):
    hosts = max(lab.options.ranks + [2])
    with lab.hosts(hosts):
        bench(lab, folder / "ring.json")
        for number in range(1, lab.options.rounds + 1):
            for ranks in lab.options.ranks:
                for overlap in ("off", "on") if ranks > 1 else ("off",):
                    train(lab, folder / "runs", ranks, overlap, number)
            print(f"round {number}: load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)


def predict(folder, fit_ranks, *words):
    """The JSON of rueda predict."""
    file = folder / "predict.json"
    command = [
        PROGRAM, "predict", folder / "runs", "--cross-validate", "--fit-ranks",
        ",".join(map(str, fit_ranks)), "--ranks", "1", "--json", file, *words,
    ]  # fmt: skip
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return json.loads(file.read_text(encoding="utf-8"))


def medians(result):
    """By ranks, overlap and whether fitted: medians over the rounds of (measured, predicted) epochs."""
    groups = defaultdict(list)
    for row in result["measured"]["rows"]:
        pair = (row["measured_epoch_seconds"], row["predicted_epoch_seconds"])
        groups[row["ranks"], row["overlap"], row["fitted"]].append(pair)
    for key, pairs in sorted(groups.items(), key=lambda item: (item[0][1], item[0][0])):
        yield key, *(statistics.median(column) for column in zip(*pairs))


def print_table(title, result):
    print(f"\n{title}: " + ", ".join(
        f"{row['figure']} {row['text']}" for row in result["model"]["rows"][:3]))  # fmt: skip
    print()
    print_table(("P", "overlap", "fitted", "epoch, s", "predicted, s", "error"), (
        [f"{ranks:.0f}", overlap, fitted, f"{measured:.3f}", f"{predicted:.3f}", f"{predicted / measured - 1:+.1%}"]
        for (ranks, overlap, fitted), measured, predicted in medians(result)
    ))  # fmt: skip


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="rueda-lab-predict-") as temporary:
        folder = options.keep or Path(temporary)
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        measure(Lab(options), folder)
        print_table("Fitted to buckets", predict(folder, options.fit_ranks))
        result = predict(folder, options.fit_ranks, "--bench", folder / "ring.json")
        print_table("Fitted to a record of the bench", result)


if __name__ == "__main__":
    main()
