#!/usr/bin/env python3
"""A rank that stops before training or after it: the others do not wait for ever.

usage: stall_test.py RUEDA MPIEXEC LIBRARY [CASE...]

LIBRARY is built from tests/support/stall_mpi.cpp.
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

    def start(self, place, *words):
        # What stands there already stays: a sanitizer's libraries.
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), LIBRARY]))
        words = ("--data", "data", "--run-dir", "run", "--overwrite", "--all-reduce", "ring", *words)
        return self.program.run_ranks(
            3, "train", *SMALL, "--stall-seconds", str(STALL_SECONDS), *words,
            LD_PRELOAD=preload, RUEDA_TEST_STALL=place,
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
