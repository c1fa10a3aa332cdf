"""Hand-ins against the tables of the runs: numbers as people write them, honest tables in all their forms, and forged
ones."""

import contextlib
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "jobs")]
from reader.handin.check import check_hand_in, text_of  # noqa: E402
from reader.handin.compare import check_table  # noqa: E402
from reader.handin.hand_table import read_hand_table  # noqa: E402
from reader.handin.headings import looks_like, quantity_of  # noqa: E402
from reader.handin.tolerance import agrees  # noqa: E402
from reader.handin.written import written_numbers  # noqa: E402
from reader.start import Unusable  # noqa: E402
from reader.tables.table import Table  # noqa: E402

TITLE = "Task 10.5: net"


def tables():
    """What the runs give: a table of times and one of times with other columns."""
    times = Table("book_task_10_5_s1", TITLE, [
        ("ranks", "GPUs", "count"), ("epoch_s", "Time (s)", "seconds"),
        ("images_per_second", "Throughput (images/s)", "rate"),
        ("efficiency", "Efficiency (%)", "percent"), ("remark", "Remark", "text")])
    times.rows = [[1, 13.6, 3676.47, 1.0, "single run"], [2, 8.099, 6173.6, 0.8396, ""], [4, 5.376, 9300.6, None, ""]]
    steps = Table("steps", "Steps", [("series", "series", "text"), ("ranks", "P", "count"),
                                     ("full_step_seconds", "full step, ms", "millis")])
    steps.rows = [["resnet20, 64 per rank", 1, 0.5439], ["resnet18, 64 per rank", 1, 1.5]]
    return [times, steps]


def study():
    """ResNet-20 on 1, 2 and 4 ranks: 2000 images; 10, 5.025 and 2.9 s."""
    task = Table("lab5_task_6_s1", "Task 6: resnet20", [
        ("ranks", "Ranks", "count"), ("epoch_s", "Time (s)", "seconds"),
        ("images_per_second", "Throughput (images/s)", "rate"),
        ("speedup", "Speedup", "ratio"), ("efficiency", "Efficiency (%)", "percent"), ("batch", "Batch", "count")])
    task.rows = [[ranks, time, 2000 / time, 10 / time, 10 / time / ranks, 64 * ranks]
                 for ranks, time in ((1, 10.0), (2, 5.025), (4, 2.9))]
    scaling = Table("scaling", "Scaling by epoch time", [
        ("series", "series", "text"), ("ranks", "P", "count"), ("hosts", "hosts", "count"),
        ("epoch_seconds", "epoch, s", "seconds"), ("images_per_second", "images/s", "rate"),
        ("speedup", "speedup", "ratio"),
        ("efficiency", "efficiency, %", "percent")])
    scaling.rows = [["resnet20, 64 per rank", row[0], 1, *row[1:5]] for row in task.rows]
    return [task, scaling]


