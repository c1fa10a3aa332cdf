#!/usr/bin/env python3
"""Unequal parts of a batch: by hand, by speed, in records, in a resumed run.

usage: balance_test.py RUEDA MPIEXEC
"""

import csv
import json

from checkpoint_test import curve, rewrite
from rueda_runs import ProgramCase, hashes, main

# Two epochs of four steps, the last of which has 8 images of 16.
NET = ["--data", "data", "--data-limit", "56", "--global-batch", "16", "--image-size", "16", "--epochs", "2"]
NET += ["--threads", "1", "--eval-every", "1", "--augment", "standard", "--progress", "lines"]
# A rank that computes nothing is as slow as it says, whatever else the machine does.
TIMED = ["--backend", "timed", "--data", "data", "--compute", "40", "--data-limit", "96", "--global-batch", "24",
         "--epochs", "2"]
UNEQUAL = ["--compute", "ms=40,factors=1:2"]  # rank 1 takes twice as long
TIMED += ["--progress", "lines"]


class BalanceTest(ProgramCase):
    def train(self, ranks, run_dir, *words, net=NET):
        self.completed(self.program.run_on(ranks, "train", *net, "--run-dir", run_dir, *words))
        return self.program.record(run_dir)

    def batches(self, record):
        return [epoch["batch_per_rank"] for epoch in record["epochs"]]

    def test_equal_parts_are_the_default_bit_for_bit(self):
        plain = self.train(2, "plain")
        given = self.train(2, "given", "--balance", "1,1")
        self.assertEqual(curve(given), curve(plain))
        self.assertEqual(self.batches(plain), [[8, 8]] * 2)
        self.assertEqual((plain["config"]["balance"], given["config"]["balance"]), ("equal", "1,1"))

    def test_given_parts_repeat_bit_for_bit_and_are_recorded(self):
        first = self.train(3, "one", "--balance", "5,2,1", "--check-replicas", "step")
        self.assertEqual(curve(self.train(3, "two", "--balance", "10,4,2")), curve(first))
        self.assertNotEqual(hashes(first), hashes(self.train(3, "three")))
        self.assertEqual(first["batch"]["per_rank"], [10, 4, 2])
        self.assertEqual([first["batch"][key] for key in ("micro_batch", "micro_batch_asked")], [10, 10])
        self.assertEqual(self.batches(first), [[10, 4, 2]] * 2)
        with open(self.folder / "one" / "steps.csv", encoding="ascii", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["epoch"] == "1"]
        samples = [[int(r["samples"]) for r in rows if r["step"] == step] for step in "1234"]
        self.assertEqual(samples, [[10, 4, 2]] * 3 + [[5, 2, 1]])
        self.assertEqual({r["global_samples"] for r in rows[-3:]}, {"8"})

    def test_an_evaluation_scores_each_image_once(self):
        """The ranks' unequal parts of the test images give the loss that one rank finds."""
        run = self.train(3, "scored", "--balance", "5,2,1")
        checked = self.program.run("evaluate", "--init-weights", "scored/weights.safetensors", "--data", "data",
                                   "--image-size", "16", "--threads", "1", "--json", "scores.json")  # fmt: skip
        self.completed(checked)
        score = json.loads((self.folder / "scores.json").read_text(encoding="utf-8"))
        self.assertAlmostEqual(score["val_loss"], run["epochs"][-1]["val_loss"], places=5)
        self.assertEqual(score["val_accuracy"], run["epochs"][-1]["val_accuracy"])

    def test_ranks_that_are_alike_keep_equal_parts_and_are_told(self):
        result = self.completed(self.program.run_on(2, "train", *TIMED, "--run-dir", "alike", "--balance", "speed"))
        self.assertIn("images per rank: 12, 12, others would not shorten a step by 5 % (--balance speed)", result.said)

    def test_micro_batches_divide_a_rank_s_part(self):
        run = self.train(2, "micro", "--balance", "3,1", "--accumulate", "2")
        self.assertEqual(run["batch"]["per_rank"], [12, 4])
        self.assertEqual(run["batch"]["micro_batch"], 6)
        self.assertEqual(run["epochs"][0]["samples"], 56)

    def test_a_resumed_run_keeps_its_parts_and_its_bits(self):
        whole = curve(self.train(2, "whole", "--balance", "11,5"))
        stopped = self.program.run_on(2, "train", *NET, "--balance", "11,5", "--run-dir", "cut",
                                      "RUEDA_INJECT=stop:1:2")
        self.assertEqual(stopped.code, 75, stopped)
        self.completed(self.program.run_on(2, "train", "--resume", "cut"))
        self.assertEqual(curve(self.program.record("cut")), whole)

    def test_a_run_by_speed_resumes_with_the_parts_of_its_checkpoint(self):
        """Whatever was measured: the parts are set by hand to what no measurement would give."""
        stopped = self.program.run_on(
            2, "train", *NET, "--balance", "speed", "--run-dir", "fast", "RUEDA_INJECT=stop:1:2"
        )
        self.assertEqual(stopped.code, 75, stopped)
        checkpoint = next((self.folder / "fast" / "checkpoints").iterdir())
        shares = json.loads((checkpoint / "manifest.json").read_text(encoding="utf-8"))["position"]["shares"]
        self.assertEqual(sum(shares), 16)
        rewrite(checkpoint, sizes={"position": {"shares": [14, 2]}})
        self.completed(self.program.run_on(2, "train", "--resume", "fast"))
        self.assertEqual(self.batches(self.program.record("fast"))[0], [14, 2])

    def test_ranks_get_what_their_speed_is_worth(self):
        """At the start: a rank that takes twice as long gets about half as much, and the step less time."""
        equal = self.train(2, "timed-equal", *UNEQUAL, net=TIMED)
        result = self.program.run_on(
            2, "train", *TIMED, *UNEQUAL, "--balance", "speed", "--run-dir", "timed"
        )
        self.completed(result)
        run = self.program.record("timed")
        fast, slow = self.batches(run)[0]
        self.assertEqual(fast + slow, 24)
        self.assertGreaterEqual(fast, slow + 4)
        self.assertEqual(len(equal["epochs"]), len(run["epochs"]))
        self.assertRegex(result.out, r"24 global, \d+, \d+ per rank \(by speed\)")
        self.assertEqual([run["batch"][key] for key in ("micro_batch", "micro_batch_asked")], [fast, fast])
        self.assertNotIn("micro-batches of", result.out)
        self.assertRegex(result.out, rf"images/rank +12, 12 in equal parts; {fast}, {slow} from epoch 1 on")
        status = json.loads((self.folder / "timed" / "status.json").read_text(encoding="utf-8"))
        self.assertEqual(status["images_per_rank"], run["batch"]["per_rank"])
        watched = self.program.run("watch", "timed", "--once")
        self.assertIn(f"images per rank {fast}, {slow}", watched.out)

    def test_parts_change_after_an_epoch_that_they_did_not_suit(self):
        """A rank has become slow since the checkpoint: the next epoch has other parts. Each half of an epoch has four
        steps, so that a step that the machine delays decides nothing."""
        longer = ["192" if word == "96" else word for word in TIMED]
        stopped = self.program.run_on(
            2, "train", *longer, "--balance", "speed", "--run-dir", "turned", "--checkpoint-every", "1epoch",
            "--epochs", "1",
        )  # fmt: skip
        self.completed(stopped)
        again = self.program.run_on(
            2, "train", "--resume", "turned", "--epochs", "4", "--compute", "ms=40,factors=1:3"
        )
        self.completed(again)
        batches = self.batches(self.program.record("turned"))
        self.assertEqual(self.program.record("turned")["batch"]["micro_batch"], max(batches[-1]))
        self.assertEqual([sum(images) for images in batches], [24] * 4)
        self.assertLess(abs(batches[1][0] - batches[1][1]), 8, batches)
        self.assertGreater(batches[3][0], batches[1][0] + 2, batches)
        self.assertRegex(again.said, r"images per rank from epoch 3 on: \d+, \d+, before \d+, \d+ \(--balance speed\)")


if __name__ == "__main__":
    main()
