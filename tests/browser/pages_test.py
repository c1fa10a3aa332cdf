#!/usr/bin/env python3
"""The pages of reports in a real browser: nothing runs out of the screen or the paper, every heading, link and picture
is there, and every text can be read, in light and dark. jobs/check/pages.sh installs the browser.

usage: pages_test.py [CASE]
"""

import contextlib
import importlib.util
import os
import re
import sys
import tempfile
import unittest
import zlib
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "jobs"), str(ROOT / "tests" / "cli"), str(ROOT / "tests" / "reader")]
import made_report as reports  # noqa: E402
from browser import Browser, find_browser  # noqa: E402
from rueda_runs import longer, main, part  # noqa: E402

FACTS = (Path(__file__).parent / "page_facts.js").read_text(encoding="utf-8")
MISSING = ""
if not find_browser():
    MISSING = "no Chromium: jobs/check/pages.sh installs it"
elif not all(map(importlib.util.find_spec, ("jinja2", "matplotlib", "numpy", "pandas"))):
    MISSING = "this Python lacks a library of the reader"
if not MISSING:
    os.environ.update(MPLBACKEND="Agg", MATPLOTLIBRC=os.devnull)
    from made import made_run
    from matplotlib.image import imread
    from reader.charts.chart import PRINTED, WIDTH
    from reader.charts.every_chart import charts_of
    from reader.findings.report_json import report_json
    from reader.handin.answers import first_answers, parse_answers
    from reader.handin.course_page import parse_course
    from reader.handin.document import document_of
    from reader.handin.layouts import layout_tables
    from reader.page import output
    from reader.page.render import hand_in
    from reader.report import Report
    from reader.study.figures import evaluate
    from reader.study.observation import observe_all
    from reader.study.series import make_series

SCREENS = [(width, dark) for width in (1280, 390) for dark in (False, True)]
SHADOW = 12  # pixels
PAPER = 1032  # pixels of A4, landscape, between its margins
UPRIGHT = 680  # the same upright
LONG = "a_label_that_goes_on_and_on_without_a_place_to_break_it_and_says_everything_about_the_options_of_its_runs"
COURSES, LAB = {"resnet50v2": 8.0,
                "resnet152v2": 20.0}, {"resnet18": 4.0}  # networks, and seconds of an epoch on one rank
REHEARSED = {"resnet50v2": 8.0, "resnet101v2": 14.0, "resnet18": 30.0}
COURSE = """# A course: tasks and hand-in
## Task 2: A table that no run gives
**Tables and charts**: `lab5_task_2`, `lab5_task_3`
> The first epoch took ___ s, the second ___ s.
## Task 4: Text alone
```sh
build/rueda train --a-command that --goes-on-and-on --and-on --without-an-end-to-it --run-dir runs/of-a-long-name
```
> Speedup hides ___.
> Throughput hides ___.
## Task 6: One network
**Tables and charts**: `lab5_task_6_*`
> On four GPUs an epoch takes ___ s instead of ___ s: speedup ___, efficiency ___ %. From two to four, throughput grows
> by ___ % while each GPU delivers ___ % less. Most is lost by ___.

> **Explain**: Is the speedup nearly linear? When is another GPU worth its cost?
## Task 8: Both networks
**Tables and charts**: `lab5_task_8_*`
> The larger network is slower, because ___.
"""
MATRICES = rb"(\S+) 0 0 \S+ \S+ \S+ cm\n(?:[^\n]*(?<! cm)\n)*(\S+) 0 0 \2 \S+ \S+ cm"
HEAD = "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"


def scales_of(pdf):
    """Of the pages of a PDF that Chromium wrote, each of which begins with two matrices: 1 for 0.75 points a pixel."""
    found = set()
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        with contextlib.suppress(zlib.error):
            if match := re.match(MATRICES, zlib.decompress(stream)):
                found.add(round(float(match[1]) * float(match[2]) / 0.75, 2))
    return found


