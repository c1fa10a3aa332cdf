#!/usr/bin/env python3
"""Disturbs runs below jobs/run-again.sh and measures how long each stands still.

usage: jobs/check/restart.py [FAULT...] [--times N] [--stall-seconds N]

  link    the link of one of three emulated hosts goes down; the timed backend trains, 0.1 s a step (needs root)
  rank    the rank on one of these hosts is killed (needs root)
  local   one of two ranks of a training on this machine is killed: ResNet-20, images of 16 pixels

Without FAULT all three. The fault comes when there is a checkpoint. Prints a table: the seconds from the fault to the
next completed step, and its parts, of the run with the median; and the range of all. Fails where the next step takes
60 s or more. Needs a build (jobs/setup.sh). Times are those of a machine without other work only if there is none.
"""

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "jobs"))

from reader import start  # noqa: E402

HOSTS = ROOT / "tests" / "lab" / "hosts.sh"
PROGRAM = ROOT / "build" / "rueda"
RUN_AGAIN = [sys.executable, str(ROOT / "jobs" / "run_again.py"), "--"]
MARK = "RUEDA_RESTART_RUN"  # by which the ranks of a run are found
RANK = b"OMPI_COMM_WORLD_RANK="
COUNT = 3  # hosts
MOST = 60  # seconds from the fault to the next step
LIMIT = 300  # seconds for anything
LOOK = 0.05  # seconds between two looks
PARTS = ("noticed", "ended", "hosts asked, launched", "MPI", "data", "plan, checkpoint, first step")
TRAIN = ["--model", "resnet20", "--data", "synthetic", "--epochs", "1000", "--run-dir", "run", "--progress", "off",
         "--checkpoint-every", "10steps"]  # fmt: skip
# Whether a host answers over the link: the names of the hosts end in their numbers.
PROBE = """import socket, sys
number = int(sys.argv[1].rpartition("-")[2])
try:
    socket.create_connection((f"10.77.0.{number + 1}", 9), timeout=3).close()
except ConnectionRefusedError:
    pass  # it is there, and nothing listens
except OSError:
    sys.exit(1)
"""


