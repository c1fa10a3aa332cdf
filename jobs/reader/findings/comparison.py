"""Two runs that were named, one against the other: what differs, which is faster, why, and which learned better."""

import math
from collections import namedtuple

from ..base.terminal import paragraph
from ..base.text import counted, rate_text
from ..runs.run import folder_name
from ..study.conclude import DOUBTS, SINGLE_RUNS_DIFFER, doubts_of
from ..study.observation import observe
from ..tables.comparison import (
    PHASE_WORDS, full_step_phases, last_test, rank_batch_text, runs_table, settings_table, steady_rate, step_table,
    which_is_which,
)  # fmt: skip
from ..tables.table import shown, to_text, without_empty
from .finding import Finding, json_value, listed, percent
from .learning import learned_json

Comparison = namedtuple("Comparison", "runs findings tables")
"""Of two RunResults: [Finding], [Table]."""

_NAMED_SETTINGS = 8
_SCHEDULE = ("epochs", "lr-schedule", "warmup-epochs")
"""The options that say where in its schedule an epoch lies."""


def _in_millis(seconds):
    return shown(seconds, "millis") + " ms"


def _settings(runs, differing):
    names = [row[0] for row in differing.rows]
    left_out = len(names) - _NAMED_SETTINGS
    if left_out > 0:
        names = [*names[:_NAMED_SETTINGS], counted(left_out, "other setting")]
    said = f"They differ in {listed(names)}." if names else "No setting differs."
    return Finding("", "settings", f"{which_is_which(runs)} {said}", {"settings": [row[0] for row in differing.rows]})


def _doubts(runs):
    """{letter: codes} of the runs from which nothing is concluded."""
    codes = {letter: doubts_of(observe(run)) for letter, run in zip("AB", runs)}
    return {letter: found for letter, found in codes.items() if found}


def _doubts_text(doubted):
    """"A and B: the only epoch includes warm-up (train more epochs)"."""
    letters = {}  # of each doubt
    for letter, codes in doubted.items():
        for code in codes:
            letters.setdefault(code, []).append(letter)
    return "; ".join(f"{' and '.join(whose)}: {DOUBTS[code].reason} ({DOUBTS[code].remedy})"
                     for code, whose in letters.items())  # fmt: skip


def _faster(runs):
    """Which run is faster and by what factor, or why that is not determined: ("A", 1.2, "") or (None, 1.2, reason)."""
    a, b = map(steady_rate, runs)
    leader = "B" if b.value > a.value else "A"
    ratio = max(a.value, b.value) / min(a.value, b.value)
    if doubted := _doubts(runs):
        return None, ratio, f", but which is faster is not determined. {_doubts_text(doubted)}."
    if ratio - 1 < SINGLE_RUNS_DIFFER:
        apart = percent(SINGLE_RUNS_DIFFER)
        return None, ratio, f". Single runs that are less than {apart} apart do not determine which is faster."
    if a.high >= b.low and b.high >= a.low:
        return None, ratio, ", but their ranges over epochs overlap, so which is faster is not determined."
    return leader, ratio, ""


def _speed(runs):
    a, b = map(steady_rate, runs)
    leader, ratio, why_not = _faster(runs)
    text = f"A trains {rate_text(a.value)} images/s and B {rate_text(b.value)}"
    text += f": {leader} is {ratio:.2f} times as fast." if leader else why_not
    return Finding("", "faster", text,
                   {"images_per_second": [a, b], "faster": leader, "ratio": ratio, "doubts": _doubts(runs)})


def _is_determined(runs, a, b):
    """Whether a phase may be named as the reason why one step takes longer. Steps of the same images differ for no
    other reason than speed, so the answer is that of `_speed`."""
    if abs(b - a) < SINGLE_RUNS_DIFFER * min(a, b) or _doubts(runs):
        return False
    return rank_batch_text(runs[0]) != rank_batch_text(runs[1]) or _faster(runs)[0] is not None


def _batches(runs):
    """Images of a rank, where that differs."""
    a, b = map(rank_batch_text, runs)
    return "" if a == b else f" (each rank has {a} images in A, {b} in B)"


def _phases(runs):
    """Of the phase whose time differs most in the direction of the step; None without full steps."""
    a, b = map(full_step_phases, runs)
    whole_a, whole_b = sum(a.values()), sum(b.values())
    if not (whole_a > 0 and whole_b > 0):
        return None
    text = f"A mean full step takes {_in_millis(whole_a)} in A and {_in_millis(whole_b)} in B"
    figures = {"step_seconds": [whole_a, whole_b], "phase": None}
    if abs(whole_b - whole_a) < SINGLE_RUNS_DIFFER * min(whole_a, whole_b):
        return Finding("", "step", f"{text}, which is less than {percent(SINGLE_RUNS_DIFFER)} apart.", figures)
    text += _batches(runs)
    if not _is_determined(runs, whole_a, whole_b):
        return Finding("", "step", text + ".", figures)
    most = max(a, key=lambda phase: math.copysign(1, whole_b - whole_a) * (b[phase] - a[phase]))
    figures.update(phase=most, phase_seconds=[a[most], b[most]])
    text += (f". The largest part of the difference is {PHASE_WORDS[most]}: {_in_millis(a[most])} in A, "
             f"{_in_millis(b[most])} in B.")  # fmt: skip
    return Finding("", "step", text, figures)


