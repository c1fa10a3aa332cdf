"""Predictions: 90 % intervals, and how many runs lie in them, on a machine whose costs are known.

usage: predict_certainty_test.py RUEDA
"""

import functools
import json
import math
import os
import random
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from predicted import bench_of, drawn_run, fitting_of  # noqa: E402
from reader.base import ask  # noqa: E402
from reader.predict.ask import forecast_epochs  # noqa: E402
from reader.predict.certainty import Certainty, bound, certainty_of, t_of  # noqa: E402
from reader.predict.measured import comparison_table, note_on_fitted  # noqa: E402
from reader.predict.scenario import on_ranks, scenario_of  # noqa: E402
from reader.predict.tables import within  # noqa: E402


def drawn_runs(drawn, *ranks):
    return [drawn_run(one, drawn) for one in ranks]


def certain(runs, benches=()):
    """(CostFit, Certainty)."""
    fitting = fitting_of(runs, benches)
    fit = fitting.fit()
    return fit, certainty_of(fitting, fit, list(benches))


@functools.lru_cache(maxsize=None)
def _answers(path, text):
    return _asked(path, json.loads(text))


_asked = ask._answers_of


class OneCallForEqualQuestions(unittest.TestCase):
    """Trials ask for the same sums again and again."""

    def setUp(self):
        patch = mock.patch.object(ask, "_answers_of", lambda path, questions: _answers(path, json.dumps(questions)))
        patch.start()
        self.addCleanup(patch.stop)


class Intervals(OneCallForEqualQuestions):
    def trial(self, drawn, repeats):
        """(whether the epoch and the sums of a run on six ranks lie in their intervals, how wide that of the epoch
        is)."""
        runs = drawn_runs(drawn, *[1] * repeats, *[2] * repeats, 3)
        fit, certainty = certain(runs)
        run = drawn_run(6, drawn)
        forecast = certainty.intervals(fit.model, [(scenario_of(run), scenario_of(runs[0]))])[0]
        epoch = within(forecast.seconds, forecast.plus_minus.epoch)
        sums = within(forecast.full.all_reduce, forecast.plus_minus.all_reduce)
        return (epoch.low <= run.epochs[1].seconds <= epoch.high,
                sums.low <= run.summary.all_steps.transfer.mean <= sums.high, forecast.plus_minus.epoch)

    def test_nine_of_ten_single_runs_lie_in_their_interval(self):
        drawn = random.Random(1)
        cases = (2, 30, 0.75, 1, 0.2), (4, 100, 0.84, 0.97, 0.1), (8, 30, 0.75, 1, 0.1)
        for repeats, trials, least, most, widest in cases:
            results = [self.trial(drawn, repeats) for _ in range(trials)]
            for figure in (0, 1):
                inside = sum(result[figure] for result in results) / trials
                self.assertTrue(least <= inside <= most, (repeats, figure, inside))
            self.assertLess(max(result[2] for result in results), widest)

    def test_two_fits_by_hand(self):
        # Each 1 % from the model, and four degrees of freedom: Student's t is 2.132.
        run = drawn_run(2, random.Random(1))
        model, one = fitting_of([run]).fit().model, on_ranks(run, 1)
        others = [replace(model, compute=model.compute.slowed(factor)) for factor in (1.01, 0.99)]
        half = Certainty(others, 0, 0, 4).intervals(model, [(one, one)])[0].plus_minus
        self.assertAlmostEqual(half.epoch, 2.132 * 0.01, delta=4e-4)
        self.assertAlmostEqual(half.speedup, 0)
        self.assertTrue(math.isnan(half.all_reduce))

    def test_single_runs_by_hand(self):
        # Single runs differ by 10 % in computing and 20 % in their sums: of 1 s and 0.4 s on two ranks.
        run = drawn_run(2, random.Random(1))
        model, two, one = fitting_of([run]).fit().model, scenario_of(run), on_ranks(run, 1)
        certainty = Certainty([model, model], math.log(1.1), math.log(1.2), 4)
        step = forecast_epochs([(model, two)])[0].full
        epoch, sums = step.seconds, step.all_reduce
        half = certainty.intervals(model, [(two, one)])[0].plus_minus
        of_epoch = math.hypot(math.log1p(0.1 * (epoch - sums) / epoch), math.log1p(0.2 * sums / epoch))
        self.assertAlmostEqual(half.epoch, math.expm1(t_of(4) * of_epoch), 6)
        self.assertAlmostEqual(half.all_reduce, math.expm1(t_of(4) * math.log(1.2)), 6)
        self.assertAlmostEqual(half.speedup, math.expm1(t_of(4) * math.hypot(of_epoch, math.log(1.1))), 6)

    def test_one_run_of_each_p_tells_nothing_about_single_runs(self):
        runs = drawn_runs(random.Random(1), 1, 2)
        fit, certainty = certain(runs)
        forecast = certainty.intervals(fit.model, [(scenario_of(runs[1]), scenario_of(runs[0]))])[0]
        self.assertTrue(math.isnan(forecast.plus_minus.epoch))

    def test_the_jackknife_of_a_mean_is_its_standard_error(self):
        # Five times around 10 s an image, each left out once. s / sqrt(n) = sqrt(2.5 / 5); the logarithm's is a tenth.
        run = drawn_run(1, random.Random(1))
        model = fitting_of(drawn_runs(random.Random(1), 2)).fit().model
        model = replace(model, compute=replace(model.compute, per_image=10.0))
        means = [(50 - value) / 4 for value in (8, 9, 10, 11, 12)]
        others = [replace(model, compute=replace(model.compute, per_image=mean)) for mean in means]
        one = scenario_of(run)
        half = Certainty(others, 0, 0, 4).intervals(model, [(one, one)])[0].plus_minus
        self.assertAlmostEqual(half.epoch, math.expm1(2.132 * math.sqrt(0.5) / 10), delta=2e-3)

    def test_an_interval_never_reaches_below_nothing(self):
        self.assertAlmostEqual(bound(math.log(3)), 2)
        estimate = within(6.0, bound(math.log(3)))
        self.assertAlmostEqual(estimate.low, 2)
        self.assertAlmostEqual(estimate.high, 18)
        self.assertGreater(within(6.0, bound(5.56)).low, 0)
        self.assertEqual(within(6.0, bound(1e9)).low, 0)
        self.assertTrue(within(6.0, math.nan).exact)


