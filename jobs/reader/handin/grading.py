"""`rueda report --check` as a command: the hand-in of one group, or those of a class, each with its runs."""

import json
import os

from ..base.owned import write_owned
from ..base.text import first_few, in_utf8, printable
from ..runs.places import load_study
from ..runs.plan import NAME as PLAN_NAME
from ..runs.plan import remarks_without_plan
from ..runs.records import Remark
from ..runs.run import folder_name
from ..start import Failed, Unusable, path_of
from ..study.figures import evaluate
from ..study.observation import observe_all
from ..study.remarks import copies_among, remarks_on_runs, remarks_on_study
from ..study.series import make_series
from ..tables.acceleration import acceleration_table
from ..tables.study_tables import study_tables
from ..tables.table import Table, to_csv, without_empty
from .check import HandIn, amount, check_hand_in, text_of
from .layouts import LAYOUTS, layout_tables

_SCHEMA, _SCHEMA_VERSION = "rueda-check", 1
_REMEDY = "move it away, or name another folder with --out"
_MOST_LEVELS = 4  # of a group, in which a study.json is looked for
_SHOWN = 5
_COLUMNS = (
    ("group", "group", "text"), ("agrees", "agrees", "text"), ("figures", "figures", "count"),
    ("tables", "tables", "count"), ("differing", "figures that differ", "count"),
    ("rows_without_run", "rows without a run", "count"), ("rows_left_out", "rows left out", "count"),
    ("files_not_compared", "files not compared", "count"), ("columns_not_compared", "columns not compared", "text"),
    ("runs", "runs", "count"), ("remarks", "remarks on the runs", "text"), ("notes", "notes on the runs", "text"),
    ("blanks", "open blanks", "count"), ("refused", "why it was not checked", "text"))


def tables_of_study(study, observations):
    """All that a hand-in is compared with: the tables of the report and of every layout."""
    figures = evaluate(make_series(observations))
    tables = study_tables(study, figures) + without_empty([acceleration_table(observations)])
    return tables + [table for layout in LAYOUTS for table in layout_tables(layout, figures, observations)]


def _plan_folders(folder, level=0):
    """Folders in it and below that have a study.json; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            entries = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
    found = [folder] if any(entry.name == PLAN_NAME for entry in entries) else []
    for entry in entries if level < _MOST_LEVELS else ():
        if entry.is_dir(follow_symlinks=False):
            found += _plan_folders(entry.path, level + 1)
    return found


def _check_group(folder, word):
    """(HandIn, its runs) of a folder that holds both the runs and the tables of a group, in any folders of it."""
    try:
        study = load_study([folder])
        found = check_hand_in(folder, tables_of_study(study, observe_all(study.runs)), word)
        plans = _plan_folders(folder)
        found.runs, found.remarks = len(study.runs), remarks_on_study(study, plans)
        found.remarks += [] if plans else remarks_without_plan(study.runs)
        return found, study.runs
    except Unusable as error:
        return HandIn(refused=str(error).replace(os.fspath(folder), word)), []


def _shared_runs(groups):
    """{(group, other groups): runs of the group that those have as well}."""
    owner = {id(run): name for name, (_, runs) in groups.items() for run in runs}
    shared = {}
    for copies in copies_among([run for _, runs in groups.values() for run in runs]):
        for run in copies:
            others = sorted({owner[id(other)] for other in copies} - {owner[id(run)]})
            if others:
                shared.setdefault((owner[id(run)], tuple(others)), []).append(run)
    return shared


def _add_copies(groups):
    """A remark on each group that has runs of another one. groups: {name: (HandIn, runs)}."""
    for (name, others), runs in _shared_runs(groups).items():
        names = first_few((printable(folder_name(run.file)) for run in runs), _SHOWN)
        theirs = first_few(map(printable, others), _SHOWN)
        count = amount(len(runs), "run is", "runs are")
        text = f"{count} also of {theirs}, by times that are the same to the last digit or multiplied: {names}"
        groups[name][0].remarks.append(Remark("copies-of-groups", [str(run.file) for run in runs], text))


def _row(name, found):
    """Of the class's table."""
    codes = [(remark.code, remark.contradiction) for remark in found.remarks]
    remarks, notes = (", ".join(sorted({code for code, wrong in codes if wrong is kind})) for kind in (True, False))
    return [name, "no" if found.faults() else "yes", found.figures(), len(found.tables), found.sum_of("differing"),
            found.sum_of("rows_without_run"), found.sum_of("rows_left_out"), found.unlike(),
            ", ".join(found.suspicious()), found.runs, remarks, notes, found.blanks, found.refused]


