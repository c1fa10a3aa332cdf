#!/usr/bin/env python3
"""jobs/to_tensorboard.py on runs made here: TensorBoard's own reader finds every scalar. Without Python's package
tensorboard only what does not need it is tested.

usage: tensorboard_test.py
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rueda_runs import main

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "jobs" / "to_tensorboard.py"
INSTALLED = str(ROOT / "build-logs" / "tensorboard")  # by jobs/test.sh, where Python has none
sys.path[:0] = [str(ROOT / "jobs")]
sys.path.append(INSTALLED)
import to_tensorboard  # noqa: E402

try:
    from tensorboard.summary.writer import event_file_writer  # noqa: F401

    MISSING = ""
except ImportError as error:
    MISSING = f"no tensorboard in this Python ({error}): jobs/test.sh installs it by pip"
HAS_TENSORBOARD = not MISSING
PHASES = ("load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other")
EPOCHS = ["epoch", "loss", "val_loss", "accuracy", "val_accuracy", "learning_rate", "seconds", "val_seconds",
          "images_per_second", "joules", *[f"{phase}_seconds" for phase in PHASES]]  # fmt: skip
STEPS = ["epoch", "step", "rank", "seconds", "train_loss", "train_accuracy", "learning_rate", *PHASES]


def table(names, rows):
    lines = [",".join(names)] + [",".join(str(row.get(name, 0)) for name in names) for row in rows]
    return "".join(line + "\r\n" for line in lines)


class Events(unittest.TestCase):
    """A run of two epochs of two steps on two ranks, the second epoch without an evaluation."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-tensorboard-")
        self.addCleanup(temporary.cleanup)
        self.run_dir = Path(temporary.name) / "run"
        self.run_dir.mkdir()
        self.write("run.json", json.dumps({"schema": "rueda-run", "started_at": "1970-01-01T00:01:40Z"}))
        first = {"epoch": 1, "loss": 2, "val_loss": 2.5, "seconds": 3, "val_seconds": 1, "joules": ""}
        second = {"epoch": 2, "loss": 1, "val_loss": "", "seconds": 5, "val_seconds": "", "joules": 7,
                  "forward_seconds": 2}
        self.write("epochs.csv", table(EPOCHS, [first, second]))
        self.write("steps.csv", table(STEPS, [
            {"epoch": epoch, "step": step, "rank": rank, "seconds": 1 + rank, "forward": rank,
             "train_loss": 10 * epoch + step}
            for epoch in (1, 2) for step in (1, 2) for rank in (0, 1)
        ]))  # fmt: skip

    def write(self, name, text):
        (self.run_dir / name).write_text(text, encoding="utf-8", newline="")

    def convert(self, *words, **env):
        return subprocess.run(
            [sys.executable, SCRIPT, self.run_dir, *map(str, words)], capture_output=True, text=True, check=False,
            timeout=300, env={**os.environ, "PYTHONPATH": INSTALLED, **env},
        )  # fmt: skip

    def refused(self, done, *wanted):
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        for words in wanted:
            self.assertIn(words, done.stderr)

    def scalars(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(self.run_dir / "tensorboard"))
        events.Reload()
        return {tag: [(one.step, one.value, one.wall_time) for one in events.Scalars(tag)]
                for tag in events.Tags()["scalars"]}

    def computed(self):
        """{tag: [(step, value, seconds since 1970)]}, which needs no package."""
        found = {}
        for seconds, step, values in to_tensorboard.scalars(self.run_dir):
            for tag, value in values.items():
                found.setdefault(tag, []).append((step, value, seconds))
        return found

    def test_scalars_of_epochs_and_their_clock(self):
        """The clock starts when the run began, at 100 s. It goes on by each epoch and its evaluation, where there was
        one."""
        found = self.computed()
        self.assertEqual(found["loss/training"], [(1, 2, 104), (2, 1, 109)])
        self.assertEqual(found["loss/test"], [(1, 2.5, 104)])
        self.assertEqual(found["epoch/seconds"], [(1, 3, 104), (2, 5, 109)])
        self.assertEqual(found["epoch/evaluation_seconds"], [(1, 1, 104)])
        self.assertEqual(found["epoch/joules"], [(2, 7, 109)])
        self.assertEqual(found["epoch_phases/forward"], [(1, 0, 104), (2, 2, 109)])

    def test_scalars_of_the_noise(self):
        """Empty where it is not determined; older versions have no such columns, as those of the other tests."""
        rows = [{"epoch": 1, "noise_scale": "", "learning_efficiency": ""},
                {"epoch": 2, "noise_scale": 90.5, "learning_efficiency": 0.25}]  # fmt: skip
        self.write("epochs.csv", table([*EPOCHS, "noise_scale", "learning_efficiency"], rows))
        found = self.computed()
        self.assertEqual([one[:2] for one in found["noise/scale"]], [(2, 90.5)])
        self.assertEqual([one[:2] for one in found["noise/learning_efficiency"]], [(2, 0.25)])

    def test_scalars_of_steps_and_their_clock(self):
        """Seconds of the slowest rank, phases as means over ranks; steps go on over epochs, the clock by the steps
        alone."""
        found = self.computed()
        self.assertEqual(found["step/loss"], [(1, 11, 102), (2, 12, 104), (3, 21, 106), (4, 22, 108)])
        self.assertEqual([value for _, value, _ in found["step/seconds"]], [2] * 4)
        self.assertEqual([value for _, value, _ in found["step_phases/forward"]], [0.5] * 4)
        self.assertEqual([value for _, value, _ in found["step_phases/load"]], [0] * 4)
        self.assertEqual(len(found), 9 + 8 + 4 + 8)
        (self.run_dir / "steps.csv").unlink()
        self.assertEqual(len(self.computed()), 9 + 8)

    @unittest.skipIf(MISSING, MISSING)
    def test_tensorboard_reads_epochs_and_steps(self):
        done = self.convert()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("6 epochs and steps", done.stdout)
        read = self.scalars()
        self.assertEqual(read, self.computed())
        # A second file next to the first would show every value twice.
        self.refused(self.convert(), "--overwrite")
        done = self.convert("--overwrite")
        self.assertEqual((done.returncode, done.stdout.count(f"Removed {self.run_dir}/tensorboard/events.out.")),
                         (0, 1), done)
        self.assertEqual(self.scalars(), read)

    @unittest.skipIf(MISSING, MISSING)
    def test_event_files_of_others_stay(self):
        self.assertEqual(self.convert().returncode, 0)
        folder = self.run_dir / "tensorboard"
        (own,) = folder.glob("events.out.*")
        other = folder / "events.out.tfevents.1.other"
        for path in (other, own):  # of another program; changed since it was written
            path.write_bytes(b"mine")
            self.refused(self.convert("--overwrite"), path.name, "did not write", "--out")
            self.assertEqual((own.exists(), path.read_bytes()), (True, b"mine"))
            other.unlink(missing_ok=True)

    @unittest.skipIf(MISSING, MISSING)
    def test_what_a_crash_cut_off_is_left_out(self):
        whole = (self.run_dir / "steps.csv").read_text(encoding="utf-8")
        self.write("steps.csv", whole[: whole.rindex(",0,")])
        self.assertEqual(self.convert().returncode, 0)
        self.assertEqual([step for step, *_ in self.scalars()["step/loss"]], [1, 2, 3, 4])
        (self.run_dir / "steps.csv").unlink()
        self.assertEqual(self.convert("--overwrite").returncode, 0)
        self.assertNotIn("step/loss", self.scalars())

    @unittest.skipIf(MISSING, MISSING)
    def test_no_link_is_followed(self):
        elsewhere = self.run_dir.parent / "elsewhere"
        elsewhere.mkdir()
        (self.run_dir / "tensorboard").symlink_to(elsewhere)
        self.refused(self.convert(), "no folder of its own", "--out")
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_bad_input_is_refused_before_anything_is_written(self):
        epochs = (self.run_dir / "epochs.csv").read_bytes().decode()
        for name, text, *wanted in (
            ("run.json", "{", "run.json", "cut off"),
            ("run.json", "[]", "not the run.json"),
            ("run.json", '{"schema": "rueda-run", "started_at": "soon\\u001b"}', "started_at"),
            ("epochs.csv", epochs.replace("1,2,2.5", "1,\x1b[31m,2.5"), "epochs.csv: line 2", "loss is no number"),
            ("epochs.csv", epochs.replace("1,2,2.5", "1.5,2,2.5"), "line 2", "epoch is no whole number"),
            ("epochs.csv", epochs.replace("1,2,2.5", "99999999999999999999,2,2.5"), "line 2",
             "epoch is no whole number up to"),
            ("epochs.csv", epochs.replace("1,2,2.5", "1e300,2,2.5"), "line 2", "epoch is no whole number up to"),
            ("epochs.csv", epochs.replace("val_loss", "other"), "no column val_loss"),
            ("epochs.csv", epochs.replace(",0,0\r\n", "\r\n", 1), "line 2", "a cell for each column"),
        ):  # fmt: skip
            with self.subTest(text=text[:60]):
                self.setUp()
                self.write(name, text)
                done = self.convert()
                self.refused(done, *wanted)
                self.assertNotIn("\x1b", done.stderr)
                self.assertFalse((self.run_dir / "tensorboard").exists())
        self.setUp()
        (self.run_dir / "steps.csv").unlink()
        self.write("epochs.csv", epochs.splitlines()[0])
        self.refused(self.convert(), "no finished epoch")
        for name in ("steps.csv", "epochs.csv", "run.json"):
            self.setUp()
            (self.run_dir / name).unlink()
            os.mkfifo(self.run_dir / name)
            self.refused(self.convert(), name, "it is no regular file", "rueda train")
        (self.run_dir / name).unlink()
        self.refused(self.convert(), name, "rueda train")

    def test_without_the_package_the_remedy_is_named(self):
        blocker = self.run_dir / "tensorboard.py"
        blocker.write_text("raise ImportError('none here')", encoding="utf-8")
        self.refused(self.convert(PYTHONPATH=str(self.run_dir)), "pip install tensorboard")

    def test_output_that_no_disk_takes(self):
        for words in ([self.run_dir], ["--help"]) if HAS_TENSORBOARD else (["--help"],):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(
                    [sys.executable, SCRIPT, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                    timeout=300, env={**os.environ, "PYTHONPATH": INSTALLED, "PYTHONUNBUFFERED": ""},
                )  # fmt: skip
            self.refused(done, "the output: No space left on device")


if __name__ == "__main__":
    main(0)
