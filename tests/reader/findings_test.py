"""Findings about a study: what they conclude, on both sides of each threshold. Figures and codes are looked at; Texts
reads the words."""

import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made import made_run  # noqa: E402
from reader.base.estimate import Estimate, exactly  # noqa: E402
from reader.base.statistics import spread_of  # noqa: E402
from reader.findings.choice import sweet_spot  # noqa: E402
from reader.findings.doubts import doubts  # noqa: E402
from reader.findings.study_findings import findings  # noqa: E402
from reader.findings.waiting import what_waits  # noqa: E402
from reader.runs.places import Attempt, Study, Unreadable  # noqa: E402
from reader.study.figures import evaluate  # noqa: E402
from reader.study.observation import Observation  # noqa: E402
from reader.study.serial import serial_fraction  # noqa: E402
from reader.study.series import make_series  # noqa: E402
from reader.study.waiting import LateRank  # noqa: E402
from reader.tables.study_tables import study_tables  # noqa: E402
from said import by_code, disturb, figures_of, found, named, of_parts, runs_of, set_efficiency, text_of  # noqa: E402


def book_like():
    """The step times of the book's ResNet50V2 runs: 25 x 544, 13 x 623, 7 x 768 ms."""
    return [of_parts(ranks, 13.6 / ranks, seconds - 13.6 / ranks)
            for ranks, seconds in ((1, 13.60), (2, 8.10), (4, 5.38))]


def repeats(ranks, seconds):
    return [named(made_run(ranks=ranks, epochs=(9, each)), f"p{ranks}-{n}") for n, each in enumerate(seconds)]


def table_of(runs, id):
    return next(table for table in study_tables(Study(runs=runs), figures_of(runs)) if table.id == id)


class Speedup(unittest.TestCase):
    def test_the_widest_point_with_a_core_for_every_thread_is_told(self):
        speedup = by_code(book_like(), "speedup").figures
        self.assertEqual((speedup["ranks"], speedup["base_ranks"]), (4, 1))
        self.assertAlmostEqual(speedup["efficiency"]["value"] if isinstance(speedup["efficiency"], dict)
                               else speedup["efficiency"].value, 13.6 / 5.38 / 4)  # fmt: skip
        self.assertTrue(speedup["single_runs"])
        runs = book_like()
        for rank in runs[2].ranks:
            rank.cores = 0.5
        self.assertEqual(by_code(runs, "speedup").figures["ranks"], 2)
        self.assertEqual(sweet_spot(figures_of(runs)[0], "time").ranks(), 2)
        self.assertEqual(by_code(runs, "held-back").figures, {"oversubscribed": ["runs/p4"]})


