#!/usr/bin/env python3
"""Draws what `rueda report` wrote: charts, a page with everything, slides. Needs matplotlib and jinja2.

usage: plot_report.py REPORT_DIR [--slides] [--formats png,pdf]

Reads REPORT_DIR/report.json; writes REPORT_DIR/plots/*.png and *.pdf, REPORT_DIR/report.html and, with
--slides, REPORT_DIR/slides.html. docs/report.md tells what is drawn.
"""

import argparse

from reader import start
from reader.charts.report_file import read_report

FORMATS = ("png", "pdf")


def command_line(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], prog="plot_report")
    parser.add_argument("folder", metavar="REPORT_DIR", help="directory with report.json")
    parser.add_argument("--slides", action="store_true",
                        help="also writes slides.html, with a sheet for each task, to complete and print")
    parser.add_argument("--formats", default="png,pdf", help="formats of the charts in plots/ [png,pdf]")
    options = parser.parse_args(words)
    options.folder = start.path_of(options.folder)
    options.formats = [word for word in options.formats.split(",") if word]
    unknown = [word for word in options.formats if word not in FORMATS]
    if unknown:
        parser.error(f"--formats: '{unknown[0]}' is none of {', '.join(FORMATS)}")
    return options


def main(words=None):
    options = command_line(words)
    content = read_report(options.folder)
    from reader.page import output  # needs both

    try:
        output.write_all(options.folder, content, options.formats, options.slides)
    except OSError as error:
        where = error.filename or options.folder
        raise start.Unusable(f"{where} cannot be written ({error.strerror}); choose another folder") from None
    return 0


if __name__ == "__main__":
    start.run("plot_report", main, "write report.json again with `rueda report RUN_DIR... --out DIR`",
              needs=("matplotlib", "jinja2"))
