"""The courses' pages (docs/courses): they have every task of their source with its weight, in the form that a hand-in
is made from, and name tables and charts that a layout and a report really make."""

import io
import itertools
import json
import re
import subprocess
import sys
import unittest
import zipfile
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "jobs"), str(ROOT / "jobs" / "site")]
import courses  # noqa: E402
from made import made_run  # noqa: E402
from reader import embed  # noqa: E402
from reader.base.definitions import DEFINITIONS  # noqa: E402
from reader.charts.every_chart import charts_of  # noqa: E402
from reader.findings.report_json import report_json  # noqa: E402
from reader.handin.layouts import layout_tables  # noqa: E402
from reader.page.sheets import charts_of_table  # noqa: E402
from reader.report import Report  # noqa: E402
from reader.study.figures import evaluate  # noqa: E402
from reader.study.observation import observe_all  # noqa: E402
from reader.study.series import make_series  # noqa: E402

# By page: the numbers of the tasks as their sources have them, with the weight where the source gives one.
TASKS = {
    "book": dict.fromkeys(("10.1", "10.2", "10.3", "10.4", "10.5", "10.6", "10.7"), ""),
    "sa-miri": dict.fromkeys(("10.1", "10.2", "10.3", "10.4", "10.6", "10.7", "10.8", "10.9", "10.10", "10.11"), ""),
    "lab5": {"1": "10 %", "2": "10 %", "3": "10 %", "4": "10 %", "5": "10 %", "6": "30 %", "7": "10 %", "8": "10 %"},
    "sa-miri-2021": dict.fromkeys("12345678", ""),
    "nyu": dict.fromkeys("1234", "5 points"),
}
# Tasks of the same source that a page names without a hand-in of their own.
NAMED = {
    "book": ("12.1", "12.2", "12.3", "12.4"),
    "sa-miri": ("6.3", "6.4", "6.5", "6.6", "6.7", "11.1", "11.2", "11.4", "11.5", "11.6", "11.7", "11.8",
                "12.1", "12.4"),
}
# By table: what charts the source wants of it.
CHARTS = {
    "lab5_task_6": ("epoch-time", "throughput", "speedup"),
    "lab5_task_8": ("epoch-time-bars", "throughput-bars", "speedup-bars"),
    "book_task_10_5": ("epoch-time", "throughput", "speedup", "efficiency"),
    "book_task_10_7": ("epoch-time-bars", "throughput-bars", "speedup-bars", "efficiency-bars"),
    "sa_miri_task_10_6": ("epoch-time", "throughput", "speedup", "efficiency"),
    "sa_miri_task_10_7": ("epoch-time", "throughput", "speedup", "efficiency"),
    "sa_miri_task_10_8": tuple(f"weak-{one}-s2-s5-bars" for one in (
        "epoch-time", "throughput", "speedup", "efficiency")),
    "sa_miri_task_10_9": ("epoch-time", "throughput", "speedup", "efficiency"),
    "nyu_table_1": ("weak-speedup-bars", "strong-speedup-bars"),
}  # fmt: skip
NOT_HANDED_IN = {"book": ("10.1", "10.2")}
TASK = re.compile(r"^## (?:Task|Part) ([\d.]+): [^\n(]+?(?: \(([^)]+)\))?$", re.MULTILINE)
BOOK = ("resnet50v2", "resnet101v2", "resnet152v2")


def text_of(name):
    return (ROOT / "docs" / "courses" / f"{name}.md").read_text(encoding="utf-8")


def sections(text):
    """{number: (weight, text of the task)}"""
    found = {}
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        if match := TASK.match(part):
            found[match[1]] = (match[2] or "", part[match.end():].strip("\n"))
    return found


def names_of(section):
    lines = [line for line in section.splitlines() if line.startswith("**Tables and charts**: ")]
    return [name for line in lines for name in re.findall(r"`([^`]+)`", line)]


UNIT = r"(?:s|ms|%|times|minutes|images/s|images|epochs|parameters|GPUs|cores|GB/s|GB)(?![\w/])"
FIGURE = re.compile(rf"___(?=(?:(?:,| to| and| against| instead of)? ___)* {UNIT})[^_]*?{UNIT}|___ {UNIT}")
NAME_OF_COLUMN = re.compile(r"(?<![*\w])\*([^*]+)\*(?!\*)")
NAMED_AFTER = re.compile(r"\*[^*]+\*|`[^`]+`")


