"""What --balance speed would bring where the ranks are not ready at the same time."""

from ..runs.run import balance_of
from ..study.conclude import may_conclude
from ..study.shares import shares_to_change
from .finding import Finding, percent


def _images_text(images):
    """"43, 21"; of many ranks "20 to 43"."""
    if len(images) <= 8:
        return ", ".join(map(str, images))
    return f"{min(images)} to {max(images)}"


def _subject(run, shares):
    """Parts that somebody gave are no slow ranks."""
    given = f"With the parts of --balance {balance_of(run)}, {_images_text(shares.images)} images, the slowest"
    if not shares.given:
        return "The ranks are not equally fast: the slowest"
    return f"The ranks are not equally fast, either. {given}" if shares.ranks_differ else given


def _then_text(shares):
    then, gain = shares.then, shares.gain()
    if then.determined:
        return f"about {1e3 * then.value:.1f} ms ({percent(gain.value)} less)"
    return f"{1e3 * then.value:.1f} ms at best ({percent(gain.value)} less; {then.why})"


def _shares(f):
    """RankShares of the run that stands for the repeats; None unless the parts of all repeats would change by the
    trainer's own rule (docs/why-not-scaling.md), and the runs may conclude. That rule asks for a gain of 5 %, as single
    runs have to show."""
    if f.run is None or not may_conclude(f.point):
        return None
    shares = shares_to_change(f.point.runs)
    return None if None in shares else shares[0]


def would_balance(f):
    """Whether --balance speed would change the parts of a point."""
    return _shares(f) is not None


def what_balance_would_bring(series, f):
    shares = _shares(f)
    if shares is None:
        return None
    seconds = [cost.seconds(images) for cost, images in zip(shares.costs, shares.images)]
    slowest = seconds.index(max(seconds))
    host = f.run.ranks[slowest].host
    text = (f"{_subject(f.run, shares)} of {f.ranks()}, rank {slowest} on {host}, computes a step in "
            f"{1e3 * shares.now:.1f} ms. With --balance speed all would be ready after {_then_text(shares)}, with "
            f"{_images_text(shares.by_speed)} images in place of {_images_text(shares.images)}.")  # fmt: skip
    figures = {"ranks": f.ranks(), "slowest": slowest, "host": host, "seconds": shares.now,
               "balanced_seconds": shares.then,
               "images": shares.images, "balanced_images": shares.by_speed, "given": shares.given,
               "ranks_differ": shares.ranks_differ}  # fmt: skip
    return Finding(series.series.label, "balance", text, figures)
