#!/usr/bin/env python3
"""jobs/check/count_tests.py on made-up logs."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import summary_line

SCRIPT = Path(__file__).resolve().parents[2] / "jobs" / "check" / "count_tests.py"

CATCH_PASSED = "Filters: x\n=====\nAll tests passed (345 assertions in 12 test cases)\n\n"
CATCH_ONE = "All tests passed (1 assertion in 1 test case)\n"
CATCH_FAILED = "test cases: 12 | 10 passed |  2 failed\nassertions: 9 | 7 passed | 2 failed\n"
CATCH_TOLERATED = "test cases: 5 | 3 passed | 1 failed | 1 failed as expected\n"
CATCH_NO_PASS = "test cases: 1 | 1 failed\nassertions: 1 | 1 failed\n"


def count(*records, also=()):
    """Last line, exit code and whole output for a log of (result, stdout) pairs."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "testlog.json"
        lines = (
            json.dumps({"name": f"program {i}", "result": result, "stdout": stdout})
            for i, (result, stdout) in enumerate(records)
        )
        log.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return run(*(word for name in also for word in ("--also", name)), str(log))


def run(*arguments):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=20
    )
    return done.stdout.splitlines()[-1], done.returncode, done.stdout


class CountTests(unittest.TestCase):
    def test_counts_catch_cases_not_programs(self):
        line, code, _ = count(("OK", CATCH_PASSED), ("OK", CATCH_ONE))
        self.assertEqual((line, code), ("13 passed, 0 failed", 0))

    def test_counts_failed_catch_cases(self):
        line, code, output = count(("FAIL", CATCH_FAILED))
        self.assertEqual((line, code), ("10 passed, 2 failed", 1))
        self.assertIn("program 0", output)

    def test_expected_failures_of_catch_are_no_failures(self):
        line, _, _ = count(("FAIL", CATCH_TOLERATED))
        self.assertEqual(line, "4 passed, 1 failed")

    def test_a_summary_without_passed_cases(self):
        line, code, _ = count(("FAIL", CATCH_NO_PASS))
        self.assertEqual((line, code), ("0 passed, 1 failed", 1))

    def test_reads_the_line_of_scripts_with_and_without_skips(self):
        outputs = ("x\n7 passed, 0 failed\n", "3 passed, 0 failed, 2 skipped")
        line, code, _ = count(*(("OK", output) for output in outputs))
        self.assertEqual((line, code), ("10 passed, 0 failed, 2 skipped", 0))

    def test_a_program_without_summary_is_one_case(self):
        line, code, _ = count(("OK", "fine\n"), ("OK", None), ("FAIL", ""))
        self.assertEqual((line, code), ("2 passed, 1 failed", 1))

    def test_a_crash_or_time_limit_counts_as_failed(self):
        for result in ("FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS"):
            line, code, _ = count((result, "half of it\n"))
            self.assertEqual((line, code), ("0 passed, 1 failed", 1), result)

    def test_a_crash_behind_a_good_summary_counts_as_failed(self):
        line, code, _ = count(("FAIL", CATCH_PASSED))
        self.assertEqual((line, code), ("12 passed, 1 failed", 1))

    def test_the_last_summary_counts(self):
        line, _, _ = count(("OK", CATCH_ONE + CATCH_PASSED))
        self.assertEqual(line, "12 passed, 0 failed")

    def test_a_program_that_ran_nothing_failed(self):
        line, code, _ = count(("OK", "No tests ran\n"))
        self.assertEqual((line, code), ("0 passed, 1 failed", 1))

    def test_a_skipped_program_is_skipped(self):
        line, code, _ = count(("SKIP", ""), ("OK", ""))
        self.assertEqual((line, code), ("1 passed, 0 failed, 1 skipped", 0))

    def test_adds_what_ran_outside_meson(self):
        line, code, _ = count(("OK", ""), also=("lint=pass",))
        self.assertEqual((line, code), ("2 passed, 0 failed", 0))
        line, code, _ = count(("OK", ""), also=("lint=fail",))
        self.assertEqual((line, code), ("1 passed, 1 failed", 1))

    def test_a_missing_log_is_a_failure(self):
        line, code, _ = run("/nonexistent/testlog.json")
        self.assertEqual((line, code), ("0 passed, 1 failed", 1))


if __name__ == "__main__":
    summary_line.main()
