"""Bus bandwidth over the size of a message: every bucket of gradients, and the step's sum."""

from statistics import median

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from .chart import LOG, Chart, horizontal_grid, legend_below, value_axis
from ..base.text import bytes_text, gigabytes_text, size_text
from .quantity import is_hollow, ordered, ranks_of
from .report import entries, name_of, number
from .style import style_at

_WHOLE = "*"
_MOST_WITH_TRANSFER = 4  # points; more lines would be unreadable


def busbw(ranks, size, seconds):
    """GB/s; docs/metrics.md."""
    return size * 2 * (ranks - 1) / ranks / seconds / 1e9


def bucket_values(point, key):
    """[(bytes, GB/s)] of the buckets by size, from their median time `key`."""
    measured = point.get("communication")
    ranks = ranks_of(point)
    found = []
    for bucket in entries(measured, "buckets") if isinstance(measured, dict) else ():
        size, seconds = number(bucket.get("bytes")), number(bucket.get(key))
        if size and seconds and size > 0 and seconds > 0 and ranks > 1:
            found.append((size, busbw(ranks, size, seconds)))
    return sorted(found)


def whole_step(point):
    """(bytes, GB/s) of the sum of a step, or None."""
    measured = point.get("communication")
    if not isinstance(measured, dict):
        return None
    size, rate = number(measured.get("bytes_per_step")), number(measured.get("busbw_GBps"))
    return (size, rate) if size and rate and ranks_of(point) > 1 else None


def _draw_buckets(axes, values, style, **line):
    """A marker for each bucket, and a line through the medians of those of equal size."""
    if not values:
        return
    sizes = sorted({size for size, _ in values})
    middle = [median(rate for other, rate in values if other == size) for size in sizes]
    axes.plot(*zip(*values), color=style.colour, marker=style.marker, linestyle="", markersize=6)
    axes.plot(sizes, middle, color=style.colour, **line)


def _draw_point(axes, point, style, with_transfer):
    """Returns its entry of the legend and all it drew."""
    busy = bucket_values(point, "busy_median_seconds")
    transfer = bucket_values(point, "transfer_median_seconds") if with_transfer else []
    whole = whole_step(point)
    _draw_buckets(axes, busy, style, linestyle="-", linewidth=1.8)
    _draw_buckets(axes, transfer, style, linestyle="--", linewidth=1.2)
    if whole:
        axes.plot(*[[one] for one in whole], color=style.colour, marker=_WHOLE, linestyle="", markersize=15)
    label = f"P = {ranks_of(point)}" + ", more threads than cores" * is_hollow(point)
    entry = Line2D([], [], color=style.colour, marker=style.marker, linewidth=1.8, label=label)
    return entry, busy + transfer + ([whole] if whole else [])


def draw(axes, series):
    drawn = []
    handles = []
    points = [point for point in ordered(series) if _is_known(point)]
    for i, point in enumerate(points):
        entry, values = _draw_point(axes, point, style_at(i), len(points) <= _MOST_WITH_TRANSFER)
        handles.append(entry)
        drawn += values
    _size_axis(axes, [size for size, _ in drawn])
    value_axis(axes, [rate for _, rate in drawn], "bus bandwidth, GB/s")
    horizontal_grid(axes)
    legend_below(axes, handles + _explanations(points))


def _explanations(points):
    grey = {"color": "#555555"}
    known = []
    if any(bucket_values(point, "busy_median_seconds") for point in points):
        known.append(Line2D([], [], linestyle="-", label="busy", **grey))
    transfers = [bucket_values(point, "transfer_median_seconds") for point in points]
    if any(transfers) and len(points) <= _MOST_WITH_TRANSFER:
        known.append(Line2D([], [], linestyle="--", label="transfer alone", **grey))
    if any(whole_step(point) for point in points):
        known.append(Line2D([], [], linestyle="", marker=_WHOLE, markersize=13, label="sum of a step", **grey))
    return known


def _size_axis(axes, sizes):
    axes.set_xscale("log")
    if max(sizes) < 30 * min(sizes):
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        axes.xaxis.set_major_locator(LogLocator())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(size_text))
    axes.set_xlim(min(sizes) / 1.5, max(sizes) * 1.5)
    axes.set_xlabel("size of the message" + LOG)


def _is_known(point):
    return bool(bucket_values(point, "busy_median_seconds") or whole_step(point))


def chart(series, section):
    """The chart of a series, or None if no bandwidth is known of it."""
    points = [point for point in ordered(series) if _is_known(point)]
    if not points:
        return None
    rows = [[f"P = {ranks_of(point)}", *_row(point)] for point in points]
    return Chart(
        f"{series['file']}-busbw", f"{name_of(series)}: bus bandwidth", section,
        lambda axes: draw(axes, series), ["", "bytes of a step", "busbw, GB/s"], rows,
        ["busbw = bytes / time × 2(P − 1)/P. Points are buckets, by the median of their times."],
        series=[series], topics=("busbw", "bandwidth"),
    )  # fmt: skip


def _row(point):
    whole = whole_step(point)
    return [bytes_text(whole[0]), gigabytes_text(whole[1])] if whole else ["-", "-"]
