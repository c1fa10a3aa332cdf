#!/usr/bin/env python3
"""A smoke test for each script that builds, checks and counts."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rueda_runs import main

ROOT = Path(__file__).resolve().parents[2]


class ScriptCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-scripts-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()

    def put(self, files):
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run_script(self, script, *words, **env):
        return subprocess.run(
            [sys.executable, ROOT / script, *words], env={**os.environ, **env}, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip


class CountTests(ScriptCase):
    def test_summaries_crashes_and_skips(self):
        records = [
            ("OK", "=====\nAll tests passed (345 assertions in 12 test cases)\n\n"),
            ("FAIL", "test cases: 12 | 10 passed |  2 failed\nassertions: 9 | 7 passed | 2 failed\n"),
            ("OK", "x\n3 passed, 0 failed, 2 skipped"),
            ("FAIL", "All tests passed (1 assertion in 1 test case)\n"),  # a crash after it
            ("TIMEOUT", "half of it\n"),
            ("OK", "No tests ran\n"),
            ("SKIP", ""),
            ("OK", None),
        ]
        lines = [json.dumps({"name": f"p{i}", "result": r, "stdout": out}) for i, (r, out) in enumerate(records)]
        self.put({"testlog.json": "\n".join(lines)})
        done = self.run_script("jobs/check/count_tests.py", "--also", "lint=fail", self.folder / "testlog.json")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "27 passed, 6 failed, 3 skipped"), done)
        self.assertIn("failed: p1 (2 of 12)", done.stdout)
        done = self.run_script("jobs/check/count_tests.py", "/nonexistent/testlog.json")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))


class CheckIncludes(ScriptCase):
    FAULTS = {
        "src/core/a.cpp": ('#include "rueda/model/graph.hpp"\n', "belongs to model"),
        "src/train/a.cpp": ('  #  include "mpi.h"\n', "MPI"),
        "src/train/b.cpp": ('#include "rueda/train/gone.hpp"\n', "is not found"),
        "src/core/a.hpp": ("#include <vector>\n#pragma once\n", "#pragma once"),
        "src/core/b.hpp": ("#pragma once\nstd::vector<int> a();\n", "does not compile alone"),
        "src/attic/a.cpp": ("int a;\n", "no known room"),
    }

    def test_finds_each_kind_of_fault(self):
        self.put({
            "include/rueda/model/graph.hpp": "// Graph.\n#pragma once\n\n#include <vector>\nstd::vector<int> a();\n",
            "src/train/good.cpp": '#include "rueda/model/graph.hpp"\n',
        })  # fmt: skip
        words = ("tests/check_includes.py", "--compile", "--root", self.folder)
        done = self.run_script(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.put({name: text for name, (text, _) in self.FAULTS.items()})
        done = self.run_script(*words)
        self.assertEqual(done.returncode, 1, done)
        for name, (_, fault) in self.FAULTS.items():
            self.assertRegex(done.stderr, rf"(?m)^{name}.*{fault}")


class FindLibrary(ScriptCase):
    """In folders as sites have them; no system has this library."""

    def find(self, given="", toolkit="", **env):
        words = ["ruedatry", "ruedatry.h", given and self.folder / given, self.folder / toolkit]
        env = {name: str(self.folder / folder) for name, folder in {"PYTHONUSERBASE": "nothing", **env}.items()}
        return self.run_script("cuda/libraries/find_library.py", *words, **env)

    def test_layouts_and_their_order(self):
        base = f"base/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/nvidia/cudnn"
        for folder, library, how in (
            ("env/targets/x86_64-linux", "lib/libruedatry.so.9", {"toolkit": "env"}),
            (base, "lib/libruedatry.so.9", {"PYTHONUSERBASE": "base"}),
            ("toolkit", "lib64/libruedatry.so", {"toolkit": "toolkit"}),
            ("variable", "lib/libruedatry.so.10", {"toolkit": "toolkit", "RUEDATRY_ROOT": "variable"}),
            ("word", "lib/libruedatry.so", {"given": "word", "toolkit": "toolkit", "RUEDATRY_ROOT": "variable"}),
        ):
            self.put({f"{folder}/{library}": "", f"{folder}/include/ruedatry.h": ""})
            done = self.find(**how)
            wanted = f"{self.folder / folder / library}\n{self.folder / folder / 'include'}\n"
            self.assertEqual((done.returncode, done.stdout), (0, wanted), done)

    def test_what_is_missing_is_named(self):
        self.put({"cuda/lib64/libruedatry.so": ""})
        done = self.find(toolkit="cuda")
        self.assertEqual((done.returncode, done.stderr), (1, "ruedatry.h not found\n"))


class SharedLibraries(ScriptCase):
    def compile(self, code, *words):
        command = ["g++", "-x", "c++", "-", "-x", "none", "-fPIC", "-L.", "-Wl,--no-as-needed"]
        path = f"-Wl,-rpath,{self.folder},-rpath-link,{self.folder}"
        subprocess.run([*command, path, *words], input=code, text=True, cwd=self.folder, check=True)

    def listed(self, *patterns):
        options = [word for pattern in patterns for word in ("--without", pattern)]
        return self.run_script("jobs/cluster/shared_libraries.py", *options, self.folder / "program")

    def test_a_program_that_needs_libnear_which_needs_libfar(self):
        self.compile("int far_away() { return 1; }", "-shared", "-o", "libfar.so")
        self.compile("int far_away(); int near_by() { return far_away(); }", "-shared", "-o", "libnear.so", "-lfar")
        self.compile("int near_by(); int main() { return near_by(); }", "-o", "program", "-lnear")
        self.assertIn(f"libfar.so {self.folder / 'libfar.so'}\n", self.listed().stdout)
        without = ("libc.so*", "libm.so*", "libgcc_s*", "libstdc++*")
        self.assertEqual(self.listed(*without).stdout.split()[::2], ["libfar.so", "libnear.so"])
        self.assertEqual(self.listed(*without, "libnear*").stdout, "")
        (self.folder / "libfar.so").unlink()
        done = self.listed()
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("libfar.so, which the loader does not find", done.stderr)


@unittest.skipUnless(shutil.which("meson"), "no meson in PATH")
class Configure(ScriptCase):
    def test_a_build_that_could_not_train_is_refused(self):
        options = ["-Dcpu=disabled", "-Dcuda=disabled", "-Dtests=false"]
        words = ["meson", "setup", self.folder / "build", ROOT, *options]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0, done)
        self.assertIn("nothing to train on", done.stdout)
        self.assertIn("-Dcpu=disabled asks for it", done.stdout)


if __name__ == "__main__":
    main(0)
