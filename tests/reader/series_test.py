"""Observations, series and figures of made runs, worked out by hand."""

import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made import made_run  # noqa: E402
from reader.base.definitions import PHASES, options_by_timing  # noqa: E402
from reader.base.estimate import Estimate, exactly, per  # noqa: E402
from reader.base.statistics import spread_of  # noqa: E402
from reader.runs.epochs import EfficiencySeconds, RankFigures  # noqa: E402
from reader.runs.run import TimedCompute  # noqa: E402
from reader.study.figures import epoch_parts, evaluate  # noqa: E402
from reader.study.observation import Observation, Processor, merged, observe, observe_all  # noqa: E402
from reader.study.series import (Scaling, amdahl_fraction, amdahl_limit, epoch_speedup,
                                 gustafson_fraction,  # noqa: E402
                                 karp_flatt, make_series, most_speedup)


def runs_of(*times):
    """P ranks with steady epochs of T seconds."""
    return [made_run(ranks=ranks, epochs=(99, seconds)) for ranks, seconds in times]


def series_of(runs):
    return make_series(observe_all(runs))


def figures_of(runs):
    return evaluate(series_of(runs))


def labels(runs):
    return [series.label for series in series_of(runs)]


def ranks_in(series):
    return [point.ranks for point in series.points]


def two_ways():
    """Weak at 10 per rank on 1, 2, 4 ranks; strong at 40 in all on 1, 2 and (the same run) 4."""
    return [made_run(ranks=1, rank_batch=10, epochs=(9, 8.0), step=0.8),
            made_run(ranks=2, rank_batch=10, epochs=(9, 5.0), step=1.0),
            made_run(ranks=4, rank_batch=10, epochs=(9, 4.0), step=1.0),
            made_run(ranks=1, rank_batch=40, epochs=(9, 6.0), step=2.4),
            made_run(ranks=2, rank_batch=20, epochs=(9, 4.5), step=1.8)]  # fmt: skip


class Cases(unittest.TestCase):
    def check_estimate(self, seen, value, low, high):
        for found, wanted in zip((seen.value, seen.low, seen.high), (value, low, high)):
            self.assertAlmostEqual(found, wanted)


class Sorting(Cases):
    def test_weak_and_strong(self):
        weak, strong = figures_of(two_ways())
        self.assertEqual((weak.series.scaling, weak.series.batch, weak.series.label),
                         (Scaling.weak, 10, "net, 10 per rank"))
        self.assertEqual((strong.series.scaling, strong.series.batch, strong.series.label),
                         (Scaling.strong, 40, "net, 40 global"))
        self.assertEqual((ranks_in(weak.series), ranks_in(strong.series)), ([1, 2, 4], [1, 2, 4]))
        self.assertEqual(strong.points[2].point.rank_batch, 10)  # a run may serve both
        self.assertEqual(weak.points[0].epoch_view.efficiency.value, 1)
        self.assertAlmostEqual(weak.points[2].epoch_view.speedup.value, 8 / 4)
        self.assertAlmostEqual(weak.points[2].epoch_view.efficiency.value, 0.5)
        self.assertAlmostEqual(weak.points[2].step_view.speedup.value, 3.2)  # 40 images in 1.0 s against 10 in 0.8 s
        self.assertAlmostEqual(strong.points[1].epoch_view.speedup.value, 6 / 4.5)
        self.assertAlmostEqual(strong.points[1].step_view.speedup.value, 2.4 / 1.8)
        self.assertAlmostEqual(weak.points[2].images_per_second.value, 25)

    def test_without_one_rank_the_fewest_are_the_base_and_count_as_they_are(self):
        series, = series_of(runs_of((2, 6.0), (8, 2.0)))
        self.assertEqual(epoch_speedup(series, series.points[0]).speedup.value, 2)
        self.assertAlmostEqual(epoch_speedup(series, series.points[1]).speedup.value, 6)
        self.assertAlmostEqual(epoch_speedup(series, series.points[1]).efficiency.value, 0.75)

    def test_a_run_without_a_partner_is_a_series_of_one_point(self):
        def uneven(*batches):
            run = made_run(ranks=len(batches))
            run.global_batch, run.rank_batches = sum(batches), list(batches)
            return run

        # Uneven batches of several P have nothing in common.
        for runs in ([made_run(ranks=4), made_run(rank_batch=7)], [uneven(4, 3, 3), uneven(3, 3, 2, 2, 2)]):
            found = series_of(runs)
            self.assertEqual([(series.scaling, len(series.points)) for series in found], [(Scaling.single, 1)] * 2)
            self.assertTrue(math.isnan(epoch_speedup(found[0], found[0].points[0]).speedup.value))
        strong, = series_of([made_run(rank_batch=12), uneven(3, 3, 2, 2, 2)])
        self.assertEqual((strong.scaling, strong.points[1].rank_batch), (Scaling.strong, 0))

    def test_other_numbers_of_images_are_another_series_with_another_name(self):
        runs = [made_run(ranks=ranks, images=images) for images in (100, 200) for ranks in (1, 2)]
        self.assertEqual(labels(runs), ["net, 10 per rank, 100 images", "net, 10 per rank, 200 images"])
        self.assertEqual([series.id for series in series_of(runs)], ["s1", "s2"])

    def test_hosts_are_points_of_their_own(self):
        runs = [made_run(ranks=ranks) for ranks in (1, 2, 2)]
        runs[2].ranks[1].host = "node2"
        series, = series_of(runs)
        self.assertEqual([(point.ranks, point.hosts, point.repeats) for point in series.points],
                         [(1, 1, 1), (2, 1, 1), (2, 2, 1)])


