#!/usr/bin/env python3
"""`--input stream` against `--input resident`: the same bits, other times.

usage: input_test.py RUEDA MPIEXEC cpu|cuda
"""

import subprocess
import sys
from pathlib import Path

from rueda_runs import ProgramCase, environment, hashes, main

COMPARE = str(Path(__file__).resolve().parents[2] / "jobs" / "check" / "compare_input.py")
BACKEND = "cuda" if "cuda" in sys.argv else "cpu"
SIDE = 8  # pixels: the stand-in computes slowly

# 22 images in global batches of 8: the last step has 6.
SMALL = ["--model", "resnet20", "--data", "data", "--image-size", str(SIDE), "--data-limit", "22", "--epochs", "2"]
SMALL += ["--global-batch", "8", "--threads", "1", "--eval-every", "0"]
EMPTY_SHARD = ["--data-limit", "9"]  # the last step has one image, so two ranks of three have none


class InputTest(ProgramCase):
    time_limit = 600

    def start(self, ranks, *options):
        backend = ["--backend", BACKEND] + ["--allow-shared-gpu"] * (BACKEND == "cuda")
        return super().start(ranks, *SMALL, *backend, *options)

    def check_equal(self, ranks, workers, *options):
        with self.subTest(ranks=ranks, workers=workers, options=options):
            resident = hashes(self.known_run(ranks, *options))
            self.assertEqual(len(set(resident)), 2)
            streamed = ["--input", "stream", "--input-workers", str(workers)]
            self.assertEqual(hashes(self.trained(ranks, *options, *streamed)), resident)

    def test_any_number_of_workers_gives_the_bits_of_resident_input(self):
        for workers in (0, 3):
            self.check_equal(1, workers)

    def test_augmentation_and_micro_batches_of_two_ranks(self):
        self.check_equal(2, 2, "--augment", "standard", "--accumulate", "2")

    def test_three_ranks_with_an_empty_shard(self):
        self.check_equal(3, 1, *EMPTY_SHARD, "--shard", "fixed", "--accumulate", "2")

    def test_what_a_streamed_run_tells(self):
        run = self.trained(2, "--input", "stream", "--input-workers", "1")
        self.assertEqual(run["said"].count("batches prepared by 1 host thread of each rank"), 1, run["said"])
        self.assertEqual(run["input"], {"mode": "stream", "workers_per_rank": 1})
        figures = run["summary"]["steady_input"]
        self.assertEqual(figures["steps"], 3)
        self.assertGreater(figures["prepare_busy"]["min"], 0)
        bytes_of_images = 11 / 3 * SIDE * SIDE * 3 * 4  # labels go along
        copied = (figures["copy_bytes"]["mean"], figures["copy_busy"]["mean"], figures["copy_exposed"]["mean"])
        if BACKEND == "cuda":
            self.assertGreater(copied[0], bytes_of_images)
            self.assertLess(copied[0], 1.05 * bytes_of_images)
            self.assertGreater(min(copied), 0)
            self.assertGreater(figures["copy_GBps"], 0)
        else:
            self.assertEqual(copied, (0, 0, 0))
            self.assertIsNone(figures["copy_GBps"])
        for rank in run["ranks"]:
            self.assertGreaterEqual(rank["memory"]["staging"], 2 * 4 * SIDE * SIDE * 3 * 4)
        # The phases of every step still add up to it.
        self.assertEqual(len(run["steps"]), 2 * 3 * 2)
        phases = ("load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other")
        for row in run["steps"]:
            total = sum(float(row[phase]) for phase in phases)
            self.assertAlmostEqual(total, float(row["seconds"]), delta=1e-9)

    def test_resident_is_the_default(self):
        run = self.known_run(1)
        self.assertEqual(run["said"].count("resident: the device makes each batch"), 1, run["said"])
        self.assertEqual(run["input"], {"mode": "resident", "workers_per_rank": None})
        self.assertEqual(run["summary"]["steady_input"]["prepare_busy"]["max"], 0)
        self.assertEqual(run["ranks"][0]["memory"]["staging"], 0)

    def test_both_side_by_side(self):
        command = [sys.executable, COMPARE, "--out", "both", "--", self.program.binary, "train"]
        done = subprocess.run(
            [*command, *SMALL, "--backend", BACKEND, "--epochs", "1"], cwd=self.folder,
            env=environment({}), capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done)
        rows = {line.split("  ")[0]: line.split() for line in done.stdout.splitlines() if line}
        self.assertEqual(rows["input"][1:], ["resident", "stream"])
        for run in ("resident", "stream"):
            throughput = self.program.record(f"both/{run}")["summary"]["steady_images_per_second"]
            self.assertIn(f"{throughput:.1f}", rows["images/s"])
        self.assertIn("same bits", done.stdout)


if __name__ == "__main__":
    main(3)
