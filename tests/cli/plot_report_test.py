#!/usr/bin/env python3
"""jobs/plot_report.py as its users meet it: files, page, slides, and what it refuses.

usage: plot_report_test.py
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import made_report as made
import summary_line

JOBS = Path(__file__).resolve().parents[2] / "jobs"
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
ODD = 'a <script>alert("1")</script> & $x$'


def run(*words, script=JOBS / "plot_report.py", **environment):
    return subprocess.run(
        [sys.executable, script, *map(str, words)], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip


def pdf_pages(path):
    return len(re.findall(rb"/Type /Page\b", path.read_bytes()))


class Page(HTMLParser):
    """The texts of table cells, list items and headings, and all attributes."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.attributes, self.tags = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


@unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib in this Python")
class PlotCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-plots-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    @staticmethod
    def single():
        """Two charts: epoch time and throughput."""
        return made.series("a", [made.point(1, 8.0)], scaling="single")

    def drawn(self, content, *words):
        made.write(self.folder, content)
        result = run(self.folder, *words)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        return sorted(path.name for path in (self.folder / "plots").iterdir())

    def refused(self, *told, words=(), code=2, **environment):
        result = run(self.folder, *words, **environment)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        for word in told:
            self.assertIn(word, result.stderr)


class Files(PlotCase):
    def test_charts_page_and_slides(self):
        second = made.series("resnet18", [made.point(1, 40.0), made.point(2, 24.0)])
        names = self.drawn(made.report([made.resnet20(), second], [made.table()]), "--slides", "--formats", "png")
        four = ("efficiency", "epoch-time", "speedup", "throughput")
        wanted = [f"{of}-{what}.png" for of in ("resnet18-64-per-rank", "weak") for what in four]
        wanted += [f"resnet20-64-per-rank-{what}.png" for what in (*four, "phases", "communication", "busbw")]
        self.assertEqual(names, sorted(wanted))
        for name in names:
            self.assertEqual((self.folder / "plots" / name).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(pdf_pages(self.folder / "slides.pdf"), 4 + 3)  # four combined ones, three of resnet20

    def test_formats_and_what_an_earlier_report_left(self):
        names = self.drawn(made.report([self.single()]), "--formats", "pdf")
        self.assertEqual(names, ["single-epoch-time.pdf", "single-throughput.pdf"])
        self.assertEqual(pdf_pages(self.folder / "plots" / names[0]), 1)
        (self.folder / "plots" / "notes.txt").write_text("mine", encoding="utf-8")
        self.assertFalse((self.folder / "slides.pdf").exists())
        self.assertEqual(self.drawn(made.report([])), ["notes.txt"])
        self.assertIn("nothing to draw", (self.folder / "report.html").read_text(encoding="utf-8"))

    def test_equal_reports_give_equal_files(self):
        content = made.report([self.single()])
        self.drawn(content, "--slides")
        first = {path: path.read_bytes() for path in self.folder.rglob("*.p*")}
        self.drawn(content, "--slides")
        self.assertEqual({path: path.read_bytes() for path in self.folder.rglob("*.p*")}, first)
        self.assertEqual(len(first), 5)

    def test_a_page_of_slides_for_each_table_of_a_layout(self):
        tables = [made.table("book_task_10_4", "Task 10.4"), made.table("book_task_10_3", "Task 10.3")]
        content = made.report([self.single()], layouts={"book": tables})
        self.drawn(content, "--slides", "--formats", "png")
        self.assertEqual(pdf_pages(self.folder / "slides.pdf"), 2)


class Html(PlotCase):
    def page(self, content):
        self.drawn(content, "--formats", "png")
        return Page((self.folder / "report.html").read_text(encoding="utf-8"))

    def test_every_table_finding_and_chart_is_on_it(self):
        tables = [made.table(rows=[["resnet20", 2, 13.6, 0.84], ["resnet18", None, 0.0214, None]]),
                  made.table("other", "Another one")]  # fmt: skip
        content = made.report([made.resnet20()], tables, findings=["It scales."], layouts={"nyu": [made.table("n", "Mine")]})
        page = self.page(content)
        for text in ("A study", "Made with rueda 1.2.3", "Scaling", "Another one", "Mine", "It scales.", "13.600", "84.0",
                     "0.0214", "-", "Steady epochs."):  # fmt: skip
            self.assertIn(text, page.texts)
        self.assertEqual(page.tags.count("table"), 3)
        self.assertEqual(page.tags.count("img"), 7)

    def test_findings_stand_below_the_label_of_their_series(self):
        label = self.single()["label"]
        findings = [f"{label}: it is *fast*.", "Of the study.", f"{label}er: not of it."]
        self.page(made.report([self.single()], findings=findings))
        html = (self.folder / "report.html").read_text(encoding="utf-8")
        wanted = f"<li>Of the study.</li><li>{label}er: not of it.</li></ul>\n<h3>{label}</h3>\n<ul><li>it is <em>fast</em>."
        self.assertIn(wanted, html)

    def test_it_needs_nothing_from_elsewhere(self):
        page = self.page(made.report([self.single()], [made.table()]))
        self.assertEqual(page.tags.count("img"), 2)
        for name, value in page.attributes:
            if name in ("src", "href", "data", "action", "srcset", "background"):
                self.assertRegex(value, r"^(data:image/png;base64,|#)")
        self.assertFalse({"script", "link", "iframe", "object", "base"} & set(page.tags))
        self.assertNotRegex((self.folder / "report.html").read_text(encoding="utf-8"), r"https?:|@import|url\(")

    def test_texts_are_escaped(self):
        table = made.table(title=ODD, rows=[[ODD, 1, 1.0, 1.0]], notes=[ODD])
        table["columns"][0]["heading"] = ODD
        points = [made.point(1, 8.0), made.point(2, 5.0)]
        content = made.report([made.series("a", points, label=ODD, source=ODD)], [table], findings=[ODD], title=ODD)
        page = self.page({**content, "made_with": ODD, "layouts": {ODD: [table]}})
        self.assertNotIn("script", page.tags)
        self.assertGreaterEqual(page.texts.count(ODD), 10)


class Bad(PlotCase):
    def test_reports_that_cannot_be_read(self):
        self.refused("report.json cannot be read", "rueda report")
        whole = json.dumps(made.report([made.resnet20()], [made.table()]))
        for text, told in (
            (whole[: len(whole) // 2], "cut off"),
            ("[]", "no report of rueda"),
            ("[" * 100000, "no JSON"),
            (whole.replace('"schema_version": 1', '"schema_version": 2'), "schema_version 2"),
            (whole.replace('"points"', '"dots"', 1), "series[0]: points is missing"),
            (whole.replace('"ranks": 2,', '"ranks": 0,', 1), "series[0].points[1].ranks"),
            (whole.replace('"rows": [["resnet20", ', '"rows": [["resnet20", 1, '), "tables[0]: a row has not 4 cells"),
            (whole.replace('"columns": [', '"columns": [3, ', 1), "tables[0]: a column"),
        ):
            with self.subTest(told=told):
                (self.folder / "report.json").write_text(text, encoding="utf-8")
                self.refused("report.json", told)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["report.json"])

    def test_what_is_unknown_is_no_error(self):
        series = {"id": None, "label": 3, "points": [{"ranks": 1}, {"ranks": 2, "phases": 3, "communication": []}]}
        self.assertEqual(self.drawn(made.report([series, {"points": []}], predictions=[3, {}], findings=[1])), [])

    def test_a_folder_that_cannot_be_written(self):
        made.write(self.folder, made.report([]))
        (self.folder / "plots").write_text("a file", encoding="utf-8")
        self.refused(f"{self.folder}/plots cannot be written", "another folder")

    def test_without_matplotlib(self):
        made.write(self.folder, made.report([]))
        (self.folder / "matplotlib.py").write_text("raise ImportError('none here', name='matplotlib')", encoding="utf-8")
        self.refused("python3-matplotlib", PYTHONPATH=str(self.folder))

    def test_unknown_formats(self):
        made.write(self.folder, made.report([]))
        result = run(self.folder, "--formats", "png,gif")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'gif' is none of png, pdf", result.stderr)


class Archive(PlotCase):
    """What is compiled into the program."""

    def test_it_holds_all_scripts_and_draws(self):
        meson = (JOBS.parent / "src/meson.build").read_text(encoding="utf-8")
        modules = sorted(set((JOBS / "plotting").glob("*.py")) - {JOBS / "plotting" / "embed.py"})
        for module in modules:
            self.assertIn(f"'{module.stem}'", meson)
        header = self.folder / "plot_archive.hpp"
        files = [JOBS / "plot_report.py", JOBS / "plot_all_reduce.py", *modules]
        self.assertEqual(run(header, *files, script=JOBS / "plotting" / "embed.py").returncode, 0)
        numbers = re.search(r"kPlotArchive\[\] = \{(.*?)\}", header.read_text(encoding="utf-8"), re.DOTALL)[1]
        archive = self.folder / "archive"
        archive.write_bytes(bytes(int(one) for one in numbers.replace("\n", "").split(",") if one))
        made.write(self.folder, made.report([self.single()]))
        result = run("plot_report", self.folder, "--formats", "png", script=archive)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(list((self.folder / "plots").iterdir())), 2)


class Numbers(unittest.TestCase):
    def test_they_read_as_in_the_programs_own_tables(self):
        sys.path.insert(0, str(JOBS))
        from plotting.number_text import cell_text  # pylint: disable=import-outside-toplevel

        for cell, show, wanted in (
            (11173962, "count", "11,173,962"), (13.6, "seconds", "13.600"), (0.02139, "seconds", "0.0214"),
            (0.5439, "millis", "543.9"), (0.0123, "millis", "12.3"), (3571.2, "rate", "3,571"), (45.18, "rate", "45.2"),
            (1.679, "ratio", "1.68"), (0.84, "percent", "84.0"), (44.7e6, "bytes", "44.7 MB"), (12, "bytes", "12 B"),
            (1.2344, "gigabytes", "1.23"), (0, "seconds", "0.000"), (None, "rate", "-"), ("", "text", "-"),
            (float("nan"), "ratio", "-"), ("refused", "seconds", "refused"), (64.0, "text", "64"), (0.1, "text", "0.1"),
        ):  # fmt: skip
            self.assertEqual(cell_text(cell, show), wanted, (cell, show))


if __name__ == "__main__":
    summary_line.main()