class Causes(unittest.TestCase):
    def test_a_cause_is_named_only_where_repeats_differ_by_less_than_the_loss(self):
        # 0.6 s lost. The repeats on one rank differ by `apart`, half of which counts on two.
        def cause(apart):
            runs = [of_parts(1, 10, 0), of_parts(1, 10 + apart, 0), of_parts(1, 10 + apart, 0)]
            runs += [of_parts(2, 5 + apart / 2, 0.6)] * 2
            return by_code(runs, "loss-cause").figures["cause"]

        self.assertEqual(cause(1.1), "all_reduce")
        self.assertIsNone(cause(1.3))

    def test_single_runs_have_to_lose_five_per_cent(self):
        # 9.6 / 2 + lost: efficiencies of 96 and 94 %.
        def cause(lost):
            return by_code([of_parts(1, 10, 0), of_parts(2, 5, lost)], "loss-cause").figures["cause"]

        self.assertIsNone(cause(0.24))
        self.assertEqual(cause(0.27), "all_reduce")

    def test_the_cause_is_the_largest_part_or_none(self):
        # The exposed all-reduce is always 1 s more. Backward is 2 s more, and its repeats differ by `apart`.
        def figures(apart):
            runs = ([of_parts(1, 10, 0)] * 2
                    + [of_parts(2, 7 - apart / 2, 1), of_parts(2, 7, 1), of_parts(2, 7 + apart / 2, 1)])
            return by_code(runs, "loss-cause").figures

        self.assertEqual(list(figures(1.9)["causes"]), ["backward", "all_reduce"])
        self.assertEqual(figures(1.9)["cause"], "backward")
        # Backward may be nothing, the all-reduce is sure, and not the cause for that.
        unsure = figures(2.1)
        self.assertEqual((unsure["cause"], unsure["causes"]), (None, {}))
        self.assertAlmostEqual(unsure["parts"]["backward"], 2)

    def test_no_part_is_a_cause_where_repeats_swap_them(self):
        runs = [of_parts(1, 10, 0), of_parts(2, 6, 0.5), of_parts(2, 5, 1.5)]
        self.assertIsNone(by_code(runs, "loss-cause").figures["cause"])

    def test_report_and_sentence_name_the_same_cause(self):
        from reader.findings.report_json import report_json
        from reader.report import Report

        for runs in ([of_parts(1, 10, 0), of_parts(2, 7, 1)], [of_parts(1, 10, 0), of_parts(2, 5.1, 1)],
                     [of_parts(1, 10, 0), of_parts(2, 5.1, 0)]):  # fmt: skip
            written = report_json(Report("", "", figures_of(runs)))["series"][0]["points"][1]["losses"]
            sentence = by_code(runs, "loss-cause")
            said = sentence.figures["cause"] if sentence else None
            self.assertEqual(written["most"], said)

    def test_shares_are_of_what_took_longer_and_add_up(self):
        parts = by_code([of_parts(1, 10, 0), of_parts(2, 6, 1)], "loss-cause")
        self.assertIn("backward 1.000 s (50.0 %)", parts.text)
        self.assertIn("the exposed all-reduce 1.000 s (50.0 %)", parts.text)
        self.assertNotIn("that took longer than with ideal", parts.text)
        more = by_code([of_parts(1, 9.8, 0), of_parts(2, 4, 2.2)], "loss-cause")
        self.assertIn("the exposed all-reduce 2.200 s (100.0 %), of 2.200 s that took longer", more.text)

    def test_parts_that_make_up_for_others_are_named(self):
        wide = made_run(ranks=2, epochs=(9, 6.5), phases={"backward": 4, "all_reduce": 2.2})
        base = made_run(epochs=(9, 10), phases={"backward": 9.8})
        text = text_of([named(base, "a"), named(base, "b"), named(wide, "c"), named(wide, "d")])
        self.assertIn("The causes are the exposed all-reduce 2.200 s (91.7 %) and uneven ranks and time between "
                      "steps 0.200 s (8.3 %), of 2.400 s that took longer", text)  # fmt: skip
        self.assertIn("Less than with ideal scaling took backward 0.900 s.", text)


class Factors(unittest.TestCase):
    def factor(self, *wide, base=(10, 10, 10, 10)):
        runs = runs_of([(1, 10), (1, 10), *[(2, 8)] * len(wide)])
        for run in runs[:2]:
            set_efficiency(run, *base)
        for run, seconds in zip(runs[2:], wide):
            set_efficiency(run, *seconds)
        return by_code(runs, "factor")

    def test_the_least_factor_is_named(self):
        for seconds, name in (((5, 5.1, 6.9, 8), "serialisation"), ((5, 5.1, 5.2, 8), "transfer"),
                              ((5, 7.8, 7.9, 8), "load_balance"),
                              ((7.8, 7.9, 7.95, 8), "computation_scaling")):  # fmt: skip
            self.assertEqual(self.factor(seconds, seconds).figures["factor"], name)

    def test_repeats_have_to_agree_on_it(self):
        self.assertEqual(self.factor((5, 5.1, 5.2, 8), (5, 5.1, 5.2, 8)).figures["factor"], "transfer")
        disagreed = self.factor((5, 5.1, 5.2, 8), (5, 7.8, 7.9, 8))
        self.assertIsNone(disagreed.figures["factor"])
        self.assertIn("repeats do not agree by which factor most", disagreed.text)

    def test_single_runs_have_to_show_five_per_cent_between_factors(self):
        # Serialisation is 0.75; transfer 4 or 6 % more.
        def factor(transfer):
            return self.factor((6 * transfer, 6 * transfer, 8 * transfer, 8)).figures["factor"]

        self.assertIsNone(factor(0.78))
        self.assertEqual(factor(0.80), "serialisation")

    def test_nothing_is_said_where_nothing_is_known(self):
        self.assertIsNone(self.factor((math.nan, math.nan, math.nan, 8)))


