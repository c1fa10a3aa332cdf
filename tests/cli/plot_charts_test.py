#!/usr/bin/env python3
"""What the charts of a report show: the values of report.json, and nothing over anything else.

usage: plot_charts_test.py
"""

import importlib.util
import sys
import unittest
from pathlib import Path

import made_report as made
import summary_line

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAS_MATPLOTLIB:
    from matplotlib.colors import to_rgb
    from plotting import bandwidth, bars, batches, catalogue, communication, lines, phases, predictions, quantity, slides
    from plotting import style
    from plotting.chart import new_figure
    from plotting.slides import JUDGEMENT, draw_page

LONG = ", a label that goes on and on, and says everything about the options of its runs"


def drawn(draw, *arguments):
    """The axes after a drawing function."""
    axes = new_figure(8, 5).add_subplot()
    draw(axes, *arguments)
    return axes


def heights(axes):
    return [round(bar.get_height(), 9) for bar in axes.patches]


def labels(axes):
    return [words.get_text() for words in axes.get_legend().get_texts()]


@unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib in this Python")
class ChartCase(unittest.TestCase):
    pass


class Bars(ChartCase):
    def test_measured_beside_ideal(self):
        axes = drawn(bars.draw, made.resnet20(), quantity.EPOCH_TIME)
        self.assertEqual(heights(axes), [8, 5, 4, 8, 4, 2])
        self.assertEqual(labels(axes), ["measured", "ideal", "hollow: more threads than cores"])
        self.assertEqual([tick.get_text() for tick in axes.get_xticklabels()], ["1", "2", "4"])
        self.assertEqual(axes.get_ylabel(), "epoch time, s")
        numbers = [words.get_text() for words in axes.texts]
        self.assertEqual(numbers, ["8.00", "5.00", "4.00", "8.00", "4.00", "2.00"])

    def test_efficiency_is_shown_in_percent(self):
        axes = drawn(bars.draw, made.resnet20(), quantity.EFFICIENCY)
        self.assertEqual(heights(axes), [100, 80, 50, 100, 100, 100])

    def test_error_bars_where_low_and_high_differ(self):
        axes = drawn(bars.draw, made.resnet20(), quantity.EPOCH_TIME)
        ends = [[round(y, 9) for _, y in path.vertices] for bars_ in axes.collections for path in bars_.get_paths()]
        self.assertEqual(ends, [[4.9, 5.2], [3.9, 4.2]])

    def test_hollow_where_cores_were_oversubscribed(self):
        faces = [bar.get_facecolor()[:3] for bar in drawn(bars.draw, made.resnet20(), quantity.EPOCH_TIME).patches]
        self.assertEqual([face == (1, 1, 1) for face in faces[:3]], [False, False, True])

    def test_the_step_view_stands_beside_the_epochs(self):
        series = made.resnet20()
        for one, value in zip(series["points"], (1, 1.7, 2.2)):
            one["step_speedup"] = made.estimate(value)
        axes = drawn(bars.draw, series, quantity.SPEEDUP)
        self.assertEqual(heights(axes), [1, 1.6, 2, 1, 1.7, 2.2, 1, 2, 4])
        self.assertEqual(labels(axes)[:3], ["measured, epochs", "measured, full steps", "ideal"])

    def test_what_is_unknown_is_left_out(self):
        series = made.series("a", [made.point(1, 8.0), made.point(2, 5.0), made.point(4, 4.0)])
        series["points"][1]["epoch_seconds"] = None
        self.assertEqual(heights(drawn(bars.draw, series, quantity.EPOCH_TIME)), [8, 4, 8, 4, 2])

    def test_the_same_ranks_on_several_hosts(self):
        series = made.series("a", [made.point(1, 8.0), made.point(2, 5.0), made.point(2, 4.5, hosts=2)])
        axes = drawn(bars.draw, series, quantity.EPOCH_TIME)
        self.assertEqual(heights(axes)[:3], [8, 5, 4.5])
        ticks = [tick.get_text() for tick in axes.get_xticklabels()]
        self.assertEqual(ticks, ["1", "2\n(1 host)", "2\n(2 hosts)"])

    def test_many_ranks_become_a_line(self):
        for ranks, kinds in (((1, 2, 3, 4, 5, 6), "bars"), ((1, 2, 3, 4, 5, 6, 7), "line"), ((1, 16), "bars"),
                             ((1, 17), "line")):  # fmt: skip
            series = made.series("a", [made.point(one, 8.0 / one) for one in ranks])
            axes = bars.chart("n", "s", series, quantity.EPOCH_TIME).figure().axes[0]
            self.assertEqual((len(axes.patches) > 0, axes.get_xscale() == "log"), (kinds == "bars", kinds == "line"))


