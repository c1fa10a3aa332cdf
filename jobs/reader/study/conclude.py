"""Who may conclude: the one rule that every sentence asks before it names a cause, ranks, sees a trend or advises.

A figure may always be shown. A conclusion may not come from runs that did not measure what they seem to (`doubts_of`),
and only from a difference that is more than runs of one configuration differ by: of repeats their range, of single
runs, whose range nobody knows, 5 % of the figure (`judged`, `margin`).
"""

import math
from collections import namedtuple

from ..base.definitions import THRESHOLDS
from ..base.estimate import Estimate
from .observation import is_single_run, observe

SINGLE_RUNS_DIFFER = 0.05
"""A difference of single runs below this share is not determined."""
FEWEST_STEPS = THRESHOLDS["balance_least_steps"]
"""Full steps that a run needs, as `--balance speed` does, before a time of its steps is a time."""
NOTHING_LOST = THRESHOLDS["nothing_lost"]
"""Of ideal: no cause is looked for."""

_ALLOWED = math.sqrt(1 + SINGLE_RUNS_DIFFER)  # of each of two single runs, so that both together make the 5 %

Doubt = namedtuple("Doubt", "code reason remedy")
"""Why nothing follows from a run: a code for programs, the reason as it follows "because", what helps."""

DOUBTS = {
    doubt.code: doubt
    for doubt in (
        Doubt("oversubscribed", "more threads ran than there were cores", "give each thread a core"),
        Doubt("warm-up", "the only epoch includes warm-up", "train more epochs"),
        Doubt("disturbed", f"a rank got less than {100 * THRESHOLDS['fair_share']:.0f} % of the time of its cores, "
              "which other programs, a quota or other virtual machines took", "repeat it on cores of its own"),
        Doubt("few-steps", f"the steady epochs have fewer than {FEWEST_STEPS} full steps",
              "train more images or more epochs"),
    )
}  # fmt: skip


def _full_steps(run):
    return run.summary.full_step.steps


def doubts_of(point):
    """The codes of what holds back conclusions from an observation, in the order of DOUBTS. What rueda did not run has
    no steps to count."""
    applies = {
        "oversubscribed": point.oversubscribed,
        "warm-up": point.includes_warm_up,
        "disturbed": point.disturbed,
        "few-steps": any(_full_steps(run) < FEWEST_STEPS for run in point.runs),
    }
    return [code for code in DOUBTS if applies[code]]


def may_conclude(*points):
    """Whether none of these observations is doubtful."""
    return not any(map(doubts_of, points))


def doubted_runs(points):
    """[(run, codes)] of the runs of these observations that hold conclusions back, each once."""
    runs = {id(run): run for point in points for run in point.runs}
    with_codes = [(run, doubts_of(observe(run))) for run in runs.values()]
    return [(run, codes) for run, codes in with_codes if codes]


def judged(time, point):
    """A time as conclusions take it. That of a single run stands for any within 2.5 %, so that two of them, and any
    ratio of two, tell something only from 5 % on."""
    if not is_single_run(point):
        return time
    return Estimate(time.value, time.low / _ALLOWED, time.high * _ALLOWED, time.why)


def margin(seconds, point):
    """What seconds of this observation may be off although no repeat says so: the same rule for differences."""
    return abs(seconds) * (_ALLOWED - 1) if is_single_run(point) else 0.0


def differ(a, b):
    """Whether two Estimates, judged, have no value in common."""
    return a.high < b.low or b.high < a.low


def undecided(*points):
    """The subject of "... do not tell which"."""
    return "single runs" if any(map(is_single_run, points)) else "repeats"