class Growth(unittest.TestCase):
    def test_a_phase_grows_only_by_more_than_repeats_differ(self):
        def phase(other):
            runs = [of_parts(1, 9.8, 0), of_parts(1, 9.8, 0), of_parts(2, 5, 1.5), of_parts(2, 5, other)]
            growth = by_code(runs, "growth")
            return growth and growth.figures["phase"]

        # 0, and 300 ms or more of a step; the repeats differ by 200 or 500 ms.
        self.assertEqual(phase(2.5), "all_reduce")
        self.assertIsNone(phase(4.0))


class Waiting(unittest.TestCase):
    def study(self, efficiency, wait, all_reduce="ring"):
        runs = [set_efficiency(of_parts(1, 10, 0), 10, 10, 10, 10),
                set_efficiency(of_parts(2, 5, 3, wait=wait, transfer=0.1), *efficiency)]  # fmt: skip
        for run in runs:
            run.options["all-reduce"] = all_reduce
        return runs

    def test_transfer_is_not_blamed_and_denied_at_once(self):
        transfer, late = (5, 5.1, 5.2, 8), (5, 7.6, 7.7, 8)
        blamed = self.study(transfer, 0.3)
        self.assertEqual(by_code(blamed, "factor").figures["factor"], "transfer")
        self.assertIsNone(by_code(blamed, "waiting"))
        waits = by_code(self.study(late, 0.3), "waiting").figures
        self.assertAlmostEqual(waits["waiting_seconds"] / waits["exposed_seconds"], 0.75)
        self.assertAlmostEqual(waits["waiting_seconds"] + waits["transfer_seconds"], waits["exposed_seconds"])
        self.assertIsNone(by_code(self.study(late, 0.09), "waiting"))

    def test_another_sum_is_advised_only_where_transfer_takes_a_tenth_of_an_epoch(self):
        late = (5, 7.6, 7.7, 8)
        # Of 3 s exposed 0.76 and 0.84 s are transfer; an epoch takes 8 s.
        self.assertIsNone(by_code(self.study(late, 0.295), "transfer"))
        little = [of_parts(1, 10, 0), of_parts(2, 5, 0.55, wait=0, transfer=0.1)]
        much = [of_parts(1, 10, 0), of_parts(2, 5, 0.57, wait=0, transfer=0.1)]
        self.assertIsNone(by_code(little, "transfer"))
        self.assertEqual(by_code(much, "transfer").figures["advice"], "auto")
        for run in much:
            run.options["all-reduce"] = "auto"
        self.assertIsNone(by_code(much, "transfer"))

    def test_the_rank_that_others_wait_for_is_named_with_its_host(self):
        from reader.runs.epochs import RankFigures

        def late(seconds):
            runs = self.study((5, 7.6, 7.7, 8), 0.3)
            runs[1].ranks[1].host = "node-b"
            phases = [{"backward": 25.0, "all_reduce": 4.5}, {"backward": 25.0 + 5 * seconds, "all_reduce": 0.5}]
            zeros = dict.fromkeys(runs[1].epochs[-1].phases, 0.0)
            runs[1].epochs[-1].of_ranks = [RankFigures(rank=n, phases={**zeros, **one}) for n, one in enumerate(phases)]
            return by_code(runs, "waiting")

        slow = late(0.8)
        self.assertEqual((slow.figures["rank"], slow.figures["host"]), (1, "node-b"))
        self.assertAlmostEqual(slow.figures["late_seconds"], 0.8)
        self.assertIn("rank 1 on node-b, whose steps are 800.0 ms longer", slow.text)
        self.assertIsNone(late(0.1).figures["rank"])
        # Half of the waiting, which is 2.5 s of an epoch of five steps, is 250 ms of a step.
        for seconds, rank in ((0.26, 1), (0.24, None)):
            runs = self.study((5, 7.6, 7.7, 8), 0.5)
            series = figures_of(runs)[0]
            series.points[1].waits.late = LateRank(1, "node-b", 0.9, seconds)
            self.assertAlmostEqual(series.points[1].losses.waiting, 2.5)
            self.assertEqual(what_waits(series, series.points[1]).figures["rank"], rank)

    def test_a_late_rank_with_more_images_is_told_with_those_of_all_others(self):
        for images, words in (([6, 7, 6, 5], "(with 7 images, others with 5 to 6)"),
                              ([1, 2, 1], "(with 2 images, others with 1)"),
                              ([5, 6, 7], "(with 6 images, others with 5 to 7)"), ([6, 6, 7], None), ([6, 6], None)):
            runs = self.study((5, 7.6, 7.7, 8), 0.5)
            runs[1].epochs[-1].rank_batches = images
            series = figures_of(runs)[0]
            series.points[1].waits.late = LateRank(1, "node-b", 0.9, 0.5)
            text = what_waits(series, series.points[1]).text
            self.assertIn(f"rank 1 on node-b{' ' + words if words else ''}, whose steps", text)

    def test_balance_is_advised_only_where_it_would_change_parts(self):
        from reader.runs.epochs import RankFigures

        # 10 images each. With 11, 9 a step takes 11 s in place of 11.6 or 11.57 s, which is 5.2 or 4.9 % less.
        for slower, advice in ((0.16, "balance"), (0.157, None), (0, None)):
            runs = self.study((5, 7.6, 7.7, 8), 0.5)
            ranks = [RankFigures(rank=n, full_compute=spread_of([10 * cost] * 5))
                     for n, cost in enumerate((1, 1 + slower))]
            runs[1].epochs[-1].of_ranks = ranks
            runs[1].epochs.append(runs[1].epochs[-1])
            series = figures_of(runs)[0]
            series.points[1].waits.late = LateRank(1, "node-b", 0.9, 0.5)
            waits = what_waits(series, series.points[1])
            self.assertEqual((waits.figures["rank"], waits.figures["advice"]), (1, advice), slower)
            self.assertEqual("--balance speed" in waits.text, advice is not None)


