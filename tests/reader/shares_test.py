"""Parts by speed: the program is asked (tests/unit/train/balance_test.cpp tests its rule), and runs of known ranks."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made_files import MadeRun  # noqa: E402
from reader.runs.run import read_run  # noqa: E402
from reader.study import shares as module  # noqa: E402
from reader.study.shares import MeasuredCost, RankCost, measured_cost, parts_by_speed, shares_to_change  # noqa: E402


def costs(*pairs):
    return [RankCost(*pair) for pair in pairs]


class Rule(unittest.TestCase):
    def parts(self, costs, images):
        return parts_by_speed([(costs, images)])[0]

    def test_costs_are_medians_of_all_steps_and_of_each_half(self):
        cost = measured_cost(costs((1, 10), (1, 12), (5, 11), (2, 30), (2, 32), (2, 31)))
        self.assertEqual(cost, MeasuredCost(RankCost(2, 21), RankCost(1, 11), RankCost(2, 31)))
        self.assertEqual(measured_cost(costs((1, 10), (1, 20), (1, 30))).first_half.per_image, 10)
        self.assertEqual(measured_cost(costs((1, 10), (1, 12))).all.per_image, 0)  # too few

    def test_parts_change_where_both_halves_of_an_epoch_gain_5_percent(self):
        fast, slow, between = costs((0, 1), (0, 1.4), (0, 1.2))
        steadily_fast, steadily_slow = MeasuredCost(fast, fast, fast), MeasuredCost(slow, slow, slow)
        at_first, later = MeasuredCost(between, slow, fast), MeasuredCost(between, fast, slow)
        equal = [500, 500]
        self.assertEqual(self.parts([steadily_fast, steadily_slow], equal), [583, 417])
        for pair in ([steadily_fast, at_first], [steadily_fast, later], [later, steadily_fast]):
            self.assertEqual(self.parts(pair, equal), equal)
        for factor, images in ((1.1, equal), (1.12, [528, 472])):  # gains of 4.7 and 5.6 %
            cost = RankCost(0, factor)
            self.assertEqual(self.parts([steadily_fast, MeasuredCost(cost, cost, cost)], equal), images)

    def test_many_questions_are_one_call_and_none_is_asked_twice(self):
        fast, slow = costs((0.25, 1), (0.25, 3))
        ranks = [MeasuredCost(fast, fast, fast), MeasuredCost(slow, slow, slow)]
        asked = []

        def ask(questions):
            asked.append(len(questions["balances"]))
            return real(questions)

        real, module.ask = module.ask, ask
        self.addCleanup(setattr, module, "ask", real)
        questions = [(ranks, [20, 20]), (ranks[::-1], [20, 20]), (ranks, [20, 20])]
        for _ in range(2):
            self.assertEqual(parts_by_speed(questions), [[30, 10], [10, 30], [30, 10]])
        self.assertEqual(parts_by_speed([]), [])
        self.assertEqual(asked, [2])


def times_of(per_image, pass_seconds=(0, 0), parts=(12, 12), late=(0, 0), odd=None):
    """Seconds of steps in which each rank has its own seconds for each image, and waits for the last one."""

    def times(epoch, step, rank):
        own = [{"load": late[r],
                "forward": pass_seconds[r] + parts[r] * per_image[r] + (odd(epoch, step, r) if odd else 0),
                "optimizer": 0.001} for r in (0, 1)]  # fmt: skip
        ready = [sum(phases.values()) for phases in own]
        return {**own[rank], "all_reduce": max(ready) - ready[rank] + 0.0005}

    return times


class Runs(unittest.TestCase):
    def shares(self, times, parts=(12, 12), images=240, epochs=3, steps_csv=True, **more):
        with tempfile.TemporaryDirectory() as folder:
            file = MadeRun(parts=parts, images=images, epochs=epochs, times=times, **more).write(folder)
            if not steps_csv:
                (file.parent / "steps.csv").unlink()
            return shares_to_change([read_run(file)])[0]

    def test_one_stalled_step_makes_no_rank_slow(self):
        """Each rank stalls in turn, once in the last epoch for half a second."""
        for rank in (0, 1):
            for stalled in (1, 5, 10):
                def odd(epoch, step, r, rank=rank, stalled=stalled):
                    return 0.5 if (epoch, step, r) == (3, stalled, rank) else 0
                for steps_csv in (True, False):
                    self.assertIsNone(self.shares(times_of((0.003, 0.003), odd=odd), steps_csv=steps_csv))

    def test_a_slow_rank_is_found_with_the_parts_that_suit_it(self):
        for steps_csv in (True, False):
            found = self.shares(times_of((0.002, 0.004)), steps_csv=steps_csv)
            self.assertEqual((found.images, found.by_speed, found.given, found.ranks_differ),
                             ([12, 12], [16, 8], False, True))
            self.assertAlmostEqual(found.now, 0.049)
            self.assertAlmostEqual(found.then.value, 0.033)
            self.assertAlmostEqual(found.gain().value, 1 - 0.033 / 0.049)

    def test_update_and_bookkeeping_do_not_depend_on_images(self):
        def times(epoch, step, rank):
            return {**times_of((0.002, 0.004))(epoch, step, rank), "other": 0.005}

        for steps_csv in (True, False):
            for cost, per_image in zip(self.shares(times, steps_csv=steps_csv).costs, (0.002, 0.004)):
                self.assertAlmostEqual(cost.fixed, 0.006)
                self.assertAlmostEqual(cost.per_image, per_image)

    def test_without_other_parts_the_gain_is_a_bound(self):
        """What of a step does not depend on images cannot be seen: all of it might."""
        found = self.shares(times_of((0.002, 0.004)))
        self.assertFalse(found.then.determined)
        self.assertEqual((found.then.low, found.then.high), (found.then.value, found.now))
        self.assertEqual((found.gain().low, found.gain().high), (0.0, found.gain().value))

    def test_partial_steps_tell_the_fixed_cost_of_a_pass(self):
        """20 ms a pass, and rank 1 twice as slow in all: 19, 5 images are best, not 16, 8."""
        def times(epoch, step, rank):
            images = 12 if step < 11 else 6
            own = [(1 + r) * (0.02 + 0.0025 * images) for r in (0, 1)]
            return {"forward": own[rank], "optimizer": 0.001, "all_reduce": max(own) - own[rank]}

        found = self.shares(times, images=252, epochs=4)
        self.assertEqual(found.by_speed, [19, 5])
        self.assertTrue(found.then.determined)
        self.assertAlmostEqual(found.costs[1].fixed, 0.041)
        self.assertAlmostEqual(found.costs[1].per_image, 0.005)
        self.assertAlmostEqual(found.then.value, 0.001 + 0.02 + 0.0025 * 19)
        self.assertAlmostEqual(found.now, 0.101)

    def test_parts_that_the_user_gave_are_not_the_ranks_speed(self):
        found = self.shares(times_of((0.003, 0.003), parts=(18, 6)), parts=(18, 6), options={"balance": "3,1"})
        self.assertEqual((found.by_speed, found.given, found.ranks_differ), ([12, 12], True, False))
        found = self.shares(times_of((0.002, 0.006), parts=(6, 18)), parts=(6, 18), options={"balance": "1,3"})
        self.assertEqual((found.by_speed, found.given, found.ranks_differ), ([18, 6], True, True))

    def test_a_rank_that_is_always_late_has_fewer_images(self):
        found = self.shares(times_of((0.003, 0.003), late=(0, 0.04)))
        self.assertLess(found.by_speed[1], 12)
        self.assertGreater(found.gain().value, 0.2)

    def test_ranks_that_are_slow_in_turn_keep_their_images(self):
        def odd(epoch, step, rank):
            return 0.03 if (step <= 5) == (rank == 0) else 0
        self.assertIsNone(self.shares(times_of((0.003, 0.003), odd=odd)))

    def test_without_steps_csv_the_last_two_epochs_have_to_agree(self):
        """Rank 0 is slow in the last epoch, and in the one before it is or rank 1 is."""
        for before, agree in ((0, True), (1, False)):
            def odd(epoch, step, rank, before=before):
                return 0.03 if rank == (0 if epoch == 3 else before) else 0
            found = self.shares(times_of((0.003, 0.003), odd=odd), steps_csv=False)
            self.assertEqual(found is not None, agree)

    def test_without_steps_csv_one_stalled_step_in_each_epoch_makes_no_rank_slow(self):
        """A mean would have rank 1 take 0.05 s more for each of ten steps."""
        def odd(epoch, step, rank):
            return 0.5 if (step, rank) == (5, 1) else 0
        for steps_csv in (True, False):
            self.assertIsNone(self.shares(times_of((0.003, 0.003), odd=odd), steps_csv=steps_csv))

    def test_without_steps_csv_the_last_two_epochs_need_the_same_parts(self):
        """A run that was resumed with another --balance between them."""
        made = MadeRun(parts=(12, 12), images=240, epochs=3, times=times_of((0.002, 0.004)))
        document = made.document()
        for parts, known in (([12, 12], True), ([13, 11], False)):
            document["epochs"][1]["batch_per_rank"] = parts
            with tempfile.TemporaryDirectory() as folder:
                file = made.write(folder)
                (file.parent / "steps.csv").unlink()
                file.write_text(json.dumps(document), encoding="utf-8")
                self.assertEqual(shares_to_change([read_run(file)])[0] is not None, known)

    def test_less_than_three_full_steps_tell_nothing(self):
        for images, known in ((48, False), (60, False), (72, True)):
            for steps_csv in (True, False):
                found = self.shares(times_of((0.002, 0.004)), images=images, steps_csv=steps_csv)
                self.assertEqual(found is not None, known, (images, steps_csv))

    def test_by_speed_already_one_rank_or_a_small_gain(self):
        self.assertIsNone(self.shares(times_of((0.002, 0.004)), options={"balance": "speed"}))
        self.assertIsNone(self.shares(times_of((0.003, 0.0031))))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(shares_to_change([read_run(MadeRun().write(folder))]), [None])


if __name__ == "__main__":
    unittest.main()
