#!/usr/bin/env python3
"""soak.py, in short: series are judged, a short run is flat, and one that leaks is not.

usage: soak_test.py RUEDA MPIEXEC LEAK_LIBRARY
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

import summary_line  # noqa: E402
from rueda_runs import environment  # noqa: E402
from soak_figures import Bounds, rank_figures, step_figures, verdicts  # noqa: E402

# Small, so that memory settles within seconds.
SHORT = ["--minutes", "0.2", "--settle-seconds", "4", "--every", "0.4", "--"]
SHORT += ["--image-size", "16", "--data-limit", "1024"]


def judged(steps=None, **rules):
    """Of a hundred seconds: which verdicts are not flat. Each rule is a function of the second."""
    flat = {"rss_mb": lambda s: 100 + (s % 7) / 10, "files": lambda s: 20, "threads": lambda s: 3}
    samples = [dict({key: of(s) for key, of in {**flat, **rules}.items()}, seconds=float(s)) for s in range(100)]
    return [line["what"] for line in verdicts([rank_figures(samples)], [], steps, Bounds()) if not line["flat"]]


class Soak(unittest.TestCase):
    def test_series(self):
        slower = step_figures([(float(s), 0.1 + s / 1000) for s in range(100)])
        self.assertEqual(judged(), [])
        self.assertEqual(judged(files=lambda s: 20 + s % 3), [])
        self.assertEqual(judged(rss_mb=lambda s: 100 + s / 5), ["memory"])
        self.assertEqual(judged(files=lambda s: 20 + s // 30), ["open files"])
        self.assertEqual(judged(slower), ["step time"])

    def soak(self, **env):
        rueda, mpiexec = PATHS[:2]
        command = [sys.executable, HERE / "soak.py", "--rueda", rueda, "--mpiexec", mpiexec, *SHORT]
        return subprocess.run(command, env=environment(env), capture_output=True, text=True, timeout=120, check=False)

    def test_runs(self):
        flat = self.soak()
        self.assertEqual(flat.returncode, 0, flat)
        self.assertRegex(flat.stdout, r"(?m)^memory: flat: .*\nopen files: flat: constant$")
        leak = self.soak(LD_PRELOAD=PATHS[2], RUEDA_TEST_LEAK="memory,files")
        self.assertEqual(leak.returncode, 1, leak)
        self.assertRegex(leak.stdout, r"(?m)^memory: NOT FLAT: .*\nopen files: NOT FLAT: ")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    PATHS = [os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])]
    summary_line.main(sys.argv[4:])
