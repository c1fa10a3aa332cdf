"""Runs the items of gpu-check one after another within a budget of time, each by itself."""

import os
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from time import monotonic
from typing import Callable

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
OWN_MESSAGES = ("rueda: ",)  # a launcher says more, before and after
LEAST_SECONDS = 5  # with less left, nothing is begun


class Failure(Exception):
    """Why an item failed, in one line; what it found before that may go with it."""

    def __init__(self, why, data=None):
        super().__init__(why)
        self.data = data


class NotRun(Exception):
    """Why an item has nothing to run here, in one line."""


@dataclass
class Item:
    """`work` gets a Shell and returns what goes into the report."""

    part: str
    name: str
    limit: float  # seconds
    work: Callable
    needs: float = LEAST_SECONDS  # not begun with fewer seconds left


@dataclass
class Shell:
    """Starts the commands of one item, which all end by its deadline."""

    deadline: float
    folder: str

    def run(self, words, **environment):
        """The finished process. Failure when it takes too long; its children end with it."""
        words = [str(word) for word in words]
        left = self.deadline - monotonic()
        process = subprocess.Popen(
            words, env={**os.environ, **environment}, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=max(left, 1))
        except subprocess.TimeoutExpired as late:
            out, err = end_group(process)
            why = f"no end after {left:.0f} s: {os.path.basename(words[0])}"
            raise Failure(why, {"output": tail(out, err)}) from late
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def run_well(self, words, **environment):
        """The same, and Failure when the exit code is not 0."""
        done = self.run(words, **environment)
        if done.returncode != 0:
            raise Failure(complaint(done), {"output": tail(done.stdout, done.stderr)})
        return done


def end_group(process):
    """Asks first, because a launcher that is killed leaves its ranks running."""
    for sign, patience in ((signal.SIGTERM, 3), (signal.SIGKILL, None)):
        os.killpg(process.pid, sign)
        try:
            return process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("not reached: nothing outlives SIGKILL")


def tail(out, err, lines=30):
    return "\n".join([*(out or "").splitlines()[-lines:], *(err or "").splitlines()[-lines:]])


def complaint(done):
    """What a process that failed said, in one line: the program's own message, or the last line."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith(OWN_MESSAGES)]
    said = (own or lines[-1:] or ["it said nothing"])[0]
    return f"exit code {done.returncode}: {said[:300]}"


def run_item(item, end, folder):
    """The result of one item; never raises for what the item does."""
    result = {"part": item.part, "name": item.name, "status": NOT_RUN, "seconds": 0.0}
    begin = monotonic()
    if end - begin < max(item.needs, LEAST_SECONDS):
        return {**result, "why": "no time left (--minutes)"}
    shell = Shell(min(begin + item.limit, end), folder)
    try:
        result["data"] = item.work(shell)
        result["status"] = PASSED
    except NotRun as reason:
        result["why"] = str(reason)
    except Failure as failure:
        result.update(status=FAILED, why=str(failure))
        if failure.data is not None:
            result["data"] = failure.data
    except Exception as error:  # an error in this script must not stop the other items
        traceback.print_exc()
        result.update(status=FAILED, why=f"{type(error).__name__}: {error}")
    result["seconds"] = round(monotonic() - begin, 2)
    return result


def run_items(items, minutes, folder, after_each):
    """All results, in order; `after_each` gets those so far."""
    end = monotonic() + 60 * minutes
    results = []
    for item in items:
        result = run_item(item, end, folder)
        results.append(result)
        why = f": {result['why']}" if "why" in result else ""
        print(f"[{result['seconds']:6.1f} s] {item.part}: {item.name}: {result['status']}{why}", file=sys.stderr)
        after_each(results)
    return results


def counts(results):
    return {status: sum(one["status"] == status for one in results) for status in (PASSED, FAILED, NOT_RUN)}