class CheckCase(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def read(self, text):
        return read_hand_table(self.write("table.csv", text))

    def check(self, text, name="mine", own=None):
        return check_table(name, self.read(text), tables() if own is None else own)

    def accept(self, text, own=None):
        check = self.check(text, own=own)
        self.assertTrue(check.agrees(), (check.remarks, check.not_compared))
        return check

    def reject(self, text, own=None):
        check = self.check(text, own=own)
        self.assertFalse(check.agrees(), check)
        return check


class Written(CheckCase):
    def test_numbers_as_people_write_them(self):
        for cell, value in (("3,571", 3571), ("3,571", 3.571), ("3.571,25", 3571.25), ("84,0 %", 84), (" 544 ms", 544),
                            ("-1.5e-3", -1.5e-3), ("1,234,567.5", 1234567.5), ("x1.75", 1.75), ("2.8x", 2.8),
                            ("~24 s", 24),
                            ("13.6 ± 0.2", 13.6)):
            self.assertIn(value, [number.value for number in written_numbers(cell)], cell)
        for cell, half in (("84.0", 0.05), ("84", 0.5), ("1.50e3", 5)):
            self.assertAlmostEqual(written_numbers(cell)[0].half_unit, half)
        for cell in ("", "-", "ms", "25/25", "2026-01-02", "1.2.3", "--1", "nan", "inf", "1" + "0" * 400, "1e999",
                     "1,23,4"):
            self.assertEqual([number.value for number in written_numbers(cell)], [], cell)

    def test_tables_as_spreadsheets_write_them(self):
        for text in ('a,b\r\n1,"x, ""y"""\r\n', 'a;b\n1;"x, ""y"""\n', '\ufeffa\tb\n\n1\tx, "y"\n\t\n',
                     'a;b\n1;"x, ""y"""\n'.encode("utf-16")):
            table = self.read(text)
            self.assertEqual((table.headings, table.rows[0].cells), (["a", "b"], ["1", 'x, "y"']))
        self.assertEqual(self.read('a,b\n1,"2\n3"\n4,5\n').rows[1].where, "line 4")
        # A decimal comma is no separator, though there may be more of them.
        self.assertEqual(self.read("a;b\n1,5;2,5\n").headings, ["a", "b"])
        # A title, of one cell or of one cell with text
        for title in ("My results\n", "My results, by group 7\n\n", "My results;;\n"):
            table = self.read(title + "a;b;c\n1;2;3\n")
            self.assertEqual((table.headings, table.rows[0].cells), (["a", "b", "c"], ["1", "2", "3"]))

    def test_tables_that_are_none_are_refused(self):
        for text, fault in (("", "it is empty"), ("\n,\n", "it is empty"), ("a,b\n", "no row"),
                            ("a,b\n1,2,3\n", "line 2 has 3 cells, but there are 2 headings"),
                            ('a,b\n1,"2\n3', "line 2: a quote is not closed"),
                            ('a,b\n1,"2"3\n', "line 2: text follows a closing"),
                            (b"a,b\n1,\x002\n", "it is not a text"), ("a,b\n1," + "2" * 200_000, "a cell is too long"),
                            ("a,b\n" + "1,2\n" * 2001, "2001 rows and 2 columns, more than the 2000"),
                            ("a," * 2001 + "b\n" + "1," * 2001 + "2\n", "1 rows and 2002 columns"),
                            ("a,b\n" + "1,2\n" * 1_000_001, "more than the 4000000")):
            with self.subTest(fault=fault), self.assertRaisesRegex(Unusable, f"table.csv: .*{fault}"):
                self.read(text)
        for place in (self.folder / "none.csv", self.folder):
            with self.assertRaises(Unusable):
                read_hand_table(place)


class Figures(CheckCase):
    def test_a_rounded_and_renamed_copy_agrees(self):
        check = self.accept("GPUs;Time (s);Throughput (images/s);Efficiency (%);My remark\n"
                            "4;5,38;9.301;-;good\n1;13,6;3.676;100;\n2;8,1;6.174;84,0;\n")
        self.assertEqual((check.title, check.figures), (TITLE, 8))
        self.assertEqual((check.by, check.not_compared), (["GPUs"], [("My remark", "")]))
        self.accept("ranks,epoch_s,efficiency\n1,13.6,1.0\n2,8.099,0.8396\n4,5.376,\n")
        # Both sides of the last digit: 8.099 is 8.1 and not 8.0, 83.96 % is 84 and not 83.
        self.accept("P,Time\n1,14\n2,8.1\n4,5\n")
        self.reject("P,Time\n1,14\n2,8.0\n4,5\n")
        self.reject("P,Efficiency\n1,100\n2,83\n4,\n")
        self.accept("P,Efficiency\n1,100\n2,84\n4,\n")
        # A share of one decimal says too little.
        self.reject("P,Efficiency\n1,1.00\n2,0.8\n4,\n")

    def test_what_was_changed_is_named_with_its_line(self):
        check = self.check("GPUs,Time (s),Efficiency (%)\n1,13.6,100\n2,7.1,84\n4,5.376,63\n")
        self.assertEqual((check.agrees(), check.differing), (False, 2))
        self.assertEqual(check.remarks, ["line 3, Time (s): 7.1; the runs give 8.099",
                                         "line 4, Efficiency (%): 63; the runs give no figure"])
        check = self.check("P,Time\n1,13.6\n2,\n8,2.7\n")
        self.assertEqual((check.differing, check.rows_without_run, check.rows_left_out), (1, 1, 1))
        self.assertEqual(check.remarks, ["line 3, Time: nothing; the runs give 8.099", "line 4: no run gives this row",
                                         "left out: GPUs 4"])

    def test_a_row_counts_once(self):
        check = self.check("P,Time\n1,13.6\n2,8.1\n2,8.1\n4,5.4\n")
        self.assertEqual((check.rows_without_run, check.remarks), (1, ["line 4: no run gives this row"]))

    def test_every_tolerance_has_a_relative_bound(self):
        for cell, wanted, show, fits in (
                ("0e300", 5.0, "seconds", False), ("5e0", 5.2, "seconds", True), ("0e300", 0.99, "percent", False),
                ("1", 0.67, "ratio", False), ("2", 1.5, "ratio", False), ("2", 1.97, "ratio", True),
                ("4", 3.7, "ratio", False),
                ("5", 5.376, "seconds", True), ("5", 5.7, "seconds", False), ("0", 0.4, "seconds", False),
                ("3000", 3300, "rate", False), ("1e3", 1004, "rate", True), ("1e3", 1200, "rate", False),
                ("9.93", 0.993, "percent", False), ("99.3", 0.993, "percent", True), ("0.993", 0.993, "percent", True),
                ("993", 0.993, "percent", False), ("0.993 %", 0.993, "percent", False),
                ("5025", 5.025, "seconds", False), ("5025 ms", 5.025, "seconds", True),
                ("5.025 s", 5.025, "seconds", True),
                ("5.03 ms", 5.025, "seconds", False), ("0.0838 min", 5.025, "seconds", True),
                ("543.9", 0.5439, "millis", True), ("0.544 s", 0.5439, "millis", True),
                ("5.44", 0.5439, "millis", False),
                ("44.7", 44.7e6, "bytes", True), ("44.7 MB", 44.7e6, "bytes", True),
                ("44.7 GB", 44.7e6, "bytes", False),
                ("447", 44.7e6, "bytes", False), ("0.0", 0.0004, "percent", True), ("0", 0.0, "seconds", True)):
            with self.subTest(cell=cell, wanted=wanted, show=show):
                self.assertEqual(agrees(cell, wanted, show), fits)

    def test_rows_are_told_by_what_stands_before_the_figures(self):
        text = "series,P,full step\nResNet18,1,1500\nresnet20,1,543.9\n"
        self.assertEqual(self.accept(text).title, "Steps")
        self.reject("series,P,full step\nresnet20,1,1500\nresnet18,1,543.9\n")
        self.assertEqual(self.check("series,P,full step\nresnet50v2,1,1500\n").rows_without_run, 1)
        # The beginning of a name, but not of its number
        self.assertEqual(self.check("series,P,full step\nresnet2,1,543.9\nresnet1,1,1500\n").rows_without_run, 2)

    def test_a_table_that_the_runs_do_not_give_is_not_compared(self):
        text = "P,Time\n1,13.6\n2,8.1\n4,5.4\n"
        self.assertTrue(self.check(text, "book_task_10_5_s1").agrees())
        missing = self.check(text, "book_task_10_6_s2")
        self.assertEqual(missing.title, "")
        self.assertIn("runs are missing", missing.remarks[0])
        self.assertIn("no table of the runs", self.check("name,colour\na,red\n").remarks[0])
        self.assertIn("too few columns", self.check("name,colour\na,red\n", "steps").remarks[0])

    def test_a_table_with_the_row_is_meant_not_one_that_lacks_it(self):
        other = tables()[0]
        other.title = "Task 10.6: net"
        other.rows = [row for row in other.rows if row[0] != 2]  # agrees with all that it has
        check = self.check("P,Time,Efficiency\n1,13.6,100\n2,7.1,99\n8,1,50\n", own=[other, *tables()])
        self.assertEqual((check.title, check.differing), (TITLE, 2))


# Honest tables of the study: usual headings, a title line, other units, transposed, other languages.
HONEST = {
    "usual": "Number of GPUs,Epoch time "
             "(s),Images/s,Speedup,Eff\n1,10.0,200,1.00,100\n2,5.03,398,1.99,99.5\n4,2.9,690,3.45,86.2\n",
    "title": "Results of group 7\nGPUs,Time (s),Speedup\n1,10,1\n2,5.025,1.99\n4,2.9,3.45\n",
    "ms": "GPUs,Time (ms),Speedup\n1,10000,1.00\n2,5025,1.99\n4,2900,3.45\n",
    "minutes": "GPUs,Time (min)\n1,0.1667\n2,0.08375\n4,0.04833\n",
    "units in cells": "P,T,S,E\n1,10.0 s,1.00x,100.0 %\n2,5.03 s,1.99x,99.5 %\n4,2.90 s,3.45x,86.2 %\n",
    "tabs": "GPUs\tTime (s)\tSpeedup\n1\t10\t1.0\n2\t5.03\t1.99\n4\t2.9\t3.45\n",
    "transposed": "GPUs,1,2,4\nTime (s),10,5.03,2.9\nSpeedup,1.00,1.99,3.45\nEfficiency (%),100,99.5,86.2\n",
    "Spanish": "Número de GPUs;Tiempo por época (s);Rendimiento (imágenes/s);Aceleración;Eficiencia (%)\n"
               "1;10,0;200;1,00;100\n2;5,03;398;1,99;99,5\n4;2,90;690;3,45;86,2\n",
    "Catalan": "Nombre de GPUs;Temps per època (s);Acceleració;Eficiència "
               "(%)\n1;10,0;1,00;100\n2;5,03;1,99;99,5\n4;2,90;3,45;86,2\n",
    "model": "Model,GPUs,Time (s),Speedup\nResNet-20,1,10.0,1.00\nResNet-20,2,5.03,1.99\nResNet-20,4,2.90,3.45\n",
    # 10 / 5 = 2 and 10 / 3 = 3.33 where the runs give 1.99 and 3.45; 2000 / 3 = 667; 3.33 / 4
    "from shown times": "GPUs,Time (s),Throughput,Speedup,Efficiency "
                        "(%)\n1,10,200,1.00,100\n2,5,400,2.00,100\n4,3,667,3.33,83.3\n",
    # 10 / 3 = 3.3 from the times, 3.3 / 4 = 82.5 % from that
    "from what follows": "GPUs,Time (s),Speedup,Efficiency (%)\n1,10,1.0,100.0\n2,5,2.0,100.0\n4,3,3.3,82.5\n",
    "from shown speedups": "GPUs,Speedup,Efficiency\n1,1,1.0\n2,2.0,1.00\n4,3.4,0.85\n",
    "ideal": "GPUs,Speedup,Ideal speedup,Throughput per GPU\n1,1.0,1,200\n2,1.99,2,199\n4,3.45,4,172\n",
    "own columns": "GPUs,Time (s),Accuracy,Batch "
                   "size,Comment\n1,10,0.31,64,base\n2,5.03,0.32,128,good\n4,2.9,0.3,256,less\n",
    "extension": "P,seconds per epoch\n4,2.9\n2,5.03\n1,10.0\n",
}
# The speedup on 2 GPUs is 1.99, on 4 3.45.
FORGED = {
    "Speedup S": "GPUs,Time (s),Speedup S\n1,10,1\n2,5.03,3.97\n4,2.9,3.45\n",
    "Acceleracion": "GPUs,Time (s),Acceleracion\n1,10,1\n2,5.03,3.97\n4,2.9,3.45\n",
    "Speed-up vs CPU": "GPUs,Time (s),Speed-up vs CPU\n1,10,1\n2,5.03,3.97\n4,2.9,3.45\n",
    "speedup_vs_first_epoch": "GPUs,Time (s),speedup_vs_first_epoch\n1,10,1\n2,5.03,3.97\n4,2.9,3.45\n",
    "My speedup, Eff.": "GPUs,Time (s),Throughput (images/s),My "
                        "speedup,Eff.\n1,10,200,1,100\n2,5.03,398,3.97,198\n4,2.9,690,3.45,86\n",
    "two speedups": "GPUs,Time (s),Speedup,Speedup S\n1,10,1,1\n2,5.03,1.99,3.97\n4,2.9,3.45,3.45\n",
    "unknown name": "GPUs,Time (s),Zuwachs\n1,10,1\n2,5.03,3.97\n4,2.9,3.45\n",
    "0e300": "GPUs,Time (s),Speedup,Efficiency (%)\n1,0e300,0e300,0e300\n2,0e300,0e300,0e300\n4,0e300,0e300,0e300\n",
    "ten times": "GPUs,Time (s),Efficiency (%)\n1,10,100\n2,5.03,9.95\n4,2.9,86.2\n",
    "one digit": "GPUs,Speedup\n1,1\n2,2\n4,4\n",
    # A wrong time does not make a wrong speedup right.
    "from false times": "GPUs,Time (s),Speedup\n1,10,1\n2,2.5,4.00\n4,2.9,3.45\n",
    "transposed": "GPUs,1,2,4\nTime (s),10,5.03,2.9\nSpeedup,1.00,3.97,3.45\n",
    "ms as s": "GPUs,Time (s)\n1,10000\n2,5025\n4,2900\n",
    "ideal": "GPUs,Time (s),Ideal speedup\n1,10,1\n2,5.03,3\n4,2.9,4\n",
}


class Forms(CheckCase):
    def test_honest_tables_agree(self):
        for name, text in HONEST.items():
            with self.subTest(name):
                self.accept(text, study())

    def test_forged_tables_do_not(self):
        for name, text in FORGED.items():
            with self.subTest(name):
                self.reject(text, study())

    def test_every_column_is_named(self):
        check = self.check(FORGED["Speed-up vs CPU"], own=study())
        self.assertEqual((check.by, check.compared, check.not_compared),
                         (["GPUs"], ["Time (s)"], [("Speed-up vs CPU", "speedup")]))
        self.assertEqual(check.remarks, [])
        for text in (*HONEST.values(), *FORGED.values()):
            check, written = self.check(text, own=study()), self.read(text)
            headings = written.transposed().headings if text.startswith("GPUs,1,2") else written.headings
            self.assertEqual(sorted([*check.by, *check.compared, *(heading for heading, _ in check.not_compared)]),
                             sorted(headings))

    def test_what_follows_needs_figures_that_agree(self):
        """Without the row of one rank in the hand-in, nothing follows from it."""
        self.accept("GPUs,Time (s),Speedup\n1,10,1\n2,5,2.00\n4,3,3.33\n", study())
        check = self.reject("GPUs,Time (s),Speedup\n2,5,1.00\n4,3,1.67\n", study())
        self.assertEqual(check.differing, 2)

    def test_series_side_by_side_are_called_by_their_models(self):
        table = Table("lab5_task_8_speedup", "Task 8: speedup", [
            ("ranks", "P", "count"), ("s1", "resnet50v2, 2048 per rank, GPU", "ratio"),
            ("s2", "resnet152v2, 1024 per rank", "ratio")])
        table.rows = [[1, 1.0, 1.0], [4, 2.53, 3.26]]
        self.accept("GPUs,ResNet50,ResNet152\n1,1,1.00\n4,2.53,3.26\n", [table])
        self.reject("GPUs,ResNet50,ResNet152\n1,1,1.00\n4,3.26,2.53\n", [table])

    def test_a_hand_in_may_be_about_one_of_several_series(self):
        scaling = study()[1]
        scaling.rows += [["resnet18, 64 per rank", 1, 1, 30.0, 66.7, 1.0, 1.0],
                         ["resnet18, 64 per rank", 2, 1, 16.0, 125, 1.875, 0.9375],
                         ["resnet20, 64 global", 1, 1, 10.0, 200, 1.0, 1.0],
                         ["resnet20, 64 global", 2, 1, 6.0, 333.3, 1.667, 0.833]]
        self.accept("Network,GPUs,Time (s)\nResNet-18,1,30\nResNet-18,2,16\n", [scaling])
        self.accept("GPUs,Time (s),Speedup\n1,10,1\n2,6,1.67\n", [scaling])
        self.accept("GPUs,Time (s),Speedup\n1,10,1\n2,5.03,1.99\n4,2.9,3.45\n", [scaling])
        check = self.reject("Network,GPUs,Time (s)\nResNet-20,1,10\nResNet-20,2,5.03\n", [scaling])
        self.assertEqual(check.remarks, ["left out: series resnet20, 64 per rank, P 4"])
        # Under the table's own name it has to have all.
        self.assertEqual(self.check("series,ranks,epoch_seconds\nresnet18,1,30\nresnet18,2,16\n", "scaling",
                                    [scaling]).rows_left_out, 5)

    def test_columns_of_each_batch(self):
        """As the layout nyu has them: what follows, follows within a batch."""
        table = Table("nyu_table_1_g1", "Question 2", [
            ("ranks", "GPUs", "count"), *((f"batch_{batch}_{key}", f"Batch {batch} per GPU: {heading}",
                                           show) for batch in (32, 128)
                                        for key, heading, show in (("time_s", "time (sec)", "seconds"),
                                                                   ("speedup", "speedup", "ratio")))])
        table.rows = [[1, 96.4, 1.0, 70.4, 1.0], [4, 90.4, 96.4 / 90.4, 35.4, 70.4 / 35.4]]
        heads = ",".join(column.heading for column in table.columns)
        self.accept(f"{heads}\n1,96.4,1,70,1\n4,90.4,1.07,35,2.00\n", [table])
        self.reject(f"{heads}\n1,96.4,1,70,1\n4,90.4,2.00,35,2.00\n", [table])

    def test_words_of_the_courses(self):
        for heading, quantity in (("Epoch time (s)", "time"), ("Time (s)", "time"), ("epoch-2 time", "time"),
                                  ("Time (ms)", "time"),
                                  ("Seconds per epoch", "time"), ("Execution time", "time"), ("Tiempo", "time"),
                                  ("T(P)", "time"),
                                  ("Speedup", "speedup"), ("Speed-up", "speedup"), ("S(P)", "speedup"),
                                  ("SpeedUp (x)", "speedup"),
                                  ("Efficiency (%)", "efficiency"), ("Parallel efficiency", "efficiency"),
                                  ("E(P)", "efficiency"),
                                  ("Scaling efficiency", "efficiency"), ("Global throughput", "throughput"),
                                  ("Throughput (images/s)", "throughput"), ("images per second", "throughput"),
                                  ("Images/s", "throughput"), ("Per-GPU", "ranks"), ("#GPUs", "ranks"),
                                  ("Batch size", "batch"),
                                  ("Batch size per GPU", "batch of a rank"), ("First epoch (s)", "first epoch"),
                                  ("Speedup of the larger network over the CPU", ""), ("Epoch", ""), ("Remark", "")):
            self.assertEqual(quantity_of(heading)[0], quantity, heading)
        for heading, like in (("Speed-up vs CPU", "speedup"), ("Loss of efficiency", "efficiency"),
                              ("Time limit", "time"),
                              ("Accuracy (%)", ""), ("Learning rate", ""), ("Zuwachs", "a figure of its own"),
                              ("", "a figure of its own")):
            self.assertEqual(looks_like(heading, ["", "3.97"]), like, heading)
        self.assertEqual(looks_like("Speedup in words", ["good", "-"]), "")


class Folders(CheckCase):
    def test_a_folder_is_compared_file_by_file(self):
        for place in (self.folder, self.folder / "none"):
            with self.assertRaises(Unusable):
                check_hand_in(place, tables())
        self.write("a/times.CSV", "P,Time\n1,13.6\n2,8.1\n4,5.4\n")
        self.write("a/steps.tsv", "series\tP\tfull step\nresnet20\t1\t544\nresnet18\t1\t1500\n")
        self.write("slides.pdf", "%PDF")
        self.write("notes.txt", "P,Time\n1,1\n")
        found = check_hand_in(self.folder, tables())
        self.assertEqual(found.faults(), "")
        text = text_of(found)
        for words in ("a/times.CSV: Task 10.5: net: 3 figures compared", "compared: Time; rows by P",
                      "Not looked at, as they are no tables: slides.pdf",
                      "All agree: 5 figures in 2 tables"):
            self.assertIn(words, text)
        self.write("b.csv", "P,Time,Speed\n1,13.6,1\n2,\x1b[31m9,2\n4,5.4,3\n")
        found = check_hand_in(self.folder, tables())
        self.assertIn("8 figures in 3 tables", found.compared())
        self.assertEqual(found.faults(), "1 figure differs, 1 column was not compared")
        self.assertNotIn("\x1b", text_of(found))
        self.assertIn("not compared: Speed (looks like speedup)", text_of(found))

    def test_links_are_not_followed_and_records_of_runs_are_no_hand_in(self):
        self.write("b.csv", "P,Time\n1,13.6\n2,8.1\n4,5.4\n")
        os.symlink("/dev/zero", self.folder / "endless.csv")
        self.write("study/one/run.json", "{}")
        self.write("study/one/steps.csv", "epoch,step\n1,1\n")
        self.assertEqual([name for name, _ in check_hand_in(self.folder, tables()).tables], ["b.csv"])
        self.write("c.csv", "P,Time\n1\n")
        with self.assertRaisesRegex(Unusable, "c.csv: line 2 has 1"):
            check_hand_in(self.folder, tables())

    def test_many_remarks_are_counted(self):
        self.write("b.csv", "P,Time\n" + "8,1.0\n" * 30)
        text = text_of(check_hand_in(self.folder / "b.csv", tables()))
        self.assertEqual(text.count("no run gives this row"), 20)
        self.assertIn("and 13 more", text)


if __name__ == "__main__":
    unittest.main()
