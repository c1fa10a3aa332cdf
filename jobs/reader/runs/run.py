"""One run.json (docs/run-json.md) as studies and predictions use it. Seconds, bytes, images; unknown numbers are
NaN."""

import math
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

from ..base.definitions import FILES, PHASES, THRESHOLDS
from ..base.json_view import InputFile, read_json
from ..base.statistics import each_once
from .epochs import RunSummary, range_of, read_epoch, read_summary
from .ranks import NAME as RANKS_NAME
from .ranks import RanksInFile

NAME, SCHEMA, SCHEMA_VERSION = FILES["run"]["name"], FILES["run"]["schema"], FILES["run"]["version"]
FAIR_SHARE = THRESHOLDS["fair_share"]  # of the time of its cores; a rank that gets less is disturbed
_REMEDY = "give the run.json of a rueda run, whole"
_OLDEST = 1  # schema_version: it has the rows of all ranks
_CLOCKWORK = 1e-6  # cores are shares: 1/3 + 1/3 + 1/3


@dataclass
class RankInfo:
    """One rank and its device."""

    rank: int = 0
    host: str = ""
    backend: str = ""  # "cpu", "cuda" or "timed"
    device: str = ""  # processor or GPU name
    threads: int = 1
    cores: float = 1.0  # that this rank may use, shared ones counted in part


@dataclass
class TimedCompute:
    """How long the ranks of a run that computed nothing waited instead (docs/bench.md, "The timed backend")."""

    seconds: float = math.nan  # of forward and backward of `images` images
    images: int = 0
    jitter_percent: float = 0.0
    factors: list = field(default_factory=list)  # by which the ranks take longer; empty: all are alike
    recorded_in: str = ""  # the run.json that the time comes from


@dataclass
class RunResult:
    """What run.json says of a run. `options` has every option by its name on the command line, with the value that
    run.json gives it: a text, a number, a truth value, or None where it was not given."""

    file: Path = None
    model: str = ""
    image_size: int = 32  # pixels
    micro_batches: int = 1  # of a step
    options: dict = field(default_factory=dict)
    precision: str = ""
    command_line: str = ""
    started_at: str = ""  # ISO 8601, UTC
    versions: dict = field(default_factory=dict)  # component to version
    ranks: list = field(default_factory=list)  # of RankInfo
    train_images: int = 0
    test_images: int = 0
    data_source: str = ""
    classes: int = 10
    parameters: int = 0  # trainable
    statistics: int = 0  # non-trainable
    train_flops_per_image: float = math.nan
    global_batch: int = 0
    rank_batches: list = field(default_factory=list)  # images of each rank in a full step, at last
    learning_rate: float = math.nan
    all_reduce: str = ""
    transport: str = ""
    gradient_bytes: int = 0  # summed in a step
    overlaps: bool = False
    bucket_mb: float = math.nan
    bucket_bytes: list = field(default_factory=list)
    timed: TimedCompute = None  # of a run that computed nothing
    outcome: str = ""
    failure: str = ""
    memory_bytes: float = math.nan  # of the rank that holds most
    startup: dict = field(default_factory=dict)  # item to its Spread over ranks, in order
    epochs: list = field(default_factory=list)  # finished ones
    summary: RunSummary = field(default_factory=RunSummary)
    resumptions: list = field(default_factory=list)  # (at, finished epochs) of processes that continued it
    evaluation: dict = None  # of its weights (evaluation_of), where its directory has one
    raw: dict = field(default_factory=dict, repr=False)  # the whole document, for what no attribute has

    def world_size(self):
        return len(self.ranks)

    def hosts(self):
        return len(each_once(rank.host for rank in self.ranks))

    def sums_by(self, word):
        """Whether the name of its all-reduce has this word."""
        return word in self.all_reduce

    def sums_go_over_links(self):
        """A window in shared memory has no messages: ranks read each other's gradients while they add."""
        return not self.sums_by("shared")


def folder_name(file):
    """The name of the directory that a file of a run lies in."""
    return Path(file).parent.name or str(file)


def lacks_cores(rank):
    """Whether the rank runs more threads than it has cores: ranks, or its own threads, take these from each other."""
    return rank.threads > rank.cores * (1 + _CLOCKWORK)


def is_disturbed(share):
    return share < FAIR_SHARE


def _check_work(j):
    """What no run is without. So a batch of none is refused as such."""
    j.at("model").count("image_size")
    batch = j.at("batch")
    batch.positive("global")
    batch.positive("micro_batches")
    for one in batch.items("per_rank"):
        one.positive()


