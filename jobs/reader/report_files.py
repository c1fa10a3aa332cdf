"""The files of a report: report.json, report.md, tables/ID.csv, and for each layout NAME.md and NAME/ID.csv."""

import json

from .base.owned import write_owned
from .base.text import in_utf8
from .findings.finding import findings_text
from .findings.measured import measured_json, measured_lines
from .findings.report_json import report_json
from .tables.table import to_csv, to_markdown

_REMEDY = "move it away, or name another folder with --out"


def _tables_markdown(tables):
    return "".join("\n" + to_markdown(table) for table in tables)


def _footer(report):
    return (f"\nMade with {report.made_with}. GB = 10^9 bytes; times of a step or a collective are those "
            "of the slowest rank.\n")  # fmt: skip


def _head(report):
    """The title, and on what machine, when and by what command the runs were made."""
    lines = [f"- {what}: {text}\n" for what, text in measured_lines(measured_json(report.all_runs))]
    return f"# {report.title}\n" + "\n" * bool(lines) + "".join(lines)


def _markdown(report):
    text, comparison = _head(report), report.comparison
    if comparison:
        said = "".join(f"\n- {finding.text}" for finding in comparison.findings)
        text += f"\n## Comparison\n{said}\n{_tables_markdown(comparison.tables)}"
    if report.findings:
        text += "\n## Findings\n" + findings_text(report.findings, markdown=True)
    return text + "\n## Tables\n" + _tables_markdown(report.tables) + _footer(report)


def csv_files(tables):
    """{name: bytes} of tables."""
    return {f"{table.id}.csv": in_utf8(to_csv(table)) for table in tables}


def contents_of(report):
    """{folder below the report's, "" for itself: {name: bytes}}."""
    text = json.dumps(report_json(report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    contents = {"": {"report.json": in_utf8(text), "report.md": in_utf8(_markdown(report))}}
    compared = report.comparison.tables if report.comparison else []
    contents["tables"] = csv_files([*report.tables, *compared])
    for name, tables in report.layouts.items():
        page = _head(report) + _tables_markdown(tables) + _footer(report)
        contents[""][f"{name}.md"] = in_utf8(page)
        contents[name] = csv_files(tables)
    return contents


def write_report(folder, name, report):
    """Into `folder`, which messages call `name`, and which is made if need be. Each file is written in one go. Raises
    Unusable before anything is written where a file is there that no earlier report is known to have written."""
    write_owned(folder, name, contents_of(report), _REMEDY)
