# Runs the steps of gpu-check within a budget of time: each command in a session of its own, which ends with it, and
# with a log of what it said.

import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Callable

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
OWN_MESSAGES = ("rueda: ",)  # a launcher says more, before and after
LEAST_SECONDS = 5  # with less left, nothing is begun
KEPT = 20_000  # characters of each end of what a command says


class Failure(Exception):
    """Why a step failed, in one line; what it found before that may go with it. `stops`: the steps that need this
    one have nothing to build on."""

    def __init__(self, why, data=None, stops=True):
        super().__init__(why)
        self.data, self.stops = data, stops


class NotRun(Exception):
    """Why a step has nothing to run here, in one line."""


@dataclass
class Item:
    """A step: `work(shell, tools, *words)` returns what goes into the report."""

    part: str
    name: str
    limit: float  # seconds
    work: Callable
    words: tuple = ()
    needs: float = LEAST_SECONDS  # not begun with fewer seconds left
    after: str = ""  # not begun if the step of this name failed
    group: str = ""  # neighbours of one group run at the same time


@dataclass
class Shell:
    """Starts the commands of one step, which all end by its deadline."""

    deadline: float
    folder: str
    log: Path  # gets each command, how it ended, and both ends of what it said

    def run(self, words, **environment):
        """The finished process. Failure when it takes too long; its children end with it."""
        words, begin = [str(word) for word in words], monotonic()
        left = max(self.deadline - begin, 1)
        # Files, because a pipe stays open as long as a process that can not be killed holds it.
        with open(self.log, "a", encoding="utf-8") as log, temporary_file() as out, temporary_file() as err:
            print("$", shlex.join([*map("=".join, environment.items()), *words]), file=log, flush=True)
            process = subprocess.Popen(
                words, env={**os.environ, **environment}, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, start_new_session=True,
            )  # fmt: skip
            late = not ends_within(process, left)
            end_session(process)
            said = [(file.seek(0), file.read())[1] for file in (out, err)]
            done = subprocess.CompletedProcess(words, process.poll(), *said)
            print(f"{ending(done)}{', ended at its limit' * late}, {monotonic() - begin:.1f} s\n-- output", file=log)
            print(both_ends(said[0]), both_ends(said[1]), sep="\n-- errors\n", end="\n\n", file=log)
        if late:
            raise Failure(f"no end after {left:.0f} s: {os.path.basename(words[0])}", {"output": tail(*said)})
        return done

    def run_well(self, words, **environment):
        """The same, and Failure when the exit code is not 0."""
        done = self.run(words, **environment)
        if done.returncode != 0:
            raise Failure(complaint(done), {"output": tail(done.stdout, done.stderr)})
        return done


def temporary_file():
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def ends_within(process, seconds):
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def end_session(process):
    # Asks first, because a launcher that is killed leaves its ranks running. They have process groups of their own,
    # so the whole session is killed. What waits inside the driver may outlive that; it is not waited for.
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        ends_within(process, 3)
    for pid in [int(path.name) for path in Path("/proc").glob("[0-9]*")]:
        with suppress(ProcessLookupError):
            if os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)
    ends_within(process, 3)


@contextmanager
def beside(words, output, **environment):
    """Runs a command in a session of its own while the block runs; what it says goes into the file. OSError if it
    does not start."""
    with open(output, "w", encoding="utf-8") as said:
        process = subprocess.Popen(
            [str(word) for word in words], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=said,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        end_session(process)


def both_ends(text):
    return text if len(text) < 2 * KEPT else (
        f"{text[:KEPT]}\n... {len(text) - 2 * KEPT} characters left out ...\n{text[-KEPT:]}")


def text_of(file):
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def tail(*texts):
    return "\n".join(line for text in texts for line in text.splitlines()[-30:])


def ending(done):
    if done.returncode is None:
        return "can not be killed"
    return f"exit code {done.returncode}" if done.returncode >= 0 else signal.Signals(-done.returncode).name


def complaint(done):
    """What a process that failed said, in one line: the program's own message, or the last line."""
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    own = [line for line in lines if line.startswith(OWN_MESSAGES)]
    said = (own or lines[-1:] or ["it said nothing"])[0]
    return f"{ending(done)}: {said[:300]}"


def slug(text):
    return re.sub(r"[^\w.-]+", "-", text).strip("-")


# The result of one step; never raises for what the step does.
def run_item(item, end, tools, folder, failed):
    result = {"part": item.part, "name": item.name, "status": NOT_RUN, "seconds": 0.0}
    begin = monotonic()
    if item.after in failed:
        return {**result, "why": f"{item.after} failed"}
    if end - begin < max(item.needs, LEAST_SECONDS):
        return {**result, "why": "no time left (--minutes)"}
    shell = Shell(min(begin + item.limit, end), folder, tools.logs / f"{slug(item.name)}.txt")
    try:
        result["data"] = item.work(shell, tools, *item.words)
        result["status"] = PASSED
    except NotRun as reason:
        result["why"] = str(reason)
    except Failure as failure:
        result.update(status=FAILED, why=str(failure), stops=failure.stops)
        if failure.data is not None:
            result["data"] = failure.data
    except Exception as error:  # an error in this script must not stop the other steps
        result.update(status=FAILED, why=f"{type(error).__name__}: {error}", data={"output": traceback.format_exc()})
    result["seconds"] = round(monotonic() - begin, 2)
    return result


# `end` is a time of the monotonic clock. `after_each` gets the results so far, in order.
def run_items(items, end, tools, folder, after_each):
    results = []
    for item in items:
        print(f"plan: {item.limit:4.0f} s at most, {item.part}: {item.name}", file=sys.stderr)
    with ThreadPoolExecutor(len(items) or 1) as pool:
        for _, group in itertools.groupby(items, key=lambda item: item.group or item.name):
            group = list(group)
            failed = {one["name"] for one in results if one["status"] == FAILED and one.get("stops", True)}
            run = pool.map if len(group) > 1 else map  # the second is ended by Ctrl-C
            for result in run(lambda item: run_item(item, end, tools, folder, failed), group):
                results.append(result)
                why = f": {result['why']}" if "why" in result else ""
                print(f"[{result['seconds']:6.1f} s] {result['part']}: {result['name']}: {result['status']}{why}",
                      file=sys.stderr)
                after_each(results)


def counts(results):
    return {status: sum(one["status"] == status for one in results) for status in (PASSED, FAILED, NOT_RUN)}
