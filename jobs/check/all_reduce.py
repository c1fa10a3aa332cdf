#!/usr/bin/env python3
"""Tables of rueda's sums over ranks and of MPI_Allreduce, which take turns in one run for each MPI and number of ranks.

usage: all_reduce.py [--write] [--ranks 2,4] [--sizes LIST] [--seconds 10] NAME=MPIEXEC:RUEDA ...

Run it by jobs/check/all_reduce.sh, which builds a rueda for each MPI. --write puts the tables into
docs/results/all-reduce.md, in place of those of an earlier call; what they show stands in a section of its own there.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from figures import describe_machine  # noqa: E402

PAGE = ROOT / "docs" / "results" / "all-reduce.md"
HEADING = "## Three MPIs on one host\n"
NEXT = "## What the three MPIs show\n"  # before which the section comes
ALGORITHMS = ("ring", "doubling", "halving", "fixed", "shared", "auto", "mpi")
SIZES = "64,1k,10k,100k,1M,10M,40M,100M"
TIME_LIMIT = 600  # seconds, of one run


def parse_mpi(text):
    """'NAME=MPIEXEC:RUEDA' as its three parts."""
    name, _, rest = text.partition("=")
    mpiexec, _, binary = rest.partition(":")
    if not (name and mpiexec and os.access(binary, os.X_OK)):
        sys.exit(f"all_reduce: '{text}' is not NAME=MPIEXEC:RUEDA, or RUEDA is missing: run jobs/check/all_reduce.sh")
    return name, mpiexec, binary


def measure(mpiexec, binary, ranks, arguments):
    """What `rueda bench all-reduce` writes."""
    bind = "core" if ranks <= os.cpu_count() else "none"
    with tempfile.TemporaryDirectory(prefix="rueda-all-reduce-") as folder:
        file = Path(folder, "record.json")
        words = [
            ROOT / "jobs" / "env.sh", mpiexec, "-n", str(ranks), "--bind-to", bind, binary, "bench", "all-reduce",
            "--threads", "1", "--algorithms", ",".join(ALGORITHMS), "--sizes", arguments.sizes,
            "--seconds", str(arguments.seconds), "--json", str(file),
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
        if done.returncode:
            sys.exit(f"all_reduce: {binary} bench all-reduce failed: {done.stderr.strip()[:400]}")
        return json.loads(file.read_text(encoding="utf-8"))


def rows(name, record):
    """A row for each size."""
    times = {}
    for one in record["results"]:
        times.setdefault(one["bytes"], {})[one["algorithm"]] = statistics.median(one["seconds"])
    for size, of in times.items():
        cells = [name, f"{size:,}", *(f"{1e3 * of[word]:.4g}" for word in ALGORITHMS)]
        cells += [f"{of['mpi'] / of['ring']:.2f}", f"{of['mpi'] / of['shared']:.2f}"]
        cells.append(f"{min(of.values()) / of['auto']:.2f}")
        yield f"| {' | '.join(cells)} |"


def tables(arguments):
    """Markdown: a table for each number of ranks."""
    head = ["MPI", "bytes", *ALGORITHMS, "mpi / ring", "mpi / shared", "best / auto"]
    lines = []
    for ranks in map(int, arguments.ranks.split(",")):
        crowded = ranks > os.cpu_count()
        lines += ["", f"{ranks} ranks" + (f" on {os.cpu_count()} cores" if crowded else ", a core each") + ", ms:", ""]
        lines += [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
        for name, mpiexec, binary in arguments.mpis:
            if crowded and "MPICH" in name:
                continue  # its waiting ranks keep their cores
            lines += rows(name, measure(mpiexec, binary, ranks, arguments))
            print(f"{name}, {ranks} ranks: done", file=sys.stderr)
    return "\n".join(lines[1:]) + "\n"


def write(text):
    """The section, anew or for the first time."""
    page = PAGE.read_text(encoding="utf-8")
    before, found, rest = page.partition(HEADING)
    if not found:
        before, rest = page.partition(NEXT)[0], ""
    after = NEXT + (rest or page).partition(NEXT)[2]
    processor = describe_machine([])["processor"]
    intro = (
        f"In the documents since {datetime.date.today()}. {os.cpu_count()} cores of {processor}; one thread a rank;\n"
        "medians of 15 to 500 sums, all algorithms in turn:\n\n    jobs/check/all_reduce.sh --write\n\n"
    )
    PAGE.write_text(f"{before}{HEADING}\n{intro}{text}\n{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mpis", nargs="+", type=parse_mpi, metavar="NAME=MPIEXEC:RUEDA")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--ranks", default="2,4", help="[%(default)s]")
    parser.add_argument("--sizes", default=SIZES, help="bytes [%(default)s]")
    parser.add_argument("--seconds", type=float, default=10, help="of a size [%(default)s]")
    arguments = parser.parse_args()
    text = tables(arguments)
    print(text)
    if arguments.write:
        write(text)


if __name__ == "__main__":
    main()
