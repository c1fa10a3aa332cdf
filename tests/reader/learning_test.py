"""Speedup of learning: the noise scale of several runs, what follows from it for each batch, and every sentence on both
sides of its threshold."""

import math
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made import made_run, with_noise  # noqa: E402
from reader.base.estimate import Estimate  # noqa: E402
from reader.base.statistics import spread_of  # noqa: E402
from reader.charts.learning import chart as learning_chart  # noqa: E402
from reader.findings.finding import json_value  # noqa: E402
from reader.findings.noise import compared_batch  # noqa: E402
from reader.findings.report_json import report_json  # noqa: E402
from reader.page.head import head  # noqa: E402
from reader.report import Report  # noqa: E402
from reader.runs.noise import GradientNoise, learning_efficiency, pooled_scale, steps_worth  # noqa: E402
from reader.runs.places import Study  # noqa: E402
from reader.study.frames import frame_of_points  # noqa: E402
from reader.study.learning import noise_of  # noqa: E402
from reader.tables.scaling import overview_table  # noqa: E402
from reader.tables.study_tables import study_tables  # noqa: E402
from reader.tables.table import to_csv, to_markdown, to_text  # noqa: E402
from said import by_code, disturb, figures_of, found, named  # noqa: E402


def measured(scale, low, high, norm=0.5, steps=10):
    return GradientNoise(Estimate(scale, low, high), norm, norm * scale, 64, 2, steps)


def near(estimate):
    return tuple(round(value, 4) for value in (estimate.value, estimate.low, estimate.high))


def study(seconds, noise=(300.0, 280.0, 320.0), strong=False, rank_batch=100, images=800, **more):
    """Two repeats on each P: {P: seconds of an epoch}. All but one rank determine this noise scale."""
    runs = []
    for ranks, time in seconds.items():
        batch = rank_batch // ranks if strong else rank_batch
        for repeat in (1, 2):
            run = made_run(ranks=ranks, rank_batch=batch, images=images, epochs=(99, time * (1 + 0.001 * repeat)))
            scale = (None, None) if ranks == 1 or noise is None else (None, noise)
            reason = "one part a step" if ranks == 1 else "few steps"
            runs.append(named(with_noise(run, *scale, **{"reason": reason, **more}), f"p{ranks}-{repeat}"))
    return runs


def point(runs, ranks):
    return next(f for f in figures_of(runs)[0].points if f.ranks() == ranks)


class Formulas(unittest.TestCase):
    def test_what_a_batch_teaches(self):
        # At the noise scale half of each image is lost, and 1,024 images teach as much as 3.0 steps of 128 (1 + 408/128
        # and 1 + 408/1024).
        self.assertEqual(near(learning_efficiency(Estimate(300, 100, 700), 300)), (0.5, 0.25, 0.7))
        self.assertAlmostEqual(steps_worth(Estimate(408, 408, 408), 1024, 128).value, 4.1875 / 1.3984375)
        self.assertEqual(near(steps_worth(Estimate(300, 100, 700), 400, 100)), (2.2857, 1.6, 2.9091))
        self.assertEqual(near(steps_worth(Estimate(300, 100, 700), 100, 400)), (0.4375, 0.3438, 0.625))

    def test_equal_batches_teach_the_same_whatever_the_noise(self):
        unknown = Estimate().because("few steps")
        for scale in (Estimate(300, 100, 700), unknown):
            self.assertEqual(steps_worth(scale, 64, 64), Estimate(1, 1, 1))
        self.assertEqual(near(steps_worth(unknown, 400, 100)), (4, 1, 4))
        self.assertFalse(steps_worth(unknown, 400, 100).determined)


