#!/usr/bin/env python3
"""Cuts the link of one of three emulated hosts below jobs/run-again.sh and measures how long the run stands still.

usage: jobs/check/cut_link.py [--stall-seconds N]

A run of the timed backend trains over three hosts. Once it has a checkpoint, the link of the last host goes down. Prints
the seconds from then to rueda's last word, to the next start and to the next completed step, which the two hosts that
are left make. Fails where that takes 60 s or more. Needs root and a build (jobs/setup.sh).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ROOT / "tests" / "lab" / "hosts.sh"
PROGRAM = ROOT / "build" / "rueda"
COUNT = 3
MOST = 60  # seconds from the cut to the next step
LIMIT = 300  # seconds for anything
LOOK = 0.05  # seconds between two looks
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


class Lab:
    """Hosts whose names no other process uses, and a run over them."""

    def __init__(self, folder, stall_seconds):
        self.folder, self.stall_seconds = folder, stall_seconds
        self.name = f"cut{os.getpid()}-"
        (folder / "probe.py").write_text(PROBE, encoding="utf-8")
        self.environment = {
            **os.environ,
            "LAB_NAME": self.name,
            "LAB_BEFORE": f"{sys.executable} {ROOT / 'jobs' / 'run_again.py'} --",
            "RUEDA_PROBE": f"{sys.executable} {folder / 'probe.py'}",
        }

    def call(self, *words):
        subprocess.run([HOSTS, *map(str, words)], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def start(self):
        words = ["train", "--backend", "timed", "--compute-ms", "100", "--model", "resnet20", "--data", "synthetic",
                 "--data-limit", "600", "--global-batch", "6", "--epochs", "1000", "--run-dir", "run",
                 "--checkpoint-every", "10steps", "--stall-seconds", str(self.stall_seconds),
                 "--progress", "off"]  # fmt: skip
        with open(self.folder / "said", "wb") as said:
            return subprocess.Popen(
                [HOSTS, "run", str(COUNT), "--", PROGRAM, *words], cwd=self.folder, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
            )  # fmt: skip

    def cut(self):
        subprocess.run(["ip", "-n", f"{self.name}{COUNT - 1}", "link", "set", "net0", "down"], check=True)
        return time.time()

    def status(self):
        try:
            return json.loads((self.folder / "run" / "status.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def said(self):
        return (self.folder / "said").read_text(encoding="utf-8", errors="replace")


def wait_for(what, job, happens):
    """What `happens` returns, once that is something; and when."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if found := happens():
            return found, time.time()
        if job.poll() is not None:
            raise SystemExit(f"the job ended with exit code {job.returncode} before {what}")
        time.sleep(LOOK)
    raise SystemExit(f"no {what} within {LIMIT} s")


def measure(lab, job):
    """Prints the table; the seconds to the next step."""
    wait_for("a checkpoint", job, lambda: lab.status().get("checkpoint"))
    cut = lab.cut()
    _, word = wait_for("a word of rueda", job, lambda: "rueda: " in lab.said())
    _, again = wait_for("a new start", job, lambda: "run-again: exit code" in lab.said())

    def stepped():
        status = lab.status()
        return status if status.get("started_at", 0) > cut and status.get("last_step_at", 0) > cut else None

    status, _ = wait_for("a step", job, stepped)
    seconds = status["last_step_at"] - cut
    print("| from the cut to | seconds |\n|---|---|")
    print(f"| rueda's first word | {word - cut:.1f} |\n| the next start | {again - cut:.1f} |")
    print(f"| the next completed step, on {status['world_size']} ranks | {seconds:.1f} |")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stall-seconds", type=int, default=10, metavar="N", help="of the run [10]")
    options = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("network namespaces need root")
    with tempfile.TemporaryDirectory(prefix="rueda-cut-") as name:
        lab = Lab(Path(name), options.stall_seconds)
        lab.call("up", COUNT, "1gbit", "50us")
        job = None
        try:
            job = lab.start()
            seconds = measure(lab, job)
        except SystemExit:
            print(lab.said(), file=sys.stderr)
            raise
        finally:
            if job:
                job.send_signal(signal.SIGTERM)
                job.wait()
            lab.call("down")
    return 0 if seconds < MOST else 1


if __name__ == "__main__":
    sys.exit(main())
