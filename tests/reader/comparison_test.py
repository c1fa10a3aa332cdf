"""Two runs, one against the other."""

import math
import sys
import unittest
from copy import deepcopy
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made import made_run  # noqa: E402
from reader.findings.comparison import compare, comparison_json, comparison_text  # noqa: E402
from reader.findings.learning import MOST_CURVE_POINTS, learning_of  # noqa: E402
from reader.runs.epochs import Score  # noqa: E402
from said import disturb, named  # noqa: E402


def run_of(name, epochs, backward=0.1, all_reduce=0.0, **more):
    """100 images and ten steps an epoch."""
    phases = {"backward": backward, "all_reduce": all_reduce}
    return named(made_run(epochs=(99, *epochs), phases=phases, **more), name)


def scored(accuracies, samples=1000, epochs=3, **options):
    """Of epochs without an accuracy (None) there is no evaluation."""
    run = run_of("scored", [10] * (epochs - 1))
    for epoch, accuracy in zip(run.epochs, accuracies):
        epoch.test = None if accuracy is None else Score(loss=1, accuracy=accuracy, samples=samples)
    run.options = {"epochs": epochs, "lr-schedule": "cosine", **options}
    return run


def said(a, b, code):
    """The finding of this code, or None."""
    return next((one for one in compare(a, b).findings if one.code == code), None)


def cells(comparison, id, key):
    table = next(table for table in comparison.tables if table.id == id)
    return [row[table.column(key)] for row in table.rows]


class Faster(unittest.TestCase):
    def faster(self, a, b):
        return said(run_of("one", a), run_of("two", b), "faster").figures["faster"]

    def test_which_is_faster_is_said_only_where_it_is_determined(self):
        # 100 images an epoch. 10 s against 10.4 s are 4 % apart, against 10.6 s they are 6 %.
        self.assertIsNone(self.faster([10], [10.4]))
        self.assertEqual(self.faster([10], [10.6]), "A")
        self.assertEqual(self.faster([10.6], [10]), "B")
        # Medians of 10 s and 11 s, with epochs of both between.
        self.assertIsNone(self.faster([10, 10, 10.9], [10.8, 11, 11]))
        self.assertEqual(self.faster([10, 10, 10.7], [10.8, 11, 11]), "A")

    def test_doubtful_runs_determine_nothing(self):
        good, slow = run_of("one", [10]), run_of("two", [20])
        self.assertEqual(said(good, slow, "faster").figures["faster"], "A")
        for bad, doubt in ((disturb(run_of("two", [20])), "disturbed"), (run_of("two", []), "warm-up"),
                           (run_of("two", [20], full_steps=2), "few-steps"),
                           (run_of("two", [20], threads=2), "oversubscribed")):
            speed = said(good, bad, "faster")
            self.assertEqual((speed.figures["faster"], speed.figures["doubts"]), (None, {"B": [doubt]}))
            self.assertIsNone(said(good, bad, "step").figures["phase"])
        self.assertEqual(said(good, disturb(run_of("two", [20]), 0.86), "faster").figures["faster"], "A")


class Step(unittest.TestCase):
    def phase(self, a, b):
        """Of runs with these seconds of backward and all-reduce in an epoch of ten steps, which takes as long."""
        runs = [run_of("step", [10 * sum(one)], *one) for one in (a, b)]
        return said(*runs, "step").figures["phase"]

    def test_the_phase_that_makes_the_difference_is_named(self):
        self.assertEqual(self.phase((1, 0), (1, 0.2)), "all_reduce")
        self.assertEqual(self.phase((1, 0.2), (0.8, 0.1)), "backward")
        # 30 ms less of backward do not make a step longer.
        self.assertEqual(self.phase((1, 0), (0.7, 0.5)), "all_reduce")
        self.assertIsNone(self.phase((1, 0), (1, 0.04)))
        self.assertEqual(self.phase((1, 0), (1, 0.06)), "all_reduce")

    def test_no_phase_is_named_where_it_is_not_determined_which_is_faster(self):
        # Mean steps differ by a fifth, and epochs, which have other steps, by 4 or 6 %.
        for seconds, phase in ((10.4, None), (10.6, "all_reduce")):
            a, b = run_of("one", [10], 1, 0), run_of("two", [seconds], 1, 0.2)
            self.assertEqual(said(a, b, "step").figures["phase"], phase)
        overlapping = [run_of("one", [10, 10, 11], 1, 0), run_of("two", [10.8, 11, 11], 1, 0.2)]
        self.assertIsNone(said(*overlapping, "step").figures["phase"])

    def test_steps_of_other_batches_differ_by_them(self):
        a, b = run_of("one", [10], 1, 0), run_of("two", [10], 1, 0.2, rank_batch=20)
        self.assertIsNotNone(said(a, b, "step").figures["phase"])
        self.assertIn("(each rank has 10 images in A, 20 in B)", said(a, b, "step").text)
        self.assertIsNone(said(a, disturb(b), "step").figures["phase"])

    def test_the_table_adds_up(self):
        both = compare(run_of("one", [10], 1, 0), run_of("two", [12], 1, 0.2))
        self.assertEqual(cells(both, "comparison_steps", "phase"), ["backward", "exposed all-reduce", "step"])
        for key in ("a_seconds", "b_seconds", "difference_seconds"):
            backward, all_reduce, step = cells(both, "comparison_steps", key)
            self.assertAlmostEqual(backward + all_reduce, step)
        self.assertAlmostEqual(cells(both, "comparison_steps", "ratio")[-1], 1.2)


