"""run.json, steps.csv, attempt.json and evaluation.json: read as they were written, or refused in one message."""

import json
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
import made_files  # noqa: E402
from reader.handin.hand_table import read_hand_table  # noqa: E402
from reader.runs.places import load_study  # noqa: E402
from reader.runs.records import read_epochs  # noqa: E402
from reader.runs.run import includes_warm_up, middle_epoch, read_run, steady_epochs  # noqa: E402
from reader.base.estimate import Estimate  # noqa: E402
from reader.runs.noise import REASONS, reason_of  # noqa: E402
from reader.runs.steps import read_steps  # noqa: E402
from reader.start import Unusable  # noqa: E402

REFUSED = {"schema": "rueda-attempt", "schema_version": 1, "model": "resnet18", "ranks": 2, "batch_per_rank": 512,
           "global_batch": None, "exit_code": 2, "message": "no memory"}


def uneven_times(epoch, step, rank):
    """Each rank, step and phase has a time of its own; the first step warms up."""
    first = 2 if (epoch, step) == (1, 1) else 1
    return {"load": 0.004, "forward": 0.1 * first * (1 + 0.1 * rank), "loss": 0.0005, "backward": 0.2 + 0.01 * step,
            "all_reduce": 0.04 / (1 + rank), "optimizer": 0.006, "other": 0.0015}  # fmt: skip


def sample(parts=(32, 32), **more):
    return made_files.MadeRun(parts=parts, images=296, times=uneven_times, **more)


class Folder(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(value, bytes):
            value = (value if isinstance(value, str) else json.dumps(value)).encode()
        path.write_bytes(value)
        return path

    def read(self, document):
        return read_run(self.write("run.json", document))

    def refusal(self, function, *arguments):
        with self.assertRaises(Unusable) as caught:
            function(*arguments)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)


