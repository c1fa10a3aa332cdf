#!/usr/bin/env python3
"""Draws the training loss and the test accuracy of the trainings of jobs/check/real_images.py. Needs matplotlib.

usage: real_images_plot.py PICTURE <RESULTS      PICTURE ends in .png, .pdf or .svg

RESULTS is a JSON array of objects with contestant, accuracies (after each epoch) and losses (of each step).
"""

import sys
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reader import start  # noqa: E402
from reader.base.files import save_figure  # noqa: E402
from reader.charts.style import settings, style_at  # noqa: E402
from real_images_report import NAMES  # noqa: E402


def smoothed(losses, steps_per_epoch):
    """Means over tenths of an epoch, each at the middle of its steps: [(epochs, loss)]."""
    size = max(1, steps_per_epoch // 10)
    parts = [losses[first : first + size] for first in range(0, len(losses), size)]
    return [((i * size + len(part) / 2) / steps_per_epoch, fmean(part)) for i, part in enumerate(parts)]


def draw_losses(axes, trainings, look):
    """The mean over the seeds."""
    steps = len(trainings[0]["losses"]) // len(trainings[0]["accuracies"])
    lines = [smoothed(one["losses"], steps) for one in trainings]
    means = [(at[0][0], fmean(loss for _, loss in at)) for at in zip(*lines)]
    axes.plot(*zip(*means), color=look.colour, linestyle=look.dash, linewidth=1.8)
    axes.set_ylabel("training loss (log scale)")
    axes.set_yscale("log")


def draw_accuracies(axes, trainings, look, words, place):
    """A marker for each seed and a line through means. Contestants stand a little aside of each other (`place`)."""
    epochs = range(1, len(trainings[0]["accuracies"]) + 1)
    shift = 0.025 * len(epochs) * place
    columns = [[100 * one["accuracies"][epoch - 1] for one in trainings] for epoch in epochs]
    axes.plot(epochs, list(map(fmean, columns)), color=look.colour, linestyle=look.dash, linewidth=1.4)
    for epoch, values in zip(epochs, columns):
        axes.plot(len(values) * [epoch + shift], values, color=look.colour, marker=look.marker, linestyle="")
    axes.plot([], [], color=look.colour, marker=look.marker, linestyle=look.dash, label=words)
    axes.set_ylabel("test accuracy, %")


def draw(results, picture):
    import matplotlib
    from matplotlib import pyplot
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
    from reader.charts.chart import horizontal_grid

    with matplotlib.rc_context(settings(12)):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6))
        for i, (name, words) in enumerate(NAMES.items()):
            trainings = [one for one in results if one["contestant"] == name]
            draw_losses(left, trainings, style_at(i))
            draw_accuracies(right, trainings, style_at(i), words, i - 1)
        left.yaxis.set_major_locator(FixedLocator([0.05, 0.1, 0.2, 0.3, 0.5, 1, 2]))
        left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        left.yaxis.set_minor_locator(NullLocator())
        left.set_xlim(left=0)
        for axes in (left, right):
            axes.set_xlabel("epoch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            horizontal_grid(axes)
        right.legend(loc="lower right")
        figure.tight_layout()
        save_figure(figure, picture, dpi=150)


if __name__ == "__main__":
    start.run_on_input("real_images_plot", __doc__, draw,
                          "give what jobs/check/real_images.py hands on, and PICTURE.png, .pdf or .svg")
