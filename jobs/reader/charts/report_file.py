"""report.json of any origin, checked for what charts and pages rely on."""

import json

from ..base.files import read_regular
from ..base.json_view import InputFile, JsonView
from ..runs.evaluation import evaluation_of
from ..start import Unusable

REMEDY = "write it again with `rueda report RUN_DIR... --out DIR`"


def _check_table(table):
    columns = table.elements("columns")
    for column in columns:
        if "show" in dict(column.members()):
            column.raw_text("show")
    for row in table.elements("rows"):
        if len(row.elements()) != len(columns):
            row.refuse(f"does not have {len(columns)} cells, one a column")


def _check(report):
    """Refuses a report whose parts are not of the kinds that everything here relies on."""
    for series in report.elements("series"):
        for point in series.elements("points"):
            point.positive("ranks")
    layouts = [table for _, tables in report.fields("layouts") for table in tables.elements()]
    for table in [*report.items("tables"), *layouts, *report.part("comparison").items("tables")]:
        _check_table(table)
    for run in report.items("runs"):
        if run.has("evaluation"):
            evaluation_of(run.at("evaluation"))


def read_report(folder):
    """The report in `folder`. Raises Unusable."""
    path = folder / "report.json"
    try:
        report = json.loads(read_regular(path))
    except OSError as error:
        raise Unusable(f"{path} cannot be read ({error.strerror}); {REMEDY}") from None
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{path} is not JSON, perhaps cut off ({error}); {REMEDY}") from None
    if not isinstance(report, dict) or report.get("schema") != "rueda-report":
        raise Unusable(f"{path} is not a report of rueda (schema rueda-report); {REMEDY}")
    if report.get("schema_version") != 2:
        version = report.get("schema_version")
        raise Unusable(f"{path} has schema_version {version}, not 2; use the plot_report of the rueda that wrote it")
    _check(JsonView(report, InputFile(path, REMEDY)))
    return report
