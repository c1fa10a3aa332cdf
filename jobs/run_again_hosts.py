"""The command that run-again.sh starts: its words, and the hosts that they name. Leaves out hosts that no longer
answer."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time

import child_process

PROBE = "ssh -o BatchMode=yes -o ConnectTimeout=5"
PROBE_LIMIT = 20  # seconds: a host may accept the connection and then hang
PROBES_AT_ONCE = 64
HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@%:-]*")
MOST_BYTES = 10_000_000  # of a file that is read


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


def launcher_settings(command):
    """Variables with which Open MPI's mpirun ends a run soon that cannot go on. The ranks that a dead one leaves are
    killed at once, where version 4 waits 2 s on its own host and then 2 s on the others: they can do nothing more. A
    limit in --stall-seconds says how long a host may be silent; then it holds for mpirun's daemon there too, which
    mpirun would miss after 8 minutes."""
    settings = {"OMPI_MCA_odls_base_sigkill_timeout": 0}
    limit = command.value("--stall-seconds") or ""
    if re.fullmatch(r"[1-9][0-9]{0,4}", limit):
        # It is missed when no answer has come to so many questions, one in each interval.
        interval = max(1, int(limit) // 10)
        for prefix in ("OMPI_MCA_oob_tcp_keepalive_", "PRTE_MCA_oob_tcp_keepalive_"):
            settings[prefix + "time"] = settings[prefix + "intvl"] = interval
            settings[prefix + "probes"] = max(1, int(limit) // interval - 1)
    return {name: str(value) for name, value in settings.items()}


def read_regular(path):
    """The bytes of a regular file. A pipe may keep whoever reads it waiting, and gives its content once. Raises
    OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(None, "it is no regular file")
        return file.read(MOST_BYTES)


def hosts_of_file(name):
    """[(host, slots)] of a hostfile as Open MPI reads it: HOST [slots=N] [max_slots=N], # begins a comment."""
    try:
        content = read_regular(name)
        if content.startswith(b"\xef\xbb\xbf"):
            raise Refusal(f"the hostfile {name!r} begins with a byte-order mark, with which Open MPI does not "
                          "read it: save it as UTF-8 without one")
        lines = content.decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise Refusal(f"the hostfile {name!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
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
        host, colon, slots = (entry, "", "") if entry.count(":") > 1 else entry.partition(":")
        hosts.append((checked_host(host, "--host"), count(slots, f"--host {host}:N") if colon else 1))
    return hosts


def checked_host(host, where):
    """A name that no program takes for an option."""
    if host.startswith("[") or host.count(":") > 1:
        raise Refusal(f"{where} has the IPv6 address {host[:80]!r}, and Open MPI takes names and IPv4 "
                      "addresses: give its name")
    if not HOST.fullmatch(host):
        raise Refusal(f"{where} has {host[:80]!r}, which is no name of a host")
    return host


FILE_OPTIONS = ("--hostfile", "-hostfile", "--machinefile", "-machinefile")
LIST_OPTIONS = ("--host", "-host", "-H")
RANK_OPTIONS = ("-n", "-np", "--np", "-c")


def hosts_of(command):
    name = command.value(*FILE_OPTIONS)
    if name is not None:
        return hosts_of_file(name)
    text = command.value(*LIST_OPTIONS)
    return hosts_of_list(text) if text is not None else []


def say(text):
    words = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    print(f"run-again: {words}", file=sys.stderr, flush=True)


def answering(hosts, stopped, probe=PROBE):
    """Those of the hosts whose probe succeeds in time. Probes run beside each other, and end when stopped() says so."""
    probe = shlex.split(os.environ.get("RUEDA_PROBE", probe))
    found = []
    for first in range(0, len(hosts), PROBES_AT_ONCE):
        some = hosts[first : first + PROBES_AT_ONCE]
        jobs = [child_process.start([*probe, host, "true"], signal.SIGKILL, stdin=subprocess.DEVNULL) for host in some]
        limit = time.monotonic() + PROBE_LIMIT
        while any(job.poll() is None for job in jobs) and time.monotonic() < limit and not stopped():
            time.sleep(0.05)
        for job in jobs:
            child_process.end(job, 0)
        found += [host for host, job in zip(some, jobs) if job.returncode == 0]
    return found


def drop_lost_hosts(command, run_dir, stopped):
    """Leaves out hosts that do not answer, and the ranks for which the others have no slots."""
    hosts = hosts_of(command)
    there = answering([host for host, _ in hosts], stopped)
    if stopped():
        return
    left = [(host, slots) for host, slots in hosts if host in there]
    for host, _ in hosts:
        if host not in there:
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
    ranks = command.value(*RANK_OPTIONS)
    total = sum(slots for _, slots in left)
    if ranks is not None and count(ranks, "the number of ranks") > total:
        command.change(str(total), *RANK_OPTIONS)
    forget_parts(command, run_dir, total if ranks is None else min(total, count(ranks, "the number of ranks")))


def forget_parts(command, run_dir, ranks):
    """Parts of other ranks than those that are left say nothing about these: their speeds do."""
    parts = command.value("--balance") or recorded_balance(run_dir)
    if "," not in parts or parts.count(",") + 1 == ranks:
        return
    say(f"--balance {parts} names other ranks than the {ranks} that are left: --balance speed takes its place")
    if command.find("--balance"):
        command.change("speed", "--balance")
    else:
        command.words += ["--balance", "speed"]


def recorded_balance(run_dir):
    """What the run's recipe said; empty if that is not known."""
    try:
        return str(json.loads(read_regular(run_dir / "run.json").decode("utf-8"))["config"]["balance"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
