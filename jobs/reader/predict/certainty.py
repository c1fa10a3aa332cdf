"""How sure a forecast is: 90 % intervals of single runs, on a logarithmic scale, because times and speedups are
positive."""

import math
from dataclasses import dataclass, field, replace

from .ask import forecast_epochs, forecast_grid
from .cost_fit import without_each_run
from .model import PlusMinus
from .scenario import scenario_of


def t_of(freedom):
    """Which of its values Student's t exceeds with a probability of 5 % (Cornish and Fisher's series: M. Abramowitz, I.
    Stegun: Handbook of Mathematical Functions, 26.7.5)."""
    return 1.6449 + 1.5237 / freedom + 1.4198 / freedom**2 + 0.9832 / freedom**3


def _deviation_of(errors):
    """The standard deviation of such errors around 0, which one parameter was fitted to. NaN: unknown."""
    return math.sqrt(sum(error * error for error in errors) / (len(errors) - 1)) if len(errors) > 1 else math.nan


def _log_ratio(measured, predicted):
    """None where one of the two is not there."""
    return math.log(measured / predicted) if measured > 0 and predicted > 0 else None


def summing_seconds(run):
    """Of a step's sums, without waiting for ranks that come later."""
    return run.summary.all_steps.transfer.mean + run.summary.all_steps.add.mean


def _only_ranks_of(runs, benches):
    """The one number of ranks above 1 whose sums over links were measured; 0: there were several, or none."""
    counts = {run.world_size() for run in runs if run.sums_go_over_links()} | {bench.ranks for bench in benches}
    counts -= {1}
    return counts.pop() if len(counts) == 1 else 0


def _single(logs):
    """How far a single run is from a figure, as a standard deviation of its logarithm: by the slower models."""
    return math.hypot(*(logs[1:3] - logs[0]))


def _factor(log):
    """At most 1e130: beyond, products leave a double's range."""
    return math.exp(min(log, 300.0))


def bound(half):
    """How far 90 % of single runs lie from a figure: from figure / (1 + this) to figure * (1 + this)."""
    return math.inf if half > 700 else math.expm1(half)


@dataclass
class Certainty:
    """`compute`, `sums`: how far single runs are from the model, as standard deviations of the logarithm of the time
    of a step without its sums, and of the sums."""

    without_one: list = field(default_factory=list)  # models, each fitted without one of the runs
    compute: float = math.nan
    sums: float = math.nan
    freedom: int = 0  # degrees, of the less certain one; 0: nothing is known
    only_ranks: int = 0  # the one number of ranks above 1 that was measured, if it is one

    def is_widened(self, scenario):
        """Whether its intervals contain the change from `only_ranks`."""
        return self.only_ranks > 0 and self.freedom > 0 and scenario.ranks > 1 and scenario.ranks != self.only_ranks

    def note(self):
        """What a reader of such intervals has to know."""
        p = self.only_ranks
        return (f"P = {p} is the only number of ranks above 1 that was measured, so nothing shows how times change "
                f"with P. The intervals of other P contain the whole change that the model predicts from P = {p} on: "
                "measure another P for narrower ones.")

    def changed(self, changes):
        """For a model to which these changes are made."""
        return replace(self, without_one=[apply_all(changes, model) for model in self.without_one])

    def intervals(self, model, scenarios):
        """An EpochForecast of each scenario, with its `plus_minus`. `scenarios`: pairs with that on one rank with which
        the speedup compares."""
        import numpy

        forecasts = forecast_epochs((model, scenario) for scenario, _ in scenarios)
        if self.freedom == 0 or not self.without_one:
            return forecasts
        wider = self._changes_from_only(model, forecasts)
        with numpy.errstate(divide="ignore", invalid="ignore"):  # no sums on one rank
            logs = self._logs(model, scenarios)
            for index, forecast in enumerate(forecasts):
                halves = self._halves(*(figure[:, index] for figure in logs))
                more = wider.get(index, (0.0, 0.0, 0.0))
                forecast.plus_minus = PlusMinus(*(bound(math.hypot(*pair)) for pair in zip(halves, more)))
        return forecasts

    def _logs(self, model, scenarios):
        """Logarithms of the epoch, of the one on one rank, and of the sums of a step, as arrays [model][scenario]:
        of the model, of it slower by what single runs differ in, and without one run each."""
        import numpy

        slow = replace(model, compute=model.compute.slowed(_factor(self.compute)))
        late = replace(model, machine=model.machine.slowed(_factor(self.sums)))
        asked = [scenario for scenario, _ in scenarios] + [one for _, one in scenarios]
        seconds, sums = forecast_grid([model, slow, late, *self.without_one], asked)
        epochs, half = numpy.log(seconds), len(scenarios)
        return epochs[:, :half], epochs[:, half:], numpy.log(sums[:, :half])

    def _halves(self, epoch, one, sums):
        """Half of the 90 % intervals of the logarithms of the epoch, of the speedup, which two single runs
        determine, and of the sums."""
        of_epoch = _single(epoch)
        singles = of_epoch, math.hypot(_single(one), of_epoch), _single(sums)
        return [self._half(figure, single) for figure, single in zip((epoch, one - epoch, sums), singles)]

    def _half(self, figure, single):
        """Of the fit, by the jackknife, and of a single run."""
        others = figure[3:]
        return t_of(self.freedom) * math.hypot(others.std() * math.sqrt(len(others) - 1), single)

    def _changes_from_only(self, model, forecasts):
        """The other extreme than the model: from one measured number of ranks to this one, a step with as many images a
        rank does not change at all. {index: logarithms of these changes of epoch, speedup and sums}."""
        wide = [index for index, forecast in enumerate(forecasts) if self.is_widened(forecast.scenario)]
        pairs = []
        for index in wide:
            scenario = forecasts[index].scenario
            images = min(scenario.global_batch, scenario.images)
            there = -(-images // scenario.ranks) * self.only_ranks
            pairs.append((model, replace(scenario, global_batch=images, images=images, parts=())))
            pairs.append((model, replace(scenario, global_batch=there, images=there, ranks=self.only_ranks, parts=())))
        steps = [forecast.full for forecast in forecast_epochs(pairs)] if pairs else []
        changes = {}
        for index, here, there in zip(wide, steps[::2], steps[1::2]):
            of_step = math.log(there.seconds / here.seconds)
            changes[index] = of_step, of_step, _log_ratio(there.all_reduce, here.all_reduce) or 0.0
        return changes


def apply_all(changes, model):
    for change in changes:
        model = change.apply(model)
    return model


def certainty_of(fitting, fit, benches):
    """Nothing is known where a link or the network shows in one of the runs alone."""
    own = [run for run in fitting.runs if fit.is_of(run)]
    models = without_each_run(fitting, fit)
    if models is None:
        return Certainty()
    steps, sums = [], []
    forecasts = forecast_epochs((fit.model, scenario_of(run)) for run in own)
    for run, forecast in zip(own, forecasts):
        measured, full = run.summary.full_step, forecast.full
        steps.append(_log_ratio(measured.step.mean - measured.phases["all_reduce"].mean, full.compute + full.rest))
        if run.sums_go_over_links():
            sums.append(_log_ratio(summing_seconds(run), full.all_reduce))
    steps, sums = ([one for one in errors if one is not None] for errors in (steps, sums))
    freedom = max(min(len(steps), len(sums)), 1) - 1
    return Certainty(models, _deviation_of(steps), _deviation_of(sums), freedom, _only_ranks_of(fitting.runs, benches))
