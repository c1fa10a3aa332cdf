"""What the reader shares with the program: the definitions, and the cost model that it asks.

usage: program_test.py RUEDA
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

RUEDA = None
DEFINITIONS = Path(__file__).resolve().parents[2] / "jobs" / "reader" / "base" / "definitions.json"


def ask(command, text=""):
    return subprocess.run([RUEDA, command], input=text, capture_output=True, text=True, timeout=60, check=False)


class Definitions(unittest.TestCase):
    def test_the_file_is_what_the_program_prints(self):
        printed = ask("definitions")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertEqual(json.loads(DEFINITIONS.read_text("utf-8")), json.loads(printed.stdout),
                         f"run: rueda definitions > {DEFINITIONS}")


class Forecast(unittest.TestCase):
    def test_questions_that_are_none_end_with_one_message(self):
        for text, words in (("", "no JSON"), ("{", "no JSON from byte"), ("{}", "rueda_forecast is missing"),
                            ('{"rueda_forecast": 2, "sums": [{"machine": 0}]}', "sums[0].machine")):
            with self.subTest(text=text):
                answer = ask("forecast", text)
                self.assertEqual(answer.returncode, 2)
                self.assertEqual(answer.stdout, "")
                self.assertIn(words, answer.stderr)
                self.assertEqual(answer.stderr.count("\n"), 1)

    def test_no_help_lists_what_is_for_the_reader(self):
        text = ask("--help").stdout
        self.assertIn("predict", text)
        self.assertNotIn("  forecast", text)
        self.assertNotIn("  definitions", text)


if __name__ == "__main__":
    RUEDA = sys.argv.pop(1)
    unittest.main()
