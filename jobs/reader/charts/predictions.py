"""What `rueda predict` said, and what was measured."""

from matplotlib.lines import Line2D

from .chart import RANKS, Chart, horizontal_grid, legend_below, powers_of_two_axis, value_axis
from ..base.text import shown_seconds
from .quantity import EPOCH_TIME, scale
from .report import entries, number, text
from .style import styles_for

PREDICTED = "#d55e00"
# Of measured points: those that the model was fitted to, and others, which say whether it holds.
_MEASURED = {"yes": ("#00305e", "o", "measured, fitted to"), "no": ("#56b4e9", "D", "measured, not fitted to")}


def _pairs(rows, key):
    """[(ranks, seconds)] by ranks, of the rows that know both."""
    known = [(number(row.get("ranks")), number(row.get(key))) for row in rows]
    return sorted((int(ranks), seconds) for ranks, seconds in known if ranks and ranks >= 1 and seconds is not None)


def _ranges(rows, key, half_key):
    """[(ranks, value, low, high)] of the rows that know how sure they are: `half_key` is a share s, and the interval
    goes from value / (1 + s) to value (1 + s)."""
    found = []
    for row in rows:
        half = number(row.get(half_key))
        if half is not None and half >= 0:
            found += [(ranks, value, value / (1 + half), value * (1 + half)) for ranks, value in _pairs([row], key)]
    return sorted(found)


def forecasts_of(prediction):
    """[(title, [(ranks, seconds of an epoch)], ranges of these)]: the forecast, and those of each what-if."""
    tables = {key: one for key, one in prediction.items() if key.startswith("forecast") and isinstance(one, dict)}
    found = []
    for key, one in tables.items():
        rows = entries(one, "rows")
        ranges = _ranges(rows, "epoch_seconds", "epoch_plus_minus")
        found.append((text(one.get("title")) or key, _pairs(rows, "epoch_seconds"), ranges))
    return [one for one in found if one[1]]


def measured_rows(prediction):
    """Rows that hold both a measured and a predicted epoch."""
    table = prediction.get("measured")
    rows = entries(table, "rows") if isinstance(table, dict) else []
    return [row for row in rows if _pairs([row], "measured_epoch_seconds") and _pairs([row], "predicted_epoch_seconds")]


def _draw_measured(axes, rows, factor):
    """Returns the entries of the legend."""
    handles = []
    for fitted, (colour, marker, label) in _MEASURED.items():
        members = [row for row in rows if (row.get("fitted") != "no") == (fitted == "yes")]
        pairs = _pairs(members, "measured_epoch_seconds")
        if pairs:
            ranks, seconds = zip(*pairs)
            look = {"color": colour, "marker": marker, "linestyle": "", "markersize": 8}
            axes.plot(ranks, [factor * one for one in seconds], **look)
            handles.append(Line2D([], [], label=label, **look))
    return handles


def _draw_predicted(axes, rows, factor):
    ranks, seconds = zip(*_pairs(rows, "predicted_epoch_seconds"))
    look = {"color": PREDICTED, "marker": "_", "linestyle": "", "markersize": 17, "markeredgewidth": 2.4}
    axes.plot(ranks, [factor * one for one in seconds], **look)
    for at, value, low, high in _ranges(rows, "predicted_epoch_seconds", "plus_minus"):
        ends = [[factor * (value - low)], [factor * (high - value)]]
        axes.errorbar([at], [factor * value], yerr=ends, fmt="none", ecolor=PREDICTED, capsize=4)
    return [Line2D([], [], label="predicted for it", **look)]


def _draw_forecasts(axes, forecasts, factor):
    """Lines, the first in the colour of what was predicted."""
    handles = []
    others = styles_for([{}] * len(forecasts))
    for i, (title, pairs, ranges) in enumerate(forecasts):
        ranks, seconds = zip(*pairs)
        colour, dash = (PREDICTED, "--") if i == 0 else (others[i].colour, others[i].dash)
        look = {"color": colour, "linestyle": dash, "linewidth": 1.8}
        axes.plot(ranks, [factor * one for one in seconds], **look)
        if ranges:
            at, _, low, high = zip(*ranges)
            axes.fill_between(at, [factor * one for one in low], [factor * one for one in high], color=colour,
                              alpha=0.15, linewidth=0)
        handles.append(Line2D([], [], label=title, **look))
    return handles


def draw(axes, prediction):
    rows, forecasts = measured_rows(prediction), forecasts_of(prediction)
    pairs = [pair for _, line, _ in forecasts for pair in line]
    pairs += [(ranks, end) for _, _, ranges in forecasts for ranks, _, *ends in ranges for end in ends]
    pairs += _pairs(rows, "measured_epoch_seconds") + _pairs(rows, "predicted_epoch_seconds")
    factor, label = scale(EPOCH_TIME, [seconds for _, seconds in pairs])
    handles = _draw_forecasts(axes, forecasts, factor) + _draw_measured(axes, rows, factor)
    handles += _draw_predicted(axes, rows, factor) if rows else []
    powers_of_two_axis(axes.xaxis, [ranks for ranks, _ in pairs], RANKS)
    value_axis(axes, [factor * seconds for _, seconds in pairs], label)
    horizontal_grid(axes)
    legend_below(axes, handles)


def _row(row):
    measured, predicted = (number(row[f"{key}_epoch_seconds"]) for key in ("measured", "predicted"))
    error = f"{100 * (predicted / measured - 1):+.1f} %" if measured else "-"
    batch = number(row.get("global_batch"))
    name = f"P = {int(row['ranks'])}" + (f", batch {int(batch)}" if batch else "")
    return [name, shown_seconds(measured), shown_seconds(predicted), error, text(row.get("fitted")) or "-"]


def _remarks(prediction, rows):
    known = (_ranges(rows, "predicted_epoch_seconds", "plus_minus")
             or any(ranges for *_, ranges in forecasts_of(prediction)))
    return ["Bands and error bars: where a single run lies nine times in ten."] * bool(known)


def charts(report):
    """A chart for each prediction that holds something to draw."""
    made = []
    for prediction in entries(report, "predictions"):
        rows = measured_rows(prediction)
        if not rows and not forecasts_of(prediction):
            continue
        made.append(
            Chart(
                "predicted" + (f"-{len(made) + 1}" if made else ""), "Epoch time, predicted and measured",
                "Predicted and measured", lambda axes, shown=prediction: draw(axes, shown),
                ["", "measured, s", "predicted, s", "error", "fitted"], [_row(row) for row in rows],
                _remarks(prediction, rows), topics=("predict",),
            )
        )  # fmt: skip
    return made
