#!/usr/bin/env python3
"""What does not depend on the number of ranks, and what a run must reach: whole runs compared.

usage: equivalence_test.py RUEDA MPIEXEC
"""

from rueda_runs import ProgramCase, hashes, long, longer, losses, main, needs_bf16, part

# 22 images in global batches of 8: the last step has 6, which 4 ranks share as 2, 2, 1, 1.
SMALL = ["--model", "resnet20", "--data", "data", "--image-size", "16", "--data-limit", "22", "--epochs", "2"]
SMALL += ["--global-batch", "8", "--threads", "1", "--eval-every", "0", "--augment", "standard"]
FIXED = [*SMALL, "--reduce-order", "fixed"]
LARS = [*FIXED, "--optimizer", "lars", "--lars-trust", "0.02", "--label-smoothing", "0.1"]


class EquivalenceTest(ProgramCase):
    """What the number of ranks must not change."""

    time_limit = 600  # whole trainings

    def hashes(self, ranks, *options):
        return hashes(self.known_run(ranks, *options))

    def same_bits(self, ranks, *options, others=1):
        """`ranks` ranks end in the bits of fewer ones that compute as many micro-batches."""
        found = self.hashes(ranks, *options)
        self.assertEqual(found, self.hashes(others, *options, "--accumulate", str(ranks // others)))
        self.assertEqual(len(found), 2)
        return found

    @longer
    def test_ranks_equal_micro_batches_bit_for_bit(self):
        for ranks, others in part([(3, 1), (4, 2), (4, 1)], 2):
            with self.subTest(ranks=ranks, others=others):
                self.same_bits(ranks, *FIXED, others=others)

    @needs_bf16
    def test_ranks_equal_micro_batches_in_bf16_too(self):
        self.assertNotEqual(self.same_bits(3, *FIXED, "--precision", "bf16"), self.hashes(3, *FIXED))

    @long
    def test_fixed_slices_equal_micro_batches_too(self):
        self.same_bits(3, *FIXED, "--shard", "fixed")

    def test_an_empty_shard_changes_nothing(self):
        # 9 images in steps of 8: the last step has one image, so three ranks of four have none.
        self.same_bits(4, *FIXED, "--data-limit", "9")

    @longer
    def test_lars_needs_no_more_than_the_sums_of_its_buckets(self):
        found = self.same_bits(3, *LARS)
        self.assertNotEqual(found, self.hashes(3, *FIXED, "--label-smoothing", "0.1"))
        cut = ["--bucket-mb", "0.1", "--check-replicas", "step"]
        for options in part([["--overlap", "on", "--audit-every", "2"], ["--overlap", "off"]], 1):
            with self.subTest(options=options):
                self.assertEqual(hashes(self.trained(3, *LARS, *cut, *options)), found)

    def test_smoothed_labels_are_those_of_training_alone(self):
        """The parameters stay as they are, so that only the loss can differ."""
        still = [*SMALL, "--epochs", "1", "--eval-every", "1", "--lr", "1e-30", "--weight-decay", "0"]
        (plain,) = self.trained(2, *still)["epochs"]
        (smoothed,) = self.trained(2, *still, "--label-smoothing", "0.5")["epochs"]
        self.assertNotAlmostEqual(smoothed["loss"], plain["loss"], delta=0.01 * plain["loss"])
        for name in ("accuracy", "val_loss", "val_accuracy"):
            self.assertEqual(smoothed[name], plain[name], name)

    @longer
    def test_a_run_repeats_bit_for_bit(self):
        for options in part([FIXED, SMALL, [*SMALL, "--all-reduce", "mpi"]], 1):
            with self.subTest(options=options):
                # With the check of the replicas after every step, which must find nothing.
                again = self.trained(3, *options, "--check-replicas", "step")
                self.assertEqual(hashes(again), self.hashes(3, *options))

    def test_the_ring_stays_near_one_rank(self):
        """Another order of addition: the loss after the first update agrees to rounding."""
        two_steps = [*SMALL, "--data-limit", "48", "--global-batch", "24", "--epochs", "1", "--lr", "0.001"]
        first, second = losses(self.trained(1, *two_steps, "--accumulate", "4"))
        self.assertGreater(abs(second - first), 1e-3 * first)
        for algorithm in ("ring", "mpi"):
            found = losses(self.trained(4, *two_steps, "--all-reduce", algorithm))
            self.assertAlmostEqual(found[0], first, delta=1e-6 * first)
            self.assertAlmostEqual(found[1], second, delta=1e-5 * second)

    @long
    def test_resnet20_learns_to_exceed_80_percent_on_the_synthetic_test_set(self):
        """A correctness run with a fixed seed: the data can be learned, and the program learns it."""
        run = self.trained(
            2, "--model", "resnet20", "--image-size", "16", "--data", "synthetic", "--epochs", "6", "--seed", "1",
            "--threads", "1", "--batch-per-rank", "64", "--lr", "0.05", "--target-accuracy", "0.8",
        )  # fmt: skip
        self.assertEqual(run["summary"]["outcome"], "target reached", run["epochs"])
        self.assertGreaterEqual(run["epochs"][-1]["val_accuracy"], 0.8)
        self.assertLess(run["epochs"][-1]["loss"], run["epochs"][0]["loss"])


if __name__ == "__main__":
    main()
