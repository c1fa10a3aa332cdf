#!/usr/bin/env python3
"""Draws the manual's charts whose figures are kept in docs/results: those of README.md and of some results.

usage: pictures.py [--check]      --check draws nothing: exit code 1 where a picture is older than what draws it

docs/pictures/made.json has, of each picture, the hash of what it was drawn from and by, and its own. A study whose
report is to be shown in README.md becomes docs/results/cpu-study.json: it is the report.json of `rueda report`.
The other charts of the manual are drawn when their runs are made again: OF_RUNS says by which script. Needs matplotlib.
"""

import argparse
import csv
import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "jobs"), str(ROOT / "jobs" / "check")]

PICTURES = ROOT / "docs" / "pictures"
RESULTS = ROOT / "docs" / "results"
MADE = PICTURES / "made.json"
STUDY = RESULTS / "cpu-study.json"
CHARTS = "jobs/reader/charts/"
OF_CHARTS = [CHARTS + name for name in ("chart.py", "every_chart.py", "quantity.py", "report.py", "style.py")]
OF_LINES = [*OF_CHARTS, CHARTS + "lines.py"]
OF_RUNS = {"tutorial-*.png": "jobs/check/tutorial.sh", "why-*.png": "jobs/check/tutorial.sh",
           "real-images.png": "jobs/check/real_images.sh"}  # fmt: skip


def of_study(chart):
    """A function that draws the chart of this name of the study's report."""

    def draw(picture):
        from reader.charts.every_chart import charts_of
        from reader.base.files import save_figure

        report = json.loads(STUDY.read_text(encoding="utf-8"))
        [found] = [one for one in charts_of(report) if one.name == chart]
        save_figure(found.figure(), picture, dpi=160)

    return draw


def rows_of(table, numbers):
    """Of a CSV file, its head left out: None for an empty cell, a number where `numbers` makes one."""
    with open(table, encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))[1:]
    return [[numbers(cell) if cell else None for cell in line] for line in lines]


def number_or_text(cell):
    try:
        return int(cell) if cell.isdecimal() else float(cell)
    except ValueError:
        return cell


def draw_learning(picture):
    import learning_plot

    learning_plot.draw({"base": 128, "rows": rows_of(RESULTS / "learning.csv", number_or_text)}, picture)


def draw_simulated(picture):
    import simulated_cluster

    simulated_cluster.draw_picture(rows_of(RESULTS / "simulated-cluster.csv", number_or_text), picture)


# Path below docs: how it is drawn, from what, and by which files.
CHARTS_KEPT = {
    "pictures/cpu-study-speedup.png": (of_study("weak-speedup"), STUDY, OF_LINES),
    "pictures/cpu-study-phases.png": (of_study("resnet18-16-per-rank-ring-phases"), STUDY,
                                      [*OF_CHARTS, CHARTS + "phases.py"]),
    "pictures/learning-speedup.png": (of_study("resnet18-16-per-rank-ring-learning-speedup"), STUDY,
                                      [*OF_LINES, CHARTS + "learning.py"]),
    "pictures/learning.png": (draw_learning, RESULTS / "learning.csv",
                              ["jobs/check/learning_plot.py", CHARTS + "chart.py", CHARTS + "style.py"]),
    "results/simulated-cluster.png": (draw_simulated, RESULTS / "simulated-cluster.csv",
                                      ["jobs/check/simulated_cluster.py", CHARTS + "style.py"]),
}  # fmt: skip


def digest(*files):
    """One hash of the files' names and contents."""
    found = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        found.update(f"{file.name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def state_of(name, charts=None, root=ROOT):
    """What made.json has to have of a picture that is as new as what draws it."""
    _, table, rules = (charts or CHARTS_KEPT)[name]
    picture = root / "docs" / name
    return {"from": digest(table, *(root / rule for rule in rules)),
            "picture": digest(picture) if picture.is_file() else None}


def read_made(file=MADE):
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def stale(made, charts=None, root=ROOT):
    """The names of pictures that are not as `made` has them."""
    return [name for name in charts or CHARTS_KEPT if made.get(name) != state_of(name, charts, root)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="draw nothing")
    check = parser.parse_args().check
    old = stale(read_made())
    if check:
        for name in old:
            print(f"docs/{name} is older than what draws it: run jobs/site/pictures.py", file=sys.stderr)
        return 1 if old else 0
    for name in old:
        CHARTS_KEPT[name][0](ROOT / "docs" / name)
        print(f"docs/{name}")
    made = {name: state_of(name) for name in CHARTS_KEPT}
    MADE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