class Communication(unittest.TestCase):
    def test_one_time_has_one_figure_in_all_sentences(self):
        # Epochs differ, so that means over all are not those of the middle one.
        from copy import deepcopy

        runs = [of_parts(1, 10, 0), of_parts(2, 5, 1)]
        for exposed in (0.9, 3.0):
            epoch = deepcopy(runs[1].epochs[-1])
            epoch.seconds = 5 + exposed
            epoch.phases["all_reduce"].mean = exposed
            epoch.all_steps.phases["all_reduce"].mean = exposed / 5
            runs[1].epochs.append(epoch)
        for epoch in runs[1].epochs:
            epoch.all_steps.busy.mean = 0.5
        cause, shares = by_code(runs, "loss-cause").figures, by_code(runs, "communication").figures
        self.assertEqual(cause["causes"], {"all_reduce": 1.0})
        self.assertAlmostEqual(shares["busy_seconds"], 2.5)
        self.assertAlmostEqual(shares["exposed_seconds"], 1.0)
        self.assertAlmostEqual(shares["hidden"], 0.6)

    def test_an_epoch_shorter_than_an_ideal_one_has_no_time_by_subtraction(self):
        self.assertIn("takes 0.000 s of an epoch by subtraction", text_of(runs_of([(1, 10.4), (2, 5.2)])))
        self.assertIn("takes no time by subtraction", text_of(runs_of([(1, 10.4), (2, 5.0)])))

    def test_subtraction_blames_the_network_only_for_a_loss_that_is_determined(self):
        def blamed(*wide):
            runs = [of_parts(1, 10, 0), of_parts(1, 10, 0), *(of_parts(2, backward, 0.1) for backward in wide)]
            return by_code(runs, "communication").figures["blamed"]

        self.assertAlmostEqual(blamed(6, 6), 11)
        self.assertIsNone(blamed(6, 9))


