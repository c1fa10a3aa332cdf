#!/usr/bin/env python3
"""The three calls of jobs/gpu-check.sh rehearsed on the stand-in, each in a folder that knows nothing of the others:
on different kinds of GPU, and where there is no network. Programs of tests are left out; they have suites of their own.
What NVIDIA's tools say is made up.

usage: gpu_rehearsal_test.py RUEDA_STANDIN [CASE...]
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from rueda_runs import ProgramCase, environment, long, main

SCRIPT = Path(__file__).resolve().parents[2] / "jobs" / "gpu-check.sh"
COUNTED = """dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum byte,byte,ns '"1,000",24,5' 2,1,5"""
NCU = f"""#!/bin/sh
[ "$1" = --log-file ] && printf '"ID",%s\\n' {COUNTED} >"$2"
while [ ! -x "$1" ]; do shift; done
exec "$@"
"""
RATES = '{"bf16_flops_per_second": 1e12, "tf32_flops_per_second": 5e11, "copy_bytes_per_second": 1e11}'
TORCH = f"""#!/bin/sh
case "$*" in
*version*) echo 2.11 ;;
*probe*) echo '{RATES}' ;;
*) mkdir -p "$TORCHINDUCTOR_CACHE_DIR" && echo network >>"$TORCHINDUCTOR_CACHE_DIR/compiled"
  echo '{{"variant": "compile", "images_per_second": 2, "peak_memory_bytes": 8}}' ;;
