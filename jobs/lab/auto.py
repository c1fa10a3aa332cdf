#!/usr/bin/env python3
"""How near --all-reduce auto comes to the best sum, on this host and on four emulated ones.

usage: auto.py [--ranks 2,4,8,16,32,64] [--links 1gbit/50us,...] [--rounds N] [--json FILE] [WHERE ...]

  one     ranks on this host
  four    the same numbers of ranks, from 4 on, over four emulated hosts, for each of --links (needs root)

Without WHERE both. `rueda bench all-reduce` takes turns between auto and all sums that auto may choose, on each number
of ranks once in each round, so auto measures its costs anew each time. Prints Markdown: for each length of a slice the
median time of the best sum divided by auto's; below 0.9 the best sum is named. docs/results/all-reduce.md has the
table. With more ranks than cores run it as `chrt -r 5 jobs/lab/auto.py`: a waiting rank then really leaves its core to
the others. Needs a build (jobs/setup.sh).
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmark import PROGRAM, ROOT, Lab, numbers, print_table, start

SUMS = {"one": "ring,doubling,halving,shared", "four": "ring,doubling,halving,hierarchical,hierarchical-halving"}
SIZES = {"1k": 1e3, "10k": 1e4, "100k": 1e5, "200k": 2e5, "1M": 1e6, "10M": 1e7}
# The bench compares every element of a sum with those of all ranks; beyond so many comparisons a row takes minutes.
MOST_COMPARED = 1.1e9
HOSTS = 4
NEAR = 0.9
LIMIT = 600  # seconds, of one run


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", nargs="*", metavar="WHERE", help="one, four [both]")
    parser.add_argument("--ranks", type=numbers, default="2,4,8,16,32,64", help="[%(default)s]")
    parser.add_argument("--links", type=lambda text: text.split(","), default="1gbit/50us,10gbit/20us,100mbit/1ms",
                        help="rate/delay of four [%(default)s]")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="[%(default)s]")
    parser.add_argument("--seconds", default="4", help="of each length and round [%(default)s]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every time")
    options = parser.parse_args()
    options.where = options.where or list(SUMS)
    if unknown := set(options.where) - set(SUMS):
        parser.error(f"{min(unknown)!r} is no WHERE: give {' or '.join(SUMS)}")
    return options


def bench(where, ranks, file, seconds):
    """The words of the program."""
    sizes = [word for word, size in SIZES.items() if ranks * ranks * size < MOST_COMPARED]
    return [PROGRAM, "bench", "all-reduce", "--threads", "1", "--algorithms", f"auto,{SUMS[where]}", "--sizes",
            ",".join(sizes), "--repetitions", "15", "--seconds", seconds, "--json", file]  # fmt: skip


def on_this_host(ranks, file, seconds):
    words = [ROOT / "jobs" / "env.sh", "mpirun", "-n", str(ranks), "--bind-to", "none"]
    words += bench("one", ranks, file, seconds)
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        sys.exit(f"auto: {PROGRAM} bench all-reduce failed on {ranks} ranks: {done.stderr.strip()[:400]}")


def times_of(records):
    """{bytes: {sum: seconds}}, medians of all rounds together."""
    found = {}
    for record in records:
        for one in record["results"]:
            found.setdefault(one["bytes"], {}).setdefault(one["algorithm"], []).extend(one["seconds"])
    return {size: {word: statistics.median(all_) for word, all_ in sums.items()} for size, sums in found.items()}


def cell(sums):
    """The best sum's time divided by auto's. That of the same sum may be a little more than 1."""
    auto = sums["auto"]
    best = min((word for word in sums if word != "auto"), key=sums.get)
    ratio = sums[best] / auto
    return f"{ratio:.2f}" if ratio >= NEAR else f"**{ratio:.2f}** {best}"


def choice_of(record):
    """What auto took in a round."""
    found = re.match(r"auto \((.*?)\), by", record["auto"])
    return found[1] if found else record["auto"]


class Measurement:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.records = {}  # of the rounds, by (where, ranks)

    def measure(self, where, ranks, run):
        file = self.folder / "record.json"
        begin = time.monotonic()
        run(ranks, file)
        self.records.setdefault((where, ranks), []).append(json.loads(file.read_text(encoding="utf-8")))
        print(f"{where}, {ranks} ranks: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        self.keep()

    def keep(self):
        """After each run, because a round takes minutes."""
        if self.options.json:
            kept = [{"where": where, "ranks": ranks, "records": records}
                    for (where, ranks), records in self.records.items()]  # fmt: skip
            self.options.json.write_text(json.dumps(kept) + "\n", encoding="utf-8")

    def round(self):
        if "one" in self.options.where:
            for ranks in self.options.ranks:
                self.measure("one host", ranks, lambda count, file: on_this_host(count, file, self.options.seconds))
        if "four" in self.options.where:
            for link in self.options.links:
                self.over_link(link)

    def over_link(self, link):
        self.options.rate, self.options.delay = link.split("/")
        lab = Lab(self.options)
        with lab.hosts(HOSTS):
            for ranks in self.options.ranks:
                if ranks >= HOSTS:
                    self.measure(link, ranks, lambda count, file: lab.call(
                        "run", count, "--", *bench("four", count, file, self.options.seconds)))  # fmt: skip

    def print(self):
        rows = []
        for (where, ranks), records in self.records.items():
            cells = [cell(sums) for sums in times_of(records).values()]
            cells += ["-"] * (len(SIZES) - len(cells))
            rows.append([where, ranks, *cells, "; ".join(dict.fromkeys(map(choice_of, records)))])
        print_table(["hosts", "P", *SIZES, "auto took"], rows)


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="rueda-auto-") as folder:
        measurement = Measurement(options, Path(folder))
        for _ in range(options.rounds):
            measurement.round()
    measurement.print()


if __name__ == "__main__":
    start.run("auto", main, "see --help", needs=())
