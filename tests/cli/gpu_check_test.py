#!/usr/bin/env python3
"""A smoke test of jobs/gpu-check.sh without a GPU: its floor, and runs over programs that only pretend."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rueda_runs import main

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gpu"), str(ROOT / "tests" / "bench")]

import floor  # noqa: E402

PYTHON = f"#!{sys.executable} -IS\n"  # fast to start: there are hundreds of them
PRETENDED_RUEDA = PYTHON + """\
import json, os, sys
words = sys.argv[1:]
if words == ["--version"]: print("rueda 9.9"); sys.exit()
option = lambda name: words[words.index("--" + name) + 1] if "--" + name in words else ""
if words[0] == "bench":
  if "NO_BENCH" in os.environ: print("rueda: what?", file=sys.stderr); print("more", file=sys.stderr); sys.exit(2)
  open(option("json"), "w").write(os.environ["RING_RECORD"]); sys.exit()
if words[0] == "doctor":
  json.dump({"verdict": os.environ.get("VERDICT", "works"), "findings": [], "transfers": [], "largest_batch": {}},
            open(option("json"), "w")); sys.exit("VERDICT" in os.environ)
if words[0] == "synth": os.mkdir(option("out")); sys.exit()
bits = option("transport") if os.environ.get("UNEQUAL") else "same"
speed = 1000.0 if option("run-dir").endswith("-2") else 3000.0
os.makedirs(option("run-dir"))
json.dump({"outcome": "completed", "epochs": [{"loss": 2.5, "parameter_hash": bits}] * 2,
  "ranks": [{"device": "a GPU", "memory_bytes": 2 * 10**9}],
  "summary": {"steady_images_per_second": speed, "startup_seconds": 1.0}}, open(option("run-dir") + "/run.json", "w"))
"""
PRETENDED_TORCH = PYTHON + """\
import json, sys
task = json.loads(sys.argv[2])
if "probe" in task:
  print(json.dumps({"device": "a GPU", "bf16_flops_per_second": 5e14, "tf32_flops_per_second": 2e14,
                    "copy_bytes_per_second": 2e12}))
  sys.exit()
for variant in task["variants"]:
  if variant == "compile": print(json.dumps({"variant": variant, "failure": "no compiler"})); continue
  if variant == "compile-graphs": print("it died", file=sys.stderr); sys.exit(1)
  print(json.dumps({"variant": variant, "images_per_second": 500.0, "peak_memory_bytes": 4 * 10**9}), flush=True)
