#!/usr/bin/env python3
"""Messages of gradients that carry a check sum, and what becomes of one that is corrupted.

usage: verify_test.py RUEDA MPIEXEC [CASE...]
"""

import json

from rueda_runs import ProgramCase, hashes, long, longer, main, part

# Batches of 24 and a last one of 22 images, in several buckets.
SMALL = ["--model", "resnet20", "--image-size", "16", "--data", "data", "--data-limit", "70"]
SMALL += ["--global-batch", "24", "--epochs", "1", "--threads", "1", "--eval-every", "0"]
SMALL += ["--bucket-mb", "0.2", "--check-replicas", "step"]
VERIFY = ["--verify-messages"]

AUTO = ["--all-reduce", "auto"]
# Ranks, and the all-reduce on them.
WAYS = [
    (2, ["--all-reduce", "ring"]),
    (3, ["--all-reduce", "ring", "--segment-kb", "16"]),
    (3, ["--wire", "bf16"]),
    (3, ["--reduce-order", "fixed", "--all-reduce", "ring"]),
    (3, ["--all-reduce", "doubling"]),
    (3, ["--all-reduce", "halving"]),
    (4, ["--all-reduce", "hierarchical-halving"]),
    (4, ["--all-reduce", "hierarchical"]),
    (2, AUTO),
]


class VerifyCase(ProgramCase):
    def start(self, ranks, *words):
        return super().start(ranks, *SMALL, *words)


class Verified(VerifyCase):
    @longer
    def test_check_sums_change_no_bit(self):
        for ranks, way in part(WAYS, 3):
            if way == AUTO:  # without check sums it takes what needs no messages
                continue
            with self.subTest(ranks=ranks, way=way):
                record = self.trained(ranks, *way, *VERIFY)
                self.assertIn("messages verified", record["all_reduce"]["algorithm"])
                self.assertEqual(record["config"]["verify-messages"], True)
                self.assertEqual(hashes(record), hashes(self.known_run(ranks, *way)))

    def test_auto_takes_what_sends_messages(self):
        sums = self.trained(2, *AUTO, *VERIFY)["all_reduce"]
        # Which of them costs least is this machine's; shared memory sends none.
        self.assertRegex(sums["algorithm"], r"^auto \((ring|doubling|halving)[^)]*\), messages verified$")
        self.assertNotIn("shared", sums["algorithm"])
        self.assertIn("by measured costs for 2 ranks: ", sums["details"])

    def test_a_resumed_run_keeps_what_auto_chose(self):
        folder = self.trained(3, *AUTO, *VERIFY, "--checkpoint-every", "1epoch", "--epochs", "1")["config"]["run-dir"]
        before = self.program.record(folder)["all_reduce"]
        result = self.program.run_ranks(3, "train", "--resume", folder, "--epochs", "2")
        self.completed(result)
        after = self.program.record(folder)["all_reduce"]
        self.assertEqual(after["table"], before["table"])
        self.assertEqual(after["details"], "as before the run was resumed")
        self.completed(self.program.run_ranks(2, "train", "--resume", folder, "--epochs", "3"))
        self.assertIn("by measured costs for 2 ranks: ", self.program.record(folder)["all_reduce"]["details"])

    @longer
    def test_a_corrupted_message_ends_the_run_and_is_told_by_its_receiver(self):
        for i, (ranks, way) in enumerate(part(WAYS, 3)):
            for overlap in ("on", "off") if i == 0 else ("on",) if i % 2 else ("off",):
                with self.subTest(ranks=ranks, way=way, overlap=overlap):
                    words = [*way, "--overlap", overlap, *VERIFY, "RUEDA_INJECT=corrupt-message:1:2"]
                    result = self.start(ranks, *words)
                    words_of_it = ["a message of gradients was corrupted", "to rank 1 on", "step 2, bucket 0"]
                    self.refused(result, *words_of_it, "check sum", "rueda doctor", code=1)

    def test_rank_0_that_finds_it_leaves_the_reason_in_run_json(self):
        result = self.start(3, *VERIFY, "RUEDA_INJECT=corrupt-message:0:1")
        self.refused(result, "to rank 0", code=1)
        record = self.program.record(result.run_dir)
        self.assertEqual(record["outcome"], "failed")
        self.assertIn("a message of gradients was corrupted", json.dumps(record))


class Unverified(VerifyCase):
    """Who sees a corrupted message without check sums."""

    @long
    def test_replicas_agree_on_a_wrong_sum(self):
        for ranks, way in WAYS[:4]:
            with self.subTest(ranks=ranks, way=way):
                wrong = self.trained(ranks, *way, "RUEDA_INJECT=corrupt-message:1:2")
                self.assertNotEqual(hashes(wrong), hashes(self.known_run(ranks, *way)))

    def test_the_replica_check_sees_what_one_rank_alone_got(self):
        result = self.start(2, "--all-reduce", "doubling", "RUEDA_INJECT=corrupt-message:1:2")
        self.refused(result, "replicas differ", "step 2", code=1)


class Refused(VerifyCase):
    def test_sums_without_messages_of_our_own(self):
        """On more ranks, and where a message is to be corrupted: tests/mpi/refusals_test.cpp."""
        for way in ("shared", "mpi"):
            with self.subTest(way=way):
                self.refused(self.start(1, "--all-reduce", way, *VERIFY), "--verify-messages", f"--all-reduce {way}")

    def test_a_message_that_one_rank_never_gets(self):
        result = self.start(1, "RUEDA_INJECT=corrupt-message:0:1")
        self.refused(result, "RUEDA_INJECT=corrupt-message", "one rank")


if __name__ == "__main__":
    main()
