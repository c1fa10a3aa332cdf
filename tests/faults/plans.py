"""What a trial trains: ranks, network, cadence of checkpoints and options, drawn from a seed."""

import random
import re
from dataclasses import dataclass

# A run takes about two seconds, most of them start-up. It remembers much: momentum, statistics, a
# schedule, random images.
BASE = ["--data", "data", "--threads", "1", "--epochs", "2"]
BASE += ["--eval-every", "1", "--augment", "standard", "--progress", "bar"]

# Among the options of a run; each is one line of words.
SUMS = [
    [],
    ["--all-reduce", "ring", "--bucket-mb", "0.3"],
    ["--all-reduce", "ring", "--segment-kb", "16"],
    ["--all-reduce", "doubling"],
    ["--all-reduce", "halving"],
    ["--all-reduce", "hierarchical"],
    ["--reduce-order", "fixed", "--shard", "fixed"],
    ["--all-reduce", "ring", "--wire", "bf16", "--bucket-mb", "0.3"],
    ["--all-reduce", "ring", "--wire", "bf16"],
]
OTHERS = [
    ["--overlap", "on"],
    ["--overlap", "off"],
    ["--input", "stream", "--input-workers", "1"],
    ["--accumulate", "2"],
    ["--nesterov"],
    ["--warmup-epochs", "1"],
    ["--check-replicas", "step"],
]
CADENCES = ["1step", "1step", "2steps", "3steps", "1epoch"]


@dataclass(frozen=True)
class Plan:
    """A configuration; equal ones share a reference."""

    ranks: int
    words: tuple  # of `rueda train`, without those of checkpoints
    cadence: str
    keep: int
    steps_per_epoch: int
    epochs: int = 2

    @property
    def steps(self):
        return self.epochs * self.steps_per_epoch

    @property
    def cadence_steps(self):
        count, unit = re.fullmatch(r"(\d+)(step|epoch)s?", self.cadence).groups()
        return int(count) * (self.steps_per_epoch if unit == "epoch" else 1)

    @property
    def checkpoint_words(self):
        return ["--checkpoint-every", self.cadence, "--keep", str(self.keep)]


def draw_plan(rng, ranks=(1, 2, 3, 4), cadences=CADENCES, model=None):
    count = rng.choice(ranks)
    images, batch = rng.choice([(32, 8), (48, 12), (64, 16), (60, 16)] if model is None else [(16, 8)])
    words = ["--data-limit", str(images), "--global-batch", str(batch)]
    words += ["--image-size", str(8 if model is None else 16), "--model", model or "resnet20",
              "--seed", str(rng.randrange(1, 1000))]
    words += rng.choice(SUMS if count > 1 else SUMS[:1])
    for option in rng.sample(OTHERS, rng.choice((0, 1, 2, 3))):
        if option[0] not in words:
            words += option
    return Plan(count, tuple(words), rng.choice(cadences), rng.choice((1, 2, 3)), -(-images // batch))


class Plans:
    """A few plans per wish, so that references are worth their time."""

    def __init__(self, seed, count):
        self.seed, self.count = seed, count
        self._known = {}

    def draw(self, rng, **wishes):
        index = rng.randrange(self.count)
        key = f"{self.seed}/plan/{index}/{sorted(wishes.items())}"
        if key not in self._known:
            self._known[key] = draw_plan(random.Random(key), **wishes)
        return self._known[key]
