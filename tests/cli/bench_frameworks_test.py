#!/usr/bin/env python3
"""A smoke test of tests/bench/frameworks.py: what it refuses, and a run of rueda alone.

usage: bench_frameworks_test.py RUEDA MPIEXEC
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rueda_runs import ProgramCase, environment, has_bf16, main

BENCH = Path(__file__).resolve().parents[1] / "bench"


class RunTest(unittest.TestCase):
    def bench(self, *options, **env):
        binary, mpiexec = ProgramCase.paths
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
    main()
