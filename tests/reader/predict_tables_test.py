"""Predictions: what the tables say, recommend, hold back and write; what becomes of a program that does not answer.

usage: predict_tables_test.py RUEDA
"""

import contextlib
import io
import json
import math
import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from made import made_run  # noqa: E402
from made_files import MadeRun  # noqa: E402
from reader.base import ask  # noqa: E402
from reader.predict.command import main  # noqa: E402
from reader.predict.measured import loss_table  # noqa: E402
from reader.predict.model import (CostModel, EpochForecast, Link, Machine, PlusMinus, Scenario,  # noqa: E402
                                  Schedule, StepForecast)  # fmt: skip
from reader.predict.quantities import MeasuredEpoch  # noqa: E402
from reader.predict.tables import Price, efficiency_of, forecast_table, held_back  # noqa: E402
from reader.start import Failed, Unusable  # noqa: E402
from reader.tables.table import plain, shown  # noqa: E402

SCHEDULE = Schedule("resnet20", 32, 10, (1_084_412,))


def epoch(ranks, seconds, images=1000, share=math.nan):
    scenario = Scenario(SCHEDULE, ranks, 10 * ranks, images)
    return EpochForecast(scenario, images // (10 * ranks), 0, StepForecast(0.1), StepForecast(), seconds,
                         PlusMinus(share, share, share))


def row_of(table, number):
    return dict(zip((column.key for column in table.columns), table.rows[number]))


class Epochs(unittest.TestCase):
    def table(self, *epochs, **words):
        return forecast_table(list(epochs), epoch(1, 8.0), Price(**words.pop("price", {})), **words)

    def test_speedup_compares_as_many_images(self):
        self.assertAlmostEqual(efficiency_of(epoch(2, 5.0), epoch(1, 8.0)), 0.8)
        # Half of the images in half of the time are no speedup.
        self.assertAlmostEqual(efficiency_of(epoch(2, 4.0, images=500), epoch(1, 8.0)), 0.5)

    def test_nothing_is_recommended_where_intervals_say_nothing(self):
        held_back = "No number of ranks is recommended, because 1 of the 2 "
        for share, begins in ((8.9, "Shortest epoch: P = 2"), (9.1, held_back)):
            with self.subTest(share=share):
                notes = self.table(epoch(1, 8.0, share=0.1), epoch(2, 4.5, share=share)).notes
                self.assertTrue(notes[0].startswith(begins), notes[0])
                self.assertEqual(any(note.startswith("Lowest cost") for note in notes), share < 9)

    def test_what_is_recommended(self):
        notes = self.table(epoch(1, 8.0), epoch(2, 4.5), epoch(4, 2.6)).notes
        self.assertEqual(notes[0], "Shortest epoch: P = 4, 2.600 s at an efficiency of 76.9 %.")
        self.assertEqual(notes[1], "Lowest cost: P = 1, 0.00222 rank-hours an epoch.")
        self.assertEqual(notes[2], "Most ranks at an efficiency of 80 % or more: P = 2, 4.500 s an epoch.")
        notes = self.table(epoch(4, 2.6), price={"least_efficiency": 0.9}).notes
        self.assertEqual(notes[2], "No P in the table has an efficiency of 90 % or more.")

    def test_sentences_have_their_interval(self):
        notes = self.table(epoch(2, 4.5, share=0.5)).notes
        self.assertIn("P = 2, 4.500 s (3.000 to 6.750 s) at an efficiency of", notes[0])

    def test_an_interval_that_tells_nothing_is_not_determined(self):
        for share, text in ((8.9, "890.0"), (9.1, "not determined")):
            table = self.table(epoch(2, 4.5, share=share))
            cell = row_of(table, 0)["epoch_plus_minus"]
            self.assertEqual(shown(cell, "percent"), text)
            self.assertEqual(plain(cell), share if text == "890.0" else None)
        self.assertIn("Intervals need two runs or more", " ".join(self.table(epoch(2, 4.5)).notes))

    def test_runs_that_hold_recommendations_back(self):
        good, warm, few = made_run(), made_run(epochs=(1.5,)), made_run(full_steps=2)
        for name, run in (("good", good), ("warm", warm), ("few", few)):
            run.file = Path(name, "run.json")
        self.assertEqual(held_back([good, good]), "")
        why = held_back([good, warm, few])
        for words in ("2 of the 3 runs", "includes warm-up (warm): train more epochs",
                      "fewer than 3 full steps (few): train more images"):
            self.assertIn(words, why)
        notes = self.table(epoch(2, 4.5), why_not=why).notes
        self.assertEqual(notes[0], why)
        self.assertNotIn("Shortest epoch", " ".join(notes))


class Losses(unittest.TestCase):
    def test_what_explains_the_loss_of_epochs_that_others_measured(self):
        # 25 steps of 544 ms on one rank, 7 of 768 ms on four; 50,000 images, 2048 a rank. By hand: the four lose
        # 5.376 - 3.4 s; 24.414 and 6.1035 steps of images make 25 and 7. A ring of four takes 6 (1 ms + 10 ms).
        model = CostModel(machine=Machine(Link(), Link(1e-3, 1e-9)))
        schedule = Schedule("resnet20", 32, 10, (40_000_000,))
        scenarios = [Scenario(schedule, ranks, 2048 * ranks, 50_000) for ranks in (1, 4)]
        table = loss_table(model, [MeasuredEpoch(1, 13.6), MeasuredEpoch(4, 5.376)], scenarios)
        four = row_of(table, 1)
        for key, value in (("lost_seconds", 1.976), ("efficiency", 3.4 / 5.376), ("all_reduce_seconds", 7 * 0.066),
                           ("all_reduce_share", 7 * 0.066 / 1.976),
                           ("partial_at_most_seconds", 5.376 * (1 - 6.103515625 / 7) - 3.4 * (1 - 24.4140625 / 25))):
            self.assertAlmostEqual(four[key], value)
        rest = four["lost_seconds"] - four["all_reduce_seconds"] - four["partial_at_most_seconds"]
        self.assertAlmostEqual(four["unexplained_seconds"], rest)
        self.assertIsNone(row_of(table, 0)["lost_seconds"])
        with self.assertRaisesRegex(Unusable, "give 1:TIME"):
            loss_table(model, [MeasuredEpoch(4, 5.376)], scenarios[1:])


