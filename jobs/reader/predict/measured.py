"""Predictions beside what was measured: of the runs, and of epochs that others measured."""

import math

from ..base.statistics import spread_of
from ..base.text import counted
from ..runs.run import folder_name
from ..start import Unusable
from ..study.observation import observe
from ..tables.table import Field, Table
from .ask import forecast_epochs
from .certainty import summing_seconds
from .scenario import scenario_of
from .tables import PLUS_MINUS, half_of, within

_FITTED_OUTSIDE = 0.1  # the share of runs that a 90 % interval leaves outside
_NOTE = (f"error: (predicted - measured) / measured epoch time. {PLUS_MINUS}. step: a full one, mean over ranks. "
         "all_reduce: how long it waited for the sum; predicted: straggling + exposed, since a mean rank waits for the "
         "slowest there. sums: hidden or not, without waiting for later ranks. fitted: whether the model was fitted to "
         "this run. Sums in shared memory are predicted as a ring's.")


def _fields_of(run, seen, forecast, fitted):
    step, measured = forecast.full, run.summary.full_step
    return [
        Field("ranks", "P", "count", seen.ranks),
        Field("global_batch", "batch", "count", run.global_batch),
        Field("overlap", "overlap", "text", "on" if run.overlaps else "off"),
        Field("all_reduce", "summed by", "text", run.all_reduce),
        Field("fitted", "fitted", "text", "yes" if fitted else "no"),
        Field("measured_epoch_seconds", "epoch, s", "seconds", seen.epoch.value),
        Field("predicted_epoch_seconds", "predicted", "seconds", forecast.seconds),
        Field("relative_error", "error, %", "percent", forecast.seconds / seen.epoch.value - 1),
        Field("plus_minus", "+-, %", "percent", half_of(forecast.plus_minus.epoch)),
        Field("measured_step_seconds", "step, ms", "millis", measured.step.mean),
        Field("predicted_step_seconds", "predicted", "millis", step.seconds),
        Field("measured_exposed_seconds", "all_reduce, ms", "millis", measured.phases["all_reduce"].mean),
        Field("predicted_exposed_seconds", "predicted", "millis", step.exposed + step.straggling),
        Field("measured_sum_seconds", "sums, ms", "millis", summing_seconds(run)),
        Field("predicted_sum_seconds", "predicted", "millis", step.all_reduce),
        Field("run", "run", "text", folder_name(run.file)),
    ]


def _lies_inside(seen, forecast):
    interval = within(forecast.seconds, forecast.plus_minus.epoch)
    return interval.low <= seen.epoch.value <= interval.high


def note_on_fitted(outside, count):
    """How many of the runs that the model was fitted to lie outside of their intervals. One in ten does by chance: two
    standard deviations more than that say that the model does not hold."""
    expected = _FITTED_OUTSIDE * count
    limit = expected + 2 * math.sqrt(expected * (1 - _FITTED_OUTSIDE))
    text = f"{outside} of the {counted(count, 'run')} that the model was fitted to lie outside their interval"
    if outside > limit:
        return text + ": the model does not describe them, so do not rely on the intervals of its predictions."
    return text + ", of which one in ten does by chance."


def _notes_on(rows, certainty):
    """`rows`: (fitted, error, whether it lies in its interval) of each run."""
    notes, known = [], certainty.freedom > 0
    fitted = [inside for fits, _, inside in rows if fits]
    if known and not all(fitted):
        notes.append(note_on_fitted(fitted.count(False), len(fitted)))
    errors = spread_of([100 * abs(error) for fits, error, _ in rows if not fits])
    if errors.count == 0:
        return notes
    note = (f"For the {counted(errors.count, 'run')} that the model was not fitted to, the epoch time is off by "
            f"{errors.mean:.1f} % in the mean and {errors.max:.1f} % at most.")
    if known:
        note += f" {sum(inside for fits, _, inside in rows if not fits)} of them lie in their interval."
    return [*notes, note]


