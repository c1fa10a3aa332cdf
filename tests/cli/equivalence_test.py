#!/usr/bin/env python3
"""What does not depend on the number of ranks, and what a run must reach: whole runs compared.

usage: equivalence_test.py RUEDA MPIEXEC
"""

import csv
import sys

import summary_line
from program_case import ProgramCase
from rueda_runs import needs_bf16

# 22 images in global batches of 8: the last step has 6, which 4 ranks share as 2, 2, 1, 1.
SMALL = ["--model", "resnet20", "--image-size", "16", "--data-limit", "22", "--epochs", "2"]
SMALL += ["--global-batch", "8", "--threads", "1", "--eval-every", "0", "--augment", "standard"]


class WholeRuns(ProgramCase):
    """Each run is known by its words."""

    known = {}  # the hashes of runs, by their words

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program.time_limit *= 15  # whole trainings

    def train(self, ranks, *options):
        """The run.json of a run."""
        name = "run-" + "-".join([str(ranks), *options]).replace("/", "_")
        words = (*options, "--run-dir", name, "--overwrite")
        self.completed(self.program.run_ranks(ranks, "train", *words))
        return self.program.record(name)

    def step_losses(self, ranks, *options):
        """The loss of every step of a run of one epoch."""
        folder = self.train(ranks, *options)["config"]["run-dir"]
        text = (self.folder / folder / "steps.csv").read_text(encoding="utf-8")
        rows = csv.DictReader(text.splitlines())
        return [float(row["train_loss"]) for row in rows if row["rank"] == "0"]

    def fresh_hashes(self, ranks, *options):
        return [epoch["parameter_hash"] for epoch in self.train(ranks, *options)["epochs"]]

    def hashes(self, ranks, *options):
        """The same, of an earlier run with these words if there was one."""
        key = (ranks, *options)
        if key not in self.known:
            self.known[key] = self.fresh_hashes(ranks, *options)
        return self.known[key]


class EquivalenceTest(WholeRuns):
    """What the number of ranks must not change."""

    def test_ranks_equal_micro_batches_bit_for_bit(self):
        for count in (2, 3, 4):
            with self.subTest(count=count):
                fixed = [*SMALL, "--reduce-order", "fixed"]
                ranks = self.hashes(count, *fixed)
                alone = self.hashes(1, *fixed, "--accumulate", str(count))
                self.assertEqual(ranks, alone)
                self.assertEqual(len(ranks), 2)

    def test_four_ranks_equal_two_ranks_of_two_micro_batches(self):
        fixed = [*SMALL, "--reduce-order", "fixed"]
        self.assertEqual(self.hashes(4, *fixed), self.hashes(2, *fixed, "--accumulate", "2"))

    @needs_bf16
    def test_ranks_equal_micro_batches_in_bf16_too(self):
        fixed = [*SMALL, "--reduce-order", "fixed"]
        narrow = [*fixed, "--precision", "bf16"]
        ranks = self.hashes(3, *narrow)
        self.assertEqual(ranks, self.hashes(1, *narrow, "--accumulate", "3"))
        self.assertNotEqual(ranks, self.hashes(3, *fixed))

    def test_fixed_slices_equal_micro_batches_too(self):
        fixed = [*SMALL, "--reduce-order", "fixed", "--shard", "fixed"]
        self.assertEqual(self.hashes(3, *fixed), self.hashes(1, *fixed, "--accumulate", "3"))

    def test_an_empty_shard_changes_nothing(self):
        # 9 images in steps of 8: the last step has one image, so three ranks of four have none.
        options = [*SMALL, "--reduce-order", "fixed", "--data-limit", "9"]
        self.assertEqual(self.hashes(4, *options), self.hashes(1, *options, "--accumulate", "4"))

    def test_a_run_repeats_bit_for_bit(self):
        for options in ([], ["--all-reduce", "mpi"], ["--reduce-order", "fixed"]):
            with self.subTest(options=options):
                self.assertEqual(
                    self.fresh_hashes(3, *SMALL, *options), self.hashes(3, *SMALL, *options)
                )

    def test_the_ring_stays_near_one_rank(self):
        """Another order of addition: the loss after the first update agrees to rounding."""
        two_steps = [*SMALL, "--data-limit", "48", "--global-batch", "24"]
        two_steps += ["--epochs", "1", "--lr", "0.001"]
        first, second = self.step_losses(1, *two_steps, "--accumulate", "4")
        self.assertGreater(abs(second - first), 1e-3 * first)
        for algorithm in ("ring", "mpi"):
            losses = self.step_losses(4, *two_steps, "--all-reduce", algorithm)
            self.assertAlmostEqual(losses[0], first, delta=1e-6 * first)
            self.assertAlmostEqual(losses[1], second, delta=1e-5 * second)

    def test_replicas_are_equal_after_every_step(self):
        self.train(3, *SMALL, "--check-replicas", "step")


class LearningTest(WholeRuns):
    """A correctness run with a fixed seed: the data can be learned, and the program learns it."""

    def test_resnet20_exceeds_80_percent_on_the_synthetic_test_set(self):
        run = self.train(
            2, "--model", "resnet20", "--data", "synthetic", "--epochs", "6", "--seed", "1",
            "--batch-per-rank", "64", "--lr", "0.05", "--lr-schedule", "cosine", "--target-accuracy", "0.8",
        )  # fmt: skip
        self.assertEqual(run["summary"]["outcome"], "target reached", run["epochs"])
        self.assertGreaterEqual(run["epochs"][-1]["val_accuracy"], 0.8)
        losses = [epoch["loss"] for epoch in run["epochs"]]
        self.assertLess(losses[-1], losses[0])


if __name__ == "__main__":
    ProgramCase.paths = (sys.argv[1], sys.argv[2])
    summary_line.main()
