#!/usr/bin/env python3
"""What jobs/check/tutorial.sh makes of outputs and figures, on made ones; the test "tutorial" runs its commands.

usage: pages_test.py
"""

import sys
import tempfile
import unittest
from pathlib import Path

from made_report import estimate
from rueda_runs import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs" / "check"))
import tutorial  # noqa: E402
import tutorial_figures  # noqa: E402

OUTPUT = "start\nEpoch 1/2 - 1.5 s\nEpoch 2/2 - 1.25 s\n\nend\n\n"


def report(efficiency, *texts):
    """Of a weak series on 1 and 2 ranks, where one rank takes 8 s."""
    seconds = 4 / efficiency
    one = {"ranks": 1, "images": 3000.0, "epoch_seconds": estimate(8.0)}
    two = {"ranks": 2, "images": 3000.0, "epoch_seconds": estimate(seconds), "speedup": estimate(2 * efficiency),
           "efficiency": estimate(efficiency, efficiency - 0.01, efficiency + 0.01)}
    return {"series": [{"scaling": "strong", "label": "other", "points": []},
                       {"scaling": "weak", "label": "s", "points": [one, two]}],
            "findings": [{"about": "other", "text": "most by transfer (0.10)."}]
                        + [{"about": "s", "text": text} for text in texts]}  # fmt: skip


class SectionTest(unittest.TestCase):
    def test_ends_are_inside_or_outside(self):
        epochs = ["Epoch 1/2 - 1.5 s", "Epoch 2/2 - 1.25 s"]
        self.assertEqual(tutorial.section(OUTPUT, "^Epoch 1 ... ^Epoch 2"), epochs)
        self.assertEqual(tutorial.section(OUTPUT, "^Epoch 1 ..< ^Epoch 2"), epochs[:1])
        self.assertEqual(tutorial.section(OUTPUT, "^Epoch 1 ... ^$"), epochs)
        self.assertEqual(tutorial.section(OUTPUT, ""), OUTPUT.rstrip().split("\n"))

    def test_what_is_not_printed_is_said(self):
        for shown in ("^nothing", "^Epoch 1 ... ^nothing"):
            with self.assertRaisesRegex(tutorial.Unfit, "nothing"):
                tutorial.section(OUTPUT, shown)


class ShapeTest(unittest.TestCase):
    def test_numbers_spaces_and_chance_do_not_count(self):
        one = ["  step   1.5  -  2e-3", "note: load", "  transfer 90.1 %  low: steps wait",
               "3,000 images, 433fb42522ce984b"]
        other = ["  step 17.25  0.5  -", "  transfer 99 %", "144 images, 0123456789abcdef"]
        self.assertEqual(tutorial.shape(one), tutorial.shape(other))

    def test_words_and_lines_count(self):
        self.assertNotEqual(tutorial.shape(["step 1"]), tutorial.shape(["steps 1"]))
        self.assertNotEqual(tutorial.shape(["step 1"]), tutorial.shape(["step 1", "step 2"]))


class AnswerTest(unittest.TestCase):
    """The sentence holds on each side of its limits."""

    def answer(self, efficiency, *texts):
        return tutorial_figures.answer(report(efficiency, *texts), together=90, alone=100, ranked=80)

    def test_a_cause_is_named_with_its_meaning(self):
        text = self.answer(0.8, "At 2 ranks 20 % is lost, most by transfer (0.85).")
        self.assertIn("takes 5.00 s in place of 8.00 s, which is 1.60 times as fast (efficiency 80.0 %; repeats leave "
                      "79.0 % to 81.0 %); most of the loss is transfer (0.85): steps waited", text)
        self.assertIn("make 90.0 % of the speed of one alone each, and the two ranks of one training 80.0 %.", text)

    def test_no_cause_is_made_up(self):
        self.assertIn("no single cause", self.answer(0.8, "repeats do not agree by which factor most."))

    def test_nothing_lost(self):
        for efficiency in (0.98, 1.03):
            self.assertIn("next to nothing is lost.", self.answer(efficiency))
        self.assertNotIn("next to nothing", self.answer(0.979))


class PageTest(unittest.TestCase):
    def go(self, text):
        with tempfile.TemporaryDirectory(prefix="rueda-pages-") as name:
            folder = Path(name)
            (folder / "jobs").mkdir()
            (folder / "jobs" / "env.sh").touch()
            (folder / "page.md").write_text(text, encoding="utf-8")
            page = tutorial.Tutorial(folder / "page.md", folder, check=False)
            page.go()
            return "\n".join(page.lines) + "\n"

    def test_blocks_are_written_in_order(self):
        page = "```sh\necho one 1; echo two 2\n```\n\ntext\n\n<!-- shown: ^two -->\n```text\n{}```\n"
        self.assertEqual(self.go(page.format("old\n")), page.format("two 2\n"))

    def test_a_command_fails_only_where_it_may(self):
        block = "```sh\nfalse\n```\n"
        self.assertEqual(self.go("<!-- not run -->\n" + block), "<!-- not run -->\n" + block)
        self.assertEqual(self.go("<!-- fails -->\n" + block), "<!-- fails -->\n" + block)
        for page in (block, "<!-- fails -->\n```sh\ntrue\n```\n"):
            with self.assertRaisesRegex(tutorial.Unfit, "exit code"):
                self.go(page)


if __name__ == "__main__":
    main(0)
