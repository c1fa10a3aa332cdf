#!/usr/bin/env python3
"""docs/lessons: each program builds with mpicxx alone and shows what its page says.

usage: lessons_test.py RUEDA MPIEXEC
"""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from rueda_runs import ProgramCase, long, losses, main

LESSONS = Path(__file__).resolve().parents[2] / "docs" / "lessons"
MPICXX = os.environ.get("MPICXX", "mpicxx")
STEPS = 10


class Lessons(ProgramCase):
    time_limit = 120
    images = (96 * STEPS, 10)

    def built(self, source, *flags, compiler=(MPICXX,)):
        """The program of a source that is short enough to be read."""
        source = LESSONS / source
        self.assertLessEqual(len(source.read_text(encoding="utf-8").splitlines()), 600 if source.parent == LESSONS else 150)
        program = self.folder / source.stem
        words = [*compiler, "-std=c++20", "-O2", str(source), "-o", str(program), *flags]
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        return program

    def output(self, ranks, *words):
        result = self.program.launch("--bind-to", "none", "-n", str(ranks), *map(str, words))
        self.assertEqual(result.code, 0, result)
        return result.out

    def test_1_ring(self):
        ring = self.built("01-ring/ring.cpp", "-Wall", "-Werror")
        for ranks, size in ((1, 10), (2, 100_003), (4, 1001), (5, 3), (3, 0)):
            self.assertIn(f"equal: {size} floats on {ranks} ranks", self.output(ranks, ring, size))

    def test_2_data_parallel(self):
        program = self.built("02-data-parallel/data_parallel.cpp", "-Wall", "-Werror")
        for ranks in (1, 3, 5):
            out = self.output(ranks, program)
            self.assertIn(f"equal, bit for bit: {ranks} ranks", out)
            loss = [float(word) for word in re.findall(r"loss ([\d.]+)", out)]
            self.assertLess(loss[-1], 0.6 * loss[0])

    def test_3_overlap(self):
        program = self.built("03-overlap/overlap.cpp", "-Wall", "-Werror", "-pthread")
        for ranks, layers in ((1, 8), (2, 5), (3, 1)):
            self.assertIn(f"equal: the sums of both, on {ranks} ranks", self.output(ranks, program, layers))

    def test_4_device(self):
        program = self.built("04-device/device.cpp", "-Wall", "-Werror")
        for ranks, size in ((1, 5), (2, 100_003), (3, 2)):
            out = self.output(ranks, program, size)
            self.assertEqual(re.findall(r"(.*): equal", out), ["device buffers", "staged"], out)

    @unittest.skipUnless(shutil.which("nvcc"), "needs nvcc")
    def test_4_device_with_cuda(self):
        program = self.built("04-device/device.cpp", compiler=("nvcc", "-x", "cu", "-ccbin", MPICXX))
        if not Path("/dev/nvidiactl").exists():
            self.skipTest("built; needs a GPU to run")
        self.assertIn("staged: equal", self.output(2, program, 100_003))

    def test_5_scaling(self):
        program = self.built("05-scaling/scaling.cpp", "-Wall", "-Werror")
        for ranks in (1, 3):
            out = self.output(ranks, program)
            *factors, product = map(float, re.findall(r"load balance (.*) x .* (.*) x .* (.*) = (.*)", out)[0])
            speedup, efficiency = map(float, re.findall(r"speedup ([\d.]+) .* efficiency ([\d.]+)", out)[0])
            self.assertAlmostEqual(factors[0] * factors[1] * factors[2], product, delta=0.01)
            self.assertAlmostEqual(speedup / ranks * 100, efficiency, delta=1)
            self.assertLessEqual(max(factors[:2]), 1)

    @long
    def test_one_file_follows_rueda(self):
        """oneDNN adds the statistics of a batch in fp32, on AVX2 one pixel after the other; one_file adds in float64.
        From the weights of five steps, 30 batches of 48 and 96 images were at most 2.7e-6 apart in the loss, so the
        first one may be 4e-6 away. Later losses also differ by what rounding does to a unit of ReLU, as the two orders
        of rueda's own additions do; at this rate that stays below the first difference."""
        program = self.built("one_file.cpp", "-fopenmp", "-ldnnl", "-Wall", "-Werror")
        options = ["--model", "resnet20", "--data", "data", "--threads", "1", "--eval-every", "0", "--epochs", "1"]
        options += ["--scale-lr", "none", "--lr-schedule", "constant", "--shuffle", "off", "--global-batch", "96"]
        self.trained(1, *options, "--data-limit", "480", "--lr", "0.01", "--save-weights", "start.safetensors")
        same = [*options, "--init-weights", "start.safetensors", "--lr", "2e-5", "--weight-decay", "0.1"]
        orders = {order: losses(self.trained(3, *same, "--reduce-order", order)) for order in ("ring", "fixed")}
        apart = max(abs(a - b) for a, b in zip(*orders.values()))
        for ranks in (1, 2, 3):
            expected = orders["ring"] if ranks == 3 else losses(self.trained(ranks, *same))
            out = self.output(ranks, program, "start.safetensors", "data", STEPS, 96, 2e-5, 0.1)
            found = [float(word) for word in re.findall(r"step \d+ loss (.*)", out)]
            self.assertEqual(len(found), len(expected))
            self.assertEqual(len(re.findall(r"^rank \d+( +\d+\.\d\d){5}$", out, re.M)), ranks, out)
            first, away = abs(found[0] - expected[0]), max(abs(a - b) for a, b in zip(found, expected))
            print(f"\n{ranks} ranks: {first:.1e} away, in {STEPS} steps {away:.1e}; the orders ring and fixed are {apart:.1e} apart")
            self.assertLess(first, 4e-6)
            self.assertLess(away, apart + 4e-6)
        for words in (("nothere", "data", 1, 8, 0.1), ("data/data_batch_1.bin", "data", 1, 8, 0.1), ()):
            result = self.program.launch("-n", "1", str(program), *map(str, words))
            self.assertEqual(result.code, 2, result)
            self.assertIn("one_file: ", result.err)


if __name__ == "__main__":
    main()
