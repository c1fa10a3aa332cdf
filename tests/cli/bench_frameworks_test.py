#!/usr/bin/env python3
"""tests/bench/frameworks.py: its figures from known times, what it refuses, and a run of rueda alone.

usage: bench_frameworks_test.py RUEDA MPIEXEC
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import summary_line
from rueda_runs import environment, has_bf16

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))

import figures  # noqa: E402
import frameworks  # noqa: E402
import rueda_worker  # noqa: E402


def report(*seconds):
    losses = [3.0, 2.0, 1.0, 0.0][: len(seconds)]
    return {"step_seconds": list(seconds), "losses": losses, "versions": {"it": "1"}}


class FiguresTest(unittest.TestCase):
    """Batches of 10 images; the first pass, of two batches, is not counted."""

    def test_a_process_is_its_median_step_and_a_contestant_the_median_process(self):
        reports = [report(9, 9, 1, 2, 5), report(9, 9, 4, 4, 4), report(9, 9, 1, 1, 1)]
        figure = figures.summarise({"torch": reports}, 10, 2)["torch"]
        self.assertEqual(figure["images_per_second"], {"median": 5.0, "min": 2.5, "max": 10.0})

    def test_losses_are_means_of_the_first_and_the_last_pass(self):
        figure = figures.summarise({"torch": [report(1, 1, 1, 1)]}, 10, 2)["torch"]
        self.assertEqual((figure["first_pass_loss"], figure["last_pass_loss"]), (2.5, 0.5))

    def test_ratios_are_those_of_the_medians(self):
        reports = {"rueda": [report(9, 9, 1)], "torch": [report(9, 9, 4)]}
        summary = figures.summarise(reports, 10, 2)
        self.assertEqual(summary["torch"]["rueda_is_times_as_fast"], 4.0)
        self.assertEqual(summary["rueda"]["rueda_is_times_as_fast"], 1.0)

    def test_one_failed_process_is_no_figure(self):
        reports = {"rueda": [report(9, 9, 1)], "torch": [report(9, 9, 4), {"failure": "gone"}]}
        summary = figures.summarise(reports, 10, 2)
        self.assertEqual(summary["torch"], {"failure": "gone"})
        self.assertIn("| torch | failed: gone |", figures.row("torch", summary["torch"]))


class StepsTest(unittest.TestCase):
    def test_a_step_takes_as_long_as_its_slowest_rank(self):
        rows = ["1,1,0,3,9", "1,1,1,2,9", "1,2,0,1,8", "1,2,1,4,8", "2,1,0,5,7", "2,1,1,1,7"]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "steps.csv")
            file.write_text("\n".join(["epoch,step,rank,seconds,train_loss", *rows]), encoding="utf-8")
            self.assertEqual(rueda_worker.read_steps(file), ([3.0, 4.0, 5.0], [9.0, 8.0, 7.0]))


class WordsTest(unittest.TestCase):
    def test_cases_and_cores(self):
        case = {"model": "resnet18", "image_size": 32, "batch": 64}
        self.assertEqual(frameworks.parse_case("resnet18@32:64"), case)
        self.assertEqual(frameworks.parse_cores("0-2,8"), {0, 1, 2, 8})
        for text in ("resnet18", "resnet18@32", "resnet18@0:64", "@32:64"):
            self.assertRaises(frameworks.UsageError, frameworks.parse_case, text)
        for text in ("", "a", "1-", "0-1-2"):
            self.assertRaises(frameworks.UsageError, frameworks.parse_cores, text)


class RunTest(unittest.TestCase):
    def bench(self, *options, **env):
        binary, mpiexec = PATHS
        command = [sys.executable, str(BENCH / "frameworks.py"), "--binary", binary]
        return subprocess.run(
            [*command, "--mpiexec", mpiexec, *options], env=environment(env),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in ("bench_frameworks: ", *words):
            self.assertIn(word, done.stderr)

    def test_what_is_missing_or_wrong_is_named_with_the_remedy(self):
        gone = {"RUEDA_TORCH_PYTHON": "/nowhere/python"}
        self.refused(self.bench("--contestants", "torch", **gone), "RUEDA_TORCH_PYTHON", "parity.sh")
        self.refused(self.bench("--contestants", "caffe"), "'caffe'", "rueda-2-ranks")
        self.refused(self.bench("--precisions", "fp16"), "'fp16'", "bf16")
        self.refused(self.bench("--passes", "1"), "--passes")
        self.refused(self.bench("--contestants", "rueda", "--cores", "99999"), "99999")
        self.refused(self.bench("--binary", "gone/rueda"), "gone/rueda", "jobs/setup.sh")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "two ranks need two cores")
    def test_rueda_alone_and_as_two_ranks(self):
        precisions = ["fp32", "bf16"] if has_bf16() else ["fp32"]
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "out.json")
            cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
            done = self.bench(
                "--case", "resnet20@16:4", "--contestants", "rueda,rueda-2-ranks", "--cores", cores,
                "--precisions", ",".join(precisions), "--rounds", "2", "--batches", "3", "--passes", "2",
                "--out", str(out),
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done)
            results = json.loads(out.read_text(encoding="utf-8"))["results"]
        self.assertEqual([result["precision"] for result in results], precisions)
        for result in results:
            for name in ("rueda", "rueda-2-ranks"):
                processes = result["contestants"][name]["processes"]
                self.assertEqual([len(one["step_seconds"]) for one in processes], [6, 6])
                self.assertEqual(processes[0]["losses"], processes[1]["losses"])
        self.assertIn("| rueda-2-ranks |", done.stdout)

    def test_a_contestant_that_fails_is_named_and_the_others_go_on(self):
        done = self.bench(
            "--case", "lenet@16:4", "--contestants", "rueda", "--precisions", "fp32", "--rounds", "2"
        )
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("| rueda | failed: exit code 1: rueda: --model 'lenet' is not known", done.stdout)


if __name__ == "__main__":
    PATHS = (sys.argv[1], sys.argv[2])
    summary_line.main()
