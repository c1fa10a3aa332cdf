"""What all of scale.sh uses: messages, faults, and JSON files that are whole or absent."""

import json
import os
import random
import stat

MOST_BYTES = 256 * 1024 * 1024  # of a file that is read whole


class Fault(Exception):
    """Bad input: printed in one line, exit code 2."""


def printable(text):
    """In one line, with what controls a terminal spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def say(text):
    print(printable(text), flush=True)


def counted(number, noun):
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")


def write_json(path, value):
    """Whole or not at all; under a name that nobody can have laid a link at."""
    if path.is_symlink():
        raise OSError(None, "it is a link", str(path))
    temporary = path.with_name(".rueda.tmp-{}".format(random.SystemRandom().getrandbits(64)))
    with temporary.open("x", encoding="utf-8") as file:
        file.write(json.dumps(value, indent=1) + "\n")
    os.replace(str(temporary), str(path))


def read_json(path):
    """The object that a regular file holds, or None if it is missing or holds anything else."""
    try:
        with os.fdopen(os.open(str(path), os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
                return None
            value = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def part_of(record, key):
    """The object `key` of a record that somebody may have changed; empty if it is something else."""
    part = record.get(key)
    return part if isinstance(part, dict) else {}


def number_in(record, key):
    """A number, or None."""
    value = record.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