esac
"""
NVIDIA_SMI = """#!/bin/sh
echo "$RUEDA_STANDIN_NAME"
"""
PRETENDED = {"nvidia-smi": NVIDIA_SMI, "ncu": NCU, "python": TORCH}
H200, H100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3"
ALONE = ("unshare", "-rn")  # in a network that has only lo, which is down; with the right to set it up
FORBIDDEN = (*ALONE, "unshare", "-r")  # and without it
LEFT_OUT = {
    "all-reduce on 2, shared", "cuda tests", "backend_cuda tests", "parity_cuda tests", "device properties", "mpi tests on 1",
    "mpi tests on 2",
}  # fmt: skip


class Rehearsal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-rehearsal-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        os.symlink(Path(ProgramCase.paths[0]).resolve(), self.folder / "rueda")
        for name, text in PRETENDED.items():
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o755)

    def report(self, letter, *words, gpu=H200, within=(), out=""):
        """Its folder, and what it wrote: of a call on one kind of GPU, in the namespaces that the command `within` makes."""
        out = self.folder / (out or letter)
        words = [*within, SCRIPT, *letter, "--rehearsal", "--programs", self.folder, "--out", out, "--minutes", "15", *words]
        pretended = {"RUEDA_TORCH_PYTHON": f"{self.folder}/python", "PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run(
            words, env=environment({**pretended, "RUEDA_STANDIN_NAME": gpu}), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=1000, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done)
        base = out / "-".join(["gpu-check", *letter])
        self.assertIn("A rehearsal", base.with_suffix(".md").read_text(encoding="utf-8"))
        return out, json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))

    def call(self, letter, *words, **where):
        """Its folder, and what passed by name."""
        out, report = self.report(letter, *words, **where)
        self.assertEqual(report["about"]["device"], where.get("gpu", H200))
        for one in report["results"]:
            left_out = one["name"] in LEFT_OUT or one["part"] == "sanitizer"
            self.assertEqual(one["status"], "not run" if left_out else "passed", one)
        return out, {one["name"]: one for one in report["results"] if one["status"] == "passed"}

    def in_namespaces(self, *within):
        """Skips where this machine does not allow them."""
        if subprocess.run([*within, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{' '.join(within)} is not allowed here")
        return within

    def check_calls(self, within=()):
        first, passed = self.call("A", within=within)
        self.assertIn("works", passed["doctor"]["data"]["verdict"])
        self.assertEqual(list(passed["kernels of a step"]["data"].values()), [2, 1002, 25, 10])
        for layers in (one["data"] for name, one in passed.items() if name.startswith("layers of")):
            self.assertEqual(len(layers["worst"]), 12)
            self.assertGreater(layers["microseconds"], sum(layers["worst"].values()))
        self.assertEqual(len(list(first.glob("layers-*.json"))), 2)
        self.assertIn("rueda train", (first / "logs" / "smoke.txt").read_text(encoding="utf-8"))
        second, passed = self.call("B", "--with", first / "gpu-check-carry.tar.xz", within=within)
        self.assertEqual(*map(tuning_files, (first, second)))  # nothing was timed again
        compiled = (second / "carried" / "inductor" / "compiled").read_text(encoding="utf-8")
        self.assertEqual(compiled.count("network"), 1 + 2)  # once in A, twice in B
        cases = [one["data"]["contestants"] for one in passed.values() if one["name"].startswith("resnet")]
        self.assertGreater(cases[0]["torch-compile"]["rueda_is_times_as_fast"], 0)
        self.assertEqual(len(cases), 3)
        for rueda in (contestants["rueda"] for contestants in cases):
            for what in ("images_per_second", "peak_memory_bytes", "share_of_floor"):
                self.assertGreater(rueda[what], 0)
        _, passed = self.call("C", within=within)
        self.assertLess({"train on 2", "4 ranks equal 4 micro-batches", "overlap on 2", "balance on 2"}, passed.keys())
        for transport in ("device", "staged"):
            rows = [row["algorithm"] for row in passed[f"all-reduce on 2, {transport}"]["data"]["rows"]]
            self.assertEqual(rows, ["ring", "fixed", "mpi"] * 2)

    @long
    def test_three_calls(self):
        self.check_calls()

    @long
    def test_all_calls_without_a_network(self):
        self.check_calls(self.in_namespaces(*ALONE))

    @long
    def test_a_network_that_is_down_is_set_up(self):
        _, passed = self.call("", "--only", "smoke,tests", within=self.in_namespaces(*ALONE))
        self.assertEqual(passed.keys(), {"smoke", "doctor", "train on 1", "train on 2", "4 ranks equal 4 micro-batches"})

    def test_one_rank_needs_no_network(self):
        _, report = self.report("A", "--only", "smoke,tune,tests", within=self.in_namespaces(*FORBIDDEN))
        results = {one["name"]: one for one in report["results"]}
        for name in ("smoke", "doctor", "kernels of a step"):
            self.assertEqual(results[name]["status"], "passed", results[name])
        _, report = self.report("C", "--only", "tests", within=FORBIDDEN)
        results = {one["name"]: one for one in report["results"]}
        self.assertEqual(results["train on 1"]["status"], "passed", results["train on 1"])
        self.assertIn("mpirun needs the network interface lo", results["train on 2"]["why"])

    @long
    def test_calls_that_meet_different_gpus(self):
        """What was timed on one kind is kept and not used on the other, on which all is timed again."""
        words = ("--only", "smoke,tune")
        first, _ = self.report("A", *words)
        (self.folder / "nvidia-smi").unlink()  # rueda knows the name as well
        kept = ("--with", first / "gpu-check-carry.tar.xz", "--resume", first / "gpu-check-A.json")
        second, report = self.report("A", *words, *kept, gpu=H100, out="other")
        self.assertEqual(report["about"]["device"], H100)
        self.assertIn(f"timed on {H200} with cuDNN", report["about"]["carried"])
        self.assertIn(f"not used on this {H100}", report["about"]["carried"])
        self.assertIn(f"is of {H200}, and this is {H100}: all steps run again", report["about"]["resumed"])
        before, after = map(tuning_files, (first, second))
        self.assertEqual({one["device"] for one in after.values()}, {H200, H100})
        self.assertEqual({name: after[name] for name in before}, before)
        timed = [set(one["seconds"]) for one in after.values()]
        self.assertEqual(*timed)


def tuning_files(out):
    """Each by its name."""
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in (out / "carried" / "tuning").iterdir()}


if __name__ == "__main__":
    main(1)
