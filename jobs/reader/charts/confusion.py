"""The confusion matrix of an evaluation. Shades are shares of the class, numbers are images."""

from .chart import Chart
from .report import text
from .style import is_drawn, plain

_MOST_NUMBERS = 20  # classes whose cells hold a number that can be read
_MOST_NAMES = 40  # classes of which each has its name at the axes
_FEWER_NAMES = 25
_LETTERS = 24  # of a name
_WORST = 3  # mistakes that the remark lists
_HEIGHT = 7.4  # inches


def names_of(evaluation):
    """Of the classes, short."""
    names = [text(one.get("name")) or f"class {i}" for i, one in enumerate(evaluation["classes"])]
    return [name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…" for name in names]


def accuracy_text(evaluation):
    """"accuracy 85.30 % of 10,000 test images"."""
    return f"accuracy {100 * evaluation['val_accuracy']:.2f} % of {evaluation['val_samples']:,} test images"


def mistakes(evaluation):
    """[(images, class, taken for)] of the cells beside the diagonal, the most frequent first."""
    cells = [
        (count, row, column)
        for row, line in enumerate(evaluation["confusion"])
        for column, count in enumerate(line)
        if row != column and count
    ]
    return sorted(cells, key=lambda cell: (-cell[0], *cell[1:]))


def _shares(counts):
    return [[count / max(1, sum(row)) for count in row] for row in counts]


def draw(axes, evaluation):
    counts, shares = evaluation["confusion"], _shares(evaluation["confusion"])
    names = [plain(name) if is_drawn(name) else f"class {i}" for i, name in enumerate(names_of(evaluation))]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    size = 9 if len(names) <= _MOST_NUMBERS else 7
    for row, line in enumerate(counts if len(names) <= _MOST_NUMBERS else ()):
        for column, count in enumerate(line):
            colour = "#222222" if count else "#aaaaaa"
            if shares[row][column] > 0.5:
                colour = "white"
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=size)
    every = 1 if len(names) <= _MOST_NAMES else -(-len(names) // _FEWER_NAMES)
    named = range(0, len(names), every)
    axes.set_xticks(named, [names[i] for i in named], rotation=40, ha="right", rotation_mode="anchor", fontsize=size)
    axes.set_yticks(named, [names[i] for i in named], fontsize=size)
    axes.tick_params(length=2 if every > 1 else 0)
    axes.set_xlabel("predicted class")
    axes.set_ylabel("class")
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _remarks(evaluation):
    names = names_of(evaluation)
    images = [one["images"] for one in evaluation["classes"]]
    worst = [
        f"{names[row]} taken for {names[column]} ({count:,} of {images[row]:,})"
        for count, row, column in mistakes(evaluation)[:_WORST]
    ]
    remarks = ["The stronger the colour of a cell, the larger its share of the class."]
    return remarks + [f"Most frequent mistakes: {'; '.join(worst)}."] * bool(worst)


def _rows(evaluation):
    names = names_of(evaluation)
    for name, one, line in zip(names, evaluation["classes"], evaluation["confusion"]):
        others = [(count, names[i]) for i, count in enumerate(line) if count and names[i] != name]
        most = max(others, key=lambda other: other[0], default=None)
        yield [name, f"{one['images']:,}", f"{one['correct']:,}", f"{most[1]} ({most[0]:,})" if most else "-"]


def chart(name, title, evaluation, series=()):
    """The chart of what `rueda evaluate` wrote, which it keeps as `evaluation`."""
    made = Chart(
        name, f"{title}: {accuracy_text(evaluation)}", "Evaluation", lambda axes: draw(axes, evaluation),
        ["class", "images", "correct", "most often taken for"], list(_rows(evaluation)), _remarks(evaluation),
        height=_HEIGHT, series=series, topics=("confusion",),
    )  # fmt: skip
    made.evaluation = evaluation
    return made
