"""The elements of `epochs` and the object `summary` of a run.json."""

import math
from dataclasses import dataclass, field

from ..base.definitions import PHASES
from ..base.statistics import Spread, quotient
from .noise import read_noise


def _no_phases():
    return {name: Spread() for name in PHASES}


@dataclass
class Score:
    """Loss and accuracy over a whole split, all ranks, exact sample count."""

    loss: float = 0.0
    accuracy: float = 0.0
    samples: int = 0
    seconds: float = 0.0


@dataclass
class Energy:
    """Joules, and the images that were trained on with them."""

    gpus: float = math.nan
    hosts: float = math.nan
    images: float = 0.0

    def total(self):
        """Of what is known; `includes` names it."""
        if math.isnan(self.hosts):
            return self.gpus
        return self.hosts + (0 if math.isnan(self.gpus) else self.gpus)

    def includes(self):
        if math.isnan(self.hosts):
            return "nothing" if math.isnan(self.gpus) else "GPUs"
        return "hosts" if math.isnan(self.gpus) else "GPUs and hosts"


@dataclass
class EfficiencySeconds:
    """Seconds of an epoch from which the factors of its parallel efficiency follow (docs/metrics.md, "Efficiency")."""

    useful_mean: float = math.nan  # in steps without the phase all_reduce, mean over ranks
    useful_max: float = math.nan  # on the rank with most of it
    ideal_network: float = math.nan  # that the same steps take where messages take no time
    seconds: float = math.nan  # barrier to barrier

    def load_balance(self):
        return quotient(self.useful_mean, self.useful_max)

    def serialisation(self):
        return quotient(self.useful_max, self.ideal_network)

    def transfer(self):
        return quotient(self.ideal_network, self.seconds)

    def communication(self):
        return quotient(self.useful_max, self.seconds)

    def parallel(self):
        return quotient(self.useful_mean, self.seconds)

    def mean_with(self, other):
        return EfficiencySeconds(*((own + its) / 2 for own, its in zip(vars(self).values(), vars(other).values())))


@dataclass
class BucketFigures:
    """One bucket of gradients, over steps and ranks."""

    bytes: float = math.nan
    busy: Spread = field(default_factory=Spread)  # in the all-reduce
    wait: Spread = field(default_factory=Spread)  # of this, for later ranks
    transfer: Spread = field(default_factory=Spread)
    add: Spread = field(default_factory=Spread)


@dataclass
class StepBreakdown:
    """Seconds per step of one kind. Spreads are over ranks, of the rank's mean over steps; `slowest` is over steps, of
    the slowest rank's seconds. `steps` is 0 if there was none."""

    steps: int = 0
    phases: dict = field(default_factory=_no_phases)
    step: Spread = field(default_factory=Spread)
    busy: Spread = field(default_factory=Spread)  # inside the all-reduce, hidden or not
    wait: Spread = field(default_factory=Spread)  # of the busy time, waiting for later ranks
    transfer: Spread = field(default_factory=Spread)  # of the busy time, the rest: messages
    add: Spread = field(default_factory=Spread)  # of the busy time, adding
    slowest: Spread = field(default_factory=Spread)


@dataclass
class AllSteps(StepBreakdown):
    """Steps of both kinds together, and what they summed."""

    prepare: Spread = field(default_factory=Spread)  # of host threads preparing batches
    copy: Spread = field(default_factory=Spread)  # of copying batches to the device
    copy_bytes: Spread = field(default_factory=Spread)
    slowest_busy: float = math.nan
    bytes: float = math.nan  # summed in a step
    algbw: float = math.nan  # GB/s, of the slowest rank's busy time
    busbw: float = math.nan
    buckets: list = field(default_factory=list)


@dataclass
class RankFigures:
    """Sums over the steps of one rank in one epoch. Its phases add up to `seconds`."""

    rank: int = 0
    seconds: float = math.nan
    samples: int = 0
    phases: dict = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    busy: float = math.nan
    wait: float = math.nan
    add: float = math.nan
    prepare: float = math.nan
    copy: float = math.nan
    copy_bytes: float = math.nan
    core_share: float = math.nan  # of the time of its cores that it got
    full_step: Spread = field(default_factory=Spread)  # seconds of its full steps
    full_compute: Spread = field(default_factory=Spread)  # the same without what it waited for the all-reduce
    batch: int = 0  # its images of a full step; 0: not told by rank


