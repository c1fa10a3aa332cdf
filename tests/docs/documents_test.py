#!/usr/bin/env python3
"""The documents: every command is run as written, every link leads somewhere, every file that is named exists.

usage: documents_test.py RUEDA MPIEXEC

Commands run in a folder with small data and runs (scratch.py), where what stands for rueda and its launchers limits
a training to some steps (shims.py). treatment.py says what is not run, and why. The short test runs those of README.md;
of the others it looks up programs, options and scripts, and lets the parser read each training.
"""

import functools
import re
import shutil
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from names import trainings, wrong_names
from pages import ROOT, Page, examples_in_heads, help_examples, page_names
from scratch import Scratch
from treatment import NOT_RUN, PAGES, filled, is_mention, reason_not_to_run

from rueda_runs import LONG, Program, ProgramCase, longer, main

sys.path.insert(0, str(ROOT / "jobs" / "site"))
from fields import Fields  # noqa: E402

COMMANDS = ("", "train", "summary", "synth", "doctor", "evaluate", "bench", "bench all-reduce", "bench layers",
            "bench explain", "predict", "report", "watch")  # fmt: skip
FIRST_PAGE = "README.md"
MAP = "docs/README.md"
CHANGELOG = "docs/changelog.md"  # names what was, too
PAGE_OF_FIELDS = ROOT / "docs" / "run-json.md"


# What users of launchers, loaders and Slurm asked about in public: words of it, which one row of the page has.
SYMPTOMS = (
    "ORTE was unable to reliably start", "unable to complete a TCP connection", "libcudnn.so.9", "libmpi.so.40",
    "GLIBCXX_3.4.30 not found", "Bus error", "shm", "SLURM's PMI support", "137", "NaN", "worse on more ranks",
    "slower than one", "CANCELLED DUE TO TIME LIMIT", "cuIpcOpenMemHandle", "attempt to run as root",
    "not enough slots", "rank 0 of 1", "plm_rsh_agent could not be found", "requested component was not found",
    "orted: command not found", "libopen-rte.so.40", "Read -1, expected errno = 1", "exited on signal 9",
    "oom_kill event", "Out Of Memory", "PMIX ERROR", "step creation temporarily disabled", "Illegal instruction",
    "$'\\r': command not found", "CUDA driver version is insufficient", "no kernel image is available",
    "accuracy at 0.1", "Requested node configuration is not available", "Invalid account", "No module named",
)  # fmt: skip
# Sentences of the courses' pages with seconds of an epoch "by the plan" of `rueda summary`: pages, words, and of each
# figure network, pixels, batch and precision.
MODELLED = (
    (("book", "lab5", "sa-miri"), "Model: {} s.", "resnet50v2 128 256 fp32"),
    (("book", "lab5", "sa-miri"), "Model for one GPU: {} s.", "resnet50v2 128 2048 fp32"),
    (("book", "lab5", "sa-miri"), "Model for one GPU: {} s.", "resnet152v2 128 1024 fp32"),
    (("sa-miri",), "model for one GPU: {} s.", "resnet101v2 128 1024 fp32"),
    (("sa-miri",), "Model of ResNet50V2, batch 256: {}, {} and {} s.", "resnet50v2 128 256 fp32",
     "resnet50v2 128 256 tf32", "resnet50v2 128 256 bf16"),
    (("sa-miri-2021",), "Model for an H100: {} s.", "resnet50v2 128 256 fp32"),
    (("sa-miri-2021",), "({} against {} s on an H100)", "resnet152v2 128 256 fp32", "resnet50v2 128 256 fp32"),
    (("nyu",), "Model: {}, {} and {} s.", "resnet18 32 32 fp32", "resnet18 32 128 fp32", "resnet18 32 512 fp32"),
)  # fmt: skip
IMAGES = 50_000
TO_BE_MADE = ("jobs/slurm/site.sh",)  # files that a page tells its reader to make


def commands_of(page):
    return [] if page.name == CHANGELOG else page.commands()


def is_command(command):
    return not (is_mention(command) or reason_not_to_run(command.text))


def is_run(command):
    return is_command(command) and not command.page.startswith(tuple(PAGES))


def wrong_links(page):
    """What of its links leads nowhere."""
    for line, target in page.links():
        name, _, anchor = target.partition("#")
        path = (ROOT / page.name).parent / name if name else ROOT / page.name
        if name and not path.exists():
            yield f"{page.name}:{line}: {target}: there is no {name}"
        elif anchor and path.suffix == ".md":
            other = page if not name else Page(path.resolve().relative_to(ROOT).as_posix())
            if anchor not in other.anchors():
                yield f"{page.name}:{line}: {target}: no heading is called so"


