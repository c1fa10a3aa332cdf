"""What is known of a machine and of a network on it, and what is to be predicted. What follows from them, the program
computes (base/ask.py)."""

import math
from dataclasses import dataclass, field, replace


@dataclass
class Given:
    """What is given instead of being fitted. None: fitted."""

    alpha: float = None  # between nodes; s
    bandwidth: float = None  # B/s
    inside_alpha: float = None  # within nodes
    inside_bandwidth: float = None
    add_rate: float = None  # B/s
    step_seconds: float = None  # of a full step of `batch` images on one rank
    fixed: float = None  # t0
    message_noise: float = None
    batch: int = 0  # images of a rank, for `step_seconds`


@dataclass
class Target:
    """The network and the machine that a model is for."""

    model: str = ""  # empty: that of the runs
    image_size: int = 0  # 0: that of the runs
    classes: int = 0  # 0: that of the runs, or 10
    ranks_per_node: int = 0  # 0: ranks are taken to be joined by links of one kind
    links_per_node: int = 1


@dataclass(frozen=True)
class Link:
    """What a message costs: alpha + bytes * beta (R. Hockney: The communication challenge for MPP, Parallel Computing
    20(3), 389-398, 1994)."""

    alpha: float = 0.0  # seconds for each message
    beta: float = 0.0  # seconds for each byte, 1 / bandwidth

    def slowed(self, factor):
        return Link(self.alpha * factor, self.beta * factor)

    def json(self):
        return {"alpha": self.alpha, "beta": self.beta}


@dataclass(frozen=True)
class Machine:
    """Nodes with `ranks_per_node` ranks each, the last node with as many as are left. One level: one rank on each."""

    inside: Link = Link()  # between ranks of a node
    between: Link = Link()  # between nodes
    gamma: float = 0.0  # seconds for each byte that a rank adds
    ranks_per_node: int = 1
    links_per_node: int = 1  # messages of a node's ranks that go out at full speed at the same time

    def slowed(self, factor):
        """Every sum takes so many times as long."""
        return replace(self, inside=self.inside.slowed(factor), between=self.between.slowed(factor),
                       gamma=self.gamma * factor)

    def json(self):
        return {"inside": self.inside.json(), "between": self.between.json(), "gamma": self.gamma,
                "ranks_per_node": self.ranks_per_node, "links_per_node": self.links_per_node}


@dataclass(frozen=True)
class ComputeModel:
    """Where a rank's time goes in a step, but for communication."""

    fixed: float = 0.0  # t0: seconds of forward, loss and backward, whatever the batch
    per_image: float = 0.0  # t1: seconds of these for each image
    backward_share: float = 2 / 3  # of these, backward's
    input_per_image: float = 0.0  # load and copy
    update: float = 0.0  # optimizer and other: seconds of a step

    def slowed(self, factor):
        return ComputeModel(self.fixed * factor, self.per_image * factor, self.backward_share,
                            self.input_per_image * factor, self.update * factor)

    def json(self):
        return vars(self)


@dataclass(frozen=True)
class Noise:
    """How a time varies: values that were measured, or the quantiles of a spread. `factor`: by which every distance
    from the mean is changed. Compared by identity: it may have many values."""

    values: list = None
    spread: dict = None  # min, median, p90, max
    factor: float = 1.0

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def json(self):
        how = {"values": self.values} if self.spread is None else {"spread": self.spread}
        return how if self.factor == 1 else {**how, "spread_by": self.factor}


STILL = Noise([1.0])


@dataclass(frozen=True)
class CostModel:
    """All that is known of a machine and a network on it."""

    compute: ComputeModel = ComputeModel()
    machine: Machine = Machine()
    noise: Noise = STILL  # of a rank's step without waiting, relative to its mean
    message_noise: float = 0.0  # standard deviation of a message relative to its mean
    rank_factors: tuple = None  # times of ranks that are not equally fast; (): alike; None: not known
    shares_by_speed: bool = False  # whether ranks have parts of a batch by their speed


@dataclass(frozen=True)
class Schedule:
    """The buckets of gradients of a network: as a run had them, by their bytes, or as training cuts them, by `mb`."""

    model: str
    image_size: int  # pixels
    classes: int
    bucket_bytes: tuple = ()
    mb: float = math.nan

    def json(self):
        network = {"model": self.model, "image_size": self.image_size, "classes": self.classes}
        if self.bucket_bytes:
            return {**network, "bucket_bytes": list(self.bucket_bytes)}
        return {**network, "bucket_mb": self.mb}


@dataclass(frozen=True)
class Scenario:
    """What is to be predicted."""

    schedule: Schedule
    ranks: int = 1
    global_batch: int = 1  # images of a full step
    images: int = 1  # of an epoch
    micro_batches: int = 1
    algorithm: str = "ring"
    overlap: bool = False
    parts: tuple = ()  # images of each rank in a full step; (): equal ones
    message_delay: float = 0.0  # by what share the messages of a sum take longer because they are noisy


@dataclass
class StepForecast:
    """Where a step goes; seconds. Compute, rest, straggling and exposed add up to `seconds`."""

    seconds: float = 0.0
    compute: float = 0.0  # forward, loss, backward of a mean rank
    rest: float = 0.0  # input, optimizer, bookkeeping
    straggling: float = 0.0  # by how much the slowest rank is later than the mean one
    exposed: float = 0.0  # communication that is not hidden
    all_reduce: float = 0.0  # communication, hidden or not


@dataclass
class PlusMinus:
    """Half of the 90 % interval of a single run, relative to the figure; NaN: unknown."""

    epoch: float = math.nan  # also of what is proportional to it: a step, images/s, rank-hours
    speedup: float = math.nan
    all_reduce: float = math.nan


@dataclass
class EpochForecast:
    scenario: Scenario
    full_steps: int = 0
    partial_images: int = 0  # of the last step, 0: it is full
    full: StepForecast = field(default_factory=StepForecast)  # of a full step; of the only one where there is none
    partial: StepForecast = field(default_factory=StepForecast)  # all 0 without one
    seconds: float = 0.0
    plus_minus: PlusMinus = field(default_factory=PlusMinus)

    def steps(self):
        return self.full_steps + (self.partial_images > 0)

    def images_per_second(self):
        return self.scenario.images / self.seconds
