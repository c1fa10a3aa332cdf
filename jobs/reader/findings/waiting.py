"""What the exposed all-reduce is: waiting for later ranks, which other parts may end, or transfer and adding, which
another sum may shorten."""

import math

from ..base.text import counted
from ..runs.run import batches_of, steady_epochs
from ..study.causes import costliest, is_determined, loss_parts
from ..study.conclude import NOTHING_LOST
from .balance import would_balance
from .finding import Finding, percent

_WORTH_NAMING = 0.05  # of the loss
_MOST = 0.5  # of the exposed all-reduce
_LARGE = 0.1  # of an epoch


def _more_images(run, rank):
    """" (with 7 images, others with 5 to 6)": why it may be late; empty where it has no more than others."""
    images = batches_of(run, steady_epochs(run)[-1])
    own, others = images[rank], images[:rank] + images[rank + 1 :]
    if not others or own <= min(others):
        return ""
    least, most = min(others), max(others)
    return f" (with {counted(own, 'image')}, others with {least if least == most else f'{least} to {most}'})"


def _who_is_late(f, waited):
    """Words and figures, of an epoch in which a rank waited so many seconds on average."""
    late = f.waits.late
    if late is None:
        return " for ranks that came later, in turn.", {"rank": None, "advice": None}
    if late.seconds * f.point.steps < _MOST * waited:
        return " for ranks that came later.", {"rank": None, "advice": None}
    text = (f", above all for rank {late.rank} on {late.host}{_more_images(f.run, late.rank)}, whose steps are "
            f"{1e3 * late.seconds:.1f} ms longer than those of the others.")  # fmt: skip
    advice = "balance" if would_balance(f) else None
    if advice:
        text += " --balance speed would give it fewer images."
    return text, {"rank": late.rank, "host": late.host, "late_seconds": late.seconds, "advice": advice}


def _exposed(base, f):
    """The exposed all-reduce of the loss, if it is sure and worth naming; else None."""
    exposed = next(part for part in loss_parts(base, f) if part.key == "all_reduce")
    return exposed.seconds if exposed.seconds > max(exposed.margin, _WORTH_NAMING * f.losses.lost) else None


def what_waits(series, f):
    base, loss = series.points[0], f.losses
    if loss is None or not f.epoch_view.efficiency.value < NOTHING_LOST or not is_determined(base, f):
        return None
    exposed = _exposed(base, f)
    if exposed is None or not math.isfinite(loss.waiting):
        return None
    transfer = exposed - loss.waiting
    figures = {"ranks": f.ranks(), "exposed_seconds": exposed, "waiting_seconds": loss.waiting,
               "transfer_seconds": transfer}
    if loss.waiting >= _MOST * exposed and costliest(base, f) != "transfer":
        words, late = _who_is_late(f, loss.waiting)
        text = f"Most of the exposed all-reduce ({percent(loss.waiting / exposed)}) is waiting{words}"
        return Finding(series.series.label, "waiting", text, {**figures, **late})
    if transfer > _LARGE * f.point.epoch.value and f.run.options.get("all-reduce") != "auto":
        text = ("Transfer and adding of the exposed all-reduce take "
                f"{percent(transfer / f.point.epoch.value)} of an epoch: --all-reduce auto takes the sum that should "
                "be fastest here.")  # fmt: skip
        return Finding(series.series.label, "transfer", text, {**figures, "advice": "auto"})
    return None