class Variants(Cases):
    def test_runs_that_differ_in_time_are_never_in_one_series(self):
        for number, run in enumerate(runs := runs_of((1, 1), (2, 1), (1, 1), (2, 1))):
            run.options = {"run-dir": str(number)}
        self.assertEqual(len(series_of(runs)), 1)
        for name in options_by_timing("variant"):
            if name == "balance" or name.startswith("compute"):
                continue
            for number, run in enumerate(runs):
                run.options = {name: "a" if number < 2 else "b"}
            self.assertEqual(labels(runs), [f"net, 10 per rank, {name} a", f"net, 10 per rank, {name} b"])
        for number, run in enumerate(runs):
            run.options = {"overlap": "off" if number < 2 else None, "verify-messages": number % 2 == 0}
        self.assertEqual(len(series_of([runs[0], runs[1]])), 2)
        for run in runs:
            run.options["verify-messages"] = False
        self.assertEqual(labels(runs), ["net, 10 per rank, overlap off", "net, 10 per rank"])

    def test_an_option_with_a_comma_is_not_cut(self):
        for run, file in zip(runs := runs_of((1, 1), (2, 1)), ("a,1", "a,2")):
            run.options = {"tuning-file": file}
        self.assertEqual([series.variant for series in series_of(runs)], ["tuning-file a,1", "tuning-file a,2"])

    def test_a_series_is_named_after_how_its_ranks_summed(self):
        runs = runs_of((1, 1), (2, 1), (1, 1), (2, 1), (4, 1))
        for run, sums in zip(runs, ("auto (no sum)", "auto (ring)", "auto (no sum)", "auto (ring)", "auto (shared)")):
            run.all_reduce = sums
        for number, run in enumerate(runs):
            run.options = {"all-reduce": "auto", "overlap": "on" if number < 2 else "off"}
        self.assertEqual(labels(runs), ["net, 10 per rank, overlap on, auto (ring)",
                                        "net, 10 per rank, overlap off, auto (ring) and auto (shared)"])
        for number, run in enumerate(runs):
            run.options["all-reduce"] = "ring" if number < 2 else "auto"
        self.assertEqual(labels(runs)[1], "net, 10 per rank, auto (ring) and auto (shared), overlap off")

    def test_machines_are_told_apart_by_what_computes(self):
        runs = runs_of((1, 1), (2, 1), (1, 1), (2, 1))
        for number, run in enumerate(runs):
            run.versions = {"rueda": f"1.{number}", "MPI": "Open MPI v4.1.4, package A", "CUDA": f"1{number}"}
        self.assertEqual(labels(runs), ["net, 10 per rank"])
        for run in runs[2:]:
            run.versions["MPI"] = "Open MPI v5.0.1, package A"
        self.assertEqual(labels(runs)[1], "net, 10 per rank, MPI Open MPI v5.0.1")
        for run in runs[2:]:
            run.versions["MPI"] = "Open MPI v4.1.4, package B"
            run.ranks[0].device = "CPU B"
        self.assertIn("MPI Open MPI v4.1.4, package B", labels(runs)[-1])