def _read_rank(j):
    info = RankInfo(host=j.text("host"), backend=j.text("backend"), device=j.text_if_any("device"))
    for name in ("rank", "threads"):
        if j.has(name):
            setattr(info, name, j.whole(-(2**31), 2**31 - 1, name))
    info.cores = j.number_if_any("cores")
    return info


def _read_ranks(run, j):
    run.ranks = [_read_rank(rank) for rank in j.items("ranks")]
    if not run.ranks or len(run.ranks) != len(run.rank_batches):
        j.at("ranks").refuse("does not have an entry for each rank of batch.per_rank")
    memory = [rank.number_if_any("memory_bytes") for rank in j.items("ranks")]
    run.memory_bytes = max((one for one in memory if not math.isnan(one)), default=math.nan)
    if j.has("startup"):
        startup = j.at("startup")
        run.startup = {item: range_of(startup, item) for item, _ in startup.members()}


def _number_as_text(value):
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else value or ""


def _joined_compute(options):
    """Version 1.0 had four options that said how long the timed backend computes: they become the one of today, as
    src/record/recorded_options.cpp writes it."""
    if "compute-ms" not in options:
        return options
    others = {name: value for name, value in options.items() if not name.startswith("compute-")}
    jitter, factors = (options.get(f"compute-{name}") for name in ("jitter", "factors"))
    parts = {"ms": options["compute-ms"], "jitter": None if jitter in (0, "0") else jitter,
             "factors": factors.replace(",", ":") if isinstance(factors, str) else factors,
             "from": options.get("compute-from")}  # fmt: skip
    texts = {name: _number_as_text(value) for name, value in parts.items()}
    return {**others, "compute": ",".join(f"{name}={text}" for name, text in texts.items() if text) or None}


def _read_texts(run, j):
    run.outcome = j.text("outcome")
    run.failure = j.text_if_any("failure")
    for name in ("command_line", "started_at"):
        if j.has(name):
            setattr(run, name, j.raw_text(name))
    run.versions = {name: version.text() for name, version in j.fields("versions")}
    run.options = _joined_compute({name: option.value for name, option in j.fields("config")})
    run.precision = j.at("config").text_if_any("precision")


def _read_model(run, j):
    model, data = j.at("model"), j.at("data")
    run.model, run.image_size = model.text("name"), model.whole(-(2**31), 2**31 - 1, "image_size")
    run.train_flops_per_image = model.number_if_any("train_flops_per_image")
    for attribute, name in (("classes", "classes"), ("parameters", "trainable_parameters"),
                            ("statistics", "non_trainable_parameters")):
        if model.has(name):
            setattr(run, attribute, model.count(name))
    run.train_images = data.count("train_images")
    run.test_images = data.count("test_images") if data.has("test_images") else 0
    run.data_source = data.raw_text("source") if data.has("source") else ""


def _read_batch(run, j):
    batch = j.at("batch")
    run.global_batch, run.micro_batches = batch.count("global"), batch.count("micro_batches")
    run.rank_batches = [one.count() for one in batch.items("per_rank")]
    run.learning_rate = j.number_if_any("learning_rate")


def _read_all_reduce(run, j):
    sums = j.at("all_reduce")
    run.all_reduce = sums.text("algorithm")
    run.transport = sums.raw_text("transport") if sums.has("transport") else ""
    run.gradient_bytes = sums.count("gradient_bytes") if sums.has("gradient_bytes") else 0
    run.bucket_mb = sums.number_if_any("bucket_mb")
    run.bucket_bytes = [one.count() for one in sums.items("bucket_bytes")]
    run.overlaps = sums.flag("overlaps_backward") if sums.has("overlaps_backward") else False


def _read_timed(j):
    if not j.has("timed"):
        return None
    timed = j.at("timed")
    jitter = timed.number_if_any("jitter_percent")
    return TimedCompute(timed.number_if_any("seconds"), timed.count("images") if timed.has("images") else 0,
                        0.0 if math.isnan(jitter) else jitter, [one.number() for one in timed.items("factors")],
                        timed.text_if_any("recorded_in"))


def _read_resumptions(j):
    if not j.has("resumptions"):
        return []
    return [(one.text_if_any("at"), one.count("epochs") if one.has("epochs") else 0) for one in j.items("resumptions")]


