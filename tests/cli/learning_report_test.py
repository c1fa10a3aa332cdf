#!/usr/bin/env python3
"""jobs/check/learning.py: its figures on made trainings whose answer is known, and what it trains again. A script that
writes results at once stands in the place of rueda. usage: learning_report_test.py"""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from rueda_runs import main

CHECK = Path(__file__).resolve().parents[2] / "jobs" / "check"
sys.path.insert(0, str(CHECK))

import learning  # noqa: E402
import learning_figures as figures  # noqa: E402
import learning_report as report  # noqa: E402

# Trains at once. The loss falls as 2 / (1 + progress), and a rate of 0.05 is the best one for every batch.
STANDIN = f"""#!{sys.executable}
import json, math, os, sys
from pathlib import Path

words = sys.argv[sys.argv.index("train") + 1 :]
config = {{}}
for word, value in zip(words, words[1:]):
    if word.startswith("--"):
        config[word[2:]] = json.loads(value) if value[0].isdigit() else value
batch = config["batch-per-rank"] * config["accumulate"]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(f"{{batch}} {{config['lr']:g}} {{config['seed']}}\\n")
folder = Path(config["run-dir"])
if os.environ.get("FAILS") == f"{{batch}}":
    sys.exit("no such luck")
steps = config["data-limit"] // batch
worth = 1 / (1 + 200 / batch) / (1 + abs(math.log(config["lr"] / 0.05)))
losses = [2 / (1 + worth * step / 20) for step in range(steps * config["epochs"])]
noise = {{"scale": 200, "low": 150, "high": 260}} if config.get("noise-scale") else None
epochs = [{{"samples": steps * batch, "val_accuracy": 0.9 * (1 - math.exp(-worth * steps * (i + 1) / 40)),
           "gradient_noise": noise}}
          for i in range(config["epochs"])]
folder.mkdir(parents=True, exist_ok=True)
(folder / "steps.csv").write_text(
    "rank,global_samples,train_loss\\n" + "".join(f"0,{{batch}},{{loss}}\\n1,{{batch}},9\\n" for loss in losses)
)
(folder / "run.json").write_text(json.dumps({{"epochs": epochs, "config": config, "outcome": "completed"}}))
"""


DAMAGED_STEPS = (b"no columns\n1\n", b"rank,global_samples,train_loss\n0\n",
                 b"rank,global_samples,train_loss\n0,128,x\n",
                 b"rank,global_samples,train_loss\n0,128,\xff\n")  # fmt: skip