def unequal(ranks, balance=None, factors=(), seconds=1.0):
    run = made_run(ranks=ranks, epochs=(99, seconds))
    run.options = {"balance": balance or "equal"}
    for rank in run.ranks:
        rank.backend = "timed"
    run.timed = TimedCompute(0.01, 10, 0.0, list(factors))
    return run


TIMED = ", timed (nothing computed)"


class UnequalRanks(Cases):
    def test_parts_by_speed_and_one_rank_without_the_option_are_one_series(self):
        runs = [unequal(1), unequal(2, "speed"), unequal(4, "speed")]
        series, = series_of(runs)
        self.assertEqual(series.label, "net, 10 per rank, balance speed" + TIMED)
        self.assertEqual(ranks_in(series), [1, 2, 4])

    def test_parts_by_hand_are_other_numbers_on_each_p(self):
        series, = series_of([unequal(1), unequal(2, "3,1"), unequal(4, "3,1,1,1")])
        self.assertEqual(series.label, "net, 10 per rank, balance by hand" + TIMED)
        series, = series_of([unequal(1), unequal(2, "3,1")])
        self.assertEqual(series.label, "net, 10 per rank, balance 3,1" + TIMED)

    def test_one_configuration_with_several_parts_is_several_series_with_whole_names(self):
        runs = [unequal(1, seconds=4.0), unequal(2, "3,1", seconds=3.0), unequal(2, "5,2", seconds=2.0),
                unequal(2, seconds=2.5)]
        found = {series.label.split(" per rank")[1].split(", timed")[0]: series for series in series_of(runs)}
        self.assertEqual(sorted(found), ["", ", balance 3,1", ", balance 5,2"])
        for series in found.values():
            self.assertEqual(ranks_in(series), [1, 2])
        self.assertAlmostEqual(epoch_speedup(found[", balance 5,2"], found[", balance 5,2"].points[1]).speedup.value, 2)

    def test_ranks_that_take_longer_are_one_series_over_p(self):
        factors = {2: (1, 1.5), 4: (1, 1.5, 1, 1.5)}
        slow = [unequal(ranks, factors=of_ranks) for ranks, of_ranks in factors.items()]
        self.assertEqual([ranks_in(series) for series in series_of([unequal(1), *slow])], [[1, 2, 4]])
        both = series_of([unequal(1), *slow, unequal(2), unequal(4)])
        self.assertEqual([ranks_in(series) for series in both], [[1, 2, 4]] * 2)
        self.assertIn("compute factors", both[0].label)
        self.assertNotIn("compute factors", both[1].label)

    def test_a_slow_rank_alone_is_no_repeat_of_a_fast_one(self):
        found = series_of([unequal(1), unequal(1, factors=(2,)), unequal(2)])
        self.assertEqual(sorted(map(ranks_in, found)), [[1], [1, 2]])

    def test_a_run_on_one_rank_serves_all_kinds_and_is_listed_once_where_it_serves_none(self):
        alone = made_run(ranks=1, rank_batch=7)
        alone.options, alone.timed = {"balance": "equal"}, None
        runs = [unequal(1), unequal(2), unequal(2, "speed"), alone]
        for rank in alone.ranks:
            rank.backend = "timed"
        self.assertEqual([(series.scaling.name, ranks_in(series)) for series in series_of(runs)],
                         [("weak", [1, 2]), ("weak", [1, 2]), ("single", [1])])

    def test_the_batch_of_unequal_parts_is_that_of_a_mean_rank(self):
        run = unequal(2, "3,1")
        run.rank_batches = [15, 5]
        self.assertEqual(observe(run).rank_batch, 10)
        run.global_batch = 21
        self.assertEqual(observe(run).rank_batch, 0)

    def test_a_time_of_its_own_for_each_batch_is_no_variant(self):
        runs = [unequal(1), unequal(2)]
        runs[1].timed.seconds = 0.005
        self.assertEqual(len(series_of(runs)), 1)
        again = unequal(2)
        again.timed.seconds = 0.007
        self.assertEqual([series.variant for series in series_of([*runs, again])][1:], ["compute ms=5", "compute ms=7"])

    def test_the_small_batch_on_one_rank_is_found_for_unequal_ranks(self):
        runs = [made_run(ranks=1, rank_batch=20, epochs=(9, 10.0)), made_run(ranks=1, rank_batch=10, epochs=(9, 12.0)),
                made_run(ranks=2, rank_batch=10, epochs=(9, 7.0))]
        runs[2].options = {"balance": "speed"}
        strong = next(series for series in figures_of(runs) if series.series.scaling is Scaling.strong)
        self.assertAlmostEqual(strong.points[1].communication.inferred_same_batch, 1.0)


