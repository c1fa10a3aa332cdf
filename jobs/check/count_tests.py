#!/usr/bin/env python3
"""Counts single test cases in the log of `meson test` and prints "N passed, N failed".

usage: count_tests.py [--also NAME=pass|fail]... [build/meson-logs/testlog.json]

Each line of the log is a JSON object for one program. The last summary in a program's output says how
many cases it ran: that of Catch2 (version 2), or a line "N passed, N failed". A program without a summary
counts as one case. A program that fails after a summary without failures (it crashed, or ran out of time)
counts as one failed case more. Exit code 1 if anything failed.
"""

import json
import re
import sys
from collections import Counter, defaultdict, namedtuple

Count = namedtuple("Count", "passed failed skipped")

ALL_PASSED = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)$")
SOME_FAILED = re.compile(r"^test cases:\s*(\d+)((?:\s*\|\s*\d+ [a-z ]+)+)$")
OWN_LINE = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
SKIPPED = re.compile(r"^skipped: (.+?)(?: \((\d+) cases?\))?$")
NO_REASON = "no reason given"
NOTHING_RAN = "No tests ran"
SHOWN = 6  # of the longest tests, and of programs in a line
GOOD_RESULTS = ("OK", "EXPECTEDFAIL")


def parts(text):
    """{'passed': 11, 'failed': 1} from '| 11 passed | 1 failed'."""
    words = (part.split(maxsplit=1) for part in text.split("|") if part.strip())
    return {word.strip(): int(number) for number, word in words}


def count_of_line(line):
    """The count in a summary line, or None for any other line."""
    if match := ALL_PASSED.match(line):
        return Count(int(match[1]), 0, 0)
    if match := SOME_FAILED.match(line):
        by_word = parts(match[2])
        skipped = by_word.get("skipped", 0)
        failed = by_word.get("failed", 0)
        return Count(int(match[1]) - failed - skipped, failed, skipped)
    if match := OWN_LINE.match(line):
        return Count(int(match[1]), int(match[2]), int(match[3] or 0))
    if line == NOTHING_RAN:
        return Count(0, 1, 0)
    return None


def count_of_output(output):
    """The last summary in a program's output, or None."""
    counts = (count_of_line(line.strip()) for line in reversed(output.splitlines()))
    return next((count for count in counts if count is not None), None)


def count_of_program(record):
    """Test cases of one line of the log."""
    result = record["result"]
    good = result in GOOD_RESULTS
    count = count_of_output(record.get("stdout") or "")
    if result == "SKIP":
        return Count(0, 0, max(count.skipped if count else 0, 1))
    if count is None:
        return Count(1, 0, 0) if good else Count(0, 1, 0)
    if not good and count.failed == 0:
        return count._replace(failed=1)
    return count


def reasons_of_program(record, skipped):
    """{reason: cases} of those that one line of the log left out, `skipped` in all."""
    found = Counter()
    for line in (record.get("stdout") or "").splitlines():
        if match := SKIPPED.match(line.strip()):
            found[match[1]] += int(match[2] or 1)
    known = sum(found.values())
    if len(found) == 1:  # a line without a number stands for all
        return {reason: skipped for reason in found}
    return found + Counter({NO_REASON: max(skipped - known, 0)})


def count_of_word(word):
    """NAME=pass or NAME=fail, for what was checked outside meson."""
    return Count(1, 0, 0) if word.endswith("=pass") else Count(0, 1, 0)


def read_log(path):
    with open(path, encoding="utf-8") as log:
        return [json.loads(line) for line in log if line.strip()]


def counts_of(arguments):
    """Yields (name, count, {reason: skipped cases}) of everything on the command line."""
    words = iter(arguments)
    for word in words:
        if word == "--also":
            word = next(words)
            yield word.split("=")[0], count_of_word(word), {}
            continue
        try:
            records = read_log(word)
        except (OSError, ValueError) as error:
            print(f"{word} cannot be read, so no test ran: {error}", file=sys.stderr)
            yield word, Count(0, 1, 0), {}
            continue
        print_slowest(records)
        for record in records:
            count = count_of_program(record)
            yield (record["name"].split(" / ")[-1], count,
                   reasons_of_program(record, count.skipped) if count.skipped else {})


def print_skipped(skipped):
    """A line for each reason, from {reason: {program: cases}}."""
    for reason, programs in sorted(skipped.items(), key=lambda one: -sum(one[1].values())):
        names = list(programs)
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        print(f"skipped {sum(programs.values())}: {reason} ({', '.join(names[:SHOWN])}{more})")


def print_slowest(records):
    longest = sorted(records, key=lambda record: -record["duration"])[:SHOWN]
    print("longest: " + ", ".join(f"{record['name'].split(' / ')[-1]} {record['duration']:.0f} s"
                                  for record in longest))


def main(arguments):
    total, reasons = Count(0, 0, 0), defaultdict(Counter)
    for name, count, why in counts_of(arguments):
        if count.failed:
            print(f"failed: {name} ({count.failed} of {sum(count)})")
        for reason, cases in why.items():
            reasons[reason][name] += cases
        total = Count(*map(sum, zip(total, count)))
    print_skipped(reasons)
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
