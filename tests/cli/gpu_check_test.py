#!/usr/bin/env python3
"""jobs/gpu-check.sh without a GPU: its floor, what it makes of failures and time limits, and a whole
run over programs that only pretend."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import summary_line

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gpu"), str(ROOT / "tests" / "bench")]

import bench_part  # noqa: E402
import floor  # noqa: E402
import report  # noqa: E402
import ring_part  # noqa: E402
import runner  # noqa: E402

PYTHON = f"#!{sys.executable} -IS\n"  # fast to start: there are hundreds of them
PRETENDED_RUEDA = PYTHON + """\
import json, os, sys, time
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
if option("model") == os.environ.get("BROKEN_MODEL"): print("rueda: no such luck", file=sys.stderr); sys.exit(1)
if option("model") == os.environ.get("SLOW_MODEL"): time.sleep(1000)
bits = option("transport") if os.environ.get("UNEQUAL") else "same"
speed = 1000.0 if option("run-dir").endswith("-2") else 3000.0
os.makedirs(option("run-dir"))
json.dump({"outcome": "completed", "epochs": [{"loss": 2.5, "parameter_hash": bits}] * 2,
  "ranks": [{"device": "a GPU", "memory_bytes": 2 * 10**9}],
  "summary": {"steady_images_per_second": speed, "startup_seconds": 1.0}}, open(option("run-dir") + "/run.json", "w"))
"""
PRETENDED_TORCH = PYTHON + """\
import json, sys, time
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

    RATES = {"bf16": 790e12, "tf32": 395e12}

    def speed(self, model, side, batch, precision):
        return floor.images_per_second(model, side, batch, precision, self.RATES[precision], 4.3e12)

    def test_parameters_are_those_of_the_networks(self):
        counted = {
            "resnet18": 11_173_962, "resnet50v2": 23_539_850,
            "resnet101v2": 42_549_386, "resnet152v2": 58_208_394,
        }  # fmt: skip
        for model, parameters in counted.items():
            self.assertEqual(floor.count(model, 32, "bf16").parameters, parameters)

    def test_images_per_second_of_an_h200(self):
        expected = {
            ("resnet50v2", 128, 256, "bf16"): 43_800, ("resnet50v2", 128, 2048, "bf16"): 44_900,
            ("resnet50v2", 128, 256, "tf32"): 22_400, ("resnet101v2", 128, 256, "bf16"): 25_100,
            ("resnet152v2", 128, 256, "bf16"): 16_900, ("resnet152v2", 128, 256, "tf32"): 8_600,
            ("resnet18", 32, 128, "bf16"): 131_000, ("resnet18", 32, 2048, "bf16"): 142_000,
            ("resnet18", 32, 512, "tf32"): 70_400,
        }  # fmt: skip
        for case, speed in expected.items():
            self.assertAlmostEqual(self.speed(*case) / speed, 1, delta=0.004, msg=case)

    def test_infinite_arithmetic_leaves_the_memory_traffic(self):
        bound = floor.images_per_second("resnet50v2", 128, 2**40, "bf16", 1e30, 4.3e12)
        self.assertAlmostEqual(4.3e12 / bound / 1e6, 78.9, delta=0.1)  # MB per image

    def test_infinite_memory_leaves_the_arithmetic(self):
        bound = floor.images_per_second("resnet152v2", 128, 2**40, "bf16", 790e12, 1e30)
        self.assertAlmostEqual(bound / 37_100, 1, delta=0.015)  # the image's padded channels count, too

    def test_an_unknown_network_has_no_floor(self):
        self.assertRaises(ValueError, floor.count, "lenet", 32, "bf16")