class Steps(unittest.TestCase):
    def test_epochs_that_scale_worse_than_full_steps_are_taken_apart(self):
        # 100 images: 10 full steps on one rank, 3 of 30 and one of 10 on three.
        runs = runs_of([(1, 1.0), (3, 0.5)])
        runs[1].summary.full_step.slowest.mean = 0.11
        figures = by_code(runs, "full-steps").figures
        self.assertAlmostEqual(figures["slow_steps"], 0.03)
        self.assertAlmostEqual(figures["partial"], 0.17)
        self.assertEqual(figures["partial_images"], 10)
        runs[1].summary.full_step.slowest.mean = 0.09  # quick steps: no negative seconds
        self.assertIsNone(by_code(runs, "full-steps"))
        runs[1].summary.full_step.slowest.mean = 0.11
        runs.append(named(made_run(ranks=3, epochs=(9, 0.33), step=0.12), "again"))  # leaves both open
        self.assertIsNone(by_code(runs, "full-steps"))


class Rounding(unittest.TestCase):
    def effect(self, *times, **options):
        return by_code([run for one in times for run in one], "rounding", **options).figures["effect"]

    def test_a_range_on_both_sides_of_a_bound_determines_nothing(self):
        # Efficiency on two ranks: 10 / 2T; the log shows 10 s and whole seconds.
        for seconds, effect in (([9], "unchanged"), ([9, 9.1], "unchanged"), ([6.4, 6.4], "changed"),
                                ([6.9, 6.9], "hidden"), ([6.1, 6.4, 6.5], "open")):  # fmt: skip
            self.assertEqual(self.effect(repeats(1, [10, 10]), repeats(2, seconds)), effect, seconds)

    def test_doubtful_runs_have_no_side_of_a_bound(self):
        self.assertEqual(self.effect(repeats(1, [10, 10]), [disturb(run) for run in repeats(2, [9, 9])]), "held back")

    def test_single_runs_near_a_bound_leave_it_open(self):
        self.assertEqual(self.effect(repeats(1, [10]), repeats(2, [6.4])), "open")
        self.assertEqual(self.effect(repeats(1, [10]), repeats(2, [6.45]), efficiency=0.6), "unchanged")

    def test_a_log_of_no_whole_second_has_no_efficiency(self):
        for times in ([(1, 0.8), (2, 0.42)], [(1, 0.4), (2, 0.6)]):
            self.assertEqual(by_code(runs_of(times), "rounding").figures["effect"], "none left")

    def test_a_log_in_whole_seconds_is_not_compared_with_itself(self):
        def said(one, four):
            logged = [Observation(ranks=ranks, rank_batch=10, global_batch=10 * ranks, epoch=epoch)
                      for ranks, epoch in ((1, one), (4, four))]  # fmt: skip
            return [f for f in findings(Study(), evaluate(make_series(logged))) if f.code == "rounding"]

        for coarse in ((Estimate(14, 13.5, 14.5), Estimate(5, 4.5, 5.5)), (Estimate(14, 13.5, 14.5), exactly(5)),
                       (exactly(14), Estimate(5, 4.5, 5.5))):  # fmt: skip
            self.assertEqual(said(*coarse), [])
        (rounding,) = said(Estimate(13.6, 13.5875, 13.6125), Estimate(5.376, 5.3725, 5.3795))
        self.assertAlmostEqual(rounding.figures["rounded"].value, 0.7)
        self.assertAlmostEqual(rounding.figures["rounded"].low, 13.5 / 5.5 / 4)


