#!/usr/bin/env python3
"""jobs/gpu-check.sh over programs that only pretend and fail: it says so. gpu_rehearsal_test.py has the rest."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from rueda_runs import main

ROOT = Path(__file__).resolve().parents[2]

PYTHON = f"#!{sys.executable} -IS\n"  # fast to start: there are hundreds of them
PRETENDED_RUEDA = PYTHON + """\
import json, os, sys
words = sys.argv[1:]
option = lambda name: words[words.index("--" + name) + 1]
if words == ["--version"]: print("rueda 9.9"); sys.exit()
if words[0] == "bench": print("rueda: what?", file=sys.stderr); print("more", file=sys.stderr); sys.exit(2)
if words[0] == "doctor":
  report = {"verdict": "will not work", "findings": [], "transfers": [], "largest_batch": {}}
  json.dump(report, open(option("json"), "w")); sys.exit(1)
if words[0] == "synth": sys.exit()
if words[0] == "summary": print("9000 images/s at the floor, 5000 by the plan"); sys.exit()
os.makedirs(option("run-dir"), exist_ok=True)
transport = option("transport") if "--transport" in words else ""
json.dump({"outcome": "completed", "epochs": [{"parameter_hash": transport, "loss": 2}],
  "ranks": [{"device": "a GPU", "memory_bytes": 1}],
  "summary": {"startup_seconds": 1, "steady_images_per_second": 7}}, open(option("run-dir") + "/run.json", "w"))
"""
BROKEN = """#!/bin/sh
echo rueda: no engine >&2
exit 1
"""
WITHOUT = """if os.environ.get("%s") != "off":
  print("rueda: no capture", file=sys.stderr); sys.exit(1)
"""
CUT_SHORT = """if "--tune-engines" in words:
  json.dump({"seconds": {"a convolution": {"eng0": 1}}}, open(option("tuning-file"), "w"))
  print("rueda: no time", file=sys.stderr); sys.exit(1)
"""


def rueda_with(fault):
    """The pretended program with a fault in its training."""
    return PRETENDED_RUEDA.replace("os.makedirs", fault + "os.makedirs", 1)


PRETENDED_MPIRUN = """#!/bin/sh
while [ "$1" != -n ]; do shift; done
shift 2
exec "$@"
"""


def says(text, code=0):
    return f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n"


LINE = "-" * 79
FAILED = f"{LINE}\nsums of columns\n  bf16\n{LINE}\ncolumns.cpp:9\n{'.' * 79}\ntest cases: 5 | 3 passed | 2 failed"
PASSED = says("All tests passed (8 assertions in 5 test cases)")
HANGS = '#!/bin/sh\ntrap "" TERM\nsleep 99 &\necho on its way $!\nwhile true; do sleep 9; done\n'
PRETENDED = {
    "rueda": PRETENDED_RUEDA, "cuda": says(FAILED, 1), "backend_cuda": PASSED,
    "parity_cuda": PASSED, "mpi": says("skipped: no CUDA device: none\n3 passed, 0 failed, 2 skipped"),
    "mpirun": PRETENDED_MPIRUN, "nvidia-smi": says("Pretended GPU"),
    "compute-sanitizer": says("========= Invalid read\n========= ERROR SUMMARY: 1 error", 99),
}  # fmt: skip


class GpuCheckTest(unittest.TestCase):
    def program(self, text):
        """A file that runs, in a folder of its own."""
        folder = tempfile.TemporaryDirectory(prefix="rueda-pretended-")
        self.addCleanup(folder.cleanup)
        file = Path(folder.name, "program")
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)
        return str(file)

    def check(self, *options, **replaced):
        """How it ended, and the results by name."""
        temporary = tempfile.TemporaryDirectory(prefix="rueda-pretended-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for name, text in {**PRETENDED, **replaced}.items():
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o755)
        words = [ROOT / "jobs" / "gpu-check.sh", "--out", self.folder, "--programs", self.folder, *options]
        done = subprocess.run(
            words, env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        written = [json.loads(file.read_text(encoding="utf-8")) for file in self.folder.glob("gpu-check*.json")]
        return done, {one["name"]: one for report in written for one in report["results"]}

    def test_failures_are_reported_with_what_was_found(self):
        """All calls as one. What a GPU refuses (exit code 2) has failed, too."""
        done, results = self.check("--only", "tests,ring,sanitizer")
        self.assertEqual(done.returncode, 1, done)
        for name, why in (
            ("doctor", "exit code 1: will not work"), ("cuda tests", "2 of 5 cases failed: sums of columns"),
            ("mpi tests on 2", "skipped: no CUDA device: none"), ("train on 2", "different bits"),
            ("all-reduce on 2, shared", "exit code 2: rueda: what?"),
        ):  # fmt: skip
            self.assertEqual(results[name]["status"], "failed")
            self.assertIn(why, results[name]["why"])
        self.assertIn("Invalid read", str(results["racecheck of cuda"]["data"]["remarks"]))

    def test_a_smoke_run_that_fails_is_tried_in_ways_that_tell_more(self):
        _, results = self.check("1", rueda=BROKEN)
        for attempt in ("as it is: exit code 1: rueda: no engine", "BLOCKING: exit code 1", "sanitizer: exit code 99"):
            self.assertIn(attempt, results["smoke"]["why"])
        self.assertEqual(results["backend_cuda tests"]["status"], "passed")
        _, results = self.check("3", rueda=BROKEN)
        del results["smoke"]
        self.assertEqual({one["why"] for one in results.values()}, {"smoke failed"})

    def test_without_what_fails(self):
        """Kernels that begin early, or CUDA graphs."""
        failed = "exit code 1: rueda: no capture"
        twice = f"as it is: {failed}; once more: {failed}; "
        for variable, then in (("RUEDA_CUDA_PDL", "kernels in turn: "),
                               ("RUEDA_CUDA_GRAPHS", f"kernels in turn: {failed}; without CUDA graphs: ")):
            _, results = self.check("5", "--only", "smoke,tests", rueda=rueda_with(WITHOUT % variable))
            self.assertEqual(results["smoke"]["status"], "failed")
            self.assertEqual(results["smoke"]["why"], f"{twice}{then}it works; all else runs so")
            self.assertIn("different bits", results["train on 2"]["why"])  # it has run
        _, results = self.check("2", rueda=rueda_with(WITHOUT % "RUEDA_CUDA_GRAPHS"))
        for name, one in results.items():
            self.assertNotEqual(one.get("why"), "smoke failed", name)

    def test_a_first_start_that_fails_costs_nothing_else(self):
        fails_once = """if not os.path.exists("started"): open("started", "w"); sys.exit("rueda: a slow disk")
