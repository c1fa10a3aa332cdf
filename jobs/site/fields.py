#!/usr/bin/env python3
"""Fills the lists of fields in docs/run-json.md from the files of runs.

usage: fields.py RUN_DIR...            lists fields that are missing, and takes out those that no file has
       fields.py --check RUN_DIR...    writes nothing; exit code 1 if a list is stale

A comment <!-- fields: FILE [PLACE] --> stands above each list, with a place such as epochs[].ranks[]. Each entry begins
with its fields in the order of the file, `first` ... `last` for a row of them, and may go on with their meaning. An
object without a list of its own has its fields in the entry that names it, or in another list.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "run-json.md"
HEAD = re.compile(r"<!-- fields: (\S+)(?: (\S+))? -->")
ENTRY = re.compile(r"- (`\w+`(?:(?:, | \.\.\. )`\w+`)*)")
OPEN = ("config", "versions", "startup")  # whose names depend on the options, the build and the backend


@dataclass
class List:
    """The lines from `begin` to `end` of the page are the entries of a list."""

    file: str
    place: str
    begin: int
    end: int
    entries: list = field(default_factory=list)  # of texts, continued lines joined

    def __str__(self):
        return f"{self.file} {self.place}".strip()


def lists_of(lines):
    found = []
    for number, line in enumerate(lines):
        if match := HEAD.fullmatch(line):
            found.append(List(match[1], match[2] or "", number + 1, number + 1))
        elif found and found[-1].end == number and line.startswith(("- ", "  ")):
            found[-1].end += 1
            if line.startswith("- "):
                found[-1].entries.append(line)
            else:
                found[-1].entries[-1] += " " + line.strip()
        elif found and found[-1].end == number and not found[-1].entries and not line:
            found[-1].begin = found[-1].end = number + 1
    return found


def objects_in(file, place):
    """The objects at a place of a file; those of a CSV file are its header."""
    if file.suffix == ".csv":
        with file.open(encoding="utf-8") as stream:
            return [dict.fromkeys(stream.readline().strip().split(","))]
    found = [json.loads(file.read_text(encoding="utf-8"))]
    for name in filter(None, place.split(".")):
        found = [one[name.removesuffix("[]")] for one in found if one.get(name.removesuffix("[]")) is not None]
        if name.endswith("[]"):
            found = [one for many in found for one in many if one is not None]
    return found


def names_in(objects):
    """All names, each once, in the order of the first object that has most of them."""
    return list(dict.fromkeys(name for one in sorted(objects, key=len, reverse=True) for name in one))


def listed_by(entry, names):
    """The fields at the beginning of an entry."""
    found = []
    for before, name in re.findall(r"(- |, | \.\.\. )`(\w+)`", ENTRY.match(entry)[0]):
        if before == " ... " and found[-1] in names and name in names:
            found += names[names.index(found[-1]) + 1 : names.index(name)]
        found.append(name)
    return found


class Fields:
    """The lists of a page beside the files of runs."""

    def __init__(self, text, folders):
        self.lines = text.splitlines()
        self.lists = lists_of(self.lines)
        self.objects = {str(one): [found for folder in folders
                                   for found in objects_in(Path(folder, one.file), one.place)]
                        for one in self.lists}  # fmt: skip

    def names(self, one):
        return names_in(self.objects[str(one)])

    def listed(self, one):
        return [name for entry in one.entries for name in listed_by(entry, self.names(one))]

    def problems(self):
        shapes = [set(self.names(one)) for one in self.lists]
        for one in self.lists:
            names, listed = self.names(one), self.listed(one)
            if not names:
                yield f"{one}: none of the runs has it"
                continue
            yield from (f"{one}: {name} is not listed" for name in names if name not in listed)
            yield from (f"{one}: {name} is in no file" for name in listed if name not in names)
            yield from (f"{one}: {name} is listed twice" for name in set(listed) if listed.count(name) > 1)
            for entry in one.entries:
                yield from self.unknown_inside(one, entry, shapes)

    def unknown_inside(self, one, entry, shapes):
        """Fields of objects that stand neither in the entry nor in a list."""
        named = set(re.findall(r"`(\w+)`", entry))
        for name in listed_by(entry, self.names(one)):
            values = [found.get(name) for found in self.objects[str(one)]]
            parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
            inside = set(names_in([part for part in parts if isinstance(part, dict)]))
            unnamed = inside - named
            if name not in OPEN and not any(unnamed <= shape for shape in shapes):
                yield f"{one}: {name} has the fields {', '.join(sorted(unnamed))}, which are not listed"

    def filled(self):
        """The page with the missing fields, and without those that no file has."""
        lines = list(self.lines)
        for one in reversed(self.lists):
            names, listed = self.names(one), self.listed(one)
            entries = [self.without(entry, [name for name in listed if name not in names]) for entry in one.entries]
            entries += [f"- `{name}`" for name in names if name not in listed]
            if entries != one.entries:
                lines[one.begin : one.end] = filter(None, entries)
        return "\n".join(lines) + "\n"

    @staticmethod
    def without(entry, names):
        head = ENTRY.match(entry)[0]
        kept = head
        for name in names:
            kept = re.sub(rf"(?<=- )`{name}`(, |$)|(, | \.\.\. )`{name}`", "", kept)
        return "" if kept.strip() == "-" else kept + entry[len(head) :]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("folders", metavar="RUN_DIR", nargs="+", help="directories of runs")
    words = parser.parse_args()
    fields = Fields(PAGE.read_text(encoding="utf-8"), words.folders)
    problems = list(fields.problems())
    print(*problems, sep="\n", end="\n" * bool(problems))
    if not words.check:
        PAGE.write_text(fields.filled(), encoding="utf-8")
    return 1 if words.check and problems else 0


if __name__ == "__main__":
    sys.exit(main())
