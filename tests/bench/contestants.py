"""Who takes part in the benchmark of frameworks, and how each is started."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# In the order of their turns. `layout` is that of the images and activations in memory.
CONTESTANTS = {
    "rueda": {"framework": "rueda", "ranks": 1},
    "rueda-2-ranks": {"framework": "rueda", "ranks": 2},
    "torch": {"framework": "torch", "layout": "contiguous"},
    "torch-channels-last": {"framework": "torch", "layout": "channels_last"},
    "torch-compile": {"framework": "torch", "layout": "channels_last", "compile": True},
    "keras": {"framework": "keras"},
}


def python_of(name):
    """The interpreter that has the contestant's framework, or None."""
    framework = CONTESTANTS[name]["framework"]
    if framework == "rueda":
        return sys.executable
    given = os.environ.get(f"RUEDA_{framework.upper()}_PYTHON")
    candidate = Path(given) if given else ROOT / "build-parity" / framework / "bin" / "python"
    return str(candidate) if os.access(candidate, os.X_OK) else None


def command_of(name):
    return [python_of(name), str(HERE / f"{CONTESTANTS[name]['framework']}_worker.py")]
