"""The axis of ranks, and scales that suit their values."""

import math

from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

RANKS = "ranks P"


def spaced(values, least):
    """Those of the ascending values whose base 2 logarithms are at least `least` apart; the last stays."""
    kept = []
    for value in reversed(values):
        if not kept or math.log2(kept[-1]) - math.log2(value) >= least:
            kept.append(value)
    return kept[::-1]


def tick_text(value, _=None):
    """A round number, without zeros behind it."""
    return f"{value:,.0f}" if value >= 10000 else f"{value:g}"


def powers_of_two_axis(axis, values, label):
    """A logarithmic x axis that shows the values themselves."""
    values = sorted(set(values))
    axis.axes.set_xscale("log", base=2)
    span = math.log2(values[-1] / values[0])
    axis.set_major_locator(FixedLocator(spaced(values, max(span, 1) / 14)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(tick_text))
    axis.set_label_text(label)
    margin = max(0.15, 0.04 * span)
    axis.axes.set_xlim(values[0] * 2**-margin, values[-1] * 2**margin)


def value_axis(axes, values, label, wide=20):
    """Linear from 0; logarithmic where all are positive and the largest is more than `wide` times the
    least."""
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
    positive = [value for value in values if value > 0]
    if positive and len(positive) == len(values) and max(positive) > wide * min(positive):
        logarithmic(axes)
        return
    axes.set_ylim(min(0, *values, 0) * 1.12, max([*values, 0]) * 1.12 or 1)


def logarithmic(axes):
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