def run_report():
    """Of a single run with an evaluation."""
    run = reports.run("runs/one", evaluation=reports.evaluation(("cat", LONG)))
    measured = {"hosts": ["node1"], "devices": ["CPU A"], "from": "2026-11-28T08:00:00Z", "to": "2026-11-28T08:00:00Z",
                "versions": [{"name": "rueda", "versions": ["1.0.0"]}],
                "commands": [{"run": "runs/one", "command": LONG}]}  # fmt: skip
    return reports.report([reports.alone("resnet20", "runs/one")], [reports.table()], runs=[run], measured=measured)


def study_report():
    """With labels that nothing can break, findings that are folded, predictions, and figures that are not
    determined."""
    one, other = reports.resnet20(), {**reports.resnet20(), "label": LONG, "id": "s2"}
    one["points"][1]["efficiency"]["why"] = "repeats leave anything from 0 to 100 %"
    findings = [{"about": LONG, "text": f"Sentence {i} about {LONG}."} for i in range(6)]
    table = reports.table(rows=[["resnet20", 2, 5.0, None], [LONG, 4, 13.6, 0.84]])
    table["not_determined"] = [{"row": 0, "key": "efficiency", "why": "a reason"}]
    forecast = {"title": "ring", "rows": [{"ranks": p, "epoch_seconds": 8 / p} for p in (1, 2, 4, 8)]}
    return reports.report([one, other], [table], findings=findings,
                          predictions=[{"rueda_predict": 1, "forecast": forecast}])


def comparison_report():
    runs = [reports.run(name, phases=reports.phases(forward=0.03)) for name in ("one", "two")]
    comparison = {"runs": runs, "findings": ["A is *faster*."], "tables": [reports.table(title="Differing")]}
    series = [reports.alone("m1", "one"), reports.alone("m2", "two")]
    return reports.report(series, runs=runs, comparison=comparison)


def _runs(models, batches):
    """On 1, 2 and 4 ranks."""
    for model, seconds in models.items():
        for ranks in (1, 2, 4):
            for batch in batches:
                epoch = seconds / ranks * (1 + 0.05 * ranks)
                phases = {"forward": 0.3 * epoch, "backward": 0.6 * epoch, "all_reduce": 0.1 * epoch}
                run = made_run(model, ranks, batch, 1280, [1.5 * epoch] + 5 * [epoch], epoch / 10, phases, 0.001,
                               0.002, 0.001)
                run.file = Path(f"runs/{model}-{ranks}-{batch}/run.json")
                yield run


def layout_report(layout, networks=None):
    """As `rueda report --layout` makes it of runs."""
    asked = (networks or COURSES, (32,)) if layout != "nyu" else (LAB, (32, 128))
    seen = observe_all(list(_runs(*asked)))
    report = Report("Hand-in", "rueda 1.0.0", evaluate(make_series(seen)))
    report.layouts = {layout: layout_tables(layout, report.series, seen)}
    return report_json(report)


