"""NumPy and Pillow, for what the standard library cannot read: this Python's, the system's, or those of a virtual
environment that is made once."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from common import Fault, plain, say

PACKAGES = {"numpy": "numpy", "PIL": "pillow"}  # by module
STARTED_AGAIN = "RUEDA_DATA_PYTHON"


def _environment():
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rueda" / "images"


def _has(python, modules):
    probe = f"import {', '.join(modules)}"
    return subprocess.run([python, "-I", "-c", probe], stderr=subprocess.DEVNULL, check=False).returncode == 0


def _make(folder):
    say(f"makes a virtual environment with {' and '.join(PACKAGES.values())}: {plain(folder)}")
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [folder / "bin/python", "-m", "pip", "install", "-q", *PACKAGES.values()]):
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            raise Fault(f"{' and '.join(PACKAGES.values())} could not be installed into {plain(folder)}: install "
                        "python3-numpy and python3-pil, or run data.sh with a Python that has both")


def need(*modules):
    """Returns if this Python has the modules; else starts data.sh again with one that has them."""
    if all(importlib.util.find_spec(module) for module in modules):
        return
    python = _environment() / "bin/python"
    if os.environ.get(STARTED_AGAIN):
        raise Fault(f"{plain(sys.executable)} has lost {' or '.join(modules)}: remove {plain(_environment())}")
    if _has("/usr/bin/python3", modules):
        python = Path("/usr/bin/python3")
    elif not python.exists() or not _has(python, modules):
        _make(_environment())
    os.environ[STARTED_AGAIN] = "1"
    os.execv(python, [str(python), *sys.argv])
