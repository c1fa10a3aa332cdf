#!/usr/bin/env python3
"""Counts lines and files of the project and fails above the budget in docs/style.md.

usage: jobs/size.py      in any folder of the project

A line of code is neither blank nor only a comment; a docstring is code. Prints a table by top folder and
what the budget limits. Exit code 1 if a limit is exceeded.
"""

import collections
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "docs" / "style.md"
LIMIT = re.compile(r"^\| ([a-z][^|]*) \| at (most|least) ([0-9.]+) \|$", re.MULTILINE)
PRODUCT = ("src", "include", "mpi", "cuda")
HASH_COMMENTS = (".py", ".sh", ".bash", "run")  # run: .ci/run
ENDINGS = (*HASH_COMMENTS, ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".def", ".h", ".hh", ".hpp", ".inc", ".ipp")
SMALL = 20  # lines, comments included

File = collections.namedtuple("File", "name code comment characters")


def files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        if name.endswith(ENDINGS) and (ROOT / name).is_file():
            yield counted(name)


def counted(name):
    marks = ("#",) if name.endswith(HASH_COMMENTS) else ("//", "/*", "*/", "* ")
    lines = (ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    comment = sum(line.startswith(marks) and not line.startswith("#!") for line in lines)
    return File(name, len(lines) - comment, comment, sum(map(len, lines)))


def row(name, members):
    return f"{name:10} {len(members):6} {sum(f.code for f in members):7} {sum(f.comment for f in members):8}"


def figures(tops, product):
    """What the budget limits, by the names of its rows."""
    code = {top: sum(f.code for f in members) for top, members in tops.items()}
    lines = sum(f.code + f.comment for f in product)
    return {
        "lines of the product": sum(f.code for f in product),
        "files of the product": len(product),
        f"files of the product with at most {SMALL} lines": sum(f.code + f.comment <= SMALL for f in product),
        "files of a product folder": max(collections.Counter(os.path.dirname(f.name) for f in product).values()),
        "lines of jobs": code["jobs"],
        "lines of tests": code["tests"],
        "comments of the product, %": round(100 * sum(f.comment for f in product) / lines, 1),
        "characters of a line, mean": round(sum(f.characters for f in product) / lines),
    }


def main():
    tops = collections.defaultdict(list)
    for file in files():
        tops[file.name.split("/")[0]].append(file)
    product = [file for top in PRODUCT for file in tops[top]]
    print(f"{'folder':10} {'files':>6} {'code':>7} {'comment':>8}")
    print(*(row(top, tops[top]) for top in sorted(tops)), row("product", product), sep="\n", end="\n\n")
    found = figures(tops, product)
    limits = {name: (word, float(limit)) for name, word, limit in LIMIT.findall(BUDGET.read_text(encoding="utf-8"))}
    if limits.keys() != found.keys():
        sys.exit(f"size: the rows of the table in {BUDGET} must be: {'; '.join(found)}")
    beyond = 0
    for name, value in found.items():
        word, limit = limits[name]
        bad = value > limit if word == "most" else value < limit
        print(f"{name:42} {value:>7}   at {word} {limit:g}{'   EXCEEDED' if bad else ''}")
        beyond += bad
    folders = collections.Counter(os.path.dirname(file.name) for file in product)
    print("widest folders: " + ", ".join(f"{folder} {number}" for folder, number in folders.most_common(5)))
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
