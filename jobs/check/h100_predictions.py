"""Whether the page's table of levers and tests/gpu/expected.json predict the same.

A figure of expected.json that shows a lever has "lever": how the lever's row begins. Each number after "than" in a
row's last column is a bound of such a figure ("holds", else "within"), and each bound is in the row. A dagger marks
what no step of gpu-check shows.
"""

import re

HEADER = re.compile(r"^\| lever \| predicted us of ([\d,]+) \| falsified if \|$", re.M)
BOUND = re.compile(r"\bthan (\d[\d,.]*\d|\d)(†?)")
# The case whose step is the base.
BASE = {"step": "resnet18@32, batch 128, bf16", "figure": ["contestants", "rueda", "images_per_second"], "images": 128}


def number(text):
    return float(text.replace(",", ""))


def rows_after(text, header):
    """Cells of each row of a table."""
    lines = text[header.end() :].lstrip("\n").split("\n")[1:]
    end = next((n for n, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def bounds_of(figure):
    return {bound for bound in figure.get("holds", figure["within"]) if bound is not None}


def listed(numbers):
    return ", ".join(f"{one:,g}" for one in sorted(numbers)) or "none"


def differences_of_row(cells, figures):
    """Between a row and the figures that show its lever."""
    found = BOUND.findall(cells[2])
    says = {number(bound) for bound, dagger in found if not dagger}
    expected = set().union(*map(bounds_of, figures))
    if says != expected:
        yield (f'"{cells[0][:50]} ..." is falsified by bounds {listed(says)}, but in expected.json figures with '
               f'"lever": "{cells[0][:20]} ..." have {listed(expected)}')  # fmt: skip
    if not figures and "†" not in cells[2]:
        yield f'"{cells[0][:50]} ..." has neither a figure with this "lever" in expected.json nor a dagger'


def differences_of_sum(rows, base, figures):
    """Between the gains of all rows and what the whole step is expected to become."""
    gains = [re.match(r"(-?[\d,]+)(?=:|;|$)", cells[1]) for cells in rows]
    if None in gains:
        yield f'"{rows[gains.index(None)][0][:50]} ..." does not begin its prediction with us and a colon or semicolon'
        return
    gain = sum(number(one[1]) for one in gains)
    rate = round(1e6 * BASE["images"] / (base - gain), -2)
    wants = f"{gain:,g} us less of {base:,g}, as all changes since are predicted to gain, would be {rate:,.0f}"
    case = [one for one in figures if one["step"] == BASE["step"] and one["figure"] == BASE["figure"]]
    for figure in case:
        if wants not in figure["says"]:
            yield f"expected.json does not say of {BASE['step']}: {wants}"
        if not figure["within"][0] <= rate <= figure["within"][1]:
            yield f"expected.json: {rate:,.0f} images/s, by all predicted gains, are not within its bounds"
    if not case:
        yield f"expected.json has no figure of {BASE['step']}"


def differences(page, figures):
    """Between the table of levers in the page's text and the figures of expected.json, a line each."""
    header = HEADER.search(page)
    if header is None:
        yield "there is no table of levers"
        return
    rows = rows_after(page, header)
    for figure in figures:
        of = [cells[0] for cells in rows if "lever" in figure and cells[0].startswith(figure["lever"])]
        if "lever" in figure and len(of) != 1:
            yield f'expected.json: "lever": "{figure["lever"]}" begins {len(of)} rows of the table'
    for cells in rows:
        yield from differences_of_row(
            cells, [one for one in figures if "lever" in one and cells[0].startswith(one["lever"])])  # fmt: skip
    yield from differences_of_sum(rows, number(header[1]), figures)