class Pooled(unittest.TestCase):
    def test_it_is_the_ratio_of_the_sums_and_no_mean_of_ratios(self):
        both = pooled_scale([measured(100, 90, 110, norm=3.0, steps=10), measured(300, 200, 400, norm=0.5, steps=20)])
        self.assertAlmostEqual(both.value, (300 * 10 + 150 * 20) / (3 * 10 + 0.5 * 20))
        self.assertEqual(pooled_scale([]), Estimate())
        self.assertEqual(pooled_scale([GradientNoise(reason="few steps")]), Estimate())

    def test_one_run_keeps_its_interval_and_more_narrow_it(self):
        self.assertEqual(near(pooled_scale([measured(100, 90, 120)])), (100, 90, 120))
        four = pooled_scale([measured(100, 90, 120)] * 4)
        self.assertEqual(near(four), (100, 95, 110))

    def test_runs_that_differ_by_more_than_their_intervals_widen_it(self):
        # 1.645 standard deviations are 10 images. The two lie 10 or 20 images from their mean: Birge's ratio is sqrt(2)
        # 1.645 or twice that.
        for apart, wider in ((3, 1.0), (10, 2.3264), (20, 4.6528)):
            two = pooled_scale([measured(100 - apart, 90 - apart, 110 - apart),
                                measured(100 + apart, 90 + apart, 110 + apart)])
            self.assertEqual(near(two)[0], 100)
            self.assertAlmostEqual(two.high - two.value, 10 / math.sqrt(2) * wider, places=2)
        self.assertEqual(pooled_scale([measured(10, 9, 11), measured(1000, 999, 1001)]).low, 0)

    def test_nine_of_ten_intervals_hold_the_truth(self):
        """Runs whose sums scatter around a noise scale of 400: each has its own 90 % interval, and so have four
        together."""
        draw, inside = random.Random(1), 0
        for _ in range(1000):
            noises = []
            for _ in range(4):
                scale = draw.gauss(400, 40)
                noises.append(measured(scale, scale - 1.645 * 40, scale + 1.645 * 40))
            pooled = pooled_scale(noises)
            inside += pooled.low <= 400 <= pooled.high
        self.assertTrue(880 <= inside <= 960, inside)  # Birge's ratio only widens

    def test_figures_that_no_double_holds_are_unknown(self):
        self.assertEqual(pooled_scale([measured(1e300, 1e299, 1e301, norm=1e300)]), Estimate())


class OfANetwork(unittest.TestCase):
    def test_the_last_epoch_that_all_measured_counts(self):
        long = with_noise(made_run(ranks=2, epochs=(1, 1, 1)), (100, 90, 110), (200, 180, 220), (400, 360, 440))
        short = with_noise(made_run(ranks=4, epochs=(1, 1)), (120, 100, 140), (200, 150, 250))
        noise = noise_of([long, short])
        self.assertEqual((noise.epoch, noise.runs, noise.batches), (2, 2, (20, 40)))
        self.assertAlmostEqual(noise.scale.value, 200)
        self.assertEqual(noise_of([long]).epoch, 3)

    def test_runs_of_one_part_and_those_that_determined_nothing_are_left_out(self):
        alone = with_noise(made_run(epochs=(1,)), None, reason="one part a step")
        few = with_noise(made_run(ranks=8, epochs=(1, 1)), (100, 90, 110), None)
        good = with_noise(made_run(ranks=2, epochs=(1, 1)), (100, 90, 110), (200, 180, 220))
        noise = noise_of([alone, few, good])
        self.assertEqual((noise.epoch, noise.runs, noise.batches), (2, 1, (20,)))
        self.assertEqual(near(noise.scale), (200, 180, 220))

    def test_why_it_is_not_determined(self):
        def why(*runs):
            noise = noise_of(list(runs))
            self.assertFalse(noise.scale.known)
            return noise.scale.why

        alone = with_noise(made_run(), None, reason="one part a step")
        self.assertIn("--accumulate 2", why(alone))
        self.assertIn("gradient is not above its noise",
                      why(alone, with_noise(made_run(ranks=2), None, reason="gradient not above noise")))
        self.assertIn("too few steps", why(with_noise(made_run(ranks=2), None)))
        off = made_run(ranks=2)
        off.options["noise-scale"] = 0
        self.assertIn("no run measured", why(off))
        first = with_noise(made_run(ranks=2, epochs=(1, 1)), (100, 90, 110), (200, 180, 220))
        second = with_noise(made_run(ranks=2, epochs=(1, 1)), (100, 90, 110), (200, 180, 220))
        first.epochs[0].noise = second.epochs[1].noise = None
        self.assertIn("no epoch in common", why(first, second))

    def test_networks_and_sets_of_images_have_noise_scales_of_their_own(self):
        others = [with_noise(made_run("other", 2, 100, 800), (900, 800, 1000)),
                  with_noise(made_run("net", 2, 100, 1600), (500, 400, 600))]  # fmt: skip
        runs = study({1: 8, 2: 4}) + others
        found_scales = {(series.series.model,
                         series.points[0].point.images): round(series.points[0].learning.noise.scale.value)
                        for series in figures_of(runs)}
        self.assertEqual(found_scales, {("net", 800): 300, ("other", 800): 900, ("net", 1600): 500})


