"""From the steps and epochs of one training of jobs/check/learning.py to examples until a target."""

import math

WIDTH = 0.14
"""A mean loss is taken over the steps from k (1 - WIDTH) to k (1 + WIDTH): as wide, in proportion, for every batch."""
STEPS, GROWTH = 8, 1.25
"""A block has so many steps with a measured noise scale, and ends at so many times the images of the last one."""


def examples_to_loss(losses, batch, target):
    """Images that were trained on before the mean training loss first came down to the target; None if it did not.
    losses: of every step, each before its update."""
    total = [0.0]
    for loss in losses:
        total.append(total[-1] + loss)
    for step in range(2, len(losses) + 1):
        reach = round(WIDTH * step)
        first, last = step - reach, step + reach
        if last > len(losses):
            return None
        if not total[last] - total[first - 1] > target * (last - first + 1):  # NaN is no loss below the target
            return None if math.isnan(total[last]) else (step - 1) * batch
    return None


def examples_to_accuracy(evaluations, target):
    """Images until the test accuracy first reached the target, by logarithms between two evaluations; None if it did
    not, or if the first evaluation was above. evaluations: [(images, accuracy)] in order."""
    before = None
    for images, accuracy in evaluations:
        if accuracy >= target:
            if before is None:
                return None
            share = (target - before[1]) / (accuracy - before[1])
            return before[0] * (images / before[0]) ** share
        before = images, accuracy
    return None


def noise_by_steps(rows, data_images):
    """[(images at the end of a block of steps, {"scale": noise scale})], from the rows of steps.csv (docs/metrics.md
    has the formulas). Blocks grow with the images, because the noise scale of the first steps grows fast."""
    blocks, images, begin, steps, variance, length = [], 0, 0, 0, 0.0, 0.0
    for row in rows:
        batch = int(row["global_samples"])
        images += batch
        if not row.get("part_norm2") or int(row["parts"]) < 2:
            continue
        square = float(row["gradient_norm2"])
        of_step = (float(row["part_norm2"]) - square) * batch / (int(row["parts"]) - 1)
        variance += of_step
        length += square - of_step * (1 / batch - 1 / data_images)
        steps += 1
        if steps >= STEPS and images >= GROWTH * begin and length > 0:
            blocks.append((images, {"scale": variance / length}))
            begin, steps, variance, length = images, 0, 0.0, 0.0
    return blocks


def goal_words(goal):
    kind, target = goal
    return f"training loss {target:g}" if kind == "loss" else f"test accuracy {100 * target:g} %"


def examples_to(found, goal):
    """found: losses, evaluations and batch of a training; goal: ("loss" or "accuracy", target)."""
    kind, target = goal
    if kind == "loss":
        return examples_to_loss(found["losses"], found["batch"], target)
    return examples_to_accuracy(found["evaluations"], target)
