#!/usr/bin/env python3
"""Steps over emulated hosts beside the same steps on the simulated cluster.

Trains by --backend timed, one rank on each host, with each network, sum and number of hosts once in each round. The
simulator gets alpha and beta as rueda doctor measures them between these hosts, and the time that the optimizer and the
rest of a step took. Prints medians of steps as Markdown. Needs root and a build (jobs/setup.sh), with the simulator
(ninja -C build tests/simulated-cluster). On a machine with other work run it as `chrt -r 5 jobs/lab/simulated.py`.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmark import PROGRAM, ROOT, Lab, lab_parser, link_of, numbers, print_table, start

SIMULATOR = ROOT / "build" / "tests" / "simulated-cluster"
COMPUTE_MS = {"resnet20": 20, "resnet18": 300}
STEPS = {"resnet20": 40, "resnet18": 4}  # of an epoch
SUMS = ("ring", "doubling", "halving")
BATCH = 32


def parse():
    parser = lab_parser(__doc__)
    parser.add_argument("--ranks", type=numbers, default="2,3,4", help="numbers of hosts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3, help="of each run; the first does not count")
    return parser.parse_args()


def train(lab, folder, ranks, model, algorithm):
    """Seconds of the full steps after the first epoch, the slowest rank's, and of what follows their sums."""
    lab.call(
        "run", ranks, "--", PROGRAM, "train", "--backend", "timed", "--model", model, "--all-reduce", algorithm,
        "--compute", COMPUTE_MS[model], "--batch-per-rank", BATCH, "--data-limit", STEPS[model] * BATCH * ranks,
        "--epochs", lab.options.epochs, "--overlap", "on", "--check-replicas", "off", "--progress", "off",
        "--run-dir", folder / "run", "--overwrite",
    )  # fmt: skip
    record = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    epochs = record["epochs"][1:]
    steps = [epoch["full_step"] for epoch in epochs]
    rest = statistics.median(sum(step["phases"][phase]["mean"] for phase in ("optimizer", "other")) for step in steps)
    return statistics.median(epoch["full_step_seconds"]["median"] for epoch in epochs), rest


def simulate(ranks, model, algorithm, link, rest):
    alpha, bandwidth = link
    words = [SIMULATOR, "--model", model, "--ranks", str(ranks), "--all-reduce", algorithm, "--update", str(rest),
             "--compute", str(COMPUTE_MS[model] * 1e-3), "--alpha", str(alpha),
             "--beta", str(1 / bandwidth)]  # fmt: skip
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=600)
    return json.loads(done.stdout)["step_seconds"]


def measure(lab, folder, ranks):
    """By network and sum: times of the rounds; and the links that they measured."""
    times, links = {}, []
    with lab.hosts(ranks):
        for number in range(lab.options.rounds):
            begin = time.monotonic()
            links.append(link_of(lab, folder, ranks))
            for model in COMPUTE_MS:
                for algorithm in SUMS:
                    times.setdefault((model, algorithm), []).append(train(lab, folder, ranks, model, algorithm))
            print(f"{ranks} hosts, round {number + 1}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return times, tuple(map(statistics.median, zip(*links)))


def rows(ranks, times, link):
    for (model, algorithm), measured in times.items():
        real, rest = map(statistics.median, zip(*measured))
        simulated = simulate(ranks, model, algorithm, link, rest)
        yield [ranks, f"{link[0] * 1e6:.0f}", f"{link[1] * 8e-6:.0f}", model, COMPUTE_MS[model], algorithm,
               f"{real * 1e3:.1f}", f"{simulated * 1e3:.1f}", f"{simulated / real - 1:+.1%}"]  # fmt: skip


def main():
    options = parse()
    lab = Lab(options)
    found = []
    with tempfile.TemporaryDirectory(prefix="rueda-lab-simulated-") as folder:
        for ranks in options.ranks:
            found += rows(ranks, *measure(lab, Path(folder), ranks))
    heads = ("P", "alpha, us", "B, Mbit/s", "network", "compute, ms", "sum", "step, ms", "simulated, ms",
             "simulated / real")
    print_table(heads, found)


if __name__ == "__main__":
    start.run("simulated", main, "see --help", needs=())
