#!/usr/bin/env python3
"""Puts faults into the product one at a time, and says which of them the tests see.

usage: tests/mutations/mutate.py [--work DIR] [--only TEXT] [--table]

Works in a clone of HEAD (DIR/tree, by default below build-mutations/), so the checkout is left alone. Each result
is a line of DIR/results.jsonl. What is there already is not run again: the script may be stopped and started at any
time. --only runs the mutations whose file or wording has TEXT in it. --table prints the results as Markdown.
The list is mutations.py: file, wording before, wording after, suites. Not part of the test suite: it takes hours.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from mutations import MUTATIONS

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 900  # seconds a suite may take: a mutation that hangs is seen
ENVIRONMENT = {
    **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
}


def suite_command(suite):
    """Targets to build and the command to run: 'unit FILTER', 'mpi RANKS FILTER', 'reader NAME' or 'cli NAME
    [CASE]'."""
    kind, *words = suite.split()
    if kind == "unit":
        return ["tests/unit"], ["build/tests/unit", " ".join(words) or "~[.]"]
    if kind == "mpi":
        return ["tests/mpi"], ["mpiexec", "--bind-to", "none", "-n", words[0], "build/tests/mpi", *words[1:]]
    if kind == "reader":
        return ["rueda"], ["/usr/bin/python3", f"tests/reader/{words[0]}_test.py"]
    return ["rueda"], ["/usr/bin/python3", f"tests/cli/{words[0]}_test.py", "build/rueda", "mpiexec", *words[1:]]


def run(command, tree, limit=LIMIT):
    try:
        done = subprocess.run(command, cwd=tree, env=ENVIRONMENT, timeout=limit, capture_output=True, check=False)
        return done.returncode
    except subprocess.TimeoutExpired:
        return "timeout"


def prepare(tree):
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(tree)], check=True)
        subprocess.run(["meson", "setup", "build", "-Dcuda=disabled"], cwd=tree, check=True, capture_output=True)
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)


def passes(tree, suite):
    """Whether a suite builds and passes, or None if it does not compile."""
    targets, command = suite_command(suite)
    if run(["ninja", "-C", "build", *targets], tree, 3600) != 0:
        return None
    return run(command, tree) == 0


def try_one(tree, file, before, after, suites):
    """'seen by SUITE', 'survived', or why the mutation says nothing."""
    path = tree / file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(before) != 1:
        return f"not applied: the wording is there {text.count(before)} times"
    path.write_text(text.replace(before, after), encoding="utf-8")
    try:
        for suite in suites:
            passed = passes(tree, suite)
            if passed is None:
                return "does not compile"
            if not passed:
                return f"seen by {suite}"
        return "survived"
    finally:
        path.write_text(text, encoding="utf-8")


def known_results(file):
    if not file.exists():
        return {}
    records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {(r["file"], r["before"], r["after"]): r for r in records}


def table(results):
    rows = ["| file | before | after | result |", "|---|---|---|---|"]
    for r in results.values():
        before, after = (f"`{text}`".replace("|", "\\|") if text else "" for text in (r["before"], r["after"]))
        rows.append(f"| `{r['file']}` | {before} | {after} | {r['result']} |")
    return "\n".join(" ".join(row.split()) for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=ROOT / "build-mutations")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true", help="print the results so far as Markdown")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    file = options.work / "results.jsonl"
    known = known_results(file)
    if options.table:
        print(table({m[:3]: known[m[:3]] for m in MUTATIONS if m[:3] in known}))
        return 0
    prepare(options.work / "tree")
    todo = [m for m in MUTATIONS if m[:3] not in known and options.only in "".join(m[:3])]
    for suite in sorted({suite for *_, suites in todo for suite in suites}):
        passed = passes(options.work / "tree", suite)
        if not passed:
            sys.exit(f"mutate: {suite} {'does not build' if passed is None else 'fails'} without a fault")
    for name, before, after, suites in todo:
        begin = time.monotonic()
        result = try_one(options.work / "tree", name, before, after, suites)
        record = {"file": name, "before": before, "after": after, "result": result,
                  "seconds": round(time.monotonic() - begin)}
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(record) + "\n")
        print(f"{record['seconds']:5} s  {name}: {result}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
