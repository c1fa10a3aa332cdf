#!/usr/bin/env python3
"""How the reader starts, reads its command line and ends.

usage: start_test.py
"""

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "jobs"), str(ROOT / "tests" / "cli")]
from reader import __main__, start  # noqa: E402
from reader.command_line import CommandLine, number, whole_number  # noqa: E402
from rueda_runs import main  # noqa: E402

PROGRAM = """
import sys, time
sys.path.insert(0, {jobs!r})
from reader import start
def body():
    {body}
start.run("rueda", body, "the remedy", needs=())
"""


def line():
    """A command line with an option of each kind."""
    made = CommandLine("report", "Makes tables; needs no MPI", "  rueda report study")
    made.add_argument("places", metavar="RUN_DIR", nargs="*",
                      help="Run directories of rueda train, or directories that hold some")
    made.add_argument("--out", metavar="DIR", default="",
                      help="Writes report.md, report.json and tables/*.csv to this directory")
    made.add_choice("--layout", ("book", "sa-miri", "nyu"), action="append", default=[], help="Writes tables")
    made.add_argument("--slides", action="store_true", help="Also writes slides")
    group = made.add_argument_group("Scenario")
    group.add_argument("--share", type=number, default=80.0, metavar="PERCENT", help="Least share")
    group.add_argument("--count", type=whole_number, default=0, metavar="N", help="Some [as in the runs]")
    made.add_choice("--plots", ("auto", "on", "off"), group, default="auto", help="Draws")
    return made


BARE = """
import sys
sys.path.insert(0, {jobs!r})
from reader import __main__, start
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in start.LIBRARIES:
            raise ImportError(name + " was asked for")
sys.meta_path.insert(0, Lacking())
sys.argv = ["rueda", *{words!r}]
__main__.main()
"""


class CommandLines(unittest.TestCase):
    def test_options_and_places_stand_in_any_order(self):
        words = "one --layout nyu two --share -2.5 --layout book --slides --out=x three -- --four"
        options = line().parse(words.split())
        self.assertEqual(options.places, ["one", "two", "three", "--four"])
        self.assertEqual((options.layout, options.share, options.slides, options.out),
                         (["nyu", "book"], -2.5, True, "x"))
        self.assertEqual((options.count, options.plots), (0, "auto"))

    def test_refusals_name_the_option_the_remedy_and_the_help(self):
        for words, wanted in (
            ("x --foo 3", "unknown option --foo; see rueda report --help"),
            ("x --layot book", "unknown option --layot: did you mean --layout?; see"),
            ("x --LAYOUT=book", "unknown option --LAYOUT=book: did you mean --layout?; see"),
            ("x --shar 3", "unknown option --shar: did you mean --share?; see"),  # never taken for what it begins
            ("-x", "unknown option -x; see"),
            ("x --layout bok", "--layout: 'bok' is not known: did you mean book? Give book or sa-miri or nyu; see"),
            ("x --plots maybe", "--plots: 'maybe' is not known: give auto or on or off; see"),
            ("x --share", "--share takes a value; see"),
            ("x --out --slides", "--out takes a value; see"),
            ("x --out=", "--out takes a value; see"),
            ("x --slides=3", "--slides takes no value; see"),
            ("x --share 3x", "--share: '3x' is not a number, for example 0.1 or 1e-4; see"),
            ("x --share nan", "--share: 'nan' is not a number"),
            ("x --share 1e999", "--share: '1e999' is not a number"),
            ("x --count 1.5", "--count: '1.5' is not a whole number"),
            ("x --count -1", "--count: '-1' is not a whole number"),
            ("x --f\x1boo", r"unknown option --f\x1boo; see"),
        ):
            with self.subTest(words), self.assertRaises(start.Unusable) as refused:
                line().parse(words.split(" "))
            self.assertIn(wanted, str(refused.exception))

    def test_help_and_refusals_need_no_library(self):
        """A package is built, and a login node asked, where Python has none."""
        for command in __main__.COMMANDS:
            for option, code, wanted in (("--help", 0, f"Usage: rueda {command}"), ("--nonsense", 2, "unknown option")):
                with self.subTest(command=command, option=option):
                    program = BARE.format(jobs=str(ROOT / "jobs"), words=[command, option])
                    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                                          timeout=60)  # fmt: skip
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertIn(wanted, done.stdout + done.stderr)

    def test_help_has_a_line_for_each_option_with_its_default(self):
        before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "60"
        try:
            text = line().format_help()
        finally:
            os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
        self.assertTrue(text.startswith("Makes tables; needs no MPI\nUsage: rueda report [OPTIONS] "
                                        "[RUN_DIR...]\n\nPositionals:\n"))
        for row in ("  -h,--help               Print this help message and exit\n",
                    "  RUN_DIR ...             Run directories of rueda train, or\n" + " " * 26
                    + "directories that hold some\n",
                    "  --layout book|sa-miri|nyu\n" + " " * 26 + "Writes tables [none]\n",
                    "  --slides                Also writes slides [off]\n",
                    "Scenario:\n  --share PERCENT         Least share [80]\n",
                    "  --count N               Some [as in the runs]\n",
                    "  --plots auto|on|off     Draws [auto]\n",
                    "\nExample:\n  rueda report study\n"):  # fmt: skip
            self.assertIn(row, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 60)


