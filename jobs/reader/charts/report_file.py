"""report.json and evaluation.json of any origin, checked for what charts and pages rely on."""

import json
import math
import re

from ..base.files import read_regular
from ..start import Unusable
from .report import IMAGE_BYTES, entries, number, tables_of

REMEDY = "write it again with `rueda report RUN_DIR... --out DIR`"


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
