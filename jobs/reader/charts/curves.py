"""How runs learned: loss or accuracy over epochs, of the training and of the test images."""

from collections import namedtuple

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .chart import Chart, horizontal_grid, legend_below, tick_text, value_axis
from ..base.text import cell_text, rate_text
from .report import curve_of, number
from .style import plain, style_at

Kind = namedtuple("Kind", "name title train test factor label")
"""name of files, title, names of the two curves in report.json, and their axis."""

LOSS = Kind("loss", "loss", "loss", "val_loss", 1, "loss (mean cross-entropy)")
ACCURACY = Kind("accuracy", "accuracy", "accuracy", "val_accuracy", 100, "accuracy, %")
KINDS = (LOSS, ACCURACY)

MOST = 8  # runs in a chart
_MARKED = 25  # points of a curve that each get a marker; of more, some do
_MARKERS = 8
_WIDE = 50  # a loss that falls so many times needs a logarithmic axis
_ALL = 102  # where the axis of shares ends


def _draw_curve(axes, points, factor, style, is_test):
    """The curve of the test images is thick and filled, that of the training images thin and hollow."""
    every = 1 if len(points) <= _MARKED else max(1, len(points) // _MARKERS)
    looks = {"linewidth": 2.2, "markersize": 7} if is_test else {"linewidth": 1.1, "markersize": 5, "linestyle": "--"}
    axes.plot(
        [epoch for epoch, _ in points], [factor * value for _, value in points], color=style.colour,
        marker=style.marker, markevery=every, markerfacecolor=style.colour if is_test else "white", **looks,
    )  # fmt: skip


def _curves(run, kind):
    """[(whether of the test images, points)] that are known."""
    both = [(is_test, curve_of(run, key)) for is_test, key in ((False, kind.train), (True, kind.test))]
    return [(is_test, curve.points) for is_test, curve in both if curve.points]


def draw(axes, members, kind):
    """`members`: (label, run) each, up to MOST."""
    known = [(label, _curves(run, kind)) for label, run in members]
    for i, (_, curves) in enumerate(known):
        for is_test, points in curves:
            _draw_curve(axes, points, kind.factor, style_at(i), is_test)
    points = [point for _, curves in known for _, line in curves for point in line]
    value_axis(axes, [kind.factor * value for _, value in points], kind.label, _WIDE if kind is LOSS else float("inf"))
    if kind is ACCURACY:
        axes.set_ylim(0, min(axes.get_ylim()[1], _ALL))
    _epoch_axis(axes, [epoch for epoch, _ in points])
    horizontal_grid(axes)
    legend_below(axes, _legend(known))


def _epoch_axis(axes, epochs):
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))
    axes.xaxis.set_major_formatter(FuncFormatter(tick_text))
    margin = max(0.5, 0.02 * (max(epochs) - min(epochs)))
    axes.set_xlim(min(epochs) - margin, max(epochs) + margin)
    axes.set_xlabel("epoch")


def _legend(known):
    """Each run, where there are several, and what thick and thin mean."""
    colour = "#333333" if len(known) > 1 else style_at(0).colour
    marker = "" if len(known) > 1 else style_at(0).marker
    entries = []
    if len(known) > 1:
        styles = [style_at(i) for i in range(len(known))]
        entries = [
            Line2D([], [], color=style.colour, marker=style.marker, linewidth=2.2, markersize=7, label=label)
            for style, (label, _) in zip(styles, known)
        ]
    shown = {is_test for _, curves in known for is_test, _ in curves}
    if True in shown:
        entries.append(Line2D([], [], color=colour, marker=marker, linewidth=2.2, markersize=7, label="test images"))
    if False in shown:
        entries.append(
            Line2D([], [], color=colour, marker=marker, linewidth=1.1, linestyle="--", markersize=5,
                   markerfacecolor="white", label="training images")
        )  # fmt: skip
    return entries


def _text(value, kind):
    return cell_text(value, "percent") if kind is ACCURACY else rate_text(value)


def _rows(members, kind):
    for label, run in members:
        for is_test, points in _curves(run, kind):
            whose = "test" if is_test else "training"
            values = [_text(value, kind) for _, value in (points[0], points[-1])]
            yield [f"{label}, {whose}" if label else whose, *values, f"{points[-1][0]:.0f}"]


def _remarks(members, kind):
    """What the curves are, and what is not drawn: epochs that were left out, and those without a finite value."""
    thinned = unknown = False
    for _, run in members:
        curves = [curve_of(run, key) for key in (kind.train, kind.test)]
        thinned |= any(curve.known > len(curve.points) for curve in curves)
        epochs = number(run["learning"].get("epochs")) or 0
        unknown |= curves[0].known < epochs
    remarks = ["Training images: means over the epoch, while they were trained on."]
    remarks += ["Of many epochs 500 are drawn, evenly spread."] * thinned
    return remarks + [f"The training {kind.title} was not a finite number in every epoch."] * unknown


def chart(name, title, section, members, kind, series=()):
    """The chart of up to MOST runs, or None where nothing of the kind is known of any."""
    members = [(label, run) for label, run in members if _curves(run, kind)]
    if not members:
        return None
    unit = ", %" if kind is ACCURACY else ""
    columns = [f"{kind.title}{unit}", "first", "last", "last epoch"]
    return Chart(
        name, title, section, lambda axes: draw(axes, [(plain(label), run) for label, run in members], kind),
        columns, list(_rows(members, kind)), _remarks(members, kind), series=series,
        topics=(f"learning: {kind.title}",),
    )  # fmt: skip


def charts(name, title, section, members, series=()):
    """Loss and accuracy of any number of runs, up to MOST in a chart."""
    groups = [members[i : i + MOST] for i in range(0, len(members), MOST)]
    for i, group in enumerate(groups):
        part = f", part {i + 1} of {len(groups)}" if len(groups) > 1 else ""
        for kind in KINDS:
            yield chart(
                f"{name}-{kind.name}" + (f"-{i + 1}" if i else ""), f"{title}: {kind.title} over epochs{part}",
                section, group, kind, series,
            )  # fmt: skip
