"""The tables that courses ask for: published figures to the digits that were printed, and made runs."""

import math
import sys
import unittest
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "jobs")]
from made import made_run  # noqa: E402
from reader.base.estimate import UNKNOWN, exactly  # noqa: E402
from reader.base.statistics import Spread  # noqa: E402
from reader.handin.layouts import LAYOUTS, layout_tables  # noqa: E402
from reader.handin.published import published  # noqa: E402
from reader.study.figures import evaluate  # noqa: E402
from reader.study.observation import Observation, Processor, observe_all  # noqa: E402
from reader.study.series import make_series  # noqa: E402
from reader.tables.table import plain, shown  # noqa: E402


def layout(name, observations):
    return layout_tables(name, evaluate(make_series(observations)), observations)


def book(observations):
    return layout("book", observations)


def nyu(observations):
    return layout("nyu", observations)


def ids(tables):
    return [table.id for table in tables]


def find(tables, beginning, word=""):
    """The first table whose id begins so and whose title has `word`."""
    return next(table for table in tables if table.id.startswith(beginning) and word in table.title)


def cell(table, row, key):
    return plain(table.rows[row][table.column(key)])


def row_at(table, ranks):
    return next(index for index in range(len(table.rows)) if cell(table, index, "ranks") == ranks)


def number_at(table, ranks, key):
    """NaN where the cell has none."""
    number = cell(table, row_at(table, ranks), key)
    return math.nan if number is None else number


def observation(ranks, rank_batch, seconds, model="resnet18"):
    return Observation(source="log f", model=model, processor=Processor.gpu, ranks=ranks, rank_batch=rank_batch,
                       global_batch=rank_batch * ranks, images=50000.0, steps=math.ceil(50000 / (rank_batch * ranks)),
                       epoch=exactly(seconds), printed_epoch=exactly(seconds))


def run(ranks, images, seconds, load):
    """One that loads `load` s of each epoch, and all-reduces 10^8 bytes in 0.1 s in each of its steps, of which a half
    is exposed."""
    made = made_run(model="resnet18", ranks=ranks, images=images, epochs=(seconds, seconds))
    steps = made.summary.all_steps
    steps.bytes, steps.busbw, steps.busy.mean = 1e8, 2.5, 0.1
    steps.phases["all_reduce"] = Spread(mean=0.05)
    for epoch in made.epochs:
        epoch.phases["load"] = Spread(mean=load)
        epoch.all_steps = steps
    return made


class LayoutCase(unittest.TestCase):
    def check(self, table, *all):
        for ranks, key, value in all:
            self.assertAlmostEqual(number_at(table, ranks, key), value, delta=1e-6 * abs(value),
                                   msg=f"{table.title} {key} {ranks}")

    def check_percents(self, table, *all):
        """Shares in percent, rounded to one decimal as people quote them."""
        for ranks, key, value in all:
            self.assertEqual(round(number_at(table, ranks, key) * 1000) / 10, value, f"{table.title} {key} {ranks}")


