"""Which charts a report has, in the order in which they are shown."""

import itertools
import re

from . import (
    bandwidth, bars, batches, communication, comparison, confusion, curves, factors, learning, lines, phases,
    predictions, quantity,
)  # fmt: skip
from .report import columns_of, has_quantity, layout_tables_of, name_of, run_of, runs_of

_SCALINGS = ("weak", "strong")


def file_name(words):
    """As a file may be called anywhere: letters, digits, dots, dashes and underscores."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip("-.")[:100] or "unnamed"


def _with_file_names(all_series):
    """Copies with a `file`: a unique name that may be part of the name of a file."""
    names = _unique([name_of(series) for series in all_series])
    return [{**series, "file": name} for series, name in zip(all_series, names)]


def _unique(labels):
    """The name of a file for each of the labels."""
    names = []
    for base in map(file_name, labels):
        name, count = base, 1
        while name in names:
            count += 1
            name = f"{base}-{count}"
        names.append(name)
    return names


def _in_order_of_tables(report, all_series):
    """As the table of a layout that has most of them has them side by side; others after them."""
    ids = {one["id"] for one in all_series}
    tables = [[key for key in columns_of(table) if key in ids] for table in layout_tables_of(report)]
    order = max(tables, key=len, default=[])
    return sorted(all_series, key=lambda one: order.index(one["id"]) if one["id"] in order else len(order))


def _combined(all_series, with_bars):
    """Charts of all series of one kind of scaling: lines, and bars too where a course asks for them."""
    for scaling in _SCALINGS:
        members = [series for series in all_series if series.get("scaling") == scaling]
        for one in quantity.ALL:
            title = f"{one.title.capitalize()}, {scaling} scaling"
            section = f"{scaling.capitalize()} scaling"
            yield lines.chart(f"{scaling}-{one.name}", title, section, members, one)
            if with_bars:
                yield bars.side_by_side_chart(f"{scaling}-{one.name}-bars", title, section, members, one)


def _of_some(report, all_series):
    """Bars of those series alone that a table of a layout compares, where the study has more."""
    shown = set()
    for table, one, scaling in itertools.product(layout_tables_of(report), quantity.ALL, _SCALINGS):
        members = [series for series in all_series if series.get("scaling") == scaling]
        chosen = [series for series in members if series["id"] in columns_of(table)]
        name = "-".join([scaling, one.name, *(file_name(series["id"]) for series in chosen), "bars"])
        if has_quantity(table, one.name) and len(chosen) < len(members) and name not in shown:
            shown.add(name)
            title = f"{one.title.capitalize()}, {scaling} scaling"
            yield bars.side_by_side_chart(name, title, f"{scaling.capitalize()} scaling", chosen, one)


def _learning_of_one(report, series):
    """How the runs of a series over P learned, each P a curve."""
    worlds = quantity.worlds_of([series])
    members = [
        (f"P = {quantity.world_text(quantity.world_of(point), worlds)}", run_of(report, point))
        for point in quantity.ordered(series)
    ]
    known = [(label, run) for label, run in members if run]
    return curves.charts(series["file"], name_of(series), name_of(series), known, [series])


def _learning_of_singles(report, single):
    """All in the same charts; nothing where these would repeat the comparison of two runs."""
    if comparison.comparison_of(report) and len(single) > 1:
        return ()
    known = [(name_of(series), run_of(report, series["points"][0])) for series in single]
    known = [(label, run) for label, run in known if run]
    if len(single) == 1:
        known = [("", run) for _, run in known]
        return curves.charts(single[0]["file"], name_of(single[0]), "Learning curves", known, single)
    return curves.charts("single", "Single configurations", "Learning curves", known, single)


def _confusions(report):
    known = [one for one in runs_of(report) if one[2].get("evaluation")]
    names = _unique([label for _, label, _ in known])
    for (series, label, run), name in zip(known, names):
        yield confusion.chart(f"{name}-confusion", label, run["evaluation"], [series])


def _of_one(series):
    """All charts of a series over P."""
    section = name_of(series)
    for one in quantity.ALL:
        yield bars.chart(f"{series['file']}-{one.name}", section, series, one)
    yield learning.chart(series, section)
    yield factors.chart(series, section)
    yield phases.chart(series, section)
    yield communication.chart(series, section)
    yield bandwidth.chart(series, section)


def _singles(all_series):
    yield bars.singles_chart(all_series, quantity.EPOCH_TIME)
    yield bars.singles_chart(all_series, quantity.THROUGHPUT)
    for series in all_series:
        yield phases.chart(series, "Single configurations")
        yield communication.chart(series, "Single configurations")
        yield bandwidth.chart(series, "Single configurations")


def charts_of(report):
    """All charts of a report; empty if it holds nothing to draw."""
    all_series = _with_file_names(report["series"])
    over_ranks = [series for series in all_series if len(series["points"]) > 1]
    single = [series for series in all_series if len(series["points"]) == 1]
    side_by_side = _in_order_of_tables(report, over_ranks)
    made = list(comparison.charts(report)) + list(_combined(side_by_side, bool(report.get("layouts"))))
    made += _of_some(report, side_by_side)
    for series in over_ranks:
        made += [*_of_one(series), *_learning_of_one(report, series)]
    made += [*_learning_of_singles(report, single), *_singles(single), *_confusions(report)]
    made += batches.charts({**report, "series": all_series})
    made += predictions.charts(report)
    return [chart for chart in made if chart is not None]