class Learning(unittest.TestCase):
    def learning(self, a, b):
        return said(a, b, "learning").figures

    def test_which_learned_better_is_said_only_where_images_suffice(self):
        # Two standard errors of 80 % and about as much: 3.6 points of 1,000 images, 0.36 of 100,000.
        a, b = [0.5, 0.6, 0.80], [0.9, 0.7, 0.82]
        few, many = self.learning(scored(a), scored(b)), self.learning(scored(a, 100_000), scored(b, 100_000))
        self.assertEqual((few["epochs"], few["accuracy"], few["better"]), ([3, 3], [0.80, 0.82], None))
        self.assertEqual(many["better"], "B")
        self.assertEqual(self.learning(scored(b, 100_000), scored(a, 100_000))["better"], "A")

    def test_runs_of_other_lengths_are_compared_at_their_ends(self):
        """A cosine schedule ends where its epochs end: in the middle of it a run has not learned what it will."""
        short, long = scored([0.2, 0.3, 0.419]), scored([0.1, 0.2, 0.338, 0.6, 0.889], epochs=5)
        ends = self.learning(short, long)
        self.assertEqual((ends["epochs"], ends["accuracy"], ends["better"]), ([3, 5], [0.419, 0.889], "B"))

    def test_an_end_that_was_not_reached_gives_no_verdict(self):
        short = scored([0.2, 0.3, 0.419])
        for long in (scored([0.1, 0.2, 0.8], epochs=5), scored([0.1, 0.2, 0.6, 0.7, 0.8], epochs=5)):
            long.outcome = "completed" if long.epochs[-1].test is None else "stopped"
            self.assertIsNone(self.learning(short, long)["better"])
            self.assertIsNone(self.learning(long, short)["better"])

    def test_a_common_epoch_counts_where_schedules_are_equal(self):
        stopped = [scored(own, samples=100_000) for own in ([0.2, 0.3], [0.2, 0.5])]
        for run in stopped:
            run.outcome = "stopped"
        common = self.learning(*stopped)
        self.assertEqual((common["epochs"], common["better"]), ([2, 2], "B"))
        for name, value in (("lr-schedule", "constant"), ("warmup-epochs", 2), ("epochs", 4)):
            other = deepcopy(stopped[1])
            other.options[name] = value
            self.assertIsNone(self.learning(stopped[0], other)["better"], name)

    def test_the_last_that_both_evaluated_counts(self):
        a, b = scored([0.5, 0.80, None]), scored([0.9, None, None])
        self.assertEqual(self.learning(a, b)["epochs"], [1, 1])
        self.assertIsNone(said(scored([0.5, None, None]), scored([None] * 3), "learning"))

    def test_equal_bits_are_told_and_need_no_verdict(self):
        one = scored([0.5, 0.7, 0.8])
        same = deepcopy(one)
        one.epochs[2].parameter_hash = same.epochs[2].parameter_hash = "0123456789abcdef"
        self.assertEqual(said(one, same, "same-bits").figures["epoch"], 3)
        same.epochs[2].parameter_hash = "1123456789abcdef"
        self.assertIsNone(said(one, same, "same-bits"))
        self.assertIsNone(self.learning(one, same)["better"])

    def test_the_table_has_the_last_evaluation_and_the_best(self):
        both = compare(scored([0.5, 0.9, 0.8]), scored([0.4, 0.3, None]))
        self.assertEqual(cells(both, "comparison_runs", "val_accuracy"), [0.8, 0.3])
        self.assertEqual(cells(both, "comparison_runs", "best_val_accuracy"), [0.9, 0.4])
        never = compare(scored([None] * 3), scored([None] * 3))
        self.assertEqual(cells(never, "comparison_runs", "val_accuracy"), [None, None])