class Book(LayoutCase):
    def test_tables_10_1_and_10_2(self):
        tables = book(published("book"))
        small = find(tables, "book_task_10_5", "2026")
        self.assertEqual([column.heading for column in small.columns[:2]], ["GPUs", "Time (s)"])
        # 25 x 544, 13 x 623 and 7 x 768 ms; 848 = 50,000 - 6 x 8192
        self.check(small, (1, "epoch_s", 13.600), (2, "epoch_s", 8.099), (4, "epoch_s", 5.376),
                   (4, "images_per_second", 50000 / 5.376), (4, "speedup", 13.6 / 5.376), (1, "printed_epoch_s", 14),
                   (4, "printed_speedup", 2.8), (4, "last_step_images", 848))
        self.check_percents(small, (2, "efficiency", 84.0), (4, "efficiency", 63.2), (2, "printed_efficiency", 87.5),
                            (4, "printed_efficiency", 70.0), (4, "printed_efficiency_low", 61.4),
                            (4, "printed_efficiency_high", 80.6))
        # 49 x 668, 25 x 718 and 13 x 773 ms
        large = find(tables, "book_task_10_6", "resnet152v2")
        self.check_percents(large, (2, "efficiency", 91.2), (4, "efficiency", 81.4), (2, "printed_efficiency", 91.7),
                            (4, "printed_efficiency", 82.5))
        self.assertIn("T(1) / T(P)", "\n".join(large.notes))
        self.assertIn("1,024 images per step", "\n".join(large.notes))

    def test_two_processors_have_rows_of_their_own(self):
        one, other = made_run(), made_run()
        other.ranks[0].device = "CPU B"
        baseline = find(book(observe_all([one, other])), "book_task_10_3")
        self.assertEqual([cell(baseline, row, "variant") for row in range(len(baseline.rows))],
                         ["processor CPU A", "processor CPU B"])

    def test_cores_of_the_baseline(self):
        for threads, cores, wanted in ((8, 20.0, 8), (4, 2.0, 2), (1, 0.5, 1), (2, 1.5, 2), (4, math.nan, None)):
            with self.subTest(threads=threads, cores=cores):
                baseline = find(book(observe_all([made_run(threads=threads, cores=cores)])), "book_task_10_3")
                self.assertEqual(cell(baseline, 0, "cores"), wanted)
        self.assertIsNone(cell(find(book(published("book")), "book_task_10_3"), 0, "cores"))

    def test_repeats_of_the_baseline_are_one_row_and_limits_are_marked(self):
        runs = [made_run(epochs=(9, seconds)) for seconds in (5, 21, 6)]
        runs[2].ranks[0].cores = 0.5
        [baseline] = [table for table in book(observe_all(runs)) if table.id == "book_task_10_3"]
        self.assertEqual(len(baseline.rows), 1)
        self.assertEqual(cell(baseline, 0, "epoch_s"), 6)
        self.assertIn("more threads than cores", cell(baseline, 0, "remark"))
        self.assertEqual(shown(baseline.rows[0][baseline.column("epoch_s")], "seconds"), "6.000")

    def test_baseline_acceleration_and_comparison(self):
        tables = book(published("book"))
        baseline = find(tables, "book_task_10_3")
        self.assertEqual(len(baseline.rows), 1)
        self.assertEqual(cell(baseline, 0, "epoch_s"), 215)
        self.assertAlmostEqual(cell(baseline, 0, "images_per_second"), 50000 / 215)
        pairs = find(tables, "book_task_10_4", "Task 10.4: acceleration")
        row = next(index for index in range(len(pairs.rows)) if cell(pairs, index, "slower").startswith("CPU")
                   and cell(pairs, index, "faster") == "GPU (Torres 2026, ch. 10)")
        # 220 s / (196 x 121 ms) and 215 s / (196 x 73 ms); 215 / 14 = 15.36, from 214.5 / 14.5 = 14.79 to 215.5 / 13.5
        for key, value in (("first_ratio", 220 / 23.716), ("steady_ratio", 215 / 14.308),
                           ("steady_ratio_low", 214.5 / (196 * 0.0735)), ("steady_ratio_high", 215.5 / (196 * 0.0725)),
                           ("printed_ratio", 215 / 14), ("printed_ratio_low", 214.5 / 14.5),
                           ("printed_ratio_high", 215.5 / 13.5)):
            self.assertAlmostEqual(cell(pairs, row, key), value, msg=key)
        self.assertIn("220 s / 24 s", pairs.notes[-1])
        time = find(tables, "book_task_10_7_epoch_time")
        self.assertEqual((len(time.columns), len(time.rows)), (4, 3))  # P and three series
        large = next(column.key for column in time.columns if "resnet152v2" in column.heading)
        self.assertAlmostEqual(cell(time, 0, large), 32.732)
        self.assertEqual(len(find(tables, "book_task_10_7_throughput").rows), 3)
        self.assertEqual([find(tables, f"book_task_10_7_{name}").columns[1].show for name in ("speedup", "efficiency")],
                         ["ratio", "percent"])

    def test_a_study_without_the_books_models(self):
        points = [observation(1, 64, 8), observation(2, 64, 5)]
        self.assertEqual(ids(book(points)), ["book_task_10_5_s1"])
        points[1].oversubscribed = True
        [table] = book(points)
        self.assertEqual([cell(table, row, "remark") for row in (0, 1)], [None, "more threads than cores"])
        [table] = book([replace(one, printed_epoch=UNKNOWN) for one in points])  # nothing was rounded
        self.assertEqual([cell(table, row, "remark") for row in (0, 1)],
                         ["single run", "more threads than cores, single run"])
        self.assertFalse([column for column in table.columns if column.key.startswith("printed")])
        points.append(observation(4, 64, 3, "resnet20"))
        self.assertEqual(ids(book(points)), ["book_task_10_5_s1"])
        self.assertEqual(book([]) + nyu([]), [])

    def test_the_larger_network_is_the_one_with_more_work(self):
        points = [observation(ranks, 64, 8 / ranks, model) for model in ("resnet20", "resnet18") for ranks in (1, 2)]
        for order in (points, points[::-1]):
            tables = book(order)
            self.assertIn("resnet20", find(tables, "book_task_10_5").title)  # a tenth of the operations of ResNet-18
            self.assertIn("resnet18", find(tables, "book_task_10_6").title)
            compared = [f"book_task_10_7_{name}" for name in ("epoch_time", "throughput", "speedup", "efficiency")]
            self.assertEqual(ids(tables)[2:], ["book_task_10_6_networks", *compared])
        # ResNet-18 computes more than ResNet152V2 for an image of 32 pixels, and less than that for one of 128.
        points = [observation(ranks, 64, 8 / ranks, model) for model in ("resnet18", "resnet152v2") for ranks in (1, 2)]
        for size, first, larger in ((32, "resnet152v2", "resnet18"), (128, "resnet18", "resnet152v2")):
            tables = book([replace(one, image_size=size if one.model != "resnet18" else 32) for one in points])
            self.assertIn(first, find(tables, "book_task_10_5").title)
            self.assertIn(larger, find(tables, "book_task_10_6").title)
        # What runs recorded counts, whatever a network is called.
        runs = [made_run(model=model, ranks=ranks) for model in ("net9", "net1") for ranks in (1, 2)]
        for one, work in zip(runs, (1e9, 1e9, 2e9, 2e9)):
            one.train_flops_per_image = work
        tables = book(observe_all(runs))
        self.assertIn("net9", find(tables, "book_task_10_5").title)
        self.assertIn("net1", find(tables, "book_task_10_6").title)


def series_of(model, seconds):
    """On 1 and 2 GPUs, 64 images on each."""
    return [observation(ranks, 64, seconds / ranks, model) for ranks in (1, 2)]


