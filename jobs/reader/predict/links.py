"""The cost of messages and of additions, from records of the bench and from the runs' buckets."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..base.definitions import DEFINITIONS
from ..base.json_view import InputFile, read_json
from ..base.statistics import median_of, quantile
from .ask import ring_coefficients
from .fits import PairFit, fit_pair
from .model import Link

_SCHEMA = DEFINITIONS["files"]["bench"]
_REMEDY = "give a file that rueda bench all-reduce --json wrote"
_RING_LAST = re.compile(r"(?:to (\d+) (\w+), |\()ring\)")  # the end of "auto (doubling to 64 KiB, ring)"
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}
_SMALL_BYTES = 65_536  # below, alpha and beta are not those of long messages
_DEVIATIONS_BETWEEN_QUARTILES = 1.349  # of a normal distribution
_LEAST_SUMS = 8  # from which quartiles are taken


@dataclass
class BenchRow:
    """One row of `rueda bench all-reduce --json`."""

    algorithm: str  # its word: "ring", "doubling" ...
    bytes: float  # of the slice
    median: float  # seconds
    seconds: list


@dataclass
class BenchResult:
    """A whole record (docs/bench.md)."""

    file: Path
    ranks: int = 1
    hosts: int = 1
    rows: list = field(default_factory=list)


def _read_row(j):
    seconds = [one.number() for one in j.items("seconds")]
    row = BenchRow(j.text("algorithm"), j.number("bytes"), j.number("median_seconds"), seconds)
    for name in ("bytes", "median_seconds"):
        if not j.number(name) > 0:
            j.at(name).refuse("is not positive")
    return row


def read_bench(word):
    """Raises Unusable naming file, place and remedy if it cannot be read or is none."""
    j = read_json(InputFile(word, _REMEDY))
    if not j.has(_SCHEMA["schema"]) or not j.has("results"):
        j.refuse("is no record of rueda bench")
    j.require_version(_SCHEMA["schema"], _SCHEMA["version"])
    hosts = {host.text() for host in j.items("hosts")}
    result = BenchResult(Path(word), j.count("ranks"), len(hosts), [_read_row(row) for row in j.items("results")])
    if not hosts:
        j.at("hosts").refuse("names no host")
    return result


@dataclass(frozen=True)
class LinkFit:
    """A link as it was fitted, and from what."""

    link: Link
    fit: PairFit
    source: str  # for people: "ring.json", "runs, P = 4"


@dataclass
class MachineFit:
    """What measurements tell of a machine. A level is None where nothing ran on it."""

    inside: LinkFit = None  # ranks of one host
    between: LinkFit = None  # several hosts
    gamma: float = 0.0  # seconds for each byte added; 0: unknown
    gamma_rows: int = 0  # buckets that it was fitted to
    message_noise: float = math.nan  # deviation of a message relative to its mean, if messages are independent
    notes: list = field(default_factory=list)  # what was left out, and why

    def only(self):
        """Where all links are taken to be of one kind."""
        return self.between or self.inside


def _sums_like_a_ring(run):
    """Whether the times of the run's buckets mean what the ring's closed form says."""
    if not run.sums_go_over_links() or run.sums_by("auto (") and not _RING_LAST.search(run.all_reduce):
        return False
    return any(map(run.sums_by, ("ring", "mpi", "nccl")))


def _ring_above(run):
    """The bytes above which `auto` took the ring."""
    last = _RING_LAST.search(run.all_reduce)
    return int(last[1]) * _UNITS[last[2]] if last and last[1] else 0


def _large_buckets(run):
    """Of a run on several ranks, those that are large enough."""
    if run.world_size() < 2 or not run.sums_go_over_links():
        return []
    least = max(_SMALL_BYTES, _ring_above(run))
    return [one for one in run.summary.all_steps.buckets if one.bytes > least and one.busy.count > 0]


def _rows_of_run(number, run):
    # The mean, because a step waits for slow messages, too, and the median leaves them out.
    ranks, inside = run.world_size(), run.hosts() == 1
    return [(f"runs, P = {ranks}", number, inside, ranks, one.bytes, one.transfer.mean, math.nan, one.add.mean)
            for one in _large_buckets(run)]


def _rows_of_bench(bench):
    return [(bench.file.name, -1, bench.hosts == 1, bench.ranks, row.bytes, math.nan, row.median, math.nan)
            for row in bench.rows if row.algorithm == "ring" and row.bytes >= 4 * bench.ranks and bench.ranks >= 2]


def _message_noise(benches, coefficients):
    """Relative to its mean, a sum of n independent messages varies 1 / sqrt(n) as much as a message. The deviation is
    taken from the quartiles."""
    each = []
    for bench in benches:
        for row in bench.rows:
            if row.algorithm != "ring" or bench.ranks < 2 or len(row.seconds) < _LEAST_SUMS:
                continue
            quartiles = quantile(row.seconds, 0.75) - quantile(row.seconds, 0.25)
            messages = coefficients[bench.ranks, row.bytes][0]
            each.append(min(1.0, quartiles / _DEVIATIONS_BETWEEN_QUARTILES / row.median * math.sqrt(messages)))
    return median_of(each)


def _notes_on_sums(runs):
    """Names the sums of runs that are no rings."""
    sums = {(_sums_like_a_ring(run), run.all_reduce) for run in runs
            if run.world_size() >= 2 and not (_sums_like_a_ring(run) and run.sums_by("ring"))}
    notes = []
    for like_a_ring, name in sorted(sums):
        if like_a_ring:
            notes.append(f"For runs that summed gradients by {name}, alpha and beta are those of a ring that takes the "
                         "same time.")
        else:
            notes.append(f"Runs that summed gradients by {name} are not used for alpha and beta: their time is not "
                         "that of a ring, and shared memory sends no messages.")
    return notes


class _Sums:
    """Sums in rings as arrays: numbers of the run (-1: of a record), coefficients, seconds in messages (of a record: in
    all) and adding."""

    def __init__(self, rows, coefficients):
        import numpy

        self.sources = numpy.array([row[0] for row in rows], dtype=object)
        table = numpy.array([(run, inside, *coefficients[ranks, size], messages, total, add)
                             for _, run, inside, ranks, size, messages, total, add in rows]).reshape(-1, 8)
        self.run, self.inside, self.alpha, self.beta, self.added, self.messages, self.total, self.add = table.T

    def gammas(self, left_out):
        """Seconds for each byte added, of each bucket of a run."""
        which = (self.add > 0) & (self.run >= 0) & (self.run != left_out)
        return self.add[which] / self.added[which]

    def fit(self, which, gamma):
        """A ring's time in messages, by alpha and beta."""
        import numpy

        of_record = self.total[which] - self.added[which] * gamma
        messages = numpy.where(self.run[which] < 0, of_record, self.messages[which])
        return fit_pair(self.alpha[which], self.beta[which], messages)


