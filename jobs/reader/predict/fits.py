"""Two costs from many measurements, and the compute time of a step. Fits minimise the squares of the relative errors
(fitted - measured) / measured, so that small measurements count as much as large ones; no cost becomes negative."""

import math
from dataclasses import dataclass

from ..start import Unusable
from .model import ComputeModel

_LEAST_DETERMINANT = 1e-9  # of the normal equations, relative to their diagonal


@dataclass(frozen=True)
class PairFit:
    """y = a * first + b * second."""

    first: float = 0.0
    second: float = 0.0
    separable: bool = False  # else the rows cannot tell the two apart, and `first` is 0
    typical_error: float = 0.0  # root of the mean square of (fitted - y) / y


def _solve(a, b):
    """By the normal equations of rows that are divided by their y, whose right-hand side is then 1: (first, second,
    separable)."""
    aa, ab, bb, sum_a, sum_b = float(a @ a), float(a @ b), float(b @ b), float(a.sum()), float(b.sum())
    determinant = aa * bb - ab * ab
    if determinant > _LEAST_DETERMINANT * aa * bb:
        first = (sum_a * bb - sum_b * ab) / determinant
        second = (sum_b * aa - sum_a * ab) / determinant
        if first >= 0 and second >= 0:
            return first, second, True
        if first >= 0:
            return (sum_a / aa if aa > 0 else 0.0), 0.0, True
        return 0.0, (sum_b / bb if bb > 0 else 0.0), True
    return 0.0, (sum_b / bb if bb > 0 else 0.0), False


def fit_pair(a, b, y):
    """Of arrays, each element a measurement. Those whose y is not positive are left out; all 0 if none are left."""
    import numpy

    told = (y > 0) & numpy.isfinite(y)
    if not told.any():
        return PairFit()
    a, b = a[told] / y[told], b[told] / y[told]
    first, second, separable = _solve(a, b)
    errors = a * first + b * second - 1
    return PairFit(first, second, separable, math.sqrt(float((errors * errors).mean())))


@dataclass(frozen=True)
class ComputeFit:
    model: ComputeModel
    fit: PairFit  # of t0 and t1; separable: batches of several sizes were run
    runs: int = 0


def _seconds_of(run, *phases):
    """Of these phases of a mean full step."""
    return sum(run.summary.full_step.phases[phase].mean for phase in phases)


def _compute_of(run):
    return _seconds_of(run, "forward", "loss", "backward")


def _mean_batch(run):
    return run.global_batch / run.world_size()


class StepTimes:
    """The steady full steps of runs of one model on one kind of device, to which compute times are fitted."""

    def __init__(self, runs):
        import numpy

        self.runs = runs
        table = numpy.array([(
            run.micro_batches, _mean_batch(run), run.summary.full_step.steps, _compute_of(run),
            _seconds_of(run, "backward"), _seconds_of(run, "load", "copy"), _seconds_of(run, "optimizer", "other"))
            for run in runs], dtype=float).reshape(-1, 7)  # fmt: skip
        self._full = (table[:, 2] > 0) & (table[:, 3] > 0)
        self._micro, self._batch, _, self._compute, self._backward, self._input, self._update = table.T

    def fit(self, left_out=None):
        """Means over ranks. t0 and t1 follow from micro-batches and times; t0 is 0 where only one batch was run.
        `left_out`: a run. Raises Unusable if no run has a full step."""
        import numpy

        used = self._full & numpy.array([run is not left_out for run in self.runs], dtype=bool)
        if not used.any():
            raise Unusable("no run to fit the compute time to: none has a full step of training; give the run.json of "
                           "runs that finished an epoch, with a batch that is not larger than the data set, or "
                           "--compute")
        micro, batch, compute = self._micro[used], self._batch[used], self._compute[used]
        fit = fit_pair(numpy.ones(len(batch)), batch / micro, compute / micro)
        model = ComputeModel(fit.first, fit.second, float(self._backward[used].sum() / compute.sum()),
                             float(self._input[used].sum() / batch.sum()), float(self._update[used].mean()))
        return ComputeFit(model, fit, int(used.sum()))
