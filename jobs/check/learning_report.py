"""From the trainings of jobs/check/learning.py to a table, and to sentences on measured and predicted images.

A batch is {"rate": its best rate, "seeds": {seed: found}}, with found as Training.read returns it.
"""

import textwrap
from collections import namedtuple
from math import exp, log
from statistics import fmean

from learning_figures import examples_to, goal_words

NEAR = 1.3  # factor between measured and predicted images, up to REACH times the run's own batch
REACH = 8
HALF_NEAR = 2.0  # factor between the batches at which half of the images are lost
COLUMNS = ("goal", "batch", "rate", "seeds", "images", "fewest", "most", "predicted", "predicted_low", "predicted_high",
           "predicted_by_steps")  # fmt: skip
Row = namedtuple("Row", COLUMNS)
"""Of a goal and a batch, means over `seeds` seeds: `predicted` by epochs, also with both ends of their noise scales."""
PREDICTIONS = {"scale": "predicted", "steps": "predicted_by_steps"}
"""By the key of `predicted`: the column."""


def scales(found, key):
    """(images at its end, noise scale) of what determined one: of the epochs, with key scale, low or high as in
    run.json; of blocks of steps with key steps."""
    if key == "steps":
        return [(images, of["scale"]) for images, of in found["blocks"]]
    return [(images, of[key]) for images, of in found["noise"] if of and of.get("scale")]


def predicted(found, goal, batch, key="scale"):
    """Images that another batch needs, by one run's noise scales until its own goal: the progress of an image is in
    proportion to 1 / (B + noise scale). Source: McCandlish et al., arXiv 1812.06162, section 2. None if the run did not
    reach the goal or determined no noise scale."""
    own, known = examples_to(found, goal), scales(found, key)
    if own is None or not known:
        return None
    images, begin = 0.0, 0.0
    for end in [*(end for end, _ in known if end < own), own]:
        # What determined no noise scale has that of the next one that did, or of the last.
        scale = next((scale for at, scale in known if at >= end), known[-1][1])
        images += (end - begin) * (batch + scale) / (found["batch"] + scale)
        begin = end
    return images


def predicted_half(found, goal, key):
    """The batch at which the run's noise scales say that half of the images are lost."""
    small, large = (predicted(found, goal, batch, key) for batch in (0, found["batch"]))
    return None if small is None else found["batch"] * small / (large - small)


def measured_images(batch, goal):
    """Of the seeds that reached the goal."""
    needed = (examples_to(found, goal) for found in batch["seeds"].values())
    return [images for images in needed if images is not None]


def centre(values):
    """The geometric mean of those that are known."""
    known = [value for value in values if value]
    return exp(fmean(map(log, known))) if known else None


def measured_half(batches, goal):
    """The scale N of images = minimum (1 + B / N) with the smallest squares of relative errors, over the batches that
    reached the goal; None with fewer than three, or where images do not grow with the batch."""
    points = [(size, centre(measured_images(batch, goal))) for size, batch in sorted(batches.items())]
    points = [(size, images) for size, images in points if images]
    if len(points) < 3:
        return None

    def misfit(scale):
        logs = [log(images / (1 + size / scale)) for size, images in points]
        return sum((one - fmean(logs)) ** 2 for one in logs)

    tried = [2 ** (i / 20) for i in range(20 * 20)]
    best = min(tried, key=misfit)
    return None if best in (tried[0], tried[-1]) else best


def rows(batches, base, goals):
    """A Row for each goal and batch; None where something is not known."""
    lines = []
    for goal in goals:
        for size, batch in sorted(batches.items()):
            images = measured_images(batch, goal)
            line = [goal_words(goal), size, batch["rate"], len(images), centre(images)]
            line += [min(images), max(images)] if images else [None, None]
            for key in ("scale", "low", "high", "steps"):
                line.append(centre(predicted(found, goal, size, key) for found in runs_of(batches, base)))
            lines.append(Row(*line))
    return lines


