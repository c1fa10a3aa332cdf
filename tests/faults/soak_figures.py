"""What a series of samples says about a long run: slopes, quarters and verdicts."""

import statistics
from dataclasses import dataclass


@dataclass
class Bounds:
    """What still counts as flat, between the first and the last quarter of a run."""

    growth_mb: float = 8.0  # of a rank's resident or device memory
    drift_percent: float = 5.0  # of the median step; told, but no failure: a machine has other work


def slope_per_hour(points):
    """Of the line that is nearest to the (seconds, value)."""
    times, values = zip(*points)
    return 3600 * statistics.linear_regression(times, values).slope if len(set(times)) > 1 else 0.0


def quarters(values):
    """The first and the last quarter, of at least one value each."""
    length = max(1, len(values) // 4)
    return values[:length], values[-length:]


def change(points, of=statistics.median):
    """How a series of (seconds, value) begins, ends and rises."""
    first, last = quarters([value for _, value in points])
    return {"first": of(first), "last": of(last), "per_hour": slope_per_hour(points)}


def rank_figures(samples):
    """Of one rank's samples. Files and threads that come and go are no leak: the least counts."""
    def series(key):
        return [(sample["seconds"], sample[key]) for sample in samples]

    return {
        "samples": len(samples),
        "rss_mb": change(series("rss_mb")),
        "files": change(series("files"), min),
        "threads": change(series("threads"), min),
    }


def machine_figures(samples):
    """Of machine_speed's samples."""
    return {key: change([(sample["seconds"], sample[key]) for sample in samples])
            for key in ("loop_ms", "copy_ms")}


def step_figures(steps):
    """Of (seconds since the first step, seconds of the step); None without enough of them."""
    if len(steps) < 8:
        return None
    points = [(at, 1e3 * taken) for at, taken in steps]
    figures = change(points)
    figures["steps"] = len(steps)
    figures["drift_percent"] = 100 * (figures["last"] / figures["first"] - 1)
    return figures


def verdicts(ranks, devices, steps, bounds):
    """For each subject whether it is flat, and in which words."""
    lines = []

    def say(what, bad, text, fails=True):
        lines.append({"what": what, "flat": not bad, "fails": bad and fails, "text": text})

    for what, unit, group in (("memory", "rss_mb", ranks), ("device memory", "memory_mb", devices)):
        worst = max((one[unit] for one in group), key=lambda f: f["last"] - f["first"], default=None)
        if worst is None:
            continue
        grown = worst["last"] - worst["first"]
        say(what, grown > bounds.growth_mb,
            f"{grown:+.2f} MB between the first and the last quarter (bound {bounds.growth_mb:g}), "
            f"{worst['per_hour']:+.2f} MB/hour")
    for what, key in (("open files", "files"), ("threads", "threads")):
        odd = [one[key] for one in ranks if one[key]["last"] != one[key]["first"]]
        say(what, bool(odd), "constant" if not odd else
            f"{odd[0]['first']} in the first quarter, {odd[0]['last']} in the last")
    if steps is not None:
        drift = steps["drift_percent"]
        say("step time", abs(drift) > bounds.drift_percent,
            f"{drift:+.1f} % between the first and the last quarter (bound {bounds.drift_percent:g})",
            fails=False)
    return lines
