#!/usr/bin/env python3
"""`rueda bench`: what it measures, writes and refuses.

usage: bench_test.py RUEDA MPIEXEC
"""

import re
import statistics

from rueda_runs import SMALL, ProgramCase, main

FEW = ("--repetitions", "4", "--threads", "1")
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
        rows = re.findall(r"(?m)^ +(\d+) +(?:\w+ +)?(\w+) +4 +\S+ +\S+ +\S+ +\S+ +\S+$", text)
        self.assertEqual(rows, [(str(one["bytes"]), one["algorithm"]) for one in record["results"]])
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_all_leaves_out_what_is_not_to_be_had_and_draws_the_rest(self):
        result, record = self.measured(2, "--sizes", "4k", "--plot", "a.png")
        names = [one["algorithm"] for one in record["results"]]
        self.assertLessEqual({"auto", *ALWAYS}, set(names))
        self.assertIn("nccl", record["left_out"])  # host memory
        self.assertEqual(len(names) + len(record["left_out"]), 9)
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
            (["--reduce-table", "none.json"], "none.json"),
            (["--algorithms", "ring,nccl"], "'nccl'"),
            (["--algorithms", "ring,mpi", "--verify-messages"], "'mpi': --verify-messages"),
            (["--algorithms", "fixed", "--wire", "bf16"], "'fixed': the fixed order goes over the wire in fp32"),
        ):
            result = self.bench(2, "--sizes", "4", "--algorithms", "ring", *words)
            self.refused(result, part)
            self.assertEqual(result.out, "")
        words = ("--plot", "a.png")
        self.refused(self.bench(2, *words, RUEDA_PLOT_PYTHON="/bin/false"), "RUEDA_PLOT_PYTHON")

    def test_ranks_that_are_asked_otherwise(self):
        asked = [(1, ["bench", "all-reduce", "--sizes", size]) for size in ("4", "8")]
        self.refused(self.program.run_contexts(asked), "--sizes 4", "--sizes 8")


class Tune(ProgramCase):
    time_limit = 200

    def test_a_table_that_the_benchmark_and_training_go_by(self):
        words = ("--algorithms", "ring", "--segments-kb", "0,1", "--most", "16k", "--seconds", "2")
        result = self.program.run_ranks(2, "bench", "tune", "--out", "t.json", *words, "--threads", "1")
        self.completed(result)
        table = self.read("t.json")
        self.assertIn("5 lengths from 16 B to 4.10 kB, 2 ways to sum, about 2 s at most", result.out)
        self.assertIn(table["rows_hash"], result.out)
        self.assertIsNone(table["rows"][-1]["most_bytes"])
        self.assertEqual({row["algorithm"] for row in table["rows"]}, {"ring"})
        measured = [(one["bytes"], one["segment_bytes"]) for one in table["measured"]]
        self.assertEqual(measured, [*[(16 * 4**k, 0) for k in range(5)], (4096, 1024)])
        self.assertEqual(table["layout"], [0, 0])
        self.used = {"file": "t.json", "rows_hash": table["rows_hash"]}
        self.check_benchmark()
        self.check_training()

    def check_benchmark(self):
        words = ("bench", "all-reduce", *FEW, "--sizes", "4k", "--algorithms", "auto", "--reduce-table", "t.json")
        result = self.completed(self.program.run_ranks(2, *words, "--json", "a.json"))
        self.assertIn(f"auto goes by t.json (rows {self.used['rows_hash']})", result.out)
        self.assertEqual(self.read("a.json")["reduce_table"], self.used)
        self.refused(self.program.run_ranks(3, *words), "2 ranks on 1 host, and these are 3 ranks")

    def check_training(self):
        words = ("train", *SMALL, "--reduce-table", "t.json", "--run-dir", "run", "--progress", "off")
        self.completed(self.program.run_ranks(2, *words))
        self.assertEqual(self.program.record("run")["all_reduce"]["table"], self.used)
        self.refused(self.program.run_ranks(3, *words, "--overwrite"), "--reduce-table t.json")


class Commands(ProgramCase):
    def test_explain(self):
        text = self.completed(self.program.run("bench", "explain", "--ranks", "4")).out
        self.assertEqual(len(re.findall(r"(?m)^ +(?:reduce-scatter|all-gather), step \d", text)), 6)
        self.assertIn("6,000 bytes", text)

    def test_help_names_them(self):
        text = self.completed(self.program.run("bench", "--help")).out
        for command in ("all-reduce", "tune", "explain"):
            self.assertRegex(text, rf"(?m)^  {command} ")
            own = self.completed(self.program.run("bench", command, "--help")).out
            self.assertIn(f"rueda bench {command}", own)

    def test_bad_usage(self):
        for words, part in (
            ("all-reduce --sizes 4,many", "'many'"),
            ("all-reduce --algorithms rong", "'rong'"),
            ("all-reduce --repetitions -1", "--repetitions"),
            ("all-reduce --seconds 0", "--seconds"),
            ("all-reduce --segment-kb 2000000", "--segment-kb"),
            ("all-reduce --threads -1", "--threads"),
            ("all-reduce 4", "unexpected argument 4"),
            ("tune", "--out"),
            ("tune --out nowhere/t.json", "nowhere/t.json"),
            ("tune --out t.json --algorithms mpi", "'mpi'"),
            ("tune --out t.json --algorithms auto", "'auto'"),
            ("tune --out t.json --segments-kb 1k", "'1k'"),
            ("tune --out t.json --most 4,8", "--most"),
            ("tune --outt", "see rueda bench tune --help"),
            ("explain --ranks 0", "--ranks"),
            ("explain --ranks 17", "--ranks"),
            ("explain --ranks x", "--ranks"),
            ("explain --length -1", "--length"),
            ("explain --length 99999999999999", "--length"),
            ("explain --algorithm mpi", "--algorithm"),
            ("nonsense", "'nonsense' is not a command of bench: give one of all-reduce, tune, explain"),
            ("", "a command of bench is missing"),
        ):
            with self.subTest(words=words):
                self.refused(self.program.run("bench", *words.split()), part)
        self.refused(self.program.run_ranks(2, "bench", "nonsense"), "'nonsense'")


if __name__ == "__main__":
    main()