@unittest.skipIf(MISSING, MISSING)
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-pages-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def check(self, facts):
        """Of any look."""
        self.assertGreater(facts["texts"], 10)
        self.assertLessEqual(facts["contentWidth"], facts["width"], "sideways scroll")
        self.assertEqual((facts["beyond"], facts["deadLinks"], facts["weak"]), ([], [], []))
        self.assertEqual((facts["nameless"], facts["twice"]), ([], []))
        self.assertNotIn("", facts["tables"])
        self.assertEqual([one for one in facts["headings"] if not one[2] or not one[1]], [])
        for picture in facts["pictures"]:
            self.assertRegex(picture["alternative"], r"^(Chart\. \S|Test image \d+, class )")
            self.assertTrue(picture["loaded"] and picture["shown"] and picture["keepsShape"], picture)
        self.assertEqual(self.browser.messages, [])

    def check_shadows(self, scrolls):
        """A table that goes on has a shadow at its right edge, and one that fits has none. Less than a shadow's width
        is the empty end of a cell."""
        picture = imread(BytesIO(self.browser.screenshot()))[:, :, :3]
        for box in scrolls:
            rows = picture[int(box["top"]) + 8 : int(box["bottom"]) - 8]
            x = int(box["right"]) - 1
            paper = picture[int(box["top"]) - 3, x]
            dark = (abs(rows[:, x] - paper).max(axis=1) > 0.1).mean()
            if box["hidden"] > SHADOW:
                self.assertGreater(dark, 0.7, box)
            elif box["hidden"] <= 1:
                self.assertLess(dark, 0.3, box)

    def looks(self, path, paper=PAPER):
        """Opens a page and checks it in every look. Returns its facts on paper of this width."""
        self.browser.open(path)
        for width, dark in SCREENS:
            with self.subTest(page=path.name, width=width, dark=dark):
                self.browser.look(width, dark=dark)
                facts = self.browser.value(FACTS)
                self.check(facts)
                self.assertEqual(facts["back"], 1)
                self.assertEqual([one for one in facts["pages"] if not (path.parent / one).is_file()], [])
                self.check_shadows(facts["scrolls"])
        self.browser.look(paper, printed=True)
        with self.subTest(page=path.name, printed=True):
            facts = self.browser.value(FACTS)
            self.check(facts)
            self.assertEqual((facts["paperBeyond"], facts["folded"]), ([], []))
        return facts

    def pages_of(self, content):
        """(facts of report.html, facts of slides.html, its pages as a PDF)."""
        output.write_all(self.folder, content, ("png",), True)
        facts = [self.looks(self.folder / name) for name in ("report.html", "slides.html")]
        self.assertEqual([one["pages"] for one in facts], [["slides.html"], ["report.html"]])
        return *facts, self.sheets_of_paper()

    def sheets_of_paper(self):
        """How many there are, none of them shrunk: what is wider than the paper shrinks all that is printed."""
        pdf = self.browser.pdf()
        self.assertEqual(scales_of(pdf), {1.0})
        return max(map(int, re.findall(rb"/Count (\d+)", pdf)))

    def check_headings(self, page, *wanted):
        second = [words for tag, words, _ in page["headings"] if tag == "H2"]
        self.assertEqual(page["links"], second)  # the list of parts
        self.assertLessEqual(set(page["titled"]), set(page["listed"]))
        for heading in wanted:
            self.assertIn(heading, second)

    def test_the_page_of_a_run(self):
        page, slides, _ = self.pages_of(run_report())
        self.check_headings(page, "Summary", "Tables")
        self.assertIn("The first test images", [words for _, words, _ in page["headings"]])
        self.assertEqual(len(page["pictures"]), 2 + 1 + 2 + 1 + 2)  # curves, matrix, images, phases, bars
        self.assertEqual(slides["headings"][0][:2], ["H1", "A study"])

    def test_the_page_of_a_study(self):
        page, slides, paper = self.pages_of(study_report())
        self.check_headings(page, "Summary", "Findings", "Tables", "Charts: Weak scaling",
                            "Charts: Predicted and measured")
        self.assertEqual(len(page["pictures"]), len(charts_of(study_report())))
        sheets = [words for tag, words, _ in slides["headings"] if tag == "H2"]
        self.assertIn("Speedup, weak scaling", sheets)
        self.assertGreaterEqual(paper, 1 + len(sheets))  # a sheet begins a page

    def test_the_page_of_a_comparison(self):
        page, _, _ = self.pages_of(comparison_report())
        self.check_headings(page, "Comparison", "Summary")

    @longer
    def test_the_page_of_each_layout(self):
        tasks = (("lab5", "Task 6"), ("nyu", "Part 1"), ("book", "Task 10.5"), ("sa-miri", "Task 10.6"))
        for layout, task in part(tasks, 2):
            with self.subTest(layout):
                content = layout_report(layout)
                page, slides, paper = self.pages_of(content)
                self.check_headings(page, "Summary", f"Layout {layout}")
                sheets = [words for tag, words, _ in slides["headings"] if tag == "H2"]
                self.assertTrue(any(words.startswith(task) for words in sheets), sheets)
                self.assertGreaterEqual(paper, 1 + len(sheets))


    def test_the_page_of_a_hand_in(self):
        content, course = layout_report("lab5"), parse_course(COURSE)
        drawn = output.draw_all(content, (), printed=True)[1]
        answers = parse_answers(first_answers(course, course.title), course)
        titles = ["Task 2: A table that no run gives", "Task 4: Text alone", "Task 6: One network",
                  "Task 8: Both networks"]
        charts = [f"{title}: charts" for title in titles[2:]]
        for form, paper, parts, sheets in (
            ("slides", PAPER, [*titles[:2], *(one for pair in zip(titles[2:], charts) for one in pair)], 7),
            ("document", UPRIGHT, titles, 5),
        ):
            document = document_of("lab5" if form == "slides" else "nyu", course, answers, content, drawn)
            page = self.folder / f"{form}.html"
            page.write_text(hand_in(document), encoding="utf-8")
            facts = self.looks(page, paper)
            self.assertEqual([words for tag, words, _ in facts["headings"] if tag == "H2"], parts)
            self.assertEqual((facts["links"], facts["pages"]), (parts, []))
            self.assertEqual(len(facts["pictures"]), 8)
            least = min(one["inches"] for one in facts["pictures"])
            self.assertGreaterEqual(least, WIDTH * PRINTED * 5 / 6, form)  # so that the least letters have 7 points
            self.assertEqual(self.sheets_of_paper(), sheets, form)  # of slides one for each task, and the front

    def test_three_networks_and_what_stands_for_one_have_a_page_for_each_slide(self):
        content = layout_report("sa-miri", REHEARSED)
        course = parse_course((ROOT / "docs" / "courses" / "sa-miri.md").read_text(encoding="utf-8"))
        drawn = output.draw_all(content, (), printed=True)[1]
        answers = parse_answers(first_answers(course, course.title), course)
        page = self.folder / "slides.html"
        page.write_text(hand_in(document_of("sa-miri", course, answers, content, drawn)), encoding="utf-8")
        facts = self.looks(page)
        slides = [words for tag, words, _ in facts["headings"] if tag == "H2"]
        self.assertLessEqual({f"Task 10.{number}: charts" for number in (
            "7: ResNet152V2", "9: ResNet101V2 alone", "9: All three")}, set(slides))
        # Of 10.7, 10.8 and all three of 10.9 a slide of words and one of charts; 10.10 and 10.11.
        self.assertEqual(page.read_text(encoding="utf-8").count("resnet18 stands for resnet152v2."), 8)
        least = min(one["inches"] for one in facts["pictures"])
        self.assertGreaterEqual(least, WIDTH * PRINTED * 5 / 6)
        self.assertEqual(self.sheets_of_paper(), 1 + len(slides))

    def test_long_answers_and_code_stay_on_their_slide(self):
        content, course = layout_report("lab5"), parse_course(COURSE)
        text = first_answers(course, course.title)
        code = "```\n" + f"    replica.compute({'x' * 70});\n" * 74 + "```"
        for blank, words in (("its cost?\n\n___", "its cost?\n\n" + "A sentence about efficiency and its price. " * 30),
                             ("Throughput hides ___.", f"Throughput hides cost.\n\n{code}")):
            self.assertIn(blank, text)
            text = text.replace(blank, words)
        drawn = output.draw_all(content, (), printed=True)[1]
        document = document_of("lab5", course, parse_answers(text, course), content, drawn)
        page = self.folder / "slides.html"
        page.write_text(hand_in(document), encoding="utf-8")
        self.looks(page)
        self.assertEqual(self.sheets_of_paper(), 7)

    def test_what_reaches_the_end_of_the_paper_shrinks_nothing(self):
        """Answers of any length, so that in some of them notes, tables or code lie across the end of a page."""
        content, course = layout_report("lab5"), parse_course(COURSE)
        text, asked = first_answers(course, course.title), "The larger network is slower, because ___."
        self.assertIn(asked, text)
        for lines in (*range(1, 30, 2), 300):
            code = "x = 1;\n" * lines
            said = parse_answers(text.replace(asked, f"More.\n\n```\n{code}```"), course)
            page = self.folder / "slides.html"
            page.write_text(hand_in(document_of("lab5", course, said, content, [])), encoding="utf-8")
            self.browser.open(page)
            with self.subTest(lines=lines):
                self.assertGreaterEqual(self.sheets_of_paper(), 4)