def found(batch, minimum, scale, goal, noise=None):
    """A training that needs minimum (1 + batch / scale) images to the loss `goal`, on a straight line from 2."""
    steps = round(minimum * (1 + batch / scale) / batch)
    losses = [2 - (2 - goal) * step / steps for step in range(math.ceil(1.3 * steps))]
    images = batch * len(losses)
    known = None if noise is None else {"scale": noise, "low": noise / 1.2, "high": 1.2 * noise}
    ends = [(images // 2, known), (images, known)]
    return {"batch": batch, "losses": losses, "evaluations": [], "images": images, "outcome": "completed",
            "noise": ends, "blocks": ends if known else []}  # fmt: skip


def made(scale, noise, sizes=(32, 128, 512, 1024, 4096)):
    return {size: {"rate": 0.1, "seeds": {1: found(size, 400_000, scale, 0.4, noise)}} for size in sizes}


class Figures(unittest.TestCase):
    goal = ("loss", 0.4)

    def test_images_to_a_loss(self):
        falling = [2 - step / 100 for step in range(200)]  # 1.0 at step 101, before whose update 100 were made
        self.assertEqual(figures.examples_to_loss(falling, 8, 1.0), 800)
        self.assertIsNone(figures.examples_to_loss(falling, 8, 0.1))  # the window ends after the last step
        self.assertIsNone(figures.examples_to_loss(falling[:110], 8, 1.0))
        self.assertIsNotNone(figures.examples_to_loss(falling[:120], 8, 1.0))
        self.assertIsNone(figures.examples_to_loss([math.nan] * 100, 8, 1.0))
        self.assertIsNone(figures.examples_to_loss([], 8, 1.0))

    def test_images_to_an_accuracy(self):
        at = [(100, 0.5), (200, 0.7), (400, 0.6), (800, 0.8)]
        self.assertEqual(figures.examples_to_accuracy(at, 0.7), 200)
        self.assertAlmostEqual(figures.examples_to_accuracy(at, 0.6), 100 * 2**0.5)
        self.assertEqual(figures.examples_to_accuracy(at, 0.8), 800)
        for target in (0.5, 0.4, 0.81):  # the first is above already, or none is
            self.assertIsNone(figures.examples_to_accuracy(at, target), target)

    def test_predictions_are_the_formula(self):
        one = found(128, 400_000, 300, 0.4, noise=300)
        own = figures.examples_to(one, self.goal)
        for size in (32, 128, 1024, 4096):
            self.assertAlmostEqual(report.predicted(one, self.goal, size) / own, (1 + size / 300) / (1 + 128 / 300))
        self.assertAlmostEqual(report.predicted_half(one, self.goal, "scale"), 300)
        self.assertIsNone(report.predicted(found(128, 400_000, 300, 0.4), self.goal, 1024))
        self.assertIsNone(report.predicted(one, ("loss", 0.01), 1024))

    def test_epochs_have_their_own_noise(self):
        one = found(128, 400_000, 300, 0.4, noise=300)
        own, half = figures.examples_to(one, self.goal), one["noise"][0][0]
        one["noise"][0] = (half, {"scale": 100, "low": 80, "high": 120})
        wanted = half * (1024 + 100) / (128 + 100) + (own - half) * (1024 + 300) / (128 + 300)
        self.assertAlmostEqual(report.predicted(one, self.goal, 1024), wanted)
        one["noise"][0] = (half, {"scale": None, "low": None, "high": None})  # as the next one
        self.assertAlmostEqual(report.predicted(one, self.goal, 1024), own * (1024 + 300) / (128 + 300))

    def test_the_fit_finds_the_scale(self):
        for scale in (60, 300, 1500):
            self.assertAlmostEqual(report.measured_half(made(scale, None), self.goal) / scale, 1, delta=0.05)
        self.assertIsNone(report.measured_half(made(300, None, (128, 512)), self.goal))
        self.assertIsNone(report.measured_half(made(1e12, None), self.goal))

    def cells(self, batches):
        """What is said of the goal: by epochs and by steps, of images and of the half."""
        text = report.as_markdown(batches, 128, (self.goal,), self.goal)
        self.assertNotIn("None", text)
        [line] = [line for line in text.splitlines() if line.startswith("| training loss 0.4 |")]
        _, epochs, steps, _, half_epochs, half_steps = line.strip("| ").split(" | ")
        return epochs, steps, half_epochs, half_steps

    def test_verdicts_on_both_sides(self):
        """Where the noise scale is right, and where it is wrong by more than the goals allow."""
        for noise, near, half in ((300, "within", "within"), (290, "within", "within"), (100, "outside", "outside"),
                                  (1200, "outside", "outside"), (160, "outside", "within")):  # fmt: skip
            cells = self.cells(made(300, noise))
            self.assertEqual([cell.split(": ")[1] for cell in cells], [near, near, half, half], noise)
            if near == "outside":
                self.assertIn("more images at 1,024" if noise > 300 else "fewer images at 1,024", cells[0])
        self.assertEqual(self.cells(made(300, None)), ("not determined",) * 4)
        text = report.as_markdown(made(300, None), 128, (self.goal,), self.goal)
        self.assertIn("determined no noise scale", text)

    def test_only_batches_within_reach_count(self):
        batches = made(300, 300)
        batches[4096]["seeds"][1] = found(4096, 4_000_000, 300, 0.4)
        self.assertIn("within", self.cells(batches)[0])
        batches[1024]["seeds"][1] = found(1024, 4_000_000, 300, 0.4)
        self.assertIn("more images at 1,024: outside", self.cells(batches)[0])

    def test_a_batch_without_the_base_is_shown(self):
        batches = made(300, 300, (32, 512, 1024))
        text = report.as_markdown(batches, 128, (self.goal,), self.goal)
        self.assertIn("| 512 | 0.1 | 1 |", text)
        self.assertEqual(self.cells(batches), ("not determined",) * 4)

    def test_blocks_of_steps_know_the_noise(self):
        """Norms made from S and G, without noise of their own; parts of 32, an epoch of 12,288 images."""
        def row(batch, parts, variance, length):
            square = length + variance * (1 / batch - 1 / 12288)
            part = length + variance * (parts / batch - 1 / 12288)
            return {"global_samples": str(batch), "parts": str(parts), "part_norm2": str(part),
                    "gradient_norm2": str(square)}

        rows = 8 * [row(128, 4, 300, 3)] + 8 * [row(128, 4, 300, 1)]
        blocks = figures.noise_by_steps(rows, 12288)
        self.assertEqual([images for images, _ in blocks], [1024, 2048])
        self.assertAlmostEqual(blocks[0][1]["scale"], 100)
        self.assertAlmostEqual(blocks[1][1]["scale"], 300)
        unmeasured = {"global_samples": "128", "parts": "", "part_norm2": "", "gradient_norm2": ""}
        with_gaps = [one for row in rows for one in (unmeasured, row)]
        self.assertEqual([images for images, _ in figures.noise_by_steps(with_gaps, 12288)], [2048, 4096])
        self.assertEqual(figures.noise_by_steps(20 * [row(32, 1, 300, 1)], 12288), [])
        self.assertEqual(figures.noise_by_steps(20 * [row(128, 4, 300, -1)], 12288), [])  # no gradient above the noise
        self.assertEqual(figures.noise_by_steps([{"global_samples": "128"}], 12288), [])  # of an older rueda


class Writing(unittest.TestCase):
    def test_figures_go_between_their_marks_and_nowhere_else(self):
        with tempfile.TemporaryDirectory(prefix="rueda-learning-") as folder:
            page = Path(folder, "learning.md")
            arguments = learning.parse_arguments(["--base", "128"])
            with mock.patch.object(learning, "PAGE", page), \
                mock.patch.object(learning, "PICTURE", Path(folder, "a.svg")):
                page.write_text(f"before\n{learning.BEGIN}\nold\n{learning.END}\nafter\n", encoding="utf-8")
                for _ in range(2):
                    learning.write(arguments, made(300, 300), "new")
                    wanted = f"before\n{learning.BEGIN}\nnew\n{learning.END}\nafter\n"
                    self.assertEqual(page.read_text(encoding="utf-8"), wanted)
                lines = page.with_suffix(".csv").read_text(encoding="utf-8").splitlines()
                self.assertEqual(lines[0], ",".join(report.COLUMNS))
                self.assertEqual({line.count(",") for line in lines}, {len(report.COLUMNS) - 1})
                self.assertIn("<!-- training loss 0.4 -->", Path(folder, "a.svg").read_text(encoding="utf-8"))
                page.write_text("no marks\n", encoding="utf-8")
                with self.assertRaisesRegex(learning.UsageError, "no place for figures"):
                    learning.write(arguments, made(300, 300), "new")
                self.assertEqual(page.read_text(encoding="utf-8"), "no marks\n")


class Resuming(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-learning-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.calls = self.folder / "calls"
        binary = self.folder / "rueda"
        binary.write_text(STANDIN, encoding="utf-8")
        binary.chmod(0o755)
        (self.folder / "test_batch.bin").touch()

    def call(self, *words, **env):
        """Code, output and message, and which trainings were started."""
        self.calls.write_text("")
        done = subprocess.run(
            [sys.executable, CHECK / "learning.py", "--binary", self.folder / "rueda", "--data", self.folder, "--out",
             self.folder / "out", "--batches", "128,512", "--seeds", "1,2", *words],
            env={**os.environ, "CALLS": str(self.calls), **env}, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr, sorted(self.calls.read_text().splitlines())

    def test_a_search_tries_both_neighbours_and_only_what_is_missing(self):
        code, out, error, calls = self.call("--batches", "128")
        self.assertEqual((code, calls), (0, ["128 0.025 1", "128 0.05 1", "128 0.05 2", "128 0.1 1"]), error)
        self.assertIn("| 128 | 0.05 | 2 |", out)
        self.assertEqual(self.call("--batches", "128")[3], [])
        calls = self.call("--batches", "128", "--seeds", "1,2,3")[3]
        self.assertEqual(calls, ["128 0.05 3"])

    def test_a_run_that_predicts_has_its_noise(self):
        self.call("--batches", "128", "--noise-scale", "0")
        self.assertEqual(self.call("--batches", "128")[3], ["128 0.05 1", "128 0.05 2"])
        self.assertEqual(self.call("--batches", "128", "--base", "512")[3], [])

    def test_results_of_versions_without_an_option_have_its_default(self):
        self.call("--batches", "128")
        file = next((self.folder / "out" / "batch-128").glob("rate-0.05-seed-1/run.json"))
        record = json.loads(file.read_text())
        for option in ("optimizer", "label-smoothing"):
            del record["config"][option]
        file.write_text(json.dumps(record))
        self.assertEqual(self.call("--batches", "128")[::3], (0, []))
        self.assertEqual(self.call("--batches", "128", "--label-smoothing", "0.1")[::3], (2, []))

    def test_time_that_is_up(self):
        code, out, error, calls = self.call("--minutes", "0")
        self.assertEqual((code, calls), (0, []), error)
        self.assertIn("not determined", out)

    def test_smoothed_labels_are_compared_by_accuracy(self):
        code, out, error, calls = self.call("--batches", "128", "--label-smoothing", "0.1")
        self.assertEqual((code, calls), (0, ["128 0.025 1", "128 0.05 1", "128 0.05 2", "128 0.1 1"]), error)
        self.assertIn("Until a test accuracy 84 %", out)
        self.assertNotIn("training loss", out)
        code, _, error, calls = self.call("--batches", "128")
        self.assertEqual((code, calls), (2, []))
        self.assertIn("comes from other settings ({'label-smoothing'", error)

    def test_a_failure_leaves_the_others(self):
        code, out, error, _ = self.call(FAILS="512")
        self.assertEqual((code, out), (1, ""), error)
        self.assertIn("exit code 1", error)
        code, out, _, calls = self.call()
        self.assertEqual((code, [call for call in calls if call.startswith("128 0.1 1")]), (0, []))
        self.assertIn("| 512 | 0.05 | 2 |", out)

    def test_a_training_that_does_not_end_is_ended(self):
        (self.folder / "rueda").write_text("#!/bin/sh\nexec sleep 300\n", encoding="utf-8")
        arguments = learning.parse_arguments(["--binary", str(self.folder / "rueda"), "--out", str(self.folder)])
        training = learning.Training(arguments, 128, 0.1, 1)
        training.folder.mkdir(parents=True)
        started = []

        def start(*words, **options):
            started.append(popen(*words, **options))
            return started[0]

        popen = subprocess.Popen
        with mock.patch.object(learning, "LIMIT", 0.5), mock.patch.object(subprocess, "Popen", start):
            with self.assertRaisesRegex(RuntimeError, "did not end within"):
                training.train(1)
        self.assertEqual(started[0].wait(60), -signal.SIGKILL)

    def test_results_of_other_settings_and_damaged_ones_are_refused(self):
        self.call("--batches", "128")
        code, _, error, calls = self.call("--batches", "128", "--image-size", "16")
        self.assertEqual((code, calls, error.count("\n")), (2, [], 1), error)
        self.assertIn("comes from other settings", error)
        file = next((self.folder / "out" / "batch-128").glob("rate-0.05-seed-1/run.json"))
        for text in ("", "[]", "{", json.dumps({"config": {}, "epochs": 1, "outcome": ""})):
            file.write_text(text)
            code, _, error, calls = self.call("--batches", "128")
            self.assertEqual((code, calls, error.count("\n")), (2, [], 1), error)

    def test_damaged_steps_are_named(self):
        self.call("--batches", "128")
        file = next((self.folder / "out" / "batch-128").glob("rate-0.05-seed-1/steps.csv"))
        for damage in DAMAGED_STEPS:
            file.write_bytes(damage)
            code, _, error, calls = self.call("--batches", "128")
            self.assertEqual((code, calls, error.count("\n")), (2, [], 1), error)
            self.assertIn(f"{file} is damaged", error)

    def test_impossible_options(self):
        for words in (("--seeds", "1,x"), ("--batches", "48"), ("--batches", "99999968"), ("--jobs", "0"),
                      ("--data", "/nowhere"), ("--binary", "/nowhere"), ("--noise-scale", "-1"),
                      ("--label-smoothing", "1"), ("--optimizer", "lars", "--write")):  # fmt: skip
            code, _, error, calls = self.call(*words)
            self.assertEqual((code, calls, error.count("\n")), (2, [], 1), error)


if __name__ == "__main__":
    main(0)
