#!/usr/bin/env python3
"""Starts a training again, from its last checkpoint, until it ends by itself.

usage: jobs/run-again.sh [--most N] [--requeue] -- mpirun -n 4 rueda train --run-dir DIR --checkpoint-every 50steps ...

A run that failed, or lost a rank or a host, is started again with --resume auto: at once after the first failure,
later ones in a row after 1, 2, 4 ... 60 s. It gives up after N failures without a new checkpoint [5], and at once
where a restart cures nothing: exit code 2 (wrong input) and 75 (stopped as asked, with its state saved).

SIGTERM, SIGINT and SIGUSR1 go to the command, SIGHUP (unless nohup ignores it) as SIGTERM, and after one of them
nothing is started again. Where Open MPI's mpirun has ranks on this host, SIGTERM becomes SIGUSR1, which it passes on,
so that they save. A command that has not ended 300 s later is killed; if this script is killed, the command gets
SIGTERM.

Hosts that --host or --hostfile names and that do not answer within 20 s are left out, with their ranks; the global
batches stay. Parts that --balance 3,1 gives to ranks that are not there any more become --balance speed. RUEDA_PROBE is
the command that tries a host: PROBE HOST true [ssh -o BatchMode=yes -o ConnectTimeout=5].

--requeue, in a job of Slurm: a run that was stopped by SIGUSR1, or that saved its state (75), puts its job back into
the queue. So does a failure if nodes of the job start nothing any more within 20 s; they are left out from then on.

Open MPI's mpirun kills the ranks that a dead one leaves at once (odls_base_sigkill_timeout 0), and where the command
has --stall-seconds N, it gives up a host whose daemon has been silent for so long (oob_tcp_keepalive_...). Variables
that are set stay.

A launcher that stays although the run is over, because it waits for a host that is gone, is ended: 4 s after its last
rank on this host has ended, or, where it had none here, when status.json in DIR has not changed for 120 s.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import child_process
import run_again_job
from run_again_hosts import Command, Refusal, count, drop_lost_hosts, hosts_of, launcher_settings, read_regular, say

FAILED = 1
USAGE = 2
SAVED = 75  # stopped as asked, with the state saved
ENDS = (0, USAGE, SAVED)  # exit codes after which a restart cures nothing
LOOK = 0.2  # seconds between two looks at a job
ALONE = 4  # seconds that a launcher may stay after its last rank here
SILENT = 120  # seconds without a change of status.json
KILL = 5  # seconds from SIGTERM to SIGKILL
STOPPING = 300  # seconds for a command that was asked to stop, which may write a checkpoint first
RANKS = (b"OMPI_COMM_WORLD_RANK=", b"PMIX_RANK=", b"PMI_RANK=")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)


def descendants(pid):
    """The processes below `pid` that have not ended."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return
    for child in found:
        if state(child) not in ("Z", ""):
            yield child
        yield from descendants(child)


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def has_ranks(job, variables=RANKS):
    """Whether a launcher gave a process on this host a rank in one of these; its daemons and its ssh have none."""
    for pid in descendants(job.pid):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(variable.startswith(variables) for variable in environment):
            return True
    return False


class Watch:
    """Whether the run that a launcher started is over although the launcher is not."""

    def __init__(self, status):
        """Before the launcher is started: a short run may have written its status at once."""
        self.status = status
        self.had_ranks = False
        self.since = time.monotonic()  # of the last sign of life
        self.content = self.begun_with = self.read()
        self.changed = False

    def read(self):
        try:
            return read_regular(self.status)
        except OSError:
            return b""

    def was_left(self):
        """Whether the launcher has ended although the run, which it has begun, has not."""
        content = self.read()
        try:
            return content != self.begun_with and json.loads(content.decode("utf-8"))["outcome"] == "running"
        except (ValueError, LookupError, TypeError, RecursionError):
            return False

    def over(self, job):
        now = time.monotonic()
        content = self.read()
        if content != self.content:
            self.content, self.changed, self.since = content, True, now
        if has_ranks(job):
            self.had_ranks, self.since = True, now
        if self.had_ranks:
            return now - self.since > ALONE
        return self.changed and now - self.since > SILENT


