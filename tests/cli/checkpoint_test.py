#!/usr/bin/env python3
"""Checkpoints: a run that is interrupted anywhere and resumed ends in the bits of one that was not.

usage: checkpoint_test.py RUEDA MPIEXEC
"""

import contextlib
import csv
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rueda_runs import Program, ProgramCase, environment, long, main

# Two epochs of four steps, which remember: momentum, statistics, a schedule, random images.
NET = ["--data", "data", "--data-limit", "64", "--global-batch", "16", "--image-size", "16", "--epochs", "2"]
NET += ["--threads", "1", "--eval-every", "1", "--augment", "standard", "--progress", "lines"]


def curve(record):
    """What the epochs of a run computed, without how long it took."""
    keys = ("epoch", "loss", "accuracy", "val_loss", "val_accuracy", "parameter_hash")
    return [tuple(epoch[key] for key in keys) for epoch in record["epochs"]]


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset % len(data)] ^= 0x10
    path.write_bytes(data)


def rewrite(checkpoint, change_config=None, history=None, sizes=None):
    """Another config, other numbers or another history, with the sums that belong to it."""
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    manifest["config"].update(change_config or {})
    position = manifest["position"]
    for key, value in (sizes or {}).items():
        if key == "position":
            position.update(value)
        else:
            (manifest if key in manifest else position)[key] = value
    position["global_step"] = position["epochs"] * position["steps_per_epoch"] + position["steps"]
    if history is not None:
        (checkpoint / "history.json").write_bytes(history)
        manifest["files"]["history.json"] = {"bytes": len(history), "crc32": f"{zlib.crc32(history):08x}"}
    text = json.dumps({**manifest, "manifest_crc32": "0" * 8}, indent=2).encode() + b"\n"
    text = text.replace(b'"manifest_crc32": "' + b"0" * 8, f'"manifest_crc32": "{zlib.crc32(text):08x}'.encode())
    (checkpoint / "manifest.json").write_bytes(text)


