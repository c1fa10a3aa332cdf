"""Observations sorted into series, and what more ranks gained in each."""

import enum
import math
from dataclasses import dataclass, field

from ..base.estimate import Estimate, exactly, per
from ..base.statistics import quotient
from ..base.text import added_to_list
from .observation import Processor, Subject, images_key, merged


class Scaling(enum.Enum):
    """What stays the same while P grows."""

    weak = "weak"  # images per rank and step; an epoch has fewer steps
    strong = "strong"  # the global batch; every step has less for each rank
    single = "single"  # only one P was run


@dataclass
class Series(Subject):
    """One model on one kind of machine, P ascending: a line in a plot. A point is an Observation: all repeats of one
    configuration."""

    id: str = ""  # for programs: unique in a report
    label: str = ""  # for people: "resnet18, 128 per rank"
    scaling: Scaling = Scaling.single
    batch: int = 0  # per rank (weak) or global (strong, single)
    points: list = field(default_factory=list)


@dataclass
class Speedup:
    """What P ranks gained over the fewest that were run, P0 (1 where there is such a run), which count as P0.
    Efficiency is S / P. Unknown in a series of one P, which has no base."""

    speedup: Estimate = Estimate()
    efficiency: Estimate = Estimate()


def _series_of(members, scaling, batch):
    configurations = {}
    for seen in members:
        configurations.setdefault((seen.ranks, seen.hosts, seen.global_batch), []).append(seen)
    points = [merged(configurations[key]) for key in sorted(configurations)]
    subject = next((seen for seen in members if None not in seen.by_rank), members[0]).subject()
    return Series(*subject, scaling=scaling, batch=batch, points=points)


def _scaling_series(members):
    """The weak and strong series of equal subjects and images."""
    found = []
    for scaling, batch_name in ((Scaling.weak, "rank_batch"), (Scaling.strong, "global_batch")):
        groups = {}
        for seen in members:
            groups.setdefault(getattr(seen, batch_name), []).append(seen)
        found += [(groups[batch], scaling, batch) for batch in sorted(groups)
                  if batch != 0 and len({seen.ranks for seen in groups[batch]}) > 1]
    return found


def _single_series(members):
    alone = {}
    for seen in members:
        alone.setdefault((seen.ranks, seen.global_batch), []).append(seen)
    return [_series_of(alone[key], Scaling.single, key[1]) for key in sorted(alone)]


def _fits(seen, by_rank):
    return all(own is None or own == other for own, other in zip(seen.by_rank, by_rank))


def _series_of_kind(members):
    """The series of equal subjects and images. Ranks that are unequal in other ways make series of their own, and a run
    on one rank serves all of these."""
    several = dict.fromkeys(seen.by_rank for seen in members if None not in seen.by_rank)
    groups = [[seen for seen in members if _fits(seen, by_rank)] for by_rank in several] or [members]
    all_series, placed = [], set()
    for group in groups:
        found = _scaling_series(group)
        all_series += [_series_of(*one) for one in found]
        own = {id(seen) for one in found for seen in one[0]}
        placed |= own
        all_series += _single_series([seen for seen in group if id(seen) not in own and None not in seen.by_rank])
    return all_series + _single_series([seen for seen in members if id(seen) not in placed and None in seen.by_rank])


def _images_text(images):
    """A log may not say how many."""
    return f"{images:.0f} images" if math.isfinite(images) else "images unknown"


def _name_sums(series):
    """Puts how several ranks summed gradients in the place of the option, which may be auto."""
    names = sorted({run.all_reduce for point in series.points for run in point.runs
                    if run.world_size() > 1 and run.all_reduce})
    if not names:
        return
    sums, words = " and ".join(names), series.variant.split(", ")
    option = next((word for word in words if word.startswith("all-reduce ")), None)
    if option is None:
        series.variant = added_to_list(series.variant, sums)
    else:
        series.variant = ", ".join(sums if word == option else word for word in words)


def _label(series, several_processors, several_sizes, several_images):
    whose = "per rank" if series.scaling is Scaling.weak else "global"
    label = f"{series.model}, {series.batch} {whose}"
    if series.variant:
        label += f", {series.variant}"
    if several_processors or series.processor is Processor.timed:
        label += f", {series.processor.value}"
    label += series.source_remark()
    if series.scaling is Scaling.single:
        label += f", P = {series.points[0].ranks}"
    if several_sizes:
        label += f", {series.image_size} pixels"
    if several_images:
        label += f", {_images_text(series.points[0].images)}"
    return label


