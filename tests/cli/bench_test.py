#!/usr/bin/env python3
"""`rueda bench`: what it measures, writes and refuses.

usage: bench_test.py RUEDA MPIEXEC
"""

import fcntl
import os
import re
import select
import signal
import statistics
import subprocess
import time

from rueda_runs import SMALL, TIME_LIMIT, ProgramCase, environment, main

FEW = ("--repetitions", "4", "--threads", "1")
_SETPIPE_SZ = 1031  # of Linux; Python has its name from 3.10 on
ALWAYS = ("ring", "mpi", "fixed")  # to be had wherever rueda is


class AllReduce(ProgramCase):
    time_limit = 200

    def bench(self, ranks, *words, **env):
        return self.program.run_ranks(ranks, "bench", "all-reduce", *words, **env)

    def measured(self, ranks, *words):
        return self.completed(self.bench(ranks, *FEW, *words, "--json", "a.json")), self.read("a.json")

    def test_every_size_by_every_algorithm(self):
        for ranks in (1, 3):
            words = ("--sizes", "4,400,resnet20", "--algorithms", ",".join(ALWAYS))
            result, record = self.measured(ranks, *words)
            seen = [(one["gradients_of"], one["algorithm"]) for one in record["results"]]
            self.assertEqual(seen, [(size, name) for size in (None, None, "resnet20") for name in ALWAYS])
            self.assertEqual([one["bytes"] for one in record["results"][:6]], [4] * 3 + [400] * 3)
            self.assertEqual((record["ranks"], record["layout"]), (ranks, [0] * ranks))
            self.assertIs(record["verify_messages"], False)
            for one in record["results"]:
                self.check_figures(one, ranks)
            self.check_table(result.out, record)

    def check_figures(self, one, ranks):
        self.assertEqual((len(one["seconds"]), one["bytes"] % 4), (4, 0))
        median = one["median_seconds"]
        self.assertAlmostEqual(median, statistics.median(one["seconds"]), delta=2e-9)
        self.assertLessEqual(median, one["p99_seconds"])
        if ranks == 1:
            self.assertIsNone(one["busbw_GBps"])
            return
        self.assertAlmostEqual(one["algbw_GBps"], one["bytes"] / median / 1e9)
        self.assertAlmostEqual(one["busbw_GBps"], one["algbw_GBps"] * 2 * (ranks - 1) / ranks)
        if one["algorithm"] == "mpi":
            self.assertEqual(one["times_mpi"], 1)

    def check_table(self, text, record):
        rows = re.findall(r"(?m)^ +(\d+) +(?:\w+ +)?([\w-]+) +4 +\S+ +\S+ +\S+ +\S+ +\S+$", text)
        self.assertEqual(rows, [(str(one["bytes"]), one["algorithm"]) for one in record["results"]])
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_all_leaves_out_what_is_not_to_be_had_and_draws_the_rest(self):
        result, record = self.measured(2, "--sizes", "4k", "--plot", "a.png")
        names = [one["algorithm"] for one in record["results"]]
        self.assertLessEqual({"auto", *ALWAYS}, set(names))
        self.assertIn("nccl", record["left_out"])  # host memory
        self.assertEqual(record["auto"], "auto (shared), by the rule for one host with shared memory")
        self.assertIn(record["auto"], " ".join(result.out.split()))
        self.assertEqual(len(names) + len(record["left_out"]), 11)
        self.assertIn("nccl: ", result.out)
        self.assertEqual((self.folder / "a.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_messages_are_verified(self):
        result, record = self.measured(3, "--sizes", "4,40k", "--verify-messages")
        self.assertIs(record["verify_messages"], True)
        self.assertIn("check sum", result.out)
        self.assertLessEqual({"mpi", "shared", "nccl"}, set(record["left_out"]))
        self.assertLessEqual({"auto", "ring", "fixed"}, {one["algorithm"] for one in record["results"]})

    def test_refusals_come_before_anything_is_measured(self):
        for words, part in (
            (["--plot", "nowhere/a.png"], "--plot nowhere/a.png"),
            (["--json", "."], "--json ."),
            (["--transport", "staged"], "host memory"),
            (["--algorithms", "ring,nccl"], "'nccl'"),
            (["--algorithms", "ring,mpi", "--verify-messages"], "'mpi': --verify-messages"),
            (["--algorithms", "fixed", "--wire", "bf16"], "'fixed': the fixed order goes over the wire in fp32"),
        ):
            result = self.program.run("bench", "all-reduce", "--sizes", "4", "--algorithms", "ring", *words)
            self.refused(result, part)
            self.assertEqual(result.out, "")
        words = ("bench", "all-reduce", "--plot", "a.png")
        self.refused(self.program.run(*words, RUEDA_PLOT_PYTHON="/bin/false"), "RUEDA_PLOT_PYTHON")

    def test_what_draws_ends_with_the_program(self):
        """It writes into a pipe whose reader reads nothing, and would be left behind."""
        pipe = self.folder / "stuck.png"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, _SETPIPE_SZ, 4096)  # less than any picture
        words = self.program.words("bench", "all-reduce", "--sizes", "4", "--algorithms", "ring", "--plot", "stuck.png")
        process = subprocess.Popen(words, cwd=self.folder, env=environment({}), stdout=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        look = select.poll()
        look.register(reader, select.POLLIN)
        self.assertTrue(look.poll(1000 * TIME_LIMIT), "nothing was drawn")
        process.terminate()
        self.assertEqual(process.wait(TIME_LIMIT), -signal.SIGTERM)
        deadline = time.monotonic() + TIME_LIMIT
        while not look.poll(0)[0][1] & select.POLLHUP:  # until no process has the pipe open for writing
            self.assertLess(time.monotonic(), deadline, "a process is left")
            time.sleep(0.02)

    def test_ranks_that_are_asked_otherwise(self):
        asked = [(1, ["bench", "all-reduce", "--sizes", size]) for size in ("4", "8")]
        self.refused(self.program.run_contexts(asked), "--sizes 4", "--sizes 8")


class Layers(ProgramCase):
    # One image, so that no layer takes Winograd's algorithm, which reaches more than the peak.
    words = ("bench", "layers", "--image-size", "16", "--batch-per-rank", "1", "--threads", "1", "--json", "l.json")
    # Of each shape of ResNet-20: convolutions, channels, and places of the kernel that meet a pixel.
    multiplications = (3 * 16 * 46**2, 6 * 16 * 16 * 46**2, 16 * 32 * 23**2, 5 * 32 * 32 * 22**2,
                       32 * 64 * 11**2, 5 * 64 * 64 * 10**2)

    def test_sums_and_shares(self):
        result = self.completed(self.program.run(*self.words, "--repetitions", "3", "--classes", "101"))
        record = self.read("l.json")
        self.assertEqual(record["setting"][0]["classes"], 101)
        [setting], [step], [*shapes, everything] = record["setting"], record["step"], record["shapes"]
        self.assertEqual((everything["shape"], everything["count"], len(shapes)), ("all", 19, 6))
        self.assertEqual((shapes[0]["shape"], shapes[0]["data_seconds"]), ("3>16 3x3/1 16x16", None))
        total = 0
        for product in ("forward", "data", "weights"):
            self.assertAlmostEqual(everything[f"{product}_seconds"],
                                   sum(one[f"{product}_seconds"] or 0 for one in shapes))
            total += everything[f"{product}_seconds"]
            for one, products in zip(shapes[product == "data":], self.multiplications[product == "data":]):
                rate = 2e-9 * products / one[f"{product}_seconds"]
                self.assertAlmostEqual(one[f"{product}_gflops"] / rate, 1)
                self.assertAlmostEqual(one[f"{product}_share"], rate / setting["peak_gflops"])
                self.assertLess(one[f"{product}_share"], 1.05)
        self.assertAlmostEqual(step["convolution_seconds"], total)
        self.assertAlmostEqual(step["convolution_share"], total / step["step_seconds"])
        self.assertAlmostEqual(step["images_per_second"], 1 / step["step_seconds"])
        self.assertRegex(result.out, r"(?m)^  64>64 3x3/1 4x4 +5( +[\d.]+){9}$")

    def test_refusals(self):
        self.refused(self.program.run(*self.words, "--json", "nowhere/l.json"), "nowhere/l.json")


class Commands(ProgramCase):
    def test_explain(self):
        text = self.completed(self.program.run("bench", "explain", "--ranks", "4")).out
        self.assertEqual(len(re.findall(r"(?m)^ +(?:reduce-scatter|all-gather), step \d", text)), 6)
        self.assertIn("6,000 bytes", text)

    def test_help_names_them(self):
        text = self.completed(self.program.run("bench", "--help")).out
        for command in ("all-reduce", "explain", "layers"):
            self.assertRegex(text, rf"(?m)^  {command} ")
            own = self.completed(self.program.run("bench", command, "--help")).out
            self.assertIn(f"rueda bench {command}", own)


if __name__ == "__main__":
    main()
