#!/usr/bin/env python3
"""The three calls of jobs/gpu-check.sh rehearsed on the stand-in, each in a folder that knows nothing of the others.
Programs of tests are left out; they have suites of their own. What NVIDIA's tools say is made up.

usage: gpu_rehearsal_test.py RUEDA_STANDIN
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
PRETENDED = {"nvidia-smi": "#!/bin/sh\necho Made-up GPU\n", "ncu": NCU, "python": TORCH}
LEFT_OUT = {"cuda tests", "backend_cuda tests", "parity_cuda tests", "device properties", "mpi tests on 1", "mpi tests on 2"}


class Rehearsal(unittest.TestCase):
    def call(self, letter, *words):
        """Its folder, and what passed by name."""
        out = self.folder / letter
        words = [SCRIPT, letter, "--rehearsal", "--programs", self.folder, "--out", out, "--minutes", "15", *words]
        pretended = {"RUEDA_TORCH_PYTHON": f"{self.folder}/python", "PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run(
            words, env=environment(pretended), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1000,
            check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done)
        results = json.loads((out / f"gpu-check-{letter}.json").read_text(encoding="utf-8"))["results"]
        for one in results:
            left_out = one["name"] in LEFT_OUT or one["part"] == "sanitizer"
            self.assertEqual(one["status"], "not run" if left_out else "passed", one)
        self.assertIn("A rehearsal", (out / f"gpu-check-{letter}.md").read_text(encoding="utf-8"))
        return out, {one["name"]: one for one in results if one["status"] == "passed"}

    @long
    def test_three_calls(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-rehearsal-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        os.symlink(Path(ProgramCase.paths[0]).resolve(), self.folder / "rueda")
        for name, text in PRETENDED.items():
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o755)
        first, passed = self.call("A")
        self.assertIn("works", passed["doctor"]["data"]["verdict"])
        self.assertEqual(list(passed["kernels of a step"]["data"].values()), [2, 1002, 25, 10])
        self.assertIn("rueda train", (first / "logs" / "smoke.txt").read_text(encoding="utf-8"))
        second, passed = self.call("B", "--with", first / "gpu-check-carry.tar.xz")
        tuned = [(out / "carried" / "tuning" / "Made-up-GPU.json").read_text(encoding="utf-8") for out in (first, second)]
        self.assertEqual(*tuned)  # nothing was timed again
        compiled = (second / "carried" / "inductor" / "compiled").read_text(encoding="utf-8")
        self.assertEqual(compiled.count("network"), 1 + 2)  # once in A, twice in B
        cases = [one["data"]["contestants"] for one in passed.values() if one["name"].startswith("resnet")]
        self.assertGreater(cases[0]["torch-compile"]["rueda_is_times_as_fast"], 0)
        self.assertEqual(len(cases), 3)
        for rueda in (contestants["rueda"] for contestants in cases):
            for what in ("images_per_second", "peak_memory_bytes", "share_of_floor"):
                self.assertGreater(rueda[what], 0)
        _, passed = self.call("C")
        self.assertLess({"train on 2", "4 ranks equal 4 micro-batches"}, passed.keys())
        for transport in ("device", "staged"):
            rows = [row["algorithm"] for row in passed[f"all-reduce on 2, {transport}"]["data"]["rows"]]
            self.assertEqual(rows, ["ring", "fixed", "mpi"] * 2)


if __name__ == "__main__":
    main(1)
