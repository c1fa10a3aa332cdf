#!/usr/bin/env python3
"""Starts a training again, from its last checkpoint, until it ends by itself.

usage: jobs/run-again.sh [--most N] -- mpirun -n 4 rueda train --run-dir DIR --checkpoint-every 50steps ...

A run that failed, or lost a rank or a host, is started again with --resume auto: at once after the first failure,
later ones in a row after 1, 2, 4 ... 60 s. It gives up after N failures without a new checkpoint [5], and at once
where a restart cures nothing: exit code 2 (wrong input) and 75 (stopped as asked, with its state saved).

SIGTERM, SIGINT and SIGUSR1 go to the command, and after one of them nothing is started again.

Hosts that --host or --hostfile names and that no longer answer are left out, with their ranks; the global batches
stay. RUEDA_PROBE is the command that tries a host: PROBE HOST true [ssh -o BatchMode=yes -o ConnectTimeout=5].

A launcher that stays although the run is over, because it waits for a host that is gone, is ended: 10 s after its last
rank on this host has ended, or, where it had none here, when status.json in DIR has not changed for 120 s.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

USAGE = 2
ENDS = (0, USAGE, 75)  # exit codes after which a restart cures nothing
PROBE = "ssh -o BatchMode=yes -o ConnectTimeout=5"
HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@%:-]*")
LOOK = 0.2  # seconds between two looks at a job
ALONE = 10  # seconds that a launcher may stay after its last rank here
SILENT = 120  # seconds without a change of status.json
KILL = 5  # seconds from SIGTERM to SIGKILL
RANKS = (b"OMPI_COMM_WORLD_RANK=", b"PMIX_RANK=", b"PMI_RANK=")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class Refusal(Exception):
    """What is wrong with the command line, a file or the hosts."""


def count(text, what):
    """A positive number in decimal digits; a leading zero changes nothing."""
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
        raise Refusal(f"{what} takes a number from 1 on, not {text!r}")
    return int(text)


class Command:
    """The words that start the training, and the values of options in it."""

    def __init__(self, words):
        self.words = list(words)

    def find(self, *names):
        """Where the value of one of these options stands and what comes before it there ("--name="), or None."""
        for i, word in enumerate(self.words):
            name, equals, _ = word.partition("=")
            if name in names and equals:
                return i, name + "="
            if word in names and i + 1 < len(self.words):
                return i + 1, ""
        return None

    def value(self, *names):
        found = self.find(*names)
        return found and self.words[found[0]][len(found[1]):]

    def change(self, value, *names):
        place, before = self.find(*names)
        self.words[place] = before + value


def hosts_of_file(name):
    """[(host, slots)] of a hostfile as Open MPI reads it: HOST [slots=N] [max_slots=N], # begins a comment."""
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise Refusal(f"the hostfile {name!r} cannot be read: {error}") from None
    hosts = []
    for number, line in enumerate(lines, 1):
        host, *words = line.partition("#")[0].split() or [""]
        if not host:
            continue
        settings = dict(word.split("=", 1) for word in words if "=" in word)
        slots = count(settings.get("slots", "1"), f"slots= in line {number} of {name}")
        hosts.append((checked_host(host, f"line {number} of {name}"), slots))
    return hosts


def hosts_of_list(text):
    """[(host, slots)] of HOST[:N],..."""
    hosts = []
    for entry in text.split(","):
        host, colon, slots = entry.partition(":")
        hosts.append((checked_host(host, "--host"), count(slots, f"--host {host}:N") if colon else 1))
    return hosts


def checked_host(host, where):
    """A name that no program takes for an option."""
    if not HOST.fullmatch(host):
        raise Refusal(f"{where} has {host[:80]!r}, which is no name of a host")
    return host


FILE_OPTIONS = ("--hostfile", "-hostfile", "--machinefile", "-machinefile")
LIST_OPTIONS = ("--host", "-host", "-H")


def hosts_of(command):
    name = command.value(*FILE_OPTIONS)
    if name is not None:
        return hosts_of_file(name)
    text = command.value(*LIST_OPTIONS)
    return hosts_of_list(text) if text is not None else []


def say(text):
    print(f"run-again: {text}", file=sys.stderr, flush=True)


def answers(host):
    probe = shlex.split(os.environ.get("RUEDA_PROBE", PROBE))
    return subprocess.run([*probe, host, "true"], stdin=subprocess.DEVNULL, check=False).returncode == 0


def drop_lost_hosts(command):
    """Leaves out hosts that do not answer, and the ranks for which the others have no slots."""
    hosts = hosts_of(command)
    left = [(host, slots) for host, slots in hosts if answers(host)]
    for host, _ in hosts:
        if host not in dict(left):
            say(f"{host} does not answer and is left out")
    if len(left) == len(hosts):
        return
    if not left:
        raise Refusal("no host answers")
    entries = ",".join(f"{host}:{slots}" for host, slots in left)
    if command.find(*FILE_OPTIONS):
        place, before = command.find(*FILE_OPTIONS)
        command.words[place - (not before) : place + 1] = ["--host", entries]
    else:
        command.change(entries, *LIST_OPTIONS)
    ranks = command.value("-n", "-np", "--np", "-c")
    total = sum(slots for _, slots in left)
    if ranks is not None and count(ranks, "the number of ranks") > total:
        command.change(str(total), "-n", "-np", "--np", "-c")


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


