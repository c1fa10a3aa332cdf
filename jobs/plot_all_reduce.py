#!/usr/bin/env python3
"""Draws what `rueda bench all-reduce --json` wrote: bus bandwidth and time over size, a line for each
algorithm. The lines differ without colours too. Needs matplotlib.

usage: plot_all_reduce.py PICTURE <RECORD      PICTURE ends in .png, .pdf or .svg
"""

from reader import start
from reader.base.files import save_figure
from reader.base.text import size_text

# For each algorithm the same colour, marker and dash in every picture; light and dark ones alternate.
STYLES = {
    "ring": ("#003f7f", "o", "-"),
    "fixed": ("#6fa8dc", "s", "-"),
    "doubling": ("#a03000", "^", "--"),
    "halving": ("#b45f9c", "<", "--"),
    "hierarchical": ("#e69138", "v", "--"),
    "hierarchical-halving": ("#7f6000", ">", "-."),
    "shared": ("#1e6b1e", "D", "-."),
    "central": ("#93c47d", "P", "-."),
    "mpi": ("#000000", "x", ":"),
    "nccl": ("#8e7cc3", "*", ":"),
    "auto": ("#777777", "1", (0, (5, 1, 1, 1, 1, 1))),
}
OTHER = ("#444444", ".", "-")


def series(results, algorithm, key):
    """Sizes and values of one algorithm, where it has a value."""
    points = [(one["bytes"], one[key]) for one in results if one["algorithm"] == algorithm]
    points = [(size, value) for size, value in points if value is not None]
    return [size for size, _ in points], [value for _, value in points]


def time_text(seconds, _=None):
    for factor, unit in ((1, "s"), (1e-3, "ms")):
        if seconds >= 0.999 * factor:
            return f"{seconds / factor:g} {unit}"
    return f"{seconds / 1e-6:g} µs"


def title(record):
    hosts = len(set(record["hosts"]))
    words = [f"{record['ranks']} rank" + "s" * (record["ranks"] > 1), f"{hosts} host" + "s" * (hosts > 1)]
    words += [record["device"], f"to MPI: {record['transport']}", f"wire: {record['wire']}"]
    return ", ".join(words)


def draw_lines(axes, results, key):
    for algorithm in dict.fromkeys(one["algorithm"] for one in results):
        sizes, values = series(results, algorithm, key)
        colour, marker, dash = STYLES.get(algorithm, OTHER)
        label = "MPI_Allreduce" if algorithm == "mpi" else algorithm
        if sizes:
            axes.plot(sizes, values, color=colour, marker=marker, linestyle=dash, label=label,
                      linewidth=1.6, markersize=5)  # fmt: skip


def finish(axes, what):
    axes.set_xscale("log")
    axes.set_ylabel(what)
    axes.grid(True, which="major", color="#cccccc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw(record, picture):
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    from reader.charts.chart import LOG

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(8, 8.5), sharex=True)
    results = record["results"]
    draw_lines(above, results, "busbw_GBps")
    finish(above, "bus bandwidth, GB/s (median)")
    above.set_ylim(bottom=0)
    draw_lines(below, results, "median_seconds")
    finish(below, "time (median)")
    below.set_yscale("log")
    below.set_ylabel(below.get_ylabel() + LOG)
    below.yaxis.set_major_formatter(FuncFormatter(time_text))
    below.set_xlabel("size of the slice" + LOG)
    below.xaxis.set_major_locator(LogLocator(base=10))
    below.xaxis.set_minor_locator(NullLocator())
    below.xaxis.set_major_formatter(FuncFormatter(size_text))
    below.legend(frameon=False, ncol=2)
    above.set_title(title(record), fontsize=10)
    figure.tight_layout()
    save_figure(figure, picture, dpi=150)


if __name__ == "__main__":
    start.run_on_input("plot_all_reduce", __doc__, draw,
                          "give what `rueda bench all-reduce --json` wrote, and PICTURE.png, .pdf or .svg")
