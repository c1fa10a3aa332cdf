"""`rueda report --check`: what was handed in against the runs, for one group."""

import os
from dataclasses import dataclass, field

from ..base.json_view import InputFile, decoded
from ..base.prose import blanks_in, passages
from ..base.text import first_few, printable
from ..runs.places import ATTEMPT_NAME, RUN_NAME
from ..start import Unusable
from .answers import NAME as ANSWERS
from .compare import check_table
from .hand_table import read_hand_table

_MOST_FOLDERS = 3
_MOST_REMARKS = 20  # of a table; more would hide the other tables
_TABLES = (".csv", ".tsv")
_DOCUMENTS = (".pdf", ".png", ".svg", ".jpg", ".jpeg", ".html", ".md", ".tex", ".docx", ".pptx", ".odt", ".odp",
              ".xlsx", ".ods",
              ".ipynb")  # of a hand-in, that nobody compares
_LONGEST = 500
_MOST_BYTES = 1_000_000  # of answers


def amount(count, one, many):
    """"1 figure", "2 figures"."""
    return f"1 {one}" if count == 1 else f"{count} {many}"


@dataclass
class HandIn:
    """What was found of one group."""

    tables: list = field(default_factory=list)  # (name of the file, TableCheck)
    unseen: list = field(default_factory=list)  # names of files that are no tables: pictures, slides, text
    runs: int = 0
    remarks: list = field(default_factory=list)  # on its runs: Remark
    blanks: int = 0  # that its answers leave open
    refused: str = ""  # why it could not be checked

    def sum_of(self, name):
        return sum(getattr(check, name) for _, check in self.tables)

    def figures(self):
        return self.sum_of("figures")

    def unlike(self):
        """Files that were not compared."""
        return sum(not check.title for _, check in self.tables)

    def suspicious(self):
        """Columns that were not compared and look as if they had to be."""
        return [heading for _, check in self.tables for heading in check.suspicious()]

    def contradictions(self):
        """Remarks on records that no honest runs have; others only have to be known."""
        return [remark for remark in self.remarks if remark.contradiction]

    def faults(self):
        """In words; empty where there are none."""
        counted = (
            (self.sum_of("differing"), "figure differs", "figures differ"),
            (self.sum_of("rows_without_run"), "row has no run", "rows have no run"),
            (self.sum_of("rows_left_out"), "row of the runs is left out", "rows of the runs are left out"),
            (self.unlike(), "file was not compared", "files were not compared"),
            (len(self.suspicious()), "column was not compared", "columns were not compared"),
            (len(self.contradictions()), "remark on the runs", "remarks on the runs"),
        )
        return ", ".join(amount(*one) for one in counted if one[0]) or self.refused

    def compared(self):
        """"9 figures in 1 table"."""
        tables = len(self.tables) - self.unlike()
        return f"{amount(self.figures(), 'figure', 'figures')} in {amount(tables, 'table', 'tables')}"


def _ends_with(entry, endings):
    return entry.is_file(follow_symlinks=False) and os.path.splitext(entry.name)[1].lower() in endings


def list_files(folder, level=1):
    """(tables, others): paths below a folder, three levels deep; links are not followed. What lies in the directory of
    a run is its record and no hand-in. What cannot be listed is left out."""
    try:
        with os.scandir(folder) as entries:
            entries = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return [], []
    tables, others = [], []
    if any(entry.name in (RUN_NAME, ATTEMPT_NAME) for entry in entries):
        return tables, others
    for entry in entries:
        if _ends_with(entry, _TABLES):
            tables.append(entry.path)
        elif entry.is_dir(follow_symlinks=False) and level < _MOST_FOLDERS:
            below = list_files(entry.path, level + 1)
            tables += below[0]
            others += below[1]
        elif _ends_with(entry, _DOCUMENTS):
            others.append(entry.path)
    return tables, others


def _blanks_in(path):
    """Those that an answers.md leaves open; 0 for one that cannot be read, as for a group that has none."""
    try:
        written = passages(decoded(InputFile(path, "").read(_MOST_BYTES)).splitlines())
    except (Unusable, UnicodeDecodeError):
        return 0
    return blanks_in(written)


def check_hand_in(place, tables, word=None):
    """A HandIn of every .csv and .tsv file in the folder `place` and below, or of the file `place`, which messages call
    `word`. Raises Unusable if there is no such file, or one that cannot be read."""
    word = os.fspath(word or place)
    files, others, base = [os.fspath(place)], [], os.path.dirname(place)
    if os.path.isdir(place):
        files, others = list_files(place)
        base = place
        if not files:
            raise Unusable(f"{word}: there is no .csv file in it or below; give --check the directory of the tables "
                           f"that were "
                           "handed in")
    found = HandIn(unseen=[os.path.relpath(other, base) for other in others],
                   blanks=sum(_blanks_in(other) for other in others if os.path.basename(other) == ANSWERS))
    for file in files:
        name = os.path.relpath(file, base)
        shown = os.path.join(word, name) if base == place else word
        written = read_hand_table(file, shown)
        found.tables.append((name, check_table(os.path.splitext(os.path.basename(file))[0], written, tables)))
    return found


def _names(headings):
    return ", ".join(printable(heading) or "(no heading)" for heading in headings)


def _table_lines(name, check):
    what = f"{check.title}: {amount(check.figures, 'figure', 'figures')} compared" if check.title else "not compared"
    yield f"{printable(name, _LONGEST)}: {what}"
    if check.compared:
        yield f"  compared: {_names(check.compared)}; rows by {_names(check.by)}"
    if check.title and check.not_compared:
        others = [f"{_names([heading])}{f' (looks like {like})' if like else ''}" for heading,
                  like in check.not_compared]
        yield f"  not compared: {', '.join(others)}"
    yield from (f"  {remark}" for remark in check.remarks[:_MOST_REMARKS])
    if len(check.remarks) > _MOST_REMARKS:
        yield f"  and {len(check.remarks) - _MOST_REMARKS} more"


def text_of(found):
    """For a terminal: what was compared, what was not, and each fault with its line."""
    lines = [line for table in found.tables for line in _table_lines(*table)]
    lines += [f"runs: {remark.text}" for remark in found.contradictions()]
    lines += [f"note: {remark.text}" for remark in found.remarks if not remark.contradiction]
    if found.unseen:
        lines.append(f"Not looked at, as they are no tables: {first_few(map(printable, found.unseen), 5)}")
    if not found.faults():
        lines.append(f"All agree: {found.compared()}, within the rounding of each.")
    return "".join(line + "\n" for line in lines)
