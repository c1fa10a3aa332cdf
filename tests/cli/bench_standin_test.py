#!/usr/bin/env python3
"""`rueda bench all-reduce` on the memory of the stand-in's devices.

usage: bench_standin_test.py RUEDA_STANDIN MPIEXEC
"""

from rueda_runs import ProgramCase, main

DEVICE = ("--backend", "cuda", "--allow-shared-gpu", "--transport")
SIZES = (4, 40_000, 1_600_000)
FEW = ("--repetitions", "2", "--threads", "1", "--sizes", ",".join(map(str, SIZES)))
NAMES = ("ring", "mpi", "fixed")


class BenchStandin(ProgramCase):
    time_limit = 200

    def run_bench(self, ranks, *words, **env):
        return self.program.run_ranks(ranks, "bench", "all-reduce", *words, **env)

    def test_device_memory(self):
        for ranks, transport in ((2, "device"), (3, "staged")):
            words = (*FEW, *DEVICE, transport, "--algorithms", ",".join(NAMES), "--json", "a.json")
            result = self.completed(self.run_bench(ranks, *words, RUEDA_STANDIN_DELAY_US="1"))
            self.assertIn("note: ranks share a GPU", result.err)
            record = self.read("a.json")
            self.assertEqual((record["backend"], record["transport"]), ("cuda", transport))
            self.assertEqual(record["device"], "stand-in (host memory, no GPU)")
            rows = [(one["bytes"], one["algorithm"]) for one in record["results"]]
            self.assertEqual(rows, [(size, name) for size in SIZES for name in NAMES])

    def test_refusals(self):
        self.refused(self.run_bench(2, "--backend", "cuda"), "ranks 0 and 1 on GPU-")
        self.refused(self.run_bench(2, *DEVICE, "auto", CUDA_VISIBLE_DEVICES=""), "no CUDA device")


if __name__ == "__main__":
    main()
