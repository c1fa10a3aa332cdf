#!/usr/bin/env python3
"""Weights in and out: `rueda train --save-weights` and `--init-weights`, read by a reader of our own.

usage: weights_test.py RUEDA MPIEXEC
"""

import csv
import json
import math
import shutil
import struct
import threading

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
        self.assertRegex(self.first.out, r"(?m)^  files +first/run\.json, first/\*\.csv, w\.safetensors$")
        config = self.program.record("first")["config"]
        self.assertEqual((config["save-weights"], config["init-weights"]), ("w.safetensors", None))

    def test_reaching_the_target_saves_too(self):
        words = ("--epochs", "4", "--target-accuracy", "0.001", "--save-weights", "target")
        self.completed(self.train(*words, "--run-dir", "target-run"))
        self.assertEqual(self.program.record("target-run")["outcome"], "target reached")
        self.assertIn("conv1.weight", read_header(self.path("target"))[0])

    def test_a_run_that_fails_saves_nothing(self):
        result = self.train("RUEDA_INJECT=nan:0:1", "--save-weights", "failed")
        self.assertEqual(result.code, 1, result)
        self.assertFalse(self.path("failed").exists())

    def test_a_run_keeps_its_weights_and_evaluate_takes_them(self):
        words = ("--run-dir", "kept", "--eval-every", "1", "--global-batch", "23", "--overwrite")
        result = self.completed(self.train(*words, ranks=2))
        self.assertRegex(result.out, r"(?m)^  files +kept/run\.json, kept/\*\.csv, kept/weights\.safetensors$")
        epoch = self.program.record("kept")["epochs"][-1]
        asked = ("evaluate", "--init-weights", "kept", "--threads", "1", "--json", "e.json")
        for ranks in (1, 2):  # model, pixels, data and batch are those of the run
            self.completed(self.program.run_on(ranks, *asked))
            score = self.read("e.json")
            self.assertEqual((score["val_loss"], score["val_accuracy"]), (epoch["val_loss"], epoch["val_accuracy"]))
            self.assertEqual(score["config"]["batch-per-rank"], 12)  # rank 0's images of 23
        self.completed(self.train(*words, "--save-weights", "none"))
        self.assertFalse(self.path("kept/weights.safetensors").exists())
        self.refused(self.program.run(*asked), "--init-weights kept: there is no checkpoint")

    def test_weights_that_cannot_be_kept_cost_no_run(self):
        (self.path("full") / "weights.safetensors" / "of somebody").mkdir(parents=True)
        result = self.completed(self.train("--run-dir", "full"))
        self.assertIn("the weights are not kept: ", result.err)
        self.assertEqual(self.program.record("full")["outcome"], "completed")
        self.assertTrue((self.path("full") / "weights.safetensors" / "of somebody").is_dir())
        (self.path("empty") / "weights.safetensors").mkdir(parents=True)
        self.completed(self.train("--run-dir", "empty", "--overwrite"))
        self.assertTrue((self.path("empty") / "weights.safetensors").is_dir())

    def test_a_set_has_the_classes_that_it_names(self):
        shutil.copytree(self.path("data"), self.path("named"))
        names = [f"kind {k}" for k in range(12)]
        self.path("named/batches.meta.txt").write_text("\n".join(names))
        words = [word if word != "data" else "named" for word in PLAIN]
        self.completed(self.program.run("train", *words, "--run-dir", "twelve"))
        asked = ("evaluate", "--data", "named", "--json", "e.json", "--predictions", "p.csv", "--init-weights")
        out = self.completed(self.program.run(*asked, "twelve")).out
        self.assertIn("  11 kind 11 ", out)
        score = self.read("e.json")
        self.assertEqual([one["name"] for one in score["classes"]], names)
        self.assertEqual([len(row) for row in score["confusion"]], [12] * 12)
        self.assertTrue(self.path("p.csv").read_text().splitlines()[0].endswith(",p_10,p_11"))
        self.refused(self.program.run(*asked, "w.safetensors", "--image-size", "16"), "'linear.weight'",
                     "with 12 classes")

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
        for name, *words in (
            ("gone", "it is not there"),
            ("cut", "tensor 'linear.bias'", "data_offsets"),
            ("diverged", "tensor 'linear.bias'", "nan", "element 9"),
        ):
            self.refused(self.train("--init-weights", name, "--run-dir", "never"), name, *words)
        words = ("--model", "resnet32", "--init-weights", "w.safetensors", "--run-dir", "never")
        self.refused(self.train(*words), "lacks 60 tensors", "'layer1.3.conv1.weight'", "resnet32")
        self.assertFalse(self.path("never").exists())

    def test_places_that_can_not_be_written(self):
        for name, why, *more in (
            ("nowhere/w", "nowhere does not exist"),
            ("data", "it is a folder", "--overwrite"),
            ("not-made/", "it names no file"),
            ("/proc/w", "/proc can not be written"),
            ("not-made/run.json", "ends in .safetensors"),
            ("not-made/checkpoints", "its checkpoints"),
        ):
            target = ("--save-weights", name, "--run-dir", "not-made", *more)
            self.refused(self.train(*target), "--save-weights", name, why)
            self.assertFalse(self.path("not-made").exists())

    def test_existing_weights_need_overwrite(self):
        self.path("old").write_bytes(b"old")
        self.refused(self.train("--save-weights", "old", "--run-dir", "new"), "--save-weights old", "--overwrite")
        self.assertEqual(self.path("old").read_bytes(), b"old")
        words = ("--save-weights", "old", "--run-dir", "new", "--overwrite")
        self.completed(self.train(*words))
        self.assertIn("conv1.weight", read_header(self.path("old"))[0])