@unittest.skipIf(MISSING, MISSING)
class Checks(Pages):
    """What is wrong with a page is seen."""

    test_the_page_of_a_run = test_the_page_of_a_study = None
    test_three_networks_and_what_stands_for_one_have_a_page_for_each_slide = None
    test_the_page_of_a_comparison = test_the_page_of_each_layout = test_the_page_of_a_hand_in = None
    test_long_answers_and_code_stay_on_their_slide = test_what_reaches_the_end_of_the_paper_shrinks_nothing = None

    def facts(self, body, style="", **look):
        page = self.folder / "page.html"
        page.write_text(f"<!DOCTYPE html><html>{HEAD}<style>{style}</style><body>{body}</body></html>",
                        encoding="utf-8")
        self.browser.open(page)
        self.browser.look(**{"width": 390, **look})
        return self.browser.value(FACTS)

    def test_what_runs_out_of_the_screen(self):
        facts = self.facts("<div style='width: 900px'>wide</div><table style='width: "
                           "900px'><tr><td>cell</td></tr></table>")
        self.assertGreater(facts["contentWidth"], facts["width"])
        self.assertEqual((facts["beyond"][0], facts["paperBeyond"]), ("DIV wide", ["cell"]))

    def test_text_that_cannot_be_read(self):
        body = "<p style='color: #888'>grey</p><div style='background: #000'><p>black</p></div><p>fine</p>"
        self.assertEqual([words for _, words in self.facts(body)["weak"]], ["P grey", "P black"])
        dark = self.facts("<p>fine</p><p style='color: #444'>grey</p>", ":root { color-scheme: light dark }", dark=True)
        self.assertEqual([words for _, words in dark["weak"]], ["P grey"])
        self.assertAlmostEqual(
            self.facts("<p style='color: #767676'>just</p><p style='color: #777'>less</p>")["weak"][0][0], 4.48,
            delta=0.01)

    def test_links_headings_and_pictures_that_are_not_there(self):
        facts = self.facts("<a href='#none'>dead</a><h2 style='display: none'>hidden</h2><img src='data:,x'>")
        self.assertEqual((facts["deadLinks"], facts["headings"]), (["dead"], [["H2", "hidden", False]]))
        self.assertEqual((facts["pictures"][0]["alternative"], facts["pictures"][0]["loaded"]), ("", False))

    def test_ids_that_stand_twice_and_pages_that_are_not_there(self):
        facts = self.facts("<p id='a'>one</p><p id='a'>two</p><p id='b'>three</p><a href='report.html'>a page</a>")
        self.assertEqual((facts["twice"], facts["pages"]), (["a"], ["report.html"]))

    def test_messages_on_the_console(self):
        self.facts("<img src='file:///nowhere.png'>")
        self.assertTrue(self.browser.messages)

    def test_what_stays_folded_on_paper(self):
        facts = self.facts("<details><summary>more</summary><ul><li>one</li></ul></details>", printed=True)
        self.assertEqual(facts["folded"], ["one"])


if __name__ == "__main__":
    main(0)