class Measurements:
    """The sums of all runs and records, from which machines are fitted: to all of them, and without one run."""

    def __init__(self, runs, benches):
        self.benches = benches
        self._notes = _notes_on_sums(runs)
        rows = [row for number, run in enumerate(runs) for row in _rows_of_run(number, run)]
        rows += [row for bench in benches for row in _rows_of_bench(bench)]
        asked = [(bench.ranks, row.bytes) for bench in benches for row in bench.rows if bench.ranks >= 2]
        self._coefficients = ring_coefficients([*((row[3], row[4]) for row in rows), *asked])
        self._sums = _Sums(rows, self._coefficients)
        self._like_a_ring = {number for number, run in enumerate(runs) if _sums_like_a_ring(run)}

    def _level(self, inside, left_out):
        """Which rows: a record has precedence over runs."""
        import numpy

        sums = self._sums
        of_level = sums.inside == inside
        of_records = of_level & (sums.run < 0)
        if of_records.any():
            return of_records
        return of_level & (sums.run != left_out) & numpy.isin(sums.run, list(self._like_a_ring))

    def _fit_level(self, inside, gamma, left_out):
        which = self._level(inside, left_out)
        if not which.any():
            return None
        fit = self._sums.fit(which, gamma)
        return LinkFit(Link(fit.first, fit.second), fit, ", ".join(sorted(set(self._sums.sources[which]))))

    def fit(self, gamma=None, left_out=None):
        """gamma by the median of seconds adding / bytes added. Alpha and beta of a level from the rows of bench
        records that are the ring's; without any, from the runs' buckets. A ring over several hosts goes as fast as
        the links between these, and shows nothing else. `gamma`: as it is known from elsewhere. `left_out`: the
        number of a run."""
        left_out = math.nan if left_out is None else left_out
        each = self._sums.gammas(left_out)
        known = gamma
        if known is None:
            known = median_of(each.tolist()) if len(each) else 0.0
        inside, between = (self._fit_level(level, known, left_out) for level in (True, False))
        noise = _message_noise(self.benches, self._coefficients)
        return MachineFit(inside, between, known, len(each), noise, list(self._notes))
