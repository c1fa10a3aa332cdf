"""Runs one configuration, and reads the state of earlier attempts from its directory."""

import subprocess
import time

import child_process
from claim import claim_attempt
from common import number_in, part_of, read_json, write_json
from launch import command_of, text_of

GRACE_SECONDS = 10  # for a launcher to end its ranks
OWN_MESSAGE = "rueda: "
NO_MEMORY = "out of memory"

FINISHED, FAILED, OPEN = "finished", "failed", "open"


class Attempts:
    """The runs of a study below its directory."""

    def __init__(self, options, machine):
        self.options = options
        self.machine = machine
        self.runs = options.out / "runs"

    def directory(self, configuration):
        return self.runs / configuration.name

    def command(self, configuration):
        directory = self.directory(configuration)
        return command_of(configuration, self.options, self.machine, directory)

    def record(self, configuration):
        """attempt.json, or None while no attempt has ended."""
        attempt = read_json(self.directory(configuration) / "attempt.json")
        if attempt is None or not isinstance(attempt.get("exit_code"), int):
            return None
        return dict(attempt, message=str(attempt.get("message")), out_of_memory=attempt.get("out_of_memory") is True)

    def run_record(self, configuration):
        return read_json(self.directory(configuration) / "run.json") or {}

    def state(self, configuration):
        """An interrupted attempt leaves no attempt.json: it is open."""
        attempt = self.record(configuration)
        if attempt is None:
            return OPEN
        completed = self.run_record(configuration).get("outcome") in ("completed", "target reached")
        return FINISHED if attempt.get("exit_code") == 0 and completed else FAILED

    def next_of(self, series, configuration):
        """The next configuration after one that was trained. A sweep ends at a batch with more images
        than the data set: it would have no full step."""
        following = series.after(configuration)
        images = number_in(part_of(self.run_record(configuration), "data"), "train_images")
        if following and images and following.global_batch > images:
            return None
        return following

    def run(self, configuration):
        """Replaces an earlier attempt. Returns attempt.json."""
        with claim_attempt(self.directory(configuration)):
            return self.run_claimed(configuration)

    def run_claimed(self, configuration):
        directory = self.directory(configuration)
        command = self.command(configuration)
        begin = time.monotonic()
        code = execute(command, directory / "rueda.log")
        seconds = time.monotonic() - begin
        attempt = describe(configuration, self.options.threads, command)
        message = last_message(directory / "rueda.log") if code else None
        attempt.update(exit_code=code, seconds=round(seconds, 3), message=message)
        attempt["out_of_memory"] = message is not None and message.startswith(NO_MEMORY)
        write_json(directory / "attempt.json", attempt)
        return attempt


def execute(command, log):
    """The exit code as a shell reports it. An interrupt ends the command first."""
    with log.open("xb") as out:
        try:
            process = child_process.start(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        except OSError as error:
            out.write("{}{}\n".format(OWN_MESSAGE, error).encode())
            return 127
        try:
            code = process.wait()
        finally:
            child_process.end(process, GRACE_SECONDS)
    return 128 - code if code < 0 else code


def last_message(log):
    """The last message of rueda itself, without its name; or the last line of the log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    own = [line[len(OWN_MESSAGE) :] for line in lines if line.startswith(OWN_MESSAGE)]
    said = own or [line.strip() for line in lines if line.strip()]
    return said[-1] if said else None


def describe(configuration, threads, command):
    per_rank = configuration.batch if configuration.kind == "rank" else None
    return {
        "schema": "rueda-attempt", "schema_version": 1, "model": configuration.model, "nodes": configuration.nodes,
        "ranks_per_node": configuration.ranks_per_node, "ranks": configuration.ranks, "batch_per_rank": per_rank,
        "global_batch": None if per_rank else configuration.batch, "repeat": configuration.repeat,
        "threads": threads, "command": text_of(command),
    }  # fmt: skip
