#!/usr/bin/env python3
"""`rueda bench`: what it measures, writes and refuses.

usage: bench_test.py RUEDA [MPIEXEC]
"""

import json
import re
import statistics
import sys
import tempfile
import unittest
from pathlib import Path

import summary_line
from rueda_runs import SMALL, Program

FEW = ("--repetitions", "4", "--threads", "1")
ALWAYS = ("ring", "mpi", "fixed")  # to be had wherever rueda is


class BenchCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = Program(*PATHS, folder.name, time_limit=200)

    def read(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def completed(self, result):
        self.assertEqual((result.code, result.messages), (0, []), result)
        return result

    def refused(self, result, *words, code=2):
        self.assertEqual((result.code, len(result.messages)), (code, 1), result)
        for word in words:
            self.assertIn(word, result.messages[0])


class AllReduce(BenchCase):
    def measured(self, ranks, *words):
        result = self.program.run_ranks(ranks, "bench", "all-reduce", *FEW, *words, "--json", "a.json")
        return self.completed(result), self.read("a.json")

    def test_every_size_by_every_algorithm(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                result, record = self.measured(ranks, "--sizes", "4,400,40k", "--algorithms", ",".join(ALWAYS))
                seen = [(one["bytes"], one["algorithm"]) for one in record["results"]]
                self.assertEqual(seen, [(size, name) for size in (4, 400, 40_000) for name in ALWAYS])
                self.assertEqual((record["ranks"], record["layout"]), (ranks, [0] * ranks))
                for one in record["results"]:
                    self.check_figures(one, ranks)
                self.check_table(result.out, record)

    def check_figures(self, one, ranks):
        self.assertEqual(len(one["seconds"]), 4)
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
        rows = re.findall(r"(?m)^ +(\d+) +(?:\w+ +)?(\w+) +4 +\S+ +\S+ +\S+ +\S+ +\S+$", text)
        self.assertEqual(rows, [(str(one["bytes"]), one["algorithm"]) for one in record["results"]])
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_all_leaves_out_what_is_not_to_be_had(self):
        result, record = self.measured(2, "--sizes", "4k")
        names = [one["algorithm"] for one in record["results"]]
        self.assertLessEqual({"auto", *ALWAYS}, set(names))
        self.assertIn("nccl", record["left_out"])  # host memory
        self.assertEqual(len(names) + len(record["left_out"]), 9)
        self.assertIn("nccl: ", result.out)

    def test_what_is_asked_for_and_not_to_be_had_is_refused(self):
        words = ("--sizes", "4", "--algorithms", "ring,nccl")
        self.refused(self.program.run_ranks(2, "bench", "all-reduce", *words), "'nccl'")
        words = ("--sizes", "4", "--algorithms", "fixed", "--wire", "bf16")
        self.refused(self.program.run_ranks(2, "bench", "all-reduce", *words), "'fixed'", "fp32")

    def test_messages_are_verified(self):
        self.assertIs(self.measured(2, "--sizes", "4k", "--algorithms", "ring")[1]["verify_messages"], False)
        words = ("--sizes", "4,40k", "--verify-messages")
        result, record = self.measured(3, *words)
        self.assertIs(record["verify_messages"], True)
        self.assertIn("check sum", result.out)
        self.assertLessEqual({"mpi", "shared", "nccl"}, set(record["left_out"]))
        self.assertLessEqual({"auto", "ring", "fixed"}, {one["algorithm"] for one in record["results"]})
        words = (*words, "--algorithms", "ring,mpi")
        self.refused(self.program.run_ranks(2, "bench", "all-reduce", *words), "'mpi'", "--verify-messages")

    def test_the_gradients_of_a_network(self):
        _, record = self.measured(2, "--sizes", "resnet20", "--algorithms", "ring")
        (one,) = record["results"]
        self.assertEqual((one["bytes"] % 4, one["gradients_of"]), (0, "resnet20"))
        self.assertIsNone(one["times_mpi"])

    def test_a_picture(self):
        self.measured(2, "--sizes", "4,4k", "--algorithms", "ring,mpi", "--plot", "a.png")
        self.assertEqual((self.folder / "a.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_refusals_come_before_anything_is_measured(self):
        for words, told in (
            (["--plot", "nowhere/a.png"], "--plot nowhere/a.png"),
            (["--json", "."], "--json ."),
            (["--transport", "staged"], "host memory"),
            (["--sizes", "4,many"], "'many'"),
            (["--algorithms", "rong"], "'rong'"),
            (["--repetitions", "-1"], "--repetitions"),
            (["--seconds", "0"], "--seconds"),
            (["--segment-kb", "2000000"], "--segment-kb"),
            (["--threads", "-1"], "--threads"),
            (["--reduce-table", "none.json"], "none.json"),
            (["4"], "unexpected argument 4"),
        ):
            with self.subTest(words=words):
                result = self.program.run_ranks(2, "bench", "all-reduce", "--algorithms", "ring", *words)
                self.refused(result, told)
                self.assertEqual(result.out, "")

    def test_without_a_python_that_draws(self):
        words = ("bench", "all-reduce", "--plot", "a.png")
        self.refused(self.program.run_ranks(2, *words, RUEDA_PLOT_PYTHON="/bin/false"), "RUEDA_PLOT_PYTHON")

    def test_ranks_that_are_asked_otherwise(self):
        asked = [(1, ["bench", "all-reduce", "--sizes", size]) for size in ("4", "8")]
        self.refused(self.program.run_contexts(asked), "--sizes 4", "--sizes 8")


class Tune(BenchCase):
    def tuned(self, ranks):
        words = ("--algorithms", "ring", "--segments-kb", "0,1", "--most", "16k", "--seconds", "4")
        result = self.program.run_ranks(ranks, "bench", "tune", "--out", "t.json", *words, "--threads", "1")
        return self.completed(result), self.read("t.json")

    def test_a_table_and_what_it_was_chosen_by(self):
        result, table = self.tuned(2)
        self.assertIn("5 lengths from 16 B to 4.10 kB, 2 ways to sum, about 4 s at most", result.out)
        self.assertIn(table["rows_hash"], result.out)
        self.assertIsNone(table["rows"][-1]["most_bytes"])
        self.assertEqual({row["algorithm"] for row in table["rows"]}, {"ring"})
        measured = [(one["bytes"], one["segment_bytes"]) for one in table["measured"]]
        wholes = [(16 * 4**k, 0) for k in range(5)]
        self.assertEqual(measured, [*wholes, (4096, 1024)])
        self.assertEqual(table["layout"], [0, 0])

    def test_auto_goes_by_it_on_as_many_ranks(self):
        _, table = self.tuned(2)
        words = ("bench", "all-reduce", *FEW, "--sizes", "4k", "--algorithms", "auto", "--reduce-table", "t.json")
        result = self.completed(self.program.run_ranks(2, *words, "--json", "a.json"))
        self.assertIn(f"auto goes by t.json (rows {table['rows_hash']})", result.out)
        expected = {"file": "t.json", "rows_hash": table["rows_hash"]}
        self.assertEqual(self.read("a.json")["reduce_table"], expected)
        self.refused(self.program.run_ranks(3, *words), "2 ranks on 1 host, and these are 3 ranks")

    def test_training_goes_by_it_and_names_it(self):
        _, table = self.tuned(2)
        words = ("train", *SMALL, "--reduce-table", "t.json", "--run-dir", "run", "--progress", "off")
        self.completed(self.program.run_ranks(2, *words))
        expected = {"file": "t.json", "rows_hash": table["rows_hash"]}
        self.assertEqual(self.program.record("run")["all_reduce"]["table"], expected)
        self.refused(self.program.run_ranks(3, *words, "--overwrite"), "--reduce-table t.json")

    def test_refusals(self):
        for words, told in (
            ([], "--out"),
            (["--out", "nowhere/t.json"], "nowhere/t.json"),
            (["--out", "t.json", "--algorithms", "mpi"], "'mpi'"),
            (["--out", "t.json", "--algorithms", "auto"], "'auto'"),
            (["--out", "t.json", "--segments-kb", "1k"], "'1k'"),
            (["--out", "t.json", "--most", "4,8"], "--most"),
        ):
            with self.subTest(words=words):
                self.refused(self.program.run_ranks(2, "bench", "tune", *words), told)


class Explain(BenchCase):
    def test_the_ring_of_four(self):
        text = self.completed(self.program.run("bench", "explain", "--ranks", "4")).out
        self.assertEqual(len(re.findall(r"(?m)^ +(?:reduce-scatter|all-gather), step \d", text)), 6)
        self.assertIn("6,000 bytes", text)

    def test_refusals(self):
        for words in (["--ranks", "0"], ["--ranks", "17"], ["--ranks", "x"], ["--length", "-1"],
                      ["--length", "99999999999999"], ["--algorithm", "mpi"]):  # fmt: skip
            with self.subTest(words=words):
                self.refused(self.program.run("bench", "explain", *words), words[0])


class Commands(BenchCase):
    def test_help_names_them(self):
        text = self.completed(self.program.run("bench", "--help")).out
        for command in ("all-reduce", "tune", "explain"):
            self.assertRegex(text, rf"(?m)^  {command} ")
            own = self.completed(self.program.run("bench", command, "--help")).out
            self.assertIn(f"rueda bench {command}", own)

    def test_what_is_no_command(self):
        for ranks in (1, 2):
            result = self.program.run_ranks(ranks, "bench", "nonsense")
            self.refused(result, "'nonsense' is not a command of bench: give one of all-reduce, tune, explain")
        self.refused(self.program.run("bench"), "a command of bench is missing", "see rueda bench --help")
        self.refused(self.program.run("bench", "tune", "--outt"), "--outt", "see rueda bench tune --help")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PATHS = (sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "mpiexec")
    summary_line.main()
