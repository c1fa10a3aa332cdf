"""`rueda report --hand-in`: the course's page, answers.md, the folder that is handed in, and its check by a teacher."""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "jobs")]
from made_files import MadeRun  # noqa: E402
from reader import report, start  # noqa: E402
from reader.base import owned  # noqa: E402
from reader.base.prose import Passage, Span, passages, prose_markdown  # noqa: E402
from reader.handin import answers, course_page, extract, folder  # noqa: E402
from reader.handin.grading import check_class  # noqa: E402
from reader.page import sheets  # noqa: E402
from reader.start import Failed, Unusable  # noqa: E402

PAGE = """# A course: tasks and hand-in

What it is.

```sh
make all
jobs/slurm/submit.sh \\
  base   # tasks 1 to 2: some
```

## Before you begin

> This ___ is of no task.

## Task 1: Getting ready

**Hand in**: nothing, it is a preparation.

> ___

## Task 2: The base (10 %)

**Hand in**: a slide.

```sh
rueda train "<a>"
```

For the student alone.

```text
no command
```

**Tables and charts**: `lab5_task_2`,
`lab5_task_3`, `weak-speedup`

> An epoch takes ___ s
> on ___ cores.

> **Explain**: Why?

## Task 8: All (50 %)

**Hand in**: two slides.

### Speed

**Tables and charts**: `lab5_task_8_*`, `batch-sweep`

> It is ___.

### Meaning

```sh
jobs/slurm/submit.sh more
```

> It means ___.
"""
FILLED = """Title: Ours
Names: Ann, Bob
Group: 7
Date: today

## Task 2: The base

An epoch takes 0.6 s on 2 cores.

> **Explain**: Why?

Because *work* grows:

- one `thing`
- **two**

## Task 8: All

### Speed

Fast.

### Meaning

Much.
"""


def course():
    return course_page.parse_course(PAGE)


class Page(unittest.TestCase):
    """Of a course."""

    def test_tasks_are_what_is_handed_in(self):
        found = course()
        self.assertEqual(found.title, "A course")
        self.assertEqual([(task.name, task.title) for task in found.tasks],
                         [("Task 2", "The base"), ("Task 8", "All")])
        (slide,) = found.tasks[0].slides
        self.assertEqual(slide.commands, ['rueda train "<a>"'])
        self.assertEqual(slide.shows, ["lab5_task_2", "lab5_task_3", "weak-speedup"])
        self.assertEqual(slide.sentences, ["An epoch takes ___ s on ___ cores.", "**Explain**: Why?"])
        self.assertEqual([(one.title, one.sentences, one.shows) for one in found.tasks[1].slides],
                         [("Speed", ["It is ___."], ["lab5_task_8_*", "batch-sweep"]),
                          ("Meaning", ["It means ___."], [])])

    def test_what_makes_the_runs_of_a_task(self):
        runs = ("first   # 10.3", "several   # 10.5 to 10.7: 18 runs", "none   # once, online, 10", "tenth   # 10.1")
        tasks = [f"## Task {number}: T\n**Hand in**: it"
                 for number in ("10", "18", "10.3", "10.4", "10.6", "10.100", "10.10")]
        page = "\n".join(["# X", "```sh", *runs, "```", *tasks, "```sh\njobs/slurm/submit.sh own \\\n  more\n```"])
        found = course_page.parse_course(page)
        self.assertEqual([found.runs_of(task) for task in found.tasks],
                         [["none"], [], ["first"], [], ["several"], [], ["jobs/slurm/submit.sh own more"]])

    def test_commands_for_a_cluster_say_whether_they_were_run(self):
        commands = ("jobs/slurm/submit.sh x --run-dir runs/a", "jobs/scale.sh book --submit --out runs/b", "grep x y")
        not_run = "For a cluster; no run here is of it:"
        was_run = "Run on a cluster:"
        for ran, wanted in ((["--run-dir", "runs/a"], [was_run, not_run, ""]),
                            (["--run-dir", "runs/a/np2", "runs/b/runs/p1"], [was_run, was_run, ""]),
                            (["--run-dir", "runs/ab", "other/runs/b"], [not_run, not_run, ""]),
                            ([], [not_run, not_run, ""])):
            self.assertEqual([sheets.kind_of(one, ran) for one in commands], wanted)
        self.assertEqual(sheets.kind_of("grep x y\n" + commands[0], ["runs/a"]), was_run)
        # Nothing is said where a command does not tell where its runs lie, or one of two was run.
        nameless = "sed s/a/b/ one >two\njobs/slurm/submit.sh two"
        for ran in ([], ["runs/a"]):
            for unknown in (nameless, commands[0] + "\n" + nameless):
                self.assertEqual(sheets.kind_of(unknown, ran), "For a cluster:")
        self.assertEqual(sheets.kind_of("\n".join(commands), ["runs/a"]), "For a cluster:")

    def test_other_names_of_tasks(self):
        text = ("# X\n## Part 3.2: One (5 points)\n**Hand in**: a table\n## Session 6.3: Two (2.5 %)\n"
                "## Question: none\n> ___\n")
        self.assertEqual([(task.name, task.title) for task in course_page.parse_course(text).tasks],
                         [("Part 3.2", "One"), ("Session 6.3", "Two")])

    def test_weights_are_no_part_of_a_title(self):
        for weight in ("(5 points)", "(1 point)", "(10 %)", "(10%)", "(2.5 pts)", "(12,5 marks)"):
            text = f"# X\n## Part 1: An epoch (warm) by its batch {weight}\n**Hand in**: a table\n> ___\n"
            self.assertEqual(course_page.parse_course(text).tasks[0].title, "An epoch (warm) by its batch", weight)
        text = "# X\n## Task 1: Two networks (both)\n**Hand in**: a table\n> ___\n"
        self.assertEqual(course_page.parse_course(text).tasks[0].title, "Two networks (both)")

    def test_the_manuals_pages_have_this_form(self):
        for path in (Path(__file__).resolve().parents[2] / "docs" / "courses").glob("*.md"):
            found = course_page.course_of(path.stem)
            self.assertGreater(len(found.tasks), 2, path)
            self.assertNotIn("hand-in", found.title)
            for task in found.tasks:
                self.assertTrue(task.wanted, (path, task.name))
                self.assertFalse([slide for slide in task.slides if not slide.shows and not slide.sentences],
                                 (path, task.name))

    def test_a_layout_without_a_page_is_refused(self):
        with self.assertRaisesRegex(Unusable, "the page of the course none is missing"):
            course_page.course_of("none")


