"""Asks the program for what only it computes, the cost model and the parts of a batch (docs/architecture.md): many
questions in one call."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from ..start import Failed, Unusable

_VERSION = 2  # of questions and answers
_LONGEST_WAIT = 600  # seconds, for thousands of runs and rings of thousands of ranks


def program():
    """The path of rueda: what RUEDA_PROGRAM names, the one that was built beside this checkout, or the one in PATH."""
    named = os.environ.get("RUEDA_PROGRAM")
    built = Path(__file__).resolve().parents[3] / "build" / "rueda"
    if named or os.access(built, os.X_OK):
        return named or str(built)
    found = shutil.which("rueda")
    if found is None or not os.path.isabs(found):
        raise Unusable("the reader needs the program rueda: put it into PATH, or name it in RUEDA_PROGRAM")
    return found


def _parsed(path, text):
    try:
        answers = json.loads(text)
    except ValueError:
        answers = None
    if not isinstance(answers, dict) or answers.get("rueda_forecast") != _VERSION:
        raise Failed(f"{path} is of another version than this reader: name its rueda in RUEDA_PROGRAM")
    return answers


def _answers_of(path, questions):
    try:
        text = json.dumps(questions, allow_nan=False).encode()
        done = subprocess.run([path, "forecast"], input=text, capture_output=True, timeout=_LONGEST_WAIT, check=False)
    except ValueError:
        raise Unusable("a time of the runs is out of range: leave out a run with such times") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{path} forecast did not end in {_LONGEST_WAIT} s: ask for fewer ranks or runs at once") from None
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}: name the program rueda in RUEDA_PROGRAM") from None
    said = done.stderr.decode("utf-8", "replace").strip().removeprefix("rueda: ")
    if done.returncode == 0:
        return _parsed(path, done.stdout)
    if done.returncode == Unusable.code:
        raise Unusable(said or f"{path} forecast was refused")
    raise Failed(f"{path} forecast failed: {said or f'exit code {done.returncode}'}")


def ask(questions):
    """The answers to questions of docs/architecture.md. Raises Unusable where the program refuses them."""
    return _answers_of(program(), {"rueda_forecast": _VERSION, **questions})