def rows_for(page, symptom):
    """The rows of its tables that have all words of a symptom and say what to do."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for _, line in page.text() if line.startswith("| ")]
    return [row for row in rows if all(word in row[0] for word in symptom.split()) and row[1]]


def missing_files(page):
    if page.name.startswith((CHANGELOG, "docs/results/")):
        return
    for line, name in page.file_names():
        if name not in TO_BE_MADE and not any((ROOT / folder / name).exists() for folder in ("", "tests")):
            yield f"{page.name}:{line}: there is no {name}"


@functools.lru_cache(maxsize=None)
def first_scratch():
    """One for all cases: to make it takes as long as a page."""
    temporary = tempfile.TemporaryDirectory(prefix="rueda-documents-")
    unittest.addModuleCleanup(temporary.cleanup)
    return Scratch(temporary.name, *ProgramCase.paths[:2]).make()


class Runner:
    """Runs what is to be run of pages, each page in a copy of a folder of its own."""

    def __init__(self, scratch, folder):
        self.scratch, self.folder = scratch, Path(folder)

    def failures(self, item):
        number, commands = item
        copy = self.folder / str(number)
        here = self.scratch.copied(copy)
        found = []
        for _, block in groupby(commands, lambda command: (command.block, command.line if command.inline else 0)):
            block = list(block)
            folder = Path(block[0].page).parent if re.match(r"docs/lessons/\d", block[0].page) else Path()
            script = "\n".join(filled(command.text) for command in block)
            # README's line, once in a shell.
            starts = any(command.text.startswith("mpi") for command in block)
            said, code = here.run(f". {copy}/jobs/env.sh\n" * starts + script, folder)
            if code:
                found.append(f"{block[0]}: exit code {code}\n{said[-1500:]}")
        shutil.rmtree(copy)
        return found


@functools.lru_cache(maxsize=None)
def recorded():
    """Directories of runs that have all fields between them."""
    scratch = first_scratch()
    scratch.real("train", "--backend", "timed", "--compute", "1", "--batch-per-rank", "4", "--data-limit", "16",
                 "--epochs", "2", "--run-dir", "timed")  # fmt: skip
    return [scratch.folder / name for name in ("runs/two", "runs/layers", "timed")]


class DocumentsCase(ProgramCase):
    images = (20, 10)

    def none(self, problems):
        problems = list(problems)
        self.assertEqual(problems, [], "\n\n".join(problems))

    def tried(self, pages):
        """What went wrong of lists of commands, each of a page."""
        scratch = first_scratch()
        with tempfile.TemporaryDirectory(prefix="rueda-pages-") as folder, ThreadPoolExecutor(2) as pool:
            return [one for found in pool.map(Runner(scratch, folder).failures, enumerate(pages)) for one in found]


class Documents(DocumentsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pages = [Page(name) for name in page_names()]
        cls.commands = [command for page in cls.pages for command in commands_of(page)]
        cls.commands += help_examples(cls.program.binary, COMMANDS) + examples_in_heads()

    def test_links_and_their_anchors(self):
        self.none(problem for page in self.pages for problem in wrong_links(page))

    def test_the_map_has_every_page(self):
        page = Page(MAP)
        linked = {(ROOT / MAP).parent.joinpath(target.partition("#")[0]).resolve() for _, target in page.links()}
        left_out = [name for name in page_names() if name != MAP and (ROOT / name).resolve() not in linked]
        self.assertEqual(left_out, [], f"give each a place in {MAP}")

    def test_files_that_are_named(self):
        self.none(problem for page in self.pages for problem in missing_files(page))

    def test_fields_of_the_files_of_a_run(self):
        self.none(Fields(PAGE_OF_FIELDS.read_text(encoding="utf-8"), recorded()).problems())

    def test_words_of_commands(self):
        for command in self.commands:
            if wrong := wrong_names(command.text, self.program.binary):
                with self.subTest(command=str(command)):
                    self.fail(wrong)

    def test_words_of_trainings_as_the_parser_reads_them(self):
        here = Program(*self.paths[:2], first_scratch().folder)
        for command in filter(is_command, self.commands):
            for words in trainings(filled(command.text)):
                with self.subTest(command=str(command)):
                    self.completed(here.run(*words, "--print-config"))

    def test_every_exception_has_its_command(self):
        texts = [command.text for command in self.commands if not is_mention(command)]
        used = {found[0] for text in texts if (found := reason_not_to_run(text))}
        self.assertEqual([pattern for pattern, _ in NOT_RUN if pattern not in used], [])

    def test_symptoms_that_users_search(self):
        page = Page("docs/troubleshooting.md")
        self.assertEqual([symptom for symptom in SYMPTOMS if not rows_for(page, symptom)], [])

    def test_seconds_that_courses_expect_by_the_model(self):
        @functools.cache
        def seconds(model, pixels, batch, precision):
            done = self.program.run("summary", "--roofline", "H100", "--model", model, "--image-size", pixels,
                                    "--batch-per-rank", batch, "--precision", precision)  # fmt: skip
            rate = re.search(r"(\d+) by the plan", self.completed(done).out)[1]
            return f"{IMAGES / int(rate):.1f}"

        for names, words, *figures in MODELLED:
            sentence = words.format(*(seconds(*figure.split()) for figure in figures))
            for name in names:
                text = (ROOT / "docs" / "courses" / f"{name}.md").read_text(encoding="utf-8")
                with self.subTest(page=name, sentence=sentence):
                    self.assertIn(sentence, " ".join(text.split()))

    @longer
    def test_every_command_as_it_is_written(self):
        """In the long test those of all pages, with the real launcher and compiler, and each training trains."""
        wanted = [command for command in self.commands if is_run(command) and (LONG or command.page == FIRST_PAGE)]
        self.none(self.tried([list(group) for _, group in groupby(wanted, lambda command: command.page)]))


class Detection(DocumentsCase):
    """What is wrong on a page that is made to be so."""

    def page(self, text):
        return Page("docs/made.md", text)

    def test_links_and_files(self):
        text = "[a](nothing.md) [b](ring.md#no-such-part) [c](ring.md) `jobs/nothing.sh` [d](#here)\n# Here"
        self.assertEqual(len(list(wrong_links(self.page(text)))), 2)
        text += "\n`unit/nothing_test.cpp` `cli/cli_test.py` `src/A/b.cpp`"
        self.assertEqual(len(list(missing_files(self.page(text)))), 2)

    def test_fields(self):
        text = PAGE_OF_FIELDS.read_text(encoding="utf-8")
        for word, instead, wrong in (
            ("`clock_seconds`:", "`clack_seconds`:", ("clock_seconds is not listed", "clack_seconds is in no file")),
            ("- `epoch`, `rank`\n", "- `epoch`, `rank`, `epoch`\n", ("ranks.csv: epoch is listed twice",)),
            ("`joules_to_target`, ", "", ("energy has the fields",)),
            ("`load` ... `other`: add up", "`load` ... `optimizer`: add up", ("steps.csv: other is not listed",)),
        ):
            with self.subTest(word=word):
                self.assertEqual(text.count(word), 1)
                changed = Fields(text.replace(word, instead), recorded())
                problems = list(changed.problems())
                self.assertEqual(len(problems), len(wrong), problems)
                for one, part in zip(problems, wrong):
                    self.assertIn(part, one)
                left = list(Fields(changed.filled(), recorded()).problems())
                self.assertEqual([one for one in left if re.search(" is (not listed|in no file)$", one)], [])

    def test_symptoms(self):
        page = self.page("| you see | do |\n|---|---|\n| `Bus error`, shm | `df` |\n| NaN | |\n")
        self.assertEqual([len(rows_for(page, text)) for text in ("Bus error", "error shm", "Bus NaN", "NaN", "df")],
                         [1, 1, 0, 0, 0])

    def test_commands(self):
        bad = ("build/rueda train --epoch 3", "build/rueda report nothing --out r", "rueda train --warmup-epochs 9",
               "build/rueda unknown --x 1", "jobs/nothing.sh one", "mpirun --np2 build/rueda train --epochs 1",
               "surely-not-a-program", "jobs/scale.sh cpu --model resnet20",
               "srun --mpj=pmix build/rueda doctor --json a",
               "build/rueda evaluate --init-weights nothing.safetensors")  # fmt: skip
        good = ("build/rueda bench explain --ranks 3", "mpirun -n 2 build/rueda train --epochs 2 ...")
        pages = [self.page(f"```sh\n{text}\n```").commands() for text in bad + good]
        failed = self.tried(pages)
        self.assertEqual([text for text in bad if not any(text in one for one in failed)], [])
        self.assertEqual(len(failed), len(bad), failed)

    def test_words(self):
        for text, wrong in (
            ("jobs/test.sh --quickly", "no --quickly"), ("jobs/test.sh --quick", ""), ("jobs/nothing.sh", "not there"),
            ("rueda train --epoch", "no --epoch"), ("rueda bench layers --json", ""),
            ("meson setup b -Dcpus=x", "no option cpus"),
            ("mpirun -n 2 build/rueda summary --rooflines 1", "no --rooflines"),
            ("chrt -r 5 jobs/lab/auto.py --link x", "no --link"), ("chrt -r 5 jobs/lab/auto.py --links x", ""),
            ("tests/docs/names.py", "not executable"), ("python3 tests/docs/names.py", ""),
        ):  # fmt: skip
            self.assertIn(wrong, wrong_names(text, self.program.binary))
            self.assertEqual(bool(wrong), bool(wrong_names(text, self.program.binary)), text)


if __name__ == "__main__":
    main()