class Points(unittest.TestCase):
    def test_speedup_of_learning(self):
        f = point(study({1: 8, 4: 2.5}), 4)
        learning, speedup = f.learning, f.epoch_view.speedup
        self.assertAlmostEqual(speedup.value, 3.2)
        # Efficiencies of learning 300/700 and 300/400.
        self.assertAlmostEqual(learning.efficiency.value, 3 / 7)
        self.assertAlmostEqual(learning.speedup.value, 3.2 * (3 / 7) / (3 / 4))
        low, high = 300 - 20 / math.sqrt(2), 300 + 20 / math.sqrt(2)  # by two runs
        self.assertAlmostEqual(learning.speedup.low, speedup.low * (low + 100) / (low + 400))
        self.assertAlmostEqual(learning.speedup.high, speedup.high * (high + 100) / (high + 400))
        self.assertAlmostEqual(learning.steps_of_base.value, 4 * (3 / 7) / (3 / 4))
        self.assertEqual(point(study({1: 8, 4: 2.5}), 1).learning.speedup, Estimate(1, 1, 1))

    def test_the_fewest_ranks_are_the_base(self):
        f = point(study({2: 4, 4: 2}), 4)
        self.assertAlmostEqual(f.learning.speedup.value, 4 * (200 + 300) / (400 + 300))
        self.assertEqual(point(study({2: 4, 4: 2}), 2).learning.speedup, Estimate(2, 2, 2))

    def test_strong_scaling_learns_as_it_trains_also_where_no_noise_scale_is_known(self):
        for noise in ((300.0, 280.0, 320.0), None):
            f = point(study({1: 8, 4: 2.5}, noise, strong=True), 4)
            self.assertEqual(f.learning.speedup, f.epoch_view.speedup)

    def test_weak_scaling_without_a_noise_scale_is_not_determined(self):
        f = point(study({1: 8, 4: 2.5}, None), 4)
        self.assertFalse(f.learning.speedup.determined)
        self.assertIn("too few steps", f.learning.speedup.why)
        self.assertLess(f.learning.speedup.low, f.learning.speedup.high)

    def test_older_runs_and_those_that_compute_nothing_say_nothing(self):
        old = [named(made_run(ranks=ranks, epochs=(9, 8 / ranks)), f"p{ranks}") for ranks in (1, 2)]
        timed = study({1: 8, 2: 4})
        for run in timed:
            for rank in run.ranks:
                rank.backend = "timed"
        for runs in (old, timed):
            f = point(runs, 2)
            self.assertEqual((f.learning.speedup, f.learning.efficiency), (Estimate(), Estimate()))
            figures = figures_of(runs)
            self.assertNotIn("learning", to_text(overview_table(figures)).lower())
            self.assertNotIn("learning", [table.id for table in study_tables(Study(runs=runs), figures)])
            self.assertFalse({one.code for one in found(runs)} & {"learning-speedup", "learning-rate", "noise"})

    def test_tables(self):
        runs = study({1: 8, 4: 2.5}) + study({1: 8, 4: 2.5}, strong=True)[2:]
        figures = figures_of(runs)
        tables = {table.id: table for table in study_tables(Study(runs=runs), figures)}
        rows = tables["learning"].row_objects()
        self.assertEqual([(row["ranks"], row["global_batch"]) for row in rows],
                         [(1, 100), (4, 400), (1, 100), (4, 100)])
        for row in rows:
            of_base = 3 / 4
            self.assertAlmostEqual(row["learning_speedup"], row["speedup"] * row["learning_efficiency"] / of_base)
            self.assertAlmostEqual(row["steps_of_base"], row["images_of_base"] * row["learning_efficiency"] / of_base)
        self.assertEqual(rows[1]["learning_speedup"], tables["scaling"].row_objects()[1]["learning_speedup"])
        self.assertIn("net: 300 images (", to_markdown(tables["learning"]))
        self.assertIn("by 4 runs with global batches of 100 to 400 images in epoch 2", to_markdown(tables["learning"]))
        self.assertRegex(to_text(overview_table(figures)),
                         r"(?s)efficiency, %  learning.* 3.20 +80.0 +1.83.* 3.20 +80.0 +3.20")
        self.assertIn("fixed global batch (strong", to_text(overview_table(figures)))
        weak = to_text(overview_table(figures_of(study({1: 8, 4: 2.5}))))
        self.assertIn("Learning: the speedup of learning.", weak)
        self.assertNotIn("strong", weak)

    def test_a_table_says_why_nothing_is_determined(self):
        runs = study({1: 8, 4: 2.5}, None)
        table = next(table for table in study_tables(Study(runs=runs), figures_of(runs)) if table.id == "learning")
        self.assertEqual(table.row_objects()[1]["learning_speedup"], None)
        self.assertIn("*Not determined*: too few steps were measured", to_markdown(table))
        self.assertNotIn("inf", to_csv(table) + to_markdown(table))

    def test_report_and_notebook(self):
        runs = study({1: 8, 4: 2.5})
        series = report_json(Report("", "", figures_of(runs)))["series"][0]
        self.assertEqual(series["gradient_noise"]["runs"], 2)
        self.assertAlmostEqual(series["gradient_noise"]["scale"]["value"], 300)
        self.assertAlmostEqual(series["points"][1]["learning_speedup"]["value"], 3.2 * 4 / 7)
        frame = frame_of_points(figures_of(runs))
        self.assertAlmostEqual(frame["learning_speedup"].iloc[1], 3.2 * 4 / 7)
        unknown = study({1: 8, 4: 2.5}, None)
        self.assertTrue(math.isnan(frame_of_points(figures_of(unknown))["learning_speedup"].iloc[1]))
        written = report_json(Report("", "", figures_of(unknown)))["series"][0]
        self.assertIn("too few", written["points"][1]["learning_speedup"]["why"])
        self.assertIsNone(report_json(Report("", "",
                                             figures_of([named(made_run(), "old")])))["series"][0]["gradient_noise"])


