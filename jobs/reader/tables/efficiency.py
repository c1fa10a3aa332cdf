"""Tables of where time goes and where efficiency was lost."""

import math

from ..base.definitions import PHASES
from ..study.efficiency import FACTORS
from .point_table import point_table, points_of
from .table import Field


def _phase_heading(phase):
    """"all_reduce" as people write it."""
    return "all-reduce" if phase == "all_reduce" else phase


def _phases_with(figures):
    """Phases in which no time was spent anywhere would be columns of zeros."""
    used = {phase for f in points_of(figures) for phase, seconds in f.step_phases.items() if seconds > 0}
    return [phase for phase in PHASES if phase in used]


def phase_table(figures):
    used = _phases_with(figures)

    def row(f):
        if f.run is None or not math.isfinite(f.step_phases["load"]):
            return []
        cells = [Field(f"{phase}_seconds", f"{_phase_heading(phase)}, ms", "millis", f.step_phases[phase])
                 for phase in used]
        return [*cells, Field("step_seconds", "step, ms", "millis", sum(f.step_phases.values()))]

    notes = ("Mean over the full steps of the steady epochs and over ranks, of the run that stands for "
             "the repeats. The phases follow each other and add up to the step. all-reduce is the exposed part.",
             "load: making the batch, or waiting for it; copy: waiting until it is on the device; other: "
             "bookkeeping.")  # fmt: skip
    return point_table("phases", "Where the time of a full step goes", figures, row, notes)


_LOSS_NOTES = (
    "Lost: T(P) - T(P0) P0/P, seconds of an epoch more than with ideal scaling. A phase explains what it takes of an "
    "epoch beyond its share P0/P of the fewest ranks' seconds; a negative figure is time won. The phases and the rest "
    "add up to the loss.",
    "Of it waiting: of the all-reduce's part, waiting for ranks that were later. In each step the rank "
    "that arrives last waits for no other, so what it spends in the all-reduce is transfer; what others spend beyond "
    "that is waiting.",
    "Rest: unevenness of the ranks and time between steps.",
)


def loss_table(figures):
    used = _phases_with(figures)

    def row(f):
        loss = f.losses
        if loss is None:
            return []
        phases = [Field(f"{phase}_lost_seconds", f"{_phase_heading(phase)}, s", "seconds", loss.phases[phase])
                  for phase in used]  # fmt: skip
        return [Field("lost_seconds", "lost, s", "seconds", loss.lost),
                Field("lost_share", "of epoch, %", "percent", loss.lost / f.point.epoch.value), *phases,
                Field("waiting_seconds", "of it waiting, s", "seconds", loss.waiting),
                Field("rest_seconds", "rest, s", "seconds", loss.rest)]  # fmt: skip

    return point_table("losses", "What the lost efficiency consists of", figures, row, _LOSS_NOTES)


def _factor_row(f):
    if not math.isfinite(f.factors["parallel"]):
        return []
    cells = [Field(key, f"{heading}, %", "percent", f.factors[key]) for key, heading in FACTORS.items()]
    return [*cells, Field("efficiency", "efficiency, %", "percent", f.epoch_view.efficiency)]


_FACTOR_NOTES = (
    "Useful time of a rank: its steps in the median epoch without waiting for the all-reduce. Load balance: its mean / "
    "its maximum over ranks. Serialisation: its maximum / the epoch on an ideal network, whose messages take no time. "
    "Transfer: that / the epoch. Their product is the parallel efficiency (POP Centre of Excellence).",
    "Computation scaling: useful time of all ranks on the fewest ranks P0 / on P. Global efficiency = "
    "parallel efficiency x computation scaling.",
    "Efficiency is that of the epoch view: global efficiency / the parallel efficiency on P0.",
)


def factor_table(figures):
    return point_table("factors", "Where efficiency was lost", figures, _factor_row, _FACTOR_NOTES)


def _straggler_row(f):
    s = f.stragglers
    if f.run is None or f.ranks() < 2 or not math.isfinite(s.compute.mean):
        return []
    step = f.run.summary.full_step.slowest
    return [
        Field("compute_min_seconds", "fastest rank, ms", "millis", s.compute.min),
        Field("compute_mean_seconds", "mean, ms", "millis", s.compute.mean),
        Field("compute_max_seconds", "slowest rank, ms", "millis", s.compute.max),
        Field("imbalance", "slowest / mean", "ratio", s.compute.max / s.compute.mean),
        Field("slowest", "slowest", "text", f"rank {s.slowest} on {s.slowest_host}"),
        Field("step_median_seconds", "step, median, ms", "millis", step.median),
        Field("step_p90_seconds", "step, p90, ms", "millis", step.p90),
    ]


_STRAGGLER_NOTES = (
    "By rank: the median of its full steps without the phase all-reduce, i.e. its own work, in the last "
    "epoch of the run that stands for the repeats. Where ranks have different batches, each time is scaled to "
    "the mean batch.",
    "Step: the slowest rank's time over the steady full steps. A p90 far from the median is noise in single steps; a "
    "slowest rank far from the mean is a rank that is always late.",
)


def straggler_table(figures):
    return point_table("stragglers", "How even the ranks were", figures, _straggler_row, _STRAGGLER_NOTES)