class Settings(unittest.TestCase):
    def test_settings_are_listed_where_they_differ(self):
        a, b = run_of("one", [10]), run_of("two", [10])
        self.assertEqual(said(a, b, "settings").figures["settings"], [])
        a.options = {"wire": "fp32", "run-dir": "runs/one", "lr": 0.1, "nesterov": True}
        b.options = {"wire": "bf16", "run-dir": "runs/two", "lr": 0.1, "nesterov": False}
        b.ranks[0].device = "CPU \x1b[31mB"
        both = compare(a, b)
        self.assertEqual(cells(both, "comparison_settings", "setting"), ["nesterov", "wire", "processor"])
        self.assertEqual(cells(both, "comparison_settings", "b"), ["false", "bf16", "CPU \\x1b[31mB"])
        self.assertIn("  - wire: A fp32, B bf16\n", comparison_text(both))


class Texts(unittest.TestCase):
    def test_the_words_of_a_comparison(self):
        a, b = run_of("one", [10], 1, 0), run_of("two", [12], 1, 0.2)
        for wanted in (
            "A is runs/one, B is runs/two. No setting differs.",
            "A trains 10.0 images/s and B 8.33: A is 1.20 times as fast.",
            "A mean full step takes 100.0 ms in A and 120.0 ms in B. The largest part of the difference is "
            "exposed all-reduce: 0.000 ms in A, 20.0 ms in B.",
        ):  # fmt: skip
            self.assertIn(wanted, [one.text for one in compare(a, b).findings])
        self.assertIn("After epoch 3, the last that both evaluated, test accuracy is 80.0 % in A and 82.0 % in B: "
                      "not more than the 3.5 points (two standard errors) that 1,000 test images leave to chance",
                      said(scored([0, 0, 0.80]), scored([0, 0, 0.82]), "learning").text)  # fmt: skip
        ends = said(scored([0.2, 0.3, 0.419]), scored([0.1, 0.2, 0.338, 0.6, 0.889], epochs=5), "learning").text
        self.assertIn("Test accuracy is 41.9 % in A after epoch 3 and 88.9 % in B after epoch 5", ends)
        self.assertIn("B is better by 47.0 points", ends)
        held = said(a, disturb(run_of("two", [20])), "faster").text
        self.assertIn("which is faster is not determined. B: a rank got less than 85 % of the time of its cores", held)
        both = said(disturb(run_of("one", [10])), disturb(run_of("two", [20])), "faster").text
        self.assertIn("which is faster is not determined. A and B: a rank got less than 85 %", both)
        self.assertEqual(both.count("85 %"), 1)

    def test_report_json_keeps_the_texts_and_has_codes_and_figures(self):
        both = compare(run_of("one", [10], 1, 0), run_of("two", [12], 1, 0.2))
        written = comparison_json(both)
        self.assertEqual(written["findings"], [one.text for one in both.findings])
        self.assertEqual([one["code"] for one in written["details"]], [one.code for one in both.findings])
        self.assertEqual([run["name"] for run in written["runs"]], ["one", "two"])


class Curves(unittest.TestCase):
    def test_of_many_epochs_some_are_drawn_evenly_and_with_both_ends(self):
        run = made_run(epochs=[1.0] * 10_000)
        for number, epoch in enumerate(run.epochs):
            epoch.train = Score(loss=float(number), accuracy=math.nan if number == 9 else 0.5)
            if number % 100 == 99:
                epoch.test = Score(loss=1, accuracy=0.25)
        learned = learning_of(run)
        loss = learned["loss"]
        self.assertEqual((learned["epochs"], loss.known, len(loss.epochs)), (10_000, 10_000, MOST_CURVE_POINTS))
        self.assertEqual((loss.epochs[0], loss.epochs[-1]), (1, 10_000))
        self.assertEqual(loss.values, [epoch - 1 for epoch in loss.epochs])
        few = learning_of(made_run(epochs=[1.0] * (MOST_CURVE_POINTS + 1)))["loss"].epochs
        self.assertEqual((few[249], few[250]), (250, 252))  # one in the middle is left out
        self.assertEqual(learned["accuracy"].known, 9_999)
        self.assertEqual((len(learned["val_accuracy"].epochs), learned["val_accuracy"].epochs[0]), (100, 100))


if __name__ == "__main__":
    unittest.main()