if "RUEDA_CUDA_GRAPHS" in os.environ or "RUEDA_CUDA_PDL" in os.environ: sys.exit("rueda: something is off")
"""
        _, results = self.check("5", "--only", "smoke,tests", rueda=rueda_with(fails_once))
        self.assertEqual(results["smoke"]["status"], "failed")
        self.assertTrue(results["smoke"]["why"].endswith("a slow disk; once more: it works; all else runs so"))
        self.assertIn("different bits", results["train on 2"]["why"])

    def test_tuning_that_is_cut_short_goes_on(self):
        """What was timed stays in the file, goes into the archive, and is there when the step is tried again."""
        _, results = self.check("2", "--only", "bench", rueda=rueda_with(CUT_SHORT))
        case = results["resnet18@32, batch 128, bf16"]
        self.assertIn("no time; 1 kinds of work are timed and stay so", case["why"])
        self.assertEqual(case["data"]["contestants"]["rueda"]["runs"], [7])  # the turn after, with what there is
        with tempfile.TemporaryDirectory() as earlier:
            for name in ("gpu-check-2.json", "gpu-check-carry.tar.xz"):
                (self.folder / name).rename(Path(earlier, name))
            kept = ("--with", f"{earlier}/gpu-check-carry.tar.xz", "--resume", f"{earlier}/gpu-check-2.json")
            rueda = rueda_with('assert os.path.exists(option("tuning-file"))\n')
            _, results = self.check("2", "--only", "bench", *kept, rueda=rueda)
        self.assertEqual(results["resnet18@32, batch 128, bf16"]["status"], "passed", results)

    def test_an_opponent_that_does_not_run_has_failed(self):
        """If no variant runs, there is nothing to compare with; if one does, the others say why not."""
        torch = """#!/bin/sh
case "$*" in *-c*) exit ;; esac
echo '{"variant": "eager-graph", %s}'
echo CUDA is out of luck >&2
exit 1
"""
        speed = '"images_per_second": 3, "peak_memory_bytes": 2, "host_milliseconds": 1, "host_bound": false'
        for said, status in (('"failure": "no memory"', "failed"), (speed, "passed")):
            with unittest.mock.patch.dict(os.environ, RUEDA_TORCH_PYTHON=self.program(torch % said)):
                _, results = self.check("4")
            case = results["resnet18@32, batch 512, bf16, beside PyTorch"]
            self.assertEqual(case["status"], status, case)
            self.assertEqual(case["data"]["contestants"]["rueda"]["runs"], [7, 7])
            self.assertIn("CUDA is out of luck", case["data"]["contestants"]["torch-compile-graph"]["failure"])
            if status == "failed":
                self.assertIn("torch-eager-graph: no memory", case["why"])

    def test_without_pytorch_there_is_no_opponent(self):
        with unittest.mock.patch.dict(os.environ, RUEDA_TORCH_PYTHON="/nowhere"):
            done, results = self.check("4")
        self.assertEqual(done.returncode, 0, done)
        case = results["resnet18@32, batch 512, bf16, beside PyTorch"]
        self.assertEqual(case["why"], "no Python with PyTorch")
        # Nothing ran.
        self.assertFalse((self.folder / "logs" / "resnet18-32-batch-512-bf16-beside-PyTorch.txt").exists())

    def test_a_step_that_hangs_is_killed_with_all_that_it_started(self):
        _, results = self.check("5", "--only", "tests", "--minutes", "0.2", mpirun=HANGS)
        self.assertRegex(results["train on 2"]["why"], r"no end after \d+ s: mpirun")
        self.assertIn("no time left", results["train on 4"]["why"])
        log = (self.folder / "logs" / "train-on-2.txt").read_text(encoding="utf-8")
        self.assertIn("SIGKILL, ended at its limit", log)
        child = Path("/proc", re.search(r"on its way (\d+)", log)[1], "cmdline")
        self.assertFalse(child.exists() and child.read_bytes())  # a zombie has none

    def test_an_archive_reaches_no_file_outside_its_folder(self):
        for name, kind in (("../escaped", tarfile.REGTYPE), ("/escaped", tarfile.REGTYPE),
                           ("escaped", tarfile.SYMTYPE)):
            with tempfile.TemporaryDirectory() as folder:
                archive = Path(folder, "carry.tar")
                with tarfile.open(archive, "w") as tar:
                    member = tarfile.TarInfo(name)
                    member.type, member.linkname = kind, "/etc"
                    tar.addfile(member)
                done, _ = self.check("2", "--with", str(archive))
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(f"gpu-check: --with {archive} can not be used: it holds {name}", done.stderr)

    def test_bad_usage(self):
        for words in (("--only", "tests,colour"), ("6",), ("1", "--minutes", "0")):
            done, _ = self.check(*words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("gpu-check: ", done.stderr)


if __name__ == "__main__":
    main(0)
