#!/usr/bin/env python3
"""Debian's packages and the image's commands, in bare roots: jobs/check/packages.sh. usage: packages_test.py"""

import subprocess
import unittest
from pathlib import Path

from rueda_runs import environment, long, main

SCRIPT = Path(__file__).resolve().parents[2] / "jobs" / "check" / "packages.sh"


@long
class Packages(unittest.TestCase):
    def test_built_installed_run_and_removed(self):
        done = subprocess.run([SCRIPT], env=environment({}), capture_output=True, text=True, check=False)
        if done.returncode == 2:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    main(0)
