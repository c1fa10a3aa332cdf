"""How a program of ours starts and ends: in a safe folder, by the libraries that it needs, with one line for whatever
goes wrong."""

import errno
import importlib
import importlib.util
import io
import json
import os
import shutil
import signal
import sys
from pathlib import Path

LIBRARIES = ("numpy", "pandas", "jinja2", "matplotlib")
"""All that the reader may need; Debian calls the packages python3-NAME."""


class Unusable(Exception):
    """What is wrong, where, and the remedy, in one sentence."""

    code = 2  # with which the program ends


class Failed(Unusable):
    """The same of what went wrong although the input was right."""

    code = 1


class _Stopped(BaseException):
    """A signal asked the program to end."""


_FROM_OUTSIDE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_moved = False  # whether `run` left the current folder
_started_in = None  # the current folder when `run` began; None if there was none
_other_python = None  # where this Python lacks a library: the path of another


def path_of(word):
    """The file that a word of the command line names: an absolute path once `run` works in "/". Raises OSError."""
    if not _moved or os.path.isabs(word):
        return Path(word)
    if _started_in is None:
        raise OSError(errno.ENOENT, "the current folder is gone", word)
    return Path(_started_in, word)


def printable(words):
    """In one line, with what controls a terminal or hides text spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(words))


class _Output(io.TextIOWrapper):
    """Standard output in UTF-8, whatever the user's locale is, with what controls a terminal spelled out."""

    def write(self, text):
        return super().write("".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text))


def _leave_current_folder():
    """matplotlib reads a file of settings in the current folder, which can run code: nothing of ours looks there."""
    global _moved, _started_in
    try:
        _started_in = os.getcwd()
    except OSError:
        _started_in = None
    _moved = True
    os.chdir("/")


def _find_other_python():
    """That of RUEDA_PLOT_PYTHON, or the system's."""
    global _other_python
    found = shutil.which(os.environ.pop("RUEDA_PLOT_PYTHON", "/usr/bin/python3"))
    _other_python = found and os.path.abspath(found)


def _start_anew():
    """Runs the same words in the other Python, if there is one."""
    if not _other_python or os.path.realpath(sys.executable) == os.path.realpath(_other_python):
        return
    os.chdir(_started_in or "/")  # from where the words are seen
    flags = ["-E"] if sys.flags.ignore_environment else []
    if sys.flags.isolated:
        flags = ["-I"]
    os.execv(_other_python, [_other_python, *flags, *sys.argv])


def need(*libraries):
    """Imports these of LIBRARIES, matplotlib with its own defaults, so that charts are the same whatever settings and
    backend the user has. Where one is missing, starts the words again with another Python; call it before anything is
    written. Raises Unusable."""
    os.environ.update(MPLBACKEND="Agg", MATPLOTLIBRC=os.devnull)
    lacking = {}
    for name in libraries:
        try:
            importlib.import_module(name)
        except ImportError as error:
            lacking[name] = error
    if lacking:
        _start_anew()
        raise Unusable(
            f"needs {' and '.join(lacking)} ({next(iter(lacking.values()))}): install "
            f"{' '.join(f'python3-{one}' for one in lacking)}, or `pip install --user {' '.join(lacking)}`, or name a "
            "Python that has all in RUEDA_PLOT_PYTHON"
        )
    if "matplotlib" in libraries:
        sys.modules["matplotlib"].rcdefaults()


def has(library):
    """Whether `need` would find it in this Python."""
    return importlib.util.find_spec(library) is not None


def end(name, reason, code):
    """Ends the program `name` with one line."""
    if sys.stderr:
        print(f"{name}: {printable(reason)}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes what is left when it ends
    sys.exit(code)


def _end_by(number):
    """As the signal ends a program that knows nothing of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _stop(number, _):
    raise _Stopped(number)


def _begin():
    for number in _FROM_OUTSIDE:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _stop)
    if sys.stdout:  # none where it was closed
        buffered = sys.stdout.line_buffering
        sys.stdout = _Output(sys.stdout.detach(), encoding="utf-8", errors="backslashreplace", line_buffering=buffered)
    _find_other_python()
    _leave_current_folder()


def _run(main, needs):
    try:
        _begin()
        need(*needs)
        sys.exit(main())
    finally:
        if sys.stdout:
            sys.stdout.flush()


def run(name, main, remedy, needs=("matplotlib",)):
    """Runs the program `name` to its end. What goes wrong is said in one line, without a traceback."""
    code = 2
    try:
        _run(main, needs)
    except _Stopped as signal_:
        _end_by(signal_.args[0])
    except BrokenPipeError:
        _end_by(signal.SIGPIPE)
    except Unusable as error:
        reason, code = error, error.code
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else f"the output: {error.strerror or error}"
    except LookupError as error:
        reason = f"no {error}; {remedy}"
    except ValueError as error:
        reason = f"{error}; {remedy}"
    except Exception as error:  # what reads a file of unknown parts can meet anything
        reason = f"what it read cannot be used ({type(error).__name__}: {error}); {remedy}"
    end(name, reason, code)


def run_on_input(name, usage, draw, remedy):
    """`run` for a script that draws JSON from its standard input: draw(record, PICTURE)."""

    def main():
        if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
            sys.exit(usage)
        draw(json.load(sys.stdin), path_of(sys.argv[1]))

    run(name, main, remedy)
