"""NumPy and Pillow, for what the standard library cannot read: this Python's, the system's, or those of a virtual
environment that is made once."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from common import Fault, plain, say

PACKAGES = {"numpy": "numpy", "PIL": "pillow"}  # by module
PROMPT = "rueda-images"  # by which a virtual environment is known as made here
PATIENCE = 900  # seconds for a package index
STARTED_AGAIN = "RUEDA_DATA_PYTHON"


def _environment():
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "rueda" / "images"


def _ends_well(*command):
    """With nothing of the current folder (-I is in the command), and within a limit."""
    try:
        return subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _has(python, modules):
    return _ends_well(python, "-I", "-c", f"import {', '.join(modules)}")


def _require_own(folder):
    """Refuses to empty a folder that was not made here."""
    if not os.path.lexists(folder):
        return
    settings = folder / "pyvenv.cfg"
    if (folder.is_symlink() or not settings.is_file()
            or PROMPT not in settings.read_text(encoding="utf-8", errors="replace")):
        raise Fault(f"{plain(folder)} is in the way of a virtual environment with "
                    f"{' and '.join(PACKAGES.values())}: move it elsewhere, or give XDG_CACHE_HOME another value")


def _make(folder):
    _require_own(folder)
    say(f"makes a virtual environment with {' and '.join(PACKAGES.values())}: {plain(folder)}")
    for command in ((sys.executable, "-I", "-m", "venv", "--clear", "--prompt", PROMPT, folder),
                    (folder / "bin/python", "-I", "-m", "pip", "install", "-q", *PACKAGES.values())):
        if not _ends_well(*command):
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
