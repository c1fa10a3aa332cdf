"""The sections of report.html."""

from collections import namedtuple

from ..charts.report import findings_of, tables_of
from .head import evaluations, head
from .parts import Block, Section, charts_block, tables_block

_SHOWN = 3  # findings of a series

Anchored = namedtuple("Anchored", "heading anchor kind blocks")
"""A Section with the place to which a link leads; so have its blocks: [(place, Block)]."""


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


def anchored(sections):
    """[Anchored] of Sections: s1, s2 ... and their blocks s1-1, s1-2 ..."""
    return [
        Anchored(one.heading, f"s{i}", one.kind, [(f"s{i}-{j}", block) for j, block in enumerate(one.blocks, 1)])
        for i, one in enumerate(sections, 1)
    ]


def _title_of(block):
    """Of a table, or of the findings of a series; else empty."""
    if block.kind == "table":
        return block.content.title
    return block.content[0] if block.kind == "findings" else ""


def contents_of(sections):
    """[(heading, place, [(title, place)])] of Anchored ones and of what has a title in them."""
    return [
        (one.heading, one.anchor, [(_title_of(block), place) for place, block in one.blocks if _title_of(block)])
        for one in sections
    ]
