"""What a study runs: configurations, and series of growing batches."""

from typing import NamedTuple, Optional

from common import Fault
from presets import batch_of, recipe_of


class Configuration(NamedTuple):
    """One run."""

    model: str
    nodes: int
    ranks_per_node: int
    kind: str  # "rank": `batch` images of each rank and step, "global": of all ranks together
    batch: int
    repeat: int  # from 1

    @property
    def ranks(self):
        return self.nodes * self.ranks_per_node

    @property
    def global_batch(self):
        return self.batch if self.kind == "global" else self.batch * self.ranks

    @property
    def name(self):
        """Of its directory below OUT/runs."""
        size = "{}{}".format(self.kind, self.batch)
        place = "n{}x{}".format(self.nodes, self.ranks_per_node)
        return "{}_{}_{}_r{}".format(self.model, size, place, self.repeat)

    @property
    def words(self):
        """For people."""
        ranks = "1 rank" if self.ranks == 1 else "{} ranks".format(self.ranks)
        if self.nodes > 1:
            ranks += " on {} nodes".format(self.nodes)
        size = "{} {}".format(self.batch, "per rank" if self.kind == "rank" else "global")
        return "{}, {}, {}, repeat {}".format(self.model, ranks, size, self.repeat)


class Sweep(NamedTuple):
    """Batches per rank that grow until one is refused."""

    first: int
    factor: int
    last: Optional[int]  # None: until memory is full


class Series(NamedTuple):
    """A first configuration and, with a sweep, larger ones after it."""

    first: Configuration
    sweep: Optional[Sweep]

    @property
    def name(self):
        if self.sweep is None:
            return self.first.name
        return self.first._replace(kind="sweep").name

    def after(self, configuration):
        """The next one, if this one was trained; or None."""
        if self.sweep is None:
            return None
        batch = configuration.batch * self.sweep.factor
        if self.sweep.last is not None and batch > self.sweep.last:
            return None
        return configuration._replace(batch=batch)


def parse_sweep(text):
    """32x4:oom, or 32x4:512."""
    start, _, last = text.partition(":")
    first, _, factor = start.partition("x")
    numbers = [first, factor] + ([] if last == "oom" else [last])
    if not all(number.isdigit() and int(number) > 0 for number in numbers) or int(factor) < 2:
        form = "FIRSTxFACTOR:LAST, for example 32x4:oom (until memory is full) or 32x4:512"
        raise Fault("--batch-sweep {}: give {}".format(text, form))
    sweep = Sweep(int(first), int(factor), None if last == "oom" else int(last))
    if sweep.last is not None and sweep.last < sweep.first:
        raise Fault("--batch-sweep {}: the last batch is smaller than the first".format(text))
    return sweep


def batches_of(options, model):
    """[(kind, batch, sweep or None)] of a model."""
    found = [("rank", batch, None) for batch in options.batch_per_rank]
    found += [("global", batch, None) for batch in options.global_batch]
    if options.batch_sweep:
        found.append(("rank", options.batch_sweep.first, options.batch_sweep))
    if found:
        return found
    recipe = recipe_of(model, options.recipe)
    batch = batch_of(recipe) if recipe else None
    if batch is None:
        remedy = "add --batch-per-rank, --global-batch or --batch-sweep"
        raise Fault("no batch is given for {}, and no recipe has one: {}".format(model, remedy))
    return [batch + (None,)]


def make_plan(options):
    """Every series. All of repeat 1 come before repeat 2: if the machine becomes slower or faster, that
    affects all alike. 16 images per rank on 4 ranks and 64 in all are the same: they run once, and the
    report has them in both series."""
    plan, seen = [], set()
    for repeat in range(1, options.repeats + 1):
        for model in options.models:
            for kind, batch, sweep in batches_of(options, model):
                for nodes in options.nodes:
                    for ranks in options.ranks_per_node:
                        first = Configuration(model, nodes, ranks, kind, batch, repeat)
                        same = first._replace(kind="global", batch=first.global_batch)
                        if sweep is None and same in seen:
                            continue
                        seen.add(same)
                        plan.append(Series(first, sweep))
    return plan