class Lines(ChartCase):
    def setUp(self):
        other = made.series("resnet50v2", [made.point(1, 40.0), made.point(4, 16.0)], source="Some book")
        self.both = [made.resnet20(), other]

    def test_values_over_ranks(self):
        axes = drawn(lines.draw, self.both, quantity.THROUGHPUT)
        own, other = (line for line in axes.lines if line.get_label().startswith("resnet"))
        self.assertEqual([list(own.get_xdata()), list(own.get_ydata())], [[1, 2, 4], [625, 1000, 1250]])
        self.assertEqual([list(other.get_xdata()), list(other.get_ydata())], [[1, 4], [125, 312.5]])
        self.assertEqual(labels(axes), ["resnet20, 64 per rank", "resnet50v2, 64 per rank (Some book)", "ideal",
                                        "hollow: more threads than cores"])  # fmt: skip

    def test_one_ideal_line_for_speedups(self):
        axes = drawn(lines.draw, self.both, quantity.SPEEDUP)
        (ideal,) = (line for line in axes.lines if line.get_linestyle() == "--" and line.get_color() == "#000000")
        self.assertEqual([list(ideal.get_xdata()), list(ideal.get_ydata())], [[1, 2, 4], [1, 2, 4]])
        self.assertEqual((axes.get_xscale(), axes.get_yscale()), ("log", "log"))

    def test_ideal_time_and_throughput_begin_at_the_first_point(self):
        axes = drawn(lines.draw, self.both, quantity.EPOCH_TIME)
        ideal = [list(line.get_ydata()) for line in axes.lines if line.get_linestyle() == "--"]
        self.assertIn([8, 4, 2], ideal)
        self.assertIn([40, 10], ideal)

    def test_only_oversubscribed_points_are_hollow(self):
        axes = drawn(lines.draw, self.both, quantity.SPEEDUP)
        marked = [line for line in axes.lines if line.get_marker() not in ("None", None, "")]
        hollow = [line.get_xdata()[0] for line in marked if line.get_markerfacecolor() == "white"]
        self.assertEqual((len(marked), hollow), (5, [4]))

    def test_plain_numbers_from_1_to_1024(self):
        series = [made.series(f"m{i}", [made.point(2**j, 80 / 2**j) for j in range(11)]) for i in range(2)]
        axes = drawn(lines.draw, series, quantity.EFFICIENCY)
        axes.figure.canvas.draw()
        shown = [tick.get_text() for tick in axes.get_xticklabels()]
        self.assertEqual(shown, [str(2**j) for j in range(11)])

    def test_series_differ_without_colours(self):
        styles = style.styles_for([made.series(f"m{i}", []) for i in range(12)])
        self.assertEqual(len({one.marker for one in styles}), 12)
        self.assertFalse(any(one.dash == other.dash for one, other in zip(styles, styles[1:])))
        grey = [sum(w * c for w, c in zip((0.3, 0.59, 0.11), to_rgb(one.colour))) for one in styles[:4]]
        self.assertGreater(min(abs(a - b) for a, b in zip(grey, grey[1:])), 0.1)

    def test_what_others_ran_is_grey_and_dotted_beside_own_series(self):
        own, other = style.styles_for(self.both)
        self.assertEqual(len(set(to_rgb(other.colour))), 1)
        self.assertNotEqual(own.dash, other.dash)
        (alone,) = style.styles_for(self.both[1:])
        self.assertEqual(alone, own)

    def test_one_series_alone_needs_no_combined_chart(self):
        self.assertIsNone(lines.chart("n", "t", "s", self.both[:1], quantity.SPEEDUP))


