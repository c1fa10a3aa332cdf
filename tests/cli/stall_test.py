#!/usr/bin/env python3
"""A rank that stops before training or after it: the others do not wait for ever. A disk that takes
long is no rank that stopped.

usage: stall_test.py RUEDA MPIEXEC LIBRARY [CASE...]

LIBRARY is built from tests/support/stall_mpi.cpp.
"""

import os
from concurrent.futures import ThreadPoolExecutor

from rueda_runs import PATIENCE, SMALL, ProgramCase, main

# A message waits this long at most; what lies around training, ten times as long.
STALL_SECONDS = 3
# RANK:CALL that stops, seconds of each access to the disk, cadence of checkpoints.
RUNS = {
    "nothing": ("", 0, "1epoch"),
    "a rank that is not there": ("3:MPI_Finalize", 0, "1epoch"),
    "start": ("1:MPI_Bcast", 0, "1epoch"),
    "end": ("1:MPI_Finalize", 0, "1epoch"),
    # About nine times this for a checkpoint: the second one, and the end, wait for it.
    "slow": ("", STALL_SECONDS / 5, "2steps"),
    "never": ("", 3 * STALL_SECONDS, "1step"),
}
SLEEPS = ["sleep", "100"]  # in the place of a rank, which never comes


class Stall(ProgramCase):
    """All runs at once, because they mostly wait."""

    time_limit = 120

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # What stands there already stays: a sanitizer's libraries.
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), os.path.abspath(cls.paths[2])]))

        def run(name):
            if name not in RUNS:
                train = [cls.program.binary, "train", *SMALL, "--run-dir", name, "--stall-seconds", str(STALL_SECONDS)]
                return cls.program.launch("--bind-to", "none", "-n", "2", *train, ":", "-n", "1", *SLEEPS)
            place, disk, cadence = RUNS[name]
            return cls.program.run_ranks(
                3, "train", *SMALL, "--run-dir", name, "--all-reduce", "ring", "--stall-seconds",
                str(STALL_SECONDS), "--checkpoint-every", cadence, LD_PRELOAD=preload, RUEDA_TEST_STALL=place,
                RUEDA_TEST_SLOW_DISK=str(disk),
            )  # fmt: skip

        names = [*RUNS, "a rank that never comes"]
        at_once = len(names) if PATIENCE == 1 else 1  # slow programs would wait too long for each other
        with ThreadPoolExecutor(at_once) as pool:
            cls.results = dict(zip(names, pool.map(run, names)))

    def test_nothing_stalls(self):
        self.completed(self.results["nothing"])
        self.completed(self.results["a rank that is not there"])

    def test_a_slow_disk(self):
        self.completed(self.results["slow"])
        written = self.program.record("slow")["checkpoints"]
        self.assertGreaterEqual(len(written), 2)
        self.assertGreater(min(entry["write_seconds"] for entry in written), STALL_SECONDS)

    def test_a_disk_that_never_answers(self):
        result = self.results["never"]
        self.assertEqual(result.code, 1, result)
        # The others may find themselves stuck before the launcher has ended them.
        self.assertIn("the last checkpoint is still being written after 3", result.messages[0])
        self.assertIn("look at the disk of never", result.messages[0])

    def test_a_rank_that_stops_in_start_up_or_at_the_end(self):
        for name in ("start", "end"):
            result, call = self.results[name], RUNS[name][0].split(":")[1]
            self.assertNotIn(result.code, (0, 2, 75), result)
            self.assertTrue(result.messages, result)
            for message in result.messages:
                self.assertRegex(message, rf"rueda: stuck outside the ring\. rank [02] on \S+: in {call} for 3[0-9] s")
        self.assertEqual(self.program.record("end")["outcome"], "completed")  # nothing is lost

    def test_a_rank_that_never_comes(self):
        """The networks of the hosts are not blamed where a rank is missing."""
        result = self.results["a rank that never comes"]
        self.assertNotIn(result.code, (0, 2, 75), result)
        self.assertTrue(result.messages, result)
        for message in result.messages:
            self.assertRegex(message,
                             r"stuck outside the ring\. rank [01] on \S+: in MPI_\w+ for 3[0-9] s\. Every rank that")
            self.assertIn("If one is missing, it never came: look at what was started there. If none is missing, ",
                          message)


# Steps of 20 ms, 40 of them. A link is held for 2 s from about step 12 on: RANK:SENDER, options, ranks, and the
# messages of a step on the link.
TIMED = ["--backend", "timed", "--model", "resnet20", "--data", "data", "--batch-per-rank", "1", "--compute", "20"]
HELD = {
    "two ranks": ("1:0", ["--all-reduce", "ring"], 2, 2),
    "three ranks": ("1:0", ["--all-reduce", "ring"], 3, 4),
    "round the end": ("0:3", ["--all-reduce", "ring", "--overlap", "off"], 4, 6),
    "five ranks": ("3:2", ["--all-reduce", "ring"], 5, 8),
    "fixed order": ("2:1", ["--all-reduce", "ring", "--reduce-order", "fixed"], 3, 2),
    "doubling": ("2:0", ["--all-reduce", "doubling"], 4, 1),
    "halving": ("3:1", ["--all-reduce", "halving"], 4, 2),
}


class Held(ProgramCase):
    """A message that comes late."""

    time_limit = 120

    def run_held(self, name):
        link, options, ranks, messages = HELD[name]
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), os.path.abspath(self.paths[2])]))
        return self.completed(self.program.run_ranks(
            ranks, "train", *TIMED, *options, "--data-limit", str(40 * ranks), "--epochs", "1", "--run-dir", name,
            LD_PRELOAD=preload, RUEDA_TEST_HOLD=f"{link}:{12 * messages + 1}:2",
        ))  # fmt: skip

    def test_who_waited_first_is_named(self):
        for name, (link, *_) in HELD.items():
            with self.subTest(name):
                run = self.run_held(name)
                gap = self.program.record(name)["longest_gap"]
                rank, peer = map(int, link.split(":"))
                self.assertIsNone(gap["rank"], gap)
                waited = gap["first_wait"]
                self.assertEqual((waited["rank"], waited["peer"], waited["mutual"]), (rank, peer, False), gap)
                self.assertGreater(waited["seconds"], 1.9)
                named = rf"rank {rank} on \S+ waited first, 2\S* s for rank {peer} on \S+"
                watched = self.completed(self.program.run("watch", name, "--once")).out
                for said in (run.out, watched):
                    self.assertRegex(" ".join(said.split()), r"longest gap step \d+ of epoch 1 took .*: " + named)
                self.assertRegex(run.err, f"note: step {gap['step']} of epoch 1 took .*{named}")


if __name__ == "__main__":
    main(3)