class Prose(unittest.TestCase):
    def test_what_is_meant_and_what_is_text(self):
        found = passages(["a *b* **c** `d*` ___ e_f", "g", "", "1. one", "   more", "- two", "", "> why", "> so?",
                          "```", "<b> *x*", "```", "*"])
        text = Span("text", "a ")
        self.assertEqual(found, [
            Passage("paragraph",
                    [text, Span("emphasis", "b"), Span("text", " "), Span("strong", "c"), Span("text", " "),
                                  Span("code", "d*"), Span("text", " "), Span("blank", "___"), Span("text", " e_f g")]),
            Passage("items", [[Span("text", "one more")], [Span("text", "two")]]),
            Passage("question", [Span("text", "why so?")]), Passage("code", "<b> *x*"),
            Passage("paragraph", [Span("text", "*")])])

    def test_markdown_of_text_is_that_text_alone(self):
        odd = "1. <script>alert(1)</script> [x](javascript:y) ![z](u) & `a # | \\ ~~b~~ <!-- -->"
        (line,) = prose_markdown([Passage("paragraph", [Span("text", odd)])]).splitlines()
        for mark in ("<", "[", "&", "`", "|", "~"):
            self.assertEqual(line.count(mark), line.count("\\" + mark), line)
        self.assertTrue(line.startswith("1\\. "))
        self.assertEqual(prose_markdown(passages(["*a* ___", "", "- `b`", "", "> c", "```", "d", "```"])),
                         "*a* \\_\\_\\_\n\n- `b`\n\n> c\n\n```\nd\n```")

    def test_long_lines_take_no_long_time(self):
        for part in ("*a ", "`a", "**", "_", "> ", "- ", "## " + " " * 50, "\u202e"):
            passages([part * 100_000])


