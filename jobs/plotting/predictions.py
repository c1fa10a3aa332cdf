"""What a cost model said beside what was measured."""

from matplotlib.lines import Line2D

from .chart import Chart, horizontal_grid, legend_below
from .lines import draw_series, hollow_entry
from .number_text import SHOW
from .quantity import EPOCH_TIME, is_hollow, known_points, place_of, place_text, ranks_of, remarks_on, scale
from .rank_axis import RANKS, powers_of_two_axis, value_axis
from .report import estimate, name_of
from .style import styles_for

_KEY = "predicted_epoch_seconds"


def draw(axes, series):
    measured = known_points(series, EPOCH_TIME.key)
    predicted = known_points(series, _KEY)
    ends = [end for _, value in measured + predicted for end in (value.low, value.high)]
    factor, label = scale(EPOCH_TIME, ends)
    (style,) = styles_for([series])
    handles = [draw_series(axes, measured, factor, style._replace(dash=""), "measured")] if measured else []
    axes.plot(
        [ranks_of(point) for point, _ in predicted], [factor * value.value for _, value in predicted],
        color="#d55e00", linestyle="--", linewidth=1.8, marker="_", markersize=16, markeredgewidth=2.4,
    )  # fmt: skip
    handles.append(Line2D([], [], color="#d55e00", linestyle="--", linewidth=1.8, label="predicted"))
    if any(is_hollow(point) for point, _ in measured):
        handles.append(hollow_entry())
    powers_of_two_axis(axes.xaxis, [ranks_of(point) for point, _ in measured + predicted], RANKS)
    value_axis(axes, [factor * end for end in ends], label)
    horizontal_grid(axes)
    legend_below(axes, handles)


def _row(point):
    measured, predicted = estimate(point, EPOCH_TIME.key), estimate(point, _KEY)
    seconds = [SHOW["seconds"](one.value) if one else "-" for one in (measured, predicted)]
    error = f"{100 * (predicted.value / measured.value - 1):+.1f} %" if measured and measured.value else "-"
    return [*seconds, error]


def chart(series):
    """The chart of a series, or None if nothing was predicted for it."""
    points = [point for point, _ in known_points(series, _KEY)]
    if not points:
        return None
    places = [place_of(point) for point in points]
    rows = [[f"P = {place_text(place_of(point), places)}", *_row(point)] for point in points]
    return Chart(
        f"{series['id']}-predicted", f"{name_of(series)}: predicted and measured", "Predicted and measured",
        lambda axes: draw(axes, series), ["", "measured, s", "predicted, s", "error"], rows, remarks_on([series], EPOCH_TIME.key),
        about=([name_of(series)], ("predict",)),
    )  # fmt: skip