class OnlyOneP(OneCallForEqualQuestions):
    def setUp(self):
        super().setUp()
        self.runs = drawn_runs(random.Random(1), 1, 1, 1, 2, 2, 2)
        self.fit, self.certainty = certain(self.runs)

    def half(self, certainty, ranks):
        pair = on_ranks(self.runs[3], ranks), on_ranks(self.runs[0], 1)
        return certainty.intervals(self.fit.model, [pair])[0].plus_minus

    def step(self, ranks):
        return forecast_epochs([(self.fit.model, on_ranks(self.runs[3], ranks))])[0].full

    def test_an_interval_knows_that_only_one_p_above_1_was_measured(self):
        self.assertEqual(self.certainty.only_ranks, 2)
        self.assertTrue(self.certainty.note().startswith("P = 2 is the only number of ranks above 1"))
        several = replace(self.certainty, only_ranks=0)
        for ranks in (1, 2):  # what was measured is as sure as with several P
            self.assertFalse(self.certainty.is_widened(on_ranks(self.runs[3], ranks)))
            self.assertEqual(self.half(self.certainty, ranks).epoch, self.half(several, ranks).epoch)
        # Elsewhere a step may also take as long as on two ranks: 1 s, and the sum of two.
        wide, narrow, two, six = self.half(self.certainty, 6), self.half(several, 6), self.step(2), self.step(6)
        for name, change in (("epoch", two.seconds / six.seconds), ("speedup", two.seconds / six.seconds),
                             ("all_reduce", two.all_reduce / six.all_reduce)):
            expected = math.hypot(math.log1p(getattr(narrow, name)), math.log(change))
            self.assertAlmostEqual(getattr(wide, name), math.expm1(expected))
        # A machine on which sums do not grow with P, as the model says they do: it is in the interval.
        self.assertGreater(six.seconds / two.seconds, 1 + narrow.epoch)
        self.assertLessEqual(six.seconds / two.seconds, 1 + wide.epoch)

    def test_a_second_p_of_a_run_or_of_a_record(self):
        self.assertEqual(certain([*self.runs, drawn_run(3, random.Random(2))])[1].only_ranks, 0)
        self.assertEqual(certain(self.runs, [bench_of(4, 4)])[1].only_ranks, 0)

    def test_the_table_of_runs_has_the_reason(self):
        def notes(runs):
            return " ".join(comparison_table(runs, self.fit, self.certainty, [1, 2]).notes)

        self.assertNotIn("is the only number of ranks", notes(self.runs))
        self.assertIn("is the only number of ranks", notes([*self.runs, drawn_run(6, random.Random(2))]))


class FittedRuns(OneCallForEqualQuestions):
    def test_how_many_lie_outside_is_said(self):
        # Of 12 runs one is expected outside, and up to three are no surprise.
        for outside, trusted in ((1, True), (3, True), (4, False), (12, False)):
            note = note_on_fitted(outside, 12)
            self.assertTrue(note.startswith(f"{outside} of the 12 runs"))
            self.assertEqual("one in ten does by chance" in note, trusted)
            self.assertEqual("does not describe them" in note, not trusted)
        self.assertIn("does not describe them", note_on_fitted(4, 4))
        self.assertIn("one in ten does by chance", note_on_fitted(1, 4))

    def test_runs_that_the_model_cannot_describe(self):
        runs = drawn_runs(random.Random(1), 1, 1, 2, 2, 3, 3)
        fit, certainty = certain(runs)
        self.assertNotIn("outside", " ".join(comparison_table(runs, fit, certainty, []).notes))
        for run in runs:  # what no step has: a second of every epoch
            for epoch in run.epochs:
                epoch.seconds += 5
        text = " ".join(comparison_table(runs, fit, certainty, []).notes)
        self.assertIn("6 of the 6 runs that the model was fitted to lie outside their interval: the model", text)
        # Runs that were not fitted are counted apart.
        text = " ".join(comparison_table(runs, fit, certainty, [4]).notes)
        self.assertNotIn("fitted to lie outside", text)
        self.assertIn("For the 6 runs that the model was not fitted to", text)
        self.assertIn(" 0 of them lie in their interval", text)


if __name__ == "__main__":
    os.environ["RUEDA_PROGRAM"] = sys.argv.pop(1)
    unittest.main()
