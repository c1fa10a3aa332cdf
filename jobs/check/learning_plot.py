#!/usr/bin/env python3
"""Draws the images that each batch needs beside what one run's noise scale predicts, from jobs/check/learning.py. Needs
matplotlib.

usage: learning_plot.py PICTURE <TABLE      PICTURE ends in .png, .pdf or .svg

TABLE is a JSON object with base, the batch of the run that predicts, and rows, lists in the order of
learning_report.COLUMNS.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reader import start  # noqa: E402
from reader.base.files import save_figure  # noqa: E402
from reader.charts.style import MEASURED, settings  # noqa: E402


def draw_goal(axes, rows, base):
    """Measured as markers with the seeds' range, predicted as a line with the range of the noise scale's interval."""
    measured = [row for row in rows if row[4]]
    sizes, images = [row[1] for row in measured], [row[4] for row in measured]
    # A mean of one seed may be rounded to beside it.
    reach = [[max(0, row[4] - row[5]) for row in measured], [max(0, row[6] - row[4]) for row in measured]]
    axes.errorbar(sizes, images, yerr=reach, color=MEASURED, marker="o", linestyle="", capsize=3, label="measured")
    for column, dash, words in ((7, "--", "its epochs"), (10, ":", "its steps")):
        known = [row for row in rows if row[column]]
        if known:
            axes.plot([row[1] for row in known], [row[column] for row in known], color="black", linestyle=dash,
                      label=f"predicted by a run of {base:,}, {words}")  # fmt: skip
    ranged = [row for row in rows if row[8] and row[9]]
    if ranged:
        axes.fill_between([row[1] for row in ranged], [row[8] for row in ranged], [row[9] for row in ranged],
                          color="#c4c4c4", alpha=0.5, linewidth=0)  # fmt: skip


def finish(axes, sizes):
    """Scales and ticks, for batches of these sizes."""
    from matplotlib.ticker import FuncFormatter, NullLocator
    from reader.charts.chart import horizontal_grid

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes)
    axes.xaxis.set_minor_locator(NullLocator())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.tick_params(axis="x", rotation=45)
    horizontal_grid(axes)


def draw(table, picture):
    import matplotlib
    from matplotlib.figure import Figure

    goals = list(dict.fromkeys(row[0] for row in table["rows"] if row[4]))
    columns = max(1, (len(goals) + 1) // 2)
    with matplotlib.rc_context(settings(11)):
        figure = Figure(figsize=(1 + 3.2 * columns, 7.2))
        panels = figure.subplots(2, columns, sharex=True, sharey=True, squeeze=False)
        for axes, goal in zip(panels.flat, goals):
            rows = [row for row in table["rows"] if row[0] == goal]
            draw_goal(axes, rows, table["base"])
            axes.set_title(goal)
            finish(axes, [row[1] for row in rows])
        for axes in panels[:, 0]:
            axes.set_ylabel("images to the goal (log scale)")
        for axes in panels.flat[len(goals):]:
            axes.set_axis_off()
        for axes in panels.flat[max(0, len(goals) - columns):len(goals)]:  # the lowest of each column
            axes.set_xlabel("images a step (log scale)")
            axes.tick_params(labelbottom=True)
        figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="lower center", ncol=3)
        figure.tight_layout(rect=(0, 0.05, 1, 1))
        save_figure(figure, picture, dpi=130)


if __name__ == "__main__":
    start.run_on_input("learning_plot", __doc__, draw, "give what jobs/check/learning.py hands on, and PICTURE.png, .pdf or .svg")
