#!/usr/bin/env python3
"""Every option that names an output: what becomes of a file, a link, a device and a pipe there.

usage: output_test.py RUEDA MPIEXEC
"""

import os
import re
import select
import shutil
import stat
import subprocess
import threading
import time
import unittest

from rueda_runs import LONG, SMALL, ProgramCase, environment, longer, main

TRAIN = ["train", *SMALL, "--overwrite", "--run-dir", "trained"]
TIMED = ["--backend", "timed", "--compute", "1"]

# An option and the words before it. The first run makes what the others read.
OUTPUTS = {
    "train --save-weights": [*TRAIN, "--save-weights"],
    "train --trace": [*TRAIN, *TIMED, "--trace"],
    "evaluate --json": ["evaluate", "--data", "data", "--init-weights", "start.safetensors",
                        "--threads", "1", "--json"],
    "evaluate --predictions": ["evaluate", "--data", "data", "--init-weights", "start.safetensors", "--threads", "1",
                               "--predictions"],
    "doctor --json": ["doctor", "--json"],
    "bench all-reduce --json": ["bench", "all-reduce", "--sizes", "64", "--seconds", "0.05", "--json"],
    "bench layers --json": ["bench", "layers", "--image-size", "8", "--batch-per-rank", "1", "--repetitions", "1",
                            "--threads", "1", "--json"],
    "predict --json": ["predict", "first", "second", "--json"],
    "predict --extra-p": ["predict", "first", "second", "--extra-p"],
    "watch --json": ["watch", "first", "--once", "--json"],
}  # fmt: skip


# Folders and pictures, which the program does not write by itself: Logs below, report_test.py, plots_test.py.
OTHERS = {"train --log-dir", "predict --out", "report --out", "evaluate --plot", "bench all-reduce --plot"}
SLOW = () if LONG else ("doctor --json",)  # plans many batches each time
COMMANDS = ("train", "summary", "synth", "doctor", "evaluate", "bench all-reduce", "bench explain", "bench layers",
            "predict", "report", "watch")  # fmt: skip