"""
RING_RECORD = {"results": [
    {"bytes": 44695848, "algorithm": "ring", "median_seconds": 0.0015, "busbw_GBps": 44.696},
    {"bytes": 44695848, "algorithm": "fixed", "median_seconds": 0.002, "busbw_GBps": 33.522},
    {"bytes": 94159400, "algorithm": "mpi", "median_seconds": 0.003, "busbw_GBps": 47.08},
]}  # fmt: skip
PRETENDED_MPIRUN = """#!/bin/sh
while [ "$1" != -n ]; do shift; done
shift 2
exec "$@"
"""


def says(text, code=0):
    return f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n"


class FloorTest(unittest.TestCase):
    """The numbers follow from the networks and the rates alone, so independent counts must agree."""

    def test_parameters_and_images_per_second_of_an_h200(self):
        counted = (11_173_962, 23_539_850, 42_549_386, 58_208_394)
        for model, parameters in zip(("resnet18", "resnet50v2", "resnet101v2", "resnet152v2"), counted):
            self.assertEqual(floor.count(model, 32, "bf16").parameters, parameters)
        rates = {"bf16": 790e12, "tf32": 395e12}
        for model, side, batch, precision, speed in (
            ("resnet50v2", 128, 256, "bf16", 43_800), ("resnet50v2", 128, 256, "tf32", 22_400),
            ("resnet152v2", 128, 256, "bf16", 16_900), ("resnet18", 32, 2048, "bf16", 142_000),
        ):  # fmt: skip
            found = floor.images_per_second(model, side, batch, precision, rates[precision], 4.3e12)
            self.assertAlmostEqual(found / speed, 1, delta=0.004, msg=(model, batch, precision))
        bound = floor.images_per_second("resnet50v2", 128, 2**40, "bf16", 1e30, 4.3e12)
        self.assertAlmostEqual(4.3e12 / bound / 1e6, 78.9, delta=0.1)  # MB per image: memory traffic alone


class WholeRunTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-pretended-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.out = self.folder / "out"
        passed = says("All tests passed (8 assertions in 5 test cases)")
        for name, text in {
            "rueda": PRETENDED_RUEDA, "cuda": passed, "backend_cuda": passed, "parity_cuda": passed, "mpi": passed,
            "mpirun": PRETENDED_MPIRUN, "torch": PRETENDED_TORCH,
            "compute-sanitizer": says("========= ERROR SUMMARY: 0 errors"), "nvidia-smi": says("Pretended GPU"),
        }.items():  # fmt: skip
            self.put(name, text)

    def put(self, name, text):
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    def check(self, *options, torch="torch", **env):
        words = [ROOT / "jobs" / "gpu-check.sh", "--out", self.out, "--programs", self.folder, *options]
        env = {"RUEDA_TORCH_PYTHON": str(self.folder / torch), "RING_RECORD": json.dumps(RING_RECORD), **env}
        done = subprocess.run(
            words, env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **env},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        written = self.out / "gpu-check.json"
        self.written = json.loads(written.read_text(encoding="utf-8")) if written.exists() else None
        return done

    def result(self, name):
        return next(one for one in self.written["results"] if one["name"] == name)

    def test_all_in_order(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done)
        number = len(self.written["results"])
        self.assertEqual(done.stdout.splitlines()[-1], f"{number} passed, 0 failed, 0 not run")
        headline = self.result("resnet18@32, batch 128, bf16")["data"]
        contestants = headline["contestants"]
        self.assertEqual(contestants["rueda"]["images_per_second"], 2000)
        self.assertEqual(contestants["torch-eager"]["rueda_is_times_as_fast"], 4)
        self.assertEqual(contestants["torch-compile"], {"failure": "no compiler"})
        self.assertEqual(contestants["torch-compile-graphs"], {"failure": "exit code 1: it died"})
        best = floor.images_per_second("resnet18", 32, 128, "bf16", 5e14, 2e12)
        self.assertAlmostEqual(contestants["rueda"]["share_of_floor"], 2000 / best)
        self.assertEqual(self.result("all-reduce on 4, staged")["data"]["rows"][0]["bytes"], 44695848)
        text = (self.out / "gpu-check.md").read_text(encoding="utf-8")
        for words in ("rueda 9.9", "| 4.00 | 0.50 |", "| failed: no compiler |", "by PyTorch", "| 1.500 | 44.70 |"):
            self.assertIn(words, text)

    def test_failures_are_reported_with_what_was_found(self):
        self.put("cuda", says("test cases: 5 | 3 passed | 2 failed", 1))
        self.put("mpi", says("skipped: no CUDA device: none\n3 passed, 0 failed, 2 skipped"))
        self.put("compute-sanitizer", says("========= Invalid read\n========= ERROR SUMMARY: 1 error", 99))
        done = self.check("--only", "tests,ring,sanitizer", UNEQUAL="1", VERDICT="will not work", NO_BENCH="1")
        self.assertEqual(done.returncode, 1, done)
        for name, why in (
            ("doctor", "exit code 1: will not work"), ("cuda tests", "2 of 5 cases failed"),
            ("mpi tests on 2", "skipped: no CUDA device: none"), ("train on 2", "different bits"),
            ("all-reduce on 2, device", "exit code 2: rueda: what?"),
        ):  # fmt: skip
            self.assertIn(why, self.result(name)["why"])
        self.assertIn("Invalid read", str(self.result("racecheck")["data"]["remarks"]))

    def test_bad_usage(self):
        done = self.check("--only", "tests,colour")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("gpu-check: ", done.stderr)


if __name__ == "__main__":
    main(0)