class Courses(LayoutCase):
    def test_each_has_its_own_numbers_for_the_same_tables(self):
        seen = series_of("resnet50v2", 10) + series_of("resnet101v2", 15) + series_of("resnet152v2", 20)
        seen.append(replace(observation(1, 64, 200, "resnet50v2"), processor=Processor.cpu))
        compared = ("epoch_time", "throughput", "speedup", "efficiency")
        self.assertEqual(ids(layout("lab5", seen)),
                         ["lab5_task_2", "lab5_task_3", "lab5_task_6_s1", "lab5_task_7_s2", "lab5_task_7_s3",
                          "lab5_task_8_networks", *(f"lab5_task_8_{name}" for name in compared)])
        tables = layout("sa-miri", seen)
        self.assertEqual(ids(tables),
                         ["sa_miri_task_10_3", "sa_miri_task_10_4", "sa_miri_task_10_6_s1", "sa_miri_task_10_7_s3",
                          "sa_miri_task_10_8_networks", *(f"sa_miri_task_10_8_{name}" for name in compared),
                          "sa_miri_task_10_9_s2", "sa_miri_task_10_9_networks",
                          *(f"sa_miri_task_10_9_{name}" for name in compared), "sa_miri_task_10_10",
                          "sa_miri_task_10_11"])
        # ResNet101V2 is the third network in task 10.9 and those after it only.
        self.assertEqual(len(find(tables, "sa_miri_task_10_8_speedup").columns), 3)
        self.assertEqual([column.key for column in find(tables, "sa_miri_task_10_9_speedup").columns],
                         ["ranks", "s1", "s2", "s3"])
        self.assertIn("Task 10.9: resnet101v2", find(tables, "sa_miri_task_10_9_s2").title)
        self.assertEqual(len(find(tables, "sa_miri_task_10_10").rows), 2)
        laws = find(tables, "sa_miri_task_10_11")
        self.assertEqual(len(laws.rows), 1)
        self.assertAlmostEqual(cell(laws, 0, "speedup"), 2)
        self.assertEqual(len([table for table in book(seen) if table.title.startswith("Task 10.6: ")]), 3)

    def test_a_rehearsal_has_a_third_network_between_the_others(self):
        """By work, not by the order of the runs; networks of the course are the third by their name."""
        models = ("resnet56", "resnet20", "resnet44")
        tables = layout("sa-miri", [one for model in models for one in series_of(model, 10)])
        for number, model in (("10_6", "resnet20"), ("10_7", "resnet56"), ("10_9", "resnet44")):
            self.assertIn(model, find(tables, f"sa_miri_task_{number}_s").title)
        self.assertEqual(len(find(tables, "sa_miri_task_10_9_speedup").columns), 4)
        self.assertEqual(len(find(tables, "sa_miri_task_10_11").rows), 1)
        self.assertNotIn("resnet44", "".join(find(tables, f"sa_miri_task_10_8_{name}").columns[at].heading
                                             for name in ("speedup", "efficiency") for at in (1, 2)))
        # The first one may be the book's; with its largest one there is no stand-in for the third.
        models = ("resnet50v2", "resnet110", "resnet18")
        tables = layout("sa-miri", [one for model in models for one in series_of(model, 10)])
        for number, model in (("10_6", "resnet50v2"), ("10_7", "resnet18"), ("10_9", "resnet110")):
            self.assertIn(model, find(tables, f"sa_miri_task_{number}_s").title)
        whole = ("resnet50v2", "resnet18", "resnet152v2")
        self.assertNotIn("sa_miri_task_10_11", ids(layout("sa-miri", [one for model in whole
                                                                      for one in series_of(model, 10)])))
        two = layout("sa-miri", [one for model in models[:2] for one in series_of(model, 10)])
        self.assertNotIn("sa_miri_task_10_11", ids(two))

    def test_what_tells_networks_apart(self):
        runs = []
        for model, batch, seconds, work in (("resnet50v2", 20, 8, 6e9), ("resnet152v2", 10, 24, 18e9)):
            for ranks, more in ((1, 0), (2, 1), (4, 2)):
                if (model, ranks) == ("resnet152v2", 4):
                    continue  # compared is the last P of both
                made = made_run(model=model, ranks=ranks, rank_batch=batch, epochs=(seconds,) * 2,
                                phases={"all_reduce": more * batch / 100})
                made.train_flops_per_image, made.learning_rate = work, 0.01 * ranks
                made.summary.all_steps.bytes = 1e8 if model == "resnet50v2" else 2e8
                made.epochs = [replace(one, seconds=seconds / ranks + more) for one in made.epochs]
                runs.append(made)
        tables = layout("book", observe_all(runs))
        networks = find(tables, "book_task_10_6_networks")
        self.assertIn("on 2 ranks", networks.title)
        self.assertEqual([column.heading for column in networks.columns[2:]], ["resnet152v2, 10 per rank", "times"])
        found = {row[0]: row[1:] for row in networks.rows}
        for name, wanted in (("Epoch (s)", [5, 13, 2.6]), ("Throughput (images/s)", [20, 100 / 13, 5 / 13]),
                             ("Efficiency (%)", [80, 1200 / 13, 15 / 13]),
                             ("Images of a step, each device", [20, 10, 0.5]),
                             ("Work of an image (GFLOP)", [6, 18, 3]), ("Work of a step (GFLOP)", [120, 180, 1.5]),
                             ("Summed in a step (MB)", [100, 200, 2]),
                             ("Work for each byte (kFLOP)", [1.2, 0.9, 0.75]),
                             ("All-reduce of a step (ms)", [200 / 3, 20, 0.3])):
            self.assertEqual(len(found[name]), 3)
            for cell_of_row, value in zip(found[name], wanted):
                self.assertAlmostEqual(cell_of_row, value, msg=name)
        rates = find(tables, "book_task_10_5_s")
        self.check(rates, (1, "learning_rate", 0.01), (4, "learning_rate", 0.04), (4, "rank_batch", 20))
        self.assertNotIn("book_task_10_6_networks", ids(layout("book", observe_all(runs[:3]))))  # of one network
        four = made_run(model="resnet152v2", ranks=4, rank_batch=10)
        four.train_flops_per_image = 18e9
        for cores, ranks in ((1.0, 4), (0.5, 2)):  # with a core for each thread, if that was on several ranks
            four.ranks[0].cores = cores
            table = find(layout("book", observe_all([*runs, four])), "book_task_10_6_networks")
            self.assertIn(f"on {ranks} ranks", table.title)
        limited = [f"{one} per rank, P = {ranks}" for one in ("resnet50v2, 20", "resnet152v2, 10") for ranks in (1, 2)]
        self.assertIn(f"{'; '.join(limited)}: single run.", table.notes)
        on_one = [one for one in runs if len(one.ranks) in ((1, 4) if one.model == "resnet50v2" else (1, 2))]
        self.assertEqual(len(on_one), 4)  # both networks on one rank alone
        self.assertNotIn("book_task_10_6_networks", ids(layout("book", observe_all(on_one))))

    def test_networks_are_compared_on_fewest_hosts_and_by_what_is_known(self):
        runs = [made_run(model=model, ranks=ranks, epochs=(8 / ranks,) * 2) for model in ("resnet50v2", "resnet152v2")
                for ranks in (1, 2)]
        spread = made_run(model="resnet152v2", ranks=2, epochs=(7, 7))
        spread.ranks[1].host = "node2"
        runs[0].train_flops_per_image = runs[1].train_flops_per_image = 6e9
        for one in (*runs[2:], spread):
            one.model = "unknown"
        table = find(layout("book", observe_all([*runs, spread])), "book_task_10_6_networks", "on 2 ranks")
        found = {row[0]: row[1:] for row in table.rows}
        self.assertEqual(found["Epoch (s)"], [4, 4, 1])
        self.assertEqual(found["Work of an image (GFLOP)"][0], 6)
        self.assertTrue(math.isnan(found["Work of an image (GFLOP)"][1]))
        gpus = [one for model in ("resnet50v2", "resnet152v2") for one in series_of(model, 10)]
        self.assertIn("on 2 GPUs", find(layout("book", gpus), "book_task_10_6_networks").title)

    def test_what_stands_for_a_network_of_the_course_is_named(self):
        tables = layout("sa-miri", [one for model in ("resnet50v2", "resnet110", "resnet18")
                                    for one in series_of(model, 10)])
        for number, ends in (("10_6_s1", "GPU"), ("10_7_s3", "in place of resnet152v2"),
                             ("10_9_s2", "in place of resnet101v2")):
            self.assertEqual(find(tables, f"sa_miri_task_{number}").title.endswith(ends), number != "10_6_s1")
        larger, third = "resnet18 stands for resnet152v2.", "resnet110 stands for resnet101v2."
        for number, wanted in (("10_6_s1", []), ("10_7_s3", [larger]), ("10_9_s2", [third])):
            notes = find(tables, f"sa_miri_task_{number}").notes
            self.assertEqual([note for note in (larger, third) if note in notes], wanted)
        for number, wanted in (("10_8", [larger]), ("10_9", [larger, third]), ("10_10", [larger]),
                               ("10_11", [third])):
            own = [one for one in tables if one.id.startswith(f"sa_miri_task_{number}") and not one.id[-1:].isdigit()
                   or one.id == f"sa_miri_task_{number}"]
            self.assertTrue(own)
            for table in own:
                self.assertEqual([note for note in (larger, third) if note in table.notes], wanted, table.id)
        book_own = book([one for model in ("resnet50v2", "resnet18", "resnet152v2") for one in series_of(model, 10)])
        self.assertNotRegex(str([(one.title, one.notes) for one in book_own]), "in place of|stands for")
        self.assertIn("in place of resnet50v2", book(series_of("resnet20", 10))[0].title)

    def test_the_baseline_is_the_first_of_several_networks(self):
        for models in (("resnet18", "resnet50v2"), ("resnet50v2", "resnet18")):
            seen = [replace(observation(1, 64, 8, model), processor=Processor.cpu, image_size=32) for model in models]
            baseline = find(layout("lab5", seen), "lab5_task_2")
            self.assertEqual([cell(baseline, row, "model") for row in (0, 1)], ["resnet50v2", "resnet18"])

    def test_the_speedup_that_amdahls_law_gives_for_a_fit(self):
        # T(P) = 10 (0.2 + 0.8 / P): the fit finds s = 0.2, so that the law's speedups are the measured ones.
        seen = [observation(ranks, 64, 10 * (0.2 + 0.8 / ranks)) for ranks in (1, 2, 4)]
        laws = layout("sa-miri", seen)[-1]
        self.assertEqual(laws.id, "sa_miri_task_10_10")
        self.check(laws, (2, "amdahl", 0.2), (2, "amdahl_speedup", 1 / 0.6), (4, "amdahl_speedup", 2.5),
                   (4, "speedup", 2.5),
                   (4, "amdahl_limit", 5), (4, "karp_flatt", 0.2))
        # A fit far below 0 leaves no time on many ranks, hence no speedup; what does not fit is not determined.
        laws = layout("sa-miri", [seen[0], observation(2, 64, 1), observation(4, 64, 0.1)])[-1]
        self.assertTrue(math.isnan(number_at(laws, 4, "amdahl_speedup")))
        self.assertTrue(math.isnan(number_at(laws, 4, "amdahl")))
        self.assertEqual(shown(laws.rows[1][laws.column("amdahl")], "percent"), "not determined")

    def test_speedups_above_the_ideal_and_below_1_leave_no_fraction(self):
        """As in a study whose table had Amdahl 250.4 %, Gustafson 149.5 %."""
        for seconds in (4, 28):
            seen = [observation(1, 64, 10), observation(2, 64, seconds)]
            laws = layout("sa-miri", seen)[-1]
            for key in ("amdahl", "karp_flatt", "amdahl_limit"):
                self.assertTrue(math.isnan(number_at(laws, 2, key)), (seconds, key))