class CheckpointTest(ProgramCase):
    """Each case in run directories of its own; references are shared."""

    references = {}

    def train(self, run_dir, *words, ranks=2):
        return self.program.run_on(ranks, "train", *NET, "--run-dir", run_dir, *words)

    def alone(self, *words):
        """One process without a launcher, for what is refused before ranks matter."""
        return self.program.run("train", *words)

    def resume(self, *words, ranks=2):
        return self.completed(self.program.run_on(ranks, "train", "--resume", *words))

    def check_epochs_csv(self, run_dir):
        """It has the epochs of run.json, in numbers that are the same digit by digit."""
        text = (self.folder / run_dir / "epochs.csv").read_bytes().decode("ascii")
        self.assertEqual(text.count("\n"), text.count("\r\n"))  # RFC 4180
        epochs = self.program.record(run_dir)["epochs"]
        rows = list(csv.DictReader(text.splitlines(keepends=True)))
        self.assertEqual([row["epoch"] for row in rows], [str(epoch["epoch"]) for epoch in epochs])
        for row, epoch in zip(rows, epochs):
            values = {**epoch, "ranks": len(epoch["ranks"]), "joules": epoch["energy"]["total_joules"]}
            values.update({f"{name}_seconds": phase["mean"] for name, phase in epoch["phases"].items()})
            noise = dict.fromkeys(("scale", "low", "high", "learning_efficiency")) | (epoch["gradient_noise"] or {})
            values.update(noise_scale=noise["scale"], noise_scale_low=noise["low"], noise_scale_high=noise["high"])
            values["learning_efficiency"] = noise["learning_efficiency"]
            self.assertNotIn(None, row.values())
            for name, cell in row.items():
                self.assertEqual(json.loads(cell or "null"), values[name], name)
        return len(rows)

    def reference(self, *words, ranks=2):
        """The curve of the run that was never interrupted."""
        key = (words, ranks)
        if key not in self.references:
            name = f"reference-{len(self.references)}"
            self.completed(self.train(name, *words, ranks=ranks))
            self.references[key] = curve(self.program.record(name))
        return self.references[key]

    def checkpoints(self, run_dir):
        return sorted(path.name for path in (self.folder / run_dir / "checkpoints").iterdir())

    def stopped(self, result):
        self.assertEqual((result.code, result.messages), (75, []), result)
        self.assertIn("rueda train --resume", result.out)

    def killed(self, result):
        self.assertNotIn(result.code, (0, 2, 75), result)

    def test_a_stop_in_any_step_goes_on_bit_for_bit(self):
        for step in (1, 4, 8):  # the first, and the last of each epoch; others below
            name = f"stop-{step}"
            with self.subTest(step=step):
                self.stopped(self.train(name, f"RUEDA_INJECT=stop:1:{step}"))
                half = self.program.record(name)
                self.assertEqual(half["outcome"], "stopped")
                self.assertEqual(len(half["epochs"]), (step - 1) // 4)
                self.assertNotIn("has no effect", self.resume(name).said)  # of options that nobody gave
                whole = self.program.record(name)
                self.assertEqual(curve(whole), self.reference())
                self.assertEqual(whole["outcome"], "completed")
                at = [epoch["resumed_at_step"] for epoch in whole["epochs"]]
                self.assertEqual(at[(step - 1) // 4], (step - 1) % 4 + 1)
                self.assertEqual(len([step for step in at if step is not None]), 1)
                (resumed,) = whole["resumptions"]
                self.assertEqual(resumed["world_size"], 2)
                self.assertEqual(whole["started_at"], half["started_at"])

    @long
    def test_whatever_a_run_is_made_of_goes_on_bit_for_bit(self):
        kinds = {
            "stream": ["--input", "stream", "--input-workers", "1", "--accumulate", "2", "--overlap", "on",
                       "--bucket-mb", "0.3", "--nesterov"],
            "wire": ["--wire", "bf16", "--bucket-mb", "0.3"],
            "lars": ["--optimizer", "lars", "--label-smoothing", "0.1", "--bucket-mb", "0.3"],
            "fixed": ["--reduce-order", "fixed", "--shard", "fixed", "--warmup-epochs", "1"],
        }
        for name, words in kinds.items():
            ranks = 3 if name == "wire" else 2
            with self.subTest(name):
                self.stopped(self.train(name, *words, "RUEDA_INJECT=stop:0:6", ranks=ranks))
                self.resume(name, ranks=ranks)
                expected = self.reference(*words, ranks=ranks)
                self.assertEqual(curve(self.program.record(name)), expected)
                rows = (self.folder / name / "steps.csv").read_text().splitlines()[1:]
                places = [tuple(row.split(",")[:2]) for row in rows if row.split(",")[2] == "0"]
                whole = [("1", str(step)) for step in range(1, 5)]
                self.assertEqual(places, [*whole, ("2", "3"), ("2", "4")])

    def test_what_was_killed_goes_on_from_the_last_checkpoint(self):
        words = ("--checkpoint-every", "3steps", "--keep", "1", "RUEDA_INJECT=kill:1:7")
        self.killed(self.train("killed", *words))
        self.assertEqual(self.program.record("killed")["outcome"], "running")
        self.assertEqual(self.check_epochs_csv("killed"), 1)
        # The second is written while training goes on: the end may come before or after it is complete.
        whole = {name for name in self.checkpoints("killed") if not name.startswith(".unfinished-")}
        self.assertTrue(whole and whole <= {"epoch-0000-step-00003", "epoch-0001-step-00002"}, whole)
        report = self.completed(self.program.run("report", "killed"))
        self.assertIn("resnet20, 16 global, ring, P = 2", report.out)
        self.resume("killed")
        record = self.program.record("killed")
        self.assertEqual(curve(record), self.reference())
        self.assertEqual(self.checkpoints("killed"), ["epoch-0002-step-00000"])
        written = record["checkpoints"][-1]
        self.assertGreater(written["bytes"], 2 * 4 * 270_000)
        self.assertGreater(written["write_seconds"], 0)

    @long
    def test_a_run_may_be_interrupted_again_and_again(self):
        self.stopped(self.train("again", "RUEDA_INJECT=stop:0:2"))
        again = ["train", "--resume", "auto", "--run-dir", "again"]
        self.stopped(self.program.run_ranks(2, *again, "RUEDA_INJECT=stop:1:3"))
        self.assertEqual(self.check_epochs_csv("again"), 0)
        with (self.folder / "again" / "epochs.csv").open("ab") as file:
            file.write(b"1,2,4")  # of an epoch that no checkpoint has, from a process that was killed
        self.killed(self.program.run_ranks(2, *again, "RUEDA_INJECT=kill:0:6"))
        self.assertEqual(self.check_epochs_csv("again"), 1)
        self.resume("auto", "--run-dir", "again")
        record = self.program.record("again")
        self.assertEqual(curve(record), self.reference())
        self.assertEqual([r["steps"] for r in record["resumptions"]], [2, 3])
        self.assertEqual(self.check_epochs_csv("again"), 2)

    @long
    def test_other_ranks_follow_the_same_batches(self):
        words = ("--reduce-order", "fixed")
        self.stopped(self.train("four", *words, "RUEDA_INJECT=stop:3:6", ranks=4))
        shutil.copytree(self.folder / "four", self.folder / "three")
        result = self.resume("four", ranks=2)
        self.assertIn("resumed on 2 ranks instead of 4", result.said)
        self.assertIn("2 micro-batches per rank", result.said)
        self.assertNotIn("not bit for bit", result.said)
        record = self.program.record("four")
        self.assertEqual(curve(record), self.reference(*words, ranks=4))
        self.assertEqual([e["samples"] for e in record["epochs"]], [64, 64])
        result = self.resume("three", ranks=3)
        self.assertIn("not bit for bit", result.said)
        last = self.program.record("three")["epochs"][-1]
        self.assertEqual(last["samples"], 64)
        # The same batches: only the order of addition and its rounding differ.
        self.assertAlmostEqual(last["loss"], record["epochs"][-1]["loss"], delta=0.05)
        self.completed(self.program.run("report", "four", "three"))

    def test_other_ranks_whose_tree_is_another_are_told(self):
        """2 x 3 micro-batches are added along another tree than 6 x 1; 3 x 2 along the same."""
        words = ("--reduce-order", "fixed", "--global-batch", "12", "--eval-every", "0")
        self.stopped(self.train("six", *words, "RUEDA_INJECT=stop:3:2", ranks=6))
        for ranks in (2, 3):
            shutil.copytree(self.folder / "six", self.folder / f"six-on-{ranks}")
        self.resume("six", ranks=6)
        whole = self.program.record("six")
        said = [self.resume(f"six-on-{ranks}", ranks=ranks).err for ranks in (2, 3)]
        hashes = [self.program.record(f"six-on-{ranks}")["epochs"][-1]["parameter_hash"] for ranks in (2, 3)]
        self.assertIn("not bit for bit as without the change", said[0])
        self.assertNotEqual(hashes[0], whole["epochs"][-1]["parameter_hash"])
        self.assertNotIn("not bit for bit", said[1])
        self.assertEqual(hashes[1], whole["epochs"][-1]["parameter_hash"])

    def test_a_damaged_checkpoint_is_passed_over(self):
        self.stopped(self.train("damaged", "--checkpoint-every", "2steps", "RUEDA_INJECT=stop:0:4"))
        names = ["epoch-0000-step-00002", "epoch-0000-step-00004"]
        self.assertEqual(self.checkpoints("damaged"), names)
        latest = self.folder / "damaged" / "checkpoints" / names[1]
        flip(latest / "momentum.safetensors", 500_001)
        copy = self.folder / "all-damaged"
        shutil.copytree(self.folder / "damaged", copy)
        (copy / "checkpoints" / names[0] / "weights.safetensors").unlink()
        result = self.alone("--resume", "all-damaged")
        self.refused(result, "none of the 2 checkpoints is undamaged", "momentum.safetensors")
        one = self.alone("--resume", str(latest))
        self.refused(one, "momentum.safetensors", "damaged", "checksum")
        result = self.resume("damaged")
        self.assertIn("passed over", result.err)
        self.assertIn(names[0], result.err)
        self.assertIn("passed-over-" + names[1], self.checkpoints("damaged"))
        self.assertEqual(curve(self.program.record("damaged")), self.reference())

    def test_a_checkpoint_that_contradicts_itself_is_refused(self):
        self.completed(self.train("lies", "--checkpoint-every", "1epoch", ranks=1))
        checkpoint = self.folder / "lies" / "checkpoints" / self.checkpoints("lies")[-1]
        whole = (checkpoint / "history.json").read_bytes()
        head, one, two, end = whole.splitlines(keepends=True)
        for history, says in (
            (head + one.replace(b",\n", b"\n") + end, "its history has 1 epoch and its manifest says 2"),
            (head + one + one + two + end, "its history has 3 epochs"),
            (whole + b"{}\n", "it goes on after its end"),
        ):
            rewrite(checkpoint, history=history)
            self.refused(self.alone("--resume", str(checkpoint), "--run-dir", "lies-on"), says)
        rewrite(checkpoint, {"model": "\x1b[2J"}, whole)
        refused = self.alone("--resume", str(checkpoint), "--run-dir", "lies-on")
        self.refused(refused, "--model '\\x1b[2j' is not known")
        self.assertNotIn("\x1b", refused.err)
        rewrite(checkpoint, {"model": "resnet20", "wire-error-feedback": True})
        refused = self.alone("--resume", str(checkpoint), "--run-dir", "lies-on")
        self.refused(refused, "--wire-error-feedback was removed", "begin anew")
        # One that was removed and not used.
        sizes = {"global_batch": 64, "steps_per_epoch": 2, "position": {"steps": 0, "samples_so_far": 0}}
        rewrite(checkpoint, {"wire-error-feedback": False, "reduce-table": None, "global-batch": 64,
                             "batch-per-rank": 64}, sizes=sizes)
        self.refused(self.alone("--resume", str(checkpoint), "--run-dir", "lies-on"),
                     "an epoch has 2 steps, but 64 images in global batches of 64 are 1")
        rewrite(checkpoint, sizes={"global_batch": 1 << 40})
        self.refused(self.alone("--resume", str(checkpoint), "--run-dir", "lies-on"),
                     "micro-batches are of 1099511627776")
        sizes = {"global_batch": 16, "steps_per_epoch": 4}
        rewrite(checkpoint, {"global-batch": 16, "batch-per-rank": 16, "help": True, "--": 1}, sizes=sizes)
        self.assertIn("nothing left to train", self.resume(str(checkpoint), "--run-dir", "lies-on", ranks=1).err)

    def test_the_option_for_the_batch_that_is_given_stands_for_the_recorded_other(self):
        self.stopped(self.train("two", "--checkpoint-every", "1step", "RUEDA_INJECT=stop:0:3", ranks=1))

        def batches(*words):
            recipe = self.completed(self.alone("--resume", "two", *words, "--print-config")).out.splitlines()
            return [line for line in recipe if line.startswith(("batch-per-rank", "global-batch"))]

        self.assertEqual(batches(), ["global-batch = 16"])
        self.assertEqual(batches("--batch-per-rank", "8"), ["batch-per-rank = 8"])
        for checkpoint in (self.folder / "two" / "checkpoints").iterdir():
            rewrite(checkpoint, {"batch-per-rank": "max", "global-batch": 0})
        self.assertEqual(batches(), ['batch-per-rank = "max"'])
        timed = ("--backend", "timed", "--compute", "1")
        self.refused(self.alone("--resume", "two", *timed), "give --batch-per-rank a number")
        self.assertEqual(batches(*timed, "--global-batch", "16"), ["global-batch = 16"])

    def test_what_does_not_fit_is_refused(self):
        self.stopped(self.train("mine", "--checkpoint-every", "1step", "RUEDA_INJECT=stop:0:3", ranks=1))
        before = (self.folder / "mine" / "run.json").read_bytes()

        def refuse(*words, says):
            self.refused(self.alone("--resume", *words), *says)

        refuse("mine", "--lr", "0.5", says=["--lr is 0.5", "0.02", "--init-weights"])
        refuse("mine", "--model", "resnet18", says=["--model", "resnet20"])
        refuse("mine", "--data", "synthetic", "--data-limit", "64", says=["the data set is not"])
        refuse("mine", "--init-weights", "w.safetensors", says=["--init-weights"])
        refuse("mine", "--global-batch", "32", says=["--global-batch is 32", "has 16"])
        earlier = "mine/checkpoints/epoch-0000-step-00002"
        refuse(earlier, says=["later checkpoint", "--overwrite"])
        self.assertEqual((self.folder / "mine" / "run.json").read_bytes(), before)
        self.refused(self.alone(*NET, "--run-dir", "mine"), "holds an earlier run", "--resume")
        # An earlier one may begin a run of its own.
        said = self.resume(earlier + "/", "--run-dir", "branch", "--batch-per-rank", "8", ranks=1)
        self.assertIn("--batch-per-rank 8 is not taken", said.err)
        self.assertEqual(curve(self.program.record("branch")), self.reference(ranks=1))
        self.assertEqual((self.folder / "mine" / "run.json").read_bytes(), before)

    def test_a_run_directory_that_only_rank_0_sees(self):
        """Rank 0 takes over the options of the run, and all ranks have them from it."""
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        data = ["--data", str(self.folder / "data")]
        self.stopped(self.train("seen", *data, "--checkpoint-every", "1step", "RUEDA_INJECT=stop:1:2"))

        def start(command, *words):
            words = [command, *words, *data]
            return self.program.run_contexts([(1, words), (1, words)], folders=[self.folder, elsewhere])

        self.stopped(start("train", "--resume", "seen", "RUEDA_INJECT=stop:1:6"))
        self.completed(start("train", "--resume", "auto", "--run-dir", "seen"))
        self.assertEqual(curve(self.program.record("seen")), self.reference())
        for weights in ("seen", "seen/checkpoints/epoch-0002-step-00000"):
            self.completed(start("evaluate", "--init-weights", weights))
        self.assertEqual(list(elsewhere.iterdir()), [])
        self.refused(start("train", "--resume", "seen", "--lr", "3"), "--lr is 3.0, but the run of seen/checkpoints")

    @long
    def test_a_checkpoint_elsewhere(self):
        self.stopped(self.train("whole", "--checkpoint-every", "1step", "RUEDA_INJECT=stop:0:6", ranks=1))
        checkpoints = self.folder / "whole" / "checkpoints"
        latest = self.checkpoints("whole")[-1]
        shutil.copytree(checkpoints / latest, self.folder / "copied")
        rows = self.folder / "steps.csv"
        shutil.copy(self.folder / "whole" / "steps.csv", rows)  # of somebody else
        before = rows.read_text()
        self.assertIn("\n1,4,", before)
        self.refused(self.alone("--resume", "copied"), "no run directory", "--run-dir")
        self.resume("copied", "--run-dir", "from-copy", ranks=1)
        self.assertEqual(curve(self.program.record("from-copy")), self.reference(ranks=1))
        self.assertNotIn("\n1,", (self.folder / "from-copy" / "steps.csv").read_text())
        self.assertEqual(rows.read_text(), before)
        self.assertFalse((self.folder / "run.json").exists())
        # Named from where it lies, by a link, and after it was set aside: none is later, none is lost.
        data = str(self.folder / "data")
        for place, name in ((latest, "."), ("", "link"), ("", f"passed-over-{latest}")):
            with self.subTest(place=place, name=name):
                run = self.folder / "one"
                shutil.rmtree(run, ignore_errors=True)
                shutil.copytree(self.folder / "whole", run)
                if name == "link":
                    name = str(self.folder / "link")
                    os.symlink(run / "checkpoints" / latest, name)
                if name.startswith("passed"):
                    (run / "checkpoints" / latest).rename(run / "checkpoints" / name)
                inside = Program(*self.paths, run / "checkpoints" / place)
                self.completed(inside.run("train", "--resume", name, "--data", data))
                self.assertEqual(curve(self.program.record("one")), self.reference(ranks=1))
                self.assertIn("epoch-0002-step-00000", self.checkpoints("one"))

    def has_open(self, process, ending):
        """Whether it has a file of such a name open. It closes others meanwhile."""
        for one in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(one).endswith(ending):
                    return True
        return False

    def test_the_later_of_two_runs_that_start_together_is_told_so(self):
        self.completed(self.train("race", ranks=1))
        words = [self.program.binary, "train", *NET, "--run-dir", "race"]
        with open(self.folder / "race" / ".lock", encoding="utf-8") as mine:
            fcntl.flock(mine, fcntl.LOCK_EX)
            with subprocess.Popen(words, cwd=self.folder, env=environment({}), stderr=subprocess.PIPE,
                                  text=True) as run:
                while not self.has_open(run.pid, "/.lock"):
                    self.assertIsNone(run.poll())
                    time.sleep(0.01)
                time.sleep(0.2)  # it asks for the lock as soon as the file is open
                fcntl.flock(mine, fcntl.LOCK_UN)
                err = run.stderr.read()
        self.assertEqual(run.returncode, 2, err)
        self.assertIn("race was in use until now", err)
        self.assertNotIn("--resume", err)

    def test_one_run_at_a_time(self):
        self.stopped(self.train("taken", "RUEDA_INJECT=stop:0:3", ranks=1))
        before = (self.folder / "taken" / "run.json").read_bytes()
        lock = self.folder / "taken" / ".lock"
        self.assertRegex(lock.read_text(), r"^process \d+ on \S+$")
        with lock.open("w") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            holder.write("process 7 on h1\x1b[2J")
            holder.flush()
            words = (["--resume", "taken"], ["--run-dir", "taken", *NET, "--overwrite"])
            with ThreadPoolExecutor() as pool:  # each waits a while for the other to end
                for result in pool.map(lambda one: self.alone(*one), words):
                    self.refused(result, "taken is in use by process 7 on h1\\x1b[2J", "--run-dir")
        self.assertEqual((self.folder / "taken" / "run.json").read_bytes(), before)
        self.resume("taken", ranks=1)
        self.assertEqual(curve(self.program.record("taken")), self.reference(ranks=1))

    def test_weights_at_the_end(self):
        auto = ["--resume", "auto", "--checkpoint-every", "1epoch", "--save-weights", "w"]
        for _ in range(2):  # the second time all is done
            self.completed(self.train("weights", *auto, ranks=1))
        self.refused(self.alone(*NET, "--run-dir", "others", *auto), "--save-weights w", "there is such a file")
        (self.folder / "w").unlink()
        # A checkpoint does not say where to write.
        result = self.resume("weights", "--epochs", "3", ranks=1)
        self.assertIn("--save-weights is not taken over", " ".join(result.err.split()))
        self.assertFalse((self.folder / "w").exists())

    def test_a_trace_that_can_not_be_written(self):
        result = self.alone(*NET, "--run-dir", "untraced", "--trace", "nowhere/t.json")
        self.refused(result, "--trace nowhere/t.json", "cannot be written there")
        self.assertFalse((self.folder / "untraced").exists())
        self.stopped(self.train("traced", "--trace", "traced/t.json", "RUEDA_INJECT=stop:0:3", ranks=1))
        self.assertTrue((self.folder / "traced" / "t.json").exists())

    def test_a_timed_run(self):
        words = ("--backend", "timed", "--compute", "1", "--checkpoint-every", "3steps", "--epochs", "1")
        self.completed(self.train("timed", *words))
        # From the end, and from the midst of an epoch.
        self.resume("timed", "--epochs", "2")
        shutil.rmtree(self.folder / "timed" / "checkpoints" / "epoch-0002-step-00000")
        self.resume("timed", "--epochs", "2")
        record = self.program.record("timed")
        self.assertEqual([epoch["loss"] for epoch in record["epochs"]], [None, None])
        self.assertEqual([r["epochs"] for r in record["resumptions"]], [1, 1])

    def files(self, run_dir):
        """What a run directory holds, besides its lock."""
        paths = [path for path in (self.folder / run_dir).rglob("*") if path.is_file() and path.name != ".lock"]
        return {path.relative_to(self.folder): path.read_bytes() for path in paths}

    def test_a_finished_run_stays_as_it_is(self):
        """Also with a batch that it would not take, and after an end that its accuracy brought."""
        auto = ["--resume", "auto", "--checkpoint-every", "1epoch"]
        for name, *more in (("whole", "--balance", "3,1"), ("aimed", "--target-accuracy", "0.01")):
            with self.subTest(run=name):
                self.completed(self.train(name, *auto, *more))
                before = self.files(name)
                for words in (NET, ["--batch-per-rank", "4"]):
                    result = self.program.run_on(2, "train", "--run-dir", name, *auto, *more, *words)
                    said = " ".join(self.completed(result).said.split())
                    self.assertIn(f"the run in {name} is finished", said)
                    self.assertEqual(self.files(name), before)

    def test_a_run_that_a_signal_stopped_ends_for_good(self):
        """Without --checkpoint-every its only checkpoint was that of the signal."""
        self.stopped(self.train("once", "RUEDA_INJECT=stop:0:2"))
        self.completed(self.train("once", "--resume", "auto"))
        before = self.files("once")
        said = " ".join(self.completed(self.train("once", "--resume", "auto")).said.split())
        self.assertIn("the run in once is finished", said)
        self.assertEqual(self.files("once"), before)

    def test_auto_begins_where_there_is_nothing_and_ends_where_all_is_done(self):
        auto = ["--resume", "auto", "--checkpoint-every", "1epoch"]
        self.killed(self.train("auto", *auto, "RUEDA_INJECT=kill:0:2"))
        self.completed(self.train("auto", *auto))
        self.assertEqual(self.program.record("auto")["resumptions"], [])
        aside = json.loads((self.folder / "auto" / "run-1.json").read_text())
        self.assertEqual((aside["outcome"], aside["epochs"]), ("running", []))
        self.assertEqual(curve(self.program.record("auto")), self.reference())
        before = self.files("auto")
        result = self.completed(self.train("auto", *auto))
        self.assertIn("after epoch 2", result.err)
        self.assertIn("the run in auto is finished (completed after 2 epochs)", " ".join(result.said.split()))
        self.assertIn("give --epochs more than 2 to go on", " ".join(result.said.split()))
        self.assertEqual(self.files("auto"), before)
        more = self.resume("auto", "--run-dir", "auto", "--epochs", "3")
        self.assertIn("--epochs is 3 instead of 2", more.said)
        record = self.program.record("auto")
        self.assertEqual(curve(record)[:2], self.reference())
        self.assertEqual([e["epoch"] for e in record["epochs"]], [1, 2, 3])

    @long
    def test_auto_misses_the_checkpoints_of_a_run_that_stopped(self):
        """In a directory whose name is no word."""
        auto = ["--resume", "auto", "--checkpoint-every", "1epoch"]
        self.stopped(self.train("un mounted", *auto, "RUEDA_INJECT=stop:0:3", ranks=1))
        place = self.folder / "un mounted" / "checkpoints"
        place.rename(self.folder / "away")

        def missed():
            result = self.train("un mounted", *auto, ranks=1)
            self.assertEqual(result.code, 2, result)
            self.assertIn("is a disk not mounted", result.err)

        missed()
        place.symlink_to(self.folder / "nowhere")
        missed()
        place.unlink()
        (self.folder / "away").rename(place)
        self.completed(self.train("un mounted", *auto, ranks=1))
        self.assertEqual(curve(self.program.record("un mounted")), self.reference(ranks=1))

    def test_links_in_a_run_directory_are_not_followed(self):
        place, victim = self.folder / "laid", self.folder / "victim"
        place.mkdir()
        victim.write_text("mine")
        for name in (".rueda-write-test", "run.json", "status.json"):
            (place / name).symlink_to(victim)
        self.completed(self.train("laid", "--overwrite", ranks=1))
        self.assertEqual(victim.read_text(), "mine")
        for lock in (lambda path: path.symlink_to(victim), os.mkdir, os.mkfifo):
            shutil.rmtree(place)
            place.mkdir()
            lock(place / ".lock")
            self.refused(self.train("laid", ranks=1), "laid/.lock", "is no regular file", "--run-dir")
        (place / ".lock").unlink()
        for text in ("mine", "", "process 1 on a"):  # a hard link, whatever it holds
            victim.write_text(text)
            os.link(victim, place / ".lock")
            self.refused(self.train("laid", ranks=1), "laid/.lock", "hard link", "--run-dir")
            self.assertEqual(victim.read_text(), text)
            (place / ".lock").unlink()
        (place / ".lock").write_text("somebody's notes")
        self.refused(self.train("laid", ranks=1), "laid/.lock", "holds something else", "--run-dir")
        self.assertEqual((place / ".lock").read_text(), "somebody's notes")

    def test_a_folder_in_a_run_directory_is_not_followed(self):
        """Another run's checkpoints lie behind the link: none goes, none is added."""
        self.stopped(self.train("theirs", "--checkpoint-every", "2steps", "RUEDA_INJECT=stop:0:5", ranks=1))
        theirs = self.folder / "theirs/checkpoints"
        before = sorted(path.name for path in theirs.iterdir())
        shutil.copytree(self.folder / "theirs", self.folder / "stranger")
        shutil.rmtree(self.folder / "stranger/checkpoints")
        (self.folder / "stranger/checkpoints").symlink_to("../theirs/checkpoints")
        for options in (["--resume", "stranger", "--keep", "1"], ["--overwrite"]):
            result = self.train("stranger", *options, ranks=1)
            self.refused(result, "stranger/checkpoints", "a link to ../theirs/checkpoints", "remove the link")
            self.assertEqual(sorted(path.name for path in theirs.iterdir()), before)

    def test_only_a_runs_files_are_replaced(self):
        """A file of weights that somebody laid there, and one beside a checkpoint's."""
        place = self.folder / "laid there"
        place.mkdir()
        (place / "weights.safetensors").write_text("mine")
        for _ in range(2):  # the first refusal leaves nothing that proves anything to the second
            self.refused(self.train("laid there", ranks=1), "laid there holds weights.safetensors", "--overwrite")
            self.assertEqual([path.name for path in place.iterdir()], ["weights.safetensors"])
        self.refused(self.train("laid there", "--resume", "auto", ranks=1), "laid there holds weights.safetensors")
        result = self.completed(self.train("laid there", "--overwrite", "--checkpoint-every", "1epoch", ranks=1))
        self.assertIn("note: --overwrite removes from laid there: weights.safetensors\n", result.err)
        notes = max((place / "checkpoints").iterdir()) / "notes"
        notes.write_text("mine")
        self.refused(self.train("laid there", "--overwrite", ranks=1), "holds notes, which is no file of a checkpoint")
        self.assertEqual(notes.read_text(), "mine")

    @long
    def test_a_script_starts_a_run_again(self):
        """A rank is killed in the first start, and a host is gone in the second."""
        self.write("probe", '[ "$1" = here ]\n')
        self.write("launch", f"""echo "$@" >> starts
ranks=$4
shift 4
[ -e once ] || export RUEDA_INJECT=kill:1:4
touch once
exec {self.program.mpiexec} -n "$ranks" "$@"
""")
        command = [Path(__file__).resolve().parents[2] / "jobs" / "run-again.sh", "--most", "2", "--"]
        command += ["sh", "./launch", "--host", "here:2,gone:1", "-n", "3", self.program.binary, "train", *NET]
        command += ["--run-dir", "lost", "--checkpoint-every", "1step"]

        def run(*words):
            env = environment({"RUEDA_PROBE": "sh ./probe"})
            return subprocess.run([*command, *words], cwd=self.folder, env=env, capture_output=True, text=True,
                                  check=False)

        result = run()
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("gone does not answer", result.stderr)
        starts = (self.folder / "starts").read_text().splitlines()
        self.assertEqual([line.split()[:4] for line in starts],
                         [["--host", "here:2,gone:1", "-n", "3"], ["--host", "here:2", "-n", "2"]])
        record = self.program.record("lost")
        self.assertEqual((record["outcome"], record["world_size"], len(record["epochs"])), ("completed", 2, 2))
        self.assertEqual(run("--resume", "auto", "--lr", "none").returncode, 2)  # once
        self.assertEqual(len((self.folder / "starts").read_text().splitlines()), 3)

    @long
    def test_a_script_that_is_asked_to_end_lets_the_ranks_save(self):
        """On SIGTERM Open MPI's mpirun kills its ranks, here without the second that they usually have."""
        script = Path(__file__).resolve().parents[2] / "jobs" / "run-again.sh"
        command = [script, "--", self.program.mpiexec, "--bind-to", "none", "-n", "2", self.program.binary, "train",
                   *NET, "--epochs", "5000", "--eval-every", "0", "--run-dir", "ended",
                   "--checkpoint-every", "1000epochs"]  # fmt: skip
        with subprocess.Popen(command, cwd=self.folder, env=environment({}), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:  # fmt: skip
            steps = self.folder / "ended" / "steps.csv"
            while not steps.exists() or len(steps.read_text().splitlines()) < 16:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=self.program.time_limit)
        self.assertEqual(process.returncode, 75, err + out)
        self.assertEqual(self.program.record("ended")["outcome"], "stopped")

    def test_auto_leaves_alone_what_is_no_run_json(self):
        auto = ["--resume", "auto", "--checkpoint-every", "1epoch"]
        place = self.folder / "odd"
        place.mkdir()
        os.mkfifo(place / "run.json")
        self.refused(self.alone(*NET, "--run-dir", "odd", *auto), "odd holds an earlier run")
        (place / "run.json").unlink()
        for text in ("", "{", "[" * 100_000, '{"outcome": null}', '["running"]'):
            (place / "run.json").write_text(text)
            self.refused(self.alone(*NET, "--run-dir", "odd", *auto), "odd holds an earlier run")
            self.assertEqual((place / "run.json").read_text(), text)

    @long
    def test_a_target_that_was_reached_stays_reached(self):
        words = ["--resume", "auto", "--checkpoint-every", "1epoch", "--target-accuracy", "0.01"]
        records = []
        for said in ("val_accuracy 0.01 after", "the run in target is finished (target reached after 1 epoch)"):
            result = self.completed(self.train("target", *words, ranks=1))
            self.assertIn(said, " ".join(result.said.split()))
            records.append(self.program.record("target"))
        self.assertEqual([record["outcome"] for record in records], ["target reached"] * 2)
        self.assertEqual(curve(records[0]), curve(records[1]))
        seconds = [record["summary"]["seconds_to_target"] for record in records]
        self.assertAlmostEqual(*seconds, places=6)

    def no_signal_meets_what_computes(self, launcher):
        """oneDNN may have the heap at the stack pointer: no frame of a handler belongs there."""
        asked = 1 << (signal.SIGTERM - 1) | 1 << (signal.SIGUSR1 - 1)
        children = " ".join(path.read_text() for path in Path(f"/proc/{launcher}/task").glob("*/children"))
        for rank in children.split():
            tasks = {task.name: (task / "status").read_text() for task in Path(f"/proc/{rank}/task").iterdir()}
            blocked = {task: asked & int(re.search(r"SigBlk:\s*(\w+)", text)[1], 16) for task, text in tasks.items()}
            self.assertEqual((blocked[rank], min(blocked.values())), (asked, 0), tasks)
        self.assertEqual(len(children.split()), 2)

    def test_signals_by_the_launcher(self):
        """USR1 reaches the ranks through mpirun; a second one, later, ends them at once."""
        long = ["train", *NET, "--epochs", "5000", "--eval-every", "0", "--check-replicas", "off"]
        for second in (False, True):
            name = f"signalled-{second}"
            command = [self.program.mpiexec, "--bind-to", "none", "-n", "2", self.program.binary]
            with subprocess.Popen(
                [*command, *long, "--run-dir", name],
                cwd=self.folder, env=environment({"RUEDA_INJECT": "hang:1:9"} if second else {}), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as process:
                steps = self.folder / name / "steps.csv"
                while not steps.exists() or len(steps.read_text().splitlines()) < 16:
                    self.assertIsNone(process.poll())
                    time.sleep(0.05)
                self.no_signal_meets_what_computes(process.pid)
                process.send_signal(signal.SIGUSR1)
                if second:
                    time.sleep(1.2)
                    process.send_signal(signal.SIGUSR1)
                out, err = process.communicate(timeout=self.program.time_limit)
                if second:
                    self.assertNotIn(process.returncode, (0, 75), err)
                    continue
                self.assertEqual(process.returncode, 75, err)
                self.assertIn("Stopped as asked", out)
                self.assertEqual(len(self.checkpoints(name)), 1)

    def test_nothing_half_written_stays(self):
        self.stopped(self.train("clean", "--checkpoint-every", "1step", "RUEDA_INJECT=stop:0:3", ranks=1))
        rest = self.folder / "clean" / "checkpoints" / ".unfinished-epoch-0009-step-00000"
        rest.mkdir()
        (rest / "weights.safetensors").write_bytes(b"half")
        torn = self.folder / "clean" / ".rueda-618e7fae.tmp-4711"  # of run.json
        torn.write_bytes(b"{")
        mine = self.folder / "clean" / ".rueda-618e7fae.tmp-old"
        mine.write_bytes(b"")
        self.resume("clean", ranks=1)
        self.assertEqual(len(self.checkpoints("clean")), 2)
        self.assertFalse(rest.exists())
        self.assertFalse(torn.exists())
        self.assertTrue(mine.exists())


class ShortEpochs(ProgramCase):
    """Epochs that take less time than 50 writings of run.json: not all of them write it (docs/run-json.md)."""

    words = ("--data", "data", "--data-limit", "6", "--global-batch", "6", "--image-size", "8", "--threads", "1",
             "--eval-every", "0", "--progress", "off", "--checkpoint-every", "20epochs")  # fmt: skip

    def epochs_of(self, run_dir):
        """The numbers of the epochs in run.json, epochs.csv and steps.csv."""
        found = [[epoch["epoch"] for epoch in self.program.record(run_dir)["epochs"]]]
        for name in ("epochs.csv", "steps.csv"):
            with open(self.folder / run_dir / name, encoding="utf-8", newline="") as file:
                found.append(list(dict.fromkeys(int(row["epoch"]) for row in csv.DictReader(file))))
        return found

    def test_a_run_that_ends_has_all_of_them(self):
        """Epoch 50 is not over where its only step was stopped."""
        for ranks, fault, epochs, outcome in ((1, (), 60, "completed"), (2, ("RUEDA_INJECT=stop:1:50",), 49, "stopped"),
                                              (2, ("RUEDA_INJECT=nan:1:50",), 49, "failed")):  # fmt: skip
            run = self.start(ranks, *self.words, "--epochs", "60", *fault)
            self.assertEqual(self.program.record(run.run_dir)["outcome"], outcome, run)
            self.assertEqual(self.epochs_of(run.run_dir), 3 * [list(range(1, epochs + 1))])

    def test_one_that_is_killed_lacks_an_eighth_at_most_and_none_when_it_went_on(self):
        for ranks in (1, 3):
            run = self.start(ranks, *self.words, "--epochs", "60", "RUEDA_INJECT=kill:0:50")
            self.assertEqual(self.program.record(run.run_dir)["outcome"], "running", run)
            written, *others = self.epochs_of(run.run_dir)
            self.assertEqual(written, list(range(1, len(written) + 1)))
            self.assertEqual(others, 2 * [list(range(1, 50))])
            self.assertLessEqual(49 - len(written), len(written) // 8)
            self.completed(self.program.run_on(ranks, "train", "--resume", run.run_dir))
            self.assertEqual(self.epochs_of(run.run_dir), 3 * [list(range(1, 61))])


if __name__ == "__main__":
    main()