class Chart(unittest.TestCase):
    def chart(self, runs):
        series = json_value(report_json(Report("", "", figures_of(runs)))["series"][0])
        return learning_chart({**series, "file": "net"}, "net")

    def test_three_lines_of_weak_scaling(self):
        chart = self.chart(study({1: 8, 2: 4.1, 4: 2.5}))
        self.assertEqual([row[0] for row in chart.rows], ["ideal", "throughput", "learning"])
        self.assertEqual(chart.rows[0][1:], ["1", "2", "4"])
        self.assertEqual(chart.rows[2][3], point(study({1: 8, 2: 4.1, 4: 2.5}), 4).learning.speedup.text("ratio"))
        self.assertIn("The gradient noise scale is 300 (", " ".join(chart.remarks))
        (axes,) = chart.figure().axes
        self.assertEqual([line.get_text() for line in axes.get_legend().get_texts()],
                         ["ideal", "throughput", "learning"])
        lines = [list(map(float, line.get_ydata())) for line in axes.lines if len(line.get_ydata()) == 3]
        points = [point(study({1: 8, 2: 4.1, 4: 2.5}), ranks) for ranks in (1, 2, 4)]
        for wanted in ([1, 2, 4], [f.epoch_view.speedup.value for f in points],
                       [f.learning.speedup.value for f in points]):
            self.assertIn(wanted, lines)

    def test_the_headline_of_a_page(self):
        def headline(runs):
            report = json_value(report_json(Report("", "", figures_of(runs))))
            return next(block.content[0][1] for block in head(report, [])[0][0].blocks if block.kind == "headlines")

        learns = point(study({1: 8, 4: 2.5}), 4).learning.speedup.text("ratio")
        self.assertIn(f"speedup 3.20, of learning {learns}, efficiency 80.0 %", headline(study({1: 8, 4: 2.5})))
        for runs in (study({1: 8, 4: 2.5}, strong=True), study({1: 8, 4: 2.5}, None)):
            self.assertIn("speedup 3.20, efficiency 80.0 %", headline(runs))

    def test_none_where_both_are_equal_or_nothing_is_determined(self):
        self.assertIsNone(self.chart(study({1: 8, 4: 2.5}, strong=True)))
        self.assertIsNone(self.chart(study({1: 8, 4: 2.5}, None)))
        self.assertIsNone(self.chart([named(made_run(ranks=ranks, epochs=(9, 8 / ranks)), f"p{ranks}")
                                      for ranks in (1, 2)]))


