"""Predictions: a scenario is the run's in every table, and what parts, micro-batches and last batches make of it.

usage: predict_scenario_test.py RUEDA
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from made_files import MadeRun  # noqa: E402
from reader.predict.command import main  # noqa: E402
from reader.predict.scenario import on_ranks, scenario_of  # noqa: E402
from reader.runs.run import read_run  # noqa: E402
from reader.start import Unusable  # noqa: E402

LINK = ("--alpha", "0s", "--bandwidth", "1GB/s")  # the sum of two ranks' 1,084,400 bytes takes 1.0844 ms
SUM = 1.0844e-3


def images_times(seconds_of_image, parts=None, slow=(), stalled=()):
    """`times` of a MadeRun: a rank needs so many seconds for an image, `slow` ranks twice as many."""

    def times(epoch, step, rank):
        seconds = seconds_of_image * (parts or (10,) * 9)[rank] * (2 if rank in slow else 1)
        return {"forward": seconds / 3, "backward": seconds * 2 / 3 + 0.5 * ((epoch, step, rank) in stalled)}

    return times


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, change=None, **words):
        """A run in a folder of this name; `change` changes its run.json."""
        file = MadeRun(**{"backend": "timed", **words}).write(self.folder / name)
        if change:
            record = json.loads(file.read_text("utf-8"))
            change(record)
            file.write_text(json.dumps(record), encoding="utf-8")
        return file

    def predict(self, *words):
        """(tables by name, what was printed in one line)."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(main([*words, "--json", str(self.folder / "shown.json")]), 0)
        return json.loads((self.folder / "shown.json").read_text("utf-8")), " ".join(printed.getvalue().split())

    def both(self, *words):
        """The row of a run on two ranks in the main table and in that of runs, which are predictions of one
        scenario."""
        shown, text = self.predict(*words, *LINK, "--ranks", "1,2")
        main_row = shown["forecast"]["rows"][1]
        run_row = next(row for row in shown["measured"]["rows"] if row["ranks"] == 2)
        self.assertAlmostEqual(main_row["epoch_seconds"] / run_row["predicted_epoch_seconds"], 1, 9)
        self.assertAlmostEqual(main_row["step_seconds"] / run_row["predicted_step_seconds"], 1, 9)
        return main_row, text


class Scenarios(Case):
    def test_micro_batches(self):
        # 20 images of a rank in four micro-batches of 10 ms; one bucket, which no backward hides.
        def accumulate(record):
            record["batch"]["micro_batches"] = 4
            record["all_reduce"]["bucket_bytes"] = [1_084_400]

        file = self.write("acc", accumulate, parts=(20, 20), images=80, times=images_times(0.002, (20, 20)))
        scenario = scenario_of(read_run(file))
        self.assertEqual((scenario.micro_batches, scenario.overlap), (4, True))
        row, text = self.both(str(self.folder / "acc"))
        self.assertIn("4 micro-batches, ring, overlap on", text)
        self.assertAlmostEqual(row["compute_seconds"], 0.040)
        self.assertAlmostEqual(row["exposed_seconds"], SUM, 6)  # one bucket is complete when backward ends

    def test_a_last_batch_that_is_dropped(self):
        def drop(record):
            record["data"]["train_images"] = 95  # of which two ranks take 80
            record["config"]["last-batch"] = "drop"

        file = self.write("drop", drop, parts=(20, 20), images=80, times=images_times(0.002, (20, 20)))
        row, text = self.both(str(self.folder / "drop"))
        self.assertEqual(row["steps"], 2)
        self.assertIn("95 images but for a partial last batch", text)
        run = read_run(file)
        self.assertEqual([on_ranks(run, ranks).images for ranks in (1, 2, 3, 4, 5)], [80, 80, 60, 80, 95])
        # Efficiency compares as many images.
        shown, _ = self.predict(str(self.folder / "drop"), *LINK, "--ranks", "1,2,3")
        for row in shown["forecast"]["rows"]:
            self.assertLessEqual(row["efficiency"], 1 + 1e-9)

    def test_parts_that_were_given(self):
        # 24 images as 18 and 6 of 2 ms each: the slower rank needs 36 ms, a mean rank 24.
        file = self.write("parts", parts=(18, 6), images=48, times=images_times(0.002, (18, 6)),
                          options={"balance": "3,1"})
        run = read_run(file)
        self.assertEqual((scenario_of(run).global_batch, scenario_of(run).parts), (24, (18, 6)))
        self.assertEqual([on_ranks(run, ranks).global_batch for ranks in (1, 2, 4)], [12, 24, 48])
        self.assertEqual(on_ranks(run, 4).parts, ())
        row, _ = self.both(str(self.folder / "parts"))
        self.assertEqual(row["images_per_rank"], 12)
        self.assertAlmostEqual(row["compute_seconds"], 0.024)
        self.assertAlmostEqual(row["straggling_seconds"], 0.012)
        # Equal ranks: other parts are equal ones.
        shown, _ = self.predict(str(self.folder / "parts"), *LINK, "--ranks", "2,4", "--batch-per-rank", "10")
        self.assertEqual([row["straggling_seconds"] for row in shown["forecast"]["rows"]], [0, 0])

    def test_parts_by_speed_are_of_a_mean_rank(self):
        file = self.write("speed", parts=(16, 8), images=48, times=images_times(0.002, (16, 8), slow=(1,)),
                          options={"balance": "speed"})
        scenario = scenario_of(read_run(file))
        self.assertEqual((scenario.global_batch, scenario.parts), (24, ()))
        row, _ = self.both(str(self.folder / "speed"))
        self.assertAlmostEqual(row["step_seconds"], 0.032 + SUM, 6)

    def test_a_batch_that_ranks_do_not_divide(self):
        file = self.write("odd", parts=(13, 12), images=50, times=images_times(0.002, (13, 12)))
        run = read_run(file)
        self.assertEqual([on_ranks(run, ranks).global_batch for ranks in (1, 2, 4)], [13, 25, 50])

    def test_sums_are_those_of_the_runs_unless_others_are_asked_for(self):
        for name in ("doubling", "halving", "hierarchical", "hierarchical-halving", "ring"):
            self.write(name, lambda record, name=name: record["all_reduce"].update(algorithm=name), parts=(10, 10))
            self.both(str(self.folder / name))
            title = self.predict(str(self.folder / name), *LINK, "--ranks", "2")[0]["forecast"]["title"]
            self.assertIn(f", {name}, ", title)
        for name, algorithm in (("auto (doubling to 64 KiB, halving)", "best"), ("auto (shared)", "ring"),
                                ("ring, fixed order", "ring"), ("fixed order", "ring")):
            self.write("named", lambda record, name=name: record["all_reduce"].update(algorithm=name), parts=(10, 10))
            shown, _ = self.predict(str(self.folder / "named"), *LINK, "--ranks", "2")
            self.assertIn(f", {algorithm}, ", shown["forecast"]["title"])
        shown, _ = self.predict(str(self.folder / "doubling"), *LINK, "--ranks", "2", "--algorithm", "ring")
        self.assertIn(", ring, ", shown["forecast"]["title"])


