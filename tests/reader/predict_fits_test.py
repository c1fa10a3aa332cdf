"""Predictions: what is fitted to made runs and records of machines whose costs are known.

usage: predict_fits_test.py RUEDA
"""

import math
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from made import made_run  # noqa: E402
from predicted import (LINK, MadeLink, bench_of, computing_run, drawn_run, fit_of, fitting_of, ranks_run,  # noqa: E402
                       ring_run, with_buckets)  # fmt: skip
from reader.base.definitions import DEFINITIONS  # noqa: E402
from reader.base.statistics import spread_of  # noqa: E402
from reader.predict.certainty import certainty_of  # noqa: E402
from reader.predict.model import Target  # noqa: E402
from reader.predict.fits import StepTimes, fit_pair  # noqa: E402
from reader.predict.links import BenchRow, Measurements  # noqa: E402
from reader.predict.measured import comparison_table  # noqa: E402
from reader.predict.noise import RunNoise, fit_noise, fit_rank_factors  # noqa: E402
from reader.runs.epochs import BucketFigures, RankFigures  # noqa: E402
from reader.start import Unusable  # noqa: E402


def machine_of(runs, benches=(), gamma=None):
    return Measurements(list(runs), list(benches)).fit(gamma)


def fit_rows(rows):
    """`rows`: (a, b, y) of each measurement."""
    return fit_pair(*numpy.array(rows, dtype=float).reshape(-1, 3).T)


class Pairs(unittest.TestCase):
    def test_two_costs_are_found_again(self):
        fit = fit_rows([(1, 2, 4), (2, 100, 56), (5, 1, 15.5)])
        self.assertTrue(fit.separable)
        self.assertAlmostEqual(fit.first, 3)
        self.assertAlmostEqual(fit.second, 0.5)
        self.assertAlmostEqual(fit.typical_error, 0)

    def test_errors_count_as_well_as_what_was_measured(self):
        # x in x = 1 and x = 3: least squares of (x-1)/1 and (x-3)/3 is (1 + 1/3) / (1 + 1/9) = 1.2.
        fit = fit_rows([(0, 1, 1), (0, 1, 3)])
        self.assertFalse(fit.separable)
        self.assertEqual(fit.first, 0)
        self.assertAlmostEqual(fit.second, 1.2)
        self.assertAlmostEqual(fit.typical_error, math.sqrt((0.2**2 + 0.6**2) / 2))

    def test_no_cost_is_negative(self):
        # Through (1, 1) and (2, 3) goes -1 + 2 b; without the first: x with x/1 - 1 and 2x/3 - 1.
        only = (1 + 2 / 3) / (1 + 4 / 9)
        fit, other = fit_rows([(1, 1, 1), (1, 2, 3)]), fit_rows([(1, 1, 1), (2, 1, 3)])
        self.assertEqual((fit.first, other.second), (0, 0))
        self.assertAlmostEqual(fit.second, only)
        self.assertAlmostEqual(other.first, only)
        # Rows without a time do not count.
        self.assertEqual(fit_rows([]).second, 0)
        self.assertEqual(fit_rows([(1, 1, 0), (1, 1, -1), (1, 1, math.nan)]).second, 0)