def runs_of(batches, base):
    """The runs that predict, one for each seed."""
    return list(batches[base]["seeds"].values()) if base in batches else []


def count(value):
    return "not reached" if value is None else f"{value:,.0f}"


def as_table(lines, goal):
    """Markdown of one goal."""
    out = ["| batch | best rate | seeds | images | fewest to most | steps | predicted by epochs | measured "
           "/ predicted | by steps | measured / predicted |",
           "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for row in lines:
        if row.goal != goal_words(goal):
            continue
        between = f"{row.fewest:,.0f} to {row.most:,.0f}" if row.seeds > 1 else ""
        steps = f"{row.images / row.batch:,.0f}" if row.images else ""
        cells = [f"{row.batch:,}", f"{row.rate:g}", row.seeds, count(row.images), between, steps]
        for expected in (row.predicted, row.predicted_by_steps):
            cells.append(f"{expected:,.0f}" if expected else "not determined")
            cells.append(f"{row.images / expected:.2f}" if row.images and expected else "not determined")
        out.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(out)


def near_cell(lines, goal, base, column):
    """How far measured and predicted images are apart, from the run's own batch to REACH times it."""
    pairs = [(row.batch, row.images / getattr(row, column)) for row in lines if row.goal == goal_words(goal)
             and row.images and getattr(row, column) and base < row.batch <= REACH * base]  # fmt: skip
    if not pairs:
        return "not determined"
    size, ratio = max(pairs, key=lambda pair: abs(log(pair[1])))
    apart = max(ratio, 1 / ratio)
    way = "more" if ratio > 1 else "fewer"
    return f"{apart:.2f}, {way} images at {size:,}: {'within' if apart <= NEAR else 'outside'}"


def half_cell(measured, batches, goal, base, key):
    """The batch at which half of the images are lost, by prediction, beside that of the fit."""
    expected = centre(predicted_half(found, goal, key) for found in runs_of(batches, base))
    if not measured or not expected:
        return "not determined"
    apart = max(measured / expected, expected / measured)
    return f"{expected:,.0f}, {apart:.1f}: {'within' if apart <= HALF_NEAR else 'outside'}"


def verdicts(batches, lines, base, goals):
    """Markdown: for each goal and way to predict, whether the goals of this experiment are met."""
    out = [f"| until | apart by a factor of, up to {REACH * base:,} (goal {NEAR:g}), by epochs | by steps | half "
           f"lost at, by the fit | predicted by epochs, factor (goal {HALF_NEAR:g}) | by steps |",
           "|---|---|---|---:|---|---|"]  # fmt: skip
    for goal in goals:
        measured = measured_half(batches, goal)
        cells = [goal_words(goal), *(near_cell(lines, goal, base, column) for column in PREDICTIONS.values())]
        cells.append(f"{measured:,.0f}" if measured else "not determined")
        cells += [half_cell(measured, batches, goal, base, key) for key in PREDICTIONS]
        out.append(f"| {' | '.join(cells)} |")
    return "\n".join(out)


def noise_line(batches, base):
    """The noise scale of the base's first seed by epoch."""
    runs = runs_of(batches, base)
    cells = [f"{of['scale']:.0f} ({of['low']:.0f} to {of['high']:.0f})" if of and of.get("scale") else "not determined"
             for _, of in (runs[0]["noise"] if runs else [])]  # fmt: skip
    if not any(cell != "not determined" for cell in cells):
        return "The run that predicts determined no noise scale."
    words = f"Noise scale of the first run that predicts, by epoch, with its 90 % interval: {', '.join(cells)}."
    return textwrap.fill(words, 118)


def as_markdown(batches, base, goals, main_goal):
    lines = rows(batches, base, goals)
    parts = [f"Until a {goal_words(main_goal)}, by a run of {base:,}:", as_table(lines, main_goal),
             noise_line(batches, base)]
    parts.append(verdicts(batches, lines, base, goals))
    return "\n\n".join(parts)
