"""Makes the report on a study and its plots."""

import subprocess
import sys

from common import say
from launch import program_words, text_of
from presets import ROOT

LAYOUTS = ("book", "nyu")  # presets whose courses want their own tables
PLOTS = ROOT / "jobs" / "plot_report.py"


def make_report(options):
    """Returns the exit code: 0, or 1 if the report could not be made."""
    words = program_words(options) + ["report"]
    folder = options.out / "report"
    words += [str(options.out), "--out", str(folder)]
    layout = ["--layout", options.preset] if options.preset in LAYOUTS else []
    code = call(words + layout)
    if code != 0 and layout:
        code = call(words)  # too little was trained for the tables of the course
    if code != 0:
        print("scale.sh: the report failed ({}): {}".format(code, text_of(words)), file=sys.stderr)
        return 1
    if not options.no_plots:
        draw(folder)
    return 0


def draw(folder):
    """Draws the charts if there is matplotlib. The report is complete without them."""
    if not (folder / "report.json").exists():
        return
    python = next(filter(has_matplotlib, [sys.executable, "/usr/bin/python3"]), None)
    if python is None:
        say("no plots: no matplotlib here; draw them elsewhere with {} {}".format(PLOTS, folder))
    elif call([python, str(PLOTS), str(folder)]) != 0:
        say("no plots: {} failed".format(PLOTS))


def has_matplotlib(python):
    try:
        return subprocess.call([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def call(words):
    sys.stdout.flush()
    return subprocess.call(words)
