"""What the loss of a point consists of: the factor, the phases, the growth of a step, communication."""

import itertools
import math

from ..base.text import seconds_text
from ..study.causes import costliest, is_determined, is_sure, loss_parts, lost_margin, most_lost
from ..study.conclude import NOTHING_LOST, margin, may_conclude, undecided
from ..study.efficiency import FACTORS
from ..study.losses import repeats_differ_by
from ..study.series import Scaling
from .finding import Finding, listed, percent, phase_name, rank_words

_WORTH_NAMING = 0.05  # of the loss
_ROUNDED = 0.0005  # of a share, as it is shown
_REST = "uneven ranks and time between steps"


def which_factor_costs_most(series, f):
    base, whole = series.points[0], f.factors["global"]
    if not whole < NOTHING_LOST or not (is_determined(base, f) if f.losses else may_conclude(base.point, f.point)):
        return None
    text = f"At {rank_words(f.ranks())} {percent(1 - whole)} of the global efficiency is lost"
    most = costliest(base, f)
    figures = {"ranks": f.ranks(), "lost": 1 - whole, "factor": most, "factors": f.factors}
    if most is None:
        runs = undecided(base.point, f.point)
        verb = "agree" if runs == "repeats" else "tell"
        return Finding(series.series.label, "factor", f"{text}; {runs} do not {verb} by which factor most.", figures)
    return Finding(series.series.label, "factor", f"{text}, most by {FACTORS[most]} ({f.factors[most]:.2f}).", figures)


def _name(key):
    return _REST if key == "rest" else phase_name(key)


def _causes(parts, lost):
    """What took longer and is worth naming, the largest first: a part only where every larger one is sure."""
    worth = [part for part in parts if part.seconds >= _WORTH_NAMING * lost]
    return list(itertools.takewhile(is_sure, worth))


def _causes_text(parts, lost, runs):
    largest, causes = parts[0], _causes(parts, lost)
    if not causes:
        return (f" The largest part, {_name(largest.key)} {seconds_text(largest.seconds)} s, is not more than "
                f"{runs} leave open ({seconds_text(largest.margin)} s): no cause is determined.")  # fmt: skip
    longer = sum(max(0.0, part.seconds) for part in parts)
    named = [f"{_name(part.key)} {seconds_text(part.seconds)} s ({percent(part.seconds / longer)})" for part in causes]
    text = f" The cause is {named[0]}" if len(named) == 1 else f" The causes are {listed(named)}"
    if longer > (1 + _ROUNDED) * lost:
        text += f", of {seconds_text(longer)} s that took longer than with ideal scaling"
    return text + "."


def _gains_text(parts, lost):
    """What took less than with ideal scaling."""
    gains = [part for part in parts if -part.seconds >= _WORTH_NAMING * lost and -part.seconds > part.margin]
    named = [f"{_name(part.key)} {seconds_text(-part.seconds)} s" for part in gains]
    return f" Less than with ideal scaling took {listed(named)}." if named else ""


def what_the_loss_is(series, f):
    base, loss = series.points[0], f.losses
    if loss is None or not f.epoch_view.efficiency.value < NOTHING_LOST:
        return None
    parts, runs = loss_parts(base, f), undecided(base.point, f.point)
    text = f"Compared with ideal scaling {rank_words(f.ranks())} lose {seconds_text(loss.lost)} s an epoch."
    most = most_lost(base, f)
    figures = {"ranks": f.ranks(), "lost_seconds": loss.lost, "margin_seconds": lost_margin(base, f),
               "cause": most and most.key, "causes": {},
               "parts": {part.key: part.seconds for part in parts}}  # fmt: skip
    if is_determined(base, f):
        figures["causes"] = {part.key: part.seconds for part in _causes(parts, loss.lost)}
        text += _causes_text(parts, loss.lost, runs) + _gains_text(parts, loss.lost)
    elif may_conclude(base.point, f.point):
        text += f" {_spread_text(base, f, runs)}: no cause is determined."
    return Finding(series.series.label, "loss-cause", text, figures)


def _spread_text(base, f, runs):
    differ = seconds_text(lost_margin(base, f))
    if runs == "repeats":
        return f"Repeats of one configuration differ by {differ} s"
    return f"Single runs leave {differ} s of it open"


def _step_margin(f, phase):
    """What the phase of a mean full step may be off; seconds."""
    spread = repeats_differ_by(f.point, lambda run: run.summary.full_step.phases[phase].mean)
    return spread + margin(f.step_phases[phase], f.point)


def what_grows(series, f):
    """Of weak scaling, whose ranks have the same work in a step."""
    base = series.points[0]
    if f.run is None or base.run is None or series.series.scaling is not Scaling.weak:
        return None
    growth = {phase: seconds - base.step_phases[phase] for phase, seconds in f.step_phases.items()}
    most = max(growth, key=growth.get)
    before, after = sum(base.step_phases.values()), sum(f.step_phases.values())
    sure = growth[most] > _step_margin(f, most) + _step_margin(base, most)
    if not growth[most] > (1 - NOTHING_LOST) * before or not sure or not may_conclude(base.point, f.point):
        return None
    text = (f"A mean full step, of the same images per rank, goes from {1e3 * before:.1f} to "
            f"{1e3 * after:.1f} ms between {rank_words(base.ranks())} and {rank_words(f.ranks())}; the phase that "
            f"grows most is {phase_name(most)} ({1e3 * base.step_phases[most]:.1f} to "
            f"{1e3 * f.step_phases[most]:.1f} ms).")  # fmt: skip
    figures = {"ranks": f.ranks(), "step_seconds": [before, after], "phase": most,
               "phase_seconds": [base.step_phases[most], f.step_phases[most]]}  # fmt: skip
    return Finding(series.series.label, "growth", text, figures)


def how_communication_shares(series, f):
    c, base = f.communication, series.points[0]
    if not math.isfinite(c.busy):
        return None
    inferred = f"{seconds_text(c.inferred)} s of an epoch by subtraction"
    if c.inferred < 0:
        inferred = "no time by subtraction, because the epoch is shorter than an ideal one,"
    text = (f"Communication on {rank_words(f.ranks())} takes {inferred} and {seconds_text(c.busy)} s as "
            f"measured in the all-reduce; {seconds_text(c.exposed)} s were exposed")  # fmt: skip
    hidden = 1 - c.exposed / c.busy if c.busy > max(c.exposed, 0) else None
    if hidden:
        text += f" ({percent(hidden)} hidden behind the backward pass)"
    blamed = None
    determined = is_determined(base, f) if f.losses else may_conclude(base.point, f.point)
    if (c.exposed > 0 and c.inferred > 2 * c.exposed and determined
            and c.inferred > (1 - NOTHING_LOST) * f.point.epoch.value):
        blamed = c.inferred / c.exposed
        text += f". Subtraction would blame the network for {blamed:.1f} times the exposed part"
    figures = {"ranks": f.ranks(), "inferred_seconds": c.inferred, "busy_seconds": c.busy, "exposed_seconds": c.exposed,
               "hidden": hidden, "blamed": blamed}  # fmt: skip
    return Finding(series.series.label, "communication", text + ".", figures)