def comparison_table(runs, fit, certainty, fit_ranks):
    """All runs of the network that the model is for, each next to its prediction. Those on `fit_ranks` count as fitted;
    empty: all."""
    runs = sorted((run for run in runs if fit.is_of(run)), key=lambda run: run.world_size())
    table, rows = Table("measured", "Predicted and measured", notes=[_NOTE]), []
    scenarios = [scenario_of(run) for run in runs]
    forecasts = certainty.intervals(fit.model, [(one, one) for one in scenarios]) if runs else []
    for run, forecast in zip(runs, forecasts):
        seen = observe(run)
        fitted = not seen.oversubscribed and (not fit_ranks or seen.ranks in fit_ranks)
        table.add_fields(_fields_of(run, seen, forecast, fitted))
        rows.append((fitted, forecast.seconds / seen.epoch.value - 1, _lies_inside(seen, forecast)))
    if any(map(certainty.is_widened, scenarios)):
        table.notes.append(certainty.note())
    table.notes += _notes_on(rows, certainty)
    return table


def _unfilled(scenario):
    """Share of the epoch's steps that its images do not fill."""
    steps = -(-scenario.images // scenario.global_batch)
    return 1 - scenario.images / scenario.global_batch / steps


def _share_of(seconds, lost):
    """Unknown where nothing was lost."""
    return seconds / lost if lost > 0 else None


def _loss_fields(measured, ideal, forecast, partial):
    """`ideal`: seconds with perfect scaling. `partial`: more than the partial last step can have cost, which is what it
    would if it took as long as a full step and not as long as its images."""
    lost = measured.seconds - ideal
    all_reduce = forecast.full_steps * forecast.full.exposed + forecast.partial.exposed
    figures = (lost, all_reduce, _share_of(all_reduce, lost), partial, _share_of(partial, lost),
               max(0.0, lost - all_reduce - partial))
    if measured.ranks == 1:  # which loses nothing
        figures = (None,) * len(figures)
    columns = (("lost_seconds", "lost, s", "seconds"), ("all_reduce_seconds", "all-reduce, s", "seconds"),
               ("all_reduce_share", "share, %", "percent"), ("partial_at_most_seconds", "partial <=, s", "seconds"),
               ("partial_at_most_share", "share, %", "percent"), ("unexplained_seconds", "left >=, s", "seconds"))
    return [Field("ranks", "P", "count", measured.ranks),
            Field("measured_seconds", "epoch, s", "seconds", measured.seconds),
            Field("efficiency", "eff., %", "percent", ideal / measured.seconds),
            *(Field(*column, figure) for column, figure in zip(columns, figures))]


def loss_table(model, measured, scenarios):
    """Measured epochs, and how much of their loss compared with perfect scaling the model explains. `scenarios`: of
    each of them, as for the forecast. Raises Unusable without one on one rank."""
    one = next((index for index, epoch in enumerate(measured) if epoch.ranks == 1), None)
    if one is None:
        raise Unusable("--measured has no epoch on one rank, with which others are compared: give 1:TIME")
    table = Table("loss", "Measured epochs, and what explains their loss", notes=[
        "lost: T(P) - T(1)/P. all-reduce: exposed communication of all steps, predicted. share: of lost. left: the "
        "rest.",
        "partial: the cost of the last, partial step beyond its share of images if it took as long as a full one; "
        "nothing if its time follows its images. Less the same on one rank, divided by P."])
    forecasts = forecast_epochs((model, scenario) for scenario in scenarios)
    for epoch, scenario, forecast in zip(measured, scenarios, forecasts):
        ideal = measured[one].seconds / epoch.ranks
        partial = epoch.seconds * _unfilled(scenario) - ideal * _unfilled(scenarios[one])
        table.add_fields(_loss_fields(epoch, ideal, forecast, partial))
    return table
