"""The gradient noise of an epoch as run.json has it, and of several together (docs/metrics.md, "Gradient noise
scale")."""

import math
from collections import namedtuple
from dataclasses import dataclass

from ..base.estimate import Estimate
from ..base.text import printable

_QUANTILE = 1.645  # of the normal distribution: half of a 90 % interval in standard deviations

Reason = namedtuple("Reason", "why remedy")
"""Why a noise scale is not determined, as it follows "because", and what helps."""

REASONS = {
    "one part a step": Reason("each step was one part, so there is no second batch size to compare it with",
                              "train with --accumulate 2 or on several ranks"),
    "gradient not above noise": Reason("the gradient is not above its noise",
                                       "measure more steps of an epoch (--noise-scale 1)"),
    "few steps": Reason("too few steps were measured",
                        "train more images, or measure more of their steps (--noise-scale 1)"),
}  # fmt: skip
"""By the words that run.json has."""


@dataclass(frozen=True)
class GradientNoise:
    """Of the measured steps of an epoch. `scale` is in images, with its 90 % interval; unknown where `reason` has words
    of REASONS."""

    scale: Estimate = Estimate()
    gradient_norm2: float = math.nan  # |G|^2, mean over the steps
    variance: float = math.nan  # trace of the covariance of one image's gradient, likewise
    batch: int = 0  # images of a full step
    parts: int = 0  # of a full step, over all ranks
    steps: int = 0  # that were measured
    learning_efficiency: float = math.nan  # of a full step
    reason: str = ""


def columns_of(noise):
    """What epochs.csv has of a GradientNoise, by column; NaN where it is not determined, or None."""
    noise = noise or GradientNoise()
    return {"noise_scale": noise.scale.value, "noise_scale_low": noise.scale.low, "noise_scale_high": noise.scale.high,
            "learning_efficiency": noise.learning_efficiency}  # fmt: skip


def reason_of(word):
    """The Reason for a word of run.json, also of one that a later version writes."""
    return REASONS.get(word, Reason(printable(word), "look at the run's own table"))


def _read_scale(j):
    if not j.has("scale"):
        return Estimate()
    scale = Estimate(*(j.number(name) for name in ("scale", "low", "high")))
    if not (0 <= scale.low <= scale.value <= scale.high and scale.value > 0):
        j.refuse("has no noise scale above 0 within its interval")
    return scale


def read_noise(j):
    """The GradientNoise of an element of `epochs`; None where it was not measured. Raises Unusable naming the field."""
    if not j.has("gradient_noise"):
        return None
    part = j.at("gradient_noise")
    counts = {name: part.count(name) if part.has(name) else 0 for name in ("batch", "parts", "steps")}
    numbers = {name: part.number_if_any(name) for name in ("gradient_norm2", "variance", "learning_efficiency")}
    return GradientNoise(scale=_read_scale(part), reason=part.text_if_any("reason"), **counts, **numbers)


def _birge_ratio(scales, pooled):
    """By how much values differ more than their intervals say; 1 where they do not (R. Birge: The calculation of errors
    by the method of least squares, Physical Review 40, 207-227, 1932)."""
    squares = 0.0
    for scale in scales:
        half = scale.high - scale.value if scale.value < pooled else scale.value - scale.low
        apart = abs(scale.value - pooled)
        squares += (_QUANTILE * apart / half) ** 2 if half > 0 else 0.0
    return max(1.0, math.sqrt(squares / (len(scales) - 1))) if len(scales) > 1 else 1.0


def pooled_scale(noises):
    """One noise scale of several measurements that determined theirs: the ratio of the summed variances and squared
    gradients, with the interval that theirs leave, wider by Birge's ratio where they differ by more. An Estimate in
    images; unknown of none."""
    known = [noise for noise in noises if noise.scale.known and noise.gradient_norm2 > 0 and noise.steps > 0]
    if not known:
        return Estimate()
    weights = [noise.gradient_norm2 * noise.steps for noise in known]
    value = sum(noise.variance * noise.steps for noise in known) / sum(weights)
    if not 0 < value < math.inf:  # beyond what doubles hold
        return Estimate()
    # The pooled ratio is the mean of the single ones with these weights, so that independent errors add as squares.
    shares = [weight / sum(weights) for weight in weights]
    below = math.hypot(*(share * (noise.scale.value - noise.scale.low) for share, noise in zip(shares, known)))
    above = math.hypot(*(share * (noise.scale.high - noise.scale.value) for share, noise in zip(shares, known)))
    wider = _birge_ratio([noise.scale for noise in known], value)
    return Estimate(value, max(0.0, value - wider * below), value + wider * above)


def learning_efficiency(scale, batch):
    """1 / (1 + B / noise scale): what share of its images a step of B images uses. An Estimate, of one in images; where
    that is not known anything from 0 to 1, for its reason."""
    if not scale.known:
        return Estimate(1.0, 0.0, 1.0, scale.why)
    return Estimate(*(one / (one + batch) for one in (scale.value, scale.low, scale.high)), scale.why)


def steps_worth(scale, batch, other):
    """How many steps of `other` images teach as much as one of `batch`: (1 + noise/other) / (1 + noise/batch) (S.
    McCandlish, J. Kaplan, D. Amodei and others: An Empirical Model of Large-Batch Training, 2018, section 2.2). It is
    also by how much the best learning rate of plain SGD differs. An Estimate: 1 of equal batches, whatever the noise
    scale; where that is not known anything from 1 to the ratio of the batches, for its reason."""
    images = batch / other
    if batch == other:
        return Estimate(1.0, 1.0, 1.0)
    if not scale.known:
        return Estimate(images, min(1.0, images), max(1.0, images), scale.why)
    values = [images * (one + other) / (one + batch) for one in (scale.value, scale.low, scale.high)]
    return Estimate(values[0], min(values), max(values), scale.why)
