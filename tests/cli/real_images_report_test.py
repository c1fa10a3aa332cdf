#!/usr/bin/env python3
"""jobs/check/real_images.py: its figures on made accuracies, and what it trains again. In the place of rueda, mpiexec
and PyTorch stand scripts that write results at once. usage: real_images_report_test.py"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rueda_runs import main

CHECK = Path(__file__).resolve().parents[2] / "jobs" / "check"
sys.path.insert(0, str(CHECK))

import real_images  # noqa: E402
import real_images_plot  # noqa: E402
import real_images_report as report  # noqa: E402

STANDIN = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path

words = sys.argv[1:]
task = json.loads(words[-1]) if words[-1].startswith("{{") else None
if task:
    config, kind = task["recipe"], "torch"
else:
    words = words[words.index("train") + 1 :]
    config = {{}}
    for word, value in zip(words, words[1:]):
        if word.startswith("--"):
            config[word[2:]] = json.loads(value) if value[0].isdigit() else value
    kind = "start" if config["save-weights"] != "none" else Path(config["run-dir"]).name
with open(os.environ["CALLS"], "a") as calls:
    calls.write(f"{{kind}} {{(task or config)['seed']}}\\n")
if kind == os.environ.get("FAILS"):
    sys.exit("no such luck")
epochs = [{{"epoch": i + 1, "val_accuracy": 0.9, "losses": [2.0, 1.0]}} for i in range(config["epochs"])]
record = {{"epochs": epochs, "versions": {{kind: "1"}}, "config": config, "task": task, "outcome": "completed"}}
if kind == "start":
    Path(config["save-weights"]).touch()
else:
    result = Path(task["result"]) if task else Path(config["run-dir"], "run.json")
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps(record))
    steps = "".join(f"{{rank}},{{loss}}\\n" for loss in (2.0, 1.0) * len(epochs) for rank in (0, 1))
    result.with_name("steps.csv").write_text("rank,train_loss\\n" + steps)
"""


def results(**accuracies):
    """Of one epoch, in per cent by seed, as the script collects them."""
    return {
        (seed, name.replace("_", "-")): {"accuracies": [value / 100], "losses": [1.0], "versions": {}}
        for name, values in accuracies.items() for seed, value in enumerate(values, 1)
    }  # fmt: skip


class Figures(unittest.TestCase):
    def said(self, mean, half):
        return report.verdict("a, less b", mean, half)

    def test_tables_add_up(self):
        text = report.as_markdown(results(rueda_1=(91, 92, 93.5), rueda_2=(90, 92, 91), torch=(91.5, 91, 92)))
        self.assertIn("| 1 | 91.00 | 90.00 | 91.50 |\n| 2 | 92.00 | 92.00 | 91.00 |\n", text)
        self.assertIn("| mean | 92.17 | 91.00 | 91.50 |", text)
        self.assertIn("| standard deviation | 1.26 | 1.00 | 0.50 |", text)
        # Pairs -0.5, 1, 1.5: deviation 1.0408, times 4.303 / sqrt(3) = 2.586.
        self.assertIn("| rueda, 1 rank, less PyTorch | +0.67 | −1.92 to +3.26 | no |", text)
        self.assertIn("| rueda, 2 ranks, less rueda, 1 rank | −1.17 |", text)

    def test_the_bound_is_what_the_reader_sees(self):
        for mean, words in ((0.304, "yes"), (-0.3, "yes"), (0.306, "no"), (-0.31, "no")):
            self.assertEqual(self.said(mean, 1.0).split(" | ")[3], words, mean)

    def test_chance_on_both_sides(self):
        for mean, half, word in ((0.2, 0.2, "yes"), (0.2, 0.21, "yes"), (0.2, 0.19, "hardly"),
                                 (-0.2, 0.19, "hardly"), (-0.2, 0.196, "yes")):  # fmt: skip
            self.assertIn(f"| {word}, 0 is", self.said(mean, half))

    def test_one_seed_determines_no_spread(self):
        text = report.as_markdown(results(rueda_1=(91,), rueda_2=(91.2,), torch=(91,)))
        self.assertIn("| standard deviation |" + 3 * " not determined |", text)
        self.assertIn("| rueda, 2 ranks, less PyTorch | +0.20 | not determined | yes | not determined |", text)

    def test_the_beginning_on_both_sides(self):
        made = results(rueda_1=(91, 92), rueda_2=(91, 92), torch=(91, 92))
        for loss, words in ((1.0009, "9.0e-04 of it at most: weights and images were the same"),
                            (0.9989, "compares nothing")):
            made[2, "rueda-1"]["losses"] = [loss, 5.0]
            self.assertIn(words, report.as_markdown(made))

    def test_losses_are_means_of_tenths(self):
        self.assertEqual(real_images_plot.smoothed([4.0, 2.0, 1.0], 20), [(0.05, 3.0), (0.125, 1.0)])


