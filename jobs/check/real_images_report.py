"""From the test accuracies of jobs/check/real_images.py to its tables."""

from math import sqrt
from statistics import fmean, stdev

NAMES = {"rueda-1": "rueda, 1 rank", "rueda-2": "rueda, 2 ranks", "torch": "PyTorch"}
BOUND = 0.3  # points between means
ALIKE = 1e-3  # relative difference of two losses in fp32 of the same weights and images, well above rounding
# Student's t for 95 % on both sides, by degrees of freedom from 1.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def percent(value):
    return f"{value:.2f}"


def points(value):
    """With its sign; never a minus before zeros."""
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def of_contestant(results, name):
    """Its trainings, in the order of the seeds."""
    return [one for (_, contestant), one in sorted(results.items(), key=lambda item: item[0]) if contestant == name]


def accuracies_at(results, name, epoch):
    """Of a contestant after an epoch from 1, or -1 for the last; in per cent, by seed in order."""
    place = epoch if epoch < 0 else epoch - 1
    return [100 * one["accuracies"][place] for one in of_contestant(results, name)]


def difference(ours, theirs):
    """Of the means as the table shows them, and half the width of its 95 % interval, from the differences of pairs
    with a common start: None where one pair, or more than STUDENT knows, leave it undetermined."""
    each = [a - b for a, b in zip(ours, theirs)]
    mean = round(fmean(ours), 2) - round(fmean(theirs), 2)
    if not 2 <= len(each) <= len(STUDENT) + 1:
        return mean, None
    return mean, STUDENT[len(each) - 2] * stdev(each) / sqrt(len(each))


def row(*cells):
    return f"| {' | '.join(cells)} |"


def spread(values):
    return percent(stdev(values)) if len(values) > 1 else "not determined"


def table(results):
    """Accuracies after the last epoch, a line for each seed, then what they have in common."""
    seeds = sorted({seed for seed, _ in results})
    columns = {name: accuracies_at(results, name, -1) for name in NAMES}
    lines = [row("seed", *NAMES.values()), "|---|---:|---:|---:|"]
    lines += [row(str(seed), *(percent(of[i]) for of in columns.values())) for i, seed in enumerate(seeds)]
    lines.append(row("mean", *(percent(fmean(of)) for of in columns.values())))
    lines.append(row("standard deviation", *map(spread, columns.values())))
    return "\n".join(lines)


def is_near(mean):
    return abs(round(mean, 2)) <= BOUND


def verdict(words, mean, half):
    """A line on two means: whether they are within the bound, and whether their order is known."""
    # All as the reader sees them, so that figures and words agree.
    near = "yes" if is_near(mean) else "no"
    if half is None:
        return row(words, points(mean), "not determined", near, "not determined")
    low, high = round(mean - half, 2), round(mean + half, 2)
    chance = "yes, 0 is in the interval" if low <= 0 <= high else "hardly, 0 is outside"
    return row(words, points(mean), f"{points(low)} to {points(high)}", near, chance)


def differences(results):
    accuracies = {name: accuracies_at(results, name, -1) for name in NAMES}
    pairs = (("rueda-1", "torch"), ("rueda-2", "torch"), ("rueda-2", "rueda-1"))
    lines = [
        row("difference between means", "points", "95 % interval", f"within {BOUND} points", "can chance explain it"),
        "|---|---:|---:|---|---|",
    ]
    for one, other in pairs:
        found = difference(accuracies[one], accuracies[other])
        lines.append(verdict(f"{NAMES[one]}, less {NAMES[other]}", *found))
    return "\n".join(lines)


def by_epoch(results):
    """Means over the seeds after every epoch."""
    counts = range(1, len(next(iter(results.values()))["accuracies"]) + 1)
    lines = [row("epoch", *NAMES.values()), "|---|---:|---:|---:|"]
    for epoch in counts:
        cells = [percent(fmean(accuracies_at(results, name, epoch))) for name in NAMES]
        lines.append(row(str(epoch), *cells))
    return "\n".join(lines)


def beginning(results):
    """Whether rueda on one rank and PyTorch began with the same weights and images, by the losses of their first
    step."""
    pairs = zip(of_contestant(results, "rueda-1"), of_contestant(results, "torch"))
    worst = max(abs(ours["losses"][0] / theirs["losses"][0] - 1) for ours, theirs in pairs)
    figure = f"The first step's loss of rueda on 1 rank differs from PyTorch's by {worst:.1e} of it at most"
    if worst <= ALIKE:
        return f"{figure}: weights and images were the same."
    return f"{figure}. Weights or images were not the same, so the table compares nothing."


def versions(results):
    known = {name: text for one in results.values() for name, text in one["versions"].items()}
    return ", ".join(f"{name} {text}" for name, text in known.items())


def as_markdown(results):
    """results: (seed, contestant) to accuracies after each epoch, losses of each step, and versions."""
    parts = (versions(results), table(results), differences(results), by_epoch(results), beginning(results))
    return "\n\n".join(parts)