class Inside(ChartCase):
    """Phases, communication and bandwidth."""

    def test_phases_are_stacked_in_the_order_of_a_step(self):
        axes = drawn(phases.draw, made.resnet20())
        last = [(round(bar.get_y(), 9), round(bar.get_height(), 9)) for bar in axes.patches[-8:]]
        self.assertEqual([one for one in last if one[1] > 0], [(0, 30), (30, 60), (90, 10)])
        self.assertEqual(axes.get_ylabel(), "mean full step, ms")
        self.assertEqual(labels(axes), ["forward", "backward", "waiting for the all-reduce"])

    def test_three_kinds_of_communication(self):
        axes = drawn(communication.draw, made.resnet20())
        self.assertEqual(heights(axes)[:5], [1.0, 0.5, 0.75, 0.25, 0.75])
        self.assertEqual([round(bar.get_y(), 9) for bar in axes.patches[1:4]], [0, 0.5, 1.25])
        self.assertEqual([words.get_text() for words in axes.texts], ["1.00", "1.50", "0.750"] * 2)

    def test_superlinear_speedup_is_below_the_axis(self):
        told = made.communication(inferred=-0.5, measured=0.25)
        series = made.series("a", [made.point(1, 8.0), made.point(2, 3.5, communication=told)])
        axes = drawn(communication.draw, series)
        self.assertEqual(heights(axes), [-500, 250])
        self.assertEqual(axes.get_ylabel(), "time in an epoch, ms")
        self.assertLess(axes.get_ylim()[0], -500)

    def test_bus_bandwidth_of_buckets_and_step(self):
        axes = drawn(bandwidth.draw, made.resnet20())
        values = [[list(line.get_xdata()), [round(y, 9) for y in line.get_ydata()]] for line in axes.lines]
        # 10 MB x 2 (P-1)/P / 10 ms: 1 GB/s on two ranks, 1.5 on four
        self.assertIn([[10e6, 30e6], [1.0, 1.5]], values)
        self.assertIn([[10e6, 30e6], [1.5, 2.25]], values)
        self.assertIn([[10e6], [2.0]], values)  # transfer alone
        self.assertIn([[40e6], [1.5]], values)  # the step's sum


class Sweeps(ChartCase):
    def test_throughput_over_batch_and_what_was_refused(self):
        def of(batch, seconds):
            points = [made.point(p, seconds / p, rank_batch=batch) for p in (1, 2)]
            return made.series(f"b{batch}", points, model="resnet18")

        tables = [made.batches([["resnet18", 2, 512, "refused: memory"], ["resnet18", 4, 256, "failed"],
                                ["resnet50", 2, 128, "refused: memory"]])]  # fmt: skip
        (chart,) = batches.charts(made.report([of(32, 10), of(128, 8)], tables))
        axes = chart.figure().axes[0]
        curves = [[list(line.get_xdata()), list(line.get_ydata())] for line in axes.lines if len(line.get_xdata()) == 2]
        self.assertEqual(curves, [[[32, 128], [500, 625]], [[32, 128], [1000, 1250]]])
        crosses = [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "x"]
        self.assertEqual(crosses, [[512]])
        self.assertEqual([words.get_text() for words in axes.texts], ["refused\nP = 2"])

    def test_one_batch_is_no_sweep(self):
        self.assertEqual(batches.charts(made.report([made.resnet20()])), [])

    def test_predicted_beside_measured(self):
        def row(ranks, fitted, measured, predicted):
            return {"ranks": ranks, "fitted": fitted, "measured_epoch_seconds": measured,
                    "predicted_epoch_seconds": predicted}  # fmt: skip

        said = {
            "rueda_predict": 1, "measured": {"rows": [row(1, "yes", 8, 8.2), row(2, "yes", 5, 4.5), row(4, "no", 4, 3)]},
            "forecast": {"title": "ring", "rows": [{"ranks": p, "epoch_seconds": 8 / p} for p in (1, 2, 4, 8)]},
        }  # fmt: skip
        (chart,) = predictions.charts(made.report([], predictions=[said, {"rueda_predict": 1}]))
        values = [[list(line.get_xdata()), list(line.get_ydata())] for line in chart.figure().axes[0].lines]
        self.assertEqual(values, [[[1, 2, 4, 8], [8, 4, 2, 1]], [[1, 2], [8, 5]], [[4], [4]],
                                  [[1, 2, 4], [8.2, 4.5, 3]]])  # fmt: skip
        self.assertEqual([row[3] for row in chart.rows], ["+2.5 %", "-10.0 %", "-25.0 %"])