class Resuming(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-real-images-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.calls = self.folder / "calls"
        for name in ("rueda", "mpiexec", "torch"):
            file = self.folder / name
            file.write_text(STANDIN, encoding="utf-8")
            file.chmod(0o755)
        (self.folder / "test_batch.bin").touch()

    def call(self, *words, **env):
        """Code, output and message, and which trainings were started."""
        self.calls.write_text("")
        env = {"CALLS": str(self.calls), "RUEDA_TORCH_PYTHON": str(self.folder / "torch"), **env}
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [sys.executable, CHECK / "real_images.py", "--binary", self.folder / "rueda", "--data", self.folder,
             "--out", self.folder / "out", *words],
            env={**os.environ, "PATH": path, **env}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr, self.calls.read_text().splitlines()

    def test_only_what_is_missing_is_trained(self):
        code, out, error, calls = self.call("--seeds", "1")
        self.assertEqual((code, calls), (0, ["start 1", "rueda-1 1", "rueda-2 1", "torch 1"]), error)
        self.assertIn("| mean | 90.00 | 90.00 | 90.00 |", out)
        self.assertEqual(self.call("--seeds", "1")[3], [])
        code, again, _, calls = self.call("--seeds", "2,1")
        self.assertEqual((code, sorted(calls)), (0, ["rueda-1 2", "rueda-2 2", "start 2", "torch 2"]))
        self.assertIn("| 2 | 90.00 |", again)

    def test_losses_of_both_sides_are_those_of_the_steps(self):
        self.call("--seeds", "1")
        arguments = real_images.parse_arguments(["--out", str(self.folder / "out")])
        recipe = {**real_images.RECIPE, "epochs": 2}
        for name in real_images.CONTESTANTS:
            training = real_images.Training(arguments, recipe, 1, name)
            self.assertEqual(training.read()["losses"], [2.0, 1.0, 2.0, 1.0], name)

    def test_an_interrupted_training_starts_anew(self):
        self.call("--seeds", "1")
        file = self.folder / "out" / "seed-1" / "rueda-2" / "run.json"
        file.write_text(file.read_text().replace("completed", "running"))
        self.assertEqual(self.call("--seeds", "1")[3], ["rueda-2 1"])

    def test_a_failure_leaves_the_others(self):
        code, out, error, _ = self.call("--seeds", "1", FAILS="rueda-2")
        self.assertEqual((code, out), (1, ""), error)
        self.assertIn("rueda-2.log says why", error)
        self.assertIn("no such luck", (self.folder / "out" / "seed-1" / "rueda-2.log").read_text())
        code, _, _, calls = self.call("--seeds", "1")
        self.assertEqual(code, 0)
        self.assertNotIn("rueda-1 1", calls)

    def test_results_of_another_recipe_are_refused(self):
        self.call("--seeds", "1")
        for word in (("--epochs", "3"), ("--data-limit", "9"), ("--augment", "standard")):
            code, _, error, calls = self.call("--seeds", "1", *word)
            self.assertEqual((code, calls), (2, []), error)
            self.assertIn(f"rueda-1/run.json comes from {word[0][2:]}", error)

    def test_damaged_results_are_named(self):
        self.call("--seeds", "1")
        file = self.folder / "out" / "seed-1" / "torch.json"
        for text in ("", "[]", "{", json.dumps({"task": None, "epochs": [], "versions": {}})):
            file.write_text(text)
            code, _, error, calls = self.call("--seeds", "1")
            self.assertEqual((code, calls), (2, []), error)
            self.assertIn(f"{file} is damaged", error)
            file.unlink()
        file = self.folder / "out" / "seed-1" / "rueda-1" / "steps.csv"
        for damage in (b"no columns\n1\n", b"rank,train_loss\n0\n", b"rank,train_loss\n0,x\n",
                       b"rank,train_loss\n0,\xff\n"):
            file.write_bytes(damage)
            code, _, error, calls = self.call("--seeds", "1")
            self.assertEqual((code, calls), (2, []), error)
            self.assertIn(f"{file} is damaged", error)

    def test_impossible_options(self):
        for word in (("--seeds", "1,x"), ("--epochs", "0"), ("--jobs", "0"), ("--data", "/nowhere"),
                     ("--binary", "/nowhere")):  # fmt: skip
            code, _, error, calls = self.call(*word)
            self.assertEqual((code, calls, error.count("\n")), (2, [], 1), error)


if __name__ == "__main__":
    main(0)