def _chance(a, b):
    """Two standard errors of the difference of two shares."""
    variance = sum(score.accuracy * (1 - score.accuracy) / max(score.samples, 1) for score in (a, b))
    return 2 * math.sqrt(variance)


def _verdict(a, b):
    """Which accuracy is better, as words and "A", "B" or None."""
    apart, chance = abs(b.accuracy - a.accuracy), _chance(a, b)
    images = counted(min(a.samples, b.samples), "test image")
    margin = f"the {100 * chance:.1f} points (two standard errors) that {images} leave to chance"
    if not apart > chance:
        return f"not more than {margin}, so which learned better is not determined.", None
    better = "B" if b.accuracy > a.accuracy else "A"
    return f"{better} is better by {100 * apart:.1f} points, more than {margin}. Another seed may change that.", better


def _is_at_its_end(run):
    """Whether its last evaluation is of the end of its schedule."""
    return run.outcome == "completed" and run.epochs[-1].test is not None


def _same_schedule(runs):
    """Whether an epoch lies at the same place of both schedules."""
    return all(runs[0].options.get(name) == runs[1].options.get(name) for name in _SCHEDULE)


def _last_common(runs):
    """The last epochs of the same number that both evaluated, and that number; None if there is none."""
    both = [(a, b, number) for number, (a, b) in enumerate(zip(runs[0].epochs, runs[1].epochs), 1) if a.test and b.test]
    return both[-1] if both else None


def _at_common_epoch(runs):
    a, b, number = _last_common(runs)
    words, better = _verdict(a.test, b.test)
    text = (f"After epoch {number}, the last that both evaluated, test accuracy is {percent(a.test.accuracy)} in A and "
            f"{percent(b.test.accuracy)} in B: {words}")  # fmt: skip
    return Finding("", "learning", text, _learning_figures([number] * 2, a.test, b.test, better))


def _learning_figures(epochs, a, b, better):
    return {"epochs": epochs, "accuracy": [a.accuracy, b.accuracy], "chance": _chance(a, b), "better": better}


def _at_last(runs):
    """Each by its own last evaluation. A verdict needs both at the end of their schedules."""
    a, b = map(last_test, runs)
    numbers = [run.epochs.index(epoch) + 1 for run, epoch in zip(runs, (a, b))]
    text = (f"Test accuracy is {percent(a.test.accuracy)} in A after epoch {numbers[0]} and "
            f"{percent(b.test.accuracy)} in B after epoch {numbers[1]}, the last that each evaluated")  # fmt: skip
    early = [letter for letter, run in zip("AB", runs) if not _is_at_its_end(run)]
    if early:
        are = "was" if len(early) == 1 else "were"
        text += (f": {listed(early)} {are} not evaluated at the end, and schedules differ, so which learns better is "
                 "not determined.")
        return Finding("", "learning", text, _learning_figures(numbers, a.test, b.test, None))
    words, better = _verdict(a.test, b.test)
    return Finding("", "learning", f"{text}: {words}", _learning_figures(numbers, a.test, b.test, better))


def _learning(runs):
    """Last against last where both are at their end; at a common epoch only where that is at the same place of equal
    schedules."""
    common = _last_common(runs)
    if common and common[0].parameter_hash and common[0].parameter_hash == common[1].parameter_hash:
        text = f"After epoch {common[2]} both have the same parameters, bit for bit."
        return Finding("", "same-bits", text, {"epoch": common[2]})
    if common and _same_schedule(runs):
        return _at_common_epoch(runs)
    return _at_last(runs) if all(map(last_test, runs)) else None


def compare(a, b):
    runs = [a, b]
    settings = settings_table(runs)
    found = [_settings(runs, settings), _speed(runs), _phases(runs), _learning(runs)]
    return Comparison(runs, [one for one in found if one],
                      without_empty([settings, runs_table(runs), step_table(runs)]))


def comparison_title(comparison):
    return "Runs {} and {}".format(*(folder_name(run.file) for run in comparison.runs))


def comparison_text(comparison):
    """For a terminal: the sentences, what differs, and the phases."""
    text = "\nComparison\n" + "".join(paragraph("  - ", 4, finding.text) for finding in comparison.findings)
    for table in comparison.tables:
        if table.id == "comparison_settings":
            rows = [paragraph("  - ", 4, f"{name}: A {a}, B {b}") for name, a, b in table.rows]
            text += f"\n{table.title}\n{''.join(rows)}"
        if table.id == "comparison_steps":
            text += "\n" + to_text(table)
    return text


def comparison_json(comparison):
    runs = []
    for run in comparison.runs:
        one = learned_json(run)
        del one["evaluation"]  # which is in `runs`, or of a repeat
        phases = {phase: seconds if math.isfinite(seconds) else None
                  for phase, seconds in full_step_phases(run).items()}
        runs.append({**one, "phases": phases})
    details = [{"code": one.code, "figures": json_value(one.figures)} for one in comparison.findings]
    return {"findings": [one.text for one in comparison.findings], "details": details,
            "tables": [table.json() for table in comparison.tables], "runs": runs}  # fmt: skip
