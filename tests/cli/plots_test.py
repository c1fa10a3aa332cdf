#!/usr/bin/env python3
"""The charts, page and slides of a report: they show the values of report.json.

usage: plots_test.py
"""

import contextlib
import hashlib
import importlib.util
import io
import json
import math
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest
from html.parser import HTMLParser
from pathlib import Path

import made_report as made
from rueda_runs import long, longer, main, part

JOBS = Path(__file__).resolve().parents[2] / "jobs"
sys.path[:0] = [str(JOBS), str(JOBS / "check")]
BUFFERED = {**os.environ, "PYTHONUNBUFFERED": ""}  # as Python is by itself
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAS_MATPLOTLIB:
    from matplotlib.text import Text

    import plot_layers
    import plot_report
    import real_images_report
    from reader.base.text import cell_text
    from reader.charts import (
        bandwidth, bars, batches, communication, confusion, factors, lines, phases, predictions, quantity, style,
    )  # fmt: skip
    from reader.charts.chart import LOG, new_figure
    from reader.charts.every_chart import charts_of
    from reader.page import sheets

LONG = ", a label that goes on and on, and says everything about the options of its runs"
ODD = 'a <script>alert("1")</script> & $x$'


def drawn(draw, *arguments):
    """The axes after a drawing function."""
    axes = new_figure(8, 5).add_subplot()
    draw(axes, *arguments)
    return axes


