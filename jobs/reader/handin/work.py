"""How much a network computes, which tells a larger one from a smaller one; the number in its name does not."""

import math

from ..base.definitions import DEFINITIONS

_MODELS = {model["name"]: model for model in DEFINITIONS["models"]}
_PIXELS = 32  # of a side, to which the facts of _MODELS belong


def parameters_of(model):
    """Trainable parameters of a network of this name for 10 classes; NaN if the program has none of this name."""
    return float(_MODELS[model]["parameters"]) if model in _MODELS else math.nan


def work_of(seen):
    """Operations of forward and backward of one image, of an observation: as its run recorded them, else of a network
    of this name, by the pixels; NaN if neither is known."""
    run = seen.runs[0] if seen.runs else None
    if run is not None and run.train_flops_per_image > 0:
        return run.train_flops_per_image
    if seen.model not in _MODELS:
        return math.nan
    return _MODELS[seen.model]["train_flops_per_image"] * ((seen.image_size or _PIXELS) / _PIXELS) ** 2


def known_work_of(seen):
    """The same as something to sort by: unknown work is the most."""
    work = work_of(seen)
    return math.inf if math.isnan(work) else work


def order_by_work(figures):
    """The names of the models of a list of SeriesFigures, least work first; those whose work is unknown last, as they
    came."""
    work = {}
    for one in figures:
        for point in one.points:
            work[one.series.model] = min(work.get(one.series.model, math.inf), known_work_of(point.point))
    return sorted(work, key=work.get)