class Ends(unittest.TestCase):
    def program(self, body):
        return [sys.executable, "-c", PROGRAM.format(jobs=str(ROOT / "jobs"), body=body)]

    def ended(self, body, **more):
        done = subprocess.run(self.program(body), capture_output=True, check=False, timeout=60, **more)
        return done.returncode, done.stdout, done.stderr.decode()

    def test_what_goes_wrong_is_one_line(self):
        for body, code, wanted in (
            ("raise start.Unusable('bad\\n\\x1bword')", 2, "rueda: bad\\n\\x1bword\n"),
            ("raise start.Failed('full')", 1, "rueda: full\n"),
            ("{}['key']", 2, "rueda: no 'key'; the remedy\n"),
            ("open('/nowhere')", 2, "rueda: /nowhere: No such file or directory\n"),
            ("[].pop(0).x", 2, "rueda: no pop from empty list; the remedy\n"),
            ("None.x", 2, "rueda: what it read cannot be used (AttributeError: "),
        ):
            with self.subTest(body):
                got, _, said = self.ended(body)
                self.assertEqual((got, said.count("\n")), (code, 1))
                self.assertTrue(said.startswith(wanted), said)
        self.assertEqual(self.ended("return 1")[::2], (1, ""))

    def test_output_is_utf_8_in_any_locale_and_controls_no_terminal(self):
        for locale in ("C", "POSIX", "C.UTF-8", "de_DE.ISO-8859-1"):
            got = self.ended("print('×\\t\\x1b[31m', '\\u202e')", env={**os.environ, "LC_ALL": locale})
            self.assertEqual(got, (0, "×\t\\x1b[31m \\u202e\n".encode(), ""), locale)

    def test_a_signal_ends_it_as_it_ends_any_program(self):
        """Also while it waits for a child, which ends with its input; what it had begun to write is cleared away by its
        finally."""
        waits = ("try: print('ready', flush=True) or time.sleep(60)\n    finally: print('cleared', file=sys.stderr)",
                 "import subprocess; subprocess.Popen(['sh', '-c', 'echo ready; exec cat'], "
                 "stdin=subprocess.PIPE).wait()")  # fmt: skip
        for body in waits:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with subprocess.Popen(self.program(body), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                    self.assertEqual(process.stdout.readline(), b"ready\n")
                    process.send_signal(number)
                    said = process.communicate(timeout=30)  # ends when the child has closed its output, too
                self.assertEqual((process.returncode, *said), (-number, b"", b"cleared\n" if body is waits[0] else b""))

    def test_a_signal_that_is_ignored_stays_ignored(self):
        body = "import os, signal; os.kill(os.getpid(), signal.SIGHUP); print('lives')"
        done = subprocess.run(["nohup", *self.program(body)], capture_output=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, b"lives\n"))

    def test_closed_and_full_outputs(self):
        command = ["bash", "-c", '"$@" | true; exit $PIPESTATUS', "", *self.program("print('a' * 1000000)")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, ""))
        done = subprocess.run(["bash", "-c", '"$@" >&-', "", *self.program("print('a')")], capture_output=True,
                              check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with open("/dev/full", "wb") as full:
            done = subprocess.run(self.program("print('a')"), stdout=full, stderr=subprocess.PIPE,
                                  check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (2, b"rueda: the output: No space left on device\n"))

    def test_paths_are_those_of_the_folder_it_was_started_in(self):
        with tempfile.TemporaryDirectory(prefix="rueda-start-") as folder:
            body = "import os; print(os.getcwd(), start.path_of('a/b'), start.path_of('/c'))"
            self.assertEqual(self.ended(body, cwd=folder)[1], f"/ {os.path.realpath(folder)}/a/b /c\n".encode())
        self.assertEqual(start.path_of("a/b"), Path("a/b"))  # in a notebook, which never moved

    def test_a_missing_library_is_named_with_both_remedies(self):
        with tempfile.TemporaryDirectory(prefix="rueda-start-") as folder:
            for name in ("numpy", "pandas"):
                Path(folder, f"{name}.py").write_text("raise ImportError('none here')", encoding="utf-8")
            env = {**os.environ, "PYTHONPATH": folder, "RUEDA_PLOT_PYTHON": sys.executable}
            code, _, said = self.ended("start.need('numpy', 'json', 'pandas')", env=env)
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertRegex(said, r"needs numpy and pandas \(none here\): install python3-numpy python3-pandas, or "
                               r"`pip install --user numpy pandas`, or .* RUEDA_PLOT_PYTHON")  # fmt: skip


if __name__ == "__main__":
    main(0)
