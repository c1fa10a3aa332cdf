#!/usr/bin/env python3
"""tests/bench/ring_bandwidth on host memory and on the stand-in's devices: its options, its table.

usage: ring_bandwidth_test.py RING_BANDWIDTH_STANDIN [MPIEXEC]
"""

import sys
import tempfile
import unittest
from pathlib import Path

import summary_line
from rueda_runs import Program

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gpu"))

import ring_part  # noqa: E402

SIZES = ("4", "40000", "1600000")
FEW = ("--repetitions", "2")


class RingBandwidth(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-ring-")
        self.addCleanup(folder.cleanup)
        self.program = Program(*PATHS, folder.name, time_limit=200)

    def measured(self, ranks, *words, **env):
        """What it said, where it ends well with a row for each size and algorithm."""
        result = self.program.run_ranks(ranks, *words, *FEW, *SIZES, **env)
        self.assertEqual(result.code, 0, result)
        rows = [(row["bytes"], row["algorithm"]) for row in ring_part.parse(result.out)]
        names = ("ring", "fixed order", "mpi")
        self.assertEqual(rows, [(int(size), name) for size in SIZES for name in names])
        return result

    def refused(self, result, *words):
        messages = [line for line in result.err.splitlines() if line.startswith("ring_bandwidth: ")]
        self.assertEqual((result.code, len(messages)), (2, 1), result)
        for word in words:
            self.assertIn(word, messages[0])

    def test_device_memory(self):
        for ranks, transport in ((2, "device"), (3, "staged")):
            with self.subTest(transport=transport):
                words = [*ring_part.DEVICE_WORDS, transport]
                result = self.measured(ranks, *words, RUEDA_STANDIN_DELAY_US="1")
                told = f"memory: stand-in (host memory, no GPU); to MPI: {transport}"
                self.assertIn(told, result.out)
                self.assertIn("note: ranks share a GPU", result.err)

    def test_host_memory(self):
        result = self.measured(2)
        self.assertIn("to MPI: host", result.out)

    def test_ranks_on_one_gpu_are_refused(self):
        self.refused(self.program.run_ranks(2, "--backend", "cuda", "4"), "ranks 0 and 1 on GPU-")

    def test_bad_words_are_refused(self):
        for words, told in (
            (["--backend", "tpu"], "cpu, cuda"),
            (["--transport"], "auto, device, staged"),
            (["--transport", "staged", "4"], "host memory"),
            (["3"], "4 or more"),
            (["4e6"], "'4e6'"),
            (["--backends"], "'--backends'"),
            (["--repetitions", "0"], "1 or more"),
        ):
            with self.subTest(words=words):
                self.refused(self.program.run_ranks(2, *words), told)

    def test_without_a_gpu(self):
        words = [*ring_part.DEVICE_WORDS, "auto", "4"]
        self.refused(self.program.run_ranks(2, *words, CUDA_VISIBLE_DEVICES=""), "no CUDA device")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PATHS = (sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "mpiexec")
    summary_line.main()
