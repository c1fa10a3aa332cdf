#!/usr/bin/env python3
"""`rueda bench all-reduce` on the memory of the stand-in's devices.

usage: bench_standin_test.py RUEDA_STANDIN [MPIEXEC]
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import summary_line
from rueda_runs import Program

DEVICE = ("--backend", "cuda", "--allow-shared-gpu", "--transport")
FEW = ("--repetitions", "2", "--threads", "1", "--sizes", "4,40000,1600000")


class BenchStandin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = Program(*PATHS, folder.name, time_limit=200)

    def run_bench(self, ranks, *words, **env):
        return self.program.run_ranks(ranks, "bench", "all-reduce", *words, **env)

    def refused(self, result, *words):
        self.assertEqual((result.code, len(result.messages)), (2, 1), result)
        for word in words:
            self.assertIn(word, result.messages[0])

    def test_device_memory(self):
        names = ("ring", "mpi", "fixed")
        for ranks, transport in ((2, "device"), (3, "staged")):
            with self.subTest(transport=transport):
                words = (*FEW, *DEVICE, transport, "--algorithms", ",".join(names), "--json", "a.json")
                result = self.run_bench(ranks, *words, RUEDA_STANDIN_DELAY_US="1")
                self.assertEqual(result.code, 0, result)
                self.assertIn("note: ranks share a GPU", result.err)
                record = json.loads((self.folder / "a.json").read_text(encoding="utf-8"))
                self.assertEqual((record["backend"], record["transport"]), ("cuda", transport))
                self.assertEqual(record["device"], "stand-in (host memory, no GPU)")
                rows = [(one["bytes"], one["algorithm"]) for one in record["results"]]
                self.assertEqual(rows, [(size, name) for size in (4, 40_000, 1_600_000) for name in names])

    def test_ranks_on_one_gpu_are_refused(self):
        self.refused(self.run_bench(2, "--backend", "cuda"), "ranks 0 and 1 on GPU-")

    def test_without_a_gpu(self):
        self.refused(self.run_bench(2, *DEVICE, "auto", CUDA_VISIBLE_DEVICES=""), "no CUDA device")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PATHS = (sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "mpiexec")
    summary_line.main()
