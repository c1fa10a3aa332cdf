#!/usr/bin/env python3
"""Draws steps of a trace that `rueda train --trace FILE` wrote.

usage: plot_trace.py FILE [--step N] [--steps COUNT] [--out trace.png]

Each rank has three rows: the phases of the step; the buckets, from the moment when they are complete until
they are summed; the messages and additions of the all-reduce.
"""

import argparse
import json

from reader import start
from reader.base.files import read_regular, save_figure

ROWS = ["training", "buckets", "all-reduce"]
# They differ in lightness, so that they differ in greyscale.
COLOURS = {
    "load": "#f2f2f2", "copy": "#e0e0e0", "forward": "#a8c8e8", "loss": "#808080",
    "backward": "#3f77b0", "all_reduce": "#f0b030", "optimizer": "#305030", "other": "#ffffff",
    "add": "#702020", "reduce-scatter": "#d06050", "all-gather": "#f0c0a8",
}  # fmt: skip
PART = "transfer"  # of a message, without the wait for its sender
MESSAGE, BUCKET = "#d06050", ("#c8c8c8", "#989898")


def read_spans(path, first, count):
    """Spans of the chosen steps by rank and row, and the names of the ranks."""
    try:
        events = json.loads(read_regular(path))["traceEvents"]
        spans = [e for e in events if e["ph"] == "X" and first <= e["args"]["step"] < first + count
                 and e["name"] != PART]  # fmt: skip
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise start.Unusable(f"{path} is not a trace of rueda ({error}); write one with --trace FILE") from None
    if not spans:
        raise start.Unusable(f"{path} has no step {first}; see --trace-steps")
    return spans, names


def colour(span):
    """Of the bar of a span."""
    if span["cat"] == "buckets":
        return BUCKET[span["args"]["bucket"] % 2]
    return COLOURS.get(span["name"], MESSAGE)


def draw(axes, spans, origin, top):
    """The bars of one rank."""
    for span in spans:
        row = ROWS.index(span["cat"])
        begin, length = (span["ts"] - origin) / 1e3, span["dur"] / 1e3
        height = 0.8
        bottom = top + row - height / 2
        if row == 1:  # buckets wait in a queue and overlap: each is a little lower than the last
            height = 0.8 / 6
            bottom += height * (span["args"]["bucket"] % 6)
        axes.broken_barh([(begin, length)], (bottom, height), facecolors=colour(span), linewidth=0)


def legend(axes, spans, pyplot):
    """What the colours mean, in the order of the table above."""
    seen = {span["name"] for span in spans if span["cat"] != "buckets"}
    shown = [name for name in COLOURS if name in seen and name != "other"]
    shown += sorted(seen - set(COLOURS))
    handles = [
        pyplot.Rectangle((0, 0), 1, 1, facecolor=COLOURS.get(name, MESSAGE), edgecolor="#606060")
        for name in shown
    ]
    handles.append(pyplot.Rectangle((0, 0), 1, 1, facecolor=BUCKET[0], edgecolor="#606060"))
    labels = [name.replace("all_reduce", "exposed all-reduce") for name in shown]
    axes.legend(
        handles, [*labels, "bucket: complete to summed"], loc="upper center", ncols=4,
        bbox_to_anchor=(0.5, -0.12), frameon=False, fontsize=8,
    )  # fmt: skip


def main():
    """Reads the command line and writes the picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--step", type=int, default=2, help="first step to draw, from 1 [2]")
    parser.add_argument("--steps", type=int, default=1, help="number of steps to draw [1]")
    parser.add_argument("--out", default="trace.png")
    options = parser.parse_args()
    spans, names = read_spans(start.path_of(options.file), options.step, options.steps)

    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    ranks = sorted({span["pid"] for span in spans})  # from 1: rank 0 is process 1
    figure, axes = pyplot.subplots(figsize=(10, 1.4 + 1.0 * len(ranks)), dpi=150)
    origin = min(span["ts"] for span in spans)
    ticks, labels = [], []
    for i, rank in enumerate(ranks):
        top = i * (len(ROWS) + 0.6)
        draw(axes, [span for span in spans if span["pid"] == rank], origin, top)
        ticks += [top + row for row in range(len(ROWS))]
        labels += [f"{names.get(rank, f'rank {rank - 1}')}: {ROWS[0]}", *ROWS[1:]]
    axes.set_yticks(ticks, labels, fontsize=8)
    axes.invert_yaxis()
    last = max(span["args"]["step"] for span in spans)
    steps = f"steps {options.step} to {last}" if last > options.step else f"step {options.step}"
    axes.set_title(f"Where the time of {steps} goes: {len(ranks)} rank" + "s" * (len(ranks) > 1), fontsize=10)
    axes.set_xlabel("ms", loc="right")
    axes.spines[["top", "right"]].set_visible(False)
    legend(axes, spans, pyplot)
    save_figure(figure, start.path_of(options.out), bbox_inches="tight")
    print(start.printable(options.out))


if __name__ == "__main__":
    start.run("plot_trace", main, "draw what `rueda train --trace FILE` wrote, as .png, .pdf or .svg")