class Links(unittest.TestCase):
    def assertLink(self, fit, alpha=LINK.alpha, beta=LINK.beta):
        self.assertAlmostEqual(fit.link.alpha / alpha, 1)
        self.assertAlmostEqual(fit.link.beta / beta, 1)
        self.assertAlmostEqual(fit.fit.typical_error, 0)

    def test_the_buckets_of_runs(self):
        several = machine_of([ring_run(2, 2), ring_run(4, 4, sizes=(1e6, 25e6, 6e6))])
        self.assertLink(several.between)
        self.assertAlmostEqual(several.gamma / LINK.gamma, 1)
        self.assertEqual(several.gamma_rows, 5)
        self.assertIsNone(several.inside)
        one = machine_of([ring_run(3)])
        self.assertLink(one.inside)
        self.assertIsNone(one.between)
        self.assertEqual(one.inside.source, "runs, P = 3")

    def test_without_a_run_as_if_it_had_not_been_given(self):
        runs = [ring_run(2, 2), ring_run(4, 4, MadeLink(1e-3, 1e-6, 1e-9)), ring_run(3, 3, sizes=(1e6,))]
        for number in range(len(runs)):
            left, others = Measurements(runs, []), runs[:number] + runs[number + 1 :]
            self.assertEqual(vars(left.fit(left_out=number).between.link), vars(machine_of(others).between.link))
            self.assertEqual(left.fit(left_out=number).gamma, machine_of(others).gamma)

    def test_one_rank_small_buckets_and_other_sums_are_not_used(self):
        small = ring_run(2)
        buckets = small.summary.all_steps.buckets
        buckets.append(BucketFigures(**{**vars(buckets[0]), "bytes": 60_000}))
        for name in ("auto (doubling to 64 KiB, ring)", "auto (ring)"):
            small.all_reduce = name
            self.assertLink(machine_of([small]).inside)
        small.all_reduce = "auto (doubling to 64 KiB, halving to 999 MiB, ring)"
        self.assertIsNone(machine_of([small]).inside)
        nested, window = ring_run(4, 2), ring_run(2)
        for other in ("hierarchical", "shared", "halving", "auto (ring to 64 KiB, shared)",
                      "auto (ring to 64 KiB, hierarchical)"):
            nested.all_reduce = window.all_reduce = other
            fit = machine_of([nested, window, ring_run(1, sizes=(1e6,))])
            self.assertIsNone(fit.inside)
            self.assertIsNone(fit.between)
            self.assertEqual(len(fit.notes), 1)
            self.assertIn(f"{other} are not used", fit.notes[0])

    def test_records_of_the_bench_rather_than_runs(self):
        fit = machine_of([ring_run(2, 2, MadeLink(1e-3, 1e-6))], [bench_of(2, 2), bench_of(4, 4)])
        self.assertLink(fit.between)
        self.assertEqual(fit.between.source, "ring.json")
        self.assertIsNone(machine_of([], [bench_of(4, 1)]).between)
        # Without runs gamma is unknown: half of it is in beta, as a ring adds half of what it sends.
        self.assertLink(machine_of([], [bench_of(4, 1)]).inside, beta=LINK.beta + LINK.gamma / 2)
        self.assertLink(machine_of([], [bench_of(4, 1)], LINK.gamma).inside)

    def test_how_much_messages_vary_follows_from_how_sums_do(self):
        bench = bench_of(3, 1)
        self.assertTrue(math.isnan(machine_of([], [bench]).message_noise))
        # Quartiles 9 and 11 around a median of 10, of four messages in a row.
        bench.rows = [BenchRow("ring", 1e6, 10, [8, 8.5, 9, 9.5, 10, 10.5, 11, 11.5, 12])]
        self.assertAlmostEqual(machine_of([], [bench]).message_noise, 2 / 1.349 / 10 * 2)


class Compute(unittest.TestCase):
    def test_compute_time_over_the_batch(self):
        fit = StepTimes([computing_run(1, 64, 1), computing_run(2, 16, 1)]).fit()
        self.assertTrue(fit.fit.separable)
        self.assertAlmostEqual(fit.model.backward_share, 0.6)
        self.assertAlmostEqual(fit.model.input_per_image, 0.0015)
        self.assertAlmostEqual(fit.model.update, 0.007)
        # It depends on the micro-batch.
        micro = StepTimes([computing_run(1, 64, 2), computing_run(1, 16, 4)]).fit()
        for model in (fit.model, micro.model):
            self.assertAlmostEqual(model.fixed, 0.010)
            self.assertAlmostEqual(model.per_image, 0.002)

    def test_without_a_run_as_if_it_had_not_been_given(self):
        runs = [computing_run(1, 64, 1), computing_run(2, 16, 1), computing_run(1, 16, 4)]
        for run in runs:
            others = [one for one in runs if one is not run]
            self.assertEqual(StepTimes(runs).fit(run), StepTimes(others).fit())

    def test_one_batch_does_not_separate_t0_from_t1(self):
        fit = StepTimes([computing_run(1, 50, 1), computing_run(4, 50, 1)]).fit()
        self.assertFalse(fit.fit.separable)
        self.assertEqual(fit.model.fixed, 0)
        self.assertAlmostEqual(fit.model.per_image, 0.110 / 50)
        with self.assertRaisesRegex(Unusable, "none has a full step"):
            StepTimes([]).fit()
        only = computing_run(1, 50, 1)
        with self.assertRaisesRegex(Unusable, "none has a full step"):
            StepTimes([only]).fit(only)


def noise_of(*runs):
    return fit_noise([RunNoise(run) for run in runs])


