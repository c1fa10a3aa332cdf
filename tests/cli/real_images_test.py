#!/usr/bin/env python3
"""A short training on photographs: 6,000 images of Fashion-MNIST, three epochs on two ranks.

usage: real_images_test.py RUEDA MPIEXEC

Needs Debian's package dataset-fashion-mnist, which jobs/test.sh installs; skipped without.
"""

import gzip
import struct
import subprocess
import unittest
from pathlib import Path

from rueda_runs import PATIENCE, ProgramCase, main

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("/usr/share/datasets/fashion-mnist")
TRAIN, TEST = 6_000, 2_000

RECIPE = ["--model", "resnet20", "--image-size", "16", "--epochs", "3", "--batch-per-rank", "32", "--threads", "1"]
RECIPE += ["--lr", "0.05", "--lr-schedule", "cosine", "--eval-every", "3"]

# What this training gives: seeds 1 to 7 a test accuracy of 0.845 to 0.862 (mean 0.854, deviation 0.006) and in the last
# epoch a training loss of 0.318 to 0.355 (mean 0.337, deviation 0.012). Each bound is four deviations or more away.
# What broken trainers gave, each fault alone in the code (test accuracy, training loss):
#   running statistics of batch norm not updated          0.093  0.35
#   learning rate 0, no update                            0.110  4.37
#   labels of the training images shuffled                0.192  2.27
#   gradients not summed, each rank takes its own         0.699  0.42; other seeds 0.752  0.40, 0.777  0.40
#   parameters of the first layers not updated            0.775  0.51
#   no momentum                                           0.782  0.58
#   parameters of the last layers not updated             0.838  0.47
#   both ranks train on the same half of the images       0.843  0.42; another seed 0.832  0.42
# Not seen: half the learning rate (0.834, 0.37), and input that is not normalised (0.850, 0.32), which batch norm makes
# up for. Tests that compare single steps and pixels see both.
LOWEST_ACCURACY, HIGHEST_LOSS = 0.825, 0.39


def first_of(name, count, head, size):
    """The first `count` elements of an IDX file."""
    with gzip.open(PACKAGE / f"{name}.gz") as file:
        content = file.read(head + count * size)
    return gzip.compress(content[:4] + struct.pack(">I", count) + content[8:], compresslevel=1)


@unittest.skipUnless(PACKAGE.is_dir(), "Debian's package dataset-fashion-mnist is not installed")
class RealImagesTest(ProgramCase):
    time_limit = 300

    def test_two_ranks_learn_photographs(self):
        (self.folder / "idx").mkdir()
        for split, count in (("train", TRAIN), ("t10k", TEST)):
            for name, head, size in (("images-idx3-ubyte", 16, 28 * 28), ("labels-idx1-ubyte", 8, 1)):
                self.path(f"idx/{split}-{name}.gz").write_bytes(first_of(f"{split}-{name}", count, head, size))
        command = [ROOT / "jobs/data.sh", "fashion-mnist", self.folder, "--from", self.folder / "idx"]
        subprocess.run(command, check=True, timeout=120 * PATIENCE)
        epoch = self.trained(2, *RECIPE, "--data", "fashion-mnist")["epochs"][-1]
        self.assertEqual(epoch["val_samples"], TEST)
        self.assertGreater(epoch["val_accuracy"], LOWEST_ACCURACY)
        self.assertLess(epoch["loss"], HIGHEST_LOSS)


if __name__ == "__main__":
    main()
