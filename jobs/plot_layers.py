#!/usr/bin/env python3
"""Draws where the time of a run's layers goes, as `rueda train --profile-layers` wrote it: the passes that take
longest, and how much of each the device would need at its best. Needs matplotlib.

usage: plot_layers.py RUN.json PICTURE      PICTURE ends in .png or .pdf
"""

import json
import sys
from pathlib import Path

from reader import start

SHOWN = 30


def draw(axes, passes):
    from matplotlib.patches import Patch
    from reader.charts.chart import legend_below
    from reader.charts.style import LIGHT, MEASURED

    rows = [(f"{one['layer']} {one['pass']}", 1e3 * one["seconds"], 1e3 * (one["roof_seconds"] or 0)) for one in passes]
    names, times, best = zip(*rows[:SHOWN])
    axes.barh(range(len(names)), times, 0.75, color=LIGHT)
    axes.barh(range(len(names)), [min(both) for both in zip(times, best)], 0.75, color=MEASURED)
    axes.set_yticks(range(len(names)), names, fontsize="x-small")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(f"ms of a micro-batch (median); all other passes: {sum(row[1] for row in rows[SHOWN:]):.4g}")
    legend_below(axes, [Patch(color=MEASURED, label="what the roof allows"), Patch(color=LIGHT, label="beyond it")])


def main():
    if len(sys.argv) != 3 or Path(sys.argv[2]).suffix not in (".png", ".pdf"):
        sys.exit(__doc__)
    from reader.charts.chart import Chart, render
    from reader.base.files import read_regular, write_whole

    run = json.loads(read_regular(start.path_of(sys.argv[1])))
    passes = sorted(run["profile"]["passes"], key=lambda one: -one["seconds"])
    title = f"{run['model']['name']} on {run['ranks'][0]['device']}, {run['profile']['micro_batch']} images"
    height = 1.2 + 0.22 * min(len(passes), SHOWN)
    chart = Chart("layers", title, "", lambda axes: draw(axes, passes), height=height)
    write_whole(start.path_of(sys.argv[2]), render(chart.figure(), Path(sys.argv[2]).suffix[1:]))


if __name__ == "__main__":
    start.run("plot_layers", main, "write RUN.json with --profile-layers")