class Noise(unittest.TestCase):
    def test_from_the_spreads_of_run_json(self):
        run = made_run(ranks=2)
        self.assertEqual(noise_of(run).samples, 0)
        for rank, values in enumerate(([2, 2, 4], [1, 1, 2])):
            run.epochs[-1].of_ranks.append(RankFigures(rank=rank, full_compute=spread_of(values)))
        fit = noise_of(run)
        self.assertEqual((fit.samples, fit.from_steps), (6, False))
        # Besides the mean of all six, which is 2: least 1, most 4, medians 2 and 1.
        self.assertEqual([fit.noise.spread[name] for name in ("min", "median", "max")], [0.5, 0.75, 2])

    def from_steps(self, lines, **words):
        """A run with these lines of steps.csv."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        run = made_run(ranks=2, **words)
        run.file = Path(folder.name, "run.json")
        for number, epoch in enumerate(run.epochs, 1):
            epoch.epoch = number
        head = "epoch,step,rank,samples,global_samples,seconds,all_reduce,optimizer,other\n"
        run.file.with_name("steps.csv").write_text(head + "".join(f"{line},0,0\n" for line in lines), encoding="utf-8")
        return run

    def test_from_steps_csv_each_step_of_each_rank(self):
        run = self.from_steps(["1,1,0,10,20,100,0", "1,1,1,10,20,100,0",  # warming up
                               "2,1,0,10,20,3.5,0.5", "2,1,1,10,20,5,4", "2,2,0,10,20,2,0", "2,2,1,10,20,4,2",
                               "2,3,0,1,2,50,0", "2,3,1,1,2,50,0"])  # partial; fmt: skip
        fit = noise_of(run)
        self.assertTrue(fit.from_steps)
        self.assertEqual(sorted(fit.noise.values), [0.5, 1, 1, 1.5])

    def test_times_of_ranks_that_are_always_slow_are_relative_to_their_own(self):
        run = ranks_run([0.001, 0.002], [100, 100])
        fit = noise_of(run)
        for name, value in (("min", 0.9), ("median", 1), ("max", 1.1)):
            self.assertAlmostEqual(fit.noise.spread[name], value)
        # Given parts, too, differ in each step.
        parts = ranks_run([0.001, 0.001], [150, 50])
        parts.options["balance"] = "3,1"
        self.assertAlmostEqual(noise_of(parts).noise.spread["max"], 1.1)


def factors_of(*runs):
    """Of a model that predicts each run's own mean step."""
    seen = [RunNoise(run) for run in runs]
    return fit_rank_factors(seen, lambda known: [one.step_seconds() for one in seen if one.run in known])


class Speed(unittest.TestCase):
    def test_ranks_that_are_not_equally_fast(self):
        mean = (0.110 + 0.210) / 2
        fast, slow = factors_of(ranks_run([0.002, 0.001], [100, 100]))
        self.assertAlmostEqual(fast, 0.110 / mean)
        self.assertAlmostEqual(slow, 0.210 / mean)

    def test_ranks_that_speed_leaves_as_they_are_are_alike(self):
        by_speed = ranks_run([0.001, 0.002], [100, 100])
        by_speed.options["balance"] = "speed"
        for run in (ranks_run([0.001, 0.001], [100, 100]), ranks_run([0.001, 0.00109], [64, 64]), by_speed):
            self.assertEqual(factors_of(run), ())
        self.assertEqual(len(factors_of(ranks_run([0.001, 0.00115], [200, 200]))), 2)  # from a gain of 5 % on

    def test_given_parts_do_not_make_equal_ranks_unequal(self):
        run = ranks_run([0.001, 0.001], [150, 50])
        run.options["balance"] = "3,1"
        self.assertEqual(factors_of(run), ())
        suits = ranks_run([0.001, 0.002], [134, 66])
        suits.options["balance"] = "2,1"
        self.assertEqual(len(factors_of(suits)), 2)

    def test_ranks_of_all_runs_count(self):
        uneven, alike = ranks_run([0.001, 0.003], [100, 100], update=0), ranks_run([0.001] * 4, [100] * 4)
        alone = ranks_run([0.001], [100])
        factors = factors_of(uneven, alone, alike)
        self.assertEqual([round(one, 9) for one in factors], [0.5, 1, 1, 1, 1, 1, 1.5])
        # Relative to what is predicted: a step of the uneven run takes twice as long.
        seen = [RunNoise(run) for run in (uneven, alike)]
        factors = fit_rank_factors(seen, lambda _: [seen[0].step_seconds() / 2, seen[1].step_seconds()])
        self.assertEqual([round(one, 9) for one in factors], [1, 1, 1, 1, 1, 3])
        self.assertIsNone(factors_of(alone))
        self.assertIsNone(factors_of())

    def test_one_stalled_step_makes_no_rank_slow(self):
        run = ranks_run([0.001, 0.001], [100, 100])
        stalled = run.epochs[-1].of_ranks[1]
        stalled.full_compute = spread_of([*[0.11] * 9, 0.61])
        stalled.phases["backward"] += 0.5
        self.assertEqual(factors_of(run), ())

    def test_many_ranks_are_as_frequent_as_they_are(self):
        many = ranks_run([0.001] * 75 + [0.002] * 25, [100] * 100, update=0)
        factors = factors_of(many)
        self.assertEqual(len(factors), 16)
        self.assertEqual([round(one, 6) for one in factors], [0.8] * 12 + [1.6] * 4)