def _table_json(name, check):
    return {"file": name, "table": check.title or None, "agrees": check.agrees(), "figures": check.figures,
            "rows_by": check.by, "compared": check.compared,
            "not_compared": [{"column": heading, "looks_like": like or None} for heading, like in check.not_compared],
            "differing": check.differing, "rows_without_run": check.rows_without_run,
            "rows_left_out": check.rows_left_out, "faults": check.remarks}


def _group_json(name, found):
    remarks = [{"code": remark.code, "contradiction": remark.contradiction, "text": remark.text, "runs": remark.runs,
                "figures": remark.figures} for remark in found.remarks]
    return {"group": name, "agrees": not found.faults(), "refused": found.refused or None, "runs": found.runs,
            "remarks": remarks, "tables": [_table_json(*table) for table in found.tables],
            "blanks": found.blanks, "not_looked_at": found.unseen}


def write_check(word, groups):
    """check.json and check.csv of {name: HandIn}, with a row for each group, into the folder `word`."""
    table = Table("check", "Hand-ins", _COLUMNS)
    table.rows = [_row(name, found) for name, found in groups.items()]
    content = {"schema": _SCHEMA, "schema_version": _SCHEMA_VERSION,
               "groups": [_group_json(name, found) for name, found in groups.items()]}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    files = {"check.csv": in_utf8(to_csv(table)), "check.json": in_utf8(text)}
    write_owned(path_of(word), word, {"": files}, _REMEDY)
    print(f"Written to {printable(word, 4000)}: check.csv, check.json")


def compare_hand_in(word, places, study, observations, out=""):
    """Prints how the tables in `word`, a file or folder, compare with the runs, and what does not fit together in
    these. Raises Failed if anything differs."""
    found = check_hand_in(path_of(word), tables_of_study(study, observations), word)
    found.runs = len(study.runs)
    found.remarks = remarks_on_study(study, places) if places else remarks_on_runs(study.runs)
    print(text_of(found), end="")
    if out:
        write_check(out, {os.path.basename(os.path.normpath(word)): found})
    if found.faults():
        raise Failed(f"{word}: {found.compared()} compared with the runs: {found.faults()}")


def _line_of(name, found):
    """One line for a group."""
    codes = ", ".join(sorted({remark.code for remark in found.remarks}))
    faults = found.faults() or f"all agree: {found.compared()}, {amount(found.runs, 'run', 'runs')}"
    notes = len(found.remarks) - len(found.contradictions())
    more = f"; {amount(notes, 'note', 'notes')} on the runs" if notes else ""
    more += f" ({codes})" if codes else ""
    more += f"; {amount(found.blanks, 'blank is', 'blanks are')} open" if found.blanks else ""
    return f"{printable(name, 200)}: {faults}{more}"


def check_class(word, out=""):
    """Checks each folder in `word` as the hand-in of a group, which has its runs and its tables in it. Prints a line
    for each, and compares the runs of all groups. Raises Failed if there is a fault in any."""
    place = path_of(word)
    if not os.path.isdir(place):
        raise Unusable(f"{word}: it is no directory; name the runs of a hand-in before --check, or a directory with a "
                       "folder for each group")
    with os.scandir(place) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    groups = {name: _check_group(os.path.join(place, name), os.path.join(word, name)) for name in names}
    if not any(runs and found.tables for found, runs in groups.values()):
        raise Unusable(f"{word}: no folder in it holds both runs and tables; name the runs of a hand-in before "
                       f"--check, or "
                       "a directory with a folder for each group")
    _add_copies(groups)
    checked = {name: found for name, (found, _) in groups.items()}
    for name, found in checked.items():
        print(_line_of(name, found))
    if out:
        write_check(out, checked)
    wrong = [name for name, found in checked.items() if found.faults()]
    if wrong:
        raise Failed(f"{word}: {len(wrong)} of {amount(len(checked), 'group', 'groups')} need a look: "
                     f"{first_few(map(printable, wrong), 20)}")
    print(f"All {amount(len(checked), 'group', 'groups')} agree.")
