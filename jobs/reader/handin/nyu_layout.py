"""The layout `nyu`: homework 3, problem 2 of Deep Learning Systems at New York University (docs/courses/nyu.md)."""

import math
from dataclasses import dataclass, field

from ..base.text import count_text
from ..study.figures import CommunicationFigures
from ..study.observation import Processor
from ..study.series import Scaling
from ..tables.point_table import marks_of
from ..tables.table import Column, Field, Table
from .nyu_runs import loading_of, nyu_run_tables
from .side_by_side import add_side_by_side, epoch_figure, ranks_heading, speedup_figure, speedup_note
from .work import parameters_of

_BYTES = 4  # of an fp32 number


def _groups(figures):
    """Series that differ in their batch only, in the order of the batches."""
    groups = {}
    for one in figures:
        if one.series.scaling is not Scaling.single:
            groups.setdefault((one.series.subject(), one.series.scaling), []).append(one)
    return [sorted(group, key=lambda one: one.series.batch) for group in groups.values()]


def _gradient_bytes(point):
    """Bytes of an fp32 gradient: by the run, else of a network of this name for 10 classes; NaN where neither is
    known."""
    if point.runs and point.runs[0].parameters > 0:
        return float(_BYTES * point.runs[0].parameters)
    return _BYTES * parameters_of(point.model)


@dataclass
class _Derived:
    """What the homework derives of one batch on P ranks; seconds of an epoch. NaN where there was no run on one rank,
    or a figure is unknown."""

    one_rank: float = math.nan
    loading: float = math.nan  # part of `one_rank`
    compute: float = math.nan
    inferred: float = math.nan  # communication
    measured: CommunicationFigures = field(default_factory=CommunicationFigures)
    bytes: float = math.nan  # of a gradient where nothing was measured
    inferred_rate: float = math.nan  # GB/s


def _derived_from(base, figures):
    derived, point = _Derived(), figures.point
    if base.point.ranks != 1:
        return derived
    derived.one_rank, derived.loading = base.point.epoch.value, loading_of(base)
    loading = 0 if math.isnan(derived.loading) else derived.loading
    derived.compute = (derived.one_rank - loading) / point.ranks
    if point.ranks == 1:
        return derived
    derived.inferred = point.epoch.value - derived.compute
    derived.measured = figures.communication
    derived.bytes = _gradient_bytes(point) if figures.run is None else figures.communication.bytes
    # Every step is an all-reduce of a whole gradient.
    sent = 2 * (point.ranks - 1) / point.ranks * derived.bytes * point.steps
    if derived.inferred > 0:
        derived.inferred_rate = sent / derived.inferred / 1e9
    return derived


def _figures_of(series, figures):
    point = figures.point
    derived = _derived_from(series.points[0], figures)
    return [Field("batch", "Batch", "count", series.series.batch),
            Field("ranks", ranks_heading(point.processor), "count", point.ranks),
            Field("one_rank_s", "T(1) (s)", "seconds", derived.one_rank),
            Field("loading_s", "of this loading (s)", "seconds", derived.loading),
            Field("time_s", "T(P) (s)", "seconds", point.epoch),
            Field("compute_s", "Compute (s)", "seconds", derived.compute),
            Field("inferred_s", "Comm inferred (s)", "seconds", derived.inferred),
            Field("measured_s", "Comm measured (s)", "seconds", derived.measured.busy),
            Field("exposed_s", "Comm exposed (s)", "seconds", derived.measured.exposed),
            Field("steps", "Steps", "count", point.steps),
            Field("gradient_bytes", "N (bytes)", "count", derived.bytes),
            Field("bandwidth_GBps", "Bandwidth inferred (GB/s)", "gigabytes", derived.inferred_rate),
            Field("busbw_GBps", "Bandwidth measured (GB/s)", "gigabytes", derived.measured.busbw),
            Field("marks", "Marks", "text", _marks_with_base(series, figures))]


def _base_marks(series, points):
    """What limits the run on one rank, from which these points are derived, and not each of them as well; nothing where
    the series begins on more ranks."""
    if series.points[0].ranks() != 1:
        return ""
    shown = [marks_of(one.point).split("; ") for one in points]
    own = marks_of(series.points[0].point).split("; ")
    return ", ".join(mark for mark in own if mark and not all(mark in marks for marks in shown))


def _marks_with_base(series, figures):
    base = _base_marks(series, [figures])
    return "; ".join(filter(None, [marks_of(figures.point), base and f"one rank: {base}"]))


def _batch_word(series):
    whose = "global"
    if series.scaling is Scaling.weak:
        whose = "per GPU" if series.processor is Processor.gpu else "per rank"
    return f"Batch {count_text(series.batch)} {whose}"


def _about(series):
    variant = f", {series.variant}" if series.variant else ""
    return f"{series.model}, {series.processor.value}, {series.scaling.name} scaling{variant}{series.source_remark()}"


def _derived(key):
    def value(series, point):
        return next(one.cell for one in _figures_of(series, point) if one.key == key)

    return value


def _scaled_speedup_figure(_, point):
    return point.epoch_view.speedup * point.ranks()


# The parts of each table, which become columns of every batch: key, heading, show, figure.
_TIMES = (("time_s", "time (sec)", "seconds", epoch_figure),
          ("speedup", "speedup", "ratio", speedup_figure),
          ("scaled_speedup", "P x speedup", "ratio", _scaled_speedup_figure))
_PARTS = (("compute_s", "compute (sec)", "seconds", _derived("compute_s")),
          ("comm_s", "comm (sec)", "seconds", _derived("inferred_s")))
