#!/usr/bin/env python3
"""The gradient noise scale of real trainings: records, tables, and that no bit of training depends on it.

usage: noise_test.py RUEDA MPIEXEC
"""

import json
import math

from checkpoint_test import curve
from rueda_runs import ProgramCase, hashes, longer, main, needs_bf16, part

# Two epochs of six steps of 24 images and one of 6.
NET = ["--data", "data", "--data-limit", "150", "--global-batch", "24", "--image-size", "16", "--epochs", "2"]
NET += ["--threads", "1", "--eval-every", "0", "--progress", "off"]
# Ranks, options, and the parts of a full step and of the last one.
WAYS = [
    (1, ["--accumulate", "2"], 2, 2),
    (2, ["--overlap", "on", "--bucket-mb", "0.2"], 2, 2),
    (3, ["--accumulate", "2", "--overlap", "off", "--bucket-mb", "0.2"], 6, 6),
    (4, ["--balance", "11,7,5,1"], 4, 4),
    (5, ["--all-reduce", "mpi", "--check-replicas", "step"], 5, 5),
    (2, ["--reduce-order", "fixed", "--bucket-mb", "0.2", "--overlap", "on"], 2, 2),
    (2, ["--balance", "1,23"], 2, 1),
    (2, ["--wire", "bf16", "--bucket-mb", "0.2"], 2, 2),
]


def noise_of(record):
    return [epoch["gradient_noise"] for epoch in record["epochs"]]


