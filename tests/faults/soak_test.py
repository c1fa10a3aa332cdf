#!/usr/bin/env python3
"""What soak.py makes of series, a short run that is flat, and runs that leak.

usage: soak_test.py RUEDA MPIEXEC LEAK_LIBRARY
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

import summary_line  # noqa: E402
from rueda_runs import environment  # noqa: E402
from soak_figures import Bounds, machine_figures, rank_figures, slope_per_hour  # noqa: E402
from soak_figures import step_figures, verdicts  # noqa: E402

# Small, so that memory settles within seconds. Files are looked at often, memory is what is asked.
SHORT = ["--minutes", "0.3", "--settle-seconds", "6", "--every", "0.5", "--", "--image-size", "16"]
SHORT += ["--data-limit", "1024"]


def series(**rules):
    """Samples of a hundred seconds; each rule is a function of the second."""
    flat = {"rss_mb": lambda s: 100 + (s % 7) / 10, "files": lambda s: 20, "threads": lambda s: 3}
    flat.update(rules)
    return [dict({key: of(s) for key, of in flat.items()}, seconds=float(s)) for s in range(100)]


def judged(samples, steps=None):
    lines = verdicts([rank_figures(series()), rank_figures(samples)], [], steps, Bounds())
    return {line["what"]: (line["flat"], line["fails"]) for line in lines}


class Figures(unittest.TestCase):
    def test_a_slope_does_not_see_single_odd_values(self):
        points = [(float(s), 5 + 2 * s / 3600) for s in range(100)]
        points[50] = (50.0, 1e6)
        self.assertAlmostEqual(slope_per_hour(points), 2)

    def test_noise_is_flat(self):
        flat = (True, False)
        self.assertEqual(judged(series()), {"memory": flat, "open files": flat, "threads": flat})

    def test_memory_that_grows(self):
        self.assertEqual(judged(series(rss_mb=lambda s: 100 + s / 5))["memory"], (False, True))

    def test_files_that_stay_open_and_files_that_come_and_go(self):
        self.assertEqual(judged(series(files=lambda s: 20 + s // 30))["open files"], (False, True))
        self.assertEqual(judged(series(files=lambda s: 20 + s % 3))["open files"], (True, False))

    def test_steps_that_get_slower_are_told(self):
        steps = step_figures([(float(s), 0.1 + s / 1000) for s in range(100)])
        self.assertEqual(judged(series(), steps)["step time"], (False, False))

    def test_the_course_of_steps(self):
        course = step_figures([(float(s), 0.1 if s < 50 else 0.2) for s in range(100)])["course"]
        self.assertEqual(course[0], (0.0, 100.0))
        self.assertEqual(course[-1], (98.0, 200.0))
        self.assertEqual(len(course), 50)

    def test_a_machine_that_becomes_slower(self):
        samples = [{"seconds": float(s), "loop_ms": 2 + s / 100, "copy_ms": 3} for s in range(100)]
        figures = machine_figures(samples)
        self.assertEqual((figures["copy_ms"]["first"], figures["copy_ms"]["last"]), (3, 3))
        self.assertAlmostEqual(figures["loop_ms"]["per_hour"], 36)

    def test_device_memory_that_grows(self):
        devices = [{"memory_mb": {"first": 1.0, "last": 20.0, "per_hour": 5.0}}]
        lines = verdicts([], devices, None, Bounds())
        self.assertTrue(lines[0]["what"] == "device memory" and lines[0]["fails"])


class Runs(unittest.TestCase):
    def soak(self, *more, **env):
        """Its exit code, output and figures."""
        rueda, mpiexec = PATHS[:2]
        with tempfile.TemporaryDirectory(prefix="rueda-soak-test-") as folder:
            record = Path(folder) / "soak.json"
            words = [str(HERE / "soak.py"), "--rueda", rueda, "--mpiexec", mpiexec]
            words += ["--json", str(record), *SHORT, *more]
            result = subprocess.run(
                [sys.executable, *words], env=environment(env), capture_output=True, text=True, timeout=120
            )
            told = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        return result, told

    def test_two_ranks_are_flat(self):
        result, record = self.soak()
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(len(record["samples"]), 2)
        for rank in record["ranks"]:
            self.assertGreater(rank["samples"], 10)
        self.assertRegex(result.stdout, r"(?m)^the machine: the same loop takes [\d.]+ ms of CPU time, then")
        self.assertRegex(result.stdout, r"(?m)^memory: flat: .*\nopen files: flat: constant$")

    def test_leaks_are_seen(self):
        for what, told in (("memory", "memory"), ("files", "open files")):
            with self.subTest(what=what):
                result, _ = self.soak(LD_PRELOAD=PATHS[2], RUEDA_TEST_LEAK=what)
                self.assertEqual(result.returncode, 1, result)
                self.assertIn(f"\n{told}: NOT FLAT: ", result.stdout)

    def test_a_run_that_ends_by_itself(self):
        result, _ = self.soak("--epochs", "1", "--data-limit", "64")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("ended by itself", result.stderr)
        result, _ = self.soak("--model", "rasnet")
        self.assertIn("--model 'rasnet'", result.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    PATHS = [os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])]
    summary_line.main(sys.argv[4:])
