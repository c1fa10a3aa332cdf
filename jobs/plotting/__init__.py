"""Charts, report.html and slides from what `rueda report` wrote. Entry: jobs/plot_report.py."""

import os
import sys


def run(name, main, remedy):
    """Runs the script `name` to its end. What goes wrong is said in one line, without a traceback."""
    code = 2
    try:
        try:
            sys.exit(main())
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes what is left when it ends
        reason, code = "its output was closed before the end", 1
    except ImportError as error:
        reason = f"needs matplotlib ({error}): apt-get install python3-matplotlib, then /usr/bin/python3"
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except (ValueError, LookupError, TypeError) as error:
        reason = (f"no {error}" if isinstance(error, LookupError) else str(error)) + f"; {remedy}"
    print(f"{name}: {reason}", file=sys.stderr)
    sys.exit(code)