def _name_all(all_series):
    """Names the sums, and else only what differs somewhere in the study."""
    processors = {series.processor for series in all_series}
    images = {_images_text(series.points[0].images) for series in all_series}
    sizes = {}
    for series in all_series:
        sizes.setdefault(series.model, set()).add(series.image_size)
    for number, series in enumerate(all_series, 1):
        _name_sums(series)
        series.label = _label(series, len(processors) > 1, len(sizes[series.model]) > 1, len(images) > 1)
        series.id = f"s{number}"


def make_series(observations):
    """Sorts observations into series. A run belongs to the weak series of its rank batch and to the strong one of its
    global batch, so a P = 1 run may serve both; a series needs two values of P, and runs that then belong to none form
    series of one point. A series has one subject and one number of images."""
    kinds = {}
    for seen in observations:
        kinds.setdefault((seen.plain_subject(), images_key(seen)), []).append(seen)
    all_series = [series for members in kinds.values() for series in _series_of_kind(members)]
    _name_all(all_series)
    return all_series


def _speedup_of(faster, base, point, images):
    """Of a point that is `faster` by so much, with so many times the images of the base in a step."""
    gain = exactly(float(base.ranks)) if point is base else faster * (images * base.ranks)
    return Speedup(gain, gain * (1 / point.ranks))


def epoch_speedup(series, point, time="epoch"):
    """S = P0 T(P0) / T(P) from epoch times T, as measured or as printed ("printed_epoch")."""
    if series.scaling is Scaling.single:
        return Speedup()
    base = series.points[0]
    return _speedup_of(getattr(base, time) / getattr(point, time), base, point, 1)


def step_speedup(series, point):
    """S = P0 (B(P) / t(P)) / (B(P0) / t(P0)) from full steps t and global batches B."""
    if series.scaling is Scaling.single:
        return Speedup()
    base = series.points[0]
    images = quotient(point.global_batch, base.global_batch)
    return _speedup_of(base.full_step / point.full_step, base, point, images)


def _least_squares_fraction(series, figure):
    """The s that minimises the squares of (T / T(1) - 1/P) - s (1 - 1/P), from one of the three figures of each ratio
    of times. NaN without a point."""
    base, above, below = series.points[0], 0.0, 0.0
    for point in series.points:
        if point.oversubscribed or point.ranks == base.ranks or not point.epoch.known:
            continue
        ranks = point.ranks / base.ranks
        x = 1 - 1 / ranks
        above += x * (getattr(point.epoch / base.epoch, figure) - 1 / ranks)
        below += x * x
    return quotient(above, below)


def amdahl_fraction(series):
    """The serial fraction s of Amdahl's law, T(P) / T(1) = s + (1 - s) / P (Amdahl, AFIPS 1967), by least squares over
    the epoch times of a series; P counts from the series' fewest ranks. The interval is that of the fits to the
    extremes: all T(P) high with T(1) low, and the other way round. Without oversubscribed points; None if fewer than
    two are left. A value below 0 is superlinear speedup."""
    fit = Estimate(*(_least_squares_fraction(series, figure) for figure in ("value", "low", "high")))
    return None if series.points[0].oversubscribed or math.isnan(fit.value) else fit


def amdahl_limit(series, fraction):
    """The speedup that Amdahl's law leaves for any P: P0 / s, because P0 ranks count as P0."""
    return per(float(series.points[0].ranks), fraction)


def most_speedup(series):
    """The largest that was measured, of the points of amdahl_fraction. One above amdahl_limit says that the law does
    not fit."""
    speedups = [epoch_speedup(series, point).speedup for point in series.points if not point.oversubscribed]
    return max([0.0] + [speedup.value for speedup in speedups if speedup.known])


def karp_flatt(speedup, ranks):
    """Serial fraction that one measured speedup S on `ranks` implies: (1/S - 1/P) / (1 - 1/P) (Karp and Flatt, CACM
    33(5), 1990). One that grows with P is overhead, not serial work. NaN for P = 1."""
    return (quotient(1, speedup) - 1 / ranks) / (1 - 1 / ranks) if ranks > 1 else math.nan


def gustafson_fraction(scaled_speedup, ranks):
    """Share of a step on P ranks that would not have been faster on more (Gustafson, CACM 31(5), 1988): from the scaled
    speedup S = P - s (P - 1), s = (P - S) / (P - 1). NaN for P = 1."""
    return (ranks - scaled_speedup) / (ranks - 1) if ranks > 1 else math.nan
