"""One processor against another at P = 1: acceleration, not scaling."""

from ..study.observation import merged, same_images
from .point_table import count_cell, high_of, low_of, marks_of
from .table import Field, Table

BOOK_SOURCE = "Torres 2026, ch. 10"
"""Of the observations of the chapter whose figures docs/published.md discusses."""


def _same_processor(a, b):
    return (a.source, a.processor) == (b.source, b.processor)


def _same_work(a, b):
    """Whether the ratio of their times is one of processors."""
    same = (a.model, a.image_size, a.global_batch) == (b.model, b.image_size, b.global_batch)
    return same and same_images(a, b)


def _processor_name(o):
    return f"{o.processor.value} ({o.source}{', ' + o.variant if o.variant else ''})"


def _marks(slow, fast):
    """What limits either of the two."""
    marks = [(name, marks_of(one, ", ")) for name, one in (("slower", slow), ("faster", fast))]
    return "; ".join(f"{name}: {words}" for name, words in marks if words)


def _fields(slow, fast):
    steady, printed = slow.epoch / fast.epoch, slow.printed_epoch / fast.printed_epoch
    return [
        Field("model", "Model", "text", slow.model),
        Field("image_size", "Pixels", "count", count_cell(slow.image_size)),
        Field("batch", "Batch", "count", count_cell(slow.global_batch)),
        Field("slower", "Slower", "text", _processor_name(slow)),
        Field("faster", "Faster", "text", _processor_name(fast)),
        Field("first_slower_s", "First epoch, slower (s)", "seconds", slow.first_epoch),
        Field("first_faster_s", "First epoch, faster (s)", "seconds", fast.first_epoch),
        Field("first_ratio", "Ratio of first epochs", "ratio", slow.first_epoch / fast.first_epoch),
        Field("steady_slower_s", "Steady epoch, slower (s)", "seconds", slow.epoch),
        Field("steady_faster_s", "Steady epoch, faster (s)", "seconds", fast.epoch),
        Field("steady_ratio", "Ratio of steady epochs", "ratio", steady),
        Field("steady_ratio_low", "at least", "ratio", low_of(steady)),
        Field("steady_ratio_high", "at most", "ratio", high_of(steady)),
        Field("printed_ratio", "Ratio as printed", "ratio", printed),
        Field("printed_ratio_low", "at least", "ratio", low_of(printed)),
        Field("printed_ratio_high", "at most", "ratio", high_of(printed)),
        Field("marks", "Marks", "text", _marks(slow, fast)),
    ]


def _group(groups, member, is_same):
    """Into the first of `groups` whose first member is alike, else into a new one."""
    for group in groups:
        if is_same(group[0], member):
            group.append(member)
            return
    groups.append([member])


def _same_machine(a, b):
    return _same_processor(a, b) and a.variant == b.variant


def _pairs(work):
    """Every two processors that did the same work, the slower one first, each as its repeats merged."""
    machines = []
    for seen in work:
        _group(machines, seen, _same_machine)
    ordered = sorted(map(merged, machines), key=lambda one: -one.epoch.value)
    return [(slow, fast) for at, slow in enumerate(ordered)
            for fast in ordered[at + 1 :] if not _same_processor(slow, fast)]


_NOTES = (
    "One processor or GPU each (P = 1), the same model, images and batch: this is acceleration by other hardware, not "
    "scaling.",
    "Ratio = time of the slower / time of the faster. At least and at most: what repeats or rounding leave.",
    "As printed: from the rounded seconds of an epoch in a log; the ratio before uses the printed time per step, too, "
    "where there is one.",
)
_BOOK_NOTE = (
    f'The "nearly 10x" of {BOOK_SOURCE} is 220 s / 24 s of first epochs; steady it is 215 s / 14 s = 15.4, and 15.0 '
    "with the 73 ms per step that the same log prints."
)


def acceleration_table(observations):
    """A row for every two sources or kinds of processor that trained the same model, image size, batch and number of
    images. Ratios of first and of steady epochs with what rounding leaves, and those of steady epochs as a log prints
    them. No rows where there is no such pair."""
    works = []
    for seen in observations:
        if seen.ranks == 1 and seen.global_batch:
            _group(works, seen, _same_work)
    table = Table("acceleration", "Acceleration: one processor against another", notes=_NOTES)
    for work in works:
        for slow, fast in _pairs(work):
            table.add_fields(_fields(slow, fast))
    if any(o.source == BOOK_SOURCE and o.ranks == 1 for o in observations):
        table.notes.append(_BOOK_NOTE)
    return table