@dataclass
class EpochFigures:
    """One finished epoch."""

    epoch: int = 0  # from 1
    steps: int = 0
    ranks: int = 0
    rank_batches: list = field(default_factory=list)  # images of each rank in a full step
    train: Score = field(default_factory=Score)  # running score of the epoch's own steps
    test: Score = None
    learning_rate: float = math.nan  # in its last step
    seconds: float = math.nan  # training steps only, barrier to barrier, slowest rank
    images_per_second: float = math.nan
    parameter_hash: str = ""
    resumed_at_step: int = None  # the steps that an earlier process took of it
    energy: Energy = field(default_factory=Energy)
    efficiency: EfficiencySeconds = field(default_factory=EfficiencySeconds)
    noise: object = None  # GradientNoise, where it was measured
    phases: dict = field(default_factory=_no_phases)  # sums over all its steps, over ranks
    full_step: StepBreakdown = field(default_factory=StepBreakdown)
    partial_step: StepBreakdown = field(default_factory=StepBreakdown)
    all_steps: AllSteps = field(default_factory=AllSteps)
    of_ranks: list = field(default_factory=list)  # or a sequence that reads them from ranks.csv
    least_core_share: float = math.nan  # of all ranks; NaN where it is unknown, or of_ranks tells it


@dataclass
class RunSummary:
    """"Steady" is of the steady state, or of the first epoch where it is the only one."""

    outcome: str = ""
    failure: str = ""
    diverged: bool = False
    epochs: int = 0
    epoch_seconds: float = math.nan
    images_per_second: float = math.nan
    includes_warm_up: bool = False
    full_step: StepBreakdown = field(default_factory=StepBreakdown)
    efficiency: EfficiencySeconds = field(default_factory=EfficiencySeconds)
    all_steps: AllSteps = field(default_factory=AllSteps)
    startup_seconds: float = math.nan
    training_seconds: float = math.nan
    total_seconds: float = math.nan
    seconds_to_target: float = None


def range_of(j, name):
    """Over ranks: minimum, mean, maximum."""
    if not j.has(name):
        return Spread()
    part = j.at(name)
    return Spread(min=part.number_if_any("min"), mean=part.number_if_any("mean"), max=part.number_if_any("max"))


def _spread_of(j, name):
    if not j.has(name):
        return Spread()
    part = j.at(name)
    number = part.number_if_any
    return Spread(part.count("count"), number("min"), number("mean"), number("median"), number("p90"), number("max"),
                  number("deviation"))


def _phase_ranges(j):
    part = j.part("phases")
    return {name: range_of(part, name) for name in PHASES}


def _count_if_any(j, name):
    return j.count(name) if j.has(name) else 0


def _read_kind(j, name, slowest):
    """Steps of one kind; of the object around them `slowest` is the spread over steps."""
    kind = StepBreakdown(slowest=_spread_of(j, slowest))
    if not j.has(name):
        return kind
    part = j.at(name)
    kind.steps = part.count("count")
    kind.phases = _phase_ranges(part)
    kind.step = range_of(part, "seconds")
    for attribute in ("busy", "wait", "transfer", "add"):
        setattr(kind, attribute, range_of(part, f"all_reduce_{attribute}"))
    return kind


def _read_bucket(j):
    size = float(j.count("bytes")) if j.has("bytes") else math.nan
    return BucketFigures(size, *(_spread_of(j, name) for name in ("busy", "wait", "transfer", "add")))


def _read_communication(steps, j):
    steps.steps = _count_if_any(j, "steps")
    steps.bytes = float(j.count("bytes_per_step")) if j.has("bytes_per_step") else math.nan
    for attribute in ("busy", "wait", "transfer", "add"):
        setattr(steps, attribute, range_of(j, attribute))
    steps.phases["all_reduce"] = range_of(j, "exposed")
    steps.slowest_busy = j.number_if_any("busy_slowest_rank")
    steps.algbw = j.number_if_any("algbw_GBps")
    steps.busbw = j.number_if_any("busbw_GBps")
    steps.buckets = [_read_bucket(bucket) for bucket in j.items("buckets")]


def _read_input(steps, j):
    if j.has("steps"):
        steps.steps = j.count("steps")
    steps.prepare, steps.copy = range_of(j, "prepare_busy"), range_of(j, "copy_busy")
    steps.phases["load"], steps.phases["copy"] = range_of(j, "prepare_exposed"), range_of(j, "copy_exposed")
    steps.copy_bytes = range_of(j, "copy_bytes")