def one_device(model, processor, *epochs, **changes):
    """A run on one rank whose epochs take these seconds."""
    made = made_run(model=model, images=50000, epochs=epochs)
    made.ranks[0].backend = processor
    for number, epoch in enumerate(made.epochs, 1):
        epoch.epoch, epoch.train.loss, epoch.train.accuracy = number, 2 / number, 1 - 0.5 / number
    for name, value in changes.items():
        setattr(made, name, value)
    return made


class OneDevice(LayoutCase):
    """SA-MIRI 2021."""

    def tables(self, *runs):
        return layout("sa-miri-2021", observe_all(runs))

    def test_each_task_has_the_runs_that_it_asks_for(self):
        to_target = one_device("resnet50v2", "cuda", 24, 14, 15, options={"target-accuracy": 0.8},
                               outcome="target reached")
        tables = self.tables(one_device("resnet50v2", "cpu", 220, outcome="stopped"),
                             one_device("resnet50v2", "cuda", 24, 14),
                             to_target, one_device("resnet152v2", "cuda", 63, 35),
                             made_run(model="resnet50v2", ranks=2))
        self.assertEqual(ids(tables), [f"sa_miri_2021_task_{number}" for number in range(2, 8)])
        networks, cpu, gpu, learned, target, compared = tables
        self.assertEqual([cell(networks, row, "parameters") for row in (0, 1)], [23539850, 58208394])
        self.assertAlmostEqual(cell(networks, 1, "work_ratio"), 1330569216 / 421453824)
        self.assertEqual([(cell(cpu, row, "epochs"), cell(cpu, row, "outcome")) for row in range(len(cpu.rows))],
                         [(1, "stopped")])
        self.assertIn("includes warm-up", cell(cpu, 0, "remark"))
        self.assertEqual([cell(gpu, row, "epoch_s") for row in range(len(gpu.rows))], [14])
        self.assertEqual([cell(learned, row, "train_accuracy") for row in range(len(learned.rows))], [0.5, 0.75])
        self.assertEqual([cell(target, row, "seconds") for row in range(len(target.rows))], [24, 14, 15])
        self.assertIn("resnet50v2, GPU: target reached.", target.notes)
        self.assertEqual([cell(compared, row, "time_ratio") for row in (0, 1)], [1, 2.5])
        self.assertEqual([cell(compared, row, "work_ratio") for row in (0, 1)], [1, 1330569216 / 421453824])
        self.assertEqual([cell(compared, row, "images_per_second") for row in (0, 1)], [50000 / 14, 50000 / 35])
        self.assertEqual(cell(gpu, 0, "images_per_second"), 50000 / 14)
        self.assertEqual(cell(networks, 1, "gradient_bytes"), 4 * 58208394)
        self.assertEqual(cell(compared, 1, "batch"), 10)

    def test_a_run_to_an_accuracy_is_a_repeat_for_the_time_of_an_epoch_alone(self):
        to_target = one_device("resnet50v2", "cuda", 24, 12, 12, options={"target-accuracy": 0.8},
                               outcome="target reached")
        tables = self.tables(to_target, one_device("resnet50v2", "cuda", 24, 14),
                             one_device("resnet152v2", "cuda", 63, 36))
        gpu, compared = find(tables, "sa_miri_2021_task_4"), find(tables, "sa_miri_2021_task_7")
        self.assertEqual([[cell(gpu, row, key) for key in ("epochs", "outcome", "epoch_s", "remark")]
                          for row in range(len(gpu.rows))], [[2, "completed", 14, "single run"]])
        self.assertEqual([cell(compared, row, "time_ratio") for row in range(len(compared.rows))], [1, 3])
        self.assertEqual([cell(find(tables, "sa_miri_2021_task_5"), row, "seconds") for row in (0, 1)], [24, 14])

    def test_cores_are_those_of_a_processor(self):
        tables = self.tables(one_device("resnet50v2", "cpu", 5, 4), one_device("resnet50v2", "cuda", 5, 4))
        self.assertEqual(cell(find(tables, "sa_miri_2021_task_3"), 0, "cores"), 1)
        self.assertNotIn("cores", [column.key for column in find(tables, "sa_miri_2021_task_4").columns])

    def test_a_rehearsal_without_a_gpu(self):
        tables = self.tables(one_device("resnet152v2", "cpu", 9, 8), one_device("resnet50v2", "cpu", 5, 4))
        self.assertEqual(ids(tables), [f"sa_miri_2021_task_{number}" for number in (2, 3, 5, 7)])
        self.assertEqual(len(tables[2].rows), 2)  # of the network with less work
        self.assertEqual([cell(tables[3], row, "time_ratio") for row in (0, 1)], [1, 2])
        self.assertNotIn("sa_miri_2021_task_7", ids(self.tables(one_device("resnet50v2", "cpu", 5, 4))))

    def test_repeats_and_logs(self):
        runs = [one_device("resnet50v2", "cuda", 24, seconds) for seconds in (14, 15, 19)]
        log = replace(observation(1, 256, 41, "resnet50v2"), source="log f")
        gpu = find(layout("sa-miri-2021", [*observe_all(runs), log]), "sa_miri_2021_task_4")
        self.assertEqual([cell(gpu, row, "epoch_s") for row in range(len(gpu.rows))], [14, 15, 19, 41])
        self.assertEqual([cell(gpu, row, "outcome") for row in (0, 3)], ["completed", None])

    def test_each_figure_is_of_a_run_that_is_named(self):
        whole, to_target, larger = (
            one_device("resnet50v2", "cpu", 24, 14, 14, file=Path("runs/cpu/run.json")),
            one_device("resnet50v2", "cpu", 26, 12, 12, file=Path("runs/to-95/run.json"),
                       options={"target-accuracy": 0.8}, outcome="target reached"),
            one_device("resnet152v2", "cpu", 63, 36, file=Path("runs/larger/run.json")))
        whole.started_at, whole.resumptions = "09:00", [("09:05", 0), ("09:10", 1), ("09:20", 2)]
        tables = self.tables(whole, to_target, larger)
        stopped = find(tables, "sa_miri_2021_task_3")
        keys = ("run", "started", "epochs", "outcome")
        self.assertEqual([[cell(stopped, row, key) for key in keys] for row in range(len(stopped.rows))],
                         [["cpu", "09:00", 0, "stopped"], ["cpu", "09:05", 1, "stopped"],
                          ["cpu", "09:10", 2, "stopped"], ["cpu", "09:20", 3, "completed"]])
        for task, run, epochs in ((5, "cpu", (24, 14, 14)), (6, "to-95", (26, 12, 12))):
            table = find(tables, f"sa_miri_2021_task_{task}")
            self.assertEqual([(cell(table, row, "run"), cell(table, row, "seconds")) for row in range(len(table.rows))],
                             [(run, seconds) for seconds in epochs])
            self.assertAlmostEqual(cell(table, 2, "minutes"), sum(epochs) / 60)
        compared = find(tables, "sa_miri_2021_task_7")
        self.assertEqual([[cell(compared, row, key) for key in ("run", "first_epoch_s", "epoch_s")] for row in (0, 1)],
                         [["to-95 (middle of 2)", 26, 12], ["larger", 63, 36]])

    def test_each_process_has_the_times_of_its_own_epochs(self):
        """Ended in the fourth epoch, between two and in the seventh; the last process went on to the end."""
        whole = one_device("resnet50v2", "cpu", 30, 12, 11, 50, 13, 33, 60, 14, 16, 15)
        whole.resumptions = [("09:05", 3), ("09:10", 5), ("09:20", 6)]
        for epoch, step in ((4, 7), (6, 0), (7, 2)):
            whole.epochs[epoch - 1].resumed_at_step = step
        table = find(self.tables(whole), "sa_miri_2021_task_3")
        self.assertEqual([[cell(table, row, key) for key in ("epochs", "first_epoch_s", "epoch_s")]
                          for row in range(len(table.rows))],
                         [[3, 30, 11.5], [5, None, 13], [6, 33, None], [10, None, 15]])
        self.assertEqual(cell(table, 3, "images_per_second"), 50000 / 15)

    def test_epochs_of_an_abandoned_branch_are_of_no_process(self):
        """The second process went on from an earlier checkpoint than the first one's last epoch."""
        whole = one_device("resnet50v2", "cpu", 30, 12, 40, 14)
        whole.resumptions = [("09:05", 3), ("09:10", 2)]
        whole.epochs[2].resumed_at_step = 0
        table = find(self.tables(whole), "sa_miri_2021_task_3")
        self.assertEqual([cell(table, row, "first_epoch_s") for row in range(len(table.rows))], [30, None, 40])
        self.assertEqual([cell(table, row, "epoch_s") for row in range(len(table.rows))], [12, None, 14])

    def test_epochs_have_the_marks_of_their_run(self):
        shared = one_device("resnet50v2", "cpu", 5, 4)
        shared.ranks[0].cores = 0.5
        learned = find(self.tables(shared), "sa_miri_2021_task_5")
        self.assertEqual(cell(learned, 1, "remark"), "more threads than cores, single run")


