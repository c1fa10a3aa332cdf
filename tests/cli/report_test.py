#!/usr/bin/env python3
"""`rueda report` as its users meet it: on runs made here, and on files that are no runs.

usage: report_test.py RUEDA MPIEXEC
"""

import csv
import json
import shutil
import subprocess

from rueda_runs import ProgramCase, long, main

RUN = ["--backend", "timed", "--model", "resnet20", "--data", "data", "--data-limit", "480", "--epochs", "3"]


class Report(ProgramCase):
    """One small study for all cases: weak on 1, 2 and 3 ranks, strong on 1 and 3, one repeated."""

    images = (480, 50)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, ranks, batch, milliseconds in (
            ("one", 1, ["--batch-per-rank", "16"], 10), ("two", 2, ["--batch-per-rank", "16"], 10),
            ("three", 3, ["--batch-per-rank", "16"], 10), ("again", 2, ["--batch-per-rank", "16"], 10),
            ("big", 1, ["--global-batch", "48"], 30),
        ):  # fmt: skip
            words = ("--compute", str(milliseconds), "--run-dir", f"runs/{name}")
            cls.made("train", *RUN, *batch, *words, ranks=ranks)
        cls.printed = cls.made("report", "runs", "--out", "report", "--title", "A study", "--plots", "off").out
        cls.report = cls.read(cls, "report/report.json")

    def series(self, scaling):
        return [one for one in self.report["series"] if one["scaling"] == scaling]

    def test_series_are_weak_and_strong(self):
        (weak,), (strong,) = self.series("weak"), self.series("strong")
        self.assertEqual([point["ranks"] for point in weak["points"]], [1, 2, 3])
        self.assertEqual([point["repeats"] for point in weak["points"]], [1, 2, 1])
        self.assertEqual(weak["batch"], 16)
        self.assertEqual([point["ranks"] for point in strong["points"]], [1, 3])
        self.assertEqual([point["rank_batch"] for point in strong["points"]], [48, 16])

    def test_sums_in_shared_memory_have_no_link(self):
        shared = ("--compute", "10", "--batch-per-rank", "16", "--all-reduce", "shared")
        for ranks in (1, 2):
            self.made("train", *RUN, *shared, "--run-dir", f"window/{ranks}", ranks=ranks)
        self.made("report", "window", "--out", "of-window", "--plots", "off")
        window = self.read("of-window/report.json")["series"][0]["points"][1]["communication"]
        ring = self.series("weak")[0]["points"][1]["communication"]
        for measured, has_link in ((window, False), (ring, True)):
            rates = [measured["link_busbw_GBps"], measured["buckets"][0]["transfer_median_seconds"]]
            self.assertEqual([rate is not None for rate in rates], [has_link] * 2)
        self.refused(self.program.run("predict", "window"), "by shared are not used", "sends no messages")

    def test_tables_are_written_in_three_forms(self):
        text = (self.folder / "report/report.md").read_text(encoding="utf-8")
        self.assertTrue(text.startswith("# A study\n"), text[:80])
        for table in self.report["tables"]:
            self.assertIn(f"### {table['title']}\n", text)
            for note in table["notes"]:
                self.assertIn(f"- {note}\n", text)
            self.assertTrue(table["notes"] or table["id"] == "runs", table["id"])
            with open(self.folder / f"report/tables/{table['id']}.csv", newline="", encoding="utf-8") as file:
                head, *rows = csv.reader(file)
            self.assertEqual(head, [one["key"] for one in table["columns"]])
            self.assertEqual(len(rows), len(table["rows"]), table["id"])
        ids = {table["id"] for table in self.report["tables"]}
        wanted = {"scaling", "steps", "factors", "communication", "bandwidth", "phases", "losses", "serial_fraction",
                  "stragglers", "cost", "startup", "batches", "runs"}  # fmt: skip
        self.assertEqual(ids, wanted)

    def test_terminal_shows_overview_and_findings(self):
        self.assertIn("resnet20, 16 per rank, ring", self.printed)
        self.assertIn("Nothing was computed", self.printed)
        self.assertIn("Written to report", self.printed)
        self.assertLessEqual(max(len(line) for line in self.printed.splitlines()), 80)

    def test_purpose_and_efficiency_choose_the_recommendation(self):
        before = sorted(self.folder.rglob("*"))
        out = self.completed(self.program.run("report", "runs", "--purpose", "cost")).out
        self.assertEqual(sorted(self.folder.rglob("*")), before)  # without --out nothing is written
        self.assertIn("for the fewest device hours", " ".join(out.split()))
        self.assertNotIn("for the shortest epoch", " ".join(out.split()))

    def test_what_is_no_run_is_refused(self):
        self.refused(self.program.run("report", "nowhere"), "nowhere", "no such file")
        (self.folder / "empty").mkdir(exist_ok=True)
        self.refused(self.program.run("report", "empty"), "empty", "no run.json below it")
        whole = (self.folder / "runs/one/run.json").read_text(encoding="utf-8")
        broken = self.folder / "broken/run.json"
        broken.parent.mkdir(exist_ok=True)
        head, epochs = whole.split('"epochs": [', 1)
        broken.write_text(head + '"epochs": [' + epochs.replace('"steps"', '"stops"', 1), encoding="utf-8")
        self.refused(self.program.run("report", "broken"), "broken/run.json", "steps is missing")

    def test_a_run_that_a_link_does_not_reach_is_not_missed_in_silence(self):
        for name in ("moved", "some/moved"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            (self.folder / name / "run.json").symlink_to("/nowhere/run.json")
        leads = "it is a link to /nowhere/run.json, and nothing is there"
        self.refused(self.program.run("report", "moved"), f"moved/run.json: it cannot be opened: {leads}")
        said = self.completed(self.program.run("report", "runs", "some")).said
        self.assertIn(f"some/moved/run.json: it cannot be opened: {leads}", " ".join(said.split()))

    def test_a_place_that_cannot_be_written_is_refused(self):
        self.write("file", "x")
        self.refused(self.program.run("report", "runs", "--out", "file/report"), "file/report")

    def test_predictions_are_shown_with_the_runs(self):
        self.write("p.json", '{"schema": "x"}')
        words = ["--out", "with", "--prediction", "p.json", "--plots", "off"]
        self.completed(self.program.run("report", "runs", *words))
        self.assertEqual(self.read("with/report.json")["predictions"], [{"schema": "x"}])
        self.write("p.json", "{")
        self.refused(self.program.run("report", "runs", "--prediction", "p.json"), "p.json")

    def test_published_runs_stand_alone_and_fill_the_books_tables(self):
        words = ["--published", "book", "--layout", "book", "--out", "book", "--plots", "off"]
        out = " ".join(self.completed(self.program.run("report", *words)).out.split())
        self.assertIn("efficiency 63.2 %", out)
        self.assertIn("would show 14 s and 5 s, hence 70.0 % (anything from 61.4 % to 80.6 %) instead", out)
        text = (self.folder / "book/book.md").read_text(encoding="utf-8")
        for task in ("10.3", "10.4", "10.5", "10.6", "10.7"):
            self.assertIn(f"Task {task}: ", text)
        self.assertIn("220 s / 24 s of first epochs; steady it is 215 s / 14 s = 15.4", text)
        self.assertTrue(list((self.folder / "book/book").glob("book_task_10_5_*.csv")))
        self.completed(self.program.run("report", "--published", "all", "--out", "all", "--plots", "off"))
        models = [one["model"] for one in self.read("all/report.json")["series"]]
        self.assertEqual(list(dict.fromkeys(models)), ["resnet18", "resnet50v2", "resnet152v2"])

    def test_each_course_has_tables_in_its_own_numbers(self):
        for layout, ids in (
            ("sa-miri", {"sa_miri_task_10_6_s1", "sa_miri_task_10_8_speedup", "sa_miri_task_10_10"}),
            ("lab5", {"lab5_task_6_s1", "lab5_task_8_speedup"}), ("nyu", {"nyu_question_1", "nyu_table_1_g1"}),
            ("sa-miri-2021", {"sa_miri_2021_task_2"}),
        ):  # fmt: skip
            self.completed(self.program.run("report", "runs", "--layout", layout, "--out", layout, "--plots", "off"))
            self.assertLessEqual(ids, {path.stem for path in (self.folder / layout / layout).iterdir()})
        self.refused(self.program.run("report", "runs", "--layout", "lab6", "--out", "x"),
                     "--layout: 'lab6' is not known: did you mean lab5?")
        for word, meant in (("no", "off"), ("none", "off"), ("True", "on")):
            self.refused(self.program.run("report", "runs", "--plots", word), f"did you mean {meant}?")
        self.refused(self.program.run("report", "runs", "--plots", "ob"), "'ob' is not known: give auto or on or off")

    def test_a_hand_in_is_compared_with_its_runs(self):
        self.completed(self.program.run("report", "runs", "--layout", "lab5", "--out", "hand-in", "--plots", "off"))
        agreed = self.completed(self.program.run("report", "runs", "--check", "hand-in")).out
        self.assertIn("All agree: ", agreed)
        (own,) = (self.folder / "hand-in/lab5").glob("lab5_task_6_s1.csv")
        with open(own, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        # Under another name, rounded, with a decimal comma, the rows in another order.
        lines = [f"{row['ranks']};{float(row['epoch_s']):.4f};{100 * float(row['efficiency']):.1f} %".replace(".", ",")
                 for row in rows]  # fmt: skip
        (self.folder / "mine").mkdir()
        self.write("mine/weak.csv", "\n".join(["GPUs;Time (s);Efficiency (%)", *reversed(lines)]) + "\n")
        out = self.completed(self.program.run("report", "runs", "--check", "mine")).out
        self.assertIn(f"{2 * len(rows)} figures in 1 table", out)
        second = float(rows[1]["epoch_s"])
        lines[1] = f"{rows[1]['ranks']};{0.9 * second:.4f};99,9"
        self.write("mine/weak.csv", "\n".join(["GPUs;Time (s);Efficiency (%)", *lines, "8;0,1;50"]) + "\n")
        result = self.program.run("report", "runs", "--check", "mine")
        self.assertEqual(result.code, 1)
        self.assertIn(f"line 3, Time (s): {0.9 * second:.4f}; the runs give", result.out)
        self.assertIn("line 5: no run gives this row", result.out)
        self.assertIn("1 row has no run", result.err)
        self.write("mine/damaged.csv", "P,Time\n1\n")
        self.refused(self.program.run("report", "runs", "--check", "mine"), "damaged.csv: line 2 has 1 cells")
        self.refused(self.program.run("report", "runs", "--check", "nowhere"), "nowhere")
        (self.folder / "mine/damaged.csv").unlink()
        written = self.program.run("report", "runs", "--check", "mine", "--out", "checked")
        self.assertEqual(written.code, 1)
        self.assertIn("\nmine,no,", (self.folder / "checked/check.csv").read_text(encoding="utf-8"))
        (group,) = self.read("checked/check.json")["groups"]
        self.assertEqual((group["agrees"], group["tables"][0]["file"]), (False, "weak.csv"))

    def test_a_hand_in_is_made_filled_in_and_checked(self):
        words = ("report", "runs", "--layout", "lab5", "--hand-in", "class/ann", "--plots", "off")
        out = self.made(*words).out
        self.assertRegex(out, r"(\d+) of \1 blanks are open: the head, Task 1, Task 2")
        file = self.folder / "class/ann/answers.md"
        text = file.read_text(encoding="utf-8").replace("___", "42")
        file.write_text(text, encoding="utf-8")
        self.assertRegex(self.made(*words).out, r"All \d+ blanks are filled in")
        self.assertEqual(file.read_text(encoding="utf-8"), text)
        self.assertIn("**Names**: 42", (self.folder / "class/ann/hand-in.md").read_text(encoding="utf-8"))
        self.assertIn("All 1 group agree", self.made("report", "--check", "class").out)
        for run in ("two", "again"):
            record = self.folder / f"class/ann/runs/{run}/run.json"
            forged = json.loads(record.read_text(encoding="utf-8"))
            forged["epochs"][1]["seconds"] /= 2
            record.write_text(json.dumps(forged), encoding="utf-8")
        self.assertRegex(self.program.run("report", "--check", "class").out, "ann: .*epochs-csv")
        self.refused(self.program.run(*words), "class/ann/runs/again/run.json: it was not written by an earlier report")
        file.write_text("## Task 99\n", encoding="utf-8")
        self.refused(self.program.run(*words), "class/ann/answers.md: line 1")

    def test_a_log_of_keras_is_compared_with_the_runs(self):
        line = "5/5 - {0}s - loss: 2.1 - accuracy: 0.2 - {0}s/epoch - {1}ms/step\n"
        self.write("keras.log", line.format(9, 1800) + line.format(3, 600))
        log = "keras.log,model=resnet20,batch=96,images=480,size=32"
        words = ["--out", "with-log", "--plots", "off", "--keras-log", log]
        self.completed(self.program.run("report", "runs", *words))
        (keras,) = [one for one in self.read("with-log/report.json")["series"] if "keras.log" in one["source"]]
        (point,) = keras["points"]
        self.assertAlmostEqual(point["epoch_seconds"]["value"], 3.0, 2)
        self.assertAlmostEqual(point["epoch_seconds"]["low"], 5 * 0.5995, 6)
        self.refused(self.program.run("report", "runs", "--keras-log", "keras.log,ranks=many"), "ranks")
        self.refused(self.program.run("report", "--keras-log", "data/data_batch_1.bin"), "data_batch_1.bin")

    def test_the_program_draws_with_the_scripts_that_it_holds(self):
        probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('matplotlib') is None)"
        pythons = [p for p in ("python3", "/usr/bin/python3")
               if subprocess.run([p, "-c", probe], check=False).returncode == 0]
        if not pythons:
            out = self.completed(self.program.run("report", "runs/one", "--out", "drawn")).out
            self.assertIn("No plots", out)
            self.skipTest("no Python with matplotlib")
        for module in ("contextlib.py", "matplotlib.py"):  # what lies here is not executed
            self.write(module, "open('executed', 'w')")
        opens = "b.gi_frame.f_back.f_back.f_builtins['open']('executed', 'w').write('x')"
        self.write("matplotlibrc", f"axes.prop_cycle: [a:=[], a.append({opens} for b in a), *a[0]]")
        env = {"PYTHONPATH": str(self.folder), "MPLBACKEND": "nonsense"}
        out = self.completed(self.program.run("report", "runs/one", "--out", "drawn", "--slides", **env)).out
        self.assertFalse((self.folder / "executed").exists())
        self.assertIn("Drawn: report.html", out)
        self.assertTrue(list((self.folder / "drawn/plots").glob("*.png")))
        self.assertIn(">Run one</a></h1>", (self.folder / "drawn/report.html").read_text(encoding="utf-8"))
        self.assertIn('aria-label="Names"', (self.folder / "drawn/slides.html").read_text(encoding="utf-8"))

    def test_two_runs_that_are_named_are_compared(self):
        out = self.made("report", "runs/two", "runs/one", "--out", "pair", "--plots", "off").out
        said = " ".join(out.split())
        self.assertRegex(said, "A is runs/two, B is runs/one. They differ in ranks(,| and) images of a step")
        self.assertLessEqual(max(len(line) for line in out.splitlines()), 80)
        report = self.read("pair/report.json")
        self.assertEqual(report["title"], "Runs two and one")
        comparison = report["comparison"]
        self.assertEqual([run["name"] for run in comparison["runs"]], ["two", "one"])
        steps = {row[0]: row[1:] for table in comparison["tables"] if table["id"] == "comparison_steps"
                 for row in table["rows"]}
        for column in (0, 1, 2):  # the phases add up to the step
            parts = sum(row[column] for phase, row in steps.items() if phase != "step")
            self.assertAlmostEqual(parts, steps["step"][column], delta=1e-9)
        text = (self.folder / "pair/report.md").read_text(encoding="utf-8")
        self.assertLess(text.index("## Comparison"), text.index("## Findings"))
        for finding in comparison["findings"]:
            self.assertIn(f"- {finding}\n", text)
        self.assertTrue((self.folder / "pair/tables/comparison_settings.csv").exists())
        # What both are compared in is still there, and directories with several runs are an overview.
        self.assertEqual([point["ranks"] for point in report["series"][0]["points"]], [1, 2])
        for places in (["runs"], ["runs/one", "runs/two", "runs/three"], ["runs/one", "runs/one"],
                       ["runs/one/run.json", "runs"]):
            self.assertNotIn("Comparison", self.made("report", *places).out)
        self.assertIn("Comparison", self.made("report", "runs/one/run.json", "runs/two/").out)

    def test_only_one_rank_prints(self):
        result = self.completed(self.program.run_ranks(2, "report", "runs"))
        self.assertEqual(result.out.count("Scaling by epoch time"), 1)


class Learned(ProgramCase):
    """A run that computes, and its evaluation in its directory."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made("train", "--data", "data", "--model", "resnet20", "--image-size", "8", "--batch-per-rank", "32",
                 "--epochs", "2", "--threads", "1", "--run-dir", "run")  # fmt: skip
        cls.made("evaluate", "--init-weights", "run", "--data", "data", "--threads", "1",
                 "--json", "run/evaluation.json")

    def reported(self, *places):
        self.made("report", *places, "--out", "report", "--plots", "off")
        return self.read("report/report.json")

    def test_a_report_has_what_a_run_learned_and_its_evaluation(self):
        report, record = self.reported("run"), self.read("run/run.json")
        (run,) = report["runs"]
        self.assertEqual((run["path"], run["name"]), ("run", "run"))
        self.assertEqual(report["series"][0]["points"][0]["run"], "run")
        for key in ("loss", "accuracy", "val_loss", "val_accuracy"):
            wanted = [epoch[key] for epoch in record["epochs"]]
            self.assertEqual(run["learning"][key], {"known": 2, "epochs": [1, 2], "values": wanted})
        evaluation = self.read("run/evaluation.json")
        for key in ("val_accuracy", "confusion", "classes", "samples"):
            self.assertEqual(run["evaluation"][key], evaluation[key])

    def test_a_damaged_evaluation_is_refused_or_left_out(self):
        file = self.folder / "run/evaluation.json"
        whole = file.read_text(encoding="utf-8")
        self.addCleanup(file.write_text, whole, encoding="utf-8")
        record = self.read("run/evaluation.json")
        for change, wanted in (
            ({"confusion": record["confusion"][1:]}, "a row for each class"),
            ({"classes": []}, "has no class"),
            ({"schema": "rueda-run"}, "evaluation.json"),
            ({"samples": {"first": [{**record["samples"]["first"][0], "label": 10}], "mistakes": []}}, "label"),
            ({"samples": {"first": [{**record["samples"]["first"][0], "rgb": "00"}], "mistakes": []}}, "32 x 32"),
        ):
            self.write("run/evaluation.json", json.dumps({**record, **change}))
            self.refused(self.program.run("report", "run"), "run/evaluation.json", wanted)
        self.write("run/evaluation.json", whole[: len(whole) // 2])
        self.refused(self.program.run("report", "run"), "run/evaluation.json", "rueda evaluate --json")
        # Below a study it is named, and its run counts.
        shutil.copytree(self.folder / "run", self.folder / "study/copy")
        report = self.reported("study")
        (unread,) = [one["text"] for one in report["findings"] if "could not be read" in one["text"]]
        self.assertIn("study/copy/evaluation.json", unread)
        self.assertEqual([run["evaluation"] for run in report["runs"]], [None])


class Factors(ProgramCase):
    """The factors of timed runs follow from the steps of each rank, which hold what was injected. A busy machine adds
    to them, so no time has an upper limit here. What each cause lowers: tests/unit/record, with known times."""

    def timed(self, ranks, image_ms, *options):
        """A run whose steps take what was asked for, and whose epochs know the seconds of their steps."""
        words = ("--backend", "timed", "--model", "resnet20", "--data", "data", "--data-limit", "44", "--epochs", "3")
        run = self.trained(ranks, *words, *options)
        for epoch in run["epochs"]:
            useful = [0.0] * ranks
            for row in (row for row in run["steps"] if row["epoch"] == str(epoch["epoch"])):
                computed = sum(float(row[phase]) for phase in ("forward", "loss", "backward"))
                self.assertGreater(computed, 0.999e-3 * image_ms * float(row["samples"]))
                useful[int(row["rank"])] += float(row["seconds"]) - float(row["all_reduce"])
            self.assertAlmostEqual(epoch["efficiency"]["useful_mean"], sum(useful) / ranks, delta=1e-6)
            self.assertAlmostEqual(epoch["efficiency"]["useful_max"], max(useful), delta=1e-6)
        return run

    @long
    def test_what_is_injected_is_in_the_steps_and_these_make_the_factors(self):
        # One rank has 6 images, the other 5, of 15 ms as on one rank; then 11 each, of 18 ms.
        uneven, slow = ("--global-batch", "11", "--compute", "90"), ("--batch-per-rank", "11", "--compute", "198")
        one = self.timed(1, 15, "--global-batch", "11", "--compute", "165")
        for two in (self.timed(2, 15, *uneven), self.timed(2, 18, *slow)):
            self.made("report", one["run_dir"], two["run_dir"], "--out", "report", "--plots", "off")
            points = self.read("report/report.json")["series"][0]["points"]
            for run, point in zip((one, two), points):
                for name in ("load_balance", "serialisation", "transfer"):
                    self.assertAlmostEqual(point["factors"][name], run["summary"]["steady_efficiency"][name])
            # All factors of two ranks multiply to their efficiency compared with one.
            efficiency, whole = points[1]["efficiency"]["value"], points[1]["factors"]["global"]
            self.assertAlmostEqual(whole / points[0]["factors"]["parallel"], efficiency, delta=1e-3 * efficiency)


if __name__ == "__main__":
    main()