def sentences_of(section):
    """The quotes to complete, each in one line."""
    quotes = re.findall(r"(?:^> .*\n?)+", section, re.MULTILINE)
    lines = [" ".join(line.removeprefix("> ") for line in quote.splitlines()) for quote in quotes]
    return [line for line in lines if not line.startswith("**Explain**")]


def words_of(table):
    """What a sentence may call a figure of the table: heading, name of a row or end of a title, without unit."""
    words = [column.heading for column in table.columns] + [row[0] for row in table.rows if isinstance(row[0], str)]
    names = [re.sub(r" \(.*?\)$|, %$", "", word) for word in (*words, table.title)]
    return names + [name.rsplit(": ", 1)[1] for name in names if ": " in name]


def unexplained(sentence):
    """Blanks before a unit that name neither a column nor a command's output before their sentence ends or a figure in
    another unit follows."""
    figures = list(FIGURE.finditer(sentence))
    for at, match in enumerate(figures):
        others = [one.start() for one in figures[at:] if one[0].split()[-1] != match[0].split()[-1]]
        end = min([*others, *(one.start() for one in re.finditer(r"[.;] ", sentence) if one.start() >= match.end()),
                   len(sentence)])  # fmt: skip
        if not NAMED_AFTER.search(sentence, match.end(), end):
            yield match[0]


def gpu(model, ranks, rank_batch, seconds, **changes):
    """A run on GPUs, of five epochs."""
    made = made_run(model=model, ranks=ranks, rank_batch=rank_batch, images=1280, epochs=(seconds + 1, *[seconds] * 4))
    for rank in made.ranks:
        rank.backend = "cuda"
    for number, epoch in enumerate(made.epochs, 1):
        epoch.epoch, epoch.phases["load"].mean = number, 0.1
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def runs_of(models):
    return [gpu(model, ranks, 64, (10 + at) / ranks) for at, model in enumerate(models) for ranks in (1, 2, 4)]


