"""A finding, and the words that several sentences share."""

import math
from collections import namedtuple
from enum import Enum

from ..base.estimate import Estimate
from ..base.terminal import paragraph
from ..base.text import counted

Finding = namedtuple("Finding", "about code text figures")
"""`about` is the label of a series, or empty for the study as a whole; `code` names the kind of finding for programs;
`text` is one or more sentences; `figures` has what the text is made of, in SI units, shares from 0 to 1."""


def percent(share):
    return f"{100 * share:.1f} %"


def rank_words(ranks):
    return counted(ranks, "rank")


def listed(words, last="and"):
    """"a, b and c"; not empty."""
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def few_listed(words, most):
    """"a, b and 3 others"."""
    words = list(words)
    left_out = len(words) - most
    return listed(words if left_out <= 0 else [*words[:most], counted(left_out, "other")])


def phase_name(phase):
    return "the exposed all-reduce" if phase == "all_reduce" else phase


def json_value(value):
    """As report.json has it: an Estimate as an object, what is unknown as null."""
    if isinstance(value, Estimate):
        parts = {"value": value.value, "low": value.low, "high": value.high}
        if not value.known:
            return None
        return {**parts, "why": value.why} if value.why else parts
    if isinstance(value, dict):
        return {key: json_value(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(one) for one in value]
    if isinstance(value, Enum):
        return value.name
    return None if isinstance(value, float) and not math.isfinite(value) else value


def findings_json(findings):
    return [{"about": one.about, "code": one.code, "text": one.text, "figures": json_value(one.figures)}
            for one in findings]


def _heading(about, markdown):
    name = about or "The study"
    return f"\n**{name}**\n\n" if markdown else f"\n{name}\n"


def findings_text(findings, markdown=False):
    """Grouped by what they are about, for report.md or for a terminal."""
    text, about = "", None
    for finding in findings:
        if finding.about != about:
            about = finding.about
            text += _heading(about, markdown)
        text += f"- {finding.text}\n" if markdown else paragraph("  - ", 4, finding.text)
    return text
