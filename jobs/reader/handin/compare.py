"""A table that was handed in against the tables that runs give."""

import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ..base.text import cell_text, printable
from ..tables.table import Column, Table, plain
from .headings import looks_like, quantity_of
from .layouts import LAYOUTS
from .tolerance import shown_share
from .written import is_blank, plain_name, unit_of_heading, written_numbers

_RANKS = ("p", "gpus", "ranks")


@dataclass
class TableCheck:
    """How a table that was handed in compares with one that runs give."""

    title: str = ""  # of the runs' table; empty: none is like it
    figures: int = 0  # that were compared
    differing: int = 0
    rows_without_run: int = 0  # rows that the runs do not give
    rows_left_out: int = 0  # rows of the runs that were not handed in
    by: list = field(default_factory=list)  # headings that tell rows apart
    compared: list = field(default_factory=list)  # headings of figures
    not_compared: list = field(default_factory=list)  # (heading, what it looks like; empty: it does no harm)
    remarks: list = field(default_factory=list)  # one for each fault, with its line

    def suspicious(self):
        """Headings that were not compared and look as if they had to be."""
        return [heading for heading, like in self.not_compared if like]

    def agrees(self):
        faults = self.differing + self.rows_without_run + self.rows_left_out
        return bool(self.title) and not faults and not self.suspicious()


class Match(NamedTuple):
    """Which column of a written table is which of a table of the runs: pairs of indices (written, own)."""

    written: object
    table: Table
    names: list  # tell rows apart
    figures: list

    def columns(self):
        return len(self.names) + len(self.figures)


def same_text(one, other):
    """Whether one name is the other, or its beginning: "ResNet50" for resnet50v2, but not resnet5."""
    one, other = sorted((plain_name(one), plain_name(other)), key=len)
    return other.startswith(one) and not (other[len(one):len(one) + 1].isdigit() and one[-1:].isdigit())


def _same_name(cell, own):
    """Whether a cell names the same as one of the runs': P, a batch, a model."""
    own = plain(own)
    if isinstance(own, (int, float)):
        return any(abs(number.value - own) < 1e-9 for number in written_numbers(cell))
    return same_text(cell, own or "")


def with_ideals(table):
    """The table with figures that courses ask for and that follow from others: the ideal, and the throughput of a
    rank."""
    keys = [column.key for column in table.columns]
    if "ranks" not in keys or "speedup" not in keys:
        return table
    more = Table(table.id, table.title, table.columns)
    add = [Column("ideal_speedup", "Ideal", "ratio"), Column("ideal_efficiency", "Ideal efficiency", "percent")]
    if "images_per_second" in keys and "images_per_second_per_rank" not in keys:
        add.append(Column("images_per_second_per_rank", "Throughput of a rank", "rate"))
    more.columns += add
    for row in table.rows:
        ranks, rate = (plain(row[keys.index(key)]) if key in keys else None for key in ("ranks", "images_per_second"))
        more.rows.append([*row, ranks, 1.0, rate / ranks if rate and ranks else None][:len(more.columns)])
    return more


def _is_heading_of(heading, column):
    name = plain_name(heading)
    if column.key == "ranks" and name in _RANKS:
        return True
    if heading.lower() == column.key or heading == column.heading:
        return True
    if re.fullmatch("s[0-9]+", column.key):  # a series, which hand-ins call by its model
        return len(name) > 3 and same_text(heading, column.heading)
    return bool(name) and name in (plain_name(column.key), plain_name(column.heading))


