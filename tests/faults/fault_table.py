"""Trials counted: a row for each kind of fault."""

from collections import Counter


class Table:
    def __init__(self):
        self.trials = []  # as they go into JSON
        self._titles = {}

    def add(self, kind, index, result, why, figures):
        self._titles[kind.name] = kind.title
        self.trials.append({
            "kind": kind.name, "index": index, "result": result, "why": why, "outcomes": figures.outcomes,
            "steps_lost": figures.lost, "seconds_to_end": figures.seconds, "kills_after": figures.kills_after,
        })

    def count(self, result):
        return sum(trial["result"] == result for trial in self.trials)

    def summary(self):
        """What jobs/check/count_tests.py reads; a kind is a case."""
        by_kind = {name: {t["result"] for t in self.trials if t["kind"] == name} for name in self._titles}
        failed = sum("failed" in results for results in by_kind.values())
        skipped = sum(results == {"skipped"} for results in by_kind.values())
        text = f"{len(by_kind) - failed - skipped} passed, {failed} failed"
        return text + (f", {skipped} skipped" if skipped else "")

    def markdown(self):
        rows = ["| fault | kind | tried | failed | outcomes | killed again | steps lost, most | s to end, most |",
                "|---|---|---:|---:|---|---:|---:|---:|"]
        for name, title in self._titles.items():
            rows.append(self._row(name, title, [t for t in self.trials if t["kind"] == name]))
        rows.append(self._row("", "all", self.trials, outcomes=False))
        return "\n".join(rows) + "\n"

    @staticmethod
    def _row(name, title, trials, outcomes=True):
        done = [t for t in trials if t["result"] != "skipped"]
        if not done:
            return f"| {title} | {name} | 0 | 0 | skipped: {trials[0]['why']} | | | |"
        ends = Counter("; ".join(t["outcomes"]) for t in done if t["result"] == "ok")
        told = ", ".join(f"{count} {text}" for text, count in ends.most_common()) if outcomes else ""
        failed = sum(t["result"] == "failed" for t in done)
        kills = sum(t["kills_after"] for t in done)
        lost = max(t["steps_lost"] for t in done)
        longest = max(t["seconds_to_end"] for t in done)
        return f"| {title} | `{name}` | {len(done)} | {failed} | {told} | {kills} | {lost} | {longest:.1f} |"