def made_runs(name):
    """What the commands of the page leave, in small."""
    alone = made_run(model="resnet50v2", rank_batch=256, images=1280, epochs=(220, 215))
    if name == "nyu":
        weak = [gpu("resnet18", ranks, batch, 90 / ranks) for batch in (32, 128) for ranks in (1, 2, 4)]
        return weak + [gpu("resnet18", ranks, batch // ranks, 90 / ranks) for batch in (32, 128) for ranks in (2, 4)]
    if name == "sa-miri-2021":
        to_95 = gpu("resnet50v2", 1, 256, 41, options={"target-accuracy": 0.95}, outcome="target reached")
        return [alone, to_95,
                *(gpu(model, 1, 256, seconds) for model, seconds in (("resnet50v2", 41), ("resnet152v2", 118)))]
    models = BOOK if name == "sa-miri" else (BOOK[0], BOOK[2])
    return [alone, gpu("resnet50v2", 1, 256, 14), *runs_of(models)]


def made_of(name, runs=None):
    """The tables of the layout and the charts of a report of such runs."""
    runs = runs or made_runs(name)
    for at, run in enumerate(runs):
        run.file = Path(f"runs/{at}/run.json")
    observations = observe_all(runs)
    report = Report("", "", evaluate(make_series(observations)))
    report.all_runs = runs
    report.layouts[name] = layout_tables(name, report.series, observations)
    written = json.loads(json.dumps(report_json(report)))
    return report.layouts[name], charts_of(written)


def made_names(name):
    tables, charts = made_of(name)
    return [table.id for table in tables], [chart.name for chart in charts]


class Courses(unittest.TestCase):
    def test_pages_are_what_the_templates_make(self):
        self.assertEqual(sorted(TASKS), courses.NAMES)
        for name in TASKS:
            with self.subTest(page=name):
                self.assertEqual(text_of(name), courses.page(name), "call jobs/site/courses.py")
        done = subprocess.run([sys.executable, ROOT / "jobs" / "site" / "courses.py", "--check"], check=False)
        self.assertEqual(done.returncode, 0)

    def test_every_task_of_the_source_with_its_weight(self):
        for name, tasks in TASKS.items():
            with self.subTest(page=name):
                self.assertEqual({number: weight for number, (weight, _) in sections(text_of(name)).items()}, tasks)
                for number in NAMED.get(name, ()):
                    self.assertRegex(text_of(name), rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)")

    def test_each_task_says_what_is_handed_in(self):
        for name in TASKS:
            for number, (_, section) in sections(text_of(name)).items():
                with self.subTest(page=name, task=number):
                    first = section.splitlines()[0]
                    self.assertTrue(first.startswith("**Hand in**: "), first)
                    left_out = number in NOT_HANDED_IN.get(name, ())
                    self.assertEqual(first.startswith("**Hand in**: nothing"), left_out)
                    self.assertTrue(left_out or "\n> " in section, "no sentence to complete")
                    for quote in re.findall(r"(?:^> .*\n?)+", section, re.MULTILINE):
                        self.assertEqual("___" in quote, not quote.startswith("> **Explain**: "), quote)

    def test_tables_and_charts_that_a_page_names_are_made(self):
        for name in TASKS:
            tables, charts = made_names(name)
            for number, (_, section) in sections(text_of(name)).items():
                for wanted in names_of(section):
                    with self.subTest(page=name, task=number, name=wanted):
                        self.assertTrue([one for one in tables + charts if fnmatchcase(one, wanted)], (tables, charts))

    def test_the_charts_that_a_source_wants_come_with_its_tables(self):
        for name in TASKS:
            tables, charts = made_of(name)
            for task, wanted in CHARTS.items():
                own = [one for one in tables if one.id.startswith(task + "_")]
                found = [chart.name for one in own for chart in charts_of_table(one.json(), charts)]
                for chart in wanted if own else ():
                    with self.subTest(task=task, chart=chart):
                        self.assertTrue([one for one in found if one.endswith(chart)], found)

    def test_charts_of_a_task_show_the_networks_of_its_table(self):
        stand_ins = runs_of(("resnet18", "resnet50v2", "resnet110"))
        for name, runs in itertools.product(("sa-miri", "lab5", "book"), (None, stand_ins)):
            tables, charts = made_of(name, runs)
            scaled = {id for chart in charts for id in chart.ids}
            for table in tables:
                own = {column.key for column in table.columns} & scaled
                for chart in charts_of_table(table.json(), charts) if own else ():
                    with self.subTest(table=table.id, chart=chart.name):
                        self.assertEqual(chart.ids, [key for key in (one.key for one in table.columns)
                                                     if key in chart.ids])  # in the same order

    def test_each_figure_to_fill_in_stands_in_a_table_of_its_task(self):
        for name in TASKS:
            tables, _ = made_of(name)
            for number, (_, section) in sections(text_of(name)).items():
                shown = [table for table in tables if any(fnmatchcase(table.id, one) for one in names_of(section))]
                known = {word for table in shown for word in words_of(table)}
                for sentence in sentences_of(section):
                    with self.subTest(page=name, task=number, sentence=sentence):
                        self.assertEqual([one for one in NAME_OF_COLUMN.findall(sentence) if one not in known], [])
                        self.assertEqual(list(unexplained(sentence)), [])

    def test_a_figure_without_a_table_is_seen(self):
        self.assertEqual(list(unexplained("It takes ___ s, because ___.")), ["___ s"])
        self.assertEqual(list(unexplained("From ___ to ___ % (*Share*), which is ___ times (*Ratio*) ___.")), [])
        self.assertEqual(list(unexplained("From ___ to ___ %, which is ___ times as much (*Ratio*).")), ["___ %"])
        self.assertEqual(list(unexplained("The ratio is ___ (*Ratio*). It grows by ___ %.")), ["___ %"])
        self.assertEqual(list(unexplained("With *Cores* ___, ___ and ___ GB/s as `busbw` has.")), [])

    def test_ratios_of_networks_are_those_of_the_program(self):
        facts = {one["name"]: (one["train_flops_per_image"], one["parameters"]) for one in DEFINITIONS["models"]}

        def times(model):
            return tuple(own / first for own, first in zip(facts[model], facts["resnet50v2"]))

        work, size = times("resnet18")
        text = " ".join(text_of("book").split())
        self.assertIn(f"it has {work:.1f} times the work of ResNet50V2 for an image, and {size:.2f} times the bytes to",
                      text)
        self.assertLess(10 * size, work)  # so that the order of work for each byte is clear, and that of the tasks:
        work, size = times("resnet152v2")
        self.assertLess(size, work)
        figures = (f"{work:.1f} times the work for an image and half the images make {work / 2:.1f} times the work of "
                   f"a step, for {size:.1f} times the bytes (233 against 94 MB): {work / 2 / size:.2f} times the work")
        for name in ("book", "lab5", "sa-miri"):
            self.assertIn(figures, " ".join(text_of(name).split()))
        both = (facts[model][1] / 1e6 for model in ("resnet50v2", "resnet152v2"))
        self.assertIn("{:.1f} against {:.1f} million trainable parameters".format(*both),
                      " ".join(text_of("sa-miri-2021").split()))
        # Task 10.9 expects a network between the others, by work and by work for each byte; so it is in the rehearsal.
        models = re.search(r"^jobs/scale.sh sa-miri --models (\S+)", text_of("sa-miri"), re.MULTILINE)[1].split(",")
        facts_of_each = [times(model) for model in models]
        for order in ([work for work, _ in facts_of_each], [work / size for work, size in facts_of_each]):
            self.assertEqual((order, len(set(order))), (sorted(order), 3))

    def test_a_rehearsal_has_the_batches_that_sentences_name(self):
        text = text_of("nyu")
        line = " ".join(re.search(r"^jobs/scale.sh nyu --models .*?--out", text, re.MULTILINE | re.DOTALL)[0].split())
        said = " ".join(sentence for _, section in sections(text).values() for sentence in sentences_of(section))
        each, whole = (set(re.search(rf"--{one} (\S+)", line)[1].split(","))
                       for one in ("batch-per-rank", "global-batch"))
        self.assertEqual(set(re.findall(r"[Bb]atch (\d+) global", said)), whole)
        self.assertEqual(set(re.findall(r"(?:[Bb]atch|[Ww]ith) (\d+)\b", said)), each)

    def test_a_rehearsal_on_one_device_has_the_networks_of_the_tasks_and_ends_in_a_step(self):
        """Not after seconds, in which a busy machine may not take any step. The stopped process has a steady epoch."""
        block = re.search(r"\*\*No GPU.*?^```sh\n(.*?)^```$", text_of("sa-miri-2021"), re.MULTILINE | re.DOTALL)[1]
        self.assertEqual(set(re.findall(r"--model (\S+)", block)), {"resnet50v2", "resnet152v2"})
        self.assertNotIn("timeout", block)
        images, batch, epochs = (int(re.search(rf"--{one} (\d+)", block)[1])
                                 for one in ("data-limit", "batch-per-rank", "epochs"))
        finished, step = divmod(int(re.search(r"=stop:0:(\d+) ", block)[1]), -(-images // batch))
        self.assertTrue(2 <= finished < epochs and step > 0, (finished, step))

    def test_no_table_of_a_layout_is_left_out(self):
        for name in TASKS:
            text, (tables, _) = text_of(name), made_names(name)
            wanted = [one for _, section in sections(text).values() for one in names_of(section)]
            for table in tables:
                with self.subTest(page=name, table=table):
                    self.assertTrue(f"`{table}`" in text or any(fnmatchcase(table, one) for one in wanted))

    def test_notes_are_sentences(self):
        for name in TASKS:
            for table in made_of(name)[0]:
                for note in table.all_notes():
                    self.assertRegex(note, r"\w+ .*\w.*[.)]$", (table.id, table.notes))

    def test_git_ignores_what_the_commands_write(self):
        ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
                   if line.startswith("/")]
        texts = [text_of(name) for name in TASKS] + [(ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")]
        blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```$", "\n".join(texts), re.MULTILINE | re.DOTALL))
        written = set(re.findall(r"(?:--out |--hand-in |--run-dir | -o | >)([a-z][\w.-]*)", blocks))
        self.assertGreaterEqual(written, {"runs", "hand-in", "rehearsal-book", "resnet152.slurm", "ring", "checked"})
        for name in written:
            self.assertTrue(any(fnmatch(name, one) for one in ignored), name)

    def test_the_program_carries_the_pages(self):
        with zipfile.ZipFile(io.BytesIO(embed.archive(embed.embedded()))) as archive:
            for name in TASKS:
                carried = archive.read(f"reader/handin/courses/{name}.md").decode("utf-8")
                self.assertEqual(carried, text_of(name))


if __name__ == "__main__":
    unittest.main()
