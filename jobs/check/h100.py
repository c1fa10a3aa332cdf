#!/usr/bin/env python3
"""Whether docs/results/h100.md says what the files beside it and the program say.

usage: jobs/check/h100.py PROGRAM [--page docs/results/h100.md] [--files docs/results/h100]
         [--expected tests/gpu/expected.json] [--write]

Recomputes each figure of the page: tables and sentences from the files, the plan from PROGRAM (`rueda summary
--roofline`). Any other figure on the page has to be marked by a dagger, as one that no file carries; they are listed.
The section of predictions is left out, as it is of what nobody has measured: its table is compared with expected.json.
Prints what differs; exit code 1 if something does. --write puts the tables as recomputed into the page; sentences are
changed by hand.
"""

import argparse
import itertools
import json
import re
import sys
from pathlib import Path

import h100_figures
import h100_predictions

ROOT = Path(__file__).resolve().parents[2]
PREDICTIONS = "What the next GPU call should show"
# What a figure may belong to without being one.
NAMES = re.compile(
    r"`[^`]*`|\]\([^)]*\)|ResNet-?\d+(V2)?\b|\b152V2|[HA]\d00\b|bf16|fp32|TF32|\bcuDNN 9\.\d+(\.\d+)?"
    r"|Open MPI 4\.1(?!\.)|MLPerf Training v4\.0|2026-11-26|4c3bc36f\w*|\b(at|batch) (128|224|256|512|1024)\b( pixels)?"
)
FIGURE = re.compile(r"\d[\d,.]*\d|\d")


def words(text):
    return " ".join(text.split())


def tables_of(text):
    """Header lines of the page's tables, and the numbers of the lines from the first row on to the last."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if number and re.fullmatch(r"[|:\- ]+", line) and lines[number - 1].startswith("|"):
            end = next((n for n in range(number + 1, len(lines)) if not lines[n].startswith("|")), len(lines))
            yield lines[number - 1], number + 1, end


def differences_of_tables(text, tables):
    lines = text.splitlines()
    found = {header: lines[begin:end] for header, begin, end in tables_of(text)}
    for header, rows in tables.items():
        if header not in found:
            yield f"there is no table {header}"
            continue
        for has, wants in itertools.zip_longest(found[header], rows, fillvalue="nothing"):
            if has != wants:
                yield f"page:       {has}\n  recomputed: {wants}"


def with_tables(text, tables):
    lines = text.splitlines()
    for header, begin, end in reversed(list(tables_of(text))):
        if header in tables:
            lines[begin:end] = tables[header]
    return "\n".join(lines) + "\n"


def prose(text, tables):
    """The page without its recomputed tables, commands, and predictions."""
    lines = text.splitlines()
    for header, begin, end in reversed(list(tables_of(text))):
        if header in tables:
            del lines[begin - 2 : end]
    kept = "\n".join(line for line in lines if not line.startswith("    "))
    return re.sub(rf"(?ms)^## {PREDICTIONS}$.*?(?=^## )", "", kept)


def differences_of_sentences(text, sentences):
    text = words(text)
    for sentence in sentences:
        if words(sentence) not in text:
            yield f"the page lacks: {words(sentence)}"


def figures_left(text, sentences):
    """What no file carries: figures with a dagger, and those that lack it."""
    text = words(text)
    for sentence in sorted(map(words, sentences), key=len, reverse=True):
        text = text.replace(sentence, " ... ")
    text = NAMES.sub("name", text)
    marked, bare = [], []
    for match in FIGURE.finditer(text):
        around = text[max(0, match.start() - 40) : match.end() + 20]
        (marked if re.match(r"( to [\d,]+| \w+)?†", text[match.end() :]) else bare).append(f"{match[0]}, in: {around}")
    return marked, bare


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/results/h100.md")
    parser.add_argument("--files", type=Path, default=ROOT / "docs/results/h100")
    parser.add_argument("--expected", type=Path, default=ROOT / "tests/gpu/expected.json")
    parser.add_argument("--write", action="store_true", help="put the recomputed tables into the page")
    given = parser.parse_args()
    try:
        figures = h100_figures.Figures(given.files, given.program)
    except ValueError as error:
        print(f"{given.files}: {error}", file=sys.stderr)
        return 1
    tables, sentences = figures.tables(), figures.sentences()
    text = given.page.read_text(encoding="utf-8")
    if given.write:
        text = with_tables(text, tables)
        given.page.write_text(text, encoding="utf-8")
    rest = prose(text, tables)
    marked, bare = figures_left(rest, sentences)
    wrong = [*differences_of_tables(text, tables), *differences_of_sentences(rest, sentences),
             *(f"neither recomputed nor marked †: {one}" for one in bare),
             *h100_predictions.differences(text, json.loads(given.expected.read_text("utf-8"))["figures"])]  # fmt: skip
    for one in marked:
        print(f"no file carries {one}")
    for one in wrong:
        print(f"{given.page}: {one}", file=sys.stderr)
    if wrong:
        print("tables are put into the page by --write, sentences by hand", file=sys.stderr)
    rows = sum(map(len, tables.values()))
    print(f"{rows} rows of tables and {len(sentences)} sentences recomputed: {len(wrong)} differ; {len(marked)} marked")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
