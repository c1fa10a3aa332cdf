#!/usr/bin/env python3
"""Counts the project's code. Reports totals and how they changed; fails on what no reader should meet.

usage: jobs/size.py      in any folder of the project

A line of code is neither blank nor only a comment; a docstring is code. Prints a table by top folder with the
change since the newest tag, or since a day ago where there is no tag. Then come lambdas and ternaries in 1,000
lines of the product, and its rooms. Exit code 1 if a file, a function, a folder or a line of Python is beyond its
limit.
"""

import collections
import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import check_includes  # noqa: E402

PRODUCT = ("src", "include", "mpi", "cuda")
FILE_LINES, FUNCTION_LINES, FOLDER_FILES, PYTHON_COLUMNS = 300, 40, 28, 120
PRIVATE_HEADER_LINES = 120  # of a header that one file includes
HASH_COMMENTS = (".py", ".sh", ".bash", "run")  # run: .ci/run
ENDINGS = (*HASH_COMMENTS, ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".ipp", ".def",
           ".inc")

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'')
INCLUDE = re.compile(r'#include "([^"]+)"')
LAMBDA = re.compile(r"(?<![\w\])])\[[&=\w\s,*.]*\]\s*(\([^()]*(\([^()]*\)[^()]*)*\))?\s*(mutable|noexcept)?"
                    r"\s*(->[^{;]+)?\{")
TERNARY = re.compile(r"\s\?\s")
# A definition begins at the margin or one step into a class; clang-format closes it at the same column.
OPENING = re.compile(r"^(?! {3}|.*\[[&=\w, ]*\]\(| *(namespace|class|struct|enum|union|extern|using|return|if|for|"
                     r"while|switch|do|else|try|\}))(.*[)}]( const| noexcept| override| final| ->.*)*| {4,}:.*) \{$")

File = collections.namedtuple("File", "name text code comment")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False).stdout


def counted(name, text):
    marks = ("#",) if name.endswith(HASH_COMMENTS) else ("//", "/*", "*/", "* ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    comment = sum(line.startswith(marks) and not line.startswith("#!") for line in lines)
    return File(name, text, len(lines) - comment, comment)


def files():
    for name in git("ls-files").decode().splitlines():
        if name.endswith(ENDINGS) and (ROOT / name).is_file():
            yield counted(name, (ROOT / name).read_text(encoding="utf-8", errors="replace"))


def older_files():
    """Those of the commit that the trend is measured from, and its name; none in a shallow clone."""
    commit = git("describe", "--tags", "--abbrev=0", "HEAD^").decode().strip()
    commit = commit or git("rev-list", "-1", "--before=1 day ago", "HEAD").decode().strip()[:10]
    if not commit:
        return [], ""
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
        members = [member for member in archive if member.isfile() and member.name.endswith(ENDINGS)]
        return [counted(member.name, archive.extractfile(member).read().decode(errors="replace"))
                for member in members], commit


def by_top(all_files):
    tops = collections.defaultdict(list)
    for file in all_files:
        top = file.name.split("/")[0]
        tops[top].append(file)
        if top in PRODUCT:
            tops["product"].append(file)
    return tops


def print_table(tops, older, since):
    print(f"{'folder':10} {'files':>6} {'code':>7} {'comment':>8}   {'since ' + since if since else 'trend unknown'}")
    for top in sorted(tops, key=lambda top: (top == "product", top)):
        code = sum(file.code for file in tops[top])
        change = f"{code - sum(file.code for file in older[top]):+10}" if since else ""
        print(f"{top:10} {len(tops[top]):6} {code:7} {sum(file.comment for file in tops[top]):8}   {change}")


def function_lines(text):
    """The line and the length of each function of a C++ source, by its columns."""
    lines = text.splitlines()
    for begin, line in enumerate(lines):
        if not OPENING.match(line):
            continue
        first = begin  # the words before the brace may take several lines
        while first and not re.search(r"[;{}:]$|^\s*(//|#|$)", lines[first - 1]):
            first -= 1
        margin = re.match(" *", lines[first]).group()
        if len(margin) > 2 or "(" not in "".join(lines[first:begin + 1]):
            continue
        end = next((n for n in range(begin + 1, len(lines)) if lines[n].startswith(margin + "}")), begin)
        yield first + 1, end - first + 1


def long_lines(file):
    """The number and the length of each line of a Python file that is too long."""
    if file.name.endswith(".py"):
        for line, text in enumerate(file.text.split("\n"), 1):
            if len(text) > PYTHON_COLUMNS:
                yield line, len(text)


def beyond_limits(tops):
    """A sentence for each thing that is too large."""
    for file in tops["product"] + tops["jobs"]:
        if file.code > FILE_LINES:
            yield f"{file.name} has {file.code} lines of code; at most {FILE_LINES}"
    for file in tops["product"]:
        for line, length in function_lines(file.text):
            if length > FUNCTION_LINES:
                yield f"{file.name}:{line}: a function of {length} lines; at most {FUNCTION_LINES}"
    folders = collections.Counter(os.path.dirname(file.name) for file in tops["product"])
    for folder, number in folders.items():
        if number > FOLDER_FILES:
            yield f"{folder} has {number} files; at most {FOLDER_FILES}"
    for top in sorted(tops.keys() - {"product"}):
        for file in tops[top]:
            for line, length in long_lines(file):
                yield f"{file.name}:{line}: a line of {length} characters; at most {PYTHON_COLUMNS}"


def comment_share(product):
    comments = sum(file.comment for file in product)
    return 100 * comments / max(comments + sum(file.code for file in product), 1)


def print_density(product):
    """Where they are many, a reader has to hold more in mind than the names say."""
    lambdas = ternaries = 0
    includers = collections.defaultdict(set)
    for file in product:
        text = COMMENT.sub("", file.text)
        for header in INCLUDE.findall(text):
            includers[os.path.basename(header)].add(file.name)
        text = STRING.sub('""', text)
        lambdas += len(LAMBDA.findall(text))
        ternaries += len(TERNARY.findall(text))
    thousands = sum(file.code for file in product) / 1000
    private = [file for file in product if file.name.endswith((".hpp", ".cuh")) and file.code > PRIVATE_HEADER_LINES
               and len(includers[os.path.basename(file.name)]) == 1]
    print(f"in 1,000 lines of the product: {lambdas / thousands:.1f} lambdas, {ternaries / thousands:.1f} ternaries")
    print(f"comments of the product: {comment_share(product):.1f} %")
    floors = [rooms for rooms in check_includes.ROOMS if rooms not in (["main"], ["tests"])]
    contracts = sum(file.name.startswith("include/") for file in product)
    print(f"{sum(map(len, floors))} rooms on {len(floors)} floors, {contracts} contracts in include/")
    print(f"headers above {PRIVATE_HEADER_LINES} lines that one file includes: {len(private)}, with "
          f"{sum(file.code for file in private)} lines")


def main():
    tops = by_top(files())
    older, since = older_files()
    print_table(tops, by_top(older), since)
    print()
    print_density(tops["product"])
    faults = list(beyond_limits(tops))
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