class Program(unittest.TestCase):
    """A program that is none, or does not answer."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, text):
        file = self.folder / "rueda"
        file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return mock.patch.dict(os.environ, RUEDA_PROGRAM=str(file))

    def test_it_is_named_or_found(self):
        with mock.patch.dict(os.environ, RUEDA_PROGRAM=str(self.folder / "none")):
            with self.assertRaisesRegex(Unusable, "none: No such file or directory: name the program"):
                ask.ask({})
        with mock.patch.dict(os.environ, PATH=str(self.folder)), mock.patch.object(ask.os, "access", lambda *_: False):
            os.environ.pop("RUEDA_PROGRAM")
            with self.assertRaisesRegex(Unusable, "put it into PATH, or name it in RUEDA_PROGRAM"):
                ask.ask({})

    def test_nothing_of_the_current_folder_is_run(self):
        self.script("echo '{}'")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        nowhere = mock.patch.object(ask.Path, "resolve", lambda _: Path("/a/b/c/d/e"))
        with mock.patch.dict(os.environ, PATH="."), nowhere:
            os.environ.pop("RUEDA_PROGRAM")
            with self.assertRaisesRegex(Unusable, "needs the program rueda"):
                ask.ask({})

    def test_what_it_says_is_passed_on(self):
        for text, kind, words in (("echo 'rueda: sums[0] is wrong' >&2; exit 2", Unusable, "^sums.0. is wrong$"),
                                  ("echo 'rueda: no memory' >&2; exit 1", Failed, "forecast failed: no memory"),
                                  ("kill -9 $$", Failed, "forecast failed: exit code -9"),
                                  ("echo nonsense", Failed, "is of another version")):
            with self.script(text), self.assertRaisesRegex(kind, words):
                ask.ask({})

    def test_it_is_not_waited_for_without_end(self):
        with self.script("exec sleep 60"), mock.patch.object(ask, "_LONGEST_WAIT", 0.2):
            with self.assertRaisesRegex(Failed, "did not end in"):
                ask.ask({})


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        MadeRun(backend="timed", parts=(10, 10)).write(self.folder / "run")
        self.words = [str(self.folder / "run"), "--alpha", "1us", "--bandwidth", "1GB/s", "--ranks", "1,2"]

    def run_with(self, *words):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(main([*self.words, *words]), 0)
        return printed.getvalue()

    def test_a_folder_has_all_tables_and_is_written_again(self):
        out = self.folder / "out"
        for _ in range(2):
            printed = self.run_with("--out", str(out))
        content = json.loads((out / "predict.json").read_text("utf-8"))
        tables = [name for name in content if name != "rueda_predict"]
        self.assertEqual(tables, ["forecast", "measured", "model"])
        for name in tables:
            self.assertIn(content[name]["title"], printed)
            self.assertIn(content[name]["title"], (out / "predict.md").read_text("utf-8"))
            rows = (out / f"{name}.csv").read_text("utf-8").splitlines()
            self.assertEqual(len(rows) - 1, len(content[name]["rows"]))

    def test_what_is_not_ours_stays(self):
        out = self.folder / "out"
        out.mkdir()
        (out / "predict.md").write_text("by hand", encoding="utf-8")
        with self.assertRaisesRegex(Unusable, "predict.md: it was not written by"):
            self.run_with("--out", str(out))
        self.assertEqual([path.name for path in out.iterdir()], ["predict.md"])
        (self.folder / "link.json").symlink_to(self.folder / "other.json")
        with self.assertRaisesRegex(Unusable, "--json .*link.json: a file cannot be written there: it is a link"):
            self.run_with("--json", str(self.folder / "link.json"))
        self.assertFalse((self.folder / "other.json").exists())

    def test_options_that_do_not_go_together(self):
        for words, said in ((("--batch-per-rank", "4", "--global-batch", "4"), "exclude each other"),
                            (("--compute", "1ms"), "give that, too"), (("--image-size", "5000"), "from 0 to 4096"),
                            (("--inside-alpha", "1us"), "give --ranks-per-node"), (("--message-noise", "120%"), "100%"),
                            (("--links-per-node", "0"), "1 or more"), (("--price", "-1"), "--price"),
                            (("--ranks", "1,2,1"), "--ranks '1,2,1'"), (("--efficiency", "x"), "--efficiency 'x'")):
            with self.subTest(words=words), self.assertRaises(Unusable) as refused:
                self.run_with(*words)
            self.assertIn(said, str(refused.exception))
            self.assertTrue(str(refused.exception).endswith("; see rueda predict --help"))


if __name__ == "__main__":
    os.environ["RUEDA_PROGRAM"] = sys.argv.pop(1)
    unittest.main()
