"""Two runs next to each other: how they learned, and where the time of their steps goes."""

from ..base.definitions import PHASES
from . import curves, phases
from .chart import Chart
from ..base.text import rate_text
from .report import entries, text

_SECTION = "Comparison"


def comparison_of(report):
    """What a report of two runs has of them, or None."""
    known = report.get("comparison")
    return known if isinstance(known, dict) and len(entries(known, "runs")) == 2 else None


def _name(letter, run):
    return f"{letter}: {text(run.get('name'))}"


def _phases_chart(names, stacks):
    columns = ["phase, ms", *names]
    rows = [[phases.word_of(phase), *[rate_text(1e3 * one[phase]) for one in stacks]] for phase in PHASES]
    return Chart(
        "comparison-phases", "Where a step's time goes", _SECTION,
        lambda axes: phases.draw_stacks(axes, stacks, names), columns, rows,
        ["Mean over ranks of a full step; the phases add up to it."], topics=("compared phases",),
    )  # fmt: skip


def charts(report):
    """Loss, accuracy and phases of both; none where the report compares nothing."""
    comparison = comparison_of(report)
    if comparison is None:
        return
    both = entries(comparison, "runs")
    names = [_name(letter, run) for letter, run in zip("AB", both)]
    yield from curves.charts("comparison", "A and B", _SECTION, list(zip(names, both)))
    stacks = [phases.phases_of(run) for run in both]
    if all(stacks):
        yield _phases_chart(names, stacks)
