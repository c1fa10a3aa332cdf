#!/usr/bin/env python3
"""More ranks than run.json and a trace show one by one: what grows with them, and what does not.

usage: many_ranks_test.py RUEDA MPIEXEC [CASE...]
"""

import csv
import json

from rueda_runs import ProgramCase, main

TIMED = ["--backend", "timed", "--compute", "1", "--model", "resnet20", "--data", "synthetic", "--data-limit", "68",
         "--image-size", "8", "--global-batch", "34", "--threads", "1", "--all-reduce", "ring"]  # fmt: skip

COMPUTED = ["--model", "resnet20", "--data", "data", "--image-size", "8", "--data-limit", "34", "--global-batch", "17",
            "--threads", "1", "--eval-every", "0", "--all-reduce", "ring", "--epochs", "3"]  # fmt: skip


class ManyRanksTest(ProgramCase):
    time_limit = 300

    def rows(self, run_dir, name="ranks.csv"):
        with open(self.path(f"{run_dir}/{name}"), encoding="ascii", newline="") as file:
            return list(csv.DictReader(file))

    def traced(self, ranks):
        """(numbers of the traced processes, bytes of the trace)."""
        self.completed(self.program.run_on(ranks, "train", *TIMED, "--epochs", "1", "--run-dir", f"traced-{ranks}",
                                           "--trace", f"{ranks}.json", "--trace-steps", "2"))
        content = self.path(f"{ranks}.json").read_bytes()
        events = json.loads(content)["traceEvents"]
        self.assertEqual({event["args"]["step"] for event in events if event["ph"] == "X"}, {1, 2})
        return {event["pid"] for event in events}, len(content)

    def test_a_trace_grows_as_the_messages_of_a_rank_do(self):
        few, bytes_of_few = self.traced(8)
        many, bytes_of_many = self.traced(16)
        self.assertEqual(few, set(range(1, 9)))
        self.assertEqual(len(many), 8)
        self.assertTrue(1 in many and many <= set(range(1, 17)), many)
        # A rank has 2(P-1) messages in a ring: 30 / 14 times as many, and as many additions more.
        self.assertLess(bytes_of_many, 2.3 * bytes_of_few)

    def test_rows_of_many_ranks_are_in_ranks_csv_alone_also_of_a_resumed_run(self):
        stopped = self.program.run_on(17, "train", *COMPUTED, "--run-dir", "run", "RUEDA_INJECT=stop:3:3")
        self.assertEqual(stopped.code, 75, stopped)
        places = [(str(epoch), str(rank)) for epoch in (1, 2, 3) for rank in range(17)]
        self.assertEqual([(row["epoch"], row["rank"]) for row in self.rows("run")], places[:17])
        self.completed(self.program.run_on(17, "train", "--resume", "run"))
        rows = self.rows("run")
        self.assertEqual([(row["epoch"], row["rank"]) for row in rows], places)
        record = self.program.record("run")
        for epoch in record["epochs"]:
            self.assertNotIn("ranks", epoch)
            own = [row for row in rows if row["epoch"] == str(epoch["epoch"])]
            seconds = [float(row["seconds"]) for row in own]
            useful = [float(row["seconds"]) - float(row["all_reduce"]) for row in own]
            over = epoch["over_ranks"]
            self.assertEqual((over["seconds"]["min"], over["seconds"]["max"]), (min(seconds), max(seconds)))
            self.assertEqual(useful[over["slowest_rank"]], max(useful))
            self.assertGreaterEqual(epoch["bookkeeping_seconds"], epoch["clock_seconds"])
        report = self.completed(self.program.run("report", "run"))
        self.assertIn("P = 17", report.out)
        self.assertNotIn("run.json", report.out)  # nothing contradicts it
        few = [*TIMED, "--epochs", "1", "--run-dir", "few"]
        self.completed(self.program.run_on(2, "train", *few))
        (epoch,) = self.program.record("few")["epochs"]
        self.assertEqual([rank["seconds"] for rank in epoch["ranks"]], [float(row["seconds"]) for row in self.rows("few")])


if __name__ == "__main__":
    main()