class RunnerTest(unittest.TestCase):
    def run_items(self, *works, minutes=1.0, limit=20.0):
        items = [runner.Item("part", str(number), limit, work) for number, work in enumerate(works)]
        seen = []
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            results = runner.run_items(items, minutes, folder, {}, lambda so_far: seen.append(len(so_far)))
        self.assertEqual(seen, list(range(1, len(works) + 1)))
        return results

    def test_one_that_fails_loses_only_itself(self):
        def fault(shell):
            raise KeyError("of the script")

        def nothing(shell):
            raise runner.NotRun("nothing to run")

        results = self.run_items(
            lambda shell: shell.run_well(["sh", "-c", "echo 'rueda: bad luck' >&2; echo more >&2; exit 3"]),
            fault, nothing, lambda shell: shell.run_well(["echo", "7"]).stdout,
        )  # fmt: skip
        self.assertEqual([one["status"] for one in results], ["failed", "failed", "not run", "passed"])
        self.assertEqual(results[0]["why"], "exit code 3: rueda: bad luck")
        self.assertIn("KeyError", results[1]["why"])
        self.assertEqual((results[2]["why"], results[3]["data"]), ("nothing to run", "7\n"))
        self.assertEqual(runner.counts(results), {"passed": 1, "failed": 2, "not run": 1})

    def test_one_that_does_not_end_is_ended_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "child")
            hangs = ["sh", "-c", f"sleep 300 & echo $! > {file}; echo said; wait"]
            (result,) = self.run_items(lambda shell: shell.run(hangs), limit=1)
            child = int(file.read_text(encoding="utf-8"))
        self.assertEqual(result["status"], "failed")
        self.assertIn("no end after 1 s", result["why"])
        self.assertEqual(result["data"]["output"], "said")
        self.assertFalse(is_running(child))

    def test_one_that_ignores_the_request_to_end_is_killed(self):
        hangs = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
        (result,) = self.run_items(lambda shell: shell.run(hangs), limit=1)
        self.assertIn("no end", result["why"])

    def test_nothing_begins_without_time(self):
        results = self.run_items(lambda shell: None, lambda shell: None, minutes=0.01)
        self.assertEqual([one["why"] for one in results], ["no time left (--minutes)"] * 2)


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class FiguresTest(unittest.TestCase):
    def test_rows_of_the_ring(self):
        rows = ring_part.rows_of(RING_RECORD)
        self.assertEqual([row["algorithm"] for row in rows], ["ring", "fixed", "mpi"])
        self.assertEqual(rows[0]["bytes"], 44695848)
        self.assertEqual((rows[2]["milliseconds"], rows[2]["busbw_GBps"]), (3.0, 47.08))

    def test_an_epoch_holds_whole_batches_and_not_more_than_there_are_images(self):
        for case in bench_part.cases():
            images = bench_part.images_of(case, bench_part.floor_of(case, bench_part.ASSUMED_RATES))
            self.assertEqual(images % case.batch, 0)
            self.assertTrue(4 * case.batch <= images <= bench_part.TRAIN_IMAGES, case)

    def test_every_case_that_is_promised_is_there(self):
        names = {case.name for case in bench_part.cases()}
        wanted = {f"resnet18@32, batch {b}, {p}" for b in (32, 128, 512, 2048) for p in ("bf16", "tf32")}
        models = ("resnet50v2", "resnet101v2", "resnet152v2")
        wanted |= {f"{m}@128, batch {b}, {p}" for m in models for b in (256, 1024) for p in ("bf16", "tf32")}
        wanted |= {f"resnet50v2@128, batch 256, bf16, recompute {word}" for word in ("bn", "block")}
        self.assertEqual(names, wanted)

    def test_rates_that_nobody_measured_are_told_as_assumed(self):
        self.assertIn("ASSUMED", report.rates_line(bench_part.rates_of([])))


class WholeRunTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-pretended-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.out = self.folder / "out"
        passed = says("All tests passed (8 assertions in 5 test cases)")
        for name, text in {
            "rueda": PRETENDED_RUEDA, "cuda": passed, "backend_cuda": passed, "parity_cuda": passed,
            "mpi": passed,
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
        self.assertEqual(contestants["rueda"]["runs"], [3000, 1000])
        self.assertEqual(contestants["torch-eager"]["rueda_is_times_as_fast"], 4)
        self.assertEqual(contestants["torch-eager"]["rueda_memory_ratio"], 0.5)
        self.assertEqual(contestants["torch-compile"], {"failure": "no compiler"})
        self.assertEqual(contestants["torch-compile-graphs"], {"failure": "exit code 1: it died"})
        self.assertTrue(headline["rates_measured"])
        best = floor.images_per_second("resnet18", 32, 128, "bf16", 5e14, 2e12)
        self.assertAlmostEqual(contestants["rueda"]["share_of_floor"], 2000 / best)
        self.assertEqual(self.result("all-reduce on 4, staged")["data"]["rows"][0]["bytes"], 44695848)
        text = (self.out / "gpu-check.md").read_text(encoding="utf-8")
        self.assertTrue(text.startswith("## Pretended GPU, 20"), text)
        for word in ("rueda 9.9", "| 4.00 | 0.50 |", "| failed: no compiler |", "measured by PyTorch", "| 1.500 | 44.70 |"):
            self.assertIn(word, text)

    def test_what_is_missing_is_told_and_the_rest_runs(self):
        for name in ("mpirun", "compute-sanitizer", "cuda"):
            (self.folder / name).unlink()
        done = self.check("--only", "tests,sanitizer", torch="gone", PATH=f"{self.folder}:/usr/bin:/bin")
        self.assertEqual(self.result("cuda tests")["why"], "no program cuda")
        self.assertEqual(self.result("memcheck")["status"], "not run")
        self.assertEqual(self.result("train on 1")["status"], "passed", done)
        done = self.check("--only", "bench", torch="gone")
        self.assertEqual(self.result("rates")["why"], "no Python with PyTorch")
        headline = self.result("resnet50v2@128, batch 256, bf16")["data"]
        self.assertEqual((list(headline["contestants"]), headline["rates_measured"]), (["rueda"], False))
        self.assertIn("ASSUMED", done.stdout)

    def test_failures_are_told_with_what_was_found(self):
        self.put("cuda", says("test cases: 5 | 3 passed | 2 failed", 1))
        self.put("mpi", says("skipped: no CUDA device: none\n3 passed, 0 failed, 2 skipped"))
        self.put("compute-sanitizer", says("========= Invalid read\n========= ERROR SUMMARY: 1 error", 99))
        done = self.check("--only", "tests,ring,sanitizer", UNEQUAL="1", VERDICT="will not work", NO_BENCH="1")
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(self.result("doctor")["why"], "exit code 1: will not work")
        self.assertEqual(self.result("cuda tests")["why"], "2 of 5 cases failed")
        self.assertEqual(self.result("mpi tests on 2")["why"], "skipped: no CUDA device: none")
        self.assertIn("Invalid read", str(self.result("racecheck")["data"]["remarks"]))
        self.assertIn("different bits", self.result("train on 2")["why"])
        ring = self.result("all-reduce on 2, device")
        self.assertEqual(ring["status"], "not run")
        self.assertTrue(ring["why"].endswith("exit code 2: rueda: what?"), ring)

    def test_where_rueda_fails_the_others_figures_stay(self):
        self.check("--only", "bench", BROKEN_MODEL="resnet18")
        result = self.result("resnet18@32, batch 512, bf16")
        self.assertEqual(result["why"], "rueda: exit code 1: rueda: no such luck")
        self.assertEqual(result["data"]["contestants"]["torch-eager"]["images_per_second"], 500)
        self.assertEqual(self.result("resnet50v2@128, batch 256, bf16")["status"], "passed")

    def test_a_run_that_hangs_ends_with_the_minutes(self):
        done = self.check("--only", "tests", "--minutes", "0.12", SLOW_MODEL="resnet18")
        self.assertIn("no end after", self.result("train on 1")["why"])
        self.assertEqual(self.result("cuda tests")["why"], "no time left (--minutes)")
        self.assertRegex(done.stdout.splitlines()[-1], r"^1 passed, 1 failed, \d+ not run$")  # doctor

    def test_a_second_call_goes_on_where_the_first_ended(self):
        self.put("cuda", says("test cases: 5 | 3 passed | 2 failed", 1))
        self.check("--only", "tests")
        before = self.result("train on 4")
        self.put("cuda", says("All tests passed (8 assertions in 5 test cases)"))
        first = self.folder / "first.json"
        first.write_text(json.dumps(self.written), encoding="utf-8")
        done = self.check("--only", "tests,ring", "--resume", first)
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("train on 4", done.stderr)
        self.assertEqual(self.result("train on 4"), before)
        self.assertEqual(self.result("cuda tests")["data"]["passed"], 5)

    def test_bad_usage(self):
        for options in (["--only", "tests,colour"], ["--minutes", "0"], ["--resume", "/nowhere.json"]):
            done = self.check(*options)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("gpu-check: ", done.stderr)


if __name__ == "__main__":
    summary_line.main()