class NoiseTest(ProgramCase):
    def measured(self, record, full, last):
        """The norms of each step are there, and agree with the epoch's noise scale."""
        rows = record["steps"]
        for row in rows:
            has = [row[name] != "" for name in ("parts", "part_norm2", "gradient_norm2")]
            self.assertEqual(has, [row["rank"] == "0"] * 3, row)
        for epoch in record["epochs"]:
            mine = [row for row in rows if row["rank"] == "0" and int(row["epoch"]) == epoch["epoch"]]
            self.assertEqual([int(row["parts"]) for row in mine], [full] * 6 + [last])
            variance, norm2 = [], []
            for row in mine:
                batch, parts, q, g2 = (float(row[n])
                                       for n in ("global_samples", "parts", "part_norm2", "gradient_norm2"))
                self.assertGreaterEqual(q, g2 * (1 - 1e-6))
                if parts > 1:
                    variance.append((q - g2) * batch / (parts - 1))
                    norm2.append(g2 - variance[-1] * (1 / batch - 1 / 150))
            noise = epoch["gradient_noise"]
            self.assertEqual((noise["batch"], noise["parts"], noise["steps"]), (24, full, len(variance)))
            self.assertAlmostEqual(noise["variance"] / (sum(variance) / len(variance)), 1, places=9)
            self.assertTrue(math.isclose(noise["gradient_norm2"], sum(norm2) / len(norm2), rel_tol=1e-9))
            if noise["reason"] is None:
                self.assertAlmostEqual(noise["scale"], sum(variance) / sum(norm2), delta=1e-9 * noise["scale"])
                self.assertLessEqual(noise["low"], noise["scale"])
                self.assertGreaterEqual(noise["high"], noise["scale"])
            else:
                self.assertEqual([noise[key] for key in ("scale", "low", "high", "learning_efficiency")], [None] * 4)

    @longer
    def test_norms_are_measured_in_every_way_and_change_no_bit(self):
        for ranks, words, full, last in part(WAYS, 5):
            with self.subTest(ranks=ranks, words=words):
                with_norms = self.trained(ranks, *NET, *words, "--noise-scale", "1")
                self.measured(with_norms, full, last)
                without = self.trained(ranks, *NET, *words, "--noise-scale", "0")
                self.assertEqual(hashes(without), hashes(with_norms))
                self.assertEqual(curve(without), curve(with_norms))
                self.assertEqual(noise_of(without), [None, None])
                self.assertTrue(all(row["parts"] == "" for row in without["steps"]))
                self.assertNotIn("noise scale", without["said"])

    @needs_bf16
    def test_in_bf16(self):
        self.measured(self.trained(2, *NET, "--precision", "bf16"), 2, 2)

    def test_ranks_and_micro_batches_measure_the_same(self):
        """Bit for bit the same parts: two ranks, or one with two micro-batches."""
        words = ["--reduce-order", "fixed", "--all-reduce", "ring"]
        two, one = self.trained(2, *NET, *words), self.trained(1, *NET, *words, "--accumulate", "2")
        self.assertEqual(noise_of(two), noise_of(one))

    def test_one_part_is_not_determined_and_the_remedy_named(self):
        record = self.trained(1, *NET)
        for noise in noise_of(record):
            self.assertEqual((noise["reason"], noise["scale"], noise["steps"]), ("one part a step", None, 0))
        self.assertIn("not determined", record["said"])
        self.assertIn("--accumulate 2", record["said"])
        self.assertEqual(record["summary"]["gradient_noise"], noise_of(record)[-1])

    def test_every_third_step_is_too_few(self):
        record = self.trained(2, *NET, "--noise-scale", "3")
        self.assertEqual([noise["steps"] for noise in noise_of(record)], [2, 2])
        self.assertEqual({noise["reason"] for noise in noise_of(record)}, {"few steps"})
        measured = [r["step"] for r in record["steps"] if r["parts"] != ""]
        self.assertEqual(measured, ["3", "6", "2", "5"])
        self.assertIn("not determined by 2 steps: lower --global-batch, --noise-scale", record["said"])

    def test_status_and_watch_show_the_last_epoch(self):
        record = self.trained(2, *NET)
        status = self.read(f"{record['run_dir']}/status.json")
        self.assertEqual(status["gradient_noise"], noise_of(record)[-1])
        watched = self.completed(self.program.run("watch", record["run_dir"], "--once"))
        self.assertIn("noise scale", watched.out)

    def test_a_resumed_run_has_the_noise_of_earlier_epochs_and_its_rows(self):
        whole = self.trained(2, *NET)
        stopped = self.program.run_on(2, "train", *NET, "--run-dir", "cut", "RUEDA_INJECT=stop:1:9")
        self.assertEqual(stopped.code, 75, stopped)
        self.completed(self.program.run_on(2, "train", "--resume", "cut"))
        record = self.program.record("cut")
        self.assertEqual(hashes(record), hashes(whole))
        self.assertEqual(noise_of(record)[0], noise_of(whole)[0])
        self.assertEqual(noise_of(record)[1]["steps"], 5)  # those of this process
        rows = (self.folder / "cut" / "steps.csv").read_text(encoding="ascii").splitlines()
        first = [row for row in rows if row.startswith("1,")]
        self.assertEqual(len(first), 14)

    def test_the_timed_backend_has_no_noise(self):
        words = ["--backend", "timed", "--compute", "1", "--data", "data", "--global-batch", "24", "--epochs", "1"]
        result = self.start(2, *words, "--noise-scale", "1", "--progress", "off")
        self.completed(result)
        self.assertEqual(noise_of(self.program.record(result.run_dir)), [None])
        self.assertIn("--noise-scale has no effect", result.said)

    def test_words_that_are_no_number_are_refused(self):
        for word in ("often", "-1", "1.5", ""):
            with self.subTest(word=word):
                self.refused(self.program.run("train", *NET, f"--noise-scale={word}"), "noise-scale")

    def test_gradients_that_overflow_end_the_run(self):
        result = self.program.run_on(2, "train", *NET, "--run-dir", "huge", "--lr", "900", "--epochs", "20",
                                     "--lr-schedule", "constant")  # fmt: skip
        self.assertEqual(result.code, 1, result)
        self.assertEqual(len(result.messages), 1, result)
        self.assertRegex(result.messages[0], "NaN or infinite")
        for noise in noise_of(json.loads((self.folder / "huge" / "run.json").read_text(encoding="utf-8"))):
            self.assertTrue(noise["scale"] is None or noise["scale"] >= 0)


if __name__ == "__main__":
    main()