class Speedup(unittest.TestCase):
    def said(self, *words, **more):
        return by_code(study(*words, **more), "learning-speedup")

    def test_it_is_said_where_the_two_differ_by_more_than_their_intervals(self):
        # A noise scale of 100 images loses much of 400, one of 1e6 nothing.
        differ = self.said({1: 8, 4: 2.5}, (100.0, 95.0, 105.0))
        self.assertAlmostEqual(differ.figures["learning_speedup"].value, 3.2 * 2 / 5)
        self.assertIn("the speedup of throughput is 3.20, that of learning 1.28 (", differ.text)
        self.assertIn("a step of 400 images teaches as much as 1.60 (1.58 to 1.62) steps of 100 and costs 4 "
                      "times the images", differ.text)
        self.assertIn("100 images (96 to 104), by 2 runs with global batches of 400 images in epoch 2, the "
                      "last that all have", differ.text)
        self.assertIsNone(self.said({1: 8, 4: 2.5}, (1e6, 9e5, 1.1e6)))

    def test_the_interval_of_the_noise_scale_counts(self):
        # Two runs narrow an interval by sqrt(2): up to 300 + 3e5 or 3e6 images. Learning gains at most 0.9990 or 0.9999
        # of throughput, whose repeats differ by 0.1 %.
        self.assertIsNotNone(self.said({1: 8, 4: 2.5}, (300.0, 280.0, 1e5)))
        self.assertIsNone(self.said({1: 8, 4: 2.5}, (300.0, 280.0, 3e6)))

    def test_single_runs_leave_five_per_cent_of_each_open(self):
        # Learning gains (n + 100) / (n + 200) of what throughput does: 0.900 or 0.915, where 1 / 1.05^2 is 0.907.
        for scale, said in ((800.0, True), (977.0, False)):
            exact = (scale, scale, scale)
            runs = [run for run in study({1: 8, 2: 4.1}, exact) if run.file.parent.name.endswith("-1")]
            self.assertEqual(by_code(runs, "learning-speedup") is not None, said, scale)
            self.assertIsNotNone(by_code(study({1: 8, 2: 4.1}, exact), "learning-speedup"))

    def test_strong_scaling_and_a_single_point_say_nothing(self):
        self.assertIsNone(self.said({1: 8, 4: 2.5}, (100.0, 95.0, 105.0), strong=True))
        self.assertIsNone(self.said({4: 2.5}, (100.0, 95.0, 105.0)))

    def test_why_it_is_not_determined_and_what_helps(self):
        text = self.said({1: 8, 4: 2.5}, None).text
        self.assertEqual(text, "How much faster 4 ranks learn is not determined: too few steps were measured (train "
                               "more images, or measure more of their steps (--noise-scale 1)).")  # fmt: skip
        self.assertIsNone(self.said({1: 8, 4: 2.5}, None, strong=True))

    def test_runs_that_may_not_conclude_say_nothing(self):
        for change in (disturb,
                       lambda run: setattr(run.summary, "full_step",
                                           run.summary.full_step.__class__(slowest=spread_of([0.1]), steps=2))):
            runs = study({1: 8, 4: 2.5}, (100.0, 95.0, 105.0))
            self.assertIsNotNone(by_code(runs, "learning-speedup"))
            change(runs[-1])
            self.assertIsNone(by_code(runs, "learning-speedup"))
            self.assertIsNone(by_code(runs, "learning-rate"))


