#!/usr/bin/env python3
"""A rank that stops before training or after it: the others do not wait for ever. A disk that takes
long is no rank that stopped.

usage: stall_test.py RUEDA MPIEXEC LIBRARY [CASE...]

LIBRARY is built from tests/support/stall_mpi.cpp and slow_disk.cpp.
"""

import os
import sys

import summary_line
from program_case import ProgramCase
from rueda_runs import SMALL

LIBRARY = ""
# A message waits this long at most; what lies around training, ten times as long.
STALL_SECONDS = 3


class Stall(ProgramCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program.time_limit *= 3

    def start(self, place, *words, disk="0", seconds=STALL_SECONDS):
        # What stands there already stays: a sanitizer's libraries.
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), LIBRARY]))
        words = ("--data", "data", "--run-dir", "run", "--overwrite", "--all-reduce", "ring", *words)
        return self.program.run_ranks(
            3, "train", *SMALL, "--stall-seconds", str(seconds), *words,
            LD_PRELOAD=preload, RUEDA_TEST_STALL=place, RUEDA_TEST_SLOW_DISK=disk,
        )

    def ends(self, place):
        result = self.start(place)
        self.assertNotIn(result.code, (0, 2, 75), result)
        call = place.split(":")[1]
        self.assertTrue(result.messages, result)
        for message in result.messages:
            self.assertRegex(message, rf"rueda: stuck outside the ring\. rank [02] on \S+: in {call} for 3[0-9] s")

    def test_nothing_stalls(self):
        self.completed(self.start(""))
        self.completed(self.start("3:MPI_Finalize"))

    def test_a_slow_disk(self):
        # About nine times this for a checkpoint: the second one, and the end, wait for it.
        self.completed(self.start("", "--checkpoint-every", "2steps", disk=str(STALL_SECONDS / 5)))
        written = self.program.record("run")["checkpoints"]
        self.assertGreaterEqual(len(written), 2)
        self.assertGreater(min(entry["write_seconds"] for entry in written), STALL_SECONDS)

    def test_a_disk_that_never_answers(self):
        result = self.start("", "--checkpoint-every", "1step", disk="5", seconds=2)
        self.assertEqual(result.code, 1, result)
        # The others may find themselves stuck before the launcher has ended them.
        self.assertIn("the last checkpoint is still being written after 2", result.messages[0])
        self.assertIn("look at the disk of run", result.messages[0])

    def test_in_start_up(self):
        self.ends("1:MPI_Bcast")

    def test_at_the_end(self):
        self.ends("1:MPI_Finalize")
        self.assertEqual(self.program.record("run")["outcome"], "completed")  # nothing is lost


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    ProgramCase.paths = (sys.argv[1], sys.argv[2])
    LIBRARY = os.path.abspath(sys.argv[3])
    summary_line.main(sys.argv[4:])
