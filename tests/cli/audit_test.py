#!/usr/bin/env python3
"""Audits by another rank and by the rank itself, and what each finds of an error that comes once and of one that stays.

usage: audit_test.py RUEDA MPIEXEC [CASE...]
"""

from rueda_runs import SMALL, ProgramCase, hashes, losses, main

EVERY = ["--audit-every", "1step"]
SELF = [*EVERY, "--audit-by", "self"]


class Audit(ProgramCase):
    """On 1, 2 and 3 ranks; with 3 the last step of an epoch has parts of different sizes."""

    def finds(self, ranks, *words):
        """The message of a run that ends because of a finding."""
        result = self.start(ranks, *SMALL, *words)
        self.refused(result, "wrong arithmetic at epoch 1, step ", "tensors differ", code=1)
        return result.messages[0]

    def test_audits_change_no_bit(self):
        for ranks in (1, 2, 3):
            for words in (EVERY, SELF):
                with self.subTest(ranks=ranks, words=words):
                    record = self.trained(ranks, *SMALL, *words)
                    self.assertEqual(hashes(record), hashes(self.known_run(ranks, *SMALL)))
                    self.assertEqual(record["audit"]["steps"], len(losses(record)))
                    self.assertEqual(record["audit"]["findings"], [])
                    self.assertIn("each rank by itself" if words == SELF else "steps, no wrong", record["said"])

    def test_a_rank_finds_its_own_flip(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                message = self.finds(ranks, *SELF, f"RUEDA_INJECT=flip-gradient:{ranks - 1}:2")
                self.assertIn(f"epoch 1, step 2: rank {ranks - 1} on ", message)
                self.assertNotIn(" or rank ", message)

    def test_another_rank_finds_an_error_that_stays(self):
        fault = ["RUEDA_INJECT=flip-gradient:1:2+"]
        self.assertIn("step 2: rank 1 on ", message := self.finds(3, *EVERY, *fault))
        self.assertNotIn(" or rank ", message)
        message = self.finds(2, *EVERY, *fault)
        for part in ("rank 0 on ", " or rank 1 on ", "take the host out"):
            self.assertIn(part, message)

    def test_a_rank_does_not_find_its_own_error_that_stays(self):
        for ranks, words in ((1, EVERY), (1, SELF), (2, SELF), (3, SELF)):
            with self.subTest(ranks=ranks, words=words):
                record = self.trained(ranks, *SMALL, *words, f"RUEDA_INJECT=flip-gradient:{ranks - 1}:2+")
                self.assertEqual(record["audit"]["findings"], [])
                self.assertNotEqual(hashes(record), hashes(self.known_run(ranks, *SMALL)))

    def test_ranks_of_other_instructions_are_not_compared(self):
        """As a node of another generation, whose processor has the same name: its last bits differ, and no error."""
        train = ["train", *SMALL, "--run-dir"]
        for words, limit, refused in ((EVERY, "AVX", True), (SELF, "AVX2", False)):
            with self.subTest(words=words):
                starts = ["-n", "1", self.program.binary, *train, f"unlike-{limit}", *words, ":", "-n", "1", "env",
                          f"ONEDNN_MAX_CPU_ISA={limit}", self.program.binary, *train, f"unlike-{limit}", *words]
                result = self.program.launch("--bind-to", "none", *starts)
                if refused:
                    self.refused(result, "what --audit-every compares differs between ranks", " with AVX'",
                                 "--audit-by self")
                else:
                    self.assertEqual(result.code, 0, result)

    def test_a_fault_that_is_none(self):
        self.refused(self.start(1, *SMALL, "RUEDA_INJECT=nan:0:2+"), "'nan:0:2+'", "a flip of arithmetic permanent")


if __name__ == "__main__":
    main()
