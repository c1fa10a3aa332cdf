#!/usr/bin/env python3
"""What a run says while it trains: the times of all ranks in its sum, status.json, rueda watch.

usage: watch_test.py RUEDA MPIEXEC [CASE...]
"""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path

from rueda_runs import ProgramCase, environment, main

# Ranks and steps differ by the jitter.
TIMED = ["--backend", "timed", "--model", "resnet20", "--data", "data", "--batch-per-rank", "16"]
TIMED += ["--compute", "ms=20,jitter=50"]
BAD = {
    "foreign": '{"a": 1}',
    "of another version": '"schema_version": 2',
    "half": None,
    "huge": "[" * 5_000_000,
    "negative": '"step": -3',
    "of words": '"loss": "low"',
    "of an absurd clock": '"written_at": -1e300',
    "without a host": '"hosts": []',
}


class Watch(ProgramCase):
    def means_from(self, rows, first, last):
        """Of each rank: mean seconds of these steps without waiting for the sum."""
        mine = [[row for row in rows if int(row["rank"]) == rank][first:last] for rank in range(3)]
        return [
            sum(float(row["seconds"]) - float(row["all_reduce"]) for row in steps) / len(steps) for steps in mine
        ]

    def test_rank_0_knows_every_rank_at_each_step(self):
        """The last status has the steps since the one before, but for the last, whose times are in no sum."""
        record = self.trained(3, *TIMED, "--epochs", "1")
        status = self.read(record["config"]["run-dir"] + "/status.json")
        self.assertEqual((status["outcome"], status["step"]), ("completed", record["epochs"][0]["steps"]))
        steps = record["epochs"][0]["steps"]
        found = [self.means_from(record["steps"], first, steps - 1) for first in range(steps - 1)]
        near = [all(abs(a - b) < 2e-6 for a, b in zip(means, status["useful"])) for means in found]
        self.assertIn(True, near, (status["useful"], found))
        self.assertNotIn(True, [abs(a - b) < 2e-6 for a, b in zip(found[0], found[0][1:])])  # ranks do differ

    def test_a_rank_with_more_images_is_not_slow_and_a_file_that_cannot_be_written_hurts_nothing(self):
        (self.folder / "odd" / "status.json").mkdir(parents=True)
        words = ["--backend", "timed", "--model", "resnet20", "--data", "data", "--data-limit", "30",
                 "--compute", "300"]
        words += ["--global-batch", "3", "--epochs", "1", "--run-dir", "odd"]  # rank 0 has two images of three
        run = self.program.run_ranks(2, "train", *words)
        self.completed(run)
        self.assertRegex(run.out, r"Epoch 1/1 .*\n")
        self.assertNotIn("  slow: rank", run.out)
        self.assertIn("waiting for rank 0 on ", " ".join(run.out.split()))
        self.assertEqual(run.err.count("warning: cannot write odd/status.json: "), 1, run.err)

    def test_from_another_terminal(self):
        words = ["train", *TIMED, "--epochs", "1000", "--run-dir", "long", "--progress", "lines"]
        command = [self.program.mpiexec, "--bind-to", "none", "-n", "2", self.program.binary, *words]
        with subprocess.Popen(command, cwd=self.folder, env=environment({}), stdout=subprocess.DEVNULL) as run:
            status = self.folder / "long" / "status.json"
            end = time.monotonic() + self.program.time_limit
            while (not status.exists() or self.read(status)["step"] == 0) and time.monotonic() < end:
                time.sleep(0.1)
            seen = self.completed(self.program.run("watch", "long", "--once"))
            run.terminate()
        for word in ("resnet20, 2 ranks", "running since", "images/s", "forward", "load balance", "ranks, useful"):
            self.assertIn(word, seen.out)
        ended = self.completed(self.program.run("watch", "long"))
        self.assertIn("stopped at", ended.out)
        as_json = self.completed(self.program.run("watch", "long", "--json", "-"))
        self.assertEqual(json.loads(as_json.out), self.read("long/status.json"))
        self.assertNotIn("\x1b", seen.out + ended.out)

    def process_of(self, launcher, rank):
        """The process of a rank below its launcher."""
        mine = f"OMPI_COMM_WORLD_RANK={rank}".encode()
        for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text(encoding="ascii").split():
            if mine in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                return int(child)
        raise AssertionError(f"no rank {rank}")

    def wait_until(self, happens):
        end = time.monotonic() + self.program.time_limit
        while not happens():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_a_rank_that_is_stopped_for_some_seconds(self):
        # 20 steps of 0.4 s an epoch: the status is read and the rank is stopped long before the epoch ends. Between
        # two epochs no step is under way.
        words = ["train", "--backend", "timed", "--compute", "400", "--data", "data", "--data-limit", "40",
                 "--batch-per-rank", "1", "--epochs", "10000", "--run-dir", "gap", "--progress", "lines"]  # fmt: skip
        command = [self.program.mpiexec, "--bind-to", "none", "-n", "2", self.program.binary, *words]
        status, record = self.folder / "gap" / "status.json", self.folder / "gap" / "run.json"
        with subprocess.Popen(command, cwd=self.folder, env=environment({}), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as run:  # fmt: skip
            try:
                self.wait_until(lambda: status.exists() and 5 < self.read(status)["step"] < 12)
                rank = self.process_of(run.pid, 1)
                os.kill(rank, signal.SIGSTOP)
                self.wait_until(lambda: "no step since" in self.program.run("watch", "gap", "--once").out)
                os.kill(rank, signal.SIGCONT)
                self.wait_until(lambda: self.read(record)["longest_gap"])
            finally:
                run.terminate()
            said, _ = run.communicate(timeout=self.program.time_limit)
        gap = self.read(record)["longest_gap"]
        self.assertGreater(gap["seconds"], 5 * gap["usual_seconds"])
        self.assertIn(f"note: step {gap['step']} of epoch {gap['epoch']} took ", said)

    def test_a_clock_that_is_ahead_kills_no_run(self):
        """The run's host is five minutes behind, or ahead: what counts is that its status changes."""
        run_dir = self.completed(self.start(1, *TIMED, "--epochs", "1")).run_dir
        status = {**self.read(f"{run_dir}/status.json"), "outcome": "running"}
        (self.folder / "shifted").mkdir()
        ended = threading.Event()

        def write(shift):
            while not ended.wait(0.3):
                status["last_step_at"] = status["written_at"] = time.time() + shift
                self.write("shifted/new.json", json.dumps(status))
                (self.folder / "shifted/new.json").rename(self.folder / "shifted/status.json")

        for shift in (-300, 300):
            with self.subTest(shift):
                self.write("shifted/status.json", json.dumps(status))
                ended.clear()
                writer = threading.Thread(target=write, args=(shift,))
                writer.start()
                try:
                    seen = self.completed(self.program.run("watch", "shifted", "--once"))
                finally:
                    ended.set()
                    writer.join()
                self.assertIn("running since", seen.out)
        self.assertIn("nothing came for", self.completed(self.program.run("watch", "shifted", "--once")).out)

    def screen(self, columns, rows, **variables):
        """All that watch writes to a terminal of this size; the run has ended, so it is one screen."""
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        given = {name: text for name, text in environment(variables).items() if name not in ("COLUMNS", "COLORTERM")}
        try:
            subprocess.run([self.program.binary, "watch", "seen"], cwd=self.folder, env=given, stdin=terminal,
                           stdout=terminal, check=True, timeout=self.program.time_limit)  # fmt: skip
            return os.read(controller, 1 << 16).decode()
        finally:
            os.close(controller)
            os.close(terminal)

    def test_terminals(self):
        """Colours where they are shown and wanted; a small one keeps the head, and each line in one line."""
        self.completed(self.program.run_ranks(2, "train", *TIMED, "--epochs", "1", "--run-dir", "seen"))
        self.assertIn("\x1b[30;48;5;", self.screen(80, 24, TERM="xterm-256color", NO_COLOR=""))
        for variables in ({"TERM": "vt100", "NO_COLOR": ""}, {"TERM": "xterm-256color", "NO_COLOR": "1"}):
            for columns, rows in ((80, 24), (76, 24), (60, 10), (40, 10)):
                with self.subTest(columns=columns, **variables):
                    text = self.screen(columns, rows, **variables)
                    self.assertEqual(set(re.findall(r"\x1b\[[^A-Za-z]*[A-Za-z]", text)),
                                     {"\x1b[2J", "\x1b[?7l", "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[?7h"})  # fmt: skip
                    lines = re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", text).splitlines()
                    self.assertTrue(lines[0].startswith("resnet20, 2 ranks, "), lines)
                    self.assertLess(len(lines), rows)
                    self.assertLess(max(map(len, lines)), columns)

    def test_bad_files(self):
        run_dir = self.completed(self.start(1, *TIMED, "--epochs", "1")).run_dir
        good = (self.folder / run_dir / "status.json").read_text(encoding="utf-8")
        for name, text in BAD.items():
            with self.subTest(name):
                (self.folder / name).mkdir()
                if text is None:
                    text = good[: len(good) // 2]
                elif text.startswith('"'):
                    text = json.dumps({**json.loads(good), **json.loads("{" + text + "}")})
                self.write(f"{name}/status.json", text)
                remedy = "the rueda that wrote it" if "version" in name else "give the directory"
                self.refused(self.program.run("watch", name), f"{name}/status.json", remedy)
        self.refused(self.program.run("watch", "data"), "data/status.json", "give the directory")
        evil = json.dumps({**json.loads(good), "model": "\x1b[31mred", "failure": "a\nb"})
        self.write("foreign/status.json", evil)
        self.assertIn("\\x1b[31mred", self.completed(self.program.run("watch", "foreign")).out)


if __name__ == "__main__":
    main()
