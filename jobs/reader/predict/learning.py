"""Equal progress: how long it takes to learn as much as in one epoch of the reference, on other ranks with other
batches."""

from dataclasses import dataclass

from ..base.estimate import Estimate, exactly
from ..base.statistics import each_once, median_of
from ..base.text import count_text
from ..runs.noise import learning_efficiency, steps_worth
from ..runs.run import middle_epoch
from ..study.conclude import SINGLE_RUNS_DIFFER
from ..tables.learning import noise_text, where_from
from ..tables.point_table import range_cell
from ..tables.table import Field, Table
from .tables import within

_DEFINITIONS = (
    "Equal progress: as much as the reference learns in an epoch. For a noise scale n a step of B images teaches "
    "as much as (1 + n/b) / (1 + n/B) steps of b (McCandlish and others, 2018); epochs: how many that takes, steps: in "
    "how many steps.",
    "Learning rates are taken to suit each batch. n grows while a network learns: early on larger batches teach "
    "less than here.",
)  # fmt: skip
_RANGE = "*From, to*: the 90 % intervals of the noise scale and of the epoch together."


def _batch_of(scenario):
    """Images of its first step: those of the epoch where these do not fill a batch."""
    return min(scenario.global_batch, scenario.images)


@dataclass
class Progress:
    """An EpochForecast, and what equal progress takes: Estimates of epochs and of seconds."""

    epoch: object
    epochs: Estimate
    seconds: Estimate

    @property
    def ranks(self):
        return self.epoch.scenario.ranks

    @property
    def batch(self):
        return _batch_of(self.epoch.scenario)

    def rank_hours(self):
        return self.seconds * (self.ranks / 3600)


def progress_of(epoch, reference, scale):
    """The Progress of an EpochForecast to what the scenario `reference` learns in an epoch, by a noise scale in images
    (an Estimate)."""
    batch, base = _batch_of(epoch.scenario), _batch_of(reference)
    steps = steps_worth(scale, base, batch) * (reference.images / base)
    epochs = steps * (batch / epoch.scenario.images)
    return Progress(epoch, epochs, within(epoch.seconds, epoch.plus_minus.epoch) * epochs)


def soonest(rows):
    """{ranks: the Progress that is there first}, ascending; of equal ones the smallest batch."""
    best = {}
    for row in sorted(rows, key=lambda one: (one.ranks, one.batch)):
        if row.ranks not in best or row.seconds.value < best[row.ranks].seconds.value:
            best[row.ranks] = row
    return best


def enough_ranks(best):
    """The fewest ranks of {ranks: Progress} above which none is sooner by more than single runs differ by."""
    for ranks, row in best.items():
        least = min(other.seconds.value for count, other in best.items() if count >= ranks)
        if row.seconds.value <= least * (1 + SINGLE_RUNS_DIFFER):
            return ranks
    raise ValueError("there is no progress")


def watts_of(runs):
    """(watts of a rank, what they include) by the counters of runs; None where these do not tell, or include different
    devices."""
    epochs = [(run, middle_epoch(run)) for run in runs if run.epochs]
    known = [(run, epoch) for run, epoch in epochs if epoch.energy.total() > 0]
    included = each_once(epoch.energy.includes() for _, epoch in known)
    if len(included) != 1:
        return None
    return median_of(epoch.energy.total() / epoch.seconds / run.world_size() for run, epoch in known), included[0]


def _fields(row, one_rank, scale, price, watts):
    hours = row.rank_hours()
    fields = [
        Field("ranks", "P", "count", row.ranks),
        Field("batch_per_rank", "images/rank", "count", row.batch / row.ranks),
        Field("global_batch", "batch", "count", row.batch),
        Field("learning_efficiency", "learning eff., %", "percent", learning_efficiency(scale, row.batch)),
        Field("epochs", "epochs", "ratio", row.epochs),
        Field("steps", "steps", "count", row.epochs * row.epoch.steps()),
        Field("seconds", "equal progress, s", "seconds", row.seconds),
        Field("seconds_range", "from, to", "text", range_cell(row.seconds, "seconds")),
        Field("speedup", "speedup", "ratio", one_rank.seconds.value / row.seconds.value),
        Field("rank_hours", "rank-hours", "gigabytes", hours),
    ]
    if price.per_rank_hour is not None:
        fields.append(Field("cost", "cost", "gigabytes", hours * price.per_rank_hour))
    if watts is not None:
        fields.append(Field("kilowatt_hours", "kWh", "gigabytes", hours * (watts / 1000)))
    return fields


def _setting(row):
    """As the command line takes it."""
    if row.batch % row.ranks:
        return f"--global-batch {row.batch} on P = {count_text(row.ranks)}"
    return f"--batch-per-rank {row.batch // row.ranks} on P = {count_text(row.ranks)} (--global-batch {row.batch})"