class Repeats(Cases):
    def test_a_median_and_a_range_which_speedups_inherit(self):
        series, = series_of(runs_of((1, 8.0), (1, 8.4), (1, 7.9), (2, 4.2), (2, 4.0), (2, 5.0)))
        two = series.points[1]
        self.assertEqual((two.repeats, len(two.runs)), (3, 3))
        self.check_estimate(two.epoch, 4.2, 4.0, 5.0)
        self.check_estimate(epoch_speedup(series, two).speedup, 8.0 / 4.2, 7.9 / 5.0, 8.4 / 4.0)

    def test_of_two_the_faster_stands_for_both(self):
        slow, fast = (observe(made_run(epochs=(9, seconds), step=seconds / 10)) for seconds in (3.0, 2.0))
        both = merged([slow, fast])
        self.assertEqual((both.epoch.value, both.full_step.value, both.runs[0]), (2.0, 0.2, fast.runs[0]))
        self.check_estimate(both.full_step, 0.2, 0.2, 0.3)

    def test_rounding_is_kept_where_there_is_one_run(self):
        seen = [Observation(rank_batch=8, global_batch=8, epoch=Estimate(14, 13.5, 14.5)),
                Observation(ranks=2, rank_batch=8, global_batch=16, epoch=Estimate(8, 7.5, 8.5))]
        series, = make_series(seen)
        self.assertEqual(series.points[0].epoch.low, 13.5)
        self.assertAlmostEqual(epoch_speedup(series, series.points[1]).speedup.high, 14.5 / 7.5)
        self.check_estimate(Estimate(14, 13.5, 14.5) / Estimate(5, 4.5, 5.5) * 0.25, 0.7, 13.5 / 5.5 / 4,
                            14.5 / 4.5 / 4)
        self.check_estimate(per(100, Estimate(5, 4, 10)), 20, 10, 25)


class Marks(Cases):
    def test_more_threads_than_cores_except_where_nothing_was_computed(self):
        run = made_run(ranks=2, threads=1, cores=0.5)
        self.assertTrue(observe(run).oversubscribed)
        for rank in run.ranks:
            rank.backend = "timed"
        self.assertFalse(observe(run).oversubscribed)
        self.assertIs(observe(run).processor, Processor.timed)
        self.assertFalse(observe(made_run(threads=1, cores=1)).oversubscribed)

    def test_a_rank_that_got_too_little_of_its_cores_whichever_repeat_it_is(self):
        def share(first, steady):
            run = made_run(ranks=1, epochs=(9, 8.0))
            for epoch, own in zip(run.epochs, (first, steady)):
                epoch.of_ranks.append(RankFigures(core_share=own))
            return run

        fine, disturbed, old = share(0.5, 0.86), share(1, 0.84), share(math.nan, math.nan)
        self.assertFalse(observe(fine).disturbed)  # warming up is no epoch that counts
        self.assertTrue(observe(disturbed).disturbed)
        self.assertFalse(observe(old).disturbed)
        self.assertTrue(merged([observe(fine), observe(disturbed)]).disturbed)

    def test_ranks_that_take_cores_from_each_other_are_not_disturbed_by_others(self):
        for cores, alone in ((1.0, True), (2 / 3, False), (0.5, False)):
            run = made_run(ranks=3, threads=1, cores=cores)
            for epoch in run.epochs:
                epoch.of_ranks.append(RankFigures(core_share=0.6))
            self.assertEqual((observe(run).disturbed, observe(run).oversubscribed), (alone, not alone))

    def test_an_observation_is_of_the_epochs_after_the_first(self):
        for epochs, steady in (((50, 3, 9, 4), 4), ((50,), 50)):
            seen = observe(made_run(epochs=epochs))
            self.assertEqual((seen.epoch.value, seen.first_epoch.value, seen.includes_warm_up),
                             (steady, 50, len(epochs) == 1))

    def test_a_run_without_an_epoch_is_none(self):
        self.assertRaises(ValueError, observe, made_run(epochs=()))
        self.assertEqual(observe_all([made_run(epochs=())]), [])