def _read_all_steps(j, communication, inputs):
    steps = AllSteps()
    if j.has(communication):
        _read_communication(steps, j.at(communication))
    if j.has(inputs):
        _read_input(steps, j.at(inputs))
    return steps


def _read_efficiency(j, name, seconds):
    part = j.part(name)
    return EfficiencySeconds(part.number_if_any("useful_mean"), part.number_if_any("useful_max"),
                             part.number_if_any("ideal_network"), seconds)


def _read_rank(j):
    phases, part = dict.fromkeys(PHASES, 0.0), j.part("phases")
    for name in PHASES:
        if part.has(name):
            phases[name] = part.number(name)
    number = j.number_if_any
    return RankFigures(
        _count_if_any(j, "rank"), number("seconds"), _count_if_any(j, "samples"), phases, number("all_reduce_busy"),
        number("all_reduce_wait"), number("all_reduce_add"), number("prepare_busy"), number("copy_busy"),
        number("copy_bytes"), number("core_share"), _spread_of(j, "full_step_seconds"),
        _spread_of(j, "full_step_compute_seconds"))


def _read_scores(epoch, j):
    epoch.train = Score(j.number_if_any("loss"), j.number_if_any("accuracy"), j.count("samples"), epoch.seconds)
    if j.has("val_loss"):
        epoch.test = Score(j.number_if_any("val_loss"), j.number_if_any("val_accuracy"),
                           _count_if_any(j, "val_samples"), j.number_if_any("val_seconds"))


def read_epoch(j):
    """Reads an element of `epochs`. What versions before did not write stays unknown. Raises Unusable naming the field
    at fault."""
    epoch = EpochFigures(epoch=_count_if_any(j, "epoch"), steps=j.count("steps"), seconds=j.number("seconds"))
    epoch.rank_batches = [one.count() for one in j.items("batch_per_rank")]
    if j.has("resumed_at_step"):
        epoch.resumed_at_step = j.count("resumed_at_step")
    _read_scores(epoch, j)
    epoch.learning_rate = j.number_if_any("learning_rate")
    epoch.images_per_second = j.number_if_any("images_per_second")
    epoch.parameter_hash = j.raw_text("parameter_hash") if j.has("parameter_hash") else ""
    epoch.phases = _phase_ranges(j)
    epoch.full_step = _read_kind(j, "full_step", "full_step_seconds")
    epoch.partial_step = _read_kind(j, "partial_step", "partial_step_seconds")
    epoch.all_steps = _read_all_steps(j, "communication", "input")
    epoch.efficiency = _read_efficiency(j, "efficiency", epoch.seconds)
    epoch.of_ranks = [_read_rank(rank) for rank in j.items("ranks")]
    epoch.ranks = j.positive("world_size") if j.has("world_size") else len(epoch.of_ranks)
    epoch.least_core_share = _spread_of(j.part("over_ranks"), "core_share").min
    energy = j.part("energy")
    epoch.energy = Energy(energy.number_if_any("joules"), energy.number_if_any("host_joules"),
                          float(epoch.train.samples))
    epoch.noise = read_noise(j)
    return epoch


def read_summary(j):
    """Reads the object `summary`, likewise."""
    summary = RunSummary(outcome=j.raw_text("outcome") if j.has("outcome") else "", failure=j.text_if_any("failure"))
    for attribute, name in (("diverged", "diverged"), ("includes_warm_up", "steady_includes_warm_up")):
        if j.has(name):
            setattr(summary, attribute, j.flag(name))
    summary.epochs = _count_if_any(j, "epochs_completed")
    summary.epoch_seconds = j.number_if_any("steady_epoch_seconds")
    summary.images_per_second = j.number_if_any("steady_images_per_second")
    summary.full_step = _read_kind(j, "steady_full_step", "steady_full_step_seconds")
    summary.efficiency = _read_efficiency(j, "steady_efficiency", summary.epoch_seconds)
    summary.all_steps = _read_all_steps(j, "steady_communication", "steady_input")
    for name in ("startup_seconds", "training_seconds", "total_seconds"):
        setattr(summary, name, j.number_if_any(name))
    if j.has("seconds_to_target"):
        summary.seconds_to_target = j.number("seconds_to_target")
    return summary
