#!/usr/bin/env python3
"""Disturbs host 1 of some emulated hosts for seconds and reads whom the run names (needs root).

usage: jobs/lab/first_wait.py [--ranks 4,5] [--times N] [FAULT ...]

  cut     the host's link is down for 3 s
  slow    what the host sends passes at 2 Mbit/s for 4 s (needs tc)

Without FAULT both. The timed backend trains over a ring, a rank on each host, 0.1 s a step. Prints a table: how often
the longest gap named host 1 with one of its neighbours (docs/metrics.md, "While it runs"), and how often nobody. Fails
where it named others. Needs a build (jobs/setup.sh).
"""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmark import PROGRAM, Lab, lab_parser, numbers, print_table, start

FAULTS = ("cut", "slow")
EARLY, LATE = 8, 25  # steps of an epoch of 45 between which the fault comes
LIMIT = 60  # seconds until then, and of a command on a host


def cut(host):
    for state, seconds in (("down", 3), ("up", 0)):
        subprocess.run(["ip", "-n", host, "link", "set", "net0", state], check=True, timeout=LIMIT)
        time.sleep(seconds)


def slow(host):
    tc = ["ip", "netns", "exec", host, "tc", "qdisc"]
    subprocess.run([*tc, *"add dev net0 root tbf rate 2mbit burst 16kb latency 5s".split()], check=True, timeout=LIMIT)
    time.sleep(4)
    subprocess.run([*tc, "del", "dev", "net0", "root"], check=True, timeout=LIMIT)


def has_begun(folder):
    try:
        return EARLY < json.loads((folder / "status.json").read_text(encoding="utf-8"))["step"] < LATE
    except (OSError, ValueError):
        return False


def train(lab, ranks, folder):
    lab.call("run", ranks, "--", PROGRAM, "train", "--backend", "timed", "--model", "resnet20", "--data", "synthetic",
             "--compute", 100, "--all-reduce", "ring", "--data-limit", 45 * ranks, "--global-batch", ranks,
             "--epochs", 2,
             "--eval-every", 0, "--stall-seconds", 50, "--run-dir", folder, "--progress", "off")  # fmt: skip


def who_was_named(lab, ranks, disturb, folder):
    """The two ranks, sorted; or nobody."""
    with lab.hosts(ranks), ThreadPoolExecutor(1) as pool:
        run = pool.submit(train, lab, ranks, folder)
        end = time.monotonic() + LIMIT
        while not run.done() and not has_begun(folder):
            if time.monotonic() > end:
                sys.exit(f"first_wait: no step within {LIMIT} s")
            time.sleep(0.1)
        disturb(lab.environment["LAB_NAME"] + "1")
        run.result()
    gap = json.loads((folder / "run.json").read_text(encoding="utf-8"))["longest_gap"] or {}
    first = gap.get("first_wait")
    return sorted((first["rank"], first["peer"])) if first else []


def main():
    parser = lab_parser(__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="cut, slow")
    parser.add_argument("--ranks", type=numbers, default="4,5", help="numbers of hosts")
    parser.add_argument("--times", type=int, default=5, metavar="N", help="of each")
    options = parser.parse_args()
    if unknown := set(options.faults) - set(FAULTS):
        parser.error(f"{min(unknown)!r} is no FAULT: give {' or '.join(FAULTS)}")
    lab, rows, wrong = Lab(options), [], 0
    for fault in options.faults or FAULTS:
        for ranks in options.ranks:
            named = []
            for _ in range(options.times):
                with tempfile.TemporaryDirectory(prefix="rueda-first-wait-") as folder:
                    named.append(who_was_named(lab, ranks, {"cut": cut, "slow": slow}[fault], Path(folder, "run")))
            others = [one for one in named if one and 1 not in one]
            wrong += len(others)
            rows.append([fault, ranks, len(named), sum(1 in one for one in named), named.count([]), len(others)])
    print_table(["host 1", "P", "runs", "named", "nobody", "others"], rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    start.run("first_wait", main, "see --help", needs=())
