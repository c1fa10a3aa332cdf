#!/usr/bin/env python3
"""docs/results/h100.md says what its files and the program say, and jobs/check/h100.py sees where it does not.

usage: h100_test.py RUEDA
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/results/h100.md"
FILES = ROOT / "docs/results/h100"
EXPECTED = ROOT / "tests/gpu/expected.json"
# What the plan says of ResNet-18 on an H100, as the page has it: each change of the launches changes it.
PLAN = re.search(r"^\| resnet18@32, 128 \|.*?\|.*?\| [\d,]+ / ([\d,]+) \|", PAGE.read_text(encoding="utf-8"), re.M)[1]
PROGRAM = None


class H100(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page, self.files = Path(folder.name, "page.md"), Path(folder.name, "files")
        self.expected = Path(folder.name, "expected.json")
        shutil.copy(PAGE, self.page)
        shutil.copy(EXPECTED, self.expected)
        shutil.copytree(FILES, self.files)

    def check(self, *more):
        words = [sys.executable, ROOT / "jobs/check/h100.py", PROGRAM, "--page", self.page, "--files", self.files]
        words += ["--expected", self.expected, *more]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def change(self, path, old, new):
        text = path.read_text(encoding="utf-8")
        self.assertTrue(old in text, f"{path}: no {old}")
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def fails(self, *signs):
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertNotIn("Traceback", done.stderr)
        for sign in signs:
            self.assertIn(sign, done.stderr)

    def test_the_page_is_true_to_its_files(self):
        done = self.check()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        self.assertIn("no file carries 7,160", done.stdout)

    def test_a_changed_figure_of_a_table_is_seen(self):
        for old, new in (("| 76 | 1,479 |", "| 117 | 2,210 |"), ("| 0.59 | 0.50 |", "| 0.59 | 0.60 |"),
                         ("| 36.5 |", "| 63.5 |"), ("| 2,827 |", "| 2,872 |"),
                         (f"/ {PLAN} |", "/ 1,000 |")):  # fmt: skip
            with self.subTest(new):
                shutil.copy(PAGE, self.page)
                self.change(self.page, old, new)
                self.fails("recomputed: ")

    def test_a_changed_figure_of_a_sentence_is_seen(self):
        for old, new in (("27 %", "37 %"), ("59 the step's", "60 the step's"), ("**not met**", "**met**")):
            with self.subTest(new):
                shutil.copy(PAGE, self.page)
                self.change(self.page, old, new)
                self.fails("the page lacks: ")

    def test_a_figure_that_no_file_carries_is_seen_unless_it_is_marked(self):
        self.change(self.page, "## Does it live", "It took 31 seconds.\n\n## Does it live")
        self.fails("neither recomputed nor marked †: 31")
        self.change(self.page, "31 seconds", "31† seconds")
        self.assertEqual(self.check().returncode, 0)

    def add_row(self, row):
        head = "| falsified if |\n|---|---:|---|\n"
        self.change(self.page, head, head + row + "\n")

    def test_predictions_of_the_page_are_those_of_the_file(self):
        changes = ((self.page, "140 or more than 172 us", "141 or more than 172 us", "bounds 141, 172"),
                   (self.page, "more than 55†", "more than 55", "bounds 55, 25,000"),
                   (self.page, "faster†", "faster", "has neither a figure"),
                   (self.page, "| 50: 8 launches", "| 51: 8 launches", "does not say"),
                   (self.page, "| 50: 8 launches", "| about 50: 8 launches", "does not begin"),
                   (self.page, "| second pass of", "| another pass of", "begins 0 rows"),
                   (self.page, "| falsified if |", "| wrong if |", "no table of levers"),
                   (self.expected, '"within": [140, 172]', '"within": [140, 173]', "have 140, 173"),
                   (self.expected, '"holds": [null, 8]', '"holds": [null, 9]', "have 9"),
                   (self.expected, '"lever": "larger blocks"', '"lever": "s"', "have none"),
                   (self.expected, '"within": [51000,', '"within": [99000,', "not within its bounds"))  # fmt: skip
        for path, old, new, sign in changes:
            with self.subTest(new):
                shutil.copy(PAGE, self.page)
                shutil.copy(EXPECTED, self.expected)
                self.change(path, old, new)
                self.fails(sign)

    def test_a_lever_that_is_added_brings_its_figure(self):
        gain = re.search(r"([\d,]+) us less of 2,503", EXPECTED.read_text(encoding="utf-8"))[1]
        rate = re.search(r"would be ([\d,]+)", EXPECTED.read_text(encoding="utf-8"))[1]
        self.add_row("| a lever | 0 | it takes more than 1,383 |")
        self.fails('bounds 1,383, but in expected.json figures with "lever": "a lever ..." have none')
        figure = '{"step": "a step", "figure": ["a"], "within": [1383, null], "lever": "a lev", "says": "a"}'
        self.change(self.expected, '"figures": [', '"figures": [' + figure + ",")
        self.assertEqual(self.check().stderr, "")
        self.add_row("| another | 100; ResNet50V2 at 256: 5 | nothing is gained† |")
        more = int(gain) + 100
        self.fails(f"does not say of resnet18@32, batch 128, bf16: {more} us less of 2,503")
        self.change(self.expected, f"{gain} us less", f"{more} us less")
        self.change(self.expected, f"would be {rate}", f"would be {round(1.28e8 / (2503 - more), -2):,.0f}")
        self.change(self.expected, "[51000, ", "[51000, 1")
        self.assertEqual(self.check().stderr, "")

    def test_a_changed_file_is_seen(self):
        kernels, report = "kernels-resnet18-128-bf16.csv", "gpu-check-B.json"
        self.change(self.files / kernels, ",20,190144,", ",20,230144,")
        self.fails("batch norm: statistics")
        self.change(self.files / kernels, ",20,230144,", ",20,190144,")
        self.change(self.files / kernels, '_cudnn",8,204928', '_cudnn",7,204928')
        self.fails("the launches do not tell which were trials")
        self.change(self.files / kernels, '_cudnn",7,204928', '_cudnn",8,204928')
        text = json.loads((self.files / report).read_text(encoding="utf-8"))
        case = next(one for one in text["results"] if one["name"] == "resnet18@32, batch 128, bf16")
        case["data"]["contestants"]["rueda"]["images_per_second"] *= 1.2
        (self.files / report).write_text(json.dumps(text), encoding="utf-8")
        self.fails("61,363", "goals of 60,000")

    def test_tables_are_written_as_recomputed(self):
        text = self.page.read_text(encoding="utf-8")
        self.page.write_text(re.sub(f"1,479|{PLAN}", "1", text), encoding="utf-8")
        self.assertEqual(self.check("--write").returncode, 0)
        self.assertEqual(self.page.read_text(encoding="utf-8"), text)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
