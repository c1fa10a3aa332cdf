#!/usr/bin/env python3
"""How `rueda report` and `rueda predict` become the reader, a program in Python that rueda carries.

usage: reader_test.py RUEDA MPIEXEC
"""

import subprocess
import sys

from rueda_runs import ProgramCase, environment, main

# Says by which words it was started, but to who asks whether it is a Python with the libraries.
WRAPPER = """#!/bin/sh
[ "$2" != -c ] || exit {probed}
printf '%s\\n' $$ "$@"
readlink "$RUEDA_PROGRAM"; echo "$RUEDA_VERSION"
"""


class Reader(ProgramCase):
    def reader(self, *words, **env):
        return self.program.run(*words, **env)

    def wrapper(self, probed):
        path = self.folder / "python"
        path.write_text(WRAPPER.format(probed=probed), encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def test_the_program_gives_its_place_and_the_words_to_python(self):
        asked = ["report", "a b", "--title", "", "--", "-x", "$HOME\n"]
        env = environment({"RUEDA_PLOT_PYTHON": self.wrapper(0)})
        process = subprocess.Popen([self.program.binary, *asked], env=env, cwd=self.folder,
                                   stdout=subprocess.PIPE, text=True)
        out = process.communicate(timeout=60)[0]
        said = subprocess.run([self.program.binary, "--version"], env=environment({}), capture_output=True,
                              text=True, check=True)
        pid, flag, archive, *rest = out.split("\n")
        self.assertEqual((int(pid), flag), (process.pid, "-E"))  # so that signals, terminal and exit code are its own
        self.assertRegex(archive, r"^/proc/self/fd/\d+$")
        words = "\n".join(asked) + "\n"
        self.assertTrue("\n".join(rest).startswith(words), out)
        self.assertIn(out.splitlines()[-1], said.stdout)

    def test_help_and_refusals_are_the_programs_own(self):
        text = self.completed(self.reader("report", "--help")).out
        self.assertIn("Usage: rueda report [OPTIONS] [RUN_DIR...]\n\nPositionals:\n  RUN_DIR ...", text)
        self.assertIn("\nExample:\n  rueda report study", text)
        self.assertIn("\n  report  ", self.completed(self.reader("--help")).out)
        self.refused(self.reader("report", "x", "--titel", "y"),
                     "unknown option --titel: did you mean --title?; see rueda report --help")
        result = self.program.run_ranks(2, "report", "nowhere")
        self.assertEqual(result.err.count("nowhere: there is no such file or directory"), 1)

    def test_nothing_of_the_current_folder_runs(self):
        for module in ("numpy", "pandas", "jinja2", "matplotlib", "reader", "importlib", "argparse", "json",
                       "sitecustomize"):
            self.write(f"{module}.py", f"open({str(self.folder / 'executed')!r}, 'w')")
        for env in ({}, {"PYTHONPATH": str(self.folder)}, {"PYTHONPATH": ""}):
            self.refused(self.reader("report", "nowhere", **env), "nowhere: there is no such file or directory")
        self.assertFalse((self.folder / "executed").exists())

    def test_libraries_of_the_user_are_found(self):
        """As `pip install --user` puts them; here one that tells on itself."""
        folder = self.folder / ".local/lib/python{}.{}/site-packages".format(*sys.version_info)
        folder.mkdir(parents=True)
        (folder / "jinja2.py").write_text("raise ImportError('this is of the user')", encoding="utf-8")
        env = {"HOME": str(self.folder), "RUEDA_PLOT_PYTHON": sys.executable}
        self.refused(self.reader("report", "x", "--out", "y", "--plots", "on", **env),
                     "needs jinja2 (this is of the user)", "pip install")

    def test_without_a_python_the_remedy_is_named(self):
        for python in ("/bin/false", "/nowhere", self.wrapper(1)):
            refused = self.reader("report", "x", RUEDA_PLOT_PYTHON=python)
            self.refused(refused, "Python 3.9", python, "python3-numpy", "RUEDA_PLOT_PYTHON")
        self.completed(self.reader("report", "--help", RUEDA_PLOT_PYTHON=self.wrapper(3)))  # help needs no library

    def test_an_output_that_is_closed_ends_it_as_it_ends_any_program(self):
        command = ["bash", "-c", '"$0" report --help | true; exit $PIPESTATUS', self.program.binary]
        done = subprocess.run(command, env=environment({}), capture_output=True, text=True, check=False, timeout=60)
        self.assertIn(done.returncode, (0, 141))  # 0: it was all written before
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    main()