class Laws(Cases):
    def test_amdahls_fit_finds_the_fraction_that_made_the_times(self):
        fit = amdahl_fraction(series_of(runs_of(*((p, 100 * (0.08 + 0.92 / p)) for p in (1, 2, 4, 8))))[0])
        self.check_estimate(fit, 0.08, 0.08, 0.08)
        # Of two points it is Karp and Flatt's: S = 2.8, (1/2.8 - 1/4) / (3/4).
        self.assertAlmostEqual(amdahl_fraction(series_of(runs_of((1, 14), (4, 5)))[0]).value, 1 / 7)
        self.assertAlmostEqual(karp_flatt(2.8, 4), 1 / 7)
        self.assertAlmostEqual(gustafson_fraction(3.25, 4), 0.25)
        self.assertTrue(math.isnan(gustafson_fraction(1, 1)) and math.isnan(karp_flatt(1, 1)))

    def test_p_counts_from_the_fewest_ranks(self):
        series, = series_of(runs_of(*((p, 100 * (0.08 + 0.92 * 2 / p)) for p in (2, 4, 6))))
        self.assertAlmostEqual(amdahl_fraction(series).value, 0.08)
        self.assertAlmostEqual(amdahl_limit(series, amdahl_fraction(series)).value, 2 / 0.08)

    def test_its_range_is_that_of_the_extremes(self):
        series, = series_of(runs_of((1, 10), (1, 11), (2, 6), (2, 7)))
        fit = amdahl_fraction(series)
        self.check_estimate(fit, (0.6 - 0.5) / 0.5, (6 / 11 - 0.5) / 0.5, (0.7 - 0.5) / 0.5)
        self.assertAlmostEqual(amdahl_limit(series, fit).value, 5)
        self.assertAlmostEqual(most_speedup(series), 10 / 6)

    def test_oversubscribed_points_are_left_out(self):
        runs = runs_of((1, 10), (2, 5), (4, 9))
        runs[2].ranks[0].cores = 0.5
        self.assertAlmostEqual(amdahl_fraction(series_of(runs)[0]).value, 0)
        runs[1].ranks[0].cores = 0.5
        self.assertIsNone(amdahl_fraction(series_of(runs)[0]))
        self.assertEqual(most_speedup(series_of(runs)[0]), 1)


def with_communication():
    """One rank and two, the two with communication: 100 images are 10 steps on one rank, 5 on two."""
    return [made_run(ranks=1, epochs=(9, 10.0), phases={"backward": 9.8}),
            made_run(ranks=2, epochs=(9, 6.5), phases={"backward": 5.25, "all_reduce": 1.0}, wait=0.3, transfer=0.1)]


