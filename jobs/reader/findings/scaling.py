"""How far a series scales, and what a log in whole seconds would have hidden of it."""

from ..base.estimate import Estimate
from ..base.text import seconds_text
from ..study.conclude import NOTHING_LOST, differ, judged, may_conclude, undecided
from ..study.figures import epoch_parts
from ..study.observation import is_single_run
from ..study.series import Scaling
from .finding import Finding, percent, rank_words


def widest(series):
    """The point of most ranks that had a core for every thread; None in a series without a second P."""
    counted = [f for f in series.points if not f.point.oversubscribed and f.point.epoch.known
               and not f.of_fewest_ranks()]
    return counted[-1] if counted else None


def judged_efficiency(series, f):
    """As conclusions take it."""
    base = series.points[0].point
    return judged(base.epoch, base) / judged(f.point.epoch, f.point) * (base.ranks / f.ranks())


def how_far_it_scales(series, f):
    base, view = series.points[0].point, f.epoch_view
    fixed = "batch of each rank" if series.series.scaling is Scaling.weak else "global batch"
    text = (f"{rank_words(f.ranks())} take {f.point.epoch.text('seconds')} for an epoch where {rank_words(base.ranks)} "
            f"{'takes' if base.ranks == 1 else 'take'} {base.epoch.text('seconds')}: speedup "
            f"{view.speedup.value:.2f}, efficiency {view.efficiency.text('percent')}, with the {fixed} fixed "
            f"({series.series.scaling.value} scaling)")  # fmt: skip
    single = is_single_run(base) or is_single_run(f.point)
    figures = {"ranks": f.ranks(), "base_ranks": base.ranks, "epoch_seconds": f.point.epoch,
               "base_epoch_seconds": base.epoch, "speedup": view.speedup, "efficiency": view.efficiency,
               "single_runs": single}  # fmt: skip
    return Finding(series.series.label, "speedup", text + (", from single runs." if single else "."), figures)


def what_steps_say(series, f):
    """Where the epoch scales worse than its full steps do, and why."""
    base, step, epoch = series.points[0].point, f.step_view.efficiency, f.epoch_view.efficiency
    if not step.known or f.run is None or not may_conclude(base, f.point):
        return None
    judged_step = judged(base.full_step, base) / judged(f.point.full_step, f.point)
    judged_step *= f.point.global_batch / base.global_batch * base.ranks / f.ranks()
    if not differ(judged_efficiency(series, f), judged_step) or abs(step.value - epoch.value) < 1 - NOTHING_LOST:
        return None
    parts = epoch_parts(f)
    if parts.slow_steps < 0 or parts.partial < 0:
        return None  # quick steps made up for slow ones
    partial = ""
    if parts.partial_images:
        partial = (f"the partial last step ({parts.partial_images} images, "
                   f"{seconds_text(parts.partial_by_images)} s by their number) and to ")  # fmt: skip
    text = (f"The median full step alone scales to {percent(step.value)} on {rank_words(f.ranks())}, the epoch to "
            f"{percent(epoch.value)}. Of an epoch, {seconds_text(parts.slow_steps)} s go to steps that took longer "
            f"than the median, and {seconds_text(parts.partial)} s to {partial}the time between steps.")  # fmt: skip
    figures = {"ranks": f.ranks(), "step_efficiency": step, "efficiency": epoch, **vars(parts)}
    return Finding(series.series.label, "full-steps", text, figures)


def _is_open(estimate, bound):
    return estimate.low < bound <= estimate.high


def _effect_of_rounding(rounded, exact, bounds, runs):
    """A conclusion is on which side of a bound the efficiency lies. A range on both sides has none. Returns a code and
    words."""
    open_bound = None
    for bound in bounds:
        side = f"below {percent(bound)}"
        changed = (rounded.value >= bound) != (exact.value >= bound)
        if _is_open(exact, bound):
            open_bound = ("open", f"{runs} leave open whether it is {side}, with rounding or without")
        elif changed:
            it_is = "it is" if exact.value < bound else "it is not"
            return "changed", f"rounding would have changed the conclusion, as {it_is} {side}"
        elif _is_open(rounded, bound) and not open_bound:
            open_bound = ("hidden", f"the log would leave open whether it is {side}")
    return open_bound or ("unchanged", "rounding would not have changed the conclusion")


def _finer_than_seconds(seconds):
    """A coarser time cannot be compared with whole seconds."""
    return seconds.high - seconds.low < 0.5


def _whole(seconds):
    return int(seconds + 0.5)


def what_rounding_would_hide(series, f, kept):
    """`kept`: the efficiency that somebody wants to keep. Conclusions are about it and ideal scaling."""
    base, exact = series.points[0].point, f.epoch_view.efficiency
    if not _finer_than_seconds(base.epoch) or not _finer_than_seconds(f.point.epoch):
        return None
    before, after = _whole(base.epoch.value), _whole(f.point.epoch.value)
    figures = {"ranks": f.ranks(), "base_seconds": before, "seconds": after, "efficiency": exact, "effect": "none left"}
    shown = f"A log in whole seconds would show {before} s and {after} s"
    if min(before, after) < 1:
        text = shown + ", and no efficiency could be computed from it."
        return Finding(series.series.label, "rounding", text, figures)
    share = base.ranks / f.ranks()
    rounded = Estimate(before / after * share, (before - 0.5) / (after + 0.5) * share,
                       (before + 0.5) / (after - 0.5) * share)
    text = (f"{shown}, hence {percent(rounded.value)} (anything from {percent(rounded.low)} to "
            f"{percent(rounded.high)}) instead of {percent(exact.value)}")  # fmt: skip
    figures.update(rounded=rounded, effect="held back")
    if may_conclude(base, f.point):
        runs = undecided(base, f.point)
        figures["effect"], effect = _effect_of_rounding(rounded, judged_efficiency(series, f),
                                                        (NOTHING_LOST, kept), runs)
        text += ": " + effect
    return Finding(series.series.label, "rounding", text + ".", figures)
