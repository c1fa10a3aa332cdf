"""Makes the report on a study and its plots."""

import sys

import child_process
from attempts import GRACE_SECONDS
from claim import make_directory
from launch import program_words, text_of
from presets import LAYOUTS


def make_report(options):
    """Returns the exit code: 0, or 1 if the report could not be made."""
    make_directory(options.out / "report")
    words = program_words(options) + ["report"]
    words += [str(options.out), "--out", str(options.out / "report")]
    words += ["--plots", "off"] if options.no_plots else []
    layout = ["--layout", options.preset] if options.preset in LAYOUTS else []
    code = call(words + layout)
    if code != 0 and layout:
        code = call(words)  # too little was trained for the tables of the course
    if code != 0:
        print("scale.sh: the report failed ({}): {}".format(code, text_of(words)), file=sys.stderr)
        return 1
    return 0


def call(words):
    sys.stdout.flush()
    process = child_process.start(words)
    try:
        return process.wait()
    finally:
        child_process.end(process, GRACE_SECONDS)
