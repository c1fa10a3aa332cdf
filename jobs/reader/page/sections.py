"""The sections of report.html."""

from ..charts.report import findings_of, tables_of
from .head import evaluations, head
from .parts import Block, Section, charts_block, tables_block

_SHOWN = 3  # findings of a series


def _findings(report):
    """Those of each series below its label, most of them folded; those about the study before them."""
    found = findings_of(report)
    blocks = [Block("items", [one.text for one in found if not one.about])]
    for label in dict.fromkeys(one.about for one in found if one.about):
        own = [one.text for one in found if one.about == label]
        blocks.append(Block("findings", (label, own[:_SHOWN], own[_SHOWN:])))
    return [Section("Findings", "", blocks)] if found else []


def sections_of(report, drawn):
    """[Section]: the head, findings, tables, charts. `drawn` holds (chart, png)."""
    sections, shown = head(report, drawn)
    drawn = [one for one in drawn if one not in shown]
    evaluated, shown = evaluations(drawn)
    drawn = [one for one in drawn if one not in shown]
    sections += [Section("Evaluation", "runs", evaluated)] * bool(evaluated) + _findings(report)
    sections += [Section(heading, "", tables_block(tables)) for heading, tables in tables_of(report)]
    for heading in dict.fromkeys(chart.section for chart, _ in drawn):
        members = [one for one in drawn if one[0].section == heading]
        sections.append(Section(f"Charts: {heading}", "", charts_block(members)))
    nothing = Block("items", ["The report holds no tables and nothing to draw."])
    return sections or [Section("Nothing to show", "", [nothing])]