class UnequalRanks(Case):
    """20 ms a step of ten images, every other rank 40."""

    def study(self, repeats=2):
        for ranks in (2, 4):
            slow = range(1, ranks, 2)
            for number in range(repeats):
                self.write(f"p{ranks}-{number}", parts=(10,) * ranks, images=40 * ranks,
                           times=images_times(0.002, slow=slow))

    def test_ranks_that_are_always_slow_lie_in_their_intervals(self):
        self.study()
        shown, text = self.predict(str(self.folder), *LINK, "--ranks", "1,2,4,8")
        for row in shown["measured"]["rows"]:
            self.assertAlmostEqual(row["predicted_step_seconds"], row["measured_step_seconds"] + 0.010, delta=0.003)
        one, *rows = shown["forecast"]["rows"]
        self.assertAlmostEqual(one["step_seconds"], 0.020)  # the faster of two in the middle
        for row in rows:
            self.assertAlmostEqual(row["compute_seconds"], 0.030)
            self.assertAlmostEqual(row["straggling_seconds"], 0.010)
        self.assertIn("the slowest takes 2.00 times as long as the fastest", text)

    def test_one_rank_that_ran_alone_counts_as_fast_as_it_is(self):
        # One of five ranks is slow: none of two, and one of four.
        for number in range(2):
            self.write(f"p1-{number}", parts=(10,), images=40, times=images_times(0.002))
            self.write(f"p4-{number}", parts=(10,) * 4, images=160, times=images_times(0.002, slow=(3,)))
        shown, _ = self.predict(str(self.folder), *LINK, "--ranks", "1,2,4")
        steps = [row["step_seconds"] - row["exposed_seconds"] for row in shown["forecast"]["rows"]]
        for seconds, expected in zip(steps, (0.020, 0.020, 0.040)):
            self.assertAlmostEqual(seconds, expected, 4)

    def test_what_balance_would_bring(self):
        self.study()
        shown, _ = self.predict(str(self.folder), *LINK, "--ranks", "1,2,4", "--what-if", "balance")
        one, two, four = shown["forecast_what_if"]["rows"]
        # In whole images: 13 and 7 of 20, of 2 and 4 ms; one rank is of mean speed, 3/8 images a ms.
        self.assertAlmostEqual(two["compute_seconds"] + two["straggling_seconds"], 0.028)
        self.assertAlmostEqual(four["compute_seconds"] + four["straggling_seconds"], 0.028)
        self.assertAlmostEqual(one["step_seconds"], 0.010 * 8 / 3)
        for row in (one, two, four):
            self.assertLessEqual(row["efficiency"], 1 + 1e-9)

    def test_balance_changes_nothing_after_a_stalled_step(self):
        self.write("stalled", parts=(10, 10), images=200, epochs=3,
                   times=images_times(0.004, stalled={(3, 5, 1)}))
        shown, text = self.predict(str(self.folder), *LINK, "--ranks", "1,2", "--what-if", "balance")
        self.assertIn("balance: it changes nothing", text)
        for before, after in zip(shown["forecast"]["rows"], shown["forecast_what_if"]["rows"]):
            self.assertEqual(before["epoch_seconds"], after["epoch_seconds"])
            self.assertLessEqual(after["efficiency"], 1 + 1e-9)

    def test_balance_needs_three_full_steps(self):
        self.write("short", parts=(10, 10), images=40)
        with self.assertRaisesRegex(Unusable, "three full steps or more"):
            self.predict(str(self.folder), *LINK, "--ranks", "2", "--what-if", "balance")


if __name__ == "__main__":
    os.environ["RUEDA_PROGRAM"] = sys.argv.pop(1)
    unittest.main()
