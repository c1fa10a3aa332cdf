"""Made runs and records for tests of predictions: machines whose costs are known."""

import math
from pathlib import Path

from made import made_run
from reader.base.statistics import Spread, spread_of
from reader.predict.cost_fit import Fitting
from reader.predict.links import BenchResult, BenchRow
from reader.predict.model import Given, Target
from reader.runs.epochs import BucketFigures, RankFigures

GRADIENTS = 1e6  # bytes


class MadeLink:
    """A link, and how fast ranks add, in seconds; what a ring of bytes takes on it: 2(P-1) messages of 1/P, of which
    P-1 are added."""

    def __init__(self, alpha=50e-6, beta=8e-9, gamma=1e-10):
        self.alpha, self.beta, self.gamma = alpha, beta, gamma

    def transfer(self, ranks, size):
        return 2 * (ranks - 1) * (self.alpha + size / ranks * self.beta)

    def add(self, ranks, size):
        return (ranks - 1) * size / ranks * self.gamma


LINK = MadeLink()


def with_buckets(run, link, sizes, hosts=1):
    """The run, whose every bucket took what a ring takes."""
    ranks = run.world_size()
    run.all_reduce = "ring"
    for number, rank in enumerate(run.ranks):
        rank.host = f"h{number * hosts // ranks}"
    run.summary.all_steps.buckets = [
        BucketFigures(bytes=size, busy=Spread(count=10), transfer=Spread(mean=link.transfer(ranks, size)),
                      add=Spread(mean=link.add(ranks, size))) for size in sizes]
    run.bucket_bytes = [int(size) for size in sizes]
    return run


def ring_run(ranks, hosts=1, link=LINK, sizes=(1e6, 25e6)):
    return with_buckets(made_run(model="resnet20", ranks=ranks, phases={"backward": 1.0}), link, sizes, hosts)


def drawn_run(ranks, random):
    """An epoch of ten steps on a machine on which a step of one rank takes 1 s and its sum 0.4 s on two; the compute
    of each run is off by 1 %, its link by 4 % (standard deviations)."""
    compute = 1 + 0.01 * random.gauss(0, 1)
    slower = 1 + 0.04 * random.gauss(0, 1)
    link = MadeLink(1e-3 * slower, 0.4 / GRADIENTS * slower, 0)
    sizes = [0.8 * GRADIENTS, 0.2 * GRADIENTS]
    summing = sum(link.transfer(ranks, size) for size in sizes)
    run = made_run(model="resnet20", ranks=ranks, images=100 * ranks, epochs=(99, 10 * (compute + summing)),
                   step=compute, phases={"backward": 10 * compute}, transfer=summing)
    run.file = Path(f"p{ranks}", "run.json")
    return with_buckets(run, link, sizes, ranks)


def computing_run(ranks, batch, micro_batches):
    """A run whose full step took t0 + t1 b for each of its micro-batches, and so much besides."""
    images = batch * micro_batches
    compute = micro_batches * 0.010 + images * 0.002
    phases = {"load": 0.001 * images, "copy": 0.0005 * images, "forward": 0.3 * compute, "loss": 0.1 * compute,
              "backward": 0.6 * compute, "all_reduce": 99, "optimizer": 0.004, "other": 0.003}
    run = made_run(model="resnet20", ranks=ranks, rank_batch=images, images=ranks * images, phases=phases)
    run.micro_batches = micro_batches
    return run


def ranks_run(of_image, images, update=0.01, steps=10):
    """Ranks that need so many seconds for an image, and have so many images of a step, in two epochs after the first. A
    rank's steps take from 0.9 to 1.1 of its mean."""
    run = made_run(model="resnet20", ranks=len(of_image), images=sum(images) * steps, epochs=(2.0, 1.0, 1.0),
                   phases={"backward": 0.1})
    run.rank_batches, run.global_batch = list(images), sum(images)
    for epoch in run.epochs[1:]:
        epoch.steps, epoch.rank_batches = steps, list(images)
        for rank, (seconds, own) in enumerate(zip(of_image, images)):
            step = seconds * own + update
            phases = {"load": steps * seconds * own / 4, "backward": steps * seconds * own * 3 / 4,
                      "optimizer": steps * update, "all_reduce": 99.0}
            spread = spread_of([0.9 * step, step, 1.1 * step])
            figures = RankFigures(rank=rank, samples=steps * own, full_compute=spread)
            figures.phases.update(phases)
            epoch.of_ranks.append(figures)
    return run


def bench_of(ranks, hosts, link=LINK):
    bench = BenchResult(Path("ring.json"), ranks, hosts)
    for size in (4e3, 1e6, 1e8):
        seconds = link.transfer(ranks, size) + link.add(ranks, size)
        bench.rows += [BenchRow("ring", size, seconds, []), BenchRow("mpi", size, 7 * seconds, [])]
    return bench


def fitting_of(runs, benches=(), target=None, given=None):
    return Fitting(list(runs), list(benches), target or Target(), given or Given())


def fit_of(runs, benches=(), target=None, given=None):
    return fitting_of(runs, benches, target, given).fit()


def is_near(value, expected, share=1e-6):
    return math.isclose(value, expected, rel_tol=share)