class Serial(unittest.TestCase):
    def serial(self, *wide, base=(10, 10)):
        return by_code(repeats(1, base) + [run for ranks, seconds in wide for run in repeats(ranks, seconds)],
                       "serial").figures

    def test_the_limit_is_told_only_where_it_is_determined_and_holds(self):
        # s = T / 5 - 1.
        told = self.serial((2, [6, 6, 6.5]))
        self.assertAlmostEqual(told["serial_fraction"].value, 0.2)
        self.assertAlmostEqual(told["limit"].value, 5)
        self.assertAlmostEqual(told["limit"].low, 1 / 0.3)
        for seconds in ([4.9, 6, 6.5], [5.5, 6, 10.5]):
            open_limit = self.serial((2, seconds))
            self.assertTrue(open_limit["serial_fraction"].determined)
            self.assertFalse(open_limit["limit"].determined)
        self.assertFalse(self.serial((2, [4.9, 6, 10.5]))["serial_fraction"].determined)

    def test_a_fraction_that_contradicts_its_runs_is_not_determined(self):
        # The fractions are 0.57, 0.48 and 1.2: limits of 1.76 above 1.67, and of 2.08 below 2.22, which were measured.
        for times, why in (([(1, 10), (2, 9), (4, 6)], ""),
                           ([(1, 10), (2, 9.8), (4, 4.5)], "limit for the speedup would be 2.08"),
                           ([(1, 10), (2, 11)], "epochs are not shorter on more ranks")):
            fit = serial_fraction(figures_of(runs_of(times))[0].series)
            self.assertEqual(fit.determined, not why)
            self.assertIn(why, fit.why)

    def test_no_table_has_a_fraction_or_limit_that_the_sentence_disowns(self):
        cells = ("amdahl", "amdahl_range", "amdahl_speedup", "amdahl_limit")

        def shown(runs):
            table = table_of(runs, "serial_fraction")
            return [table.json()["rows"][0][table.column(key)] is not None for key in cells]

        self.assertEqual(shown(repeats(1, [10]) + repeats(2, [6, 6, 6.5])), [True] * 4)
        self.assertEqual(shown(repeats(1, [10]) + repeats(2, [4.9, 6, 6.5])), [True] * 3 + [False])
        self.assertEqual(shown(repeats(1, [10]) + repeats(2, [4.9, 6, 10.5])), [False] * 4)
        # Longer on two ranks: 250 % of it would be serial.
        self.assertEqual(shown(runs_of([(1, 10), (2, 17.5)])), [False] * 4)
        # No step from 4 to 8 fits a speedup of 4 on 8 after 1.2 on 4.
        self.assertEqual(shown(runs_of([(1, 10), (2, 9.5), (4, 8.8), (8, 2.5)])), [False] * 4)
        self.assertEqual(shown(runs_of([(1, 10), (2, 4.9)])), [False] * 4)

    def test_shares_above_the_whole_are_not_determined(self):
        def shown(step, epoch):
            runs = [named(made_run(epochs=(99, 10), step=1), "one"),
                    named(made_run(ranks=2, epochs=(99, epoch), step=step), "two")]
            table = table_of(runs, "serial_fraction")
            return [table.json()["rows"][0][table.column(key)] for key in ("karp_flatt", "gustafson")]

        within, both = shown(1.9, 9.9), shown(2.1, 10.1)
        self.assertAlmostEqual(within[0], 0.98)
        self.assertAlmostEqual(within[1], 2 - 2 / 1.9)
        self.assertEqual(both, [None, None])
        self.assertEqual(shown(0.9, 4.9), [None, None])

    def test_fractions_of_one_point_have_the_range_of_its_repeats(self):
        from reader.study.serial import gustafson, karp_flatt

        runs = (repeats(1, [10, 10])
                + [named(made_run(ranks=2, epochs=(9, 6 + n), step=0.12 + n / 50), f"w{n}") for n in (0, 1)])
        for fraction in (karp_flatt, gustafson):
            found = fraction(figures_of(runs)[0].points[1])
            self.assertLess(found.low - 1e-9, found.value)
            self.assertLess(found.value, found.high)

    def test_doubtful_runs_have_no_fraction_in_the_table_either(self):
        runs = runs_of([(1, 10), (2, 6)])
        self.assertAlmostEqual(table_of(runs, "serial_fraction").rows[0][4].value, 0.2)
        disturb(runs[1])
        table = table_of(runs, "serial_fraction")
        self.assertEqual(table.rows[0][table.column("amdahl_range")], None)
        self.assertEqual([key for _, key, _ in table.undetermined()],
                         ["amdahl", "amdahl_speedup", "amdahl_limit", "karp_flatt",
                                                                      "gustafson"])  # fmt: skip

    def test_bounds_are_rounded_outwards(self):
        # s = T / 5 - 1. The best repeat has a speedup of 1.016 and a limit of 1.032.
        self.assertIn("is not determined, but at most 1.04", text_of(repeats(1, [10]) + repeats(2, [9.845, 9.9, 10.2])))
        # The worst has a limit of 3.3557.
        self.assertIn("is not determined, but at least 3.35", text_of(repeats(1, [10]) + repeats(2, [4.9, 6, 6.49])))

    def test_the_limit_counts_from_the_fewest_ranks(self):
        # s = 0.2 from two ranks on, which count as two: 2 / 0.2.
        self.assertAlmostEqual(by_code(runs_of([(2, 10), (4, 6)]), "serial").figures["limit"].value, 10)

    def test_the_trend_is_judged_by_all_points(self):
        def trend(*fractions):
            times = [(ranks, 10 * (s + (1 - s) / ranks)) for ranks, s in zip((2, 4, 8), fractions)]
            return by_code(runs_of([(1, 10), *times]), "serial").figures["trend"]

        self.assertEqual(trend(0.1, 0.15, 0.2), "grows")
        self.assertEqual(trend(0.1, 0.3, 0.2), "both")
        self.assertEqual(trend(0.1, 0.104, 0.1), "none")
        self.assertEqual(trend(0.2, 0.15, 0.1), "none")

    def test_a_growing_fraction_counts_only_where_runs_tell_it(self):
        # Fractions 0.1 and 0.2; that of the repeat is T / 5 - 1.
        def trend(again):
            return self.serial((2, [5.5, 5.5, again]), (4, [4, 4]))["trend"]

        self.assertEqual(trend(5.9), "grows")
        self.assertEqual(trend(6.1), "open")
        # Of single runs 5 % are left open: fractions 0.1 (to 0.155) and 0.17 (from 0.146) or 0.2 (from 0.173).
        single = [by_code(runs_of([(1, 10), (2, 5.5), (4, t)]), "serial").figures["trend"] for t in (3.78, 4)]
        self.assertEqual(single, ["open", "grows"])


