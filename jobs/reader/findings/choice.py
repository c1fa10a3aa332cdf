"""Which number of ranks to choose, for each purpose."""

import math

from ..base.estimate import Estimate
from ..study.conclude import judged, may_conclude, undecided
from .finding import Finding, listed, percent
from .scaling import judged_efficiency

PURPOSES = {
    "time": "for the shortest epoch",
    "cost": "for the fewest device hours",
    "knee": "for the best balance (maximum of speedup x efficiency)",  # Eager, Zahorjan, Lazowska, IEEE ToC 38(3), 1989
    "efficiency": "as the most that keep an efficiency of",
}
_TIES = 1e-9


def _score(f, purpose, seconds, enough):
    """How good a point is for a purpose by an epoch of these seconds: larger is better; the least where it is none to
    choose. Speedup x efficiency is larger where P T^2 is smaller, whatever the base."""
    if purpose == "efficiency":
        return f.ranks() if enough else -math.inf
    if math.isnan(seconds):
        return -math.inf
    return {"time": -seconds, "cost": -f.ranks() * seconds, "knee": -f.ranks() * seconds**2}[purpose]


def _scores(series, f, purpose, efficiency):
    """With what the runs leave of it."""
    if not may_conclude(f.point):
        return Estimate(-math.inf, -math.inf, -math.inf)
    if purpose == "efficiency" and not may_conclude(series.points[0].point):
        return Estimate(-math.inf, -math.inf, -math.inf)
    each, least = judged_efficiency(series, f), efficiency - _TIES
    if f.of_fewest_ranks():
        each = Estimate(1.0, 1.0, 1.0)
    epoch = judged(f.point.epoch, f.point)
    return Estimate(_score(f, purpose, epoch.value, each.value >= least),
                    _score(f, purpose, epoch.high, each.low >= least),
                    _score(f, purpose, epoch.low, each.high >= least))  # fmt: skip


def sweet_spot(series, purpose, efficiency=0.8):
    """The point to choose for a purpose, in the epoch view; None if none will do. A point whose runs may not conclude
    is not recommended."""
    scores = [(_scores(series, f, purpose, efficiency).value, f) for f in series.points]
    most = max((score for score, _ in scores), default=-math.inf)
    return next((f for score, f in scores if score == most), None) if most > -math.inf else None


def sweet_spots(series, purpose, efficiency=0.8):
    """That point and those that the runs do not tell from it, P ascending."""
    best = sweet_spot(series, purpose, efficiency)
    if best is None:
        return []
    scores = [_scores(series, f, purpose, efficiency) for f in series.points]
    certain = max(score.low for score in scores)  # what one of the points has at least
    least = _scores(series, best, purpose, efficiency).low
    return [f for f, score in zip(series.points, scores) if f is best or (score.high >= certain and score.high > least)]


def _ranks_text(ranks, last="or"):
    return "1 rank" if ranks == [1] else listed(map(str, ranks), last) + " ranks"


def _choice_text(spots, purpose, efficiency):
    reason = PURPOSES[purpose] + (f" {percent(efficiency)}" if purpose == "efficiency" else "")
    text = f"{_ranks_text([f.ranks() for f in spots])} {reason}"
    if len(spots) > 1:
        text += f" ({undecided(*(f.point for f in spots))} do not tell which)"
    return text


def what_to_choose(series, purposes, efficiency):
    """None where fewer than two points may be judged."""
    judged_points = [f for f in series.points if may_conclude(f.point)]
    if len(judged_points) < 2:
        return None
    choices = {purpose: sweet_spots(series, purpose, efficiency) for purpose in purposes}
    choices = {purpose: spots for purpose, spots in choices.items() if spots}
    if not choices:
        return None
    left_out = [f.ranks() for f in series.points if not may_conclude(f.point)]
    words = listed(_choice_text(spots, purpose, efficiency) for purpose, spots in choices.items())
    text = f"Of the numbers of ranks that were run, take {words}."
    if left_out:
        text += f" Runs on {_ranks_text(left_out, 'and')} are not judged."
    figures = {**{purpose: [f.ranks() for f in spots] for purpose, spots in choices.items()}, "left_out": left_out}
    return Finding(series.series.label, "choice", text, figures)