class Run:
    """A run in a folder of its own, and what it shows."""

    def __init__(self, folder, stall_seconds):
        self.folder = folder
        self.train = [str(PROGRAM), "train", *TRAIN, "--stall-seconds", str(stall_seconds)]
        self.environment = {**os.environ, MARK: str(folder)}
        self.job = None

    def launch(self, *words):
        with open(self.folder / "said", "wb") as said:
            self.job = subprocess.Popen(words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=said)  # fmt: skip

    def end(self):
        if self.job:
            self.job.send_signal(signal.SIGTERM)
            try:
                self.job.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.job.kill()

    def status(self):
        try:
            return json.loads((self.folder / "run" / "status.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def said(self):
        return (self.folder / "said").read_text(encoding="utf-8", errors="replace")

    def wait_for(self, what, happens):
        """What `happens` returns, once that is something; and when."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if found := happens():
                return found, time.time()
            if self.job.poll() is not None:
                raise SystemExit(f"the job ended with exit code {self.job.returncode} before {what}")
            time.sleep(LOOK)
        raise SystemExit(f"no {what} within {LIMIT} s")

    def ranks(self):
        """The numbers of its processes that have a rank, by rank."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue  # ended meanwhile, or somebody else's
            if f"{MARK}={self.folder}".encode() in environment:
                found.update((int(word[len(RANK) :]), int(process.name)) for word in environment
                             if word.startswith(RANK))  # fmt: skip
        return found

    def kill_rank(self, rank):
        os.kill(self.ranks()[rank], signal.SIGKILL)

    def startup(self):
        """Seconds of each part of the last start, on rank 0; {} where the run has not recorded it."""
        try:
            record = json.loads((self.folder / "run" / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record["ranks"][0]["startup"] if record["outcome"] == "stopped" else {}


class Hosts(Run):
    """Over emulated hosts whose names no other process uses."""

    def __init__(self, folder, stall_seconds):
        super().__init__(folder, stall_seconds)
        self.name = f"cut{os.getpid()}-"
        (folder / "probe.py").write_text(PROBE, encoding="utf-8")
        self.environment |= {
            "LAB_NAME": self.name,
            "LAB_BEFORE": " ".join(RUN_AGAIN),
            "RUEDA_PROBE": f"{sys.executable} {folder / 'probe.py'}",
        }

    def call(self, *words):
        subprocess.run([HOSTS, *map(str, words)], env=self.environment, check=True, stdout=subprocess.DEVNULL,
                       timeout=LIMIT)

    def start(self):
        self.call("up", COUNT, "1gbit", "50us")
        timed = ["--backend", "timed", "--compute", "100", "--data-limit", "600", "--global-batch", "6"]
        self.launch(HOSTS, "run", str(COUNT), "--", *self.train, *timed)

    def end(self):
        super().end()
        self.call("down")


class Link(Hosts):
    def disturb(self):
        subprocess.run(["ip", "-n", f"{self.name}{COUNT - 1}", "link", "set", "net0", "down"], check=True)


class Rank(Hosts):
    def disturb(self):
        self.kill_rank(COUNT - 1)


class Local(Run):
    def start(self):
        if os.geteuid() == 0:
            self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        small = ["--image-size", "16", "--data-limit", "2048", "--global-batch", "64", "--threads", "1"]
        self.launch(*RUN_AGAIN, "mpirun", "-n", "2", *self.train, *small)

    def disturb(self):
        self.kill_rank(1)


FAULTS = {"link": (Link, "a cut link"), "rank": (Rank, "a killed rank"), "local": (Local, "a killed rank, one host")}


def first_step(status, resumed):
    """When the first step was done: the file shows the last one of up to a second."""
    taken = status["step"] - resumed
    return status["last_step_at"] - max(taken - 1, 0) * (status["usual_step"] or 0)


def measure(run):
    """Seconds from the fault to the first message, the end of the launcher, the next ranks and the next step; and the
    number of ranks that made it."""
    run.wait_for("a checkpoint", lambda: run.status().get("checkpoint"))
    before, old = run.said(), set(run.ranks().values())
    run.disturb()
    fault = time.time()
    _, word = run.wait_for("a message", lambda: len(run.said()) > len(before))
    _, ended = run.wait_for("an end", lambda: "run-again: exit code" in run.said())
    _, there = run.wait_for("new ranks", lambda: set(run.ranks().values()) - old)

    def stepped():
        status = run.status()
        return status if status.get("started_at", 0) > fault and status.get("last_step_at", 0) > fault else None

    status, _ = run.wait_for("a step", stepped)
    resumed = int(re.search(r"again from epoch-\d+-step-(\d+)", run.said())[1])
    moments = [word, ended, there, first_step(status, resumed)]
    return [moment - fault for moment in moments], status["world_size"]


class Restart(NamedTuple):
    parts: list  # seconds, as PARTS
    ranks: int

    @property
    def seconds(self):
        return sum(self.parts)


def measured(kind, stall_seconds):
    """A Restart of a run that is started and ended."""
    with tempfile.TemporaryDirectory(prefix="rueda-restart-") as name:
        run = kind(Path(name), stall_seconds)
        try:
            run.start()
            moments, ranks = measure(run)
        except SystemExit:
            print(run.said(), file=sys.stderr)
            raise
        finally:
            run.end()
        startup = run.startup()
    parts = [later - earlier for earlier, later in zip([0, *moments], moments)]
    mpi, data = startup.get("mpi", math.nan), startup.get("data", math.nan)
    return Restart([*parts[:-1], mpi, data, parts[-1] - mpi - data], ranks)


def print_row(title, runs):
    middle = sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]
    seconds = [run.seconds for run in runs]
    cells = [f"{part:.1f}" for part in middle.parts]
    print(f"| {title} | {len(runs)} | {middle.ranks} | {' | '.join(cells)} | {middle.seconds:.1f} ({min(seconds):.1f} "
          f"to {max(seconds):.1f}) |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=", ".join(FAULTS) + " [all]")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs for each fault [3]")
    parser.add_argument("--stall-seconds", type=int, default=10, metavar="N", help="of the runs [10]")
    options = parser.parse_args()
    faults = options.faults or list(FAULTS)
    if unknown := set(faults) - set(FAULTS):
        parser.error(f"{min(unknown)!r} is no fault: give some of {', '.join(FAULTS)}")
    if os.geteuid() != 0 and faults != ["local"]:
        parser.error("network namespaces need root; `local` does without")
    print(f"| fault | runs | ranks after it | {' | '.join(PARTS)} | to the next step (all runs) |")
    print("|---|" + "---:|" * (3 + len(PARTS)), flush=True)
    slowest = 0
    for kind, title in map(FAULTS.get, faults):
        runs = [measured(kind, options.stall_seconds) for _ in range(options.times)]
        slowest = max(slowest, *(run.seconds for run in runs))
        print_row(title, runs)
    return 0 if slowest < MOST else 1


if __name__ == "__main__":
    start.run("restart", main, "see --help", needs=())
