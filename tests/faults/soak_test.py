#!/usr/bin/env python3
"""soak.py, in short: a run is flat, and one that leaks is not.

usage: soak_test.py RUEDA MPIEXEC LEAK_LIBRARY
"""

import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

from rueda_runs import ProgramCase, environment, main  # noqa: E402

# Small, so that memory settles within seconds.
SHORT = ["--minutes", "0.15", "--settle-seconds", "4", "--every", "0.4", "--"]
SHORT += ["--image-size", "16", "--data-limit", "1024"]


class Soak(unittest.TestCase):
    def soak(self, words, env):
        rueda, mpiexec, _ = ProgramCase.paths
        command = [sys.executable, HERE / "soak.py", "--rueda", rueda, "--mpiexec", mpiexec, *SHORT, *words]
        return subprocess.run(command, env=environment(env), capture_output=True, text=True, timeout=120, check=False)

    def test_runs(self):
        leaks = {"LD_PRELOAD": os.path.abspath(ProgramCase.paths[2]), "RUEDA_TEST_LEAK": "memory,files"}
        with ThreadPoolExecutor() as pool:
            flat, leak = pool.map(self.soak, ([], ["--backend", "timed", "--compute", "5"]), ({}, leaks))
        self.assertEqual(flat.returncode, 0, flat)
        self.assertRegex(flat.stdout, r"(?m)^memory: flat: .*\nopen files: flat: ")
        self.assertEqual(leak.returncode, 1, leak)
        self.assertRegex(leak.stdout, r"(?m)^memory: NOT FLAT: .*\nopen files: NOT FLAT: ")


if __name__ == "__main__":
    main(3)
