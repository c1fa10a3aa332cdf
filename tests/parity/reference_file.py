"""How the stored files are written: JSON with one digest, one row of logits or one tensor a line."""

import json
from pathlib import Path


def rounded(error):
    """A measured error with the three digits that mean something."""
    return float(f"{error:.3g}")


def is_leaf(value):
    """Whether a value is written in one line."""
    if isinstance(value, dict):
        return not any(isinstance(v, dict) or is_table(v) for v in value.values())
    return not is_table(value)


def is_table(value):
    return isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value)


def lines(value, indent=0):
    """The text of a value that is not a leaf, or of a leaf."""
    if is_leaf(value):
        return json.dumps(value)
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{pad}{json.dumps(k)}: {lines(v, indent + 1)}" for k, v in value.items()]
        begin, end = "{}"
    else:
        items = [pad + lines(v, indent + 1) for v in value]
        begin, end = "[]"
    return begin + "\n" + ",\n".join(items) + "\n" + " " * indent + end


def write(folder, name, value):
    """Writes `value` to `name`.json in `folder`."""
    path = Path(folder, name + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(value) + "\n", encoding="utf-8", newline="\n")
