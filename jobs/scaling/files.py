"""JSON files that are there whole or not at all."""

import json
import os


def write_json(path, value):
    temporary = path.with_name(path.name + ".tmp{}".format(os.getpid()))
    temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(str(temporary), str(path))


def read_json(path):
    """What it holds, or None if it is missing or no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