class Choice(unittest.TestCase):
    def test_ranks_are_recommended_by_purpose(self):
        # Efficiencies 1, 0.9, 0.7, 0.3.
        series = figures_of(runs_of([(1, 72), (2, 40), (4, 72 / 2.8), (8, 30)]))[0]
        for purpose, efficiency, ranks in (("time", 0.8, 4), ("cost", 0.8, 1), ("knee", 0.8, 4), ("efficiency", 0.8, 2),
                                           ("efficiency", 0.95, 1)):  # fmt: skip
            self.assertEqual(sweet_spot(series, purpose, efficiency).ranks(), ranks)  # knee: 2.8 x 0.7 > 1.8 x 0.9

    def test_ranks_that_repeats_do_not_tell_apart_are_recommended_together(self):
        def spots(again, purpose):
            runs = repeats(1, [20, 20]) + repeats(2, [11, 11, again]) + repeats(4, [10, 10])
            return by_code(runs, "choice", purposes=(purpose,)).figures[purpose]

        self.assertEqual(spots(10.5, "time"), [4])
        self.assertEqual(spots(9.5, "time"), [2, 4])
        self.assertEqual(spots(10, "time"), [4])  # as fast at best, and slower else
        # 20 / 2T is 0.8 at 12.5 s.
        self.assertEqual(spots(12.4, "efficiency"), [2])
        self.assertEqual(spots(12.6, "efficiency"), [1, 2])

    def test_single_runs_within_five_per_cent_are_recommended_together(self):
        def spots(two):
            return by_code(runs_of([(1, 20), (2, two), (4, 10)]), "choice").figures["time"]

        self.assertEqual(spots(10.4), [2, 4])
        self.assertEqual(spots(10.6), [4])

    def test_without_a_base_nothing_is_said_of_efficiency(self):
        runs = runs_of([(1, 20), (2, 11), (4, 6)])
        disturb(runs[0])
        choice = by_code(runs, "choice").figures
        self.assertEqual((choice["time"], choice["left_out"]), ([4], [1]))
        self.assertNotIn("efficiency", choice)

    def test_one_number_of_ranks_is_no_choice(self):
        self.assertIsNone(by_code(runs_of([(2, 6)]), "choice"))


