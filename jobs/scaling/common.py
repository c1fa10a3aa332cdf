"""What all of scale.sh uses: messages, faults, and JSON files that are whole or absent."""

import json
import os


class Fault(Exception):
    """Bad input: printed in one line, exit code 2."""


def say(text):
    print(text, flush=True)


def counted(number, noun):
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")


def write_json(path, value):
    temporary = path.with_name(path.name + ".tmp{}".format(os.getpid()))
    temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(str(temporary), str(path))


def read_json(path):
    """The object that it holds, or None if it is missing or holds anything else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
