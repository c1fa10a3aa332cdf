#!/usr/bin/env python3
"""`rueda report` as its users meet it: on runs made here, and on files that are no runs.

usage: report_test.py RUEDA MPIEXEC
"""

import csv
import importlib.util
import json
import sys

import summary_line
from program_case import ProgramCase

RUN = ["--backend", "timed", "--model", "resnet20", "--data-limit", "480", "--epochs", "3"]


class Report(ProgramCase):
    """One small study for all cases: weak on 1, 2 and 3 ranks, strong on 1 and 3, one repeated."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, ranks, batch, milliseconds in (
            ("one", 1, ["--batch-per-rank", "16"], 10), ("two", 2, ["--batch-per-rank", "16"], 10),
            ("three", 3, ["--batch-per-rank", "16"], 10), ("again", 2, ["--batch-per-rank", "16"], 10),
            ("big", 1, ["--global-batch", "48"], 30),
        ):  # fmt: skip
            done = cls.program.run_ranks(
                ranks, "train", *RUN, *batch, "--compute-ms", str(milliseconds), "--run-dir", f"runs/{name}"
            )
            if done.code != 0:
                raise AssertionError(f"no run: {done}")
        cls.made = cls.program.run("report", "runs", "--out", "report", "--title", "A study")
        if cls.made.code != 0:
            raise AssertionError(f"no report: {cls.made}")
        cls.report = json.loads((cls.folder / "report/report.json").read_text(encoding="utf-8"))

    def run_json(self, name):
        return json.loads((self.folder / f"runs/{name}/run.json").read_text(encoding="utf-8"))

    def series(self, scaling):
        return [one for one in self.report["series"] if one["scaling"] == scaling]

    def test_series_are_weak_and_strong(self):
        (weak,), (strong,) = self.series("weak"), self.series("strong")
        self.assertEqual([point["ranks"] for point in weak["points"]], [1, 2, 3])
        self.assertEqual([point["repeats"] for point in weak["points"]], [1, 2, 1])
        self.assertEqual(weak["batch"], 16)
        self.assertEqual([point["ranks"] for point in strong["points"]], [1, 3])
        self.assertEqual([point["rank_batch"] for point in strong["points"]], [48, 16])

    def test_figures_follow_from_the_runs(self):
        def steady(name):
            first, second = (e["seconds"] for e in self.run_json(name)["epochs"][1:])
            return (first + second) / 2

        (weak,) = self.series("weak")
        two = sorted((steady("two"), steady("again")))
        point = weak["points"][1]
        self.assertAlmostEqual(point["epoch_seconds"]["value"], sum(two) / 2, 12)
        self.assertEqual([point["epoch_seconds"]["low"], point["epoch_seconds"]["high"]], two)
        self.assertAlmostEqual(point["speedup"]["value"], steady("one") / (sum(two) / 2), 12)
        self.assertAlmostEqual(point["efficiency"]["low"], steady("one") / two[1] / 2, 12)
        lost = point["losses"]
        self.assertAlmostEqual(sum(lost["phases"].values()) + lost["rest"], lost["lost"], 12)

    def test_tables_are_written_in_three_forms(self):
        text = (self.folder / "report/report.md").read_text(encoding="utf-8")
        self.assertTrue(text.startswith("# A study\n"), text[:80])
        for table in self.report["tables"]:
            self.assertIn(f"### {table['title']}\n", text)
            for note in table["notes"]:
                self.assertIn(f"- {note}\n", text)
            with open(self.folder / f"report/tables/{table['id']}.csv", newline="", encoding="utf-8") as file:
                head, *rows = csv.reader(file)
            self.assertEqual(head, [one["key"] for one in table["columns"]])
            self.assertEqual(len(rows), len(table["rows"]), table["id"])
        ids = {table["id"] for table in self.report["tables"]}
        wanted = {"scaling", "steps", "communication", "bandwidth", "phases", "losses", "serial_fraction",
                  "stragglers", "cost", "startup", "batches", "runs"}  # fmt: skip
        self.assertEqual(ids, wanted)

    def test_every_table_says_what_its_figures_mean(self):
        for table in self.report["tables"]:
            if table["id"] != "runs":
                self.assertTrue(table["notes"], table["id"])

    def test_terminal_shows_overview_and_findings(self):
        self.assertIn("resnet20, 16 per rank", self.made.out)
        self.assertIn("Nothing was computed", self.made.out)
        self.assertIn("Written to report", self.made.out)
        self.assertLessEqual(max(len(line) for line in self.made.out.splitlines()), 80)

    def test_without_out_nothing_is_written(self):
        before = sorted(self.folder.rglob("*"))
        self.completed(self.program.run("report", "runs"))
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_purpose_and_efficiency_choose_the_recommendation(self):
        out = self.completed(self.program.run("report", "runs", "--purpose", "cost")).out
        self.assertIn("for the fewest device hours", " ".join(out.split()))
        self.assertNotIn("for the shortest epoch", " ".join(out.split()))
        for word in ("0", "-5", "101", "much"):
            self.refused(self.program.run("report", "runs", "--efficiency", word), "--efficiency")
        self.refused(self.program.run("report", "runs", "--purpose", "fame"), "--purpose")

    def test_what_is_no_run_is_refused(self):
        self.refused(self.program.run("report"), "run directory")
        self.refused(self.program.run("report", "nowhere"), "nowhere", "no such file")
        (self.folder / "empty").mkdir(exist_ok=True)
        self.refused(self.program.run("report", "empty"), "empty", "no run.json below it")
        whole = (self.folder / "runs/one/run.json").read_text(encoding="utf-8")
        broken = self.folder / "broken/run.json"
        broken.parent.mkdir(exist_ok=True)
        for text, why in ((whole[: len(whole) // 2], "no JSON"), ("[]", "no run.json"),
                          (whole.replace('"steps"', '"stops"', 1), "steps is missing")):  # fmt: skip
            broken.write_text(text, encoding="utf-8")
            self.refused(self.program.run("report", "broken"), "broken/run.json", why)

    def test_a_place_that_cannot_be_written_is_refused(self):
        (self.folder / "file").write_text("x", encoding="utf-8")
        self.refused(self.program.run("report", "runs", "--out", "file/report"), "file/report")

    def test_predictions_are_put_beside_the_runs(self):
        (self.folder / "p.json").write_text('{"schema": "x"}', encoding="utf-8")
        self.completed(self.program.run("report", "runs", "--out", "with", "--prediction", "p.json"))
        with_it = json.loads((self.folder / "with/report.json").read_text(encoding="utf-8"))
        self.assertEqual(with_it["predictions"], [{"schema": "x"}])
        (self.folder / "p.json").write_text("{", encoding="utf-8")
        self.refused(self.program.run("report", "runs", "--prediction", "p.json"), "p.json")

    def test_it_is_drawn_where_a_python_can(self):
        python = self.folder / "python"
        python.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 0\necho warned >&2\necho "the reason: $2 $4" >&2\nexit 2\n')
        python.chmod(0o755)
        words = ("report", "runs", "--out", "drawn")
        result = self.program.run(*words, "--slides", RUEDA_PLOT_PYTHON=str(python))
        self.refused(result, "the reason: plot_report --slides")
        self.assertNotIn("warned", result.messages[0])
        result = self.completed(self.program.run(*words, RUEDA_PLOT_PYTHON="/bin/false"))
        self.assertIn("No plots", result.out)
        self.refused(self.program.run(*words, "--slides", RUEDA_PLOT_PYTHON="/bin/false"), "--slides", "/bin/false")
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("no matplotlib in this Python")
        self.completed(self.program.run(*words, "--slides", RUEDA_PLOT_PYTHON=sys.executable))
        self.assertEqual((self.folder / "drawn/slides.pdf").read_bytes()[:5], b"%PDF-")
        self.assertTrue((self.folder / "drawn/report.html").exists())

    def test_only_one_rank_speaks(self):
        result = self.completed(self.program.run_ranks(2, "report", "runs"))
        self.assertEqual(result.out.count("Scaling by epoch time"), 1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    ProgramCase.paths = (sys.argv[1], sys.argv[2])
    summary_line.main()