_BANDWIDTHS = (("bandwidth_GBps", "bandwidth (GB/s)", "gigabytes", _derived("bandwidth_GBps")),
               ("busbw_GBps", "measured (GB/s)", "gigabytes", _derived("busbw_GBps")))
_FIXED = {Scaling.weak: "Weak scaling: the batch of every rank stays the same.",
          Scaling.strong: "Strong scaling: the batch of all ranks together stays the same."}
_RING = ("A ring all-reduce of N bytes over P ranks with bandwidth B (1/beta) takes 2 (P-1)/P N / B; hence bandwidth "
         "= 2 (P-1)/P x "
         "N x steps / communication of an epoch. GB = 10^9 bytes. Sums in shared memory use no link: their figure is "
         "the "
         "bandwidth of an equally fast ring. Measured: inside the all-reduce.")
_DETAILS = ("Inferred: as in tables 2 and 3. Measured: inside the all-reduce, hidden or not, mean over ranks. "
            "Exposed: the part "
            "that nothing hid.",
            "Bandwidth measured: 2 (P-1)/P x N / time of the slowest rank inside the all-reduce (busbw). N: all that "
            "a step "
            "sums.")


def _wide_table(group, number, part, figures, fewest):
    """A row for each P from `fewest` on, the figures of every batch side by side."""
    first = group[0].series
    table = Table(f"nyu_table_{number}", f"{part.format(number=number)}: {_about(first)}",
                  [("ranks", ranks_heading(first.processor), "count")])
    for one in group:
        table.columns += [Column(f"batch_{one.series.batch}_{key}", f"{_batch_word(one.series)}: {heading}", show)
                          for key, heading, show, _ in figures]
    add_side_by_side(table, group, [figure[3] for figure in figures], fewest)
    return table


def _base_note(group):
    """What limits the runs on one rank, which tables 2 and 3 rest on and do not show."""
    marks = [(_batch_word(one.series), _base_marks(one, one.points[1:])) for one in group]
    marks = [f"{batch}: {words}" for batch, words in marks if words]
    if not marks:
        return []
    return [f"Of the runs on one rank, from which these figures are derived: {'. '.join(marks)}."]


def _formulas(group):
    notes = ["Compute on P ranks = C / P, where C is an epoch on one rank without the loading of data but with its "
             "copy to the "
             "device.",
             "Communication = T(P) - C / P: everything that is not C / P, unevenness, loading and overheads included. "
             "Below 0 "
             "where P ranks gained more than P-fold."]
    if math.isnan(loading_of(group[0].points[0])):
        notes.append("Loading was not measured separately: C = T(1).")
    return notes


def _summed_note(group, size):
    """The bytes that the figures rest on where runs recorded them: a step sums more than gradients."""
    summed = {point.communication.bytes for one in group for point in one.points if point.run and point.ranks() > 1}
    found = sorted(one for one in summed - {size} if math.isfinite(one))
    if not found:
        return ""
    ends = " to ".join(map(count_text, dict.fromkeys((found[0], found[-1]))))
    return f" With what it sums besides, such as the statistics of batch norms, N is {ends} bytes here."


def _bandwidth_notes(group):
    series, notes = group[0].series, [_RING]
    size = _gradient_bytes(series.points[0])
    if math.isfinite(size):
        notes.append(f"N: {count_text(size / _BYTES)} parameters of {series.model}, 4 bytes each: {count_text(size)} "
                     f"bytes; a step is one all-reduce.{_summed_note(group, size)}")
    steps = [f"{count_text(one.series.batch)} x {point.ranks()}: {count_text(point.point.steps)}"
             for one in group for point in one.points if point.ranks() > 1]
    whose = "each" if series.scaling is Scaling.weak else "all"
    return [*notes, f"Steps of an epoch, by batch of {whose} x ranks: {', '.join(steps)}."]


def _speedup_notes(group):
    """The formulas, each with its batches where not all begin on as many ranks."""
    batches = {}  # by formula
    for one in group:
        batches.setdefault(speedup_note(one.series), []).append(_batch_word(one.series))
    notes = [note if len(batches) == 1 else f"{', '.join(words)}: {note}" for note, words in batches.items()]
    return [*notes[:-1], notes[-1] + " The homework's other definition is P x speedup."]


def _time_table(group):
    series = group[0].series
    table = _wide_table(group, 1, "Part 2, table {number}: time and speedup", _TIMES, 1)
    table.notes = [_FIXED[series.scaling],
                   "Time: an epoch after the first, loading of data included.",
                   *_speedup_notes(group)]
    return table


def _details(group):
    """Every figure that tables 2 and 3 rest on."""
    about = _about(group[0].series)
    table = Table("nyu_communication", f"Part 3: communication, inferred and measured: {about}", notes=_DETAILS)
    for one in group:
        for point in one.points:
            if point.ranks() > 1:
                table.add_fields(_figures_of(one, point))
    return table


def _tables_of(group):
    parts = _wide_table(group, 2, "Part 3, table {number}: compute and communication", _PARTS, 2)
    parts.notes = _formulas(group) + _base_note(group)
    bandwidths = _wide_table(group, 3, "Part 4, table {number}: bandwidth utilisation", _BANDWIDTHS, 2)
    bandwidths.notes = _bandwidth_notes(group) + _base_note(group)
    return [_time_table(group), parts, bandwidths, _details(group)]


def nyu_layout(figures):
    tables = nyu_run_tables(figures)
    for number, group in enumerate(_groups(figures), 1):
        for table in _tables_of(group):
            table.id += f"_g{number}"
            tables.append(table)
    return tables
