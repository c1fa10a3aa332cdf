#!/usr/bin/env python3
"""Tests what rueda predict says of more ranks than it was fitted to, over emulated hosts.

Runs resnet18 (--backend timed) with one rank on each host and the ring, without and with overlap. Rounds
spread what else the machine does over all of them. Also records rueda bench all-reduce on the most ranks of
--fit-ranks. Then `rueda predict --cross-validate` is fitted to the runs on --fit-ranks alone: once with alpha
and beta from their buckets and once from the record. Prints its predictions and the medians over rounds as
Markdown. Needs root and a build (jobs/setup.sh). docs/predict.md has the results.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmark import PROGRAM, Lab, lab_parser, numbers, print_table, start

STEPS = 3  # full ones of an epoch, before a half one
BATCH = 64


def parse():
    parser = lab_parser(__doc__)
    parser.add_argument("--ranks", type=numbers, default="1,2,3,4", help="numbers of hosts")
    parser.add_argument("--fit-ranks", type=numbers, default="1,2", help="those that the model is fitted to")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--compute-ms", type=int, default=800, help="forward and backward of a step")
    parser.add_argument("--jitter", type=float, default=5, help="percent by which that varies")
    parser.add_argument("--bucket-mb", type=float, default=5)
    parser.add_argument("--steps", type=int, default=STEPS, help="full ones of an epoch, before a half one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4, help="of each run")
    parser.add_argument("--extra-p", action="store_true", help="also fit Extra-P (PyPI: extrap) to the same points")
    parser.add_argument("--keep", type=Path, help="folder for the runs; if it has some, these are predicted")
    return parser.parse_args()


def train(lab, folder, ranks, overlap, number):
    options = lab.options
    run = folder / f"p{ranks}-{overlap}-{number}"
    words = [
        "train", "--backend", "timed", "--model", options.model, "--all-reduce", "ring",
        "--compute", f"ms={options.compute_ms},jitter={options.jitter}",
        "--batch-per-rank", BATCH, "--data-limit", (2 * options.steps + 1) * BATCH * ranks // 2,
        "--epochs", options.epochs, "--overlap", overlap, "--bucket-mb", options.bucket_mb,
        "--seed", number, "--check-replicas", "off", "--progress", "off", "--run-dir", run,
        "--overwrite",
    ]  # fmt: skip
    lab.call("run", ranks, "--", PROGRAM, *words)


def bench(lab, file):
    words = ["--sizes", f"10k,100k,1M,{lab.options.model}", "--algorithms", "ring", "--repetitions", "15"]
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
        PROGRAM, "predict", folder / "runs", "--cross-validate", "--fit-ranks", ",".join(map(str, fit_ranks)),
        "--ranks", "1", "--json", file, "--extra-p", folder / "extra-p.jsonl", *words,
    ]  # fmt: skip
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, timeout=600)
    return json.loads(file.read_text(encoding="utf-8"))


def extra_p(file, fit_ranks):
    """Models of Extra-P (PyPI: extrap) of the epoch on so many ranks, by overlap. One rank has nothing to overlap,
    so its points belong to both."""
    from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file
    from extrap.modelers.model_generator import ModelGenerator

    models = {}
    for overlap in ("off", "on"):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        chosen = [
            line for line in lines if line["metric"] == "epoch_seconds" and line["params"]["p"] in fit_ranks
            and (line["callpath"].endswith(overlap) or line["params"]["p"] == 1)
        ]  # fmt: skip
        points = file.with_suffix(f".{overlap}")
        points.write_text("".join(json.dumps({**line, "callpath": "epoch"}) + "\n" for line in chosen))
        experiment = read_jsonlines_file(str(points))
        ModelGenerator(experiment, use_median=True).model_all()
        models[overlap] = next(iter(experiment.modelers[0].models.values())).hypothesis.function
    return models


def configurations(result):
    """By (overlap, ranks), in order: the rows of all rounds."""
    groups = defaultdict(list)
    for row in result["measured"]["rows"]:
        groups[row["overlap"], row["ranks"]].append(row)
    return dict(sorted(groups.items()))


def error_of(rows, what):
    """Of the medians over rounds."""
    measured, predicted = (statistics.median(row[f"{word}_{what}_seconds"] or 0 for row in rows)
                           for word in ("measured", "predicted"))  # fmt: skip
    return predicted / measured - 1 if measured else None


def print_predictions(title, result, others=None):
    print(f"\n{title}: " + ", ".join(f"{row['figure']} {row['text']}" for row in result["model"]["rows"][:3]) + "\n")
    shown, held_out = [], []
    percent = "{:+.1%}".format
    for (overlap, ranks), rows in configurations(result).items():
        epoch, sums = error_of(rows, "epoch"), error_of(rows, "sum")
        line = [f"{ranks:.0f}", overlap, rows[0]["fitted"]]
        line += [f"{statistics.median(row[f'{word}_epoch_seconds'] for row in rows):.3f}"
                 for word in ("measured", "predicted")]
        line += [percent(epoch), f"{rows[0]['plus_minus'] or 0:.1%}", percent(sums) if sums is not None else "-"]
        if others:
            measured = statistics.median(row["measured_epoch_seconds"] for row in rows)
            line.append(percent(float(others[overlap].evaluate(ranks)) / measured - 1))
        shown.append(line)
        if rows[0]["fitted"] == "no":
            held_out.append((abs(epoch), abs(sums), rows))
    heads = (("P", "overlap", "fitted", "epoch, s", "predicted", "error", "+-", "sums: error")
             + (("Extra-P",) if others else ()))
    print_table(heads, shown)
    singles = [row for *_, rows in held_out for row in rows]
    ratios = [(row["measured_epoch_seconds"] / row["predicted_epoch_seconds"], 1 + (row["plus_minus"] or 0))
              for row in singles]
    inside = sum(1 / most <= ratio <= most for ratio, most in ratios)
    epochs, sums, _ = zip(*held_out)
    print(f"\nNot fitted: epoch off by {statistics.mean(epochs):.1%} in the mean, {max(epochs):.1%} at most; sums by "
          f"{statistics.mean(sums):.1%}, {max(sums):.1%}; {inside} of {len(singles)} single runs in their interval.")


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="rueda-lab-predict-") as temporary:
        folder = options.keep or Path(temporary)
        if not (folder / "runs").exists():
            (folder / "runs").mkdir(parents=True)
            measure(Lab(options), folder)
        result = predict(folder, options.fit_ranks)
        others = extra_p(folder / "extra-p.jsonl", options.fit_ranks) if options.extra_p else None
        print_predictions("Fitted to buckets", result, others)
        result = predict(folder, options.fit_ranks, "--bench", folder / "ring.json")
        print_predictions("Fitted to a record of the bench", result)


if __name__ == "__main__":
    start.run("predict", main, "see --help", needs=())
