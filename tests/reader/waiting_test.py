"""What steps wait for in the all-reduce, where the truth is known: the last rank to arrive waits for messages alone."""

import math
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made_files import MadeRun  # noqa: E402
from reader.runs.places import load_study  # noqa: E402
from reader.runs.run import read_run  # noqa: E402
from reader.study.figures import evaluate  # noqa: E402
from reader.study.observation import observe_all  # noqa: E402
from reader.study.series import make_series  # noqa: E402
from reader.study.waiting import waiting_of  # noqa: E402

TRANSFER = 0.004


def times_of(backward):
    """`backward(epoch, step)`: seconds of each rank; all then wait for the last, and for messages."""

    def times(epoch, step, rank):
        own = backward(epoch, step)
        return {"forward": 0.01, "backward": own[rank], "all_reduce": max(own) - own[rank] + TRANSFER,
                "optimizer": 0.001}

    return times


def hidden(epoch, step, rank):
    """Most of the sum is hidden, and nearly all of that is transfer: the busy time does not tell what is exposed."""
    return 0.5, 0.0, 0.01


class Waits(unittest.TestCase):
    def waits(self, backward, steps_csv=True, parts=(12, 12), **more):
        with tempfile.TemporaryDirectory() as folder:
            made = MadeRun(parts=parts, images=10 * sum(parts), times=times_of(backward), busy=hidden, **more)
            file = made.write(folder)
            if not steps_csv:
                (file.parent / "steps.csv").unlink()
            return waiting_of(read_run(file))

    def test_a_slow_rank_makes_others_wait_and_is_named(self):
        for steps_csv in (True, False):
            found = self.waits(lambda epoch, step: (0.02, 0.03), steps_csv, hosts=["fast", "slow"])
            self.assertAlmostEqual(found.transfer, 10 * TRANSFER)
            self.assertAlmostEqual(found.waiting, 10 * 0.01 / 2)
            self.assertEqual((found.late.rank, found.late.host, found.late.phase, found.by_step),
                             (1, "slow", "backward", steps_csv))
            self.assertAlmostEqual(found.late.phase_seconds, 0.01)
            self.assertAlmostEqual(found.late.seconds, 0.01)

    def test_even_ranks_wait_for_messages_alone(self):
        for steps_csv in (True, False):
            found = self.waits(lambda epoch, step: (0.02, 0.02), steps_csv)
            self.assertAlmostEqual(found.transfer, 10 * TRANSFER)
            self.assertAlmostEqual(found.waiting, 0)
            self.assertIsNone(found.late)

    def test_ranks_that_are_late_in_turn(self):
        """By step all of it is known; sums over an epoch only say that transfer takes no more."""
        def in_turn(epoch, step):
            return (0.02, 0.04) if step % 2 else (0.04, 0.02)

        found = self.waits(in_turn)
        self.assertAlmostEqual(found.transfer, 10 * TRANSFER)
        self.assertAlmostEqual(found.waiting, 10 * 0.02 / 2)
        self.assertIsNone(found.late)
        bound = self.waits(in_turn, steps_csv=False)
        self.assertGreaterEqual(bound.transfer, found.transfer)
        self.assertAlmostEqual(bound.transfer + bound.waiting, found.transfer + found.waiting)
        self.assertIsNone(bound.late)

    def test_one_of_four_is_late_in_most_steps(self):
        def mostly(epoch, step):
            return (0.02, 0.02, 0.05, 0.02) if step <= 6 else (0.05, 0.02, 0.02, 0.02)

        found = self.waits(mostly, parts=(6, 6, 6, 6))
        self.assertEqual(found.late.rank, 2)
        self.assertAlmostEqual(found.late.share, 0.6)
        self.assertAlmostEqual(found.waiting, 10 * 0.03 * 3 / 4)

    def test_of_an_even_number_of_epochs_the_mean_of_the_middle_two(self):
        def backward(epoch, step):
            return (0.02 * epoch, 0.02 * epoch + 0.01)

        self.assertAlmostEqual(self.waits(backward, epochs=3).waiting, 0.05)
        with tempfile.TemporaryDirectory() as folder:
            run = read_run(MadeRun(parts=(12, 12), images=240, times=times_of(backward), epochs=3).write(folder))
            (Path(folder) / "steps.csv").write_text("nonsense")  # goes without it
            self.assertAlmostEqual(waiting_of(run).waiting, 0.05)


class Losses(unittest.TestCase):
    def test_the_losses_have_what_the_steps_say(self):
        """Of each second that two ranks lost: 96 ms transfer, 154 ms waiting (a slow rank behind a hidden sum)."""
        with tempfile.TemporaryDirectory() as folder:
            one = MadeRun(parts=(24,), images=240,
                          times=lambda *_: {"forward": 0.02, "backward": 0.04, "optimizer": 0.001})
            one.write(Path(folder) / "one")
            two = MadeRun(parts=(12, 12), images=240, times=times_of(lambda *_: (0.02, 0.03)), busy=hidden)
            two.write(Path(folder) / "two")
            series, = evaluate(make_series(observe_all(load_study([folder]).runs)))
            figures = series.points[1]
        self.assertAlmostEqual(figures.losses.phases["all_reduce"], 10 * (TRANSFER + 0.005))
        self.assertAlmostEqual(figures.losses.waiting, 0.05)
        self.assertAlmostEqual(figures.communication.exposed_transfer, 10 * TRANSFER)
        self.assertAlmostEqual(figures.communication.exposed_waiting + figures.communication.exposed_transfer,
                               figures.communication.exposed)
        self.assertAlmostEqual(figures.communication.transfer, 10 * 0.49)  # of the busy time, as measured
        self.assertEqual(figures.waits.late.rank, 1)
        self.assertTrue(math.isnan(series.points[0].waits.waiting))


if __name__ == "__main__":
    unittest.main()
