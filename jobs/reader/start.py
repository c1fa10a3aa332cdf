"""How a script of ours starts and ends: in a safe folder, with one line for whatever goes wrong."""

import errno
import json
import os
import shutil
import sys
from pathlib import Path


class Unusable(Exception):
    """What is wrong, where, and the remedy, in one sentence."""


_started_in = None  # the current folder when `run` began


def path_of(word):
    """The file that a word of the command line names, as an absolute path: `run` works in "/". Raises OSError."""
    if _started_in is None and not os.path.isabs(word):
        raise OSError(errno.ENOENT, "the current folder is gone", word)
    return Path(_started_in or "/", word)


def printable(words):
    """In one line, with what controls a terminal or hides text spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(words))


def _leave_current_folder():
    """matplotlib reads a file of settings in the current folder, which can run code: nothing of ours looks there."""
    global _started_in
    try:
        _started_in = os.getcwd()
    except OSError:
        _started_in = None
    os.chdir("/")


def _other_python():
    """That of RUEDA_PLOT_PYTHON, or the system's: its path, or None."""
    found = shutil.which(os.environ.pop("RUEDA_PLOT_PYTHON", "/usr/bin/python3"))
    return found and os.path.abspath(found)


def _import_matplotlib(other):
    """With its own defaults, so that charts are the same whatever settings and backend the user has. Starts the script
    again with another Python where this one has no matplotlib."""
    os.environ.update(MPLBACKEND="Agg", MATPLOTLIBRC=os.devnull)
    try:
        import matplotlib
    except ImportError:
        if other and os.path.realpath(sys.executable) != os.path.realpath(other):
            os.chdir(_started_in or "/")  # from where the words are seen
            os.execv(other, [other, *sys.argv])
        raise
    matplotlib.rcdefaults()


def end(name, reason, code):
    """Ends the script `name` with one line."""
    if sys.stderr:
        print(f"{name}: {printable(reason)}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes what is left when it ends
    sys.exit(code)


def _run(main):
    other = _other_python()
    _leave_current_folder()
    try:
        _import_matplotlib(other)
        sys.exit(main())
    finally:
        if sys.stdout:  # none where it was closed
            sys.stdout.flush()


def run(name, main, remedy):
    """Runs the script `name` to its end. What goes wrong is said in one line, without a traceback."""
    code = 2
    try:
        _run(main)
    except Unusable as error:
        reason = error
    except BrokenPipeError:
        reason, code = "its output was closed before the end", 1
    except ImportError as error:
        reason = f"needs matplotlib ({error}): install python3-matplotlib, or name a Python in RUEDA_PLOT_PYTHON"
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except LookupError as error:
        reason = f"no {error}; {remedy}"
    except ValueError as error:
        reason = f"{error}; {remedy}"
    except Exception as error:  # what reads a file of unknown parts can meet anything
        reason = f"what it read cannot be drawn ({type(error).__name__}: {error}); {remedy}"
    end(name, reason, code)


def run_on_input(name, usage, draw, remedy):
    """`run` for a script that draws JSON from its standard input: draw(record, PICTURE)."""

    def main():
        if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
            sys.exit(usage)
        draw(json.load(sys.stdin), path_of(sys.argv[1]))

    run(name, main, remedy)
