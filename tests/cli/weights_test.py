#!/usr/bin/env python3
"""Weights in and out: `rueda train --save-weights` and `--init-weights`, read by a reader of our own.

usage: weights_test.py RUEDA MPIEXEC
"""

import json
import math
import struct

from rueda_runs import ProgramCase, main

# Every step on the same 64 images, and no memory but the weights: two epochs are one twice.
PLAIN = ["--model", "resnet20", "--image-size", "16", "--epochs", "1", "--threads", "1", "--eval-every", "0"]
PLAIN += ["--data", "data", "--data-limit", "64", "--global-batch", "64", "--shuffle", "off", "--momentum", "0"]
PLAIN += ["--weight-decay", "0", "--lr-schedule", "constant", "--scale-lr", "none"]


def read_header(path):
    """The header of a safetensors file and where its data begins."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length].decode("utf-8")), data[8 + length :]


def norm(name, channels):
    """The five tensors of PyTorch's BatchNorm2d."""
    shapes = {f"{name}.{what}": [channels] for what in ("weight", "bias")}
    shapes.update({f"{name}.running_{what}": [channels] for what in ("mean", "var")})
    return {**shapes, f"{name}.num_batches_tracked": []}


def resnet20_shapes():
    """state_dict of He's ResNet-20 for CIFAR-10 with shortcuts that have no parameters."""
    shapes = {"conv1.weight": [16, 3, 3, 3], **norm("bn1", 16)}
    inputs = 16
    for stage, filters in enumerate((16, 32, 64), 1):
        for block in range(3):
            name = f"layer{stage}.{block}"
            shapes[f"{name}.conv1.weight"] = [filters, inputs, 3, 3]
            shapes[f"{name}.conv2.weight"] = [filters, filters, 3, 3]
            shapes.update({**norm(f"{name}.bn1", filters), **norm(f"{name}.bn2", filters)})
            inputs = filters
    return {**shapes, "linear.weight": [10, 64], "linear.bias": [10]}


class WeightsTest(ProgramCase):
    """Its folder also has weights after one epoch in w.safetensors."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.first = cls.train("--save-weights", "w.safetensors", "--run-dir", "first", ranks=2)
        assert cls.first.code == 0, cls.first

    @classmethod
    def train(cls, *words, ranks=1):
        return cls.program.run_on(ranks, "train", *PLAIN, *words)

    def path(self, name):
        return self.folder / name

    def test_names_shapes_and_values_of_resnet20(self):
        header, data = read_header(self.path("w.safetensors"))
        self.assertEqual(header.pop("__metadata__")["model"], "resnet20")
        expected = resnet20_shapes()
        self.assertEqual({name: entry["shape"] for name, entry in header.items()}, expected)
        floats = 0
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            if name.endswith(".num_batches_tracked"):
                self.assertEqual((entry["dtype"], begin % 8), ("I64", 0))
                self.assertEqual(struct.unpack("<q", data[begin:end]), (1,))
                continue
            self.assertEqual((entry["dtype"], begin % 4), ("F32", 0))
            values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            self.assertEqual(len(values), math.prod(entry["shape"]), name)
            self.assertTrue(all(map(math.isfinite, values)), name)
            floats += len(values)
        self.assertEqual(floats, 269_722 + 1_376)

    def test_the_run_says_where_they_are(self):
        self.assertRegex(self.first.out, r"(?m)^  w\.safetensors$")
        config = self.program.record("first")["config"]
        self.assertEqual((config["save-weights"], config["init-weights"]), ("w.safetensors", None))

    def test_reaching_the_target_saves_too(self):
        words = ("--epochs", "4", "--target-accuracy", "0.001", "--save-weights", "target")
        self.completed(self.train(*words, "--run-dir", "target-run"))
        self.assertEqual(self.program.record("target-run")["outcome"], "target reached")
        self.assertIn("conv1.weight", read_header(self.path("target"))[0])

    def test_a_run_that_fails_saves_nothing(self):
        result = self.train("--inject", "nan:0:1", "--save-weights", "failed")
        self.assertEqual(result.code, 1, result)
        self.assertFalse(self.path("failed").exists())

    def test_into_the_directory_of_the_run(self):
        self.completed(self.train("--run-dir", "inside", "--save-weights", "./inside/w"))
        self.assertTrue(self.path("inside/w").is_file())

    def test_a_run_goes_on_where_the_other_ended(self):
        fixed = ("--reduce-order", "fixed", "--seed", "3", "--run-dir")
        self.completed(self.train("--epochs", "2", *fixed, "both", ranks=2))
        self.completed(self.train("--save-weights", "w-one", *fixed, "one", ranks=2))
        self.completed(self.train("--init-weights", "w-one", *fixed, "other", ranks=2))
        expected, found = self.program.record("both")["epochs"][1], self.program.record("other")["epochs"][0]
        for key in ("loss", "parameter_hash"):
            self.assertEqual(found[key], expected[key])

    def test_the_run_says_where_they_come_from(self):
        self.path("begin.toml").write_text('init-weights = "w.safetensors"\n', encoding="utf-8")
        result = self.completed(self.train("--config", "begin.toml", "--run-dir", "begun"))
        self.assertRegex(result.out.replace("\n", " "), r"weights\s+from\s+w\.safetensors")
        self.assertEqual(self.program.record("begun")["config"]["init-weights"], "w.safetensors")

    def test_weights_that_can_not_be_used(self):
        whole = self.path("w.safetensors").read_bytes()
        self.path("cut").write_bytes(whole[:-4])
        self.path("diverged").write_bytes(whole[:-4] + struct.pack("<f", math.nan))
        for ranks, name, *words in (
            (2, "gone", "it is not there"),
            (1, "cut", "tensor 'linear.bias'", "data_offsets"),
            (1, "diverged", "tensor 'linear.bias'", "nan", "element 9"),
        ):
            self.refused(self.train("--init-weights", name, "--run-dir", "never", ranks=ranks), name, *words)
        words = ("--model", "resnet32", "--init-weights", "w.safetensors", "--run-dir", "never")
        self.refused(self.train(*words), "lacks 60 tensors", "'layer1.3.conv1.weight'", "resnet32")
        self.assertFalse(self.path("never").exists())

    def test_places_that_can_not_be_written(self):
        for ranks, name, why, *more in (
            (2, "nowhere/w", "nowhere does not exist"),
            (1, "data", "not a regular file", "--overwrite"),
            (1, "not-made/", "not a regular file"),
            (1, "/proc/w", "/proc can not be written"),
            (1, "not-made/run.json", "ends in .safetensors"),
            (1, "not-made/checkpoints", "its checkpoints"),
        ):
            target = ("--save-weights", name, "--run-dir", "not-made", *more)
            self.refused(self.train(*target, ranks=ranks), "--save-weights", name, why)
            self.assertFalse(self.path("not-made").exists())

    def test_existing_weights_need_overwrite(self):
        self.path("old").write_bytes(b"old")
        self.refused(self.train("--save-weights", "old", "--run-dir", "new"), "--save-weights old", "--overwrite")
        self.assertEqual(self.path("old").read_bytes(), b"old")
        words = ("--save-weights", "old", "--run-dir", "new", "--overwrite")
        self.completed(self.train(*words))
        self.assertIn("conv1.weight", read_header(self.path("old"))[0])


if __name__ == "__main__":
    main()
