"""What charts and pages ask of the content of report.json. Unknown values are None."""

import math
from collections import namedtuple

from ..base.estimate import UNKNOWN, Estimate

Finding = namedtuple("Finding", "about text")
"""`about` is the label of a series; empty: the study as a whole."""

Curve = namedtuple("Curve", "known points")
"""In how many epochs a figure is known, and [(epoch, value)] of those that are drawn."""

_LARGEST = 1e30


def number(value):
    """A finite number, or None. Raises ValueError for one that nothing can be, and with which nothing can be
    computed."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not -math.inf < value < math.inf:
        return None
    if abs(value) > _LARGEST:
        raise ValueError(f"{value:g} is larger than anything measured")
    return float(value)


def text(value):
    """In one line, without what cannot be printed."""
    words = str("" if value is None else value).split()
    return "".join(c for c in " ".join(words) if c.isprintable())


def texts_of(parent, key):
    """The texts of a list; empty if there is none."""
    listed = parent.get(key)
    return [text(one) for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def findings_of(report):
    """The sentences of the report. None is taken apart: what it is about stands next to it."""
    return [Finding(text(one.get("about")), text(one.get("text"))) for one in entries(report, "findings")]


def figure(point, key):
    """The Estimate that a point holds under `key`, UNKNOWN where there is none. Without a range it is exact."""
    known = point.get(key)
    known = known if isinstance(known, dict) else {"value": known}
    value, low, high = (number(known.get(name)) for name in ("value", "low", "high"))
    if value is None:
        return UNKNOWN
    low, high = min(value, value if low is None else low), max(value, value if high is None else high)
    return Estimate(value, low, high, text(known.get("why")))


def estimate(point, key):
    """The same where it is determined, else None."""
    found = figure(point, key)
    return found if found.determined else None


def entries(parent, key):
    """The list of objects `key` of `parent`; empty if it is missing or something else."""
    listed = parent.get(key)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def is_own(series):
    """Whether rueda ran it, not a framework whose log or table was read."""
    return text(series.get("source")).lower() in ("", "rueda")


def name_of(series):
    """As people read it, with its source where that is not rueda, and said to be of no computation where it is."""
    label = text(series.get("label")) or text(series.get("id"))
    if series.get("processor") == "timed" and "nothing computed" not in label:
        label += " (nothing computed)"
    source = text(series.get("source"))
    return label if is_own(series) or source in label else f"{label} ({source})"


def curve_of(run, key):
    """The Curve that a run learned, without values that are not finite."""
    learning = run.get("learning")
    known = learning.get(key) if isinstance(learning, dict) else None
    lists = [known.get(one) if isinstance(known, dict) else None for one in ("epochs", "values")]
    pairs = zip(*lists) if all(isinstance(one, list) for one in lists) else ()
    points = [(number(epoch), number(value)) for epoch, value in pairs]
    points = [point for point in points if None not in point]
    return Curve(max(len(points), int((number(known.get("known")) if points else None) or 0)), points)


def runs_of(report):
    """[(series, label, run)]: the runs that stand for points, each once, where it is first shown."""
    runs = {text(run.get("path")): run for run in entries(report, "runs")}
    found = {}
    for series in report["series"]:
        for point in series["points"]:
            path = text(point.get("run"))
            if path in runs:
                ranks = f", P = {int(point['ranks'])}" if len(series["points"]) > 1 else ""
                found.setdefault(path, (series, name_of(series) + ranks, runs[path]))
    return list(found.values())


def run_of(report, point):
    """The run that stands for a point, or None."""
    path = text(point.get("run"))
    return next((run for run in entries(report, "runs") if path and text(run.get("path")) == path), None)


def tables_of(report):
    """All tables: (heading of their part, tables)."""
    parts = {"Tables": report.get("tables"),
             **{f"Layout {text(name)}": tables for name, tables in (report.get("layouts") or {}).items()}}  # fmt: skip
    return [(heading, tables) for heading, tables in parts.items() if tables]


def layout_tables_of(report):
    """The tables of all layouts that were asked for."""
    return [table for heading, tables in tables_of(report) if heading.startswith("Layout") for table in tables]


def has_quantity(table, quantity):
    """Whether a layout's table compares series in the quantity of this name."""
    return text(table.get("id")).endswith("_" + quantity.replace("-", "_"))


def columns_of(table):
    """The keys of its columns, among which are the ids of the series that it compares."""
    return [text(column.get("key")) for column in entries(table, "columns")]