def match_columns(written, table):
    """A Match. Columns are told by key or heading, else by what the heading names. Those before the first figure tell
    rows apart."""
    free = dict(enumerate(written.headings))
    pairs = {}  # own to written

    def pair(own, at):
        pairs[own] = at
        del free[at]

    for own, column in enumerate(table.columns):
        same = [at for at, heading in free.items() if _is_heading_of(heading, column)]
        if same:
            pair(own, same[0])
    keys = [column.key for column in table.columns]
    for at, heading in list(free.items()):
        named = [keys.index(key) for key in quantity_of(heading)[1] if key in keys]
        own = next((own for own in named if own not in pairs), None)
        if own is not None:
            pair(own, at)
    first = next((own for own, column in enumerate(table.columns) if column.show not in ("text", "count")), len(keys))
    found = [(at, own) for own, at in sorted(pairs.items())]
    return Match(written, table, [one for one in found if one[1] < first], [one for one in found if one[1] >= first])


class RowCheck(NamedTuple):
    """`shown` has, by the keys of columns, how much of the runs' figure a cell shows where the two agree."""

    figures: int
    remarks: list
    shown: dict


def _remark(where, heading, cell, own, column):
    shown = "nothing" if is_blank(cell) else printable(cell)
    by_runs = cell_text(own, column.show) if isinstance(own, (int, float)) else "no figure"
    return f"{where}, {printable(heading)}: {shown}; the runs give {by_runs}"


def _compare_row(row, match, own, base):
    """`base`: how much of each figure of the fewest ranks was shown."""
    figures, remarks, shown = 0, [], {}
    for at, own_at in match.figures:
        column, cell, wanted = match.table.columns[own_at], row.cells[at], plain(own[own_at])
        is_number = isinstance(wanted, (int, float))
        if not is_number and (column.show == "text" or is_blank(cell)):
            continue
        figures += 1
        heading = match.written.headings[at]
        unit = unit_of_heading(heading)
        share = None
        if is_number:
            share = shown_share(cell, wanted, column, unit, shown, base)
        if share is not None:
            shown[column.key] = share
        else:
            remarks.append(_remark(row.where, heading, cell, wanted, column))
    return RowCheck(figures, remarks, shown)


def _row_name(match, own):
    """"P 4, Batch 64"."""
    columns = [match.table.columns[at] for _, at in match.names]
    return ", ".join(f"{column.heading} {cell_text(plain(own[at]), column.show)}"
                     for column, (_, at) in zip(columns, match.names))


class _Bases:
    """What the rows of fewest ranks show, from which figures of the others may follow."""

    def __init__(self, match):
        self._table, self._shown = match.table, {}
        keys = [column.key for column in match.table.columns]
        self._ranks = keys.index("ranks") if "ranks" in keys else None
        self._series = keys.index("series") if "series" in keys else None

    def _place(self, own):
        """The series of a row, and its ranks."""
        return [None if at is None else plain(own[at]) for at in (self._series, self._ranks)]

    def of(self, own):
        return self._shown.get(self._place(own)[0], {})

    def add(self, own, shown):
        series, ranks = self._place(own)
        places = map(self._place, self._table.rows)
        fewest = min((other for group, other in places if group == series and other is not None), default=None)
        if ranks is not None and ranks == fewest:
            self._shown[series] = shown


def _fewest_first(match):
    """The written rows, those of fewest ranks first: figures of the others may follow from theirs."""
    at = [written for written, own in match.names if match.table.columns[own].key == "ranks"]

    def ranks(row):
        numbers = written_numbers(row.cells[at[0]]) if at else []
        return numbers[0].value if numbers else math.inf

    return sorted(match.written.rows, key=ranks)


def _best_row(row, match, used, bases):
    """(index, RowCheck) of the runs' row that a written one is about and that agrees with it best; None if no row
    is."""
    best = None
    for index, own in enumerate(match.table.rows):
        named = all(_same_name(row.cells[at], own[own_at]) for at, own_at in match.names)
        if index in used or not named:
            continue
        check = _compare_row(row, match, own, bases.of(own))
        if best is None or len(check.remarks) < len(best[1].remarks):
            best = index, check
    return best


def _has_figures(table, own):
    """Whether a column of the runs is compared; texts are not."""
    return table.columns[own].show != "text" or any(isinstance(plain(row[own]), (int, float)) for row in table.rows)


