"""What the gradient noise scale says: how fast more ranks learn, which learning rate a batch can bear, what a step
teaches."""

from ..base.text import count_text, setting_text
from ..runs.noise import reason_of, steps_worth
from ..study.conclude import differ, may_conclude
from ..study.series import Scaling
from ..tables.learning import noise_text, where_from
from .finding import Finding, rank_words
from .scaling import judged_efficiency


def _may_compare(series, f):
    """Whether the batch grows with P, and something is known, or asked, of what that teaches."""
    grows = series.series.scaling is Scaling.weak and f.learning.speedup.known
    return grows and may_conclude(series.points[0].point, f.point)


def _teaches(batch, worth, other):
    """`worth`: an Estimate of steps of `other` images."""
    return (f"a step of {count_text(batch)} images teaches as much as {worth.text('ratio')} steps of "
            f"{count_text(other)} and costs {setting_text(round(batch / other, 2))} times the images")  # fmt: skip


def how_fast_it_learns(series, f):
    """Where learning gains less than throughput by more than their intervals, and where that is not determined. With a
    fixed global batch both are equal, and nothing is said."""
    if not _may_compare(series, f):
        return None
    batches, learning, throughput = ((f.point.global_batch, series.points[0].point.global_batch), f.learning,
                                     f.epoch_view.speedup)
    figures = {"ranks": f.ranks(), "speedup": throughput, "learning_speedup": learning.speedup,
               "global_batches": batches,
               "steps_of_base": learning.steps_of_base, "noise_scale": learning.noise.scale,
               "epoch": learning.noise.epoch}  # fmt: skip
    if not learning.speedup.determined:
        text = f"How much faster {rank_words(f.ranks())} learn is not determined: {learning.speedup.why}."
        return Finding(series.series.label, "learning-speedup", text, figures)
    judged = judged_efficiency(series, f) * f.ranks()
    if not differ(judged, judged * learning.gain):
        return None
    text = (f"{rank_words(f.ranks())} do not learn as much faster as they train: the speedup of throughput is "
            f"{throughput.text('ratio')}, that of learning {learning.speedup.text('ratio')}, because "
            f"{_teaches(batches[0], learning.steps_of_base, batches[1])}. The gradient noise scale is "
            f"{noise_text(learning.noise.scale)}, {where_from(learning.noise)}.")  # fmt: skip
    return Finding(series.series.label, "learning-speedup", text, figures)


def _side(batch, scale):
    if batch > scale.high:
        return "above"
    return "below" if batch <= scale.low else "open"


_SIDES = {
    "above": "The {batch}, is above the gradient noise scale, {noise}: there the learning rate should no longer "
             "grow like the batch.",
    "below": "The {batch}, is not above the gradient noise scale, {noise}: up to about there the learning rate may "
             "grow like the batch.",
    "open": "Whether the {batch}, is above the gradient noise scale, {noise}, is not determined; up to about "
            "there the learning rate may grow like the batch.",
}  # fmt: skip


def which_learning_rate(series, f):
    """What linear scaling of the learning rate makes of the batch of most ranks."""
    if not _may_compare(series, f) or not f.learning.speedup.determined:
        return None
    batch, base, scale = f.point.global_batch, series.points[0].point.global_batch, f.learning.noise.scale
    side, best = _side(batch, scale), f.learning.steps_of_base
    words = f"global batch of {rank_words(f.ranks())}, {count_text(batch)} images"
    text = _SIDES[side].format(batch=words, noise=noise_text(scale))
    text += (f" Linear scaling (--scale-lr linear) makes it {setting_text(round(batch / base, 2))} times that of "
             f"{count_text(base)} images; by the noise scale about {best.text('ratio')} times are best for "
             "plain SGD.")  # fmt: skip
    figures = {"ranks": f.ranks(), "global_batch": batch, "base_batch": base, "noise_scale": scale, "side": side,
               "linear_factor": batch / base, "best_factor": best}  # fmt: skip
    return Finding(series.series.label, "learning-rate", text, figures)


def compared_batch(run):
    """With which a step is compared, as in the run's own table: what a rank has of it, and on one rank half of it."""
    return max(1, run.global_batch // max(2, run.world_size()))


def what_a_step_teaches(series):
    """Of a configuration of one P, by the last epoch of the run that stands for it."""
    run = series.points[0].run
    noise = run.epochs[-1].noise if run is not None and len(series.points) == 1 else None
    if noise is None:
        return None
    figures = {"noise_scale": noise.scale, "epoch": run.epochs[-1].epoch, "batch": run.global_batch,
               "learning_efficiency": noise.learning_efficiency, "reason": noise.reason}  # fmt: skip
    if not noise.scale.known:
        reason = reason_of(noise.reason)
        text = f"The gradient noise scale is not determined: {reason.why} ({reason.remedy})."
        return Finding(series.series.label, "noise", text, figures)
    other = compared_batch(run)
    teaches = _teaches(run.global_batch, steps_worth(noise.scale, run.global_batch, other), other)
    text = f"The gradient noise scale is {noise_text(noise.scale)} in epoch {run.epochs[-1].epoch}: {teaches}."
    return Finding(series.series.label, "noise", text, figures)
