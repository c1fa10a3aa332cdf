"""The whole study: one run after the other, a line for each, and a summary."""

import re

from attempts import FAILED, FINISHED, OPEN
from common import counted, number_in, part_of, say

LARGEST_BATCH = re.compile(r"the largest batch that fits is (\d+)")


class Study:
    """`plan`: series, in the order in which they run."""

    def __init__(self, plan, attempts, options):
        self.plan = plan
        self.attempts = attempts
        self.options = options
        self.number = 0
        self.trained = 0  # now or earlier
        self.finished = 0  # earlier, and so not run again
        self.failed = 0

    def run(self):
        for series in self.plan:
            configuration = series.first
            while configuration:
                self.number += 1
                trained = self.run_once(configuration)
                self.trained += trained
                configuration = self.attempts.next_of(series, configuration) if trained else None
        if self.finished:
            say("{} finished earlier and not repeated".format(counted(self.finished, "run")))
        if self.failed:
            say("{} failed earlier and not repeated (--retry does)".format(counted(self.failed, "run")))

    def run_once(self, configuration):
        """Runs it unless that is done. Returns whether it was trained."""
        state = self.attempts.state(configuration)
        if state == FINISHED:
            self.finished += 1
            return True
        if state == FAILED and not self.options.retry:
            self.failed += 1
            return False
        if self.refused_before(configuration):
            return False
        attempt = self.attempts.run(configuration)
        say(self.progress(configuration, attempt))
        return attempt["exit_code"] == 0

    def refused_before(self, configuration):
        """Whether the first repeat did not fit into memory: then no repeat does."""
        first = self.attempts.record(configuration._replace(repeat=1))
        return configuration.repeat > 1 and bool(first) and first.get("out_of_memory", False)

    def progress(self, configuration, attempt):
        more = "+" if any(series.sweep for series in self.plan) else ""
        head = "[{}/{}{}] {}: ".format(self.number, len(self.plan), more, configuration.words)
        if attempt["exit_code"] != 0:
            return head + outcome_words(attempt)
        summary = part_of(self.attempts.run_record(configuration), "summary")
        rate = number_in(summary, "steady_images_per_second") or 0
        return head + "{:.1f} s, {} images/s".format(attempt["seconds"], figures(rate))

    def print_failures(self):
        attempts = [(configuration, self.attempts.record(configuration)) for configuration in self.tried()]
        failed = [(configuration, attempt) for configuration, attempt in attempts if attempt and attempt["exit_code"]]
        if failed:
            say("{} failed; --retry runs them again:".format(counted(len(failed), "run")))
        for configuration, attempt in failed:
            say("  {}: {}".format(configuration.words, outcome_words(attempt)))

    def tried(self):
        """Every configuration of the plan that has a directory."""
        for series in self.plan:
            configuration = series.first
            while configuration and self.attempts.state(configuration) != OPEN:
                yield configuration
                configuration = series.after(configuration)


def figures(rate):
    """812, or 8.12."""
    return "{:.0f}".format(rate) if rate >= 100 else "{:.3g}".format(rate)


def outcome_words(attempt):
    """Why an attempt failed. How much memory is missing stands in attempt.json."""
    if not attempt["out_of_memory"]:
        return "failed ({}): {}".format(attempt["exit_code"], attempt["message"])
    largest = LARGEST_BATCH.search(attempt["message"])
    more = "; the largest batch that does is {}".format(largest.group(1)) if largest else ""
    return "does not fit into memory" + more