def _reason(row, scale, compute):
    """What speaks against a larger batch, and against a smaller one."""
    step, images = row.epoch.full, row.batch / row.ranks
    beside = max(0.0, 1 - (compute.per_image + compute.input_per_image) * images / step.seconds)
    efficiency = learning_efficiency(scale, row.batch).text("percent")
    return (f"learning efficiency is {efficiency} and lower with larger batches; {100 * beside:.1f} % of a step's "
            "time does not depend on its images, and smaller batches pay that more often")  # fmt: skip


def _edge(row, batches):
    """Where the best batch is the smallest or the largest of those that were compared."""
    batch = row.batch / row.ranks
    if len(batches) < 2 or batches[0] < batch < batches[-1]:
        return ""
    if batch == batches[0]:
        return " No smaller batch was run, and one may be better."
    return " No larger batch was run, and one may be better."


def _choice(rows, by_noise, cost):
    """The Progress of least cost, and the text of its setting, with those that it has at both ends of the noise scale's
    interval."""
    best = min(rows, key=cost)
    others = each_once(_setting(min(other, key=cost)) for other in by_noise)
    others = [one for one in others if one != _setting(best)]
    text = _setting(best)
    if others:
        text += f", or {' or '.join(others)}, by the interval of the noise scale"
    return best, text


def _enough_text(rows, by_noise):
    best = soonest(rows)
    counts = sorted({enough_ranks(soonest(other)) for other in by_noise} | {enough_ranks(best)})
    enough, most = enough_ranks(best), max(best)
    if enough == most:
        text = f"More ranks are sooner there up to P = {count_text(most)}, the most in the table."
        if counts[0] < most:
            text += f" By the interval of the noise scale that may end at P = {count_text(counts[0])}."
        return text
    text = f"From P = {count_text(enough)} on"
    if len(counts) > 1:
        text += f" ({count_text(counts[0])} to {count_text(counts[-1])} by the interval of the noise scale)"
    return (f"{text} another rank brings nothing: no larger P in the table is there more than "
            f"{100 * SINGLE_RUNS_DIFFER:.0f} % sooner.")  # fmt: skip


def _advice(rows, by_noise, scale, compute, batches):
    first, first_text = _choice(rows, by_noise, lambda row: row.seconds.value)
    cheapest, cheapest_text = _choice(rows, by_noise, lambda row: row.rank_hours().value)
    return [
        f"Soonest: {first_text}: {first.seconds.text('seconds')}; "
        f"{_reason(first, scale, compute)}.{_edge(first, batches)}",
        f"Lowest cost: {cheapest_text}: {cheapest.rank_hours().value:.3g} rank-hours; "
        f"{_reason(cheapest, scale, compute)}.{_edge(cheapest, batches)}",
        _enough_text(rows, by_noise),
    ]


def _origin(noise, reference):
    """Where noise scale and reference come from."""
    given = f"{where_from(noise)}" if noise.runs else "as given"
    text = f"Noise scale: {noise_text(noise.scale)}, {given}."
    return [text, f"Reference: an epoch on {count_text(reference.ranks)} rank with {count_text(reference.batch)} "
                  f"images in a step, {reference.seconds.text('seconds')}."]  # fmt: skip


def learning_table(rows, one_rank, noise, batches, compute, price, watts, why_not=""):
    """The best batch of each number of ranks. `rows`: the Progress of all ranks and `batches` (images of a rank,
    ascending), of which `one_rank` is the reference; `watts`: (watts of a rank, what they include), or None; `why_not`:
    what holds advice back."""
    table, scale = Table("learning", "Equal progress with the best batch of each P"), noise.scale
    for row in soonest(rows).values():
        table.add_fields(_fields(row, one_rank, scale, price, watts and watts[0]))
    ends = [] if scale.exact else [exactly(scale.low), exactly(scale.high)]
    by_noise = [[progress_of(row.epoch, one_rank.epoch.scenario, end) for row in rows] for end in ends]
    table.notes += [why_not] if why_not else _advice(rows, by_noise, scale, compute, batches)
    table.notes += [*_origin(noise, one_rank), *_DEFINITIONS, _RANGE]
    if watts:
        table.notes.append(f"kWh: {watts[0]:.3g} W a rank ({watts[1]}).")
    return table


def batches_table(rows, batches):
    """Seconds of all ranks and batches (images of a rank); none where there are too many for an epoch."""
    columns = [("ranks", "P", "count"), *((f"seconds_at_{one}", f"{one} images/rank, s", "seconds") for one in batches)]
    table = Table("learning_batches", "Equal progress by images of a rank", columns)
    cells = {(row.ranks, row.batch): row.seconds.value for row in rows}
    for ranks in each_once(row.ranks for row in rows):
        table.add([ranks, *(cells.get((ranks, ranks * one)) for one in batches)])
    return table
