#!/usr/bin/env python3
"""The build's search for NVIDIA's libraries, in folders laid out as sites have them; what it refuses;
which libraries a bundle takes along."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import summary_line

ROOT = Path(__file__).resolve().parents[2]
FINDER = ROOT / "cuda" / "libraries" / "find_library.py"
NAME = "ruedatry"  # no system has it
HEADER = "ruedatry.h"


class FinderTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-layouts-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()

    def put(self, *files):
        for file in files:
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def find(self, given="", toolkit="", **env):
        words = [sys.executable, FINDER, NAME, HEADER, given and self.folder / given, self.folder / toolkit]
        paths = {name: str(self.folder / folder) for name, folder in env.items()}
        return subprocess.run(
            words, env={**os.environ, "PYTHONUSERBASE": str(self.folder / "nobody"), **paths},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def found(self, done, library, header_folder):
        expected = f"{self.folder / library}\n{self.folder / header_folder}\n"
        self.assertEqual((done.returncode, done.stdout), (0, expected), done)

    def test_a_toolkit(self):
        self.put("cuda/lib64/libruedatry.so", "cuda/lib64/libruedatry.so.9", "cuda/include/ruedatry.h")
        self.found(self.find(toolkit="cuda"), "cuda/lib64/libruedatry.so", "cuda/include")

    def test_a_toolkit_as_conda_lays_it(self):
        target = "env/targets/x86_64-linux"
        self.put(f"{target}/lib/libruedatry.so.9", f"{target}/include/ruedatry.h")
        done = self.find(toolkit="env")
        self.found(done, f"{target}/lib/libruedatry.so.9", f"{target}/include")

    def test_pips_packages_have_no_development_link(self):
        pip = f"base/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/nvidia/cudnn"
        self.put(f"{pip}/lib/libruedatry.so.9", f"{pip}/include/ruedatry.h")
        for done in (self.find(PYTHONUSERBASE="base"), self.find(given=pip), self.find(RUEDATRY_HOME=pip)):
            self.found(done, f"{pip}/lib/libruedatry.so.9", f"{pip}/include")

    def test_a_bare_library_and_a_header_that_modules_name(self):
        self.put("driver/libruedatry.so.9", "driver/libruedatry.so.10", "headers/ruedatry.h")
        found = ("driver/libruedatry.so.10", "headers")
        self.found(self.find(LD_LIBRARY_PATH="driver", CPATH="headers"), *found)
        self.found(self.find(given="driver", CPATH="headers"), *found)

    def test_the_users_word_wins_then_the_variable_then_the_toolkit(self):
        for place in ("word", "variable", "toolkit"):
            self.put(f"{place}/lib/libruedatry.so", f"{place}/include/ruedatry.h")
        variable = {"RUEDATRY_ROOT": "variable"}
        done = self.find("word", "toolkit", **variable)
        self.found(done, "word/lib/libruedatry.so", "word/include")
        done = self.find("", "toolkit", **variable)
        self.found(done, "variable/lib/libruedatry.so", "variable/include")

    def test_what_is_missing_is_named(self):
        self.put("cuda/lib64/libruedatry.so", "empty/README")
        done = self.find(toolkit="cuda")
        self.assertEqual((done.returncode, done.stderr), (1, "ruedatry.h not found\n"))
        done = self.find(given="empty", toolkit="cuda")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"libruedatry.so and ruedatry.h not found in {self.folder / 'empty'}", done.stderr)


class SharedLibrariesTest(unittest.TestCase):
    """A program that needs libnear, which needs libfar."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-layouts-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name).resolve()
        cls.compile("int far_away() { return 1; }", "-shared", "-o", "libfar.so")
        cls.compile("int far_away(); int near_by() { return far_away(); }", "-shared", "-o", "libnear.so", "-lfar")
        cls.compile("int near_by(); int main() { return near_by(); }", "-o", "program", "-lnear")

    @classmethod
    def compile(cls, code, *words):
        command = [os.environ.get("CXX", "g++"), "-x", "c++", "-", "-x", "none", "-fPIC", "-L.", "-Wl,--no-as-needed"]
        run_path = f"-Wl,-rpath,{cls.folder},-rpath-link,{cls.folder}"
        subprocess.run([*command, run_path, *words], input=code, text=True, cwd=cls.folder, check=True)

    def listed(self, *patterns):
        options = [word for pattern in patterns for word in ("--without", pattern)]
        done = subprocess.run(
            [sys.executable, ROOT / "jobs" / "cluster" / "shared_libraries.py", *options, self.folder / "program"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done)
        return dict(line.split() for line in done.stdout.splitlines())

    def test_what_libraries_need_goes_along_and_what_is_left_out_takes_its_own_with_it(self):
        every = self.listed()
        self.assertEqual(every["libfar.so"], str(self.folder / "libfar.so"))
        self.assertIn("libc.so.6", every)
        without = ("libc.so*", "libm.so*", "libgcc_s*", "libstdc++*")
        self.assertEqual(set(self.listed(*without)), {"libnear.so", "libfar.so"})
        self.assertEqual(self.listed(*without, "libnear*"), {})

    def test_a_library_that_is_not_there_is_named(self):
        (self.folder / "libfar.so").rename(self.folder / "gone")
        self.addCleanup((self.folder / "gone").rename, self.folder / "libfar.so")
        done = subprocess.run(
            [sys.executable, ROOT / "jobs" / "cluster" / "shared_libraries.py", self.folder / "program"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("libfar.so, which the loader does not find", done.stderr)


@unittest.skipUnless(shutil.which("meson"), "no meson in PATH")
class RefusalTest(unittest.TestCase):
    def test_a_build_that_could_not_train_is_refused(self):
        with tempfile.TemporaryDirectory(prefix="rueda-layouts-") as folder:
            options = ["-Dcpu=disabled", "-Dcuda=disabled", "-Dtests=false"]
            done = subprocess.run(
                ["meson", "setup", folder, ROOT, *options], capture_output=True, text=True, check=False
            )
        self.assertNotEqual(done.returncode, 0, done)
        self.assertIn("nothing to train on", done.stdout)
        self.assertIn("-Dcpu=disabled asks for it", done.stdout)


if __name__ == "__main__":
    summary_line.main()
