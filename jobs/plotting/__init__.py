"""Charts, report.html and slides from what `rueda report` wrote. Entry: jobs/plot_report.py."""

import json
import os
import sys


def _find_matplotlib():
    """Starts the script again with another Python where this one has no matplotlib: that of RUEDA_PLOT_PYTHON,
    or the system's."""
    try:
        import matplotlib
    except ImportError:
        other = os.environ.pop("RUEDA_PLOT_PYTHON", "/usr/bin/python3")
        if os.path.realpath(sys.executable) != os.path.realpath(other) and os.access(other, os.X_OK):
            os.execv(other, [other, *sys.argv])
        raise
    matplotlib.use("Agg")


def end(name, reason, code):
    """Ends the script `name` with one line."""
    print(f"{name}: {reason}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes what is left when it ends
    sys.exit(code)


def run(name, main, remedy):
    """Runs the script `name` to its end. What goes wrong is said in one line, without a traceback."""
    code = 2
    try:
        try:
            _find_matplotlib()
            sys.exit(main())
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        reason, code = "its output was closed before the end", 1
    except ImportError as error:
        reason = f"needs matplotlib ({error}): install python3-matplotlib, or name a Python in RUEDA_PLOT_PYTHON"
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except (ValueError, LookupError, TypeError) as error:
        reason = (f"no {error}" if isinstance(error, LookupError) else str(error)) + f"; {remedy}"
    end(name, reason, code)


def run_on_input(name, usage, draw, remedy):
    """`run` for a script that draws JSON from its standard input: draw(record, PICTURE)."""

    def main():
        if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
            sys.exit(usage)
        draw(json.load(sys.stdin), sys.argv[1])

    run(name, main, remedy)
