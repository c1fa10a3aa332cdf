#!/usr/bin/env python3
"""More ranks than run.json and a trace show one by one: what grows with them, and what does not.

usage: many_ranks_test.py RUEDA MPIEXEC LIBRARY [CASE...]

LIBRARY is built from tests/support/stall_mpi.cpp.
"""

import csv
import json
import os

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

    def counted(self, ranks):
        """(numbers of the traced processes, bytes of the trace, by collective rank 0's calls and bytes)."""
        folder = self.path(f"counts-{ranks}")
        folder.mkdir()
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), os.path.abspath(self.paths[2])]))
        self.completed(self.program.run_on(
            ranks, "train", *TIMED, "--epochs", "1", "--run-dir", f"counted-{ranks}", "--trace", f"{ranks}.json",
            "--trace-steps", "2", LD_PRELOAD=preload, RUEDA_TEST_COUNT=str(folder),
        ))  # fmt: skip
        content = self.path(f"{ranks}.json").read_bytes()
        events = json.loads(content)["traceEvents"]
        self.assertEqual({event["args"]["step"] for event in events if event["ph"] == "X"}, {1, 2})
        lines = (folder / "0").read_text(encoding="ascii").splitlines()[1:]
        gathered = {call: (int(calls), int(count)) for call, calls, count in map(str.split, lines)}
        return {event["pid"] for event in events}, len(content), gathered

    def test_a_trace_grows_as_the_messages_of_a_rank_do_and_what_is_gathered_as_the_ranks_do(self):
        few, bytes_of_few, gathered_of_few = self.counted(8)
        many, bytes_of_many, gathered_of_many = self.counted(16)
        self.assertEqual(few, set(range(1, 9)))
        self.assertEqual(len(many), 8)
        self.assertTrue(1 in many and many <= set(range(1, 17)), many)
        # A rank has 2(P-1) messages in a ring: 30 / 14 times as many, and as many additions more.
        self.assertLess(bytes_of_many, 2.3 * bytes_of_few)
        # MPI's collectives are along trees. A start and an epoch have as many of them for any number of ranks.
        self.assertEqual(gathered_of_few.keys(), {"MPI_Allgather", "MPI_Allgatherv", "MPI_Gatherv"})
        for call, (calls, count) in gathered_of_many.items():
            self.assertEqual(calls, gathered_of_few[call][0], call)
            self.assertLess(count / 16, 1.1 * gathered_of_few[call][1] / 8, call)  # names of ranks become longer
        self.assertLess(sum(count for _, count in gathered_of_many.values()) / 16, 20000)  # bytes of each rank

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
        self.assertEqual([rank["seconds"] for rank in epoch["ranks"]],
                         [float(row["seconds"]) for row in self.rows("few")])


if __name__ == "__main__":
    main(3)