class Study_(unittest.TestCase):
    def test_findings_end_with_the_doubts_about_a_study(self):
        runs = book_like()
        runs[0].epochs = runs[0].epochs[:1]
        runs[1].ranks[0].threads = runs[1].ranks[0].cores = 2
        study = Study(runs=runs, failed=[Attempt(Path("x/attempt.json"), "net", 4, 512, 0, 2, "too large")],
                      unreadable=[Unreadable(Path("y/run.json"), "y/run.json: no JSON from byte 7 on")])  # fmt: skip
        codes = [one.code for one in findings(study, figures_of(runs))]
        self.assertEqual(codes[-5:], ["held-back", "single-runs", "threads-differ", "failed-runs", "unreadable"])

    def test_nothing_computed_is_said(self):
        runs = runs_of([(1, 4), (2, 2)])
        self.assertIsNone(by_code(runs, "timed"))
        for run in runs:
            for rank in run.ranks:
                rank.backend = "timed"
        self.assertIsNotNone(by_code(runs, "timed"))

    def test_a_whole_study_has_no_doubts(self):
        self.assertEqual(doubts(Study(), figures_of(repeats(1, [4, 4]) + repeats(2, [2, 2]))), [])


class Texts(unittest.TestCase):
    """The words of a finding of each kind."""

    def test_a_study_is_told_in_these_words(self):
        text = text_of(book_like())
        for sentence in (
            "4 ranks take 5.380 s for an epoch where 1 rank takes 13.600 s: speedup 2.53, efficiency 63.2 %, "
            "with the batch of each rank fixed (weak scaling), from single runs.",
            "4 ranks lose 1.980 s an epoch. The cause is the exposed all-reduce 1.980 s (100.0 %).",
            "would show 14 s and 5 s, hence 70.0 % (anything from 61.4 % to 80.6 %) instead of 63.2 %: the log "
            "would leave open whether it is below 80.0 %.",
            "Of the numbers of ranks that were run, take 4 ranks for the shortest epoch",
            "Some points are single runs",
        ):  # fmt: skip
            self.assertIn(sentence, text)

    def test_what_is_not_determined_is_told_in_these_words(self):
        for runs, sentence in (
            (repeats(1, [10, 10]) + repeats(2, [6, 6, 6.5]),
             "Amdahl's fit has a serial fraction of 20.0 % (20.0 % to 30.0 %), a limit of 5.00 (3.33 to 5.00)"),
            (repeats(1, [10, 10]) + repeats(2, [4.9, 6, 10.5]),
             "Amdahl's serial fraction is not determined: repeats leave"),
            (runs_of([(1, 10.4), (2, 5.0)]), "Amdahl's fit finds nothing serial"),
            (runs_of([(1, 10), (2, 11)]), "Amdahl's law does not fit"),
            (runs_of([(1, 10), (2, 4.9), (4, 3)]), "it goes from below 0 % to"),
            ([of_parts(1, 10, 0), of_parts(1, 11.3, 0), of_parts(1, 11.3, 0), of_parts(2, 5.65, 0.6),
              of_parts(2, 5.65, 0.6)],
             "lose 0.600 s an epoch. Repeats of one configuration differ by 0.650 s: no cause is determined."),
            ([of_parts(1, 10, 0), of_parts(2, 6, 0.5), of_parts(2, 5, 1.5)],
             "is not more than single runs leave open"),
            (runs_of([(1, 20), (2, 10.4), (4, 10)]),
             "take 2 or 4 ranks for the shortest epoch (single runs do not tell which)"),
        ):  # fmt: skip
            self.assertIn(sentence, text_of(runs))

    def test_the_reason_for_holding_back_and_the_remedy_are_told(self):
        text = text_of([*runs_of([(1, 10)]), disturb(runs_of([(2, 6)])[0])])
        self.assertIn("No cause, ranking, trend or advice follows from these runs: p2-0: a rank got less than 85 "
                      "% of the time of its cores", text)  # fmt: skip
        self.assertIn("(repeat it on cores of its own)", text)


if __name__ == "__main__":
    unittest.main()
