#!/usr/bin/env python3
"""jobs/gpu-check.sh over programs that only pretend and fail: it says so. gpu_rehearsal_test.py has the rest."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rueda_runs import main

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gpu"), str(ROOT / "tests" / "bench")]

import floor  # noqa: E402

PYTHON = f"#!{sys.executable} -IS\n"  # fast to start: there are hundreds of them
PRETENDED_RUEDA = PYTHON + """\
import json, os, sys
words = sys.argv[1:]
option = lambda name: words[words.index("--" + name) + 1]
if words == ["--version"]: print("rueda 9.9"); sys.exit()
if words[0] == "bench": print("rueda: what?", file=sys.stderr); print("more", file=sys.stderr); sys.exit(2)
if words[0] == "doctor":
  report = {"verdict": "will not work", "findings": [], "transfers": [], "largest_batch": {}}
  json.dump(report, open(option("json"), "w")); sys.exit(1)
os.makedirs(option("run-dir"))
json.dump({"outcome": "completed", "epochs": [{"parameter_hash": words[words.index("--transport") + 1]}],
  "ranks": [{"device": "a GPU"}]}, open(option("run-dir") + "/run.json", "w"))
"""
PRETENDED_MPIRUN = """#!/bin/sh
while [ "$1" != -n ]; do shift; done
shift 2
exec "$@"
"""


def says(text, code=0):
    return f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n"


PASSED = says("All tests passed (8 assertions in 5 test cases)")
PRETENDED = {
    "rueda": PRETENDED_RUEDA, "cuda": says("test cases: 5 | 3 passed | 2 failed", 1), "backend_cuda": PASSED,
    "parity_cuda": PASSED, "mpi": says("skipped: no CUDA device: none\n3 passed, 0 failed, 2 skipped"),
    "mpirun": PRETENDED_MPIRUN, "nvidia-smi": says("Pretended GPU"),
    "compute-sanitizer": says("========= Invalid read\n========= ERROR SUMMARY: 1 error", 99),
}  # fmt: skip


class GpuCheckTest(unittest.TestCase):
    def check(self, *options):
        """How it ended, and the results by name."""
        with tempfile.TemporaryDirectory(prefix="rueda-pretended-") as folder:
            for name, text in PRETENDED.items():
                Path(folder, name).write_text(text, encoding="utf-8")
                Path(folder, name).chmod(0o755)
            words = [ROOT / "jobs" / "gpu-check.sh", "--out", folder, "--programs", folder, *options]
            done = subprocess.run(
                words, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
            written = Path(folder, "gpu-check.json")
            results = json.loads(written.read_text(encoding="utf-8"))["results"] if written.exists() else []
        return done, {one["name"]: one for one in results}

    def test_failures_are_reported_with_what_was_found(self):
        done, results = self.check("--only", "tests,ring,sanitizer")
        self.assertEqual(done.returncode, 1, done)
        for name, why in (
            ("doctor", "exit code 1: will not work"), ("cuda tests", "2 of 5 cases failed"),
            ("mpi tests on 2", "skipped: no CUDA device: none"), ("train on 2", "different bits"),
            ("all-reduce on 2, device", "exit code 2: rueda: what?"),
        ):  # fmt: skip
            self.assertIn(why, results[name]["why"])
        self.assertIn("Invalid read", str(results["racecheck"]["data"]["remarks"]))

    def test_bad_usage(self):
        done, _ = self.check("--only", "tests,colour")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("gpu-check: ", done.stderr)

    def test_the_floor_counts_the_networks(self):
        counted = {"resnet18": 11_173_962, "resnet50v2": 23_539_850, "resnet152v2": 58_208_394}
        self.assertEqual({model: floor.count(model, 32, "bf16").parameters for model in counted}, counted)


if __name__ == "__main__":
    main(0)