def _like(match, at):
    """What a column that is not compared looks like. One that the runs have in words does no harm."""
    if at in [written for written, _ in match.figures]:
        return ""
    return looks_like(match.written.headings[at], match.written.column(at))


def _compare(match):
    written, own_rows = match.written, match.table.rows
    figures = [at for at, own in match.figures if _has_figures(match.table, own)]
    by = [at for at, _ in match.names]
    others = [at for at in range(len(written.headings)) if at not in by + figures]
    result = TableCheck(match.table.title, by=[written.headings[at] for at in by],
                        compared=[written.headings[at] for at in figures],
                        not_compared=[(written.headings[at], _like(match, at)) for at in others])
    used, bases, remarks = set(), _Bases(match), {}
    for row in _fewest_first(match):
        best = _best_row(row, match, used, bases)
        if best is None:
            result.rows_without_run += 1
            remarks[row.where] = [f"{row.where}: no run gives this row"]
            continue
        index, check = best
        used.add(index)
        bases.add(own_rows[index], check.shown)
        result.figures += check.figures
        result.differing += len(check.remarks)
        remarks[row.where] = check.remarks
    left_out = [own for index, own in enumerate(own_rows) if index not in used]
    result.rows_left_out = len(left_out)
    result.remarks = [remark for row in written.rows for remark in remarks[row.where]]
    result.remarks += [f"left out: {_row_name(match, own)}" for own in left_out]
    return result


def _best_way(written, table):
    """The match of the table as it stands, or as it is transposed if more columns are known then."""
    table = with_ideals(table)
    ways = [match_columns(written, table), match_columns(written.transposed(), table)]
    return max(ways, key=Match.columns)


def _is_enough(match):
    """Whether the columns of a table are enough to compare with."""
    return bool(match.names and match.figures)


def _faults_of(check, match):
    """How far a table is from being the one that was meant. A row that it does not have says more against it than one
    whose figures all differ."""
    row = len(match.figures) + 1
    return check.differing + row * check.rows_without_run + check.rows_left_out


def _by_series(table):
    """The rows of each series as a table of its own: a hand-in may be about one of them."""
    keys = [column.key for column in table.columns]
    names = dict.fromkeys(row[keys.index("series")] for row in table.rows) if "series" in keys else ()
    parts = []
    for name in names if len(names) > 1 else ():
        part = Table(table.id, f"{table.title}: {name}", table.columns)
        part.rows = [row for row in table.rows if row[keys.index("series")] == name]
        parts.append(part)
    return parts


def _none(written, remark):
    return TableCheck(not_compared=[(heading, "") for heading in written.headings], remarks=[remark])


def check_table(name, written, tables):
    """A TableCheck of a HandTable with the one of `tables` that has `name` as id, or else with the one that has most of
    its columns and agrees with it best. Rows are told by what stands before the first figure (P, batch, model). A
    figure agrees if it is the runs' one, rounded to the digits that it has, in a usual unit, or if it follows from
    figures of the same table that agree. Texts are not compared."""
    same = next((table for table in tables if table.id == name), None)
    if same is not None:
        match = _best_way(written, same)
        if _is_enough(match):
            return _compare(match)
        return _none(written, "it has too few columns of this table to be compared")
    if any(name.startswith(layout.replace("-", "_") + "_") for layout in LAYOUTS):
        return _none(written, "the runs do not give this table: runs are missing")
    candidates = [one for table in tables for one in (table, *_by_series(table))]
    matches = [match for match in (_best_way(written, table) for table in candidates) if _is_enough(match)]
    most = max(map(Match.columns, matches), default=0)
    checks = [(_compare(match), match) for match in matches if match.columns() == most]
    if not checks:
        return _none(written, "no table of the runs has its columns")
    return min(checks, key=lambda pair: _faults_of(*pair))[0]