def forked(script, *words):
    """A script in a process of its own that has the libraries already: Python takes longer to import them than to
    draw."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(120)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                code = run_main(script, words)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
        return subprocess.CompletedProcess([script, *words], code, *said)


def run_main(script, words):
    """The exit code of a script whose standard output and error are this process's."""
    sys.argv = [str(script), *map(str, words)]
    sys.stdout, sys.stderr = (open(1, "w", encoding="utf-8"),  # pylint: disable=consider-using-with
                              open(2, "w", encoding="utf-8"))  # pylint: disable=consider-using-with
    try:
        runpy.run_path(str(script), run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def heights(axes):
    return [round(bar.get_height(), 9) for bar in axes.patches]


def curves(axes):
    return [[list(line.get_xdata()), [round(y, 9) for y in line.get_ydata()]] for line in axes.lines]


def labels(axes):
    return [words.get_text() for words in axes.get_legend().get_texts()]


@unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib in this Python")
class Charts(unittest.TestCase):
    def test_bars_beside_ideal_ones(self):
        series = made.resnet20()
        axes = drawn(bars.draw, series, quantity.EPOCH_TIME)
        self.assertEqual(heights(axes), [8, 5, 4, 8, 4, 2])
        self.assertEqual(labels(axes), ["measured", "ideal", "hollow: more threads than cores"])
        self.assertEqual([bar.get_facecolor()[:3] == (1, 1, 1) for bar in axes.patches[:3]], [False, False, True])
        ends = [[round(y, 9) for _, y in path.vertices] for bars_ in axes.collections for path in bars_.get_paths()]
        self.assertEqual(ends, [[4.9, 5.2], [3.9, 4.2]])
        self.assertEqual(heights(drawn(bars.draw, series, quantity.EFFICIENCY)), [100, 80, 50, 100, 100, 100])
        for one, value in zip(series["points"], (1, 1.7, 2.2)):
            one["step_speedup"] = made.estimate(value)
        self.assertEqual(heights(drawn(bars.draw, series, quantity.SPEEDUP)), [1, 1.6, 2, 1, 1.7, 2.2, 1, 2, 4])
        for one, value in zip(series["points"], (3, 3.3, 4)):
            one["watt_hours"] = value
        self.assertEqual(heights(drawn(bars.draw, series, quantity.ENERGY)), [3, 3.3, 4, 3, 3, 3])
        series["points"][1]["epoch_seconds"] = None  # unknown: left out
        self.assertEqual(heights(drawn(bars.draw, series, quantity.EPOCH_TIME)), [8, 4, 8, 4, 2])

    def test_bars_of_several_series_for_a_hand_in(self):
        other = made.series("resnet50v2", [made.point(1, 40.0), made.point(4, 16.0)])
        both = [{**made.resnet20(), "id": "s1"}, {**other, "id": "s2"}]
        self.assertEqual(heights(drawn(bars.draw_side_by_side, both, quantity.EPOCH_TIME)), [8, 5, 4, 40, 16])
        axes = drawn(bars.draw_side_by_side, both, quantity.SPEEDUP)
        self.assertEqual(heights(axes), [1, 1.6, 2, 1, 2.5])
        ideal = [path.vertices[0][1] for lines_ in axes.collections for path in lines_.get_paths()]
        self.assertEqual(ideal[-3:], [1, 2, 4])
        names = ["resnet20, 64 per rank", "resnet50v2, 64 per rank", "ideal", "hollow: more threads than cores"]
        self.assertEqual(labels(axes), names)
        # They are the figures of a layout's tables, and where there is no layout lines show the same.
        layouts = {"book": [made.table("book_task_10_7_speedup", "Task 10.7: speedup")]}
        charts = self.charts_by_name(made.report(both, layouts=layouts))
        tables = sheets.charts_of_table(layouts["book"][0], charts.values())
        self.assertEqual([chart.name for chart in tables], ["weak-speedup-bars"])
        self.assertNotIn("weak-speedup-bars", self.charts_by_name(made.report(both)))
        self.assertIsNone(bars.side_by_side_chart("n", "t", "", both * 3, quantity.SPEEDUP))

    def test_every_chart_of_what_computed_nothing_says_so(self):
        for processor, said in (("timed", True), ("cpu", False)):
            series = {**made.resnet20(), "processor": processor}
            alone = {**series, "id": "s2", "points": series["points"][1:2]}
            for one, batch in zip(series["points"], (64, 32, 16)):
                one["rank_batch"] = batch
            series["points"].append({**series["points"][0], "rank_batch": 128})
            charts = charts_of(made.report([series, alone]))
            self.assertGreater(len(charts), 10)
            for chart in charts:
                axes = chart.figure().axes[0]
                legend = labels(axes) if axes.get_legend() else []
                ticks = [one.get_text() for one in axes.get_yticklabels()]
                words = " ".join([axes.get_title(), *legend, *ticks]).replace("\n", " ")
                self.assertEqual("nothing computed" in words, said, chart.name)

    def test_lines_over_ranks(self):
        other = made.series("resnet50v2", [made.point(1, 40.0), made.point(4, 16.0)], source="Some book")
        axes = drawn(lines.draw, [made.resnet20(), other], quantity.THROUGHPUT)
        for line in ([[1, 2, 4], [625, 1000, 1250]], [[1, 4], [125, 312.5]]):
            self.assertIn(line, curves(axes))
        self.assertEqual(labels(axes)[:3], ["resnet20, 64 per rank", "resnet50v2, 64 per rank (Some book)", "ideal"])
        axes = drawn(lines.draw, [made.resnet20(), other], quantity.EPOCH_TIME)
        self.assertIn([[1, 4], [40, 10]], curves(axes))  # ideal

    def test_phases_are_stacked_in_the_order_of_a_step(self):
        axes = drawn(phases.draw, made.resnet20())
        last = [(round(bar.get_y(), 9), round(bar.get_height(), 9)) for bar in axes.patches[-8:]]
        self.assertEqual([one for one in last if one[1] > 0], [(0, 30), (30, 60), (90, 10)])
        self.assertEqual(labels(axes), ["forward", "backward", "exposed all-reduce"])
        for one in (axes, drawn(communication.draw, made.resnet20())):
            self.assertEqual([tick.get_text() for tick in one.get_xticklabels()][-2:], ["2", "4 *"])
            self.assertIn("* more threads than cores", one.get_xlabel())
        self.assertIn("P = 4, more threads than cores", labels(drawn(bandwidth.draw, made.resnet20())))

    def test_what_each_factor_lost(self):
        known = [(1, 1, 1, 1), (0.5, 1, 0.5, 1), (1, 0.9, 1, 1 / 0.9), (0.8, 1, 1, None)]
        names = ("load_balance", "serialisation", "transfer", "computation_scaling")
        points = [made.point(2**i, 8.0, factors=dict(zip(names, one))) for i, one in enumerate(known)]
        axes = drawn(factors.draw, made.series("m", points))
        stacks = [(round(bar.get_y(), 6), round(bar.get_height(), 6)) for bar in axes.patches if bar.get_height()]
        part = round(-100 * math.log(0.9), 6)  # of a product of 1
        self.assertEqual(stacks, [(0, 37.5), (37.5, 37.5), (0, part), (0, -part)])
        self.assertEqual([words.get_text() for words in axes.texts], ["0.0", "75.0", "0.0"])
        self.assertEqual(axes.get_ylabel(), "global efficiency lost, points")  # of differences of shares

    def test_a_logarithmic_axis_says_so(self):
        wide = made.series("m", [made.point(2**i, 8.0 / 4**i) for i in range(4)])
        for axes, across, up in (
            (drawn(lines.draw, [wide], quantity.EPOCH_TIME), True, True),
            (drawn(lines.draw, [made.resnet20()], quantity.EPOCH_TIME), True, False),
            (drawn(lines.draw, [made.resnet20()], quantity.SPEEDUP), True, True),
            (drawn(bandwidth.draw, made.resnet20()), True, False),
            (drawn(bars.draw, made.resnet20(), quantity.EPOCH_TIME), False, False),
        ):
            self.assertEqual((axes.get_xscale() == "log", axes.get_yscale() == "log"), (across, up))
            self.assertEqual([LOG in one for one in (axes.get_xlabel(), axes.get_ylabel())], [across, up])

    def test_every_star_has_its_legend(self):
        factors_of_four = dict.fromkeys(("load_balance", "serialisation", "transfer", "computation_scaling"), 0.9)
        series = made.resnet20()
        for point in series["points"]:
            point["factors"] = factors_of_four
        for chart in (phases.chart({**series, "file": "m"}, ""), factors.chart({**series, "file": "m"}, ""),
                      communication.chart({**series, "file": "m"}, "")):  # fmt: skip
            axes = chart.figure().axes[0]
            self.assertEqual(axes.get_xticklabels()[-1].get_text(), "4 *")
            self.assertIn("* more threads than cores", axes.get_xlabel())
            self.assertIn("* more threads than cores; such points are left out of fits.", chart.remarks)

    def test_communication_and_bandwidth(self):
        self.assertEqual(heights(drawn(communication.draw, made.resnet20()))[:5], [1.0, 0.5, 0.75, 0.25, 0.75])
        shown = curves(drawn(bandwidth.draw, made.resnet20()))
        # 10 MB x 2 (P-1)/P / 10 ms: 1 GB/s on two ranks, 1.5 on four; the transfer alone; the step's sum.
        for line in ([[10e6, 30e6], [1.0, 1.5]], [[10e6, 30e6], [1.5, 2.25]], [[10e6], [2.0]], [[40e6], [1.5]]):
            self.assertIn(line, shown)

    def test_batch_sizes_and_what_was_refused(self):
        def of(batch, seconds):
            points = [made.point(p, seconds / p, rank_batch=batch) for p in (1, 2)]
            return made.series(f"b{batch}", points, model="resnet18")

        refused = [["resnet18", 2, 512, "refused"], ["resnet18", 4, 256, "failed"], ["resnet50", 2, 128, "refused"]]
        (chart,) = batches.charts(made.report([of(32, 10), of(128, 8)], [made.batches(refused)]))
        axes = chart.figure().axes[0]
        shown = [line for line in curves(axes) if len(line[0]) == 2]
        self.assertEqual(shown, [[[32, 128], [500, 625]], [[32, 128], [1000, 1250]]])
        self.assertEqual([words.get_text() for words in axes.texts], ["refused\nP = 2"])

    def test_sweeps_of_several_processors_have_titles_of_their_own(self):
        series = [
            made.series(f"{kind}{batch}", [made.point(p, 8 / p, rank_batch=batch) for p in (1, 2)], model="resnet18")
            for kind in ("cpu", "gpu") for batch in (32, 128)
        ]  # fmt: skip
        for one in series:
            one["processor"] = one["id"][:3]
        titles = [chart.title for chart in batches.charts(made.report(series))]
        self.assertEqual(titles, ["resnet18, CPU: batch sizes", "resnet18, GPU: batch sizes"])

    @staticmethod
    def charts_by_name(report):
        return {chart.name: chart for chart in charts_of(report)}

    def test_a_run_alone_shows_how_it_learned(self):
        charts = self.charts_by_name(made.report([made.alone("m", "runs/one")], runs=[made.run("runs/one")]))
        loss, accuracy = (charts[f"m-64-per-rank-{kind}"].figure().axes[0] for kind in ("loss", "accuracy"))
        self.assertEqual(curves(loss), [[[1, 2], [2, 1]], [[2], [2.5]]])
        self.assertEqual(curves(accuracy), [[[1, 2], [30, 60]], [[2], [50]]])
        self.assertEqual(labels(loss), ["test images", "training images"])
        # Of every P of a series, in one chart.
        series = made.resnet20()
        runs = [made.run(f"runs/{i}", accuracy=(0.1 * i, 0.2 * i)) for i in range(1, 4)]
        for point, run in zip(series["points"], runs):
            point["run"] = run["path"]
        charts = self.charts_by_name(made.report([series], runs=runs))
        axes = charts["resnet20-64-per-rank-accuracy"].figure().axes[0]
        self.assertEqual([line for line in curves(axes) if len(line[0]) == 2],
                         [[[1, 2], [10 * i, 20 * i]] for i in range(1, 4)])
        self.assertEqual(labels(axes)[:3], ["P = 1", "P = 2", "P = 4"])

    def test_what_curves_do_not_show_is_remarked(self):
        def remarks(**more):
            run = made.run("runs/one")
            run["learning"].update(more)
            charts = self.charts_by_name(made.report([made.alone("m", "runs/one")], runs=[run]))
            return " ".join(charts["m-64-per-rank-loss"].remarks)

        self.assertEqual(remarks(), "Training images: means over the epoch, while they were trained on.")
        self.assertIn("500 are drawn", remarks(loss=made.curve((2, 1), known=10000)))
        self.assertIn("not a finite number in every epoch", remarks(loss=made.curve((2,))))
        self.assertIn("not a finite number in every epoch", remarks(loss=made.curve((2, float("nan")), known=1)))
        # Where nothing was computed there is nothing to draw.
        run = made.run("runs/one", loss=(), accuracy=(), val_loss=(), val_accuracy=())
        names = self.charts_by_name(made.report([made.alone("m", "runs/one")], runs=[run]))
        self.assertEqual([name for name in names if "loss" in name or "accuracy" in name], [])

    def test_more_runs_than_a_chart_holds_get_several(self):
        series = [made.alone(f"m{i}", f"runs/{i}") for i in range(10)]
        charts = self.charts_by_name(made.report(series, runs=[made.run(f"runs/{i}") for i in range(10)]))
        parts = [charts[name].figure().axes[0] for name in ("single-loss", "single-loss-2")]
        self.assertEqual([len(labels(axes)) for axes in parts], [8 + 2, 2 + 2])

    def test_a_class_whose_letters_cannot_be_drawn_has_its_number(self):
        chart = confusion.chart("c", "m", made.evaluation(["café", "猫", "犬 dog"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
        labels = [label.get_text() for label in chart.figure().axes[0].get_yticklabels()]
        self.assertEqual(labels, ["café", "class 1", "class 2"])
        self.assertEqual([row[0] for row in chart.rows], ["café", "猫", "犬 dog"])

    def test_a_confusion_matrix_names_its_classes_and_mistakes(self):
        chart = confusion.chart("c", "m", made.evaluation())
        axes = chart.figure().axes[0]
        self.assertEqual([one.get_text() for one in axes.get_yticklabels()], ["cat", "dog"])
        self.assertEqual([one.get_text() for one in axes.texts], ["3", "1", "2", "4"])
        self.assertEqual(axes.get_title(), "m: accuracy 70.00 % of 10 test images")
        self.assertIn("dog taken for cat (2 of 6); cat taken for dog (1 of 4)", chart.remarks[-1])
        for classes in (20, 21):  # the most whose numbers can be read, and one more
            names = [f"kind {i}" for i in range(classes)]
            chart = confusion.chart("c", "m", made.evaluation(names, [[int(i == j) for j in range(classes)]
                                                                  for i in range(classes)]))
            axes = chart.figure().axes[0]
            self.assertEqual([len(axes.texts), len(axes.get_yticklabels())], [400 if classes == 20 else 0, classes])
        # Of a hundred classes neither numbers nor all names can be read.
        names = [f"class number {i}" for i in range(100)]
        counts = [[5 * (i == j) for j in range(100)] for i in range(100)]
        chart = confusion.chart("c", "m", made.evaluation(names, counts))
        axes = chart.figure().axes[0]
        self.assertEqual([one.get_text() for one in axes.get_yticklabels()], names[::4])
        self.assertEqual(([*axes.texts], len(chart.remarks), len(chart.rows)), ([], 1, 100))

    def test_two_runs_are_compared(self):
        runs = [made.run(name, phases=made.phases(forward=0.03, all_reduce=more))
                for name, more in (("one", 0), ("two", 0.01))]
        series = [made.alone("m1", "one"), made.alone("m2", "two")]
        comparison = {"runs": runs, "findings": ["A is faster."], "tables": [made.table()]}
        charts = self.charts_by_name(made.report(series, runs=runs, comparison=comparison))
        axes = charts["comparison-phases"].figure().axes[0]
        self.assertEqual([height for height in heights(axes) if height], [30, 30, 10])
        self.assertEqual([one.get_text() for one in axes.get_xticklabels()], ["A: one", "B: two"])
        self.assertEqual(labels(charts["comparison-accuracy"].figure().axes[0])[:2], ["A: one", "B: two"])
        self.assertNotIn("single-loss", charts)  # would show the same

    def test_predicted_beside_measured(self):
        names = ("ranks", "fitted", "measured_epoch_seconds", "predicted_epoch_seconds")
        rows = [dict(zip(names, row)) for row in ((1, "yes", 8, 8.2), (2, "yes", 5, 4.5), (4, "no", 4, 3))]
        forecast = {"title": "ring", "rows": [{"ranks": p, "epoch_seconds": 8 / p} for p in (1, 2, 4, 8)]}
        said = {"rueda_predict": 1, "measured": {"rows": rows}, "forecast": forecast}
        (chart,) = predictions.charts(made.report([], predictions=[said, {"rueda_predict": 1}]))
        wanted = [[[1, 2, 4, 8], [8, 4, 2, 1]], [[1, 2], [8, 5]], [[4], [4]], [[1, 2, 4], [8.2, 4.5, 3]]]
        self.assertEqual(curves(chart.figure().axes[0]), wanted)
        self.assertEqual([row[3] for row in chart.rows], ["+2.5 %", "-10.0 %", "-25.0 %"])
        self.assertEqual((list(chart.figure().axes[0].collections), chart.remarks), ([], []))
        # With intervals: a band about the line, from the value / 1.25 to 1.25 times it, and a bar at the predicted
        # point.
        for row in forecast["rows"]:
            row["epoch_plus_minus"] = 0.25
        rows[1]["plus_minus"] = 0.5
        (chart,) = predictions.charts(made.report([], predictions=[said]))
        band, bar = chart.figure().axes[0].collections
        ends = {(round(x, 9), round(y, 9)) for x, y in band.get_paths()[0].vertices}
        self.assertEqual(ends, {(p, y) for p in (1, 2, 4, 8) for y in (6.4 / p, 10 / p)})
        self.assertEqual([[round(y, 9) for _, y in path.vertices] for path in bar.get_paths()], [[3, 6.75]])
        self.assertIn("nine times in ten", chart.remarks[0])

    def test_what_is_not_determined_is_words_and_never_a_bar(self):
        series = made.resnet20()
        series["points"][1]["efficiency"]["why"] = "repeats leave anything"
        axes = drawn(bars.draw, series, quantity.EFFICIENCY)
        self.assertEqual(heights(axes), [100, 50, 100, 100, 100])  # two measured, three ideal
        self.assertIn("not determined", [one.get_text() for one in axes.texts])
        charts = self.charts_by_name(made.report([series, {**made.resnet20(), "id": "s2", "label": "other"}]))
        chart = charts["resnet20-64-per-rank-efficiency"]
        self.assertEqual(chart.rows[0], ["measured", "100.0", "not determined", "50.0"])
        self.assertIn("Not determined: P = 2 (repeats leave anything).", chart.remarks)
        axes = charts["weak-efficiency"].figure().axes[0]
        self.assertIn([[1, 4], [100, 50]], curves(axes))
        self.assertIn("Not determined: P = 2 (repeats leave anything).", charts["weak-efficiency"].remarks)
        self.assertNotIn("not determined",
                         [one.get_text() for one in drawn(bars.draw, made.resnet20(), quantity.EFFICIENCY).texts])

    def test_charts_have_the_task_numbers_of_the_course(self):
        several = [made.series(name, [made.point(1, 8.0), made.point(2, 5.0)]) for name in ("m1", "m2")]
        layouts = {"sa-miri": [made.table("sa_miri_task_10_3", "Task 10.3: the CPU as baseline"),
                               made.table("sa_miri_task_10_7_m2", "Task 10.7: m2"),
                               made.table("sa_miri_task_10_8_speedup", "Task 10.8: speedup"),
                               made.table("sa_miri_task_10_9_speedup", "Task 10.9: speedup")]}  # fmt: skip
        single = made.series("one", [made.point(1, 8.0)], scaling="single")
        report = made.report([*several, single], layouts=layouts)
        charts = sheets.with_task_numbers(report, charts_of(report))
        titles = {chart.name: chart.title for chart in charts}
        self.assertEqual(titles["weak-speedup"], "Task 10.8, Task 10.9: Speedup, weak scaling")
        self.assertEqual(titles["m2-64-per-rank-efficiency"], "Task 10.7: m2, 64 per rank: efficiency")
        self.assertEqual(titles["m1-64-per-rank-efficiency"], "m1, 64 per rank: efficiency")
        self.assertTrue(titles["single-epoch-time"].startswith("Task 10.3: "))
        made_sheets = sheets.sheets_of(report, [(chart, b"png") for chart in charts])
        titles = ["Task 10.3: the CPU as baseline", "Task 10.7: m2", "Task 10.7: m2: charts", "Task 10.8: speedup",
                  "Task 10.9: speedup"]
        self.assertEqual([sheet.title for sheet in made_sheets], titles)
        self.assertEqual([sum(len(block.content) for block in sheet.charts) for sheet in made_sheets],
                         [1, 0, 4, 1, 1])

    def test_more_than_two_charts_have_a_sheet_of_their_own(self):
        several = [made.series(name, [made.point(1, 8.0), made.point(2, 5.0)]) for name in ("m1", "m2")]
        columns = [{"key": key, "heading": key, "show": "text"} for key in "pabcde"]
        tables = [made.table("lab5_task_6_m1", "Task 6: m1", rows=[[1, *"fghij"], [2, *"klmno"]]),
                  made.table("lab5_task_8_speedup", "Task 8: speedup", rows=[[1, *"fghij"]])]  # fmt: skip
        stands = "m1 stands for resnet152v2."
        notes = {"columns": columns, "notes": ["Time: an epoch.", stands]}
        report = made.report(several, layouts={"lab5": [{**table, **notes} for table in tables]})
        found = sheets.sheets_of(report, [(chart, b"png") for chart in charts_of(report)])
        self.assertEqual([sheet.facts for sheet in found], [notes["notes"], [stands], notes["notes"]])
        shown = [(sheet.title, len(sheet.tables), sum(len(block.content) for block in sheet.charts), sheet.said)
                 for sheet in found]  # fmt: skip
        self.assertEqual(shown, [("Task 6: m1", 1, 0, None), ("Task 6: m1: charts", 0, 4, []),
                          ("Task 8: speedup", 1, 1, None)])  # fmt: skip
        self.assertFalse(any(sheet.beside for sheet in found))  # the table is too wide

    def test_letters_on_paper(self):
        """Also where the paper leaves a chart five sixths of its size, as two stand one above the other."""
        several = [made.series(f"resnet{i}", made.resnet20()["points"]) for i in (50, 152)]
        report = made.report(several, layouts={"lab5": []})
        for chart in charts_of(report):
            figure = chart.figure(printed=True)
            least = min(one.get_fontsize() for one in figure.findobj(Text) if one.get_text() and one.get_visible())
            with self.subTest(chart=chart.name):
                self.assertGreaterEqual(least * 5 / 6, 7)
                self.assertAlmostEqual(figure.get_size_inches()[0], 8 * 0.62)

    def test_the_book_asks_for_three_slides_with_its_titles(self):
        both = [made.series(name, [made.point(1, 8.0), made.point(2, 5.0)]) for name in ("m1", "m2")]
        words = {"epoch_time": "epoch time (s)", "throughput": "throughput", "speedup": "speedup",
                 "efficiency": "efficiency"}
        layouts = {"book": [made.table("book_task_10_3", "Task 10.3: the CPU as baseline"),
                            *[made.table(f"book_task_10_7_{key}", f"Task 10.7: {word}")
                              for key, word in words.items()]]}  # fmt: skip
        report = made.report(both, layouts=layouts)
        drawn = [(chart, b"png") for chart in charts_of(report)]
        found = [(sheet.title, [view.title for view in sheet.tables],
                  [one.alternative for block in sheet.charts for one in block.content])
                 for sheet in sheets.sheets_of(report, drawn)]  # fmt: skip
        self.assertEqual([one[:2] for one in found], [
            ("Task 10.3: the CPU as baseline", [""]),
            ("Task 10.7: Absolute performance", ["Epoch time (s)", "Throughput"]),
            ("Task 10.7: Scaling behavior", ["Speedup", "Efficiency"]),
            ("Task 10.7: Generalization", []),
        ])  # fmt: skip
        self.assertEqual([len(one[2]) for one in found], [0, 2, 2, 0])
        self.assertTrue(found[2][2][0].startswith("Chart. Speedup, weak scaling."))

    def test_facts_of_a_sheet_are_about_its_chart(self):
        several = [made.series(name, [made.point(1, 8.0), made.point(2, 5.0)]) for name in ("m1", "m2")]
        findings = [{"about": about, "text": text} for about, text in (
            ("m1, 64 per rank", "Its speedup is 2."), ("m1, 64 per rank", "Other."),
            ("m9", "A speedup of others."))]  # fmt: skip
        report = made.report(several, findings=findings)
        found = {sheet.title: sheet.facts
                 for sheet in sheets.sheets_of(report, [(one, b"png") for one in charts_of(report)])}
        self.assertEqual(found["Speedup, weak scaling"], ["m1, 64 per rank: Its speedup is 2."])
        self.assertNotIn("m1, 64 per rank: speedup", found)  # which the combined one has

    def test_all_lies_within_pictures(self):
        several = [made.series(f"m{i}", made.resnet20()["points"], label=f"m{i}{LONG}") for i in range(2)]
        report = made.report([*several, made.series("one", [made.point(1, 8.0)], scaling="single")])
        for figure in [chart.figure() for chart in charts_of(report)]:
            box = figure.get_tightbbox(figure.canvas.get_renderer())  # inches
            width, height = figure.get_size_inches()
            self.assertTrue(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, box)

    def test_numbers_read_as_in_the_programs_own_tables(self):
        for cell, show, wanted in (
            (11173962, "count", "11,173,962"), (13.6, "seconds", "13.600"), (0.02139, "seconds", "0.0214"),
            (0.5439, "millis", "543.9"), (0.0123, "millis", "12.3"), (-0.2575, "millis", "-257.5"),
            (0.022, "millis", "22.0"), (8.6e-6, "millis", "0.009"), (0.00123, "millis", "1.23"),
            (3571.2, "rate", "3,571"), (45.18, "rate", "45.2"),
            (1.679, "ratio", "1.68"), (0.84, "percent", "84.0"), (44.7e6, "bytes", "44.7 MB"), (12, "bytes", "12 B"),
            (1.2344, "gigabytes", "1.23"), (0, "seconds", "0.000"), (None, "rate", "-"), ("", "text", "-"),
            (float("nan"), "ratio", "-"), ("refused", "seconds", "refused"), (64.0, "text", "64"), (0.1, "text", "0.1"),
        ):  # fmt: skip
            self.assertEqual(cell_text(cell, show), wanted, (cell, show))

    def test_layers_and_what_the_roof_allows_of_them(self):
        # The first is faster than its roof, of the others none is known.
        passes = [{"layer": "l", "pass": "forward", "seconds": i / 1e3, "roof_seconds": None} for i in range(33, 1, -1)]
        passes[0]["roof_seconds"] = 1
        axes = drawn(plot_layers.draw, passes)
        self.assertEqual([round(bar.get_width(), 9) for bar in axes.patches], [*range(33, 3, -1), 33, *[0] * 29])
        self.assertTrue(axes.get_xlabel().endswith("all other passes: 5"))


class Page(HTMLParser):
    """The texts and tags of a page."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


# How eyes see linear RGB: usual, and without one kind of cones (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
# A turn of hues by 180 degrees (Filter Effects, feColorMatrix hueRotate).
TURNED = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


def times(matrix, vector):
    return [sum(map(float.__mul__, map(float, row), vector)) for row in matrix]


def clipped(colour):
    return [min(1.0, max(0.0, one)) for one in colour]


def in_dark(colour):
    """As the filter of dark pages shows it."""
    css = (JOBS / "reader/page/templates/style.css").read_text(encoding="utf-8")
    (inverted,) = map(float, re.findall(r"img \{ filter: invert\(([.\d]+)\) hue-rotate\(180deg\); \}", css))
    return clipped(times(TURNED, [inverted + (1 - 2 * inverted) * one for one in colour]))


def seen(colour, eyes):
    """(luminance, CIELAB under D65)."""
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in colour]
    x, y, z = times(XYZ, clipped(times(eyes, linear)))
    roots = [one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in (x / 0.95047, y, z / 1.08883)]
    return y, (116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2]))


@unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib in this Python")
class Colours(unittest.TestCase):
    def test_forward_backward_and_all_reduce_differ_for_all_eyes_in_light_and_dark(self):
        """A difference of 2 can be seen, and 30 at a glance. WCAG asks for 3 : 1 between parts of a chart."""
        for scheme, shown in (("light", list), ("dark", in_dark)):
            for name, eyes in EYES.items():
                faces = {phase: shown([int(look[0][i : i + 2], 16) / 255 for i in (1, 3, 5)])
                         for phase, look in style.PHASE_LOOKS.items()}  # fmt: skip
                looks = {phase: seen(face, eyes) for phase, face in faces.items()}
                for one, other in (("forward", "backward"), ("backward", "all_reduce"), ("forward", "all_reduce")):
                    with self.subTest(scheme=scheme, eyes=name, phases=(one, other)):
                        self.assertGreater(math.dist(looks[one][1], looks[other][1]), 30)
                dark, light = sorted(looks[phase][0] for phase in ("forward", "backward"))
                self.assertGreater((light + 0.05) / (dark + 0.05), 3, (scheme, name))


@unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib in this Python")
class Files(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-plots-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_script(self, *words, script=JOBS / "plot_report.py", **env):
        if not env and script.suffix == ".py" and HAS_MATPLOTLIB:
            return forked(script, *words)
        return subprocess.run(
            [sys.executable, script, *map(str, words)], capture_output=True, text=True, check=False, timeout=120,
            env={**os.environ, **env},
        )  # fmt: skip

    def refused(self, wanted, **env):
        done = self.run_script(self.folder, **env)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertIn(wanted, done.stderr)

    def test_the_archive_of_the_program_draws_charts_page_and_slides(self):
        header, archive = self.folder / "reader_archive.hpp", self.folder / "archive"
        self.assertEqual(self.run_script(header, script=JOBS / "reader" / "embed.py").returncode, 0)
        depends = (self.folder / "reader_archive.hpp.d").read_text(encoding="utf-8").split()
        self.assertLessEqual({str(JOBS / "plot_report.py"), str(JOBS / "reader" / "page" / "templates" / "parts.html"),
                              str(JOBS / "reader" / "charts")}, set(depends))  # fmt: skip
        numbers = re.search(r"kReaderArchive\[\] = \{(.*?)\}", header.read_text(encoding="utf-8"), re.DOTALL)[1]
        archive.write_bytes(bytes(int(one) for one in numbers.replace("\n", "").split(",") if one))

        odd = made.table(title=ODD, rows=[[ODD, 2, 13.6, 0.84], ["resnet18", None, 0.0214, None]], notes=[ODD])
        findings = [{"about": "", "text": "It scales."}]
        findings += [{"about": "resnet20, 64 per rank", "text": one} for one in ("*fast*.", "one", "three", "four")]
        layouts = {"nyu": [made.table("n", "Mine")]}
        series = made.resnet20()
        series["points"][1]["losses"] = {"phases": made.phases(backward=0.8, all_reduce=0.4), "rest": -0.2,
                                         "most": "backward"}
        content = made.report([series], [odd], findings=findings, title=ODD, layouts=layouts)
        plots = made.write(self.folder, content) / "plots"
        plots.mkdir()
        for old in ("earlier.png", "notes.txt"):
            (plots / old).write_text("old", encoding="utf-8")
        done = self.run_script("--for", os.getpid(), "plot_report", self.folder, "--slides", "--formats", "png",
                               script=archive)
        left = "Left in plots/, not known to be of an earlier report: earlier.png\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, left, ""))
        kinds = ("epoch-time", "throughput", "speedup", "efficiency", "phases", "communication", "busbw")
        names = sorted([f"resnet20-64-per-rank-{kind}.png" for kind in kinds] + ["earlier.png", "notes.txt"])
        self.assertEqual(sorted(path.name for path in plots.glob("[!.]*")), names)
        slides = Page((self.folder / "slides.html").read_text(encoding="utf-8"))
        self.assertEqual((slides.tags.count("section"), slides.tags.count("table")),
                         (2, 1))  # the front, and one table of a layout
        self.assertLessEqual({ODD, "Mine", "Judgement (yours):", "Names: "}, set(slides.texts))
        html = (self.folder / "report.html").read_text(encoding="utf-8")
        page = Page(html)
        for text in (ODD, "Mine", "It scales.", "fast", "13.600", "84.0", "0.0214", "-", "made with rueda 1.2.3"):
            self.assertIn(text, page.texts)
        self.assertEqual((page.tags.count("table"), page.tags.count("img")), (3, 7))
        # What a person looks for comes first; of each series three findings are open.
        words = ("speedup 1.60, efficiency 80.0 %; most lost in backward", "shares cores",
                 "resnet20, 64 per rank: speedup",
                 "where a step", "<nav", ">Findings</a></h2>", ">one<", ">three<", "<details><summary>1 more",
                 ">four<", ">Tables</a></h2>")  # fmt: skip
        places = [html.index(word) for word in words]
        self.assertEqual(places, sorted(places))
        self.assertFalse({"script", "iframe", "object", "base"} & set(page.tags + slides.tags))
        self.assertNotRegex(html, r"https?:|@import|url\(|(?:src|href)=\"(?!data:|#|slides\.html\")")
        self.assertIn('<a href="slides.html">', html)

    def test_charts_of_an_earlier_report_alone_are_removed(self):
        def drawn(*names):
            series = [made.series(name, [made.point(1, 8.0), made.point(2, 5.0)]) for name in names]
            made.write(self.folder, made.report(series))
            done = self.run_script(self.folder, "--formats", "png")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            return done.stdout

        plots = self.folder / "plots"
        self.assertEqual(drawn("m1"), "")
        changed = plots / "m1-64-per-rank-speedup.png"
        for mine in (changed, plots / "thesis-figure.png", plots / "a\nb\x1b.pdf"):
            mine.write_bytes(b"mine")
        printed = drawn("m2")
        for mine in (changed, plots / "thesis-figure.png", plots / "a\nb\x1b.pdf"):
            self.assertEqual(mine.read_bytes(), b"mine")
        self.assertIn("Removed from plots/, of an earlier report: m1-64-per-rank-", printed)
        self.assertIn(r"a\nb\x1b.pdf, m1-64-per-rank-speedup.png, thesis-figure.png", printed)
        self.assertEqual((printed.count("\n"), "\x1b" in printed), (2, False))
        self.assertEqual([path for path in plots.glob("m1-*") if path != changed], [])
        checked = subprocess.run(["sha256sum", "--check", "--quiet", ".rueda-files"], cwd=plots, check=False)
        self.assertEqual(checked.returncode, 0)
        # A record can name nothing outside of its folder, and proves nothing of what a link leads to.
        (self.folder / "outside.png").write_bytes(b"mine")
        (plots / "link.png").symlink_to("../outside.png")
        with open(plots / ".rueda-files", "a", encoding="ascii") as record:
            for name in ("../outside.png", "link.png"):
                record.write(f"{hashlib.sha256(b'mine').hexdigest()}  ./{name}\n")
        drawn("m3")
        self.assertEqual([path.exists() for path in (self.folder / "outside.png", plots / "link.png")], [True, True])

    def test_no_link_inside_a_report_is_followed_and_no_pipe_waited_for(self):
        made.write(self.folder, made.report([made.series("m1", [made.point(1, 8.0), made.point(2, 5.0)])]))
        pictures = self.folder / "Pictures"
        pictures.mkdir()
        (pictures / "wedding.png").write_bytes(b"mine")
        (self.folder / "plots").symlink_to("Pictures")
        self.refused("plots: it is a link to Pictures, and no link inside an output is followed")
        self.assertEqual([path.name for path in pictures.iterdir()], ["wedding.png"])
        (self.folder / "plots").unlink()
        page = self.folder / "report.html"
        page.symlink_to("elsewhere")
        self.refused("report.html: it is a link to elsewhere, and no link")
        page.unlink()
        os.mkfifo(page)
        self.refused("report.html: it is no file")
        # A page, slides and a chart that nobody knows to be of an earlier report are the user's.
        page.unlink()
        for name in ("report.html", "slides.html", "plots/m1-64-per-rank-speedup.png"):
            mine = self.folder / name
            mine.parent.mkdir(exist_ok=True)
            mine.write_bytes(b"mine")
            before = sorted(self.folder.rglob("*"))
            done = self.run_script(self.folder, "--slides", "--formats", "png")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(f"{name}: it was not written by an earlier report, or has changed since", done.stderr)
            self.assertEqual((mine.read_bytes(), sorted(self.folder.rglob("*"))), (b"mine", before))
            mine.unlink()
        self.assertEqual([self.run_script(self.folder, "--slides", "--formats", "png").returncode
                          for _ in range(2)], [0, 0])
        (self.folder / "report.json").unlink()
        os.mkfifo(self.folder / "report.json")
        self.refused("report.json cannot be read (it is no regular file)")

    @longer
    def test_charts_depend_on_nothing_of_the_users(self):
        """Settings of matplotlib in the current folder, which can run code, in the user's own folder, and its
        backend."""
        runs = ("[a:=[], a.append(b.gi_frame.f_back.f_back.f_builtins['open']('PWNED','w').write('code ran') "
                "for b in a), *a[0]]")
        here, users, out = (self.folder / name for name in ("here", "users", "out"))
        for folder in (here, users):
            folder.mkdir()
        (here / "matplotlibrc").write_text(f"axes.prop_cycle: {runs}\ntext.usetex: True\n", encoding="utf-8")
        (users / "matplotlibrc").write_text("figure.facecolor: black\nsavefig.transparent: True\n", encoding="utf-8")
        user = {"MPLBACKEND": "nonsense", "MPLCONFIGDIR": str(users), "MATPLOTLIBRC": str(users)}
        made.write(here / "report", made.report([made.series("m1", [made.point(1, 8.0), made.point(2, 5.0)])]))
        span = {"ph": "X", "name": "forward", "cat": "training", "pid": 1, "tid": 1, "ts": 0, "dur": 9,
                "args": {"step": 2}}
        timed = {"algorithm": "ring", "bytes": 64, "busbw_GBps": 1, "median_seconds": 1e-3}
        inputs = {
            "trace": {"traceEvents": [span]}, "evaluation": {**made.evaluation(), "config": {"model": "resnet20"}},
            "bench": {"hosts": ["a"], "ranks": 1, "device": "cpu", "transport": "host", "wire": "fp32",
                      "results": [timed]},
            "run": {"model": {"name": "m"}, "ranks": [{"device": "cpu"}], "profile": {"micro_batch": 1, "passes": [
                {"layer": "conv1", "pass": "forward", "seconds": 1, "roof_seconds": 0.5}]}},
            "images": [{"contestant": name, "accuracies": [0.5], "losses": [2] * 20}
                       for name in real_images_report.NAMES],
            "learning": {"base": 64, "rows": [["training loss 1", 64, 0.1, 1, 9e3, 9e3, 9e3, 9e3, 8e3, 1e4, 9e3]]},
        }  # fmt: skip
        for name, content in inputs.items():
            (here / name).write_text(json.dumps(content), encoding="utf-8")
        shutil.copytree(here, out, ignore=shutil.ignore_patterns("matplotlibrc"))
        scripts = (
            ("plot_report", ["report"], None, "report/plots/m1-64-per-rank-speedup.pdf"),
            ("plot_trace", ["trace", "--out", "a.svg"], None, "a.svg"),
            ("plot_confusion", ["b.png"], "evaluation", "b.png"),
            ("plot_all_reduce", ["c.pdf"], "bench", "c.pdf"), ("plot_layers", ["run", "d.png"], None, "d.png"),
            ("check/real_images_plot", ["e.png"], "images", "e.png"),
            ("check/learning_plot", ["f.png"], "learning", "f.png"),
        )  # fmt: skip
        for script, words, read, picture in part(scripts, 2):
            drawn = []
            for folder, env in ((here, user), (out, {"MPLCONFIGDIR": str(self.folder / "none")})):
                with open(here / (read or "run"), "rb") as file:
                    done = subprocess.run(
                        [sys.executable, JOBS / f"{script}.py", *words], cwd=folder, stdin=file,
                        env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False,
                    )  # fmt: skip
                self.assertEqual(done.returncode, 0, done)
                drawn.append((folder / picture).read_bytes())
            self.assertEqual(drawn[0], drawn[1], script)
        self.assertFalse((here / "PWNED").exists())

    def page_of(self, content):
        """Its texts, and the HTML before and behind the list of sections. Drawn in this process, which has
        matplotlib."""
        made.write(self.folder, content)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = plot_report.main([str(self.folder), "--formats", "png"])
        self.assertEqual((code, said.getvalue()), (0, ""))
        html = (self.folder / "report.html").read_text(encoding="utf-8")
        return Page(html), *html.split("<nav", 1)

    def test_the_page_of_a_run_begins_with_what_it_learned(self):
        names = (ODD, "a\nb\x1b\u202e")
        run = made.run("one", evaluation=made.evaluation(names))
        page, first, _ = self.page_of(made.report([made.alone(ODD, "one")], title=ODD, runs=[run]))
        words = ("test accuracy 50.0 % after epoch 2; 8 s an epoch", "loss over epochs", "accuracy over epochs",
                 "accuracy 70.00 % of 10 test images", "The first test images", "✓ right, 75 %", "surest",
                 "✗ a b, 75 %", "images/s", "where a step")  # fmt: skip
        places = [first.index(word) for word in words]
        self.assertEqual(places, sorted(places))
        self.assertNotIn("speedup", first)
        self.assertEqual(page.tags.count("img"), 2 + 1 + 2 + 1 + 2)
        self.assertFalse({"script", "iframe", "object", "base"} & set(page.tags))
        self.assertNotRegex(first, "[\x1b\u202e]")
        # One epoch, no evaluation.
        short = made.run("one", loss=(2,), accuracy=(0.125,), val_loss=(), val_accuracy=())
        _, first, _ = self.page_of(made.report([made.alone("m", "one")], runs=[short]))
        self.assertIn("training accuracy 12.5 % after epoch 1; ", first)
        self.assertNotIn("test images", first)
        # The best epoch is known only where all are drawn.
        for known, best in ((3, True), (9, False)):
            run = made.run("one", loss=(2, 1, 1))
            run["learning"]["val_accuracy"] = made.curve((0.2, 0.6, 0.5), known=known)
            _, first, _ = self.page_of(made.report([made.alone("m", "one")], runs=[run]))
            self.assertIn("test accuracy 50.0 % after epoch 3", first)
            self.assertEqual("best 60.0 % after epoch 2" in first, best)

    def test_the_page_of_two_runs_begins_with_their_comparison(self):
        runs = [made.run(name, phases=made.phases(forward=0.03)) for name in ("one", "two")]
        comparison = {"runs": runs, "findings": ["A is *faster*."], "tables": [made.table(title="Differing")]}
        content = made.report([made.alone("m1", "one"), made.alone("m2", "two")], runs=runs, comparison=comparison)
        page, first, behind = self.page_of(content)
        for word in ("A is <em>faster</em>.", "A and B: loss over epochs", "Differing"):
            self.assertIn(word, first)
        self.assertIn("<b>m1, 64 per rank</b>", behind)
        self.assertNotIn("Charts: Comparison", page.texts)

    def test_damaged_evaluations_are_refused(self):
        def damaged(**more):
            evaluation = made.evaluation()
            evaluation.update(more)
            made.write(self.folder,
                       made.report([made.alone("m", "one")], runs=[made.run("one", evaluation=evaluation)]))
            self.refused("runs[0].evaluation")

        damaged(confusion=[[1, 2]])
        damaged(confusion=[[1, 2], [3, -4]])
        damaged(val_accuracy=None)
        damaged(classes=[{"name": "cat"}, {"name": "dog"}])
        sample = made.evaluation()["samples"]["first"][0]
        damaged(samples={"first": [{**sample, "label": 2}]})
        damaged(samples={"mistakes": [{**sample, "rgb": "zz" * 3072}]})

    def test_bad_reports_are_refused_before_anything_is_written(self):
        self.refused("report.json cannot be read")
        whole = json.dumps(made.report([made.resnet20()], [made.table()]))
        for text, wanted in (
            (whole[: len(whole) // 2], "cut off"),
            ("[]", "rueda-report"),
            (whole.replace('"schema_version": 2', '"schema_version": 1'), "schema_version 1"),
            (whole.replace('"ranks": 2,', '"ranks": 0,', 1), "series[0].points[1].ranks"),
            (whole.replace('"rows": [["resnet20", ', '"rows": [["resnet20", 1, '), "tables[0]"),
            (whole.replace('"show": "text"', '"show": {}'), "tables[0]"),
            (whole.replace('"comparison": null', '"comparison": {"tables": [{"columns": [], "rows": [[1]]}]}'),
             "comparison.tables[0].rows[0]"),
            (whole.replace('"forward": 0.03', '"forward": 1e308'), "1e+308 is larger than anything measured; write"),
        ):
            (self.folder / "report.json").write_text(text, encoding="utf-8")
            self.refused(wanted)
            self.assertEqual([path.name for path in self.folder.iterdir()], ["report.json"])

    def test_what_is_missing_is_named(self):
        made.write(self.folder, made.report([]))
        (self.folder / "plots").write_text("a file", encoding="utf-8")
        self.refused(f"{self.folder}/plots: it cannot be made a directory")
        (self.folder / "matplotlib.py").write_text("raise ImportError('none', name='matplotlib')", encoding="utf-8")
        self.refused("python3-matplotlib", PYTHONPATH=str(self.folder))
        (self.folder / "plots").unlink()
        other = self.folder / "other-python"
        other.write_text(f'#!/bin/sh\nPYTHONPATH= exec {sys.executable} "$@"\n', encoding="utf-8")
        other.chmod(0o755)
        done = self.run_script(self.folder, PYTHONPATH=str(self.folder), RUEDA_PLOT_PYTHON=str(other))
        self.assertEqual((done.returncode, (self.folder / "report.html").exists()), (0, True), done)
        (self.folder / "report.html").unlink()
        command = ["bash", "-c", 'cd "$0" && "$@"', self.folder, sys.executable, JOBS / "plot_report.py", "."]
        for python, drawn in (("other-python", False), ("./other-python", True)):  # a name is looked for in PATH
            env = {**os.environ, "PYTHONPATH": str(self.folder), "RUEDA_PLOT_PYTHON": python}
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual((done.returncode == 0, (self.folder / "report.html").exists()), (drawn, drawn), done)

    def test_a_trace_has_a_title_and_what_goes_wrong_is_one_line(self):
        args = {"step": 2, "bucket": 0}
        spans = [{"ph": "X", "name": "forward", "cat": "training", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": args}]
        trace, script = self.folder / "trace.json", JOBS / "plot_trace.py"
        sent = {"ph": "s", "name": "message", "cat": "all-reduce", "pid": 1, "tid": 3, "ts": 0, "id": 1}
        part = {**spans[0], "name": "transfer", "cat": "all-reduce"}
        trace.write_text(json.dumps({"traceEvents": [*spans, sent, part]}), encoding="utf-8")
        self.assertEqual(self.run_script(trace, "--out", self.folder / "t.svg", script=script).returncode, 0)
        self.assertNotIn("transfer", (self.folder / "t.svg").read_text(encoding="utf-8"))
        self.assertIn("Where the time of step 2 goes: 1 rank", (self.folder / "t.svg").read_text(encoding="utf-8"))
        done = self.run_script(trace, "--out", f"{self.folder}/a\n\x1b\u202e.svg", script=script)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.folder}/a\\n\\x1b\\u202e.svg\n"))
        closed = ["bash", "-c", '"$@" >&-', "", sys.executable, script, trace, "--out", self.folder / "t.svg"]
        done = subprocess.run(closed, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_script(self.folder / "none\x1b", script=script)
        self.assertEqual((done.returncode, done.stderr.count("\n"), "\x1b" in done.stderr), (2, 1, False), done)
        layers, every = JOBS / "plot_layers.py", JOBS / "plot_all_reduce.py"
        for code, *words in (
            (2, script, trace, "--out", trace / "a.png"), (2, script, trace, "--out", "a.none"),
            (141, script, "--help"), (2, layers, "none", "a.png"), (2, layers, trace, "a.png"), (2, every, "a.png"),
        ):  # fmt: skip
            command = ["bash", "-c", '"$@" </dev/null | true; exit $PIPESTATUS', "", sys.executable, *map(str, words)]
            done = subprocess.run(command, env=BUFFERED, stderr=subprocess.PIPE, text=True, check=False)
            lines = 0 if code == 141 else 1  # SIGPIPE ends it as it ends any program
            self.assertEqual((done.returncode, done.stderr.count("\n")), (code, lines), done.stderr)
        with open("/dev/full", "wb") as full:
            command = [sys.executable, script, "--help"]
            done = subprocess.run(command, env=BUFFERED, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    main(0)
