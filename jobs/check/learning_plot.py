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
from learning_report import Row  # noqa: E402


def draw_goal(axes, rows, base):
    """Measured as markers with the seeds' range, predicted as a line with the range of the noise scale's interval."""
    measured = [row for row in rows if row.images]
    sizes, images = [row.batch for row in measured], [row.images for row in measured]
    # A mean of one seed may be rounded to beside it.
    reach = [[max(0, row.images - row.fewest) for row in measured], [max(0, row.most - row.images) for row in measured]]
    axes.errorbar(sizes, images, yerr=reach, color=MEASURED, marker="o", linestyle="", capsize=3, label="measured")
    for column, dash, words in (("predicted", "--", "its epochs"), ("predicted_by_steps", ":", "its steps")):
        known = [(row.batch, getattr(row, column)) for row in rows if getattr(row, column)]
        if known:
            axes.plot(*zip(*known), color="black", linestyle=dash, label=f"predicted by a run of {base:,}, {words}")
    ranged = [(row.batch, row.predicted_low, row.predicted_high) for row in rows if row.predicted]
    if ranged:
        axes.fill_between(*zip(*ranged), color="#c4c4c4", alpha=0.5, linewidth=0)


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

    all_rows = [Row(*row) for row in table["rows"]]
    goals = list(dict.fromkeys(row.goal for row in all_rows if row.images))
    columns = max(1, (len(goals) + 1) // 2)
    with matplotlib.rc_context(settings(11)):
        figure = Figure(figsize=(1 + 3.2 * columns, 7.2))
        panels = figure.subplots(2, columns, sharex=True, sharey=True, squeeze=False)
        for axes, goal in zip(panels.flat, goals):
            rows = [row for row in all_rows if row.goal == goal]
            draw_goal(axes, rows, table["base"])
            axes.set_title(goal)
            finish(axes, [row.batch for row in rows])
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
    start.run_on_input("learning_plot", __doc__, draw,
                       "give what jobs/check/learning.py hands on, and PICTURE.png, .pdf or .svg")