def devices_can_be_made(folder):
    """Whether this is root, on a file system whose devices work."""
    try:
        os.mknod(folder / "probe", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        (folder / "probe").write_text("x")
        return True
    except OSError:
        return False


def read_all(pipe, done):
    """What is written into a pipe until the writer is done; it may never come."""
    text = b""
    while not done.is_set() or select.select([pipe], [], [], 0)[0]:
        if select.select([pipe], [], [], 0.05)[0]:
            piece = os.read(pipe, 1 << 16)
            if not piece:
                time.sleep(0.01)  # nobody has opened it yet, or nobody has any more
                if done.is_set():
                    break
            text += piece
    os.close(pipe)
    return text


class Outputs(ProgramCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, ranks in (("first", 1), ("second", 2)):
            cls.made("train", *SMALL, *TIMED, "--run-dir", name, ranks=ranks)
        cls.made(*TRAIN, "--save-weights", "start.safetensors")
        cls.devices = devices_can_be_made(cls.folder)

    def each(self, run, but=()):
        for option, words in OUTPUTS.items():
            if option not in but:
                with self.subTest(option=option):
                    run(option, words)

    def test_no_option_that_names_an_output_is_left_out(self):
        found = set()
        for command in COMMANDS:
            words = (*command.split(), "--help-all" if command == "train" else "--help")
            text = self.completed(self.program.run(*words, COLUMNS="10000")).out
            rows = re.findall(r"(?m)^  (--[a-z-]+) (?:FILE|DIR)\S*\s+(.*)", text)
            found |= {f"{command} {option}"
                      for option, about in rows if re.match(r"(?i)(also )?(writes|draws)\b", about)}
        self.assertEqual(found, OTHERS | set(OUTPUTS))

    def test_a_regular_file_is_replaced(self):
        def replaced(option, words):
            self.write("there", "old")
            result = self.program.run(*words, "there")
            self.assertIn(result.code, (0, 1) if "doctor" in option else (0,), result)
            self.assertNotEqual(self.path("there").read_bytes(), b"old")

        self.each(replaced)

    def test_a_link_is_refused_and_not_followed(self):
        def refused(_, words):
            self.write("victim", "mine")
            for target in ("victim", "nothing"):
                link = self.path("link")
                link.unlink(missing_ok=True)
                link.symlink_to(target)
                self.refused(self.program.run(*words, "link"), words[-1], "link")
                self.assertEqual(os.readlink(link), target)
            self.assertEqual(self.path("victim").read_text(encoding="utf-8"), "mine")
            self.assertFalse(self.path("nothing").exists())

        self.each(refused)

    @longer
    def test_a_device_stays_a_device(self):
        """Devices of this test's own: a mistake must not replace those of the machine."""
        if not self.devices:
            self.skipTest("making devices needs root and a file system that has them")
        for name, number in (("null", 3), ("full", 7)):
            os.mknod(self.path(name), stat.S_IFCHR | 0o600, os.makedev(1, number))

        def written(option, words):
            result = self.program.run(*words, "null")
            self.assertIn(result.code, (0, 1) if "doctor" in option else (0,), result)
            result = self.program.run(*words, "full")
            self.assertEqual(result.code, 1, result)
            self.assertIn("No space left", result.err)
            for name in ("null", "full"):
                self.assertTrue(stat.S_ISCHR(os.lstat(self.path(name)).st_mode), name)

        self.each(written, SLOW)

    @longer
    def test_a_pipe_gets_the_bytes(self):
        os.mkfifo(self.path("pipe"))

        def read(option, words):
            got = []
            pipe = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
            reader = threading.Thread(target=lambda: got.append(read_all(pipe, done)))
            done = threading.Event()
            reader.start()
            result = self.program.run(*words, "pipe")
            done.set()
            reader.join()
            self.assertIn(result.code, (0, 1) if "doctor" in option else (0,), result)
            self.assertGreater(len(got[0]), 10)
            self.assertTrue(stat.S_ISFIFO(os.lstat(self.path("pipe")).st_mode))

        self.each(read, SLOW)

    def test_standard_output_by_its_name(self):
        words = [self.program.binary, *OUTPUTS["predict --extra-p"], "/dev/stdout"]
        with open(self.path("out"), "wb") as out:
            done = subprocess.run(words, cwd=self.folder, env=environment({}), stdout=out, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(b'"params"', self.path("out").read_bytes())
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_a_name_of_255_bytes(self):
        for option in ("train --save-weights", "predict --json"):
            name = "n" * 255
            self.completed(self.program.run(*OUTPUTS[option], name))
            self.assertGreater(self.path(name).stat().st_size, 10)
            self.path(name).unlink()


class Names(ProgramCase):
    def test_a_picture_has_a_name_and_not_an_ending_alone(self):
        for name in (".png", "d/.svg", "picture"):
            self.refused(self.program.run("bench", "all-reduce", "--plot", name), f"--plot {name}", "ends in .png")

    def test_a_loop_of_links_and_a_name_that_is_too_long_are_refused_by_every_option(self):
        """All that `train` has, from its help."""
        text = self.completed(self.program.run("train", "--help-all", COLUMNS="10000")).out
        options = re.findall(r"(?m)^  (--[a-z-]+) (?:FILE|PATH|DIR|RUN)\b", text)
        self.assertGreater(len(options), 9)
        (self.folder / "loop").symlink_to("loop")
        for option in options:
            if option in ("--plan-cache", "--tuning-file"):
                continue  # a GPU's: standin_test.py
            for value in ("loop", "x" * 5000):
                with self.subTest(option=option, value=value[:4]):
                    result = self.program.run(*TRAIN, option, value)
                    self.refused(result, value[:4])
                    self.assertNotIn("filesystem error", result.err)

    def test_a_lock_with_another_name_or_content_is_left_alone(self):
        victim = self.folder / "victim"
        for content, link in (("mine", os.link), ("", os.link), ("mine", shutil.copy)):
            with self.subTest(content=content, link=link.__name__):
                victim.write_text(content)
                shutil.rmtree(self.folder / "locked", ignore_errors=True)
                (self.folder / "locked").mkdir()
                link(victim, self.folder / "locked" / ".lock")
                words = ["train", *SMALL, "--run-dir", "locked"]
                self.refused(self.program.run(*words), "locked/.lock", "remove it, or choose another --run-dir")
                self.assertEqual((self.folder / "locked" / ".lock").read_text(), content)
        for content in ("", "process 12345 on some-host"):  # empty, or ours
            (self.folder / "locked" / ".lock").unlink()
            (self.folder / "locked" / ".lock").write_text(content)
            self.completed(self.program.run(*words, "--overwrite"))


class Logs(ProgramCase):
    def logged(self, ranks=1):
        words = ["train", *SMALL, *TIMED, "--overwrite", "--run-dir", "logged", "--log-dir", "logs"]
        return self.program.run_on(ranks, *words, "--log-level", "debug")

    def test_a_log_follows_no_link_and_waits_for_no_pipe(self):
        self.path("logs").mkdir(exist_ok=True)
        victim, log = self.path("victim"), self.path("logs") / "rank-0.log"
        victim.write_text("mine", encoding="utf-8")
        for make in (lambda: log.symlink_to(victim), lambda: os.mkfifo(log)):
            make()
            self.refused(self.logged(), "--log-dir")
            log.unlink()
        self.assertEqual(victim.read_text(encoding="utf-8"), "mine")
        self.completed(self.logged())
        self.assertIn("debug: ", log.read_text(encoding="utf-8"))

    @unittest.skipIf(os.geteuid() != 0, "a small file system needs root")
    def test_a_log_on_a_full_disk_says_so_once(self):
        self.path("logs").mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", self.path("logs")]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", self.path("logs")], check=False)
        (self.path("logs") / "fill").write_bytes(b"x" * 4096)
        result = self.logged()
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.err.count("lacks lines: No space left"), 1, result)


if __name__ == "__main__":
    main()
