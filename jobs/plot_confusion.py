#!/usr/bin/env python3
"""Draws what `rueda evaluate --json` wrote: the confusion matrix. Shades are shares of the class, numbers
are images. Needs matplotlib.

usage: plot_confusion.py PICTURE <RECORD      PICTURE ends in .png, .pdf or .svg
"""

import json
import sys
from pathlib import Path

import plotting
from plotting.files import save_figure
from plotting.style import plain, settings


def draw(record, picture):
    import matplotlib
    from matplotlib import pyplot

    names = [plain(one["name"][:24]) for one in record["classes"]]
    counts = record["confusion"]
    shares = [[count / max(1, sum(row)) for count in row] for row in counts]
    with matplotlib.rc_context({**settings(11), "axes.spines.left": False, "axes.spines.bottom": False}):
        figure, axes = pyplot.subplots(figsize=(8, 7.4))
        image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row, line in enumerate(counts):
            for column, count in enumerate(line):
                colour = "white" if shares[row][column] > 0.5 else "#222222" if count else "#aaaaaa"
                axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=9)
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(length=0)
        axes.set_xlabel("predicted class")
        axes.set_ylabel("class")
        figure.colorbar(image, ax=axes, shrink=0.8, label="share of the class's images")
        words = f"accuracy {record['val_accuracy']:.2%} of {record['val_samples']:,} test images"
        axes.set_title(f"{plain(record['config']['model'])}: {words}")
        figure.tight_layout()
        save_figure(figure, picture, dpi=150)


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    draw(json.load(sys.stdin), Path(sys.argv[1]))


if __name__ == "__main__":
    plotting.run("plot_confusion", main, "draw what `rueda evaluate --json` wrote")
