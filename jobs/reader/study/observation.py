"""One training run as a scaling study sees it, or all repeats of one."""

import enum
import math
from dataclasses import dataclass, field

from ..base.definitions import options_by_timing
from ..base.estimate import Estimate, exactly
from ..base.statistics import median_of
from ..base.text import added_to_list, setting_text
from ..runs.run import balance_of, includes_warm_up, is_disturbed, lacks_cores, least_core_share, steady_epochs


class Processor(enum.Enum):
    """The name is for programs, the value for people."""

    cpu = "CPU"
    gpu = "GPU"
    timed = "timed (nothing computed)"


@dataclass
class Subject:
    """Who trained what on which kind of processor. Only runs of equal subjects share a series."""

    source: str = ""  # "rueda", "Keras log FILE", "Torres 2026, table 10.4" ...
    model: str = ""
    variant: str = ""  # other options that differ, in words; empty if none do
    processor: Processor = Processor.cpu
    image_size: int = 0  # 0: unknown

    def subject(self):
        """To compare with another's."""
        return self.source, self.model, self.variant, self.processor, self.image_size

    def source_remark(self):
        """" (Keras log FILE)", a remark for people; empty for rueda's own."""
        return "" if self.source == "rueda" else f" ({self.source})"


@dataclass
class Observation(Subject):
    """Of rueda, from the log of a framework, or from a published table. Times in seconds."""

    ranks: int = 1  # P; replicas, GPUs
    hosts: int = 1
    rank_batch: int = 0  # images of each rank in a full step; 0 if ranks differ
    global_batch: int = 0  # of all ranks
    images: float = math.nan  # of an epoch
    steps: int = 0  # of an epoch, partial ones included
    repeats: int = 1
    epoch: Estimate = Estimate()  # steady: epochs after the first
    first_epoch: Estimate = Estimate()  # unknown if a log begins later
    full_step: Estimate = Estimate()  # steady, slowest rank
    mean_step: Estimate = Estimate()  # an epoch divided by its steps, where a log prints that and no full step
    printed_epoch: Estimate = Estimate()  # `epoch` as its log prints it; unknown if nothing was rounded
    oversubscribed: bool = False  # ranks ran more threads than there were cores: shown, left out of fits
    includes_warm_up: bool = False  # no epoch but the first of a process
    disturbed: bool = False  # a rank got too little of its cores in a steady epoch, though it had enough of them
    runs: list = field(default_factory=list)  # of rueda; the first stands for all repeats
    # Words in `variant` about unequal ranks, an option each; None: one rank, which fits all.
    by_rank: tuple = ()

    def plain_subject(self):
        """The subject without these words."""
        words = [word for word in self.variant.split(", ") if word not in self.by_rank]
        return self.source, self.model, ", ".join(words), self.processor, self.image_size


_NOT_GIVEN = "null"
_TIMES = ("epoch", "first_epoch", "full_step", "mean_step", "printed_epoch")


def processor_of(run):
    backend = run.ranks[0].backend
    if backend == "timed":
        return Processor.timed
    return Processor.cpu if backend == "cpu" else Processor.gpu


def _is_oversubscribed(run):
    """Threads that compute need a core each; a GPU's host threads and the timed backend's do not."""
    return processor_of(run) is Processor.cpu and any(lacks_cores(rank) for rank in run.ranks)


def _common_batch(run):
    """Of a mean rank with --balance; else 0 where ranks differ."""
    if balance_of(run) != "equal" and run.global_batch % run.world_size() == 0:
        return run.global_batch // run.world_size()
    values = set(run.rank_batches)
    return values.pop() if len(values) == 1 else 0


def observe(run):
    """A finished or interrupted run of rueda. Raises ValueError if it has no epoch."""
    steady = steady_epochs(run)
    if not steady:
        raise ValueError("no epoch was finished")
    seconds = median_of(epoch.seconds for epoch in steady)
    oversubscribed = _is_oversubscribed(run)
    disturbed = any(is_disturbed(least_core_share(epoch)) for epoch in steady)
    steps = steady[0].steps
    return Observation(
        source="rueda", model=run.model, processor=processor_of(run), image_size=run.image_size,
        ranks=run.world_size(), hosts=run.hosts(), rank_batch=_common_batch(run), global_batch=run.global_batch,
        images=float(steady[0].train.samples), steps=steps, epoch=exactly(seconds),
        first_epoch=exactly(run.epochs[0].seconds), full_step=exactly(run.summary.full_step.slowest.median),
        mean_step=exactly(seconds / steps if steps else math.nan), oversubscribed=oversubscribed,
        includes_warm_up=includes_warm_up(run), disturbed=disturbed and not oversubscribed, runs=[run])


def machine_of(run):
    """What a run's time of a step depends on and no option says: the names of its processors or GPUs ("processor",
    "GPU"), and the versions of the libraries that its kind of device uses. By name."""
    processor = processor_of(run)
    computes = processor is not Processor.timed
    devices = sorted({rank.device for rank in run.ranks} - {""})
    machine = {}
    if devices and computes:
        machine["GPU" if processor is Processor.gpu else "processor"] = " and ".join(devices)
    for name, version in run.versions.items():
        of_host = name == "oneDNN"
        used = name == "MPI" or (computes and of_host == (processor is Processor.cpu))
        if name != "rueda" and used:
            machine[name] = version
    return machine


def option_text(run, name):
    """As the command line takes it; "null" where it was not given."""
    value = run.options.get(name)
    if value is None:
        return _NOT_GIVEN
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _shortened(value, values):
    """"Open MPI v4.1.4, package: ..." without what follows the comma, if that tells the values apart."""
    beginnings = {one.partition(",")[0] for one in values}
    return value if len(beginnings) < len(values) else value.partition(",")[0]


