"""A job below mpiexec: started, watched, hit by signals, and looked for after its end."""

import contextlib
import os
import re
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from rueda_runs import apart, environment

MARK = "RUEDA_FAULT_JOB"  # by which the processes of a job are found again
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
SHOWN = re.compile(r"Epoch (\d+)/\d+ (?:\[[=> ]*\]|-) *(\d+)/(\d+)")
EPOCH_DONE = re.compile(r"Epoch (\d+)/\d+ - ")


class Failed(AssertionError):
    """What must hold after a fault does not."""


def demand(holds, what):
    if not holds:
        raise Failed(what)


@dataclass
class Ended:
    """How a job ended."""

    code: int
    out: str
    err: str
    seconds: float  # from the fault, or from the start of a job without one
    messages: list = field(default_factory=list)  # lines of rueda's own

    @property
    def said(self):
        """Tables and progress, then the log."""
        return self.out + self.err

    @property
    def steps_shown(self):
        """The last step that its progress bar showed, over all epochs. It is drawn ten times a second."""
        seen = [(int(e) - 1) * int(of) + int(step) for e, step, of in SHOWN.findall(self.out)]
        return max(seen, default=0)

    def __str__(self):
        tail = "\n".join(self.err.splitlines()[-12:])
        return f"exit code {self.code} after {self.seconds:.1f} s, says:\n{tail}"


class Job:
    """Its output goes to files, so that no reader is needed while it runs."""

    def __init__(self, command, folder, name, env=None):
        self.mark = uuid.uuid4().hex
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        self.began = self.fault_at = time.monotonic()
        self.epochs_at_fault = None  # finished ones; None: no fault was put in
        command, variables = apart(command)
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment({MARK: self.mark, **(env or {}), **variables}),
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
            )

    @property
    def runs(self):
        return self.process.poll() is None

    def processes(self):
        """Of this job, those that have not ended: process id -> rank, None for the launcher."""
        found = {}
        wanted = f"{MARK}={self.mark}".encode()
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                words = (process / "environ").read_bytes().split(b"\0")
                if wanted not in words or state(process) in "ZX":
                    continue
            except OSError:
                continue  # ended meanwhile, or somebody else's
            values = dict(word.decode(errors="replace").partition("=")[::2] for word in words)
            ranks = [int(values[name]) for name in RANK_VARIABLES if values.get(name, "").isdigit()]
            found[int(process.name)] = ranks[0] if ranks else None
        return found

    def wait_for(self, done, within):
        """What `done` returns once that is true; None if the job ends before, or time is up."""
        deadline = time.monotonic() + within
        while self.runs and time.monotonic() < deadline:
            if result := done():
                return result
            time.sleep(0.002)
        return None

    def find_rank(self, rank):
        """Its process id, as soon as it is there."""
        return self.wait_for(lambda: next((pid for pid, of in self.processes().items() if of == rank), None), 30)

    def sleep_until(self, seconds):
        """After the start; False if the job has ended by then."""
        while self.runs and time.monotonic() - self.began < seconds:
            time.sleep(0.002)
        return self.runs

    def note_fault(self):
        """From now on its end is waited for. What it had done by now is looked up in what it said."""
        self.fault_at = time.monotonic()
        said = self.out.read_text(encoding="utf-8", errors="replace")
        self.epochs_at_fault = max((int(epoch) for epoch in EPOCH_DONE.findall(said)), default=0)

    def hit(self, pid, number):
        if pid is not None:
            self.note_fault()
            send(pid, number)

    def kill_all(self):
        """As when a node is lost: every process at once."""
        self.note_fault()
        for _ in range(50):
            left = self.processes()
            for pid in left:
                send(pid, signal.SIGKILL)
            if not left and not self.runs:
                return
            self.process.poll()
            time.sleep(0.02)

    def end(self, within):
        """Waits; demands that the job ends in time and leaves no process."""
        begin = time.monotonic()
        try:
            code = self.process.wait(max(1, within))
        except subprocess.TimeoutExpired:
            self.kill_all()
            said = self.result(None, 0)
            raise Failed(f"no end within {within:.0f} s; {said}\n{said.out[-1500:]}") from None
        seconds = time.monotonic() - (self.fault_at if self.fault_at != self.began else begin)
        left = self._left(5)
        if left:
            self.kill_all()
            raise Failed(f"processes of the job are left: {left}")
        return self.result(code, seconds)

    def _left(self, within):
        deadline = time.monotonic() + within
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def result(self, code, seconds):
        out, err = (p.read_text(encoding="utf-8", errors="replace") for p in (self.out, self.err))
        messages = [line for line in err.splitlines() if line.startswith("rueda: ")]
        return Ended(code, out, err, seconds, messages)


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def state(process):
    """The letter of its state: R, S, T, Z, ..."""
    return (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
