"""The runs, the model that is fitted to them, and what it predicts."""

from dataclasses import replace

from ..base.estimate import exactly
from ..base.statistics import each_once
from ..runs.places import load_study
from ..start import Unusable
from ..study.learning import NetworkNoise, noise_of
from .ask import simulate_sums
from .certainty import apply_all, certainty_of
from .cost_fit import Fitting, usable_runs
from .links import read_bench
from .measured import comparison_table, loss_table
from .model import Scenario, Schedule
from .learning import batches_table, learning_table, progress_of, watts_of
from .scenario import USUAL_BUCKET_MB, drops_last, on_ranks, with_batch
from .tables import fit_table, forecast_table, held_back, simulation_table

_USUAL_IMAGES = 50_000  # CIFAR-10
_ONE_BATCH = ("Only the batch that was run is compared: what of a step does not depend on its images is not known "
              "from one. Run two batches per rank to have the best one proposed.")  # fmt: skip


def _read_runs(words, remarks):
    """`remarks` names runs without an epoch, and files that cannot be read."""
    if not words:
        return []
    found = load_study(words)
    remarks += [f"{run.file} has no finished epoch and is left out." for run in found.empty_runs]
    remarks += [file.why for file in found.unreadable]
    if found.runs:
        return found.runs
    why = remarks[0] if remarks else "none of those that were started has a run.json"
    raise Unusable(f"no run to predict from: {why}")


def _note_on_balance(model):
    if not model.rank_factors:
        return ("balance: it changes nothing, because the ranks of these runs are equally fast (parts change where a "
                "step becomes 5 % shorter), or had parts by speed.")
    return ("balance: each rank has the part of a batch, in whole images, with which the slowest is ready soonest. "
            "Fast and slow ranks are taken to be as frequent for each P as in these runs; P = 1 is a rank of mean "
            "speed.")