def _tell_apart(observations, name, values):
    """Names a value in the variant of observations that do not all have the same."""
    if len(set(values)) < 2:
        return
    for seen, value in zip(observations, values):
        if value != _NOT_GIVEN:  # told apart by having none
            seen.variant = added_to_list(seen.variant, f"{name} {value}")


def _repeats_differ(observations, values):
    """Whether some configuration ran with several values: a strong study on the timed backend gives each batch a time
    of its own, and parts by hand are other numbers on each number of ranks, which is one value for each
    configuration."""
    first = {}
    for seen, value in zip(observations, values):
        key = seen.model, seen.ranks, seen.hosts, seen.global_batch
        if first.setdefault(key, value) != value:
            return True
    return False


def _timed_text(run, part):
    """In the words of the option --compute."""
    timed = run.timed
    if timed is None:
        return _NOT_GIVEN
    if part == "ms":
        return f"ms={setting_text(1e3 * timed.seconds)}"
    if part == "jitter":
        return f"jitter={setting_text(timed.jitter_percent)}" if timed.jitter_percent else _NOT_GIVEN
    return f"from={timed.recorded_in}" if timed.recorded_in else _NOT_GIVEN


def _balance_text(run):
    """Of one rank it says nothing."""
    return "" if run.world_size() == 1 or balance_of(run) == "equal" else f"balance {balance_of(run)}"


def _factors_text(run):
    factors = run.timed.factors if run.timed else []
    return "compute factors=" + ":".join(map(setting_text, factors)) if factors else ""


def _words_for_series(observations, texts, in_common):
    """Numbers of each rank are others on each number of ranks, so that they do not tell points of one series apart:
    where no configuration ran with several, `in_common` stands for all of them."""
    numbers = [(seen, text) for seen, text in zip(observations, texts) if any(c.isdigit() for c in text)]
    several = len({text for _, text in numbers}) > 1
    if not several or _repeats_differ(*zip(*numbers)):
        return texts
    return [in_common if any(c.isdigit() for c in text) else text for text in texts]


def _tell_ranks_apart(observations, text_of, in_common):
    """By an option that says something about several ranks. A run on one rank without it belongs to all kinds."""
    texts = [text_of(seen.runs[0]) for seen in observations]
    words = _words_for_series(observations, texts, in_common)
    if len(set(words)) < 2:
        return
    for seen, word in zip(observations, words):
        seen.by_rank += (None if seen.ranks == 1 and not word else word,)
        seen.variant = added_to_list(seen.variant, word) if word else seen.variant


def _tell_options_apart(observations):
    runs = [seen.runs[0] for seen in observations]
    for name in options_by_timing("variant"):
        if name == "balance":
            _tell_ranks_apart(observations, _balance_text, "balance by hand")
        elif name != "compute":
            _tell_apart(observations, name, [option_text(run, name) for run in runs])
    _tell_ranks_apart(observations, _factors_text, "compute factors by rank")
    for part in ("from", "jitter", "ms"):
        values = [_timed_text(run, part) for run in runs]
        if part != "ms" or _repeats_differ(observations, values):
            _tell_apart(observations, "compute", values)


def _tell_machines_apart(observations):
    machines = [machine_of(seen.runs[0]) for seen in observations]
    for name in sorted({name for machine in machines for name in machine}):
        values = [machine.get(name, "unknown") for machine in machines]
        _tell_apart(observations, name, [_shortened(value, set(values)) for value in values])


def observe_all(runs):
    """All runs that have an epoch. `variant` names the options that change the time of a step and are not the same in
    all runs ("overlap off, wire bf16"), and what of machine_of is not the same in all runs on this kind of
    processor."""
    observations = [observe(run) for run in runs if run.epochs]
    _tell_options_apart(observations)
    for processor in Processor:
        _tell_machines_apart([seen for seen in observations if seen.processor is processor])
    return observations


def _sorting_seconds(repeat):
    """Of an epoch; infinite where they are not known, so that such a repeat comes last."""
    return repeat.epoch.value if repeat.epoch.known else math.inf


def _widened(time, others):
    """The time with its range over all repeats."""
    known = [one for one in others if one.known]
    if not known:
        return time
    middle = time if time.known else known[0]
    return Estimate(middle.value, min(one.low for one in known), max(one.high for one in known), middle.why)


def merged(repeats):
    """Repeats of one configuration as one observation: the repeat in the middle by the time of its epochs (of an even
    number the faster of the middle two), so that all its times belong together, with the range of each time over all
    repeats."""
    ordered = sorted(repeats, key=_sorting_seconds)
    middle = ordered[(len(ordered) - 1) // 2]
    values = {**vars(middle), "repeats": len(repeats)}
    for name in _TIMES:
        values[name] = _widened(values[name], [getattr(repeat, name) for repeat in repeats])
    for name in ("oversubscribed", "includes_warm_up", "disturbed"):
        values[name] = any(getattr(repeat, name) for repeat in repeats)
    values["runs"] = middle.runs + [run for repeat in repeats if repeat is not middle for run in repeat.runs]
    return Observation(**values)


def is_single_run(observation):
    """Without repeats and without the rounding of a log: its figures have no range."""
    return observation.repeats == 1 and not observation.printed_epoch.known


def same_images(a, b):
    """Whether their epochs have the same images, or are both of an unknown number."""
    return a.images == b.images or (math.isnan(a.images) and math.isnan(b.images))


def images_key(observation):
    """The same as a key: NaN is equal to nothing."""
    return None if math.isnan(observation.images) else observation.images


def runs_of(observations):
    """The runs of observations, each once."""
    by_id = {id(run): run for seen in observations for run in seen.runs}
    return list(by_id.values())