class OtherKinds(Folder):
    """Each kind of file that downloads leave behind is named with its remedy, wherever a text is read."""

    KINDS = ((b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer", "git lfs pull"),
             (b"../.git/annex/objects/a/b\n", "git-annex pointer", "git annex get"),
             (b"\n<!DOCTYPE HTML>\n<title>Log in</title>\n", "HTML page", "browser"),
             (b"\xef\xbb\xbf<?xml version='1.0'?><Error/>", "XML text", "download"),
             (b"PK\3\4" + bytes(40), "zip archive", "unzip"), (b"\x1f\x8b\x08" + bytes(40), "gzip file", "gunzip"),
             (b"BZh91AY&SY" + bytes(40), "bzip2 file", "bunzip2"), (b"\xfd7zXZ\0" + bytes(9), "xz file", "unxz"),
             (b"\x28\xb5\x2f\xfd" + bytes(9), "Zstandard file", "unzstd"),
             (b"7z\xbc\xaf\x27\x1c" + bytes(9), "7z archive", "7z x"),
             (b"run.json".ljust(257, b"\0") + b"ustar\0" + bytes(250), "tar archive", "tar -xf"),
             (b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "PyTorch file", "give"),
             (b"\x89PNG\r\n\x1a\n" + bytes(9), "picture", "give"))  # fmt: skip

    def test_each_is_named_by_every_reader(self):
        for name, read in (("run.json", read_run), ("steps.csv", read_steps), ("epochs.csv", read_epochs),
                           ("table.csv", read_hand_table)):
            for content, kind, remedy in self.KINDS:
                with self.subTest(name=name, kind=kind):
                    said = self.refusal(read, self.write(name, content))
                    for words in (name, kind, remedy):
                        self.assertIn(words, said)

    def test_a_table_that_mentions_them_is_read(self):
        table = read_hand_table(self.write("table.csv", "P,note\n1,<html> of git-lfs\n"))
        self.assertEqual(table.rows[0].cells, ["1", "<html> of git-lfs"])


class OldOptions(Folder):
    """Version 1.0 had four options for how long the timed backend computes."""

    def compute_of(self, **options):
        return read_run(sample(options=options).write(self.folder)).options

    def test_they_become_the_one_of_today(self):
        for old, new in (({"ms": "40", "jitter": 0, "factors": "", "from": None}, "ms=40"),
                         ({"ms": 7.5, "jitter": 50, "factors": "1,2", "from": None}, "ms=7.5,jitter=50,factors=1:2"),
                         ({"ms": None, "jitter": "0", "factors": None, "from": "a/run.json"}, "from=a/run.json"),
                         ({"ms": None, "jitter": 0, "factors": None, "from": None}, None)):
            with self.subTest(old=old):
                options = self.compute_of(**{f"compute-{name}": value for name, value in old.items()})
                self.assertEqual(options["compute"], new)
                self.assertFalse([name for name in options if name.startswith("compute-")])

    def test_todays_stays(self):
        self.assertEqual(self.compute_of(compute="ms=40")["compute"], "ms=40")


class RunJson(Folder):
    def test_it_is_read_as_it_was_written(self):
        made = sample((8, 8, 8, 8), hosts=["node1", "node1", "node2", "node2"], options={"balance": "speed"})
        run = read_run(made.write(self.folder))
        self.assertEqual((run.world_size(), run.hosts(), run.model, run.precision), (4, 2, "resnet20", "fp32"))
        self.assertEqual((run.train_images, run.global_batch, run.rank_batches), (296, 32, [8, 8, 8, 8]))
        self.assertEqual((run.options["balance"], run.options["lr"]), ("speed", 0.1))
        self.assertEqual([epoch.seconds for epoch in run.epochs], [made.epoch_seconds(epoch) for epoch in (1, 2, 3)])
        self.assertEqual(run.epochs[1].ranks, 4)
        self.assertEqual(run.epochs[2].train.samples, 296)
        self.assertEqual(list(run.startup), ["mpi", "data"])
        self.assertEqual(run.memory_bytes, 10_000_003)

    def test_its_figures_are_those_of_the_steps(self):
        made = sample()
        run = read_run(made.write(self.folder))
        self.assertEqual(run.summary.full_step.steps, 8)  # 4 of 64 images in each of two epochs
        for name in ("forward", "all_reduce", "copy"):
            wanted = sum(made.phases(epoch, step, rank)[name] for epoch in (2, 3) for step in range(1, 5)
                         for rank in (0, 1)) / 16
            self.assertAlmostEqual(run.summary.full_step.phases[name].mean, wanted)
        efficiency = run.epochs[1].efficiency
        useful = [sum(made.seconds(2, step, rank) - made.phases(2, step, rank)["all_reduce"] for step in made.steps)
                  for rank in (0, 1)]
        self.assertAlmostEqual(efficiency.load_balance(), sum(useful) / 2 / max(useful))
        self.assertAlmostEqual(efficiency.parallel(), sum(useful) / 2 / made.epoch_seconds(2))
        self.assertEqual(run.epochs[0].of_ranks[1].full_compute.count, 4)

    def test_the_middle_epoch_is_the_median_or_the_mean_of_two(self):
        seconds = {1: 9.0, 2: 1.0, 3: 4.0, 4: 2.0}
        made = made_files.MadeRun(epochs=4, times=lambda epoch, step, rank: {"forward": seconds[epoch]})
        run = read_run(made.write(self.folder))
        self.assertEqual(middle_epoch(run).seconds, 2.0 * 6)
        run.epochs.pop()
        self.assertEqual(middle_epoch(run).seconds, 2.5 * 6)
        self.assertEqual(middle_epoch(run).phases["forward"].mean, 2.5 * 6)
        self.assertEqual([epoch.seconds for epoch in run.epochs], [54, 6, 24])  # as they were

    def test_an_interrupted_run_is_read_as_far_as_it_came(self):
        document = sample().document()
        document["epochs"] = document["epochs"][:1]
        run = self.read(document)
        self.assertEqual([epoch.epoch for epoch in steady_epochs(run)], [1])
        self.assertTrue(includes_warm_up(run))
        document["epochs"] = []
        self.assertEqual(steady_epochs(self.read(document)), [])

    def test_each_process_of_a_resumed_run_warms_up(self):
        document = sample().document()
        document["epochs"][1]["resumed_at_step"] = 2
        self.assertEqual([epoch.epoch for epoch in steady_epochs(self.read(document))], [3])
        document["epochs"][2]["resumed_at_step"] = 0
        self.assertTrue(includes_warm_up(self.read(document)))

    def test_steady_epochs_of_other_ranks_do_not_count(self):
        """Epochs 1 and 2 of four ranks, and the last one, which is a first one, of two."""
        document = sample((8, 8, 8, 8)).document()
        document["epochs"][2]["resumed_at_step"] = 0
        self.assertEqual([epoch.epoch for epoch in steady_epochs(self.read(document))], [2])
        document["epochs"][2]["ranks"] = document["epochs"][2]["ranks"][:2]
        self.assertEqual([epoch.epoch for epoch in steady_epochs(self.read(document))], [3])

    def test_unknown_fields_are_ignored_and_later_ones_may_be_missing(self):
        document = sample().document()
        document["from_the_future"] = {"a": 1}
        del document["summary"]["steady_communication"]
        for name in ("energy", "efficiency", "ranks"):
            del document["epochs"][0][name]
        run = self.read(document)
        self.assertTrue(math.isnan(run.summary.all_steps.bytes))
        self.assertTrue(math.isnan(run.epochs[0].energy.total()))
        self.assertTrue(math.isnan(run.epochs[0].efficiency.parallel()))
        self.assertEqual(run.epochs[0].of_ranks, [])


def set_in(document, path, value):
    *above, last = path
    for name in above:
        document = document[name]
    document[last] = value


class Refusals(Folder):
    def test_other_files_are_refused_with_file_and_remedy(self):
        whole = json.dumps(sample().document())
        for content, message in (("", "run.json: no JSON from byte 1 on; give the run.json"),
                                 (whole[:len(whole) // 2], "no JSON from byte"), ("[]", "it is no run.json"),
                                 ('{"schema": "rueda-bench"}', "it is no run.json"),
                                 (b"\xff\xfe{", "no JSON from byte"),
                                 ('{"schema": "rueda-run", "schema_version": ' + "9" * 5000 + "}", "run.json: "),
                                 ("[" * 40 + "]" * 40, "more than 32 levels"), ("[" * 100_000, "more than 32 levels"),
                                 ("[NaN]", "run.json: ")):  # fmt: skip
            self.assertIn(message, self.refusal(self.read, content))
        self.assertIn("/nowhere/run.json: it cannot be opened", self.refusal(read_run, "/nowhere/run.json"))

    def test_brackets_in_texts_are_no_levels(self):
        document = sample().document()
        document["command_line"] = "[" * 100 + '"{'
        self.assertEqual(self.read(document).command_line, document["command_line"])

    def test_a_pipe_and_a_folder_are_refused_at_once(self):
        os.mkfifo(self.folder / "run.json")
        self.assertIn("it is no regular file", self.refusal(read_run, self.folder / "run.json"))
        self.assertIn("it is a directory", self.refusal(read_run, self.folder))
        self.assertIn("kernel", self.refusal(read_run, "/proc/self/status"))

    def test_a_field_is_refused_with_its_place(self):
        changes = [
            (("schema_version",), 3,
             "its schema_version is 3, and this rueda reads 1 to 2; read it with the rueda that wrote it"),
            (("epochs", 1, "seconds"), "2 s", "epochs[1].seconds is not a number"),
            (("epochs", 1, "seconds"), 0, "epochs[1].seconds is not positive"),
            (("epochs", 1, "seconds"), 1e999, "epochs[1].seconds is out of range"),
            (("epochs", 1, "samples"), 2.4e19, "epochs[1].samples is not a whole number from 0"),
            (("epochs", 1, "epoch"), 10**400, "epochs[1].epoch is not a whole number from 0"),
            (("epochs", 1, "seconds"), 10**400, "epochs[1].seconds is out of range"),
            (("epochs", 0, "ranks", 1, "phases", "load"), [], "epochs[0].ranks[1].phases.load is not a number"),
            (("batch", "global"), -1, "batch.global is not a whole number from 1"),
            (("batch", "global"), 1e300, "batch.global is not a whole number from 1"),
            (("batch", "global"), True, "batch.global is not a whole number from 1"),
            (("batch", "micro_batches"), 0, "batch.micro_batches is not a whole number from 1"),
            (("batch", "per_rank", 0), 0, "batch.per_rank[0] is not a whole number from 1"),
            (("ranks",), 3, "ranks is not a list"),
            (("ranks",), [], "ranks does not have an entry for each rank"),
            (("ranks", 0, "host"), "\x1b[2J", "ranks[0].host has control characters"),
            (("model", "name"), "x" * 10_001, "model.name is longer than 10000 bytes"),
            (("startup",), "soon", "startup is not an object"),
            (("config",), [], "config is not an object"),
            (("versions", "MPI"), 4, "versions.MPI is not a text"),
        ]  # fmt: skip
        for path, value, message in changes:
            document = sample().document()
            set_in(document, path, value)
            text = json.dumps(document).replace("Infinity", "1e999")
            self.assertIn(message, self.refusal(self.read, text), path)
        document = sample().document()
        del document["epochs"][1]["seconds"]
        self.assertIn("epochs[1].seconds is missing", self.refusal(self.read, document))

    def test_whatever_is_changed_gives_a_run_or_one_message(self):
        """Each value of the document in turn becomes something else."""

        def paths(value, above=()):
            yield above
            parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for name, part in parts:
                yield from paths(part, above + (name,))

        document = sample((8,), epochs=1).document()
        for path in [path for path in paths(document) if path]:
            before = document
            for name in path:
                before = before[name]
            for value in (None, -1, 1e308, "x", [[]], {}):
                set_in(document, path, value)
                try:
                    run = self.read(document)
                    middle_epoch(run)
                except Unusable:
                    pass
                except IndexError:
                    self.assertEqual(run.epochs, [])
            set_in(document, path, before)


class Studies(Folder):
    def test_everything_below_its_directory_in_order_once(self):
        for name in ("b", "a"):
            sample().write(self.folder / "runs" / name)
        self.write("runs/c/attempt.json", REFUSED)
        self.write("runs/a/other.json", "nonsense")
        self.write("runs/a/attempt.json", dict(REFUSED, exit_code=0))  # known by its run alone
        study = load_study([self.folder, self.folder / "runs" / "a"])
        self.assertEqual([run.file.parent.name for run in study.runs], ["a", "b"])
        self.assertEqual(len(study.failed), 1)
        failed = study.failed[0]
        self.assertEqual((failed.rank_batch, failed.global_batch, failed.message), (512, 0, "no memory"))
        attempt = self.write("attempt.json", dict(REFUSED, ranks=0))
        self.assertIn("ranks is not a whole number from 1", self.refusal(load_study, [attempt]))

    def test_one_damaged_run_of_many_is_left_out_one_that_was_named_is_refused(self):
        sample().write(self.folder / "a")
        damaged = self.write("b/run.json", json.dumps(sample().document())[:1000])
        study = load_study([self.folder])
        self.assertEqual((len(study.runs), [one.file for one in study.unreadable]), (1, [damaged]))
        self.assertRaises(Unusable, load_study, [damaged])
        self.assertRaises(Unusable, load_study, [damaged.parent])
        self.assertRaises(Unusable, load_study, [str(damaged.parent) + "/"])

    def test_a_place_with_nothing_in_it_is_refused(self):
        self.assertIn("no run.json below it", self.refusal(load_study, [self.folder]))
        self.assertIn("there is no such file", self.refusal(load_study, [self.folder / "none"]))
        self.write("a/run.json", "{")
        self.assertIn("that can be read", self.refusal(load_study, [self.folder]))

    def test_five_levels_deep_and_no_links(self):
        sample().write(self.folder / "1/2/3/4/5")
        sample().write(self.folder / "1/2/3/4/5/6")
        with tempfile.TemporaryDirectory() as elsewhere:
            sample().write(Path(elsewhere) / "x")
            (self.folder / "link").symlink_to(Path(elsewhere) / "x")
            (self.folder / "1/round").symlink_to(self.folder)
            self.assertEqual(len(load_study([self.folder]).runs), 1)

    def test_models_are_listed_by_depth(self):
        for model in ("net", "resnet152v2", "resnet20", "resnet50v2"):
            sample(model=model, epochs=2).write(self.folder / model)
        models = [run.model for run in load_study([self.folder]).runs]
        self.assertEqual(models, ["resnet20", "resnet50v2", "resnet152v2", "net"])


def evaluation(classes=2):
    image = {"image": 0, "label": 0, "predicted": 1, "probability": 0.5, "rgb": "00" * 3072}
    return {"schema": "rueda-evaluation", "schema_version": 1, "weights": "w", "val_loss": 0.5, "val_accuracy": 0.75,
            "val_samples": 4, "val_seconds": 1.0, "confusion": [[1, 1], [0, 2]],
            "classes": [{"name": "a", "images": 2, "correct": 1, "predicted": 1}] * classes,
            "samples": {"first": [image], "mistakes": []}}  # fmt: skip


class Evaluations(Folder):
    def test_of_a_run_beside_it(self):
        sample().write(self.folder / "a")
        self.write("a/evaluation.json", evaluation())
        self.write("alone/evaluation.json", "{")
        run = load_study([self.folder]).runs[0]
        written = evaluation()
        self.assertEqual(run.evaluation, {key: value for key, value in written.items() if not key.startswith("schema")})

    def test_others_are_refused(self):
        sample().write(self.folder)
        for path, value, message in ((("classes",), [], "classes has no class"),
                                     (("confusion",), [[1, 1]], "row for each class"),
                                     (("confusion", 0), [1], "confusion[0] does not have a column"),
                                     (("val_accuracy",), None, "val_accuracy is not a number"),
                                     (("samples", "first", 0, "label"), 2,
                                      "samples.first[0].label is not a whole number"),
                                     (("samples", "first", 0, "rgb"), "zz", "no image of 32 x 32")):  # fmt: skip
            document = evaluation()
            set_in(document, path, value)
            self.write("evaluation.json", document)
            self.assertIn(message, self.refusal(load_study, [self.folder]))


class Noise(Folder):
    """`gradient_noise` of an epoch."""

    def noise_of(self, noise):
        return self.read(sample(noise=lambda epoch: noise).document()).epochs[1].noise

    def test_what_was_measured(self):
        noise = self.noise_of(made_files.noise_json(64, 2, 5, 90.0, 80.0, 110.0))
        self.assertEqual((noise.scale, noise.batch, noise.parts, noise.steps), (Estimate(90, 80, 110), 64, 2, 5))
        self.assertAlmostEqual(noise.learning_efficiency, 90 / 154)
        self.assertAlmostEqual(noise.variance / noise.gradient_norm2, 90)
        self.assertIsNone(self.noise_of(None))
        older = sample().document()
        del older["epochs"][1]["gradient_noise"]
        self.assertIsNone(self.read(older).epochs[1].noise)

    def test_not_determined_for_each_reason(self):
        for word in (*REASONS, "a reason of a later version"):
            noise = self.noise_of(made_files.no_noise_json(64, 1, 5, word))
            self.assertFalse(noise.scale.known)
            self.assertTrue(reason_of(noise.reason).why)
        hostile = sample(noise=lambda epoch: made_files.no_noise_json(64, 1, 5, "no \x1b[31mreason")).document()
        self.assertIn("gradient_noise.reason has control", self.refusal(self.read, hostile))
        self.assertIn("--accumulate 2", reason_of("one part a step").remedy)

    def test_no_noise_scale_is_negative_infinite_or_beside_its_interval(self):
        good = made_files.noise_json(64, 2, 5, 90.0, 80.0, 110.0)
        for wrong in ({"scale": -90.0}, {"scale": 0.0, "low": 0.0}, {"low": -1.0}, {"low": 91.0}, {"high": 89.0},
                      {"high": None},
                      {"scale": "90"}, {"scale": 10**400}, {"parts": -1}, {"steps": 0.5},
                      {"variance": []}):  # fmt: skip
            document = sample(noise=lambda epoch, wrong=wrong: {**good, **wrong}).document()
            self.assertIn("epochs[0].gradient_noise", self.refusal(self.read, document), wrong)


class Steps(Folder):
    def test_by_epoch_step_and_rank(self):
        made = sample()
        made.write(self.folder)
        tables = read_steps(self.folder / "steps.csv", [2, 3, 9])
        self.assertEqual(sorted(tables), [2, 3])
        self.assertEqual(tables[2]["forward"].shape, (5, 2))
        self.assertEqual(tables[3]["backward"][3, 1], made.phases(3, 4, 1)["backward"])
        self.assertEqual(list(tables[2]["global_samples"][:, 0]), [64, 64, 64, 64, 40])

    def test_what_was_not_measured_of_the_noise_is_no_number(self):
        sample(noise=lambda epoch: made_files.noise_json(64, 2, 5, 90, 80,
                                                         100) if epoch == 2 else None).write(self.folder)
        tables = read_steps(self.folder / "steps.csv")
        self.assertEqual(tables[2]["part_norm2"][:, 0].tolist(), [0.75] * 5)
        for empty in (tables[2]["part_norm2"][:, 1], tables[3]["gradient_norm2"], tables[3]["parts"]):
            self.assertTrue(all(math.isnan(value) for value in empty.ravel()))
        self.assertEqual(tables[3]["all_reduce_wait"].shape, (5, 2))

    def test_a_cut_last_line_and_an_epoch_without_a_step_are_left_out(self):
        text = sample().steps_csv()
        path = self.write("steps.csv", text[:-20])
        self.assertEqual(sorted(read_steps(path)), [1, 2])
        lines = text.splitlines(keepends=True)
        path = self.write("steps.csv", "".join(lines[:2] + lines[3:]))
        self.assertEqual(sorted(read_steps(path)), [2, 3])

    def test_nonsense_is_refused_in_one_message(self):
        head = made_files.HEADER + "\n"
        row = ",".join(["1"] * 26) + "\n"
        for content in ("", "a,b\n1,2\n", head + row.replace("1", "x", 1).replace("x", "1") + "1,2,3\n",
                        head + "1" * 70_000,
                        head + "1," + "z," * 24 + "1\n", head + row.replace("1,1,1,1", "1,1,1,", 1)):  # fmt: skip
            self.assertIn("steps.csv", self.refusal(read_steps, self.write("steps.csv", content)))
        far = head + row.replace("1", "1e300", 1) + row.replace("1", "9" * 30, 1) + row.replace(",1,", ",1e300,", 1)
        self.assertLessEqual(len(read_steps(self.write("steps.csv", far))), 1)
        os.remove(self.folder / "steps.csv")
        os.mkfifo(self.folder / "steps.csv")
        self.assertIn("no regular file", self.refusal(read_steps, self.folder / "steps.csv"))


if __name__ == "__main__":
    unittest.main()