class Homework(LayoutCase):
    def test_one_device_and_the_fifth_epoch(self):
        runs = [run(1, 160, 10, 1), run(4, 160, 3, 0.25)]
        tables = nyu(observe_all(runs))
        self.assertEqual((tables[0].id, len(tables[0].rows)), ("nyu_question_1", 1))
        self.check(tables[0], (1, "unloaded_s", 9), (1, "loading_s", 1), (1, "time_s", 10))
        self.assertNotIn("nyu_question_4", ids(tables))
        for one in runs:
            one.epochs = [replace(one.epochs[-1], epoch=number, train=replace(
                one.epochs[-1].train, loss=2 - 0.1 * (number - 1 + len(one.ranks)), accuracy=0.1 * (number - 1)))
                for number in range(1, 7)]
        fifth = find(nyu(observe_all(runs)), "nyu_question_4", "Large batches: ")
        self.assertEqual(len(fifth.rows), 2)
        self.check(fifth, (1, "train_loss", 1.5), (4, "train_loss", 1.2), (4, "train_accuracy", 0.4),
                   (4, "rank_batch", 10),
                   (4, "global_batch", 40))
        self.assertEqual(cell(fifth, 0, "marks"), "single run")

    def test_the_published_answer(self):
        tables = nyu(published("nyu"))
        # Part 1 comes first. The batches grow fourfold, so 1 and 4 GPUs also make weak series.
        self.assertTrue(tables[1].title.startswith("Part 2, table 1: "))
        self.assertIn("weak scaling", tables[1].title)
        tables = tables[5:]
        self.assertEqual(ids(tables), ["nyu_table_1_g2", "nyu_table_2_g2", "nyu_table_3_g2", "nyu_communication_g2"])
        self.assertEqual(tables[0].columns[1].heading, "Batch 32 global: time (sec)")
        self.assertEqual([len(table.rows) for table in tables[:2]], [3, 2])
        self.check(tables[0], (2, "batch_512_time_s", 11.35), (4, "batch_512_speedup", 18.57 / 9.88))
        # Those that the answer itself prints: its table 2.
        self.check(tables[1], (2, "batch_32_compute_s", 11.72), (2, "batch_32_comm_s", 48.45),
                   (4, "batch_32_comm_s", 64.47),
                   (4, "batch_128_comm_s", 15.6475), (2, "batch_512_comm_s", 2.065), (4, "batch_512_comm_s", 5.2375))
        # 2 x 3/4 x 4 x 11,173,962 bytes x 1,563 steps / 64.47 s
        self.check(tables[2], (4, "batch_32_bandwidth_GBps", 1.5 * 44_695_848 * 1563 / 64.47 / 1e9))
        for table, words in ((tables[1], ("T(P) - C / P", "C = T(1)")),
                             (tables[2], ("11,173,962 parameters", "2 (P-1)/P", "by batch of all x ranks: ",
                                          "8,192 x 4: 7"))):
            for word in words:
                self.assertIn(word, "\n".join(table.notes))
        self.assertNotIn("besides", "\n".join(tables[2].notes))  # a log records no bytes

    def test_a_public_answer_that_ran_per_gpu(self):
        # 32 images per GPU: 96.315 s on one, 90.334 s on four, 391 steps of 128: 66.3 s of communication, 0.40 GB/s
        tables = nyu([observation(1, 32, 96.315), observation(4, 32, 90.334)])
        self.assertEqual(tables[1].columns[1].heading, "Batch 32 per GPU: time (sec)")
        self.check(tables[2], (4, "batch_32_compute_s", 24.07875), (4, "batch_32_comm_s", 66.25525))
        self.check(tables[3], (4, "batch_32_bandwidth_GBps", 1.5 * 44_695_848 * 391 / 66.25525 / 1e9))
        self.check(tables[4], (4, "steps", 391))

    def test_measured_figures_are_next_to_inferred_ones(self):
        runs = [run(1, 160, 10, 1), run(2, 160, 6, 0.25)]
        for one in runs:
            one.parameters = 11_220_132  # of 100 classes
        tables = nyu(observe_all(runs))
        notes = "\n".join(tables[3].notes)
        self.assertIn("N: 11,220,132 parameters of ", notes)
        self.assertIn("44,880,528 bytes; a step is one all-reduce. With what it sums besides, such as the statistics "
                      "of batch norms, N is 100,000,000 bytes here.", notes)
        self.assertIn("Steps of an epoch, by batch of each x ranks: ", notes)
        self.check(find(tables, "nyu_communication"), (2, "one_rank_s", 10), (2, "loading_s", 1),
                   (2, "compute_s", 4.5),  # (10 - 1) / 2
                   (2, "inferred_s", 1.5),  # 6 - 4.5
                   (2, "measured_s", 0.8), (2, "exposed_s", 0.4), (2, "gradient_bytes", 1e8),
                   (2, "bandwidth_GBps", 8e8 / 1.5 / 1e9), (2, "busbw_GBps", 2.5))
        self.assertNotIn("C = T(1)", "\n".join(tables[2].notes))

    def test_shared_cores_and_single_runs_are_marked(self):
        runs = [run(1, 160, 10, 1), run(2, 160, 6, 0.25), run(2, 160, 6.5, 0.25)]
        for one in runs:
            one.all_reduce = "shared"
        for one in runs[1:]:
            one.ranks[0].cores = 0.5
        tables = nyu(observe_all(runs))
        for table in tables[1:]:
            self.assertIn("more threads than cores", cell(table, len(table.rows) - 1, "marks"))
            self.assertIn(", shared", table.title)
        self.assertEqual(cell(tables[1], 0, "marks"), "single run")
        # The faster run: 10 / 6, and by the homework's other definition twice that
        self.check(tables[1], (1, "batch_10_time_s", 10), (2, "batch_10_time_s", 6), (2, "batch_10_speedup", 10 / 6),
                   (2, "batch_10_scaled_speedup", 20 / 6))
        self.assertIn("44,695,848 bytes", "\n".join(tables[3].notes))
        self.assertIn("use no link", "\n".join(tables[3].notes))
        single = observe_all(runs[:2])
        task = find(book(single), "book_task_10_5")
        self.assertIn("more threads than cores, single run", cell(task, 1, "remark"))
        self.assertEqual([cell(task, 1, bound) for bound in ("efficiency_low", "efficiency_high")], [None, None])
        plain_tables = nyu([observation(1, 64, 10), observation(2, 64, 4)])
        self.assertNotEqual(plain_tables[1].columns[-1].key, "marks")

    def test_a_disturbed_base_is_named_where_its_row_is_not_shown(self):
        """Tables 2 and 3 begin with two ranks, and all that they have is derived from the run on one."""
        points = [observation(1, 64, 10), observation(2, 64, 6), observation(1, 128, 9), observation(2, 128, 5)]
        for disturbed in (False, True):
            points[0].disturbed = disturbed
            tables = nyu(points)
            for table in tables[2:4]:
                self.assertEqual("Batch 64 per GPU: disturbed" in "\n".join(table.notes), disturbed, table.id)
            details = tables[4]
            self.assertEqual([cell(details, row, "marks") for row in (0, 1)],
                             ["one rank: disturbed" if disturbed else None, None])

    def tables_with(self, limit, limited):
        """(table, what it says) of all layouts, where runs on so many ranks have this limit; those that have such a
        row."""
        points = [observation(ranks, 64, 10 / ranks, model) for model in ("resnet20", "resnet18") for ranks in (1, 2)]
        points += [replace(one, processor=Processor.cpu, epoch=exactly(90.0)) for one in points if one.ranks == 1]
        for one in points:
            setattr(one, limit, one.ranks == limited)
        for table in [table for name in LAYOUTS for table in layout(name, points)]:
            ranks = [row[at] for row in table.rows for at, column in enumerate(table.columns) if column.key == "ranks"]
            if table.id != "sa_miri_2021_task_2" and (limited == 1 or limited in ranks):  # which has no run's figure
                yield table, str(table.rows) + "\n".join(table.all_notes())

    def test_no_figure_of_a_run_with_a_limit_is_without_its_mark(self):
        """In a row of each table, or in a note below it."""
        marks = {"disturbed": "disturbed", "oversubscribed": "more threads than cores",
                 "includes_warm_up": "includes warm-up"}
        for limit, mark in marks.items():
            for limited in (1, 2):
                for table, said in self.tables_with(limit, limited):
                    with self.subTest(limit=limit, table=table.id, ranks=limited):
                        laws = table.id.startswith("sa_miri_task_10_1")  # they have nothing, and the reason
                        self.assertIn("*Not determined*: of a run on" if laws else mark, said)

    def test_a_row_has_the_marks_of_all_its_series(self):
        points = [observation(1, 64, 10), observation(2, 64, 6), observation(1, 128, 9), observation(2, 128, 5)]
        points[1].disturbed = points[3].oversubscribed = True
        [table] = [table for table in nyu(points) if table.id == "nyu_table_1_g1"]
        self.assertEqual(cell(table, 0, "marks"), None)
        self.assertEqual(set(cell(table, 1, "marks").split("; ")), {"disturbed", "more threads than cores"})

    def test_a_batch_without_a_run_on_one_rank_has_its_own_formula_and_no_mark_of_one_rank(self):
        points = [observation(1, 64, 10), observation(2, 64, 6), observation(2, 32, 8), observation(4, 32, 5)]
        points[2].disturbed = True
        tables = nyu(points)
        notes = "\n".join(find(tables, "nyu_table_1").notes)
        self.assertIn("Batch 32 per GPU: No run on one rank: speedup S(P) = 2 T(2) / T(P)", notes)
        self.assertIn("Batch 64 per GPU: Speedup S(P) = T(1) / T(P)", notes)
        self.assertNotIn("Batch 32", "\n".join(find(tables, "nyu_table_2").notes))  # which derives nothing of it
        marks = [at for at, column in enumerate(find(tables, "nyu_communication").columns) if column.key == "marks"]
        self.assertNotIn("one rank", str([row[marks[0]] for row in find(tables, "nyu_communication").rows]))

    def test_runs_are_missing(self):
        # Communication below 0 has no bandwidth.
        tables = nyu([observation(1, 64, 10), observation(2, 64, 4)])
        self.check(tables[2], (2, "batch_64_comm_s", -1))
        self.assertTrue(math.isnan(number_at(tables[3], 2, "batch_64_bandwidth_GBps")))
        # Without a run on one rank nothing is inferred.
        tables = nyu([observation(2, 64, 4), observation(4, 64, 3)])
        self.assertTrue(math.isnan(number_at(tables[1], 4, "batch_64_comm_s")))
        self.assertIn("No run on one rank", "\n".join(tables[0].notes))
        # Batches that were not run on all ranks leave gaps.
        tables = nyu([observation(1, 64, 10), observation(2, 64, 6), observation(1, 128, 9), observation(4, 128, 3)])
        self.assertEqual(len(tables[1].rows), 3)
        self.assertTrue(math.isnan(number_at(tables[1], 4, "batch_64_time_s")))
        self.check(tables[1], (4, "batch_128_speedup", 3))
        # An unknown network has no gradient of a known size.
        unknown = [observation(1, 64, 10, "alexnet"), observation(2, 64, 6, "alexnet")]
        self.assertTrue(math.isnan(number_at(nyu(unknown)[4], 2, "gradient_bytes")))


if __name__ == "__main__":
    unittest.main()