class Prediction:
    """Reads the files and fits. Raises Unusable."""

    def __init__(self, options):
        self.options, remarks = options, []
        self.runs = _read_runs(options.runs, remarks)
        benches = [read_bench(word) for word in options.benches]
        fitted = [run for run in usable_runs(self.runs, remarks)
                  if not options.fit_ranks or run.world_size() in options.fit_ranks]
        if self.runs and not fitted and options.given.step_seconds is None:
            why = remarks[0] if remarks else "--fit-ranks names none of their numbers of ranks"
            raise Unusable(f"none of the runs can be fitted to: {why}; give other runs, or --compute with the time of "
                           "a step")
        fitting = Fitting(fitted, benches, options.target, options.given)
        self.fit = fitting.fit()
        self.fit.notes[:0] = remarks
        self._why_not = held_back(fitted)
        self.certainty = certainty_of(fitting, self.fit, benches)

    def tables(self):
        sums = self._simulated_sums(self.fit.model)
        tables = [self._forecast(self.fit.model, self.certainty, sums), *self._learning(self.fit.model, self.certainty)]
        if self.options.changes:
            tables += self._on_changed_machine()
        measured = comparison_table(self.runs, self.fit, self.certainty, self.options.fit_ranks)
        tables += [measured] * bool(measured.rows)
        if self.options.epochs:
            scenarios = [self._scenario_on(epoch.ranks) for epoch in self.options.epochs]
            tables.append(loss_table(self.fit.model, self.options.epochs, scenarios))
        if sums:
            tables.append(simulation_table(sums, self.fit.model.message_noise))
        return [*tables, fit_table(self.fit)]

    def _example(self):
        """The run that the scenario follows where nothing is given; None without runs."""
        return (self._own_runs() or self.runs or [None])[0]

    def _schedule(self):
        run, mb, fit = self._example(), self.options.bucket_mb, self.fit
        as_run = run and mb is None and (run.model, run.classes) == (fit.network, fit.classes)
        sizes = tuple(run.bucket_bytes) if as_run else ()
        return Schedule(fit.network, fit.image_size, fit.classes, sizes, USUAL_BUCKET_MB if mb is None else mb)

    def _scenario_on(self, ranks, batch=0):
        """The scenario on so many ranks: by the options, else as the runs had it. `batch`: images of a step, instead of
        those. Raises Unusable where nothing says, and for more ranks than images."""
        options, run = self.options, self._example()
        images = self._images()
        if ranks > images:
            raise Unusable(f"--ranks {ranks}: more than the {images} images of an epoch; give fewer, or --images")
        batch = batch or options.batch_per_rank * ranks or options.global_batch
        if not batch and not run:
            raise Unusable("no run and no batch: give --batch-per-rank or --global-batch")
        scenario = on_ranks(run, ranks) if run else Scenario(self._schedule(), ranks, batch, images)
        scenario = with_batch(scenario, batch or scenario.global_batch, images, self._drops_last())
        algorithm = options.algorithm or scenario.algorithm
        return replace(scenario, schedule=self._schedule(), algorithm=algorithm, overlap=self._overlaps())

    def _images(self):
        """Of the set."""
        run = self._example()
        return self.options.images or (run.train_images if run else _USUAL_IMAGES)

    def _drops_last(self):
        run = self._example()
        return run is not None and drops_last(run)

    def _overlaps(self):
        if self.options.overlap == "auto":
            return any(run.overlaps for run in self.runs)
        return self.options.overlap == "on"

    def _simulated_sums(self, model):
        """One by number of ranks; none if nothing is to be simulated."""
        if not self.options.simulate:
            return []
        return simulate_sums(model, self._schedule(), self.options.ranks, self.options.seed)

    def _is_noisy(self, scenario):
        return self.options.simulate and scenario.algorithm == "ring"

    def _notes_on_limits(self, scenario):
        notes, most = [], max((run.world_size() for run in self.runs), default=0)
        if 0 < most < self.options.ranks[-1]:
            notes.append(f"Above P = {most}, the most that was run, the prediction assumes that links, switches and "
                         "file systems keep up.")
        if self._is_noisy(scenario):
            notes.append("The ring's messages are noisy, as simulated.")
        return notes

    def _settings_text(self, scenario):
        text = f" of {self.fit.network}, {self._images()} images"
        if self._drops_last():
            text += " but for a partial last batch"
        if scenario.micro_batches > 1:
            text += f", {scenario.micro_batches} micro-batches"
        return f"{text}, {scenario.algorithm}, overlap {'on' if scenario.overlap else 'off'}"

    def _forecast(self, model, certainty, sums):
        one, asked = self._scenario_on(1), []
        for index, ranks in enumerate(self.options.ranks):
            scenario = self._scenario_on(ranks)
            if self._is_noisy(scenario):
                scenario = replace(scenario, message_delay=sums[index].delay)
            asked.append((scenario, one))
        *forecasts, one_rank = certainty.intervals(model, [*asked, (one, one)])
        table = forecast_table(forecasts, one_rank, self.options.price, self._why_not)
        table.title += self._settings_text(asked[0][0])
        table.notes += self._notes_on_limits(asked[0][0])
        if any(certainty.is_widened(scenario) for scenario, _ in asked):
            table.notes.append(certainty.note())
        return table

    def _on_changed_machine(self):
        """The same on the machine that --what-if asks for."""
        changes = self.options.changes
        model, certainty = apply_all(changes, self.fit.model), self.certainty.changed(changes)
        tables = [self._forecast(model, certainty, self._simulated_sums(model)), *self._learning(model, certainty)]
        for table in tables:
            table.id += "_what_if"
            table.title += f", with {self.options.what_if}"
        if model.shares_by_speed:
            tables[0].notes.append(_note_on_balance(model))
        return tables

    def _own_runs(self):
        return [run for run in self.runs if run.model == self.fit.network]

    def _noise(self):
        """The NetworkNoise of the network. Raises Unusable where it is not determined."""
        if self.options.gradient_noise_scale is not None:
            return NetworkNoise(exactly(self.options.gradient_noise_scale))
        noise = noise_of(self._own_runs())
        if not noise.scale.known:
            raise Unusable(f"--goal learning: the gradient noise scale is not determined: {noise.scale.why}; give "
                           "other runs, or --gradient-noise-scale")
        return noise

    def _batches(self):
        """Images of a rank that are compared, ascending: those between the smallest and the largest that were run, by
        factors of two; one where the options say which, or no two batches tell what of a step does not depend on its
        images; none for one global batch."""
        if self.options.global_batch:
            return []
        batches = [run.global_batch // run.world_size() for run in self._own_runs()]
        if self.options.batch_per_rank or not batches or not (self.fit.compute and self.fit.compute.fit.separable):
            return [self._scenario_on(1).global_batch]
        found = [max(1, min(batches))]
        while 2 * found[-1] < max(batches):
            found.append(2 * found[-1])
        return each_once([*found, max(batches)])

    def _learning_scenarios(self, batches):
        """On all ranks with all batches, as far as there are images for them."""
        if not batches:
            return [self._scenario_on(ranks) for ranks in self.options.ranks]
        return [self._scenario_on(ranks, ranks * batch) for ranks in self.options.ranks for batch in batches
                if batch == batches[0] or ranks * batch <= self._images()]

    def _learning(self, model, certainty):
        """Tables of equal progress, where they are asked for."""
        if self.options.goal != "learning":
            return []
        noise, one, batches = self._noise(), self._scenario_on(1), self._batches()
        scenarios = self._learning_scenarios(batches)
        *epochs, one_rank = certainty.intervals(model, [(scenario, one) for scenario in [*scenarios, one]])
        rows = [progress_of(epoch, one, noise.scale) for epoch in epochs]
        given, price = self.options.price.watts, self.options.price
        watts = (given, "as given") if given is not None else watts_of(self._own_runs())
        table = learning_table(rows, progress_of(one_rank, one, noise.scale), noise, batches, model.compute,
                               price, watts, self._why_not)
        if len(batches) == 1 and not self.options.batch_per_rank:
            table.notes.append(_ONE_BATCH)
        return [table, batches_table(rows, batches)] if len(batches) > 1 else [table]
