"""What limits a study as a whole: runs that hold conclusions back, single runs, what was not read."""

from ..base.text import counted
from ..runs.run import folder_name
from ..study.conclude import DOUBTS, doubted_runs
from ..study.observation import Processor, is_single_run
from .finding import Finding, few_listed

_NAMED = 8  # runs, of each reason

_SINGLE_RUNS = ("Some points are single runs, so their figures have no range: repeat these runs to see how far times "
                "differ. Until then nothing is concluded from a difference below 5 %.")  # fmt: skip
_TIMED = ("Nothing was computed: ranks waited for the time of forward and backward (--backend timed). Only "
          "communication is real.")  # fmt: skip
_THREADS = ("The ranks did not all have the same number of threads, so the speedup compares different resources. "
            "--threads fixes their number.")  # fmt: skip


def _points(figures):
    return [f.point for series in figures for f in series.points]


def what_is_held_back(figures):
    """The one finding that names the runs from which nothing is concluded, and why. None if there are none."""
    by_code = {code: [] for code in DOUBTS}
    for run, codes in doubted_runs(_points(figures)):
        for code in codes:
            by_code[code].append(run)
    by_code = {code: runs for code, runs in by_code.items() if runs}
    if not by_code:
        return None
    reasons = []
    for code, runs in by_code.items():
        names = few_listed([folder_name(run.file) for run in runs], _NAMED)
        reasons.append(f"{names}: {DOUBTS[code].reason} ({DOUBTS[code].remedy})")
    text = "No cause, ranking, trend or advice follows from these runs: " + "; ".join(reasons) + "."
    figures = {code: [str(run.file.parent) for run in runs] for code, runs in by_code.items()}
    return Finding("", "held-back", text, figures)


def _threads_differ(series):
    threads = {rank.threads for point in series.points for run in point.runs for rank in run.ranks}
    return series.processor is Processor.cpu and len(threads) > 1


def _about_series(series):
    if series.processor is Processor.timed:
        yield Finding(series.label, "timed", _TIMED, {})
    if _threads_differ(series):
        yield Finding(series.label, "threads-differ", _THREADS, {})


def _about_files(study):
    failed, unreadable = len(study.failed) + len(study.empty_runs), len(study.unreadable)
    if failed:
        text = f"{counted(failed, 'run')} ended without an epoch; the table of runs has the reasons."
        yield Finding("", "failed-runs", text, {"runs": failed})
    if unreadable:
        are = "is" if unreadable == 1 else "are"
        text = (f"{counted(unreadable, 'file')} could not be read and {are} not in the figures: "
            f"{study.unreadable[0].why}")
        yield Finding("", "unreadable", text, {"files": [str(one.file) for one in study.unreadable]})


def doubts(study, figures):
    """[Finding]"""
    single = [point for point in _points(figures) if is_single_run(point)]
    found = [what_is_held_back(figures)]
    if single:
        found.append(Finding("", "single-runs", _SINGLE_RUNS, {"points": len(single)}))
    for one in figures:
        found += _about_series(one.series)
    return [one for one in [*found, *_about_files(study)] if one]
