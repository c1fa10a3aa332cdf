#!/usr/bin/env python3
"""A smoke test of tests/bench/frameworks.py: its figures, what it refuses, and a run of rueda alone.

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
import rueda_worker  # noqa: E402


def report(*seconds):
    losses = [3.0, 2.0, 1.0, 0.0][: len(seconds)]
    return {"step_seconds": list(seconds), "losses": losses, "versions": {"it": "1"}}


class PartsTest(unittest.TestCase):
    def test_figures_from_known_times(self):
        """Batches of 10 images; the first pass, of two batches, is not counted."""
        reports = [report(9, 9, 1, 2, 5), report(9, 9, 4, 4, 4), report(9, 9, 1, 1, 1)]
        summary = figures.summarise({"rueda": reports, "torch": [report(9, 9, 4, 4)]}, 10, 2)
        self.assertEqual(summary["rueda"]["images_per_second"], {"median": 5.0, "min": 2.5, "max": 10.0})
        self.assertEqual(summary["torch"]["rueda_is_times_as_fast"], 2.0)
        self.assertEqual([summary["torch"][f"{which}_pass_loss"] for which in ("first", "last")], [2.5, 0.5])
        self.assertEqual(figures.summarise_one([report(1), {"failure": "gone"}], 10, 2), {"failure": "gone"})

    def test_a_step_takes_as_long_as_its_slowest_rank(self):
        rows = ["1,1,0,3,9", "1,1,1,2,9", "1,2,0,1,8", "1,2,1,4,8", "2,1,0,5,7", "2,1,1,1,7"]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "steps.csv")
            file.write_text("\n".join(["epoch,step,rank,seconds,train_loss", *rows]), encoding="utf-8")
            self.assertEqual(rueda_worker.read_steps(file), ([3.0, 4.0, 5.0], [9.0, 8.0, 7.0]))


class RunTest(unittest.TestCase):
    def bench(self, *options, **env):
        binary, mpiexec = PATHS
        command = [sys.executable, str(BENCH / "frameworks.py"), "--binary", binary]
        return subprocess.run(
            [*command, "--mpiexec", mpiexec, *options], env=environment(env),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def test_what_is_missing_or_wrong_is_named_with_the_remedy(self):
        for words, wanted in (
            (["--contestants", "torch"], "have jobs/check/parity.sh install it"),
            (["--contestants", "caffe"], "'caffe' is not known"),
            (["--binary", "gone/rueda"], "run jobs/setup.sh"),
        ):
            done = self.bench(*words, RUEDA_TORCH_PYTHON="/nowhere/python")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done)
            self.assertIn(wanted, done.stderr)

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


if __name__ == "__main__":
    PATHS = (sys.argv[1], sys.argv[2])
    summary_line.main()
