#!/usr/bin/env python3
"""jobs/gpu-check.sh rehearsed on the stand-in: its options are those of the programs, and it reads what
they write. Programs of tests are left out; they have suites of their own.

usage: gpu_rehearsal_test.py RUEDA_STANDIN
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from rueda_runs import ProgramCase, environment, main

SCRIPT = Path(__file__).resolve().parents[2] / "jobs" / "gpu-check.sh"


class Rehearsal(unittest.TestCase):
    def test_every_part_runs(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-rehearsal-")
        self.addCleanup(folder.cleanup)
        folder = Path(folder.name)
        os.symlink(Path(ProgramCase.paths[0]).resolve(), folder / "rueda")
        words = [SCRIPT, "--rehearsal", "--programs", folder, "--out", folder, "--minutes", "15"]
        words += ["--only", "tests,bench,ring"]
        done = subprocess.run(
            words, env=environment({"RUEDA_TORCH_PYTHON": "/nowhere"}), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=1000, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done)
        report = json.loads((folder / "gpu-check.json").read_text(encoding="utf-8"))
        left_out = {"cuda tests", "backend tests", "parity tests", "rates"}
        left_out |= {f"mpi tests on {ranks}" for ranks in (1, 2)}
        for one in report["results"]:
            status = "not run" if one["name"] in left_out else "passed"
            self.assertEqual(one["status"], status, one)
        self.check_figures([one for one in report["results"] if one["status"] == "passed"])
        text = (folder / "gpu-check.md").read_text(encoding="utf-8")
        self.assertIn("A rehearsal", text)

    def check_figures(self, results):
        data = {one["name"]: one["data"] for one in results}
        self.assertIn("works", data["doctor"]["verdict"])
        for part, number in (("bench", 3), ("ring", 2), ("tests", 4)):
            self.assertEqual(sum(one["part"] == part for one in results), number, part)
        for one in results:
            if one["part"] == "bench":
                rueda = one["data"]["contestants"]["rueda"]
                for what in ("images_per_second", "peak_memory_bytes", "share_of_floor"):
                    self.assertGreater(rueda[what], 0)
            if one["part"] == "ring":
                rows = [row["algorithm"] for row in one["data"]["rows"]]
                self.assertEqual(rows, ["ring", "fixed", "mpi"] * 2)


if __name__ == "__main__":
    main(1)