class EvaluateTest(ProgramCase):
    """Its folder has a run of two ranks and 16 images each, with a checkpoint an epoch, and the weights at its end."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        words = ["--global-batch", "32", "--epochs", "2", "--eval-every", "1", "--checkpoint-every", "1epoch"]
        cls.made("train", *PLAIN, *words, "--save-weights", "w.safetensors", "--run-dir", "run", ranks=2)
        cls.scores = [(epoch["val_loss"], epoch["val_accuracy"]) for epoch in cls.program.record("run")["epochs"]]

    def evaluate(self, ranks, weights, *words, **env):
        return self.program.run_on(ranks, "evaluate", "--init-weights", weights, *words, **env)

    def record(self, ranks, weights, *words):
        result = self.completed(self.evaluate(ranks, weights, *words, "--json", "e.json"))
        return {**self.read("e.json"), "said": result.said}

    def score(self, *words):
        record = self.record(*words)
        return record["val_loss"], record["val_accuracy"]

    def test_any_number_of_ranks_has_the_figures_of_training(self):
        net = ("--image-size", "16", "--data", "data", "--batch-per-rank", "16", "--threads", "1")
        files = set()
        for ranks in (1, 2, 3, 5):  # four batches, the last of 2 images
            record = self.record(ranks, "w.safetensors", *net, "--predictions", "p.csv")
            self.assertEqual((record["val_loss"], record["val_accuracy"]), self.scores[1])
            self.assertEqual((record["world_size"], record["val_samples"]), (ranks, 50))
            files.add(self.path("p.csv").read_bytes())
        self.assertEqual(len(files), 1)
        self.check_predictions(record)
        self.check_samples(record)

    def test_a_checkpoint_that_the_run_removes_gives_way_to_the_next(self):
        shutil.copytree(self.path("run"), self.path("live"))
        place = self.path("live/checkpoints")
        ended = threading.Event()

        def go_on():
            """As a run that keeps one checkpoint and writes others: whole ones take names by renaming."""
            step, last = 0, max(place.iterdir())
            for other in sorted(place.iterdir())[:-1]:
                shutil.rmtree(other)
            while not ended.wait(0.1 + 0.1 * step):  # however slow the reader is, in the end it is in time
                step += 1
                shutil.copytree(last, self.path("next"))
                last = self.path("next").rename(place / f"epoch-0002-step-{step:05d}")
                for other in place.iterdir():
                    if other != last:
                        shutil.rmtree(other)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            for _ in range(5):
                self.completed(self.evaluate(1, "live", "--data", "data"))
        finally:
            ended.set()
            thread.join()

    def test_weights_that_overflow_are_told_as_such(self):
        header, data = read_header(self.path("w.safetensors"))
        begin, end = header["conv1.weight"]["data_offsets"]
        whole = self.path("w.safetensors").read_bytes()
        begin, end = begin + len(whole) - len(data), end + len(whole) - len(data)
        huge = struct.pack("<f", 3e38) * ((end - begin) // 4)
        self.path("huge").write_bytes(whole[:begin] + huge + whole[end:])
        result = self.evaluate(1, "huge", "--image-size", "16", "--data", "data", "--threads", "1")
        self.refused(result, "the test loss is NaN or infinite", "these weights are not usable", code=1)
        self.assertNotIn("--lr", result.err)

    def test_a_prefix_of_all_names_is_left_out_and_told(self):
        header, data = read_header(self.path("w.safetensors"))
        named = {name if name == "__metadata__" else f"module.{name}": entry for name, entry in header.items()}
        text = json.dumps(named).encode()
        self.path("ddp.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
        net = ("--image-size", "16", "--data", "data", "--batch-per-rank", "16", "--threads", "1")
        record = self.record(2, "ddp.safetensors", *net)
        self.assertEqual((record["val_loss"], record["val_accuracy"]), self.scores[1])
        told = "note: names in ddp.safetensors begin with 'module.', which is left out"
        self.assertEqual(record["said"].count(told), 1, record["said"])

    def check_samples(self, record):
        """The first images, and the mistakes with the highest probabilities, in the pixels of the data set."""
        data = self.path("data/test_batch.bin").read_bytes()
        with open(self.path("p.csv"), encoding="ascii", newline="") as file:
            rows = list(csv.DictReader(file))
        wrong = [row for row in rows if row["label"] != row["predicted"]]
        wrong.sort(key=lambda row: (-float(row["probability"]), int(row["image"])))
        self.assertGreater(len(wrong), 8)
        for kind, wanted in (("first", rows[:8]), ("mistakes", wrong[:8])):
            found = record["samples"][kind]
            self.assertEqual([str(one["image"]) for one in found], [row["image"] for row in wanted])
            for one, row in zip(found, wanted):
                self.assertEqual([str(one["label"]), str(one["predicted"])], [row["label"], row["predicted"]])
                self.assertAlmostEqual(one["probability"], float(row["probability"]), places=6)
                planes = data[3073 * one["image"] + 1 :][:3072]
                self.assertEqual(bytes.fromhex(one["rgb"]), bytes(planes[i % 3 * 1024 + i // 3] for i in range(3072)))

    def check_predictions(self, record):
        """Computes the figures again from the probabilities of each image and the labels in the data set."""
        labels = list(self.path("data/test_batch.bin").read_bytes()[::3073])
        with open(self.path("p.csv"), encoding="ascii", newline="") as file:
            rows = list(csv.DictReader(file))
        loss, confusion = 0, [[0] * 10 for _ in range(10)]
        for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
            shares = [float(row[f"p_{k}"]) for k in range(10)]
            predicted = shares.index(max(shares))
            words = [row[key] for key in ("image", "label", "predicted", "probability")]
            self.assertEqual(words, [str(i), str(label), str(predicted), row[f"p_{predicted}"]])
            self.assertAlmostEqual(sum(shares), 1, places=5)
            loss -= math.log(shares[label])
            confusion[label][predicted] += 1
        self.assertAlmostEqual(loss / 50, record["val_loss"], places=4)
        self.assertEqual(sum(confusion[k][k] for k in range(10)) / 50, record["val_accuracy"])
        self.assertEqual(record["confusion"], confusion)
        for k, one in enumerate(record["classes"]):
            counts = (sum(confusion[k]), confusion[k][k], sum(row[k] for row in confusion))
            self.assertEqual((one["images"], one["correct"], one["predicted"]), counts)
            share = f"{100 * counts[1] / counts[0]:.1f}" if counts[0] else "-"
            cells = " +".join(map(str, confusion[k]))
            self.assertRegex(record["said"], rf"(?m)^  {k} {one['name']} +{cells} +{share}$")

    def test_a_checkpoint_brings_its_options_and_the_latest_whole_one_is_taken(self):
        self.assertEqual(self.score(2, "run"), self.scores[1])
        self.assertEqual(self.score(1, "run/checkpoints/epoch-0001-step-00000/"), self.scores[0])
        shutil.copytree(self.path("run/checkpoints"), self.path("copy/checkpoints"))
        damaged = self.path("copy/checkpoints/epoch-0002-step-00000/weights.safetensors")
        damaged.write_bytes(damaged.read_bytes()[:-4] + b"else")
        record = self.record(3, "copy")
        self.assertEqual((record["val_loss"], record["val_accuracy"]), self.scores[0])
        self.assertIn("passed over", record["said"])

    def test_the_picture(self):
        self.completed(self.evaluate(2, "run", "--plot", "m.png"))
        self.assertEqual(self.path("m.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_what_is_refused_once(self):
        for weights, words, *parts in (
            ("gone", (), "gone", "it is not there"),
            ("data", (), "--init-weights data", "no checkpoint"),
            ("w.safetensors", ("--model", "resnet32"), "lacks 60 tensors", "resnet32"),
            ("run", ("--data", "gone"), "gone"),
            ("run", ("--image-size", "1025"), "--image-size"),
            ("run", ("--json", "gone/e.json"), "--json gone/e.json"),
            ("run", ("--plot", "m.bmp"), "--plot m.bmp", ".svg"),
        ):
            self.refused(self.evaluate(1, weights, *words), *parts)
        lines = [("evaluate", "--init-weights", "run", *more) for more in ((), ("--precision", "tf32"), ("--shard",))]
        for other, part in zip(lines[1:], ("--precision", "): unknown option --shard")):
            self.refused(self.program.run_contexts([(1, lines[0]), (1, other)]), part)


if __name__ == "__main__":
    main()
