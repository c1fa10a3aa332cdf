"""Predictions of equal progress: what they take, which settings are proposed, and what holds proposals back.

usage: predict_learning_test.py RUEDA
"""

import contextlib
import io
import json
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from made import made_run  # noqa: E402
from made_files import MadeRun, no_noise_json, noise_json  # noqa: E402
from reader.base.estimate import Estimate, exactly  # noqa: E402
from reader.predict.command import main  # noqa: E402
from reader.predict.learning import (batches_table, enough_ranks, learning_table, progress_of, soonest,  # noqa: E402
                                     watts_of)  # fmt: skip
from reader.predict.model import ComputeModel, EpochForecast, PlusMinus, Scenario, Schedule, StepForecast  # noqa: E402
from reader.predict.tables import Price  # noqa: E402
from reader.runs.epochs import Energy  # noqa: E402
from reader.start import Unusable  # noqa: E402
from reader.study.learning import NetworkNoise  # noqa: E402

SCHEDULE = Schedule("resnet20", 32, 10, (1_084_412,))
IMAGES = 12_800
REFERENCE = Scenario(SCHEDULE, 1, 100, IMAGES)


def forecast(ranks, batch, seconds, share=math.nan, images=IMAGES):
    """`batch` of all ranks; an epoch takes so many seconds."""
    steps = images // batch
    return EpochForecast(Scenario(SCHEDULE, ranks, batch, images), steps, images - steps * batch,
                         StepForecast(seconds / steps if steps else seconds),
                         StepForecast(), seconds, PlusMinus(share, share, share))  # fmt: skip


def progress(ranks, batch, seconds, scale=400.0, **more):
    scale = scale if isinstance(scale, Estimate) else exactly(scale)
    return progress_of(forecast(ranks, batch, seconds, **more), REFERENCE, scale)


