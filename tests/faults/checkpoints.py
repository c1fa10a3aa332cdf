"""Checkpoints as a reader of their description finds them, without rueda: docs say what is in them."""

import json
import re
import zlib

NAME = re.compile(r"epoch-(\d+)-step-(\d+)$")
TEMPORARIES = (".tmp-", ".unfinished-")
NEEDED = {"weights.safetensors", "momentum.safetensors", "history.json"}
SUM = re.compile(rb'"manifest_crc32": "([0-9a-f]{8})"')


def damage(checkpoint):
    """What is wrong with it; empty if it is whole."""
    try:
        text = (checkpoint / "manifest.json").read_bytes()
        sums = list(SUM.finditer(text))
        if not sums:
            return "its manifest has no checksum"
        at = sums[-1]
        if zlib.crc32(text[: at.start(1)] + b"0" * 8 + text[at.end(1):]) != int(at[1], 16):
            return "its manifest is damaged"
        files = json.loads(text)["files"]
        if not NEEDED <= set(files):
            return f"its manifest lacks {NEEDED - set(files)}"
        for name, recorded in files.items():
            data = (checkpoint / name).read_bytes()
            if len(data) != recorded["bytes"] or zlib.crc32(data) != int(recorded["crc32"], 16):
                return f"{name} is damaged"
    except (OSError, ValueError, KeyError) as error:
        return str(error)
    return ""


def list_all(run_dir):
    """All that have a checkpoint's name, the latest first."""
    folder = run_dir / "checkpoints"
    found = [path for path in folder.iterdir() if NAME.match(path.name)] if folder.is_dir() else []
    return sorted(found, key=lambda path: place(path.name), reverse=True)


def place(name):
    """(epochs, steps)"""
    return tuple(int(number) for number in NAME.search(name).groups())


def steps_of(checkpoint, steps_per_epoch):
    epochs, steps = place(checkpoint.name)
    return epochs * steps_per_epoch + steps


def temporaries(run_dir):
    return sorted(str(path.relative_to(run_dir)) for path in run_dir.rglob("*")
                  if any(word in path.name for word in TEMPORARIES))