class Rates(unittest.TestCase):
    def side(self, low, high):
        """Of a batch of 400 images. Two runs narrow both ends by sqrt(2)."""
        scale = math.sqrt(low * high)
        half = [abs(end - scale) * math.sqrt(2) for end in (low, high)]
        said = by_code(study({1: 8, 4: 2.5}, (scale, scale - half[0], scale + half[1])), "learning-rate")
        return said.figures["side"], said.text

    def test_on_both_sides_of_the_noise_scale(self):
        for low, high, side in ((300, 399, "above"), (300, 401, "open"), (399, 500, "open"), (401, 500, "below")):
            self.assertEqual(self.side(low, high)[0], side)

    def test_the_words(self):
        above, below, unsure = (self.side(*ends)[1] for ends in ((200, 210), (800, 820), (390, 410)))
        self.assertTrue(above.startswith("The global batch of 4 ranks, 400 images, is above the gradient noise scale, "
                                         "205 images (200 to 210): there the learning rate should no longer grow "
                                         "like the batch."), above)  # fmt: skip
        self.assertIn("Linear scaling (--scale-lr linear) makes it 4 times that of 100 images; by the noise scale "
                      "about 2.02 (2.00 to 2.03) times are best for plain SGD.", above)  # fmt: skip
        self.assertIn("400 images, is not above the gradient noise scale, 810 images (800 to 820): up to about there",
                      below)
        self.assertIn("about 3.01 (3.00 to 3.02) times are best", below)
        self.assertTrue(unsure.startswith("Whether the global batch of 4 ranks, 400 images, is above the "
                                          "gradient noise scale"), unsure)

    def test_none_where_the_batch_stays_or_nothing_is_determined(self):
        self.assertIsNone(by_code(study({1: 8, 4: 2.5}, strong=True), "learning-rate"))
        self.assertIsNone(by_code(study({1: 8, 4: 2.5}, None), "learning-rate"))


class OneRun(unittest.TestCase):
    def said(self, *scales, ranks=8, **more):
        run = with_noise(made_run(ranks=ranks, rank_batch=128, images=10_000, epochs=(2, 1)), *scales, **more)
        return by_code([named(run, "run")], "noise")

    def test_what_a_step_teaches(self):
        self.assertEqual(self.said((100, 90, 110), (408, 350, 500)).text,
                         "The gradient noise scale is 408 images (350 to 500) in epoch 2: a step of 1,024 images "
                         "teaches as much as 2.99 (2.78 to 3.30) steps of 128 and costs 8 times the "
                         "images.")  # fmt: skip
        self.assertIn("a step of 128 images teaches as much as", self.said((408, 350, 500), ranks=1, parts=2).text)
        self.assertIn("steps of 64 and costs 2 times", self.said((408, 350, 500), ranks=1, parts=2).text)

    def test_why_it_is_not_determined(self):
        text = self.said(None, ranks=1, reason="one part a step").text
        self.assertEqual(text, "The gradient noise scale is not determined: each step was one part, so there is no "
                               "second batch size to compare it with (train with --accumulate 2 or on several "
                               "ranks).")  # fmt: skip

    def test_a_batch_that_ranks_do_not_share_equally_is_compared_in_whole_images(self):
        for ranks, batch, other in ((2, 33, 16), (1, 33, 16), (1, 1, 1), (4, 130, 32)):
            run = made_run(ranks=ranks)
            run.global_batch = batch
            self.assertEqual(compared_batch(run), other)

    def test_it_is_said_of_one_configuration_alone(self):
        runs = study({1: 8, 4: 2.5})
        for run in runs:
            for rank in run.ranks:
                rank.cores = 0.5  # so that no P is the widest of the series
        self.assertIsNone(by_code(runs, "noise"))

    def test_nothing_is_said_of_what_was_not_measured_in_the_last_epoch(self):
        run = with_noise(made_run(ranks=2, epochs=(2, 1)), (408, 350, 500), (408, 350, 500))
        run.epochs[-1].noise = None
        self.assertIsNone(by_code([named(run, "run")], "noise"))


if __name__ == "__main__":
    unittest.main()