class Parts(Cases):
    def test_communication_and_the_parts_of_the_lost_time(self):
        runs = with_communication()
        runs[1].all_reduce = "shared"
        self.assertTrue(math.isnan(figures_of(runs)[0].points[1].communication.link_busbw))
        runs[1].all_reduce = "ring"
        one, two = figures_of(runs)[0].points
        c = two.communication
        for found, wanted in ((c.inferred, 1.5), (c.inferred_same_batch, 1.5), (c.busy, 2.0), (c.exposed, 1.0),
                              (c.wait, 1.5),
                              (c.transfer, 0.5), (c.link_busbw, 10)):  # 10^9 bytes, 2(P-1)/P = 1, 5 steps in 0.5 s
            self.assertAlmostEqual(found, wanted)
        self.assertIsNone(one.losses)
        losses = two.losses
        for found, wanted in ((losses.lost, 1.5), (losses.phases["backward"], 0.35), (losses.phases["all_reduce"], 1.0),
                              (losses.waiting, 0.75), (losses.rest, 0.15)):
            self.assertAlmostEqual(found, wanted)
        self.assertAlmostEqual(sum(losses.phases.values()) + losses.rest, losses.lost)
        later = figures_of(runs_of((2, 10), (4, 6)))[0].points[1]  # a study may begin with more ranks than one
        self.assertAlmostEqual(later.communication.inferred, 6 - 10 * 2 / 4)

    def test_with_a_fixed_global_batch_the_cost_of_the_small_batch_is_separate(self):
        runs = [made_run(ranks=1, rank_batch=20, epochs=(9, 10.0)), made_run(ranks=1, rank_batch=10, epochs=(9, 12.0)),
                made_run(ranks=2, rank_batch=10, epochs=(9, 7.0))]
        strong = figures_of(runs)[1]
        self.assertIs(strong.series.scaling, Scaling.strong)
        self.assertAlmostEqual(strong.points[1].communication.inferred, 2.0)
        self.assertAlmostEqual(strong.points[1].communication.inferred_same_batch, 1.0)

    def test_an_epochs_slow_steps_and_its_partial_step(self):
        run = made_run(rank_batch=30, epochs=(9, 1.0), step=0.2)
        run.summary.full_step.slowest.mean = 0.25
        parts = epoch_parts(figures_of([run])[0].points[0])
        self.assertEqual(parts.partial_images, 10)  # 100 = 3 x 30 + 10
        self.assertAlmostEqual(parts.slow_steps, 3 * 0.05)
        self.assertAlmostEqual(parts.partial, 1.0 - 3 * 0.25)
        self.assertAlmostEqual(parts.partial_by_images, 0.2 / 3)

    def test_the_slowest_rank_is_named_with_its_host(self):
        run = made_run(ranks=3)
        run.ranks[1].host = "slow"
        run.epochs[-1].of_ranks = [RankFigures(full_compute=spread_of([seconds, seconds, 0.9]))
                                    for seconds in (0.2, 0.5, 0.3)]  # one slow step in three is no slow rank
        found = figures_of([run])[0].points[0].stragglers
        self.assertEqual((found.slowest, found.slowest_host, found.compute.min, found.compute.max),
                         (1, "slow", 0.2, 0.5))
        run.epochs[-1].rank_batches = [10, 30, 10]  # it had more to do
        self.assertEqual(figures_of([run])[0].points[0].stragglers.slowest, 2)

    def test_device_seconds_are_those_of_all_ranks(self):
        points = figures_of(runs_of((1, 10), (2, 6)))[0].points
        self.assertEqual([point.device_seconds for point in points], [10, 12])

    def test_how_far_repeats_differ_counts_for_both_points(self):
        runs = runs_of((1, 10), (1, 11), (2, 6), (2, 8), (2, 7))
        losses = figures_of(runs)[0].points[1].losses
        self.assertAlmostEqual(losses.lost, 7 - 10 / 2)
        self.assertAlmostEqual(losses.lost_spread, 2 + 1 / 2)
        self.assertFalse(losses.determined())