def is_rank(pid):
    """Whether a launcher gave it a rank; its daemons and its ssh have none."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(variable.startswith(RANKS) for variable in variables)


class Watch:
    """Whether the run that a launcher started is over although the launcher is not."""

    def __init__(self, job, status):
        self.job, self.status = job, status
        self.had_ranks = False
        self.since = time.monotonic()  # of the last sign of life
        self.content = self.read()
        self.changed = False

    def read(self):
        try:
            return self.status.read_bytes()
        except OSError:
            return b""

    def over(self):
        now = time.monotonic()
        content = self.read()
        if content != self.content:
            self.content, self.changed, self.since = content, True, now
        if any(map(is_rank, descendants(self.job.pid))):
            self.had_ranks, self.since = True, now
        if self.had_ranks:
            return now - self.since > ALONE
        return self.changed and now - self.since > SILENT


class Runner:
    """Starts the command, passes signals on and remembers that one came."""

    def __init__(self, command, most, run_dir):
        self.command, self.most, self.run_dir = command, most, run_dir
        self.job, self.stopped = None, None
        for number in SIGNALS:
            signal.signal(number, self.on_signal)

    def on_signal(self, number, _):
        self.stopped = self.stopped or number
        if self.job and self.job.poll() is None:
            self.job.send_signal(number)

    def checkpoints(self):
        """The names of complete checkpoints; those that were passed over do not count."""
        folder = self.run_dir / "checkpoints"
        return {path.name for path in folder.glob("[!.]*") if not path.name.startswith("passed-over-")}

    def run_once(self):
        """The exit code of a start, as a shell has it."""
        # In a group of its own, so that Ctrl-C reaches it once: through on_signal.
        self.job = subprocess.Popen(self.command.words, stdin=subprocess.DEVNULL, preexec_fn=os.setpgrp)
        if self.stopped:  # while it was being started
            self.job.send_signal(self.stopped)
        watch = Watch(self.job, self.run_dir / "status.json")
        while not self.ended(LOOK):
            if watch.over():
                say("the run is over, and its launcher waits for a host that is gone: it is ended")
                self.end_launcher()
        code = self.job.returncode
        return code if code >= 0 else 128 - code

    def ended(self, seconds):
        """Whether the command ends within so many seconds."""
        try:
            self.job.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def end_launcher(self):
        self.job.terminate()
        self.ended(KILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.job.pid, signal.SIGKILL)  # with its ssh

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while not self.stopped and time.monotonic() < end:
            time.sleep(min(LOOK, max(end - time.monotonic(), 0)))

    def exit_code(self, code):
        """Of the last start; a stop that the run did not take itself shows its signal."""
        if self.stopped and code not in ENDS:
            return 128 + self.stopped
        return code

    def run(self):
        failures, known = 0, self.checkpoints()
        while True:
            code = self.run_once()
            if self.stopped or code in ENDS:
                return self.exit_code(code)
            now = self.checkpoints()
            failures = 1 if now - known else failures + 1
            known |= now
            if failures >= self.most:
                say(f"{failures} failures in a row without a new checkpoint, the last with exit code {code}")
                return code
            seconds = 0 if failures < 2 else min(60, 1 << (failures - 2))
            say(f"exit code {code}; again from {max(now, default='the beginning')} in {seconds} s")
            self.pause(seconds)
            if not self.stopped:
                drop_lost_hosts(self.command)
            if self.stopped:
                return self.exit_code(code)


def parse(words):
    """The number of failures and the command."""
    most = 5
    while words and words[0] != "--":
        name, equals, value = words.pop(0).partition("=")
        if name in ("-h", "--help"):
            print(__doc__)
            sys.exit(0)
        if name != "--most":
            raise Refusal(f"unknown option {name[:80]!r}; the command comes after --. See jobs/run-again.sh --help")
        if not equals:
            value = words.pop(0) if words else ""
        most = count(value, "--most")
    if len(words) < 2:
        raise Refusal("no command after --. See jobs/run-again.sh --help")
    return most, Command(words[1:])


def main():
    try:
        most, command = parse(sys.argv[1:])
        run_dir = command.value("--run-dir")
        if not run_dir:
            raise Refusal("the command names no --run-dir, where its checkpoints are: add one")
        hosts_of(command)  # what is wrong there is said before the first start
        if command.value("--resume") is None:
            command.words += ["--resume", "auto"]
        if command.value("--checkpoint-every") is None:
            say("without --checkpoint-every the run begins anew each time")
        return Runner(command, most, Path(run_dir)).run()
    except Refusal as refusal:
        say(str(refusal))
        return USAGE
    except OSError as error:
        say(f"the command cannot be started: {error}")
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
