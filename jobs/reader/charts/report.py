"""Reads report.json. Unknown values are None."""

import json
import math
import re
from collections import namedtuple

from ..base.estimate import UNKNOWN, Estimate
from ..base.files import read_regular
from ..start import Unusable

Finding = namedtuple("Finding", "about text")
"""`about` is the label of a series; empty: the study as a whole."""

REMEDY = "write it again with `rueda report RUN_DIR... --out DIR`"
Curve = namedtuple("Curve", "known points")
"""In how many epochs a figure is known, and [(epoch, value)] of those that are drawn."""

_LARGEST = 1e30
IMAGE_BYTES = 32 * 32 * 3
PHASES = ("load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other")


def number(value):
    """A finite number, or None. Raises ValueError for one that nothing can be, and with which nothing can be computed."""
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
    layouts = report.get("layouts")
    parts = [("Tables", entries(report, "tables"))]
    for layout in layouts if isinstance(layouts, dict) else ():
        parts.append((f"Layout {text(layout)}", entries(layouts, layout)))
    return [(heading, tables) for heading, tables in parts if tables]


def _whole(value, least=0, most=math.inf):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _check_samples(samples, classes):
    for one in [*entries(samples, "first"), *entries(samples, "mistakes")]:
        if not all(_whole(one.get(key), 0, classes - 1) for key in ("label", "predicted")) or not _whole(one.get("image")):
            raise ValueError("a sample image is of no class")
        if not isinstance(one.get("rgb"), str) or not re.fullmatch(f"[0-9a-f]{{{2 * IMAGE_BYTES}}}", one["rgb"]):
            raise ValueError("a sample image does not have 32 x 32 pixels")


def checked_evaluation(evaluation, where):
    """What `rueda evaluate --json` wrote, as those who draw it rely on it. Raises ValueError."""
    try:
        counts, classes = evaluation["confusion"], evaluation["classes"]
        if not _whole(evaluation["val_samples"]) or number(evaluation["val_accuracy"]) is None:
            raise ValueError("it has no accuracy")
        if not classes or len(counts) != len(classes) or any(len(row) != len(classes) for row in counts):
            raise ValueError("the confusion matrix is not as wide and high as there are classes")
        known = [one[key] for one in classes for key in ("images", "correct")]
        if not all(_whole(count) for row in [*counts, known] for count in row):
            raise ValueError("an image count is not a whole number")
        if isinstance(evaluation.get("samples"), dict):
            _check_samples(evaluation["samples"], len(classes))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{where} is no evaluation: {error!r}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return evaluation


def _check_evaluations(report, path):
    for i, run in enumerate(entries(report, "runs")):
        if run.get("evaluation") is not None:
            try:
                checked_evaluation(run["evaluation"], f"{path}: runs[{i}].evaluation")
            except ValueError as error:
                raise Unusable(f"{error}; {REMEDY}") from None


def _checked(report, path):
    """The report, whose parts are of the kinds that everything here relies on."""
    if not isinstance(report, dict) or report.get("schema") != "rueda-report":
        raise Unusable(f"{path} is not a report of rueda (schema rueda-report); {REMEDY}")
    if report.get("schema_version") != 2:
        version = report.get("schema_version")
        raise Unusable(f"{path} has schema_version {version}, not 2; use the plot_report of the rueda that wrote it")
    for i, series in enumerate(_list(report, "series", path)):
        where = f"{path}: series[{i}]"
        for j, point in enumerate(_list(series, "points", where)):
            ranks = number(point.get("ranks")) if isinstance(point, dict) else None
            if ranks is None or ranks < 1 or ranks != int(ranks):
                raise Unusable(f"{where}.points[{j}].ranks is not a number of ranks; {REMEDY}")
    for i, table in enumerate(entries(report, "tables")):
        _check_table(table, f"{path}: tables[{i}]")
    for heading, tables in tables_of(report)[1:]:
        for i, table in enumerate(tables):
            _check_table(table, f"{path}: {heading}, table {i}")
    _check_evaluations(report, path)
    return report


def _list(parent, key, where):
    listed = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(listed, list):
        raise Unusable(f"{where}: {key} is missing or not a list; {REMEDY}")
    return listed


def _check_table(table, where):
    width = len(_list(table, "columns", where))
    if len(entries(table, "columns")) != width:
        raise Unusable(f"{where}: a column is not an object; {REMEDY}")
    if any(not isinstance(one.get("show", ""), str) for one in table["columns"]):
        raise Unusable(f"{where}: what a column shows is no text; {REMEDY}")
    for row in _list(table, "rows", where):
        if not isinstance(row, list) or len(row) != width:
            raise Unusable(f"{where}: a row does not have {width} cells, one a column; {REMEDY}")


def read_report(folder):
    """The report in `folder`. Raises Unusable."""
    path = folder / "report.json"
    try:
        report = json.loads(read_regular(path))
    except OSError as error:
        raise Unusable(f"{path} cannot be read ({error.strerror}); {REMEDY}") from None
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{path} is not JSON, perhaps cut off ({error}); {REMEDY}") from None
    return _checked(report, path)