class HandInCase(unittest.TestCase):
    """A study of 1 and 2 ranks and two networks, two runs each, in the current folder, and its plan."""

    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.before, place = os.getcwd(), stack.enter_context(tempfile.TemporaryDirectory())
        os.chdir(place)
        stack.callback(os.chdir, self.before)
        stack.enter_context(mock.patch.object(folder, "course_of", lambda layout: course()))
        self.make_study("study", 0)

    def make_study(self, place, group):
        plan = []
        for model, work in (("resnet50v2", 1), ("resnet152v2", 3)):
            for ranks, repeat in ((1, 1), (1, 2), (2, 1), (2, 2)):
                def times(epoch, step, rank, work=work, ranks=ranks, repeat=repeat):
                    noise = 1e-6 * (1 + group * 7 + work * 11 + ranks * 3 + repeat) * (epoch + 0.1 * step + 0.01 * rank)
                    return {"forward": 0.03 * work + noise, "backward": 0.06, "all_reduce": 0.004 * ranks}

                name = f"{model}_rank10_p{ranks}_r{repeat}"
                run = MadeRun(parts=[10] * ranks, times=times, model=model, flops=1e8 * work,
                              started_at=f"2026-05-{group + 1:02}T{work:02}:0{ranks}:0{repeat}Z")
                run.write(Path(place, "runs", name))
                plan.append({"name": name, "model": model, "ranks": ranks, "kind": "rank", "batch": 10})
        Path(place, "study.json").write_text(json.dumps({"schema": "rueda-study", "schema_version": 1, "series": plan}))

    def made(self, *words, place="in", runs="study", plots="off"):
        """What it prints of the hand-in."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = report.main([runs, "--layout", "lab5", "--hand-in", place, "--plots", plots, *words])
        self.assertEqual(code, 0)
        return said.getvalue().partition("\nHand-in in ")[2]

    def refused(self, wanted, *words, **more):
        """Nothing is written."""
        before = self.files()
        with self.assertRaises(Unusable) as caught:
            self.made(*words, **more)
        self.assertIn(wanted, str(caught.exception))
        self.assertEqual(caught.exception.code, 2)
        self.assertEqual(self.files(), before)

    @staticmethod
    def files():
        return {path: path.read_bytes() if path.is_file() else None for path in sorted(Path().rglob("*"))}

    @staticmethod
    def write(name, text):
        Path(name).write_text(text, encoding="utf-8")

    @staticmethod
    def read(name):
        return Path(name).read_text(encoding="utf-8")


class HandIn(HandInCase):
    def test_the_folder_has_all_that_is_handed_in(self):
        printed = self.made()
        self.assertIn("in: hand-in.md, tables/*.csv, runs/ (the records of 8 runs), answers.md (yours to complete)",
                      printed)
        lacks = "No run gives all tables of Task 2; what makes its runs: `jobs/slurm/submit.sh base`."
        self.assertIn(f"\n{lacks}\n", printed)
        self.assertIn("8 of 8 blanks are open: the head, Task 2, Task 8.", printed)
        self.assertEqual(sorted(os.listdir("in")), [".rueda-files", "answers.md", "hand-in.md", "runs", "tables"])
        self.assertEqual(sorted(os.listdir("in/tables"))[1:], [
            "lab5_task_2.csv", "lab5_task_6_s1.csv", "lab5_task_7_s2.csv", *(f"lab5_task_8_{one}.csv" for one in (
                "efficiency", "epoch_time", "networks", "speedup", "throughput"))])
        for name in ("study.json", "runs/resnet50v2_rank10_p1_r1/run.json", "runs/resnet152v2_rank10_p2_r2/steps.csv"):
            self.assertEqual(Path("in/runs/study", name).read_bytes(), Path("study", name).read_bytes())
        text = self.read("in/hand-in.md")
        for words in ("# A course\n", "- **Names**: \\_\\_\\_\n", "- Machine: ", "- Started: 2026-05-01T01:01:01Z to ",
                      "(and 7 others, in runs/)", "## Task 2: The base\n", '```sh\nrueda train "<a>"\n```',
                      "| Model | ", f"- {lacks}", "An epoch takes \\_\\_\\_ s on \\_\\_\\_ cores.",
                      "> **Explain**: Why?\n\n\\_\\_\\_\n", "## Task 8: Speed\n", "## Task 8: Meaning\n",
                      "For a cluster:\n\n```sh\njobs/slurm/submit.sh more\n```\n",
                      "## Commands of the runs\n\nBy their records:\n\n```sh\nrueda train"):  # fmt: skip
            self.assertIn(words, text)
        self.assertEqual(text.count("No run gives"), 1)  # a chart that is not drawn is no missing table
        commands = text.partition("## Commands of the runs")[2]
        said = ("rueda train", "  # 1 rank\n", "  # 2 ranks\n")
        self.assertEqual([commands.count(words) for words in said], [8, 4, 4])
        for words in ("Task 1", "For the student alone", "no command", "make all", "of no task"):
            self.assertNotIn(words, text)

    def test_tables_say_on_what_they_are_without_the_number_of_their_task(self):
        self.made()
        text = self.read("in/hand-in.md")
        self.assertIn("\n## Task 8: Speed\n\n### The networks on 2 ranks\n", text)
        self.assertIn("\n### Speedup\n", text)
        self.assertNotIn("### Task", text)
        alone = PAGE.replace("`lab5_task_2`,\n`lab5_task_3`", "`lab5_task_6_*`").replace("_8_*", "_8_networks")
        with mock.patch.object(folder, "course_of", lambda layout: course_page.parse_course(alone)):
            self.made()
        text = self.read("in/hand-in.md")
        self.assertIn("\n### The networks on 2 ranks\n", text)  # a table alone, too
        self.assertIn("\n### Task 6: resnet50v2, 10 per rank", text)  # of another task than its sheet

    def test_answers_are_written_once_and_filled_in(self):
        self.made("--title", "Lab *five*")
        self.assertEqual(self.read("in/answers.md").splitlines()[:4],
                         ["Title: Lab *five*", "Names: ___", "Group: ___", "Date: ___"])
        self.assertIn("\n## Task 2: The base\n\nAn epoch takes ___ s on ___ cores.\n\n> **Explain**: Why?\n\n___\n",
                      self.read("in/answers.md"))
        self.write("in/answers.md", FILLED)
        self.assertIn("All 8 blanks are filled in.", self.made("--title", "Other"))
        self.assertEqual(self.read("in/answers.md"), FILLED)
        text = self.read("in/hand-in.md")
        for words in ("# Ours\n", "- **Names**: Ann, Bob\n", "An epoch takes 0.6 s on 2 cores.",
                      "Because *work* grows:\n",
                      "- one `thing`\n- **two**\n", "submit.sh more\n```\n\nMuch.\n"):
            self.assertIn(words, text)
        self.write("in/answers.md", FILLED.replace("Group: 7", "Group:").replace("Much.", "").replace("0.6 s", "___ s"))
        self.assertIn("3 of 8 blanks are open: the head, Task 2, Task 8.", self.made())
        # A task that was deleted has its sentences again, and what stands before the first slide belongs to that.
        self.write("in/answers.md", "Names: A\n\n## task 8\nBefore.\n")
        self.assertIn("7 of 8 blanks are open", self.made())
        self.assertIn("An epoch takes \\_\\_\\_ s", self.read("in/hand-in.md"))
        before, found, _ = self.read("in/hand-in.md").partition("Before.")
        self.assertTrue(found)
        self.assertIn("## Task 8: Speed", before)

    def test_answers_that_somebody_writes_meanwhile_are_kept(self):
        def write(*words):
            owned.write_owned(*words)
            self.write("in/answers.md", "mine")

        with mock.patch.object(folder, "write_owned", write), self.assertRaisesRegex(Unusable, "somebody else"):
            self.made()
        self.assertEqual(self.read("in/answers.md"), "mine")

    def test_first_answers_are_those_that_are_read(self):
        text = answers.first_answers(course(), "T")
        blanks, total = answers.open_blanks(answers.parse_answers(text, course()), course())
        self.assertEqual((blanks, total), ({"the head": 3, "Task 2": 3, "Task 8": 2}, 8))

    def test_answers_that_cannot_be_used(self):
        self.made()
        for text, wanted in (
            ("## Task 9: x\n", 'in/answers.md: line 1: "Task 9" is no task that is handed in: did you mean '),
            ("Title: x\n\n## Quiz\n", '"Quiz" is no task that is handed in; there are Task 2, Task 8; correct it'),
            ("## Task 1: Getting ready\n", '"Task 1" is no task that is handed in'),
            ("## Task 2\n## Task 2\n", "line 2: Task 2 stands there twice"),
            ("## Task 8\n### Speed\n### speed\n", "line 3: Speed stands there twice"),
            ("hello\n", 'line 1: "hello": before the first task stand Title:, Names:, Group:, Date:'),
            ("## \x1b[31m\x07\n", '"\\x1b[31m\\x07" is no task'),
        ):
            with self.subTest(text=text):
                self.write("in/answers.md", text)
                self.refused(wanted)
        for content, wanted in ((b"Title: Jos\xe9\n", "no text in UTF-8 from byte 11 on; save it as UTF-8"),
                                (b"a" * 10_000_000, "10000000 bytes, more than the 1000000"),
                                (b"\x89PNG\r\n\x1a\n", "in/answers.md: ")):
            Path("in/answers.md").write_bytes(content)
            self.refused(wanted)
        Path("in/answers.md").unlink()
        for make, wanted in ((lambda path: path.symlink_to("/etc/passwd"), "it is a link"),
                             (lambda path: path.symlink_to("../elsewhere"), "it is a link")):
            make(Path("in/answers.md"))
            self.refused(wanted)
            Path("in/answers.md").unlink()
        os.mkfifo("in/answers.md")
        self.refused("it is no regular file")
        Path("in/answers.md").unlink()
        Path("in/answers.md").mkdir()
        self.refused("it is a directory")

    def test_folders_that_are_refused(self):
        for place in ("study/in", "study", ".", "study/runs/in"):
            self.refused("it lies among the runs in study, or they lie in it", place=place)
        run = "study/runs/resnet50v2_rank10_p1_r1"
        self.refused("it lies among the runs", runs=f"{run}/run.json", place=f"{run}/in")
        Path("link").symlink_to("study")
        self.refused("it lies among the runs", place="link/in")
        with self.assertRaisesRegex(Unusable, "--out is the same folder"):
            self.made("--out", "in")
        with contextlib.redirect_stdout(io.StringIO()):
            report.main(["study", "--out", "report", "--plots", "off"])
        self.refused("it has what another command wrote (report.json)", place="report")
        Path("mine").mkdir()
        for name in ("hand-in.md", "tables"):
            self.write(f"mine/{name}", "mine")
            self.refused(f"mine/{name}: ", place="mine")
            Path("mine", name).unlink()
        Path("other").mkdir()
        for name in ("runs", "tables"):
            Path("mine", name).symlink_to("../other")
            self.refused(f"mine/{name}: it is a link", place="mine")
            Path("mine", name).unlink()

    def test_only_its_own_is_replaced_and_removed(self):
        self.made()
        self.write("in/runs/study/mine.txt", "mine")
        self.write("in/tables/lab5_task_7_s2.csv", "changed")
        shutil.rmtree("study/runs/resnet152v2_rank10_p1_r1")
        self.refused("tables/lab5_task_7_s2.csv: it was not written by an earlier report, or has changed since")
        for run in Path("study/runs").glob("resnet152*"):
            shutil.rmtree(run)
        self.made()  # of one network, which no table compares
        self.assertEqual(sorted(os.listdir("in/tables"))[1:],
                         ["lab5_task_2.csv", "lab5_task_6_s1.csv", "lab5_task_7_s2.csv"])
        self.assertEqual(self.read("in/tables/lab5_task_7_s2.csv"), "changed")
        self.assertEqual(sorted(one for one in os.listdir("in/runs/study/runs") if "152" in one), [])
        self.assertEqual(self.read("in/runs/study/mine.txt"), "mine")

    def test_words_that_do_not_go_together(self):
        for words, wanted in ((["--check", "x"], "--hand-in makes a hand-in, and --check compares one"),
                              (["--layout", "book"], "--hand-in needs the layout of one course")):
            self.refused(wanted, *words)
        with self.assertRaisesRegex(Unusable, "needs the layout of one course"):
            report.main(["study", "--hand-in", "in"])

    def test_without_a_library_that_draws(self):
        def lacks(*libraries):
            if "matplotlib" in libraries:
                raise Unusable("needs matplotlib: install python3-matplotlib")

        with mock.patch.object(start, "need", lacks):
            self.assertIn("No charts and no hand-in.html", self.made(plots="auto"))
            self.refused("--plots on needs matplotlib", plots="on", place="other")
        self.assertFalse(Path("in/hand-in.html").exists())
        self.assertIn("## Task 2", self.read("in/hand-in.md"))


class Removal(unittest.TestCase):
    def test_folders_that_are_named_stay(self):
        with tempfile.TemporaryDirectory() as place:
            files = {"a": {"x": b"1"}, "b/c": {"y": b"2"}, "": {}}
            owned.write_owned(place, place, files, "")
            self.assertEqual(owned.remove_earlier(place, {"": (), "a": ()}), ["a/x", "b/c/y"])
            self.assertEqual(sorted(os.listdir(place)), [".rueda-files", "a"])


class Seen(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.words, self.classes = [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.classes += [value for name, value in attrs if name == "class"]

    def handle_data(self, data):
        self.words += data


class Html(HandInCase):
    def test_the_page_has_charts_and_no_blank_stays_unseen(self):
        printed = self.made(plots="on")
        self.assertIn("hand-in.html, tables/*.csv, charts/*.png", printed)
        page = Seen(self.read("in/hand-in.html"))
        self.assertEqual(page.classes.count("blank"), 8)
        self.assertEqual(page.tags.count("section"), 1 + 3 + 2)  # with the charts of task 8, and the commands
        self.assertEqual(sorted(os.listdir("in/charts"))[1:], [f"weak-{one}.png" for one in (
            "efficiency-bars", "epoch-time-bars", "speedup-bars", "speedup", "throughput-bars")])
        self.assertEqual(page.tags.count("img"), 5)
        widths = {int.from_bytes(path.read_bytes()[16:20], "big") for path in Path("in/charts").glob("*.png")}
        self.assertEqual(widths, {int(0.62 * 8 * 160)})  # as on paper, where the letters are to be read
        text = self.read("in/hand-in.md")
        self.assertEqual(text.count("](charts/weak-"), 5)
        self.assertIn("Task 8: Speed", page.words)
        # Charts that a later call does not show are removed with their page.
        self.made()
        self.assertEqual(sorted(os.listdir("in")), [".rueda-files", "answers.md", "hand-in.md", "runs", "tables"])

    def test_long_code_is_told_from_short(self):
        for lines, wanted in ((21, []), (22, ["long"])):
            self.write("answers.md", FILLED.replace("Fast.", "```\n" + "x\n" * lines + "```"))
            Path("in").mkdir(exist_ok=True)
            shutil.move("answers.md", "in/answers.md")
            self.made(plots="on")
            classes = Seen(self.read("in/hand-in.html")).classes
            self.assertEqual([one for one in classes if one == "long"], wanted)

    def test_hostile_answers_are_text(self):
        odd = '<script>alert(1)</script><img src=x onerror=y> [a](javascript:b) <a href="javascript:c">d</a> &lt;'
        self.write("answers", FILLED.replace("Fast.", odd).replace("Ann, Bob", odd).replace("Ours", odd))
        Path("in").mkdir()
        shutil.move("answers", "in/answers.md")
        self.made(plots="on")
        page = Seen(self.read("in/hand-in.html"))
        self.assertFalse({"script", "iframe", "object"} & set(page.tags))
        self.assertEqual([link for link in page.links if not link.startswith(("data:", "#"))], [])
        self.assertEqual(page.words.count(odd), 4)  # title twice, names, task
        text = self.read("in/hand-in.md")
        self.assertNotIn("<script", text.replace("\\<script", ""))
        self.assertNotIn("[a](", text.replace("\\[a\\](", ""))


class Check(HandInCase):
    """A teacher's check of such folders."""

    def setUp(self):
        super().setUp()
        Path("class").mkdir()
        self.make_study("study2", 1)
        self.made(place="class/ann")
        self.made(place="class/bob/hand-in", runs="study2")

    def check(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                check_class("class")
            except Failed as error:
                return said.getvalue() + str(error)
        return said.getvalue()

    def test_honest_groups_agree(self):
        self.assertIn("All 2 groups agree.", self.check())

    def test_a_forged_figure_of_a_table(self):
        table = Path("class/ann/tables/lab5_task_6_s1.csv")
        head, *rows = [line.split(",") for line in table.read_text().splitlines()]
        rows[1][head.index("speedup")] = "1.99"
        table.write_text("\r\n".join(",".join(line) for line in [head, *rows]))
        self.assertIn("ann: 1 figure differs", self.check())

    def test_a_forged_record(self):
        file = Path("class/ann/runs/study/runs/resnet50v2_rank10_p2_r1/run.json")
        document = json.loads(file.read_text())
        document["epochs"][1]["seconds"] /= 2
        file.write_text(json.dumps(document))
        self.assertRegex(self.check(), "ann: .*remarks? on the runs.*epochs-csv")

    def test_a_repeat_that_was_deleted_before_and_after(self):
        shutil.rmtree("class/ann/runs/study/runs/resnet50v2_rank10_p2_r2")
        shutil.rmtree("study2/runs/resnet50v2_rank10_p2_r2")
        self.made(place="class/bob/hand-in", runs="study2")
        printed = self.check()
        self.assertRegex(printed, "ann: .*plan-missing")
        self.assertRegex(printed, "bob: .*plan-missing")

    def test_answers_that_are_open_are_counted(self):
        answers = Path("class/ann/answers.md").read_text()
        count = answers.count("___") - 1  # the first line explains what a blank is
        self.assertRegex(self.check(), f"(?m)^ann: all agree: .*; {count} blanks are open$")
        lines = [line if line.startswith(">") else line.replace("___", "done") for line in answers.splitlines()]
        Path("class/ann/answers.md").write_text("\n".join([*lines, "The rest is ___."]))
        self.assertRegex(self.check(), "(?m)^ann: all agree: .* 1 blank is open$")
        Path("class/ann/answers.md").write_bytes(b"\xff")
        self.assertRegex(self.check(), "(?m)^ann: all agree: .* runs$")

    def test_a_plan_that_was_left_out_is_noted(self):
        for run in Path("class/ann/runs/study/runs").glob("resnet*"):
            (run / "attempt.json").write_text(json.dumps({
                "schema": "rueda-attempt", "schema_version": 1, "model": "resnet50v2", "ranks": int(run.name[-4]),
                "batch_per_rank": 10, "global_batch": None, "exit_code": 0, "seconds": 99}))
        self.assertRegex(self.check(), "(?m)^ann: all agree: [^;]*; [0-9]+ blanks")
        Path("class/ann/runs/study/study.json").unlink()
        self.assertRegex(self.check(), r"(?m)^ann: all agree: .*; 1 note on the runs \(plan\);")

    def test_the_runs_of_another_group(self):
        self.made(place="class/cid")
        self.assertRegex(self.check(), "cid: .*copies-of-groups")


class Extract(HandInCase):
    def test_runs_of_no_study_and_of_two(self):
        self.make_study("more/study", 1)
        shutil.copytree("study/runs/resnet50v2_rank10_p1_r1", "alone")
        contents, missing = extract.extract(["alone", "study", "more"])
        self.assertEqual(missing, [])
        tops = sorted({name.split("/")[1] for name in contents})
        self.assertEqual(tops, ["alone", "study", "study_2"])
        self.assertEqual(len(contents), 1 + 2 * 9)
        self.assertIn("study.json", contents["runs/study_2"])

    def test_a_plan_belongs_to_all_of_its_study_alone(self):
        contents, _ = extract.extract(["study/runs"])
        self.assertIn("study.json", contents["runs/study"])
        contents, _ = extract.extract(["study/runs/resnet50v2_rank10_p1_r1", "study/runs/resnet50v2_rank10_p2_r1"])
        self.assertEqual(sorted(contents), ["runs/resnet50v2_rank10_p1_r1", "runs/resnet50v2_rank10_p2_r1"])

    def test_what_is_too_large_or_no_file_is_left_out_and_named(self):
        run = Path("study/runs/resnet50v2_rank10_p1_r1")
        with open(run / "steps.csv", "ab") as file:
            file.truncate(9_000_000)
        (run / "ranks.csv").unlink(missing_ok=True)
        os.mkfifo(run / "ranks.csv")
        contents, missing = extract.extract(["study"])
        self.assertEqual(sorted(contents[f"runs/study/runs/{run.name}"]), ["epochs.csv", "run.json"])
        self.assertRegex(" ".join(missing), r"ranks.csv \(it is no regular file\) .*steps.csv \(more than 8 MB\)")


if __name__ == "__main__":
    unittest.main()
