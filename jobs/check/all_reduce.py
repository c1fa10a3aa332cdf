#!/usr/bin/env python3
"""Tables of rueda's sums over ranks and of MPI_Allreduce, which take turns in one run for each MPI and number of ranks.

usage: all_reduce.py [--write] [--ranks 2,4] [--sizes LIST] [--seconds 10] NAME=MPIEXEC:RUEDA ...

Run it by jobs/check/all_reduce.sh, which builds a rueda for each MPI. --write puts the times into
docs/results/all-reduce.csv and some of their ratios into all-reduce.md, in place of those of an earlier call; the
sentences below them are written by hand.
"""

import argparse
import csv
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
TABLE = PAGE.with_suffix(".csv")
BEGIN, END = "<!-- figures of jobs/check/all_reduce.py -->", "<!-- end -->"
SHOWN = (64, 100_000, 40_000_000)  # bytes of the rows of the page
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


def rows(name, ranks, record):
    """A row for each size: its place, and the median of each sum in ms."""
    times = {}
    for one in record["results"]:
        times.setdefault(one["bytes"], {})[one["algorithm"]] = f"{1e3 * statistics.median(one['seconds']):.4g}"
    return [{"library": name, "ranks": ranks, "bytes": size, **of} for size, of in times.items()]


def all_rows(arguments):
    found = []
    for ranks in map(int, arguments.ranks.split(",")):
        for name, mpiexec, binary in arguments.mpis:
            if ranks > os.cpu_count() and "MPICH" in name:
                continue  # its waiting ranks keep their cores
            found += rows(name, ranks, measure(mpiexec, binary, ranks, arguments))
            print(f"{name}, {ranks} ranks: done", file=sys.stderr)
    return found


def read_table():
    with open(TABLE, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ratio(row, above, below):
    return f"{float(row[above]) / float(row[below]):.2f}" if row.get(above) and row.get(below) else "-"


def of_auto(row):
    """The time of the fastest sum divided by auto's."""
    best = min((word for word in ALGORITHMS if row.get(word)), key=lambda word: float(row[word]))
    return ratio(row, best, "auto")


def markdown(found, shown=SHOWN):
    """The ratios of rows with lengths of `shown`, a line for each number of ranks and length."""
    libraries = list(dict.fromkeys(row["library"] for row in found))
    head = ["ranks", "bytes", *(f"{name}: `mpi` / `ring`, / `shared`" for name in libraries), "best / `auto`, at least"]
    lines = [f"| {' | '.join(head)} |", "|" + "---:|" * len(head)]
    for ranks, size in dict.fromkeys((int(row["ranks"]), int(row["bytes"])) for row in found):
        if size not in shown:
            continue
        rows_of = {row["library"]: row for row in found if (int(row["ranks"]), int(row["bytes"])) == (ranks, size)}
        both = [f"{ratio(row, 'mpi', 'ring')}, {ratio(row, 'mpi', 'shared')}" if (row := rows_of.get(name)) else "-"
                for name in libraries]  # fmt: skip
        lines.append(f"| {' | '.join([str(ranks), f'{size:,}', *both, min(map(of_auto, rows_of.values()))])} |")
    return "\n".join(lines)


def base():
    """When and on what machine the rows were measured."""
    processor = describe_machine([])["processor"]
    return (f"{datetime.date.today()}, {os.cpu_count()} cores of {processor}, one thread a rank, "
            "medians of 15 to 500 sums.")


def page_with(page, text):
    """The page with other figures."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"all_reduce: {PAGE} has no place for figures between {BEGIN} and {END}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def write(found):
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["library", "ranks", "bytes", *ALGORITHMS], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    text = f"{base()}\n\n{markdown(read_table())}"
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mpis", nargs="+", type=parse_mpi, metavar="NAME=MPIEXEC:RUEDA")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--ranks", default="2,4", help="[%(default)s]")
    parser.add_argument("--sizes", default=SIZES, help="bytes [%(default)s]")
    parser.add_argument("--seconds", type=float, default=10, help="of a size [%(default)s]")
    arguments = parser.parse_args()
    found = all_rows(arguments)
    print(markdown(found, {row["bytes"] for row in found}))
    if arguments.write:
        write(found)


if __name__ == "__main__":
    main()
