#!/usr/bin/env python3
"""Puts faults into small training runs and looks at what becomes of them.

usage: faults.py [RUEDA [MPIEXEC]] [--kinds A,B] [--times N] [--seed S] [--minutes M] ...

A trial draws ranks, options, cadence of checkpoints and the moment of the fault from seed, kind and
number. The job has to end in time and to leave no process; messages, exit code, run.json and
checkpoints have to be as documented; then the run is resumed, now and then killed again, until it is
complete, and its numbers have to be those of a run without a fault, bit for bit. --list names the
kinds. Exit code 1: something of this does not hold; the trial's folder is kept, and the command that
repeats it is printed. Needs Linux; faults of the disk need root.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

# Without "kill-write", which trains a larger network, what checkpoint_test.py ("kill-step", "stop-twice", "again"),
# cli_test.py ("flip-bit") and verify_test.py ("message") have, and "stopped" and "kill-launcher", which wait for
# a time limit.
SHORT = "kill,kill-job,stop,hang,flip-bit-epoch,nan,audit=4,audit-self,audit-permanent,audit-self-permanent,"
SHORT += "damage=4,damage-all,disk-full,disk-full-late,read-only,read-only-late"
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

# pylint: disable=wrong-import-position
import kinds_audit  # noqa: E402,F401  (registers its kinds)
import kinds_files  # noqa: E402,F401
import kinds_ranks  # noqa: E402,F401
from plans import Plans  # noqa: E402
from rueda_runs import Program  # noqa: E402
from trial import KINDS, Place, Skip, Trial, trial_rng  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rueda", nargs="?", default=str(ROOT / "build" / "rueda"))
    parser.add_argument("mpiexec", nargs="?", default="mpiexec")
    parser.add_argument("--kinds", metavar="A,B",
                        help="only these, for example kill,damage=20: with a number of trials")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="trials of each kind [1]")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--plans", type=int, default=8, metavar="N", help="configurations that trials draw from [8]")
    parser.add_argument("--again", type=float, default=0.25, metavar="X",
                        help="how likely a resumed run is killed once more, up to eight times [0.25]")
    parser.add_argument("--kills", type=int, default=3, metavar="N", help="of an unattended run [3]")
    parser.add_argument("--apart", type=float, default=4, metavar="S", help="seconds between these, in the mean [4]")
    parser.add_argument("--short", action="store_true", help="a trial of each kind and a few of damage, few plans")
    parser.add_argument("--only", type=int, metavar="I", help="the trial with this number alone")
    parser.add_argument("--minutes", type=float, metavar="M", help="begins no trial later")
    parser.add_argument("--table", type=Path, metavar="FILE", help="the table as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="each trial's outcome and figures")
    parser.add_argument("--list", action="store_true", help="names the kinds and ends")
    options = parser.parse_args()
    if options.short:
        options.kinds, options.plans, options.again = SHORT, 1, 0.0
    return options


def chosen(options):
    """[(kind, trials)]"""
    if options.kinds is None:
        return [(kind, options.times) for kind in KINDS.values()]
    pairs = [word.partition("=") for word in options.kinds.split(",")]
    unknown = [name for name, _, _ in pairs if name not in KINDS]
    if unknown:
        sys.exit(f"faults.py: unknown kind {unknown[0]}; there are {', '.join(KINDS)}")
    return [(KINDS[name], int(times or options.times)) for name, _, times in pairs]


def run_trial(place, kind, index, options):
    """What became of it: "ok", "skipped" or "failed", why, and its figures."""
    folder = Path(tempfile.mkdtemp(prefix=f"{kind.name}-{index}-", dir=place.folder))
    trial = Trial(place, folder, trial_rng(options.seed, kind.draws, index), **kind.wishes)
    try:
        kind.put_in(trial)
        result, why = "ok", ""
    except Skip as skip:
        result, why = "skipped", str(skip)
    except Exception as error:  # pylint: disable=broad-exception-caught
        result, why = "failed", str(error) if isinstance(error, AssertionError) else traceback.format_exc()
    if result == "failed":
        print_failure(kind, index, options, why, trial)
    else:
        shutil.rmtree(folder)
    return result, why, trial.figures


def print_failure(kind, index, options, why, trial):
    print(f"FAILED {kind.name} {index} on {trial.plan.ranks} ranks, {' '.join(trial.plan.words)}, "
          f"checkpoints every {trial.plan.cadence}:\n{why}\n"
          f"its folder: {trial.folder}\nagain: tests/faults/faults.py {options.rueda} {options.mpiexec} "
          f"--kinds {kind.name} --seed {options.seed} --plans {options.plans} --again {options.again} --only {index}",
          flush=True)


def rounds(pairs, only):
    """Kinds take turns, so that a run that ends early has tried all."""
    if only is not None:
        return [(kind, only) for kind, _ in pairs]
    most = max(times for _, times in pairs)
    return [(kind, i) for i in range(most) for kind, times in pairs if i < times]


class Table:
    """Trials counted: a row for each kind of fault."""

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
        reasons = Counter(next(t["why"] for t in self.trials if t["kind"] == name)
                          for name, results in by_kind.items() if results == {"skipped"})
        lines = [f"skipped: {why} ({count} case{'s' * (count > 1)})" for why, count in reasons.items()]
        return "\n".join([*lines, text + (f", {skipped} skipped" if skipped else "")])

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
        text_of_ends = ", ".join(f"{count} {text}" for text, count in ends.most_common()) if outcomes else ""
        failed = sum(t["result"] == "failed" for t in done)
        kills = sum(t["kills_after"] for t in done)
        lost = max(t["steps_lost"] for t in done)
        longest = max(t["seconds_to_end"] for t in done)
        return f"| {title} | `{name}` | {len(done)} | {failed} | {text_of_ends} | {kills} | {lost} | {longest:.1f} |"


def main():
    options = parse()
    if options.list:
        print("\n".join(f"{kind.name:16} {kind.title}" for kind in KINDS.values()))
        return 0
    pairs = chosen(options)
    folder = Path(tempfile.mkdtemp(prefix="rueda-faults-"))
    program = Program(options.rueda, options.mpiexec, folder, time_limit=120)
    made = program.run("synth", "--out", "data", "--train", "64", "--test", "16")
    if made.code != 0:
        sys.exit(f"faults.py: no data set: {made.err}")
    place = Place(program, folder, Plans(options.seed, options.plans), options.again, options.kills, options.apart)
    table, began = Table(), time.monotonic()
    for kind, index in rounds(pairs, options.only):
        if options.minutes and time.monotonic() - began > 60 * options.minutes:
            break
        started = time.monotonic()
        result, why, figures = run_trial(place, kind, index, options)
        table.add(kind, index, result, why, figures)
        print(f"{time.monotonic() - started:5.1f} s  {kind.name} {index}: "
              f"{result}{', ' + why if result == 'skipped' else ''}"
              f"{', ' + '; '.join(figures.outcomes) if result == 'ok' else ''}", flush=True)
    text = table.markdown()
    print(f"\n{text}\nseed {options.seed}, {options.plans} plans, {(time.monotonic() - began) / 60:.1f} minutes")
    if options.table:
        options.table.write_text(text, encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(table.trials, indent=1), encoding="utf-8")
    if not table.count("failed"):
        shutil.rmtree(folder)
    print(table.summary())
    return 1 if table.count("failed") or not table.count("ok") else 0


if __name__ == "__main__":
    sys.exit(main())