class Factors(Cases):
    def runs(self):
        """Epochs of different times: the median lies in the middle of two. The faster run counts."""
        runs = [made_run(epochs=(99, 10)), made_run(ranks=2, epochs=(99, 8, 6)), made_run(ranks=2, epochs=(99, 9, 7))]
        for run in runs:
            for epoch in run.epochs:
                epoch.efficiency = EfficiencySeconds(5.5, 5.6, 6.2, epoch.seconds)
        runs[0].epochs[1].efficiency.useful_mean = 9.9
        runs[1].epochs[2].efficiency.useful_mean = 5.3  # of 6 s
        return runs

    def test_they_multiply_to_the_efficiency(self):
        points = figures_of(self.runs())[0].points
        useful = (5.5 + 5.3) / 2
        wanted = {"parallel": useful / 7, "load_balance": useful / 5.6, "serialisation": 5.6 / 6.2, "transfer": 6.2 / 7,
                  "computation_scaling": 9.9 / (2 * useful), "global": 9.9 / 2 / 7}
        self.assertEqual(list(points[1].factors), list(wanted))
        for name, value in wanted.items():
            self.assertAlmostEqual(points[1].factors[name], value)
        self.assertAlmostEqual(points[1].factors["global"] / points[0].factors["parallel"],
                               points[1].epoch_view.efficiency.value)

    def test_what_an_older_run_does_not_say_is_unknown(self):
        runs = self.runs()
        for epoch in runs[0].epochs:
            epoch.efficiency = EfficiencySeconds(seconds=epoch.seconds)
        factors = figures_of(runs)[0].points[1].factors
        self.assertAlmostEqual(factors["parallel"], 5.4 / 7)
        self.assertTrue(math.isnan(factors["global"]))

    def test_the_costliest_is_named_where_all_pairs_of_repeats_agree(self):
        def run(ranks, useful_mean, useful_max, ideal):
            made = made_run(ranks=ranks, epochs=(99, 10))
            made.epochs[1].efficiency = EfficiencySeconds(useful_mean, useful_max, ideal, 10.0)
            return made

        base = [run(1, 9.9, 9.9, 9.9), run(1, 9.0, 9.0, 9.0)]
        self.assertEqual(figures_of([base[0], run(2, 5, 9, 9.5)])[0].points[1].costliest, "load_balance")
        self.assertEqual(figures_of([base[0], run(2, 9, 9.1, 9.2)])[0].points[1].costliest, "computation_scaling")
        self.assertEqual(figures_of([*base, run(2, 5, 9, 9.5), run(2, 5.1, 9, 9.6)])[0].points[1].costliest,
                         "load_balance")
        self.assertIsNone(figures_of([*base, run(2, 5, 9, 9.5), run(2, 5, 5.1, 9.5)])[0].points[1].costliest)
        # 4.9 / 5.1 balance; scaling 9.9 / 9.8 above 1 or, from the other base, 0.92.
        near = run(2, 4.9, 5.1, 5.15)
        near.epochs[1].efficiency.seconds = near.epochs[1].seconds = 5.2
        self.assertEqual(figures_of([base[0], near])[0].points[1].costliest, "load_balance")
        self.assertIsNone(figures_of([*base, near])[0].points[1].costliest)


class Estimates(unittest.TestCase):
    def test_words_for_a_cell_a_sentence_and_a_picture(self):
        share = Estimate(0.832, 0.801, 0.85)
        self.assertEqual(share.text("percent"), "83.2 % (80.1 to 85.0 %)")
        self.assertEqual(share.text("percent", ""), "83.2 (80.1 to 85.0)")
        self.assertEqual(exactly(0.5).text("seconds"), "0.500 s")
        self.assertEqual(Estimate(1.0, 1.0, 1.001).text("ratio"), "1.00")  # no range that nobody can see
        self.assertEqual(share.because("repeats leave anything").text("percent"), "not determined")
        self.assertEqual(Estimate().text("percent"), "-")

    def test_a_reason_is_inherited(self):
        doubtful = exactly(2.0).because("one run")
        for made in (doubtful / exactly(4), exactly(4) / doubtful, doubtful * 3, per(4, doubtful)):
            self.assertEqual((made.why, made.determined, made.known), ("one run", False, True))

    def test_nothing_divides_by_zero(self):
        self.assertTrue(math.isinf(per(1, exactly(0.0)).value))
        self.assertTrue(math.isnan((exactly(0.0) / exactly(0.0)).value))


if __name__ == "__main__":
    assert len(PHASES) == 8
    unittest.main()