class Runner:
    """Starts the command, passes signals on and remembers that one came."""

    def __init__(self, command, options, run_dir):
        self.command, self.options, self.run_dir = command, options, run_dir
        self.job, self.stopped, self.stopped_at = None, None, None
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self.on_signal)

    def on_signal(self, number, _):
        if not self.stopped:
            self.stopped, self.stopped_at = number, time.monotonic()
        self.pass_on(number)

    def pass_on(self, number):
        """SIGTERM lets Open MPI's mpirun kill its ranks, and SIGUSR1 reaches them, so that they save. Before there
        are ranks nobody would take it. A launcher that has no terminal any more may ignore SIGHUP."""
        if not self.job or self.job.poll() is not None:
            return
        if number in (signal.SIGTERM, signal.SIGHUP):
            number = signal.SIGUSR1 if has_ranks(self.job, RANKS[:1]) else signal.SIGTERM
        self.job.send_signal(number)

    def checkpoints(self):
        """The names of complete checkpoints; those that were passed over do not count."""
        folder = self.run_dir / "checkpoints"
        return {path.name for path in folder.glob("[!.]*") if not path.name.startswith("passed-over-")}

    def run_once(self):
        """The exit code of a start, as a shell has it."""
        watch = Watch(self.run_dir / "status.json")
        # In a group of its own, so that Ctrl-C reaches it once: through on_signal.
        environment = {**launcher_settings(self.command), **os.environ}
        self.job = child_process.start(self.command.words, stdin=subprocess.DEVNULL, env=environment)
        if self.stopped:  # while it was being started
            self.pass_on(self.stopped)
        while not child_process.ended(self.job, LOOK):
            reason = self.reason_to_end(watch)
            if reason:
                say(reason)
                child_process.end(self.job, KILL)  # with its ssh
                break
        code = self.job.returncode
        if code is None:
            say("the command does not end although it was killed")
            return 128 + signal.SIGKILL
        if code == 0 and watch.was_left():
            say("the launcher says 0, as Open MPI 5's does when it has lost a host, but the run is not over")
            return FAILED
        return code if code >= 0 else 128 - code

    def reason_to_end(self, watch):
        """Why the command is ended, or nothing."""
        if self.stopped and time.monotonic() - self.stopped_at > STOPPING:
            return f"the command did not end within {STOPPING} s of {signal.Signals(self.stopped).name}: it is killed"
        if watch.over(self.job):
            return "the run is over, and its launcher waits for a host that is gone: it is ended"
        return ""

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while not self.stopped and time.monotonic() < end:
            time.sleep(min(LOOK, max(end - time.monotonic(), 0)))

    def end(self, code):
        """The exit code of the last start; a stop that the run did not take itself shows its signal."""
        taken = code in ENDS
        if self.options.requeue and self.continues(code) and run_again_job.requeue():
            return SAVED
        return 128 + self.stopped if self.stopped and not taken else code

    def continues(self, code):
        """Whether the job has to go on later. SIGTERM, with which Slurm cancels a job, does not ask for that. A warning
        may come before the ranks take it, and then they end by the signal."""
        if self.stopped in (None, signal.SIGUSR1):
            return code == SAVED or (self.stopped and code not in ENDS)
        return False

    def leaves_nodes(self):
        """Whether the job has gone back into the queue without nodes that are lost."""
        lost = run_again_job.lost_nodes(lambda: self.stopped)
        return bool(lost) and run_again_job.requeue(lost)

    def run(self):
        failures, known = 0, self.checkpoints()
        while True:
            code = self.run_once()
            if self.stopped or code in ENDS:
                return self.end(code)
            now = self.checkpoints()
            failures = 1 if now - known else failures + 1
            known |= now
            if self.options.requeue and self.leaves_nodes():
                return SAVED
            if failures >= self.options.most:
                say(f"{failures} failures in a row without a new checkpoint, the last with exit code {code}")
                return code
            seconds = 0 if failures < 2 else min(60, 1 << (failures - 2))
            say(f"exit code {code}; again from {max(now, default='the beginning')} in {seconds} s")
            self.pause(seconds)
            if not self.stopped:
                drop_lost_hosts(self.command, self.run_dir, lambda: self.stopped)
            if self.stopped:
                return self.end(code)


class Options(NamedTuple):
    most: int = 5  # failures without a new checkpoint
    requeue: bool = False  # the job of Slurm


def parse(words):
    """The options and the command."""
    options = Options()
    while words and words[0] != "--":
        name, equals, value = words.pop(0).partition("=")
        if name in ("-h", "--help"):
            print(__doc__)
            sys.exit(0)
        if name == "--requeue" and not equals:
            options = options._replace(requeue=True)
            continue
        if name != "--most":
            raise Refusal(f"unknown option {name[:80]!r}; the command comes after --. See jobs/run-again.sh --help")
        if not equals:
            value = words.pop(0) if words else ""
        options = options._replace(most=count(value, "--most"))
    if len(words) < 2:
        raise Refusal("no command after --. See jobs/run-again.sh --help")
    if options.requeue and not {"SLURM_JOB_ID", "SLURM_JOB_NODELIST"} <= set(os.environ):
        raise Refusal("--requeue is for a job of Slurm, and this is none (SLURM_JOB_ID, SLURM_JOB_NODELIST)")
    return options, Command(words[1:])


def main():
    try:
        options, command = parse(sys.argv[1:])
        run_dir = command.value("--run-dir")
        if not run_dir:
            raise Refusal("the command names no --run-dir, where its checkpoints are: add one")
        hosts_of(command)  # what is wrong there is said before the first start
        if command.value("--resume") is None:
            command.words += ["--resume", "auto"]
        if command.value("--checkpoint-every") is None:
            say("without --checkpoint-every the run begins anew each time")
        return Runner(command, options, Path(run_dir)).run()
    except Refusal as refusal:
        say(str(refusal))
        return USAGE
    except OSError as error:
        say(f"the command cannot be started: {error}")
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
