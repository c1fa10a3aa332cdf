"""Hand-ins of a class: each group's tables against its runs, its runs against their records, and the groups' runs
against each other."""

import contextlib
import csv
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "jobs")]
from made_files import MadeRun  # noqa: E402
from reader.base.text import in_utf8  # noqa: E402
from reader.handin.grading import check_class, compare_hand_in, tables_of_study  # noqa: E402
from reader.runs.places import load_study  # noqa: E402
from reader.start import Failed, Unusable  # noqa: E402
from reader.study.observation import observe_all  # noqa: E402
from reader.tables.table import to_csv  # noqa: E402


def times_of(group, ranks, repeat):
    """Steps of about 0.1 s, which differ from run to run in their last digits."""
    def times(epoch, step, rank):
        noise = 1e-6 * (1 + group * 7 + ranks * 3 + repeat) * (epoch + 0.1 * step + 0.01 * rank)
        return {"forward": 0.03 + noise, "backward": 0.06, "all_reduce": 0.004 * ranks, "optimizer": 0.005,
                "other": 0.001}

    return times


class ClassCase(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def group(self, name, number, **made):
        """A study of 1 and 2 ranks, two runs each, and the tables that rueda gives of it."""
        place = self.folder / "class" / name
        for ranks in (1, 2):
            for repeat in (1, 2):
                run = MadeRun(parts=[10] * ranks, times=times_of(number, ranks, repeat), images=60, epochs=3,
                              started_at=f"2024-05-{number + 1:02}T0{ranks}:0{repeat}:00Z", **made)
                run.write(place / "study" / "runs" / f"p{ranks}_r{repeat}")
        self.hand_in(place)
        return place

    def hand_in(self, place):
        """The tables as the runs give them now."""
        study = load_study([place])
        for table in tables_of_study(study, observe_all(study.runs)):
            if table.id in ("scaling", "lab5_task_6_s1"):
                (place / "tables").mkdir(exist_ok=True)
                (place / "tables" / f"{table.id}.csv").write_text(to_csv(table))

    def edit(self, place, run, change):
        """Changes the document of a run.json."""
        file = place / "study" / "runs" / run / "run.json"
        document = json.loads(file.read_text())
        change(document)
        file.write_text(json.dumps(document))

    def check(self, out=""):
        """(what was printed, what the last line says; empty if all agree)."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                check_class(str(self.folder / "class"), out)
            except Failed as error:
                return printed.getvalue(), str(error)
        return printed.getvalue(), ""

    def rows(self):
        """check.csv by group."""
        out = self.folder / "out"
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(out)
        self.printed, self.last = self.check(str(out))
        with open(out / "check.csv", newline="") as file:
            return {row["group"]: row for row in csv.DictReader(file)}


class Class(ClassCase):
    def test_honest_groups_agree(self):
        for number, name in enumerate(("a", "b", "c")):
            self.group(name, number)
        rows = self.rows()
        self.assertEqual(self.last, "")
        self.assertEqual(self.printed.splitlines()[0], f"a: all agree: {rows['a']['figures']} figures in 2 tables, 4 "
                                                       f"runs")
        self.assertIn("All 3 groups agree.", self.printed)
        for row in rows.values():
            self.assertEqual((row["agrees"], row["tables"], row["runs"], row["remarks"], row["notes"],
                              row["differing"]),
                             ("yes", "2", "4", "", "", "0"))
            self.assertGreater(int(row["figures"]), 15)

    def test_each_fault_is_in_its_groups_line(self):
        self.group("good", 0)
        wrong = self.group("wrong", 1)
        table = wrong / "tables" / "lab5_task_6_s1.csv"
        table.write_text("GPUs,Time (s),Speedup S\n1,0.6,1\n2,0.3,3.97\n")
        (self.folder / "class" / "nothing").mkdir()
        damaged = self.group("damaged", 2)
        (damaged / "tables" / "mine.csv").write_text("a,b\n1\n")
        tableless = self.group("tableless", 3)
        shutil.rmtree(tableless / "tables")
        rows = self.rows()
        self.assertEqual({name: row["agrees"] for name, row in rows.items()},
                         {"good": "yes", "wrong": "no", "nothing": "no", "damaged": "no", "tableless": "no"})
        self.assertRegex(self.last, "4 of 5 groups need a look: damaged, nothing, tableless, wrong")
        self.assertGreater(int(rows["wrong"]["differing"]), 0)
        self.assertIn("damaged/tables/mine.csv: line 2 has 1 cells", rows["damaged"]["refused"])
        self.assertIn("no run.json below it", rows["nothing"]["refused"])
        self.assertIn("there is no .csv file", rows["tableless"]["refused"])
        self.assertNotIn(str(self.folder), rows["nothing"]["refused"].replace(str(self.folder / "class"), ""))
        for line in self.printed.splitlines()[:5]:
            self.assertRegex(line, "^(good|wrong|nothing|damaged|tableless): ")

    def test_a_table_that_was_not_compared_is_named(self):
        place = self.group("a", 0)
        (place / "tables" / "scaling.csv").write_text("GPUs,Time (s),Speed-up vs CPU\n1,0.6,1\n2,0.3,3.97\n")
        self.assertIn("Speed-up vs CPU", self.rows()["a"]["columns_not_compared"])
        [group] = json.loads((self.folder / "out" / "check.json").read_text())["groups"]
        [table] = [table for table in group["tables"] if table["file"] == "tables/scaling.csv"]
        self.assertEqual(table["not_compared"], [{"column": "Speed-up vs CPU", "looks_like": "speedup"}])

    def test_names_that_are_no_utf_8(self):
        """As archives from elsewhere unpack them: of a group, and of a run whose name a table has."""
        name = os.fsdecode(b"Pe\xf1a")
        place = self.group(name, 0)
        (place / "study" / "runs" / "p1_r1").rename(place / "study" / "runs" / name)
        study = load_study([place])
        table = next(one for one in tables_of_study(study, observe_all(study.runs)) if one.id == "runs")
        (place / "tables" / "runs.csv").write_bytes(in_utf8(to_csv(table)))
        row = self.rows()["Pe?a"]
        self.assertEqual((row["agrees"], row["differing"], row["rows_left_out"], row["tables"]), ("yes", "0", "0", "3"))

    def test_a_name_forges_no_line_and_no_command_of_a_terminal(self):
        self.group("a\x1b[31m\nb: all agree", 0)
        self.rows()
        self.assertEqual((self.folder / "out" / "check.csv").read_bytes().count(b"\n"), 2)
        for written in (self.printed, (self.folder / "out" / "check.csv").read_text()):
            self.assertNotIn("\x1b", written)
            self.assertNotRegex(written, "(?m)^b: all agree")

    def test_what_is_no_class_is_refused(self):
        (self.folder / "class").mkdir()
        for make in (lambda: None, lambda: (self.folder / "class" / "empty").mkdir()):
            make()
            with self.assertRaisesRegex(Unusable, "no folder in it holds both runs and tables"):
                self.check()
        with self.assertRaisesRegex(Unusable, "is no directory"):
            check_class(str(self.folder / "none"))

    def test_files_of_others_are_not_written_over(self):
        self.group("a", 0)
        out = self.folder / "out"
        out.mkdir()
        (out / "check.csv").write_text("mine")
        with self.assertRaisesRegex(Unusable, "check.csv"):
            self.check(str(out))
        self.assertEqual((out / "check.csv").read_text(), "mine")


class Runs(ClassCase):
    """Runs that cannot be true, or are not the group's."""

    def remarks(self):
        return {name: row["remarks"] for name, row in self.rows().items()}

    def test_an_edited_record(self):
        place = self.group("a", 0)

        def halve(document):
            for epoch in document["epochs"]:
                epoch["seconds"] /= 2

        for run in ("p2_r1", "p2_r2"):
            self.edit(place, run, halve)
        self.hand_in(place)  # the tables agree with the false runs: efficiency 199 %
        remarks = self.remarks()
        self.assertIn("epochs-csv", remarks["a"])
        self.assertEqual(self.rows()["a"]["differing"], "0")
        self.assertIn("need a look: a", self.last)

    def test_one_run_copied_as_repeats(self):
        place = self.group("a", 0)
        for copy in ("p2_r3", "p2_r4"):
            shutil.copytree(place / "study" / "runs" / "p2_r1", place / "study" / "runs" / copy)
        self.hand_in(place)
        self.assertEqual(self.remarks()["a"], "copies")
        # Another start, another name of the host and another hash do not make it a run of its own.
        for copy in ("p2_r3", "p2_r4"):
            self.edit(place, copy, lambda document: document.update(started_at="2024-06-01T00:00:00Z"))
        self.assertEqual(self.remarks()["a"], "copies")

    def test_a_slow_repeat_that_was_deleted(self):
        place = self.group("a", 0)
        plan = [{"name": f"p{ranks}_r{repeat}", "model": "resnet20", "ranks": ranks, "kind": "rank", "batch": 10}
                for ranks in (1, 2) for repeat in (1, 2)]
        (place / "study" / "study.json").write_text(json.dumps(
            {"schema": "rueda-study", "schema_version": 1, "series": plan}))
        self.assertEqual(self.remarks()["a"], "")
        shutil.rmtree(place / "study" / "runs" / "p2_r2")
        self.hand_in(place)
        self.assertIn("plan-missing", self.remarks()["a"])

    def test_runs_of_another_host_are_noted(self):
        place = self.group("a", 0)
        friend = MadeRun(parts=[10, 10], times=times_of(5, 2, 2), images=60, hosts=["friend-pc"] * 2)
        friend.write(place / "study" / "runs" / "p2_r2")
        self.hand_in(place)
        row = self.rows()["a"]
        self.assertEqual((row["agrees"], row["remarks"]), ("yes", ""))
        self.assertIn("hosts", row["notes"])
        self.assertIn("a: all agree", self.printed)
        self.assertIn("note on the runs", self.printed)

    def test_the_timed_backend_called_a_processor(self):
        place = self.group("a", 0, backend="timed")
        self.assertEqual(self.remarks()["a"], "")
        for run in ("p1_r1", "p1_r2", "p2_r1", "p2_r2"):
            file = place / "study" / "runs" / run / "run.json"
            file.write_text(file.read_text().replace('"timed"', '"cpu"', 20))
        self.hand_in(place)
        self.assertIn("backend", self.remarks()["a"])

    def test_two_groups_with_the_same_runs(self):
        self.group("a", 0)
        self.group("b", 1)
        thief = self.group("thief", 2)
        shutil.rmtree(thief / "study")
        shutil.copytree(self.folder / "class" / "b" / "study", thief / "study")
        for run in ("p1_r1", "p2_r2"):
            self.edit(thief, run, lambda document: document.update(started_at="2024-07-01T00:00:00Z"))
        self.hand_in(thief)
        remarks = self.remarks()
        self.assertEqual(remarks, {"a": "", "b": "copies-of-groups", "thief": "copies-of-groups"})
        groups = json.loads((self.folder / "out" / "check.json").read_text())["groups"]
        texts = {group["group"]: " ".join(remark["text"] for remark in group["remarks"]) for group in groups}
        self.assertIn("also of thief", texts["b"])
        self.assertIn("also of b", texts["thief"])
        self.assertNotIn("also of a", texts["thief"])

    def test_one_group_has_its_remarks_with_its_tables(self):
        place = self.group("a", 0)
        self.edit(place, "p1_r1", lambda document: document["epochs"][1].update(seconds=0.1))
        study = load_study([place / "study"])
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), self.assertRaisesRegex(Failed, "remarks? on the runs"):
            compare_hand_in(str(place / "tables"), [place / "study"], study, observe_all(study.runs))
        self.assertRegex(printed.getvalue(), r"(?m)^runs: p1_r1: ")


if __name__ == "__main__":
    unittest.main()