class Models(unittest.TestCase):
    def runs(self, *ranks):
        drawn = random.Random(1)
        return [drawn_run(one, drawn) for one in ranks]

    def test_runs_on_different_machines_are_not_fitted_together(self):
        runs = self.runs(1, 2)
        for run in runs:
            run.versions = {"MPI": "Open MPI 4", "oneDNN": "3.1"}
        fit_of(runs)
        for rank in runs[1].ranks:
            rank.device = "CPU B"
        with self.assertRaisesRegex(Unusable, "differ in processor: CPU A, CPU B; give those of one"):
            fit_of(runs)
        for rank in runs[1].ranks:
            rank.device = "CPU A"
        runs[1].versions["oneDNN"] = "3.2"
        with self.assertRaisesRegex(Unusable, "differ in oneDNN: 3.1, 3.2; give those of one"):
            fit_of(runs)

    def test_a_network_has_the_classes_of_its_runs_or_those_that_are_asked_for(self):
        runs = self.runs(1, 2)
        for run in runs:
            run.classes = 100
        fitting = fitting_of(runs)
        fit = fitting.fit()
        self.assertEqual(len(comparison_table(runs, fit, certainty_of(fitting, fit, []), []).rows), 2)
        other = fit_of(runs, target=Target(classes=10))
        self.assertIn("resnet20 at 32 pixels with 10 classes was not run", " ".join(other.notes))
        self.assertEqual(comparison_table(runs, other, certainty_of(fitting, fit, []), []).rows, [])
        runs[1].classes = 10
        with self.assertRaisesRegex(Unusable, "with 10 classes.*with 100 classes"):
            fit_of(runs)

    def test_another_network_by_its_work(self):
        run = with_buckets(computing_run(2, 64, 1), LINK, (1e6, 25e6))
        own, other = (fit_of([run], target=Target(model=name)).model.compute for name in ("resnet20", "resnet18"))
        work = {model["name"]: model for model in DEFINITIONS["models"]}
        for cost, what in (("per_image", "train_flops_per_image"), ("update", "parameters")):
            ratio = work["resnet18"][what] / work["resnet20"][what]
            self.assertAlmostEqual(getattr(other, cost) / getattr(own, cost) / ratio, 1)

    def test_sums_in_shared_memory_say_nothing_of_links_and_additions(self):
        runs = self.runs(1, 1, 2, 2, 2)

        def sums_of(fitted):
            fitting = fitting_of(fitted)
            fit = fitting.fit()
            return certainty_of(fitting, fit, []).sums, fit.machine.gamma_rows

        deviation, gammas = sums_of(runs)
        window = self.runs(2)[0]
        window.all_reduce = "auto (shared)"
        window.summary.all_steps.transfer.mean *= 9  # far from a ring's
        for bucket in window.summary.all_steps.buckets:
            bucket.add.mean = 9
        # The run's own time of a step still counts.
        self.assertAlmostEqual(sums_of([*runs, window])[0], deviation)
        self.assertEqual(sums_of([*runs, window])[1], gammas)
        with self.assertRaisesRegex(Unusable, r"auto \(shared\) are not used"):
            fit_of([runs[0], window])


if __name__ == "__main__":
    os.environ["RUEDA_PROGRAM"] = sys.argv.pop(1)
    unittest.main()
