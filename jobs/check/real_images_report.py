"""From the test accuracies of jobs/check/real_images.py to its table, its sentences and its picture."""

import sys
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

NAMES = {"rueda-1": "rueda, 1 rank", "rueda-2": "rueda, 2 ranks", "torch": "PyTorch"}
BOUND = 0.3  # points between means
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


def verdict(words, mean, half):
    """One sentence on two means: whether they are within the bound, and whether their order is known."""
    # All as the reader sees them, so that figures and sentence agree.
    near = abs(round(mean, 2)) <= BOUND
    where = f"{'within' if near else 'more than'} {BOUND} points{'' if near else ' apart'}"
    figure = f"{words}: {points(mean)} points"
    if half is None:
        return f"- {figure}; {where}. The interval is not determined."
    low, high = round(mean - half, 2), round(mean + half, 2)
    interval = f"95 % interval {points(low)} to {points(high)}"
    if low <= 0 <= high:
        return f"- {figure} ({interval}); {where}. The interval contains 0: chance alone can explain this."
    return f"- {figure} ({interval}); {where}. The interval excludes 0: chance alone would rarely do this."


def sentences(results):
    accuracies = {name: accuracies_at(results, name, -1) for name in NAMES}
    pairs = (("rueda-1", "torch"), ("rueda-2", "torch"), ("rueda-2", "rueda-1"))
    return "\n".join(
        verdict(f"{NAMES[one]}, less {NAMES[other]}", *difference(accuracies[one], accuracies[other]))
        for one, other in pairs
    )


def by_epoch(results):
    """Means over the seeds after every epoch."""
    counts = range(1, len(next(iter(results.values()))["accuracies"]) + 1)
    lines = [row("epoch", *NAMES.values()), "|---|---:|---:|---:|"]
    for epoch in counts:
        cells = [percent(fmean(accuracies_at(results, name, epoch))) for name in NAMES]
        lines.append(row(str(epoch), *cells))
    return "\n".join(lines)


def versions(results):
    known = {name: text for one in results.values() for name, text in one["versions"].items()}
    return ", ".join(f"{name} {text}" for name, text in known.items())


def as_markdown(results):
    """results: (seed, contestant) to accuracies after each epoch, losses of each step, and versions."""
    parts = (versions(results), table(results), sentences(results), by_epoch(results))
    return "\n\n".join(parts)


def smoothed(losses, steps_per_epoch):
    """Means over tenths of an epoch, each at the middle of its steps: [(epochs, loss)]."""
    size = max(1, steps_per_epoch // 10)
    parts = [losses[first : first + size] for first in range(0, len(losses), size)]
    return [((i * size + len(part) / 2) / steps_per_epoch, fmean(part)) for i, part in enumerate(parts)]


def draw_losses(axes, trainings, look):
    """The mean over the seeds."""
    steps = len(trainings[0]["losses"]) // len(trainings[0]["accuracies"])
    lines = [smoothed(one["losses"], steps) for one in trainings]
    means = [(at[0][0], fmean(loss for _, loss in at)) for at in zip(*lines)]
    axes.plot(*zip(*means), color=look.colour, linestyle=look.dash, linewidth=1.8)
    axes.set_ylabel("training loss (log scale)")
    axes.set_yscale("log")


def draw_accuracies(axes, trainings, look, words, place):
    """A marker for each seed and a line through means. Contestants stand a little aside of each other (`place`)."""
    epochs = range(1, len(trainings[0]["accuracies"]) + 1)
    shift = 0.025 * len(epochs) * place
    columns = [[100 * one["accuracies"][epoch - 1] for one in trainings] for epoch in epochs]
    axes.plot(epochs, list(map(fmean, columns)), color=look.colour, linestyle=look.dash, linewidth=1.4)
    for epoch, values in zip(epochs, columns):
        axes.plot(len(values) * [epoch + shift], values, color=look.colour, marker=look.marker, linestyle="")
    axes.plot([], [], color=look.colour, marker=look.marker, linestyle=look.dash, label=words)
    axes.set_ylabel("test accuracy, %")


def draw(results, picture):
    """Training loss and test accuracy over the epochs; needs matplotlib."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import matplotlib
    from matplotlib import pyplot
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
    from plotting.chart import horizontal_grid
    from plotting.files import save_figure
    from plotting.style import settings, style_at

    with matplotlib.rc_context(settings(12)):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6))
        for i, (name, words) in enumerate(NAMES.items()):
            trainings = of_contestant(results, name)
            draw_losses(left, trainings, style_at(i))
            draw_accuracies(right, trainings, style_at(i), words, i - 1)
        left.yaxis.set_major_locator(FixedLocator([0.05, 0.1, 0.2, 0.3, 0.5, 1, 2]))
        left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        left.yaxis.set_minor_locator(NullLocator())
        for axes in (left, right):
            axes.set_xlabel("epoch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            horizontal_grid(axes)
        right.legend(loc="lower right")
        figure.tight_layout()
        save_figure(figure, picture, dpi=150)