def read_run(file):
    """Reads a run.json. Ignores unknown fields; fields that an older version did not write stay unknown. Raises
    Unusable naming file, field and remedy."""
    j = read_json(InputFile(file, _REMEDY))
    j.require_schema(SCHEMA, SCHEMA_VERSION, NAME, _OLDEST)
    _check_work(j)
    run = RunResult(file=Path(file), raw=j.value)
    _read_texts(run, j)
    _read_model(run, j)
    _read_batch(run, j)
    _read_all_reduce(run, j)
    _read_ranks(run, j)
    run.timed = _read_timed(j)
    run.resumptions = _read_resumptions(j)
    rows = {}
    for view in j.items("epochs"):
        epoch = read_epoch(view)
        if not epoch.seconds > 0:
            view.at("seconds").refuse("is not positive")
        if not epoch.of_ranks and (run.file.parent / RANKS_NAME).is_file():
            epoch.of_ranks = RanksInFile(run.file.parent / RANKS_NAME, epoch.epoch, epoch.ranks, rows)
        run.epochs.append(epoch)
    run.summary = read_summary(j.at("summary"))
    return run


def steady_stretch(epochs):
    """The last epochs that follow a first one, up to the next first one; none unless they are of as many ranks as the
    last epoch. An epoch is a first one if a process resumed the run in it."""
    first = [index == 0 or epoch.resumed_at_step is not None for index, epoch in enumerate(epochs)]
    end = len(epochs)
    while end > 0 and first[end - 1]:
        end -= 1
    begin = end
    while begin > 0 and not first[begin - 1]:
        begin -= 1
    if begin == end or epochs[begin].ranks != epochs[-1].ranks:
        return []
    return epochs[begin:end]


def steady_epochs(run):
    """The epochs that count; if there are none, the last one."""
    return steady_stretch(run.epochs) or run.epochs[-1:]


def includes_warm_up(run):
    """Whether there are none, so that this epoch's time includes warm-up: each is the first of a process."""
    return bool(run.epochs) and not steady_stretch(run.epochs)


def batches_of(run, epoch):
    """Images of each rank in a full step of that epoch."""
    if not epoch.rank_batches and isinstance(epoch.of_ranks, RanksInFile):
        return [rank.batch for rank in epoch.of_ranks]
    return epoch.rank_batches or run.rank_batches


def balance_of(run):
    """"equal", "speed", or the parts that were given."""
    return run.options.get("balance") or "equal"


def _mean_means(spreads, others):
    """Copies of spreads, with the mean of both means."""
    means = {}
    for name, spread in spreads.items():
        means[name] = copy(spread)
        means[name].mean = (spread.mean + others[name].mean) / 2
    return means


def middle_epochs(run):
    """The steady epoch of median time, or of an even number the middle two."""
    epochs = sorted(steady_epochs(run), key=lambda epoch: epoch.seconds)
    return epochs[(len(epochs) - 1) // 2:len(epochs) // 2 + 1]


def middle_epoch(run):
    """The steady epoch of median time; of an even number the mean of the middle two. So its phases, communication,
    efficiency and energy are of its `seconds`, which are the median of all."""
    epochs = middle_epochs(run)
    middle, other = copy(epochs[-1]), epochs[0]
    middle.seconds = (middle.seconds + other.seconds) / 2
    middle.efficiency = middle.efficiency.mean_with(other.efficiency)
    middle.energy = copy(middle.energy)
    middle.energy.gpus = (middle.energy.gpus + other.energy.gpus) / 2
    middle.energy.hosts = (middle.energy.hosts + other.energy.hosts) / 2
    middle.phases = _mean_means(middle.phases, other.phases)
    steps = middle.all_steps = copy(middle.all_steps)
    all_reduce = _mean_means({"all_reduce": steps.phases["all_reduce"]}, other.all_steps.phases)
    steps.phases = {**steps.phases, **all_reduce}
    for part in ("busy", "wait", "transfer", "add"):
        mean = copy(getattr(steps, part))
        mean.mean = (mean.mean + getattr(other.all_steps, part).mean) / 2
        setattr(steps, part, mean)
    return middle


def least_core_share(epoch):
    """Of the rank that got least of its cores' time; NaN if unknown."""
    if isinstance(epoch.of_ranks, RanksInFile):
        return epoch.least_core_share
    return min((rank.core_share for rank in epoch.of_ranks if not math.isnan(rank.core_share)), default=math.nan)


def means_of(phases):
    """Phase to its mean over ranks."""
    return {name: phases[name].mean for name in PHASES}