class Layout(ChartCase):
    def test_all_lies_within_the_picture(self):
        all_series = [made.series(f"m{i}", made.resnet20()["points"], label=f"m{i}{LONG}") for i in range(12)]
        single = made.series("one", [made.point(1, 8.0)], scaling="single", label=f"one{LONG}")
        charts = catalogue.charts_of(made.report([*all_series[:2], single]))
        charts += [lines.chart("all", "Epoch time", "s", all_series, quantity.EPOCH_TIME)]
        for chart in charts:
            with self.subTest(chart=chart.name):
                figure = chart.figure()
                width, height = figure.bbox.width, figure.bbox.height
                box = figure.axes[0].get_tightbbox(figure.canvas.get_renderer())
                self.assertTrue(box.x0 > 0 and box.y0 > 0 and box.x1 < width and box.y1 < height, box)
                self.assertGreater(figure.axes[0].get_window_extent().height, 0.25 * min(height, 300))

    def test_the_legend_is_below_the_label_of_the_axis(self):
        figure = lines.chart("n", "t", "s", [made.resnet20(), made.resnet20()], quantity.SPEEDUP).figure()
        (axes,), renderer = figure.axes, figure.canvas.get_renderer()
        label = axes.xaxis.label.get_window_extent(renderer)
        self.assertLess(axes.get_legend().get_window_extent(renderer).y1, label.y0)

    def test_names_of_files_are_safe_and_differ(self):
        points = [made.point(1, 8.0), made.point(2, 5.0)]
        odd = [made.series("a", points, label="../x y"), made.series("b", points, label="..|x y"), made.series("c", [])]
        names = [chart.name for chart in catalogue.charts_of(made.report(odd))]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual([name for name in names if set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789.-")], [])
        self.assertIn("x-y-epoch-time", names)
        self.assertIn("x-y-2-epoch-time", names)


class Slides(ChartCase):
    def setUp(self):
        points = [made.point(1, 40.0), made.point(2, 24.0)]
        strong = [made.series(f"s{i}", points, scaling="strong") for i in range(2)]
        weak = [made.resnet20(), made.series("resnet18", points), made.series("one", points[:1], scaling="single")]
        self.charts = catalogue.charts_of(made.report([*weak, *strong]))

    def names(self, name, title="A task"):
        return [chart.name for chart in slides.charts_of_table(made.table(name, title), self.charts)]

    def test_charts_of_the_tables_of_layouts(self):
        own = "resnet20-64-per-rank-"
        four = [own + what for what in ("epoch-time", "throughput", "speedup", "efficiency")]
        self.assertEqual(self.names("book_task_10_5_resnet20"), four)
        self.assertEqual(self.names("book_task_10_7_speedup"), ["weak-speedup", "strong-speedup"])
        self.assertEqual(self.names("book_task_10_4"), ["single-epoch-time"])
        self.assertEqual(self.names("nyu_table_1_g2", "of strong scaling"), ["strong-epoch-time", "strong-speedup"])
        self.assertEqual(self.names("nyu_table_3_g1"), [])

    def test_without_a_layout_what_combines_series_stands_for_each(self):
        pages = slides.pages_of(made.report([]), self.charts)
        shown = [chart.name for page in pages for chart in page.charts]
        self.assertEqual(len(shown), 4 + 4 + 2 + 3)  # weak, strong, single; three of resnet20 alone
        self.assertNotIn("resnet20-64-per-rank-speedup", shown)
        self.assertIn("resnet20-64-per-rank-phases", shown)

    def test_facts_are_findings_about_the_chart(self):
        chart = next(one for one in self.charts if one.name == "resnet20-64-per-rank-speedup")
        found = ["resnet20, 64 per rank: a speedup of 2.", "resnet20, 64 per rank: 8 s.", "s1, 64 per rank: speedup 3."]
        self.assertEqual(slides.facts_about(chart, found)[0], "a speedup of 2.")
        self.assertEqual(len(slides.facts_about(chart, found)), 1 + len(chart.remarks))

    def test_a_wide_table_keeps_its_first_columns_and_counts_the_rest(self):
        rows = [[f"series {i}", *["123,456,789 (1-2)"] * 30] for i in range(40)]
        page = slides.Page("t", [], ["name", *["heading"] * 30], rows, ["fact"], False)
        words = [one.get_text() for one in draw_page(page, "1 / 1", "rueda").texts]
        self.assertIn("t", words)
        self.assertIn(JUDGEMENT, words)
        self.assertIn("series 0", words)
        self.assertRegex(" ".join(words), r"\d+ more rows and \d+ more columns: see report.html")

    def test_nothing_of_a_page_leaves_it(self):
        for page in slides.pages_of(made.report([]), self.charts)[::3]:
            figure = draw_page(page, "1 / 1", "rueda")
            box = figure.get_tightbbox(figure.canvas.get_renderer())  # inches
            self.assertTrue(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= 13.34 and box.y1 <= 7.5, (page.title, box))


if __name__ == "__main__":
    summary_line.main()