class Progress(unittest.TestCase):
    def test_steps_and_examples_are_those_of_the_law(self):
        """S = S_min (1 + n/B) steps, E = E_min (1 + B/n) examples: S_min and E_min are the same for all batches."""
        for scale in (50.0, 400.0, 1e4):
            least = set()
            for batch in (25, 100, 400, 1600):
                row = progress(1, batch, 1.0, scale)
                examples = row.epochs.value * IMAGES
                steps = examples / batch
                least.add((round(steps / (1 + scale / batch), 6), round(examples / (1 + batch / scale), 6)))
            self.assertEqual(len(least), 1)

    def test_the_reference_takes_an_epoch(self):
        self.assertEqual(progress(1, 100, 3.0).seconds, Estimate(3, 3, 3))
        # An epoch that leaves out its last batch has fewer images, of which more are needed.
        self.assertAlmostEqual(progress(1, 100, 3.0, images=IMAGES // 2).epochs.value, 2)

    def test_a_step_has_no_more_images_than_the_epoch(self):
        self.assertEqual(progress(1, 10 * IMAGES, 3.0).batch, IMAGES)
        self.assertEqual(progress(1, 10 * IMAGES, 3.0).epochs, progress(1, IMAGES, 3.0).epochs)

    def test_ranges_hold_noise_scale_and_epoch(self):
        row = progress(4, 400, 2.0, Estimate(400, 200, 800), share=0.1)
        # 800/500 epochs, 600/300 and 1200/900.
        self.assertAlmostEqual(row.epochs.value, 1.6)
        self.assertAlmostEqual(row.seconds.low, 2 / 1.1 * 1200 / 900)
        self.assertAlmostEqual(row.seconds.high, 2 * 1.1 * 2)
        self.assertAlmostEqual(row.rank_hours().value, 4 * 3.2 / 3600)
        # Fewer images than the reference's: the ends change places.
        self.assertLess(progress(1, 25, 2.0, Estimate(400, 200, 800)).epochs.low, progress(1, 25, 2.0).epochs.value)


class Ranks(unittest.TestCase):
    def test_the_best_batch_of_each_number_of_ranks(self):
        rows = [progress(2, 200, 2.0), progress(1, 100, 3.0), progress(2, 100, 2.1), progress(2, 400, 1.9)]
        self.assertEqual({ranks: row.batch for ranks, row in soonest(rows).items()}, {1: 100, 2: 100})
        self.assertEqual(list(soonest(rows)), [1, 2])

    def enough(self, *seconds):
        return enough_ranks(soonest([progress(2**index, 100, one) for index, one in enumerate(seconds)]))

    def test_no_more_ranks_where_none_is_five_per_cent_sooner(self):
        self.assertEqual(self.enough(4, 2, 1.91), 2)
        self.assertEqual(self.enough(4, 2, 1.90), 4)
        self.assertEqual(self.enough(4, 2, 1.95, 1.80), 8)  # two steps of less are one of more
        self.assertEqual(self.enough(4, 2, 3, 3), 2)
        self.assertEqual(self.enough(4), 1)


class Advice(unittest.TestCase):
    def table(self, rows, scale=exactly(400.0), batches=(50, 100, 200), compute=ComputeModel(per_image=1e-4), **more):
        one = progress_of(forecast(1, 100, 3.0), REFERENCE, scale)
        noise = NetworkNoise(scale, 4, 3, (100, 400))
        return learning_table(rows, one, noise, list(batches), compute, more.pop("price", Price()),
                              more.pop("watts", None), **more)

    def rows(self, scale=exactly(400.0)):
        return [progress(1, 100, 3.0, scale), progress(2, 200, 1.6, scale), progress(2, 100, 2.0, scale),
                progress(4, 200, 1.2, scale), progress(4, 400, 0.92, scale)]  # fmt: skip

    def test_the_soonest_and_the_cheapest_are_proposed_with_reasons(self):
        table = self.table(self.rows())
        notes = table.notes
        # On 4 ranks 1.2 epochs of 1.2 s, or 1.6 of 0.92 s; 64 steps of 18.75 ms, of which 50 images take 5 ms.
        self.assertTrue(notes[0].startswith("Soonest: --batch-per-rank 50 on P = 4 (--global-batch 200): 1.440 s; "
                                            "learning efficiency is 66.7 % and lower with larger batches; 73.3 % of a "
                                            "step's time does not depend on"), notes[0])  # fmt: skip
        self.assertIn("No smaller batch was run, and one may be better.", notes[0])
        self.assertTrue(notes[1].startswith("Lowest cost: --batch-per-rank 100 on P = 1 (--global-batch 100): "
                                            "0.000833 rank-hours"), notes[1])
        self.assertNotIn("was run, and one", notes[1])
        self.assertEqual([row["ranks"] for row in table.row_objects()], [1, 2, 4])
        self.assertEqual([row["batch_per_rank"] for row in table.row_objects()], [100, 100, 50])
        for row in table.row_objects():
            self.assertAlmostEqual(row["rank_hours"], row["ranks"] * row["seconds"] / 3600)
            self.assertAlmostEqual(row["speedup"], 3 / row["seconds"])
            self.assertAlmostEqual(row["learning_efficiency"], 400 / (400 + row["global_batch"]))

    def test_the_largest_batch_may_be_too_small_and_one_alone_says_nothing(self):
        self.assertIn("No larger batch was run", self.table([progress(1, 200, 1.0)]).notes[0])
        for batches in ((200,), (100, 200, 400)):
            self.assertNotIn("batch was run", self.table([progress(1, 200, 1.0)], batches=batches).notes[0])

    def test_a_batch_that_ranks_do_not_share_equally_is_a_global_one(self):
        self.assertIn("--global-batch 100 on P = 3:", self.table([progress(3, 100, 1.0)]).notes[0])

    def test_from_which_number_on_another_rank_brings_nothing(self):
        def said(*seconds):
            return self.table([progress(2**index, 100, one) for index, one in enumerate(seconds)]).notes[2]

        self.assertEqual(said(4, 2, 1.91),
                         "From P = 2 on another rank brings nothing: no larger P in the table is there more than 5 % "
                                           "sooner.")  # fmt: skip
        self.assertEqual(said(4, 2, 1.90), "More ranks are sooner there up to P = 4, the most in the table.")

    def test_what_the_interval_of_the_noise_scale_leaves_open(self):
        # With n = 100 the larger batch takes 2.5 epochs of 0.92 s and the smaller 1.5 of 1.2 s; with n = 3000 1.10 and
        # 1.03.
        wide, narrow = Estimate(400, 100, 3000), Estimate(400, 390, 410)
        self.assertIn("Soonest: --batch-per-rank 50 on P = 4 (--global-batch 200), or --batch-per-rank 100 on P = 4 "
                      "(--global-batch 400), by the interval of the noise scale: 1.440 s (",
                      self.table(self.rows(wide), wide).notes[0])  # fmt: skip
        self.assertNotIn(", or", self.table(self.rows(narrow), narrow).notes[0])

        def said(scale):
            return self.table([progress(1, 100, 3.0, scale), progress(2, 200, 2.4, scale),
                               progress(4, 400, 1.5, scale)], scale).notes[2]

        # 3, 2.88 and 2.4 s; with n = 100 3, 3.6 and 3.75; with n = 3000 3, 2.48 and 1.65.
        self.assertEqual(said(wide), "More ranks are sooner there up to P = 4, the most in the table. By the interval "
                                     "of the noise scale that may end at P = 1.")  # fmt: skip
        self.assertEqual(said(narrow), "More ranks are sooner there up to P = 4, the most in the table.")
        low = Estimate(120, 100, 3000)  # 3, 3.49 and 3.55 s
        self.assertEqual(said(low), "From P = 1 on (1 to 4 by the interval of the noise scale) another rank brings "
                                    "nothing: no larger P in the table is there more than 5 % sooner.")  # fmt: skip

    def test_nothing_is_proposed_from_runs_that_may_not_conclude(self):
        table = self.table(self.rows(), why_not="No number of ranks is recommended.")
        self.assertEqual(table.notes[0], "No number of ranks is recommended.")
        self.assertFalse([note
                          for note in table.notes if note.startswith(("Soonest", "Lowest", "From P", "More ranks"))])

    def test_price_and_energy(self):
        row = self.table(self.rows(), price=Price(2.0), watts=(300.0, "GPUs")).row_objects()[2]
        self.assertAlmostEqual(row["cost"], 2 * 4 * 1.44 / 3600)
        self.assertAlmostEqual(row["kilowatt_hours"], 0.3 * 4 * 1.44 / 3600)
        self.assertNotIn("kilowatt_hours", self.table(self.rows()).row_objects()[2])

    def test_watts_by_the_counters_of_runs(self):
        runs = [made_run(ranks=ranks, epochs=(9, 2.0)) for ranks in (1, 2, 4)]
        self.assertIsNone(watts_of(runs))
        for run in runs:
            run.epochs[-1].energy = Energy(gpus=600.0 * run.world_size())
        self.assertEqual(watts_of(runs), (300, "GPUs"))
        runs[0].epochs[-1].energy = Energy(hosts=600.0)
        self.assertIsNone(watts_of(runs))

    def test_seconds_of_all_ranks_and_batches(self):
        rows = self.rows()
        table = batches_table(rows, [50, 100])
        self.assertEqual([row["ranks"] for row in table.row_objects()], [1, 2, 4])
        self.assertEqual(table.rows[0][1], None)
        self.assertAlmostEqual(table.rows[2][1], 1.44)
        self.assertAlmostEqual(table.rows[2][2], 1.6 * 0.92)


SUM = 0.006  # seconds of a ring of two ranks


def times_of(batch):
    """5 ms and 0.2 ms an image."""
    return lambda epoch, step, rank: {"forward": (0.005 + 2e-4 * batch) / 3, "backward": (0.005 + 2e-4 * batch) * 2 / 3,
                                      "optimizer": 0.002}


class Command(unittest.TestCase):
    LINK = ("--alpha", "100us", "--bandwidth", "200MB/s", "--ranks", "1,2,4,8", "--overlap", "off")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, ranks, batch, scale=400.0, **more):
        def noise(epoch):
            if ranks == 1:
                return no_noise_json(batch, 1, 20, "one part a step")
            return noise_json(batch * ranks, ranks, 20, scale, 0.9 * scale, 1.2 * scale)

        MadeRun(**{"parts": (batch,) * ranks, "images": 3200, "epochs": 3, "times": times_of(batch), "noise": noise,
                   "options": {"noise-scale": 1, "overlap": "off"},
                   **more}).write(self.folder / f"p{ranks}-b{batch}")  # fmt: skip

    def study(self, **more):
        for ranks in (1, 2):
            for batch in (32, 160):
                self.write(ranks, batch, **more)

    def predict(self, *words):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(main([str(self.folder), *self.LINK, "--goal", "learning", *words,
                                   "--json", str(self.folder / "j.json")]), 0)
        return json.loads((self.folder / "j.json").read_text("utf-8")), " ".join(printed.getvalue().split())

    def refused(self, *words):
        with self.assertRaises(Unusable) as caught, contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()):
            main([str(self.folder), *self.LINK, *words])
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_batches_between_those_that_were_run(self):
        self.study()
        shown, printed = self.predict()
        self.assertEqual(list(shown["learning_batches"]["rows"][0]),
                         ["ranks", "seconds_at_32", "seconds_at_64", "seconds_at_128",
                                                                      "seconds_at_160"])  # fmt: skip
        best = {row["ranks"]: row for row in shown["learning"]["rows"]}
        for row in shown["learning_batches"]["rows"]:
            times = {name: value for name, value in row.items() if name != "ranks" and value is not None}
            self.assertAlmostEqual(best[row["ranks"]]["seconds"], min(times.values()))
        # The reference is the first run's: 160 images. On one rank no time goes to sums: a step takes t0 + t1 b and the
        # update.
        seconds = {batch: (400 + batch) / (400 + 160) * 3200 / batch * (0.007 + 2e-4 * batch) for batch in (32, 160)}
        for batch, wanted in seconds.items():
            self.assertAlmostEqual(shown["learning_batches"]["rows"][0][f"seconds_at_{batch}"] / wanted, 1, places=6)
        self.assertIn("Noise scale: 400 images (372 to 457), by 2 runs with global batches of 64 to 320 "
                      "images in epoch 3", printed)

    def test_one_batch_proposes_no_other(self):
        self.write(1, 32)
        self.write(2, 32)
        shown, printed = self.predict()
        self.assertNotIn("learning_batches", shown)
        self.assertEqual({row["batch_per_rank"] for row in shown["learning"]["rows"]}, {32})
        self.assertIn("Only the batch that was run is compared", printed)
        self.study()
        for words, key, value in ((("--batch-per-rank", "64"), "batch_per_rank", 64),
                                  (("--global-batch", "64"), "global_batch", 64)):
            shown, printed = self.predict(*words)
            self.assertEqual({row[key] for row in shown["learning"]["rows"]}, {value})
            self.assertNotIn("Only the batch that was run", printed)
            self.assertNotIn("learning_batches", shown)

    def test_one_global_batch_learns_as_it_trains(self):
        self.study()
        shown, _ = self.predict("--global-batch", "64")
        for learning, epoch in zip(shown["learning"]["rows"], shown["forecast"]["rows"]):
            self.assertAlmostEqual(learning["seconds"], epoch["epoch_seconds"])
            self.assertAlmostEqual(learning["speedup"], epoch["speedup"])

    def test_a_changed_machine(self):
        self.study()
        shown, _ = self.predict("--what-if", "bandwidth=10x")
        slow, fast = (shown[f"learning{end}"]["rows"][3] for end in ("", "_what_if"))
        self.assertLess(fast["seconds"], slow["seconds"])
        self.assertIn("learning_batches_what_if", shown)

    def test_a_given_noise_scale(self):
        self.study()
        shown, printed = self.predict("--gradient-noise-scale", "1e9", "--batch-per-rank", "32")
        self.assertIn("Noise scale: 1,000,000,000 images, as given.", printed)
        for learning, epoch in zip(shown["learning"]["rows"], shown["forecast"]["rows"]):
            self.assertAlmostEqual(learning["seconds"], epoch["epoch_seconds"], places=5)

    def test_no_more_images_than_an_epoch_has(self):
        self.study()
        shown, _ = self.predict("--ranks", "1,8,32,64,128")
        self.assertEqual([row["seconds_at_160"] is None for row in shown["learning_batches"]["rows"]],
                         [False, False, True, True, True])
        # 3,200 images are 25 for each of 128 ranks.
        self.assertEqual([(row["batch_per_rank"], row["global_batch"]) for row in shown["learning"]["rows"][-2:]],
                         [(32, 2048), (25, 3200)])

    def test_batches_of_equal_micro_batches_tell_no_two_costs_apart(self):
        self.study()
        for file in self.folder.glob("*-b160/run.json"):
            record = json.loads(file.read_text("utf-8"))
            record["batch"]["micro_batches"] = 5
            file.write_text(json.dumps(record), encoding="utf-8")
        shown, printed = self.predict()
        self.assertNotIn("learning_batches", shown)
        self.assertIn("Only the batch that was run is compared", printed)

    def test_an_epoch_alone_is_the_usual_goal(self):
        self.study()
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            main([str(self.folder), *self.LINK])
        self.assertNotIn("Equal progress", printed.getvalue())

    def test_what_is_refused(self):
        self.write(1, 32)
        self.assertIn("--accumulate 2", self.refused("--goal", "learning"))
        self.assertIn("--gradient-noise-scale is for --goal learning",
                      self.refused_line("--gradient-noise-scale", "300"))
        for wrong in ("0", "-1", "1e13"):
            self.assertIn("--gradient-noise-scale must be above 0",
                          self.refused_line("--goal", "learning", f"--gradient-noise-scale={wrong}"))
        self.write(2, 32, options={}, noise=lambda epoch: None)
        for file in self.folder.glob("p1*/run.json"):
            file.unlink()
        self.assertIn("no run measured its gradient noise", self.refused("--goal", "learning"))

    def refused_line(self, *words):
        errors = io.StringIO()
        with self.assertRaises((SystemExit, Unusable)) as caught, contextlib.redirect_stderr(errors):
            main([str(self.folder), *self.LINK, *words])
        return errors.getvalue() + str(caught.exception)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.environ["RUEDA_PROGRAM"] = os.path.abspath(sys.argv.pop(1))
    unittest.main()
