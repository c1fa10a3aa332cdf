"""How a run learned, as it is drawn and as report.json has it."""

import math
from collections import namedtuple

from ..runs.run import folder_name

MOST_CURVE_POINTS = 500
"""More epochs than a picture can show."""

Curve = namedtuple("Curve", "known epochs values")
"""A figure over the epochs, from 1, in which it is known; of many epochs some, evenly, with the first and the last.
`known` counts also those left out."""


def _thinned(values):
    if len(values) <= MOST_CURVE_POINTS:
        return values
    gap = (len(values) - 1) / (MOST_CURVE_POINTS - 1)
    return [values[math.floor(i * gap + 0.5)] for i in range(MOST_CURVE_POINTS)]


def _curve(run, of):
    """Values that are not finite are not known."""
    known = [(number, of(epoch)) for number, epoch in enumerate(run.epochs, 1) if math.isfinite(of(epoch))]
    return Curve(len(known), *(_thinned([one[i] for one in known]) for i in (0, 1)))


def _test(name):
    return lambda epoch: getattr(epoch.test, name) if epoch.test else math.nan


def learning_of(run):
    """{"epochs": finished ones, figure: Curve}: loss and accuracy over the training images, while they were trained on,
    and the same over the test images."""
    return {"epochs": len(run.epochs), "loss": _curve(run, lambda epoch: epoch.train.loss),
            "accuracy": _curve(run, lambda epoch: epoch.train.accuracy), "val_loss": _curve(run, _test("loss")),
            "val_accuracy": _curve(run, _test("accuracy"))}  # fmt: skip


def run_path(run):
    """What tells the runs of a study apart."""
    return str(run.file.parent)


def learned_json(run):
    """One of `runs` in report.json."""
    curves = learning_of(run)
    learning = {name: one._asdict() if isinstance(one, Curve) else one for name, one in curves.items()}
    return {"path": run_path(run), "name": folder_name(run.file), "model": run.model, "learning": learning,
            "evaluation": run.evaluation}  # fmt: skip
