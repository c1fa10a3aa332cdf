"""What a report says of --balance: by the trainer's own rule, and only from runs that may conclude."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made import made_run  # noqa: E402
from reader.base.statistics import spread_of  # noqa: E402
from reader.runs.epochs import RankFigures  # noqa: E402
from said import by_code, named, runs_of  # noqa: E402


def balanced(costs, images, fixed=0.01, name="two", **more):
    """A run whose ranks take `costs` seconds for an image, and `fixed` for the update, in two steady epochs of 10
    steps."""
    run = named(made_run(ranks=len(images), rank_batch=sum(images) // len(images), epochs=(99, 6, 6), **more), name)
    run.rank_batches = list(images)
    for epoch in run.epochs[1:]:
        epoch.steps, epoch.rank_batches = 10, list(images)
        epoch.of_ranks = [_rank(n, cost, own, fixed) for n, (cost, own) in enumerate(zip(costs, images))]
    for rank in run.ranks:
        rank.host = f"node-{rank.rank}"
    return run


def _rank(number, cost, images, fixed):
    figures = RankFigures(rank=number, samples=10 * images, full_compute=spread_of([cost * images + fixed] * 10))
    figures.phases.update(backward=10 * cost * images, optimizer=10 * fixed,
                          all_reduce=3)  # waiting says nothing of speed
    return figures


def advice(run):
    return by_code([*runs_of([(1, 10)]), run], "balance")


class Balance(unittest.TestCase):
    def test_from_five_per_cent_on_the_slow_rank_is_named_and_what_helps(self):
        slow = advice(balanced([0.001, 0.002], [500, 500])).figures
        self.assertEqual((slow["slowest"], slow["host"]), (1, "node-1"))
        self.assertEqual(slow["balanced_images"], [667, 333])
        self.assertAlmostEqual(slow["seconds"], 1.010)
        self.assertAlmostEqual(slow["balanced_seconds"].value, 0.677)
        self.assertIsNotNone(advice(balanced([0.001, 0.00112], [500, 500])))  # gains 5.2 %
        self.assertIsNone(advice(balanced([0.001, 0.0011], [500, 500])))  # 4.7 %

    def test_balance_by_speed_is_not_advised_to_those_that_have_it(self):
        run = balanced([0.001, 0.002], [500, 500])
        run.options["balance"] = "speed"
        self.assertIsNone(advice(run))

    def test_parts_that_were_given_are_not_blamed_on_ranks(self):
        given = balanced([0.002, 0.002], [18, 6], fixed=0)
        given.options["balance"] = "3,1"
        found = advice(given)
        self.assertTrue(found.figures["given"])
        self.assertFalse(found.figures["ranks_differ"])
        self.assertEqual((found.figures["slowest"], found.figures["balanced_images"]), (0, [12, 12]))
        self.assertNotIn("not equally fast", found.text)
        self.assertIn("With the parts of --balance 3,1, 18, 6 images, the slowest of 2, rank 0 on node-0", found.text)

    def test_where_parts_and_ranks_are_unequal_both_are_said(self):
        given = balanced([0.002, 0.004], [18, 6], fixed=0)
        given.options["balance"] = "3,1"
        self.assertTrue(advice(given).figures["ranks_differ"])
        self.assertIn("The ranks are not equally fast, either.", advice(given).text)

    def test_an_end_that_is_not_known_is_called_the_best(self):
        self.assertIn("677.0 ms at best (33.0 % less; ", advice(balanced([0.001, 0.002], [500, 500])).text)

    def test_doubtful_runs_get_no_advice(self):
        for more in ({"full_steps": 2}, {"threads": 3, "cores": 1}):
            self.assertIsNone(advice(balanced([0.001, 0.002], [500, 500], **more)), more)
        run = balanced([0.001, 0.002], [500, 500])
        for share, advised in ((0.86, True), (0.84, False)):
            run.epochs[-1].of_ranks[0].core_share = share
            self.assertEqual(advice(run) is not None, advised)

    def test_ranks_that_share_cores_get_no_advice(self):
        run = balanced([0.001, 0.002], [500, 500])
        self.assertIsNotNone(advice(run))
        for rank in run.ranks:
            rank.cores = 0.5
        self.assertIsNone(advice(run))

    def test_all_repeats_have_to_agree(self):
        runs = [*runs_of([(1, 10)]), balanced([0.001, 0.002], [500, 500]),
                balanced([0.001, 0.001], [500, 500], name="other")]
        self.assertIsNone(by_code(runs, "balance"))
        self.assertIsNotNone(by_code(runs[:2] + [balanced([0.001, 0.002], [500, 500], name="other")], "balance"))


if __name__ == "__main__":
    unittest.main()
