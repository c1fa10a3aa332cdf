"""Who may conclude: one rule, on both sides of each threshold, and every sentence that asks it."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made import made_run  # noqa: E402
from reader.base.estimate import Estimate, exactly  # noqa: E402
from reader.findings.report_json import report_json  # noqa: E402
from reader.report import Report  # noqa: E402
from reader.study.causes import most_lost  # noqa: E402
from reader.study.conclude import differ, doubts_of, judged, margin, may_conclude  # noqa: E402
from reader.study.observation import merged, observe  # noqa: E402
from said import by_code, disturb, figures_of, found, named, of_parts, runs_of, set_efficiency  # noqa: E402

CONCLUSIONS = {"factor", "growth", "waiting", "transfer", "full-steps", "serial", "balance", "choice"}
"""Codes of findings that are nothing but a conclusion."""


class Doubts(unittest.TestCase):
    def test_each_doubt_holds_back_from_its_threshold_on(self):
        cases = (
            ("oversubscribed", made_run(threads=2, cores=2), made_run(threads=3, cores=2)),
            ("warm-up", made_run(epochs=(2, 1)), made_run(epochs=(2,))),
            ("disturbed", disturb(made_run(), 0.85), disturb(made_run(), 0.84)),
            ("few-steps", made_run(full_steps=3), made_run(full_steps=2)),
        )
        for code, good, bad in cases:
            self.assertEqual(doubts_of(observe(good)), [], code)
            self.assertEqual(doubts_of(observe(bad)), [code])
            self.assertTrue(may_conclude(observe(good)))
            self.assertFalse(may_conclude(observe(good), observe(bad)))

    def test_what_rueda_did_not_run_has_no_steps_to_count(self):
        seen = observe(made_run(full_steps=0))
        seen.runs = []
        self.assertTrue(may_conclude(seen))


class Margins(unittest.TestCase):
    def test_two_single_runs_differ_from_five_per_cent_on(self):
        def apart(a, b):
            one, two = (observe(made_run(epochs=(9, seconds))) for seconds in (a, b))
            return differ(judged(one.epoch, one), judged(two.epoch, two))

        self.assertFalse(apart(10, 10.49))
        self.assertTrue(apart(10, 10.51))
        self.assertTrue(apart(10.51, 10))

    def test_repeats_differ_beyond_their_range_and_no_further(self):
        seen = merged([observe(made_run(epochs=(9, seconds))) for seconds in (10, 10.2)])
        self.assertEqual(judged(seen.epoch, seen), Estimate(10, 10, 10.2))
        self.assertTrue(differ(judged(seen.epoch, seen), exactly(10.21)))
        self.assertFalse(differ(judged(seen.epoch, seen), exactly(10.2)))
        self.assertEqual(margin(10, seen), 0)

    def test_the_margins_of_both_runs_make_five_per_cent(self):
        one = observe(made_run())
        self.assertAlmostEqual(2 * margin(10, one), 0.05 * 10, delta=0.01)


class HeldBack(unittest.TestCase):
    """A study that has something to say of everything, and the same with one doubtful run."""

    def runs(self):
        base = set_efficiency(of_parts(1, 10, 0), 10, 10, 10, 10)
        wide = of_parts(2, 6, 3, wait=0.4, transfer=0.1)
        return [named(base, "one"), named(set_efficiency(wide, 6, 6.1, 6.2, 9), "two"),
                named(of_parts(3, 3.5, 3), "three")]

    def test_one_finding_names_the_runs_and_the_reason_and_no_conclusion_is_drawn(self):
        self.assertIn("factor", {one.code for one in found([*self.runs()[:2]])})
        for spoil, code in (
            (disturb, "disturbed"), (lambda run: setattr(run.summary.full_step, "steps", 2), "few-steps"),
            (lambda run: run.epochs.pop(0), "warm-up"),
        ):  # fmt: skip
            runs = self.runs()[:2]
            spoil(runs[1])
            findings = found(runs)
            self.assertFalse(CONCLUSIONS & {one.code for one in findings}, code)
            (held,) = [one for one in findings if one.code == "held-back"]
            self.assertEqual(held.figures, {code: ["runs/two"]})
            self.assertIn("two", held.text)
            loss = next(one for one in findings if one.code == "loss-cause")
            self.assertIsNone(loss.figures["cause"])
            self.assertNotIn("cause", loss.text)

    def test_a_doubtful_base_holds_back_all_that_is_compared_with_it(self):
        runs = self.runs()[:2]
        disturb(runs[0])
        self.assertFalse(CONCLUSIONS & {one.code for one in found(runs)})
        self.assertEqual(by_code(runs, "held-back").figures, {"disturbed": ["runs/one"]})

    def test_headlines_and_json_say_no_cause_either(self):
        runs = self.runs()[:2]
        series = figures_of(runs)
        self.assertEqual(most_lost(*series[0].points).key, "all_reduce")
        disturb(runs[1])
        series = figures_of(runs)
        self.assertIsNone(most_lost(*series[0].points))
        loss = report_json(Report("", "", series))["series"][0]["points"][1]["losses"]
        self.assertEqual((loss["most"], loss["determined"]), (None, False))

    def test_without_doubts_there_is_no_such_finding(self):
        self.assertIsNone(by_code(self.runs(), "held-back"))

    def test_of_many_runs_some_are_named(self):
        runs = [disturb(named(made_run(ranks=n % 2 + 1), f"r{n}")) for n in range(12)]
        self.assertIn("4 others", by_code(runs, "held-back").text)

    def test_a_recommendation_leaves_out_what_is_not_judged_and_says_so(self):
        runs = runs_of([(1, 10), (2, 6), (4, 4)])
        self.assertEqual(by_code(runs, "choice").figures["time"], [4])
        disturb(runs[2])
        choice = by_code(runs, "choice")
        self.assertEqual((choice.figures["time"], choice.figures["left_out"]), ([2], [4]))
        self.assertIn("Runs on 4 ranks are not judged.", choice.text)
        disturb(runs[1])
        self.assertIsNone(by_code(runs, "choice"))


if __name__ == "__main__":
    unittest.main()
