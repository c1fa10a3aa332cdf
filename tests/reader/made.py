"""Made runs: what a run is to show, as run.json would say it. Every rank does the same."""

from reader.base.definitions import PHASES
from reader.base.statistics import Spread, spread_of
from reader.base.estimate import Estimate
from reader.runs.epochs import AllSteps, EpochFigures, RunSummary, Score, StepBreakdown
from reader.runs.noise import GradientNoise
from reader.runs.run import RankInfo, RunResult


def _steps(kind, phases, steps, wait, transfer, add):
    made = kind(phases={name: Spread(mean=phases.get(name, 0.0) / steps) for name in PHASES})
    made.wait, made.transfer, made.add = Spread(mean=wait), Spread(mean=transfer), Spread(mean=add)
    made.busy = Spread(mean=wait + transfer + add)
    return made


def made_run(model="net", ranks=1, rank_batch=10, images=100, epochs=(1.5, 1.0), step=0.1, phases=None, wait=0.0,
             transfer=0.0, add=0.0, threads=1, cores=1.0, full_steps=10):
    """epochs: seconds; step: seconds of a full step, of which the steady epochs have `full_steps`; phases: seconds of
    an epoch; wait, transfer, add: seconds per step."""
    phases = phases or {}
    run = RunResult(model=model, image_size=32, outcome="completed", train_images=images,
                    global_batch=ranks * rank_batch, rank_batches=[rank_batch] * ranks, memory_bytes=1e6)
    run.ranks = [RankInfo(rank=n, host="node1", backend="cpu", device="CPU A", threads=threads, cores=cores)
                 for n in range(ranks)]
    run.startup = {"mpi": Spread(max=0.25), "data": Spread(max=0.5)}
    steps = -(-images // run.global_batch)
    for number, seconds in enumerate(epochs):
        epoch = EpochFigures(steps=steps, ranks=ranks, train=Score(samples=images), seconds=seconds)
        epoch.phases = {name: Spread(mean=phases.get(name, 0.0)) for name in PHASES}
        epoch.all_steps = _steps(AllSteps, phases, steps, wait, transfer, add)
        epoch.all_steps.bytes = 1e9
        run.epochs.append(epoch)
    full = _steps(StepBreakdown, phases, steps, wait, transfer, add)
    full.slowest, full.steps, full.step = spread_of([step]), full_steps, Spread(mean=step)
    all_steps = _steps(AllSteps, phases, steps, wait, transfer, add)
    run.summary = RunSummary(full_step=full, all_steps=all_steps, startup_seconds=0.75)
    run.summary.all_steps.bytes = 1e9
    return run


def with_noise(run, *scales, parts=None, steps=10, norm=0.5, reason="few steps"):
    """The run, whose last epochs have these noise scales, each (value, low, high); None: for this `reason` not
    determined."""
    run.options["noise-scale"] = 1
    parts = run.world_size() if parts is None else parts
    for number, epoch in enumerate(run.epochs, 1):
        epoch.epoch = number
    for epoch, scale in zip(run.epochs[-len(scales):], scales):
        if scale is None:
            epoch.noise = GradientNoise(batch=run.global_batch, parts=parts, steps=steps, reason=reason)
            continue
        efficiency = scale[0] / (scale[0] + run.global_batch)
        epoch.noise = GradientNoise(Estimate(*scale), norm, norm * scale[0], run.global_batch, parts, steps, efficiency)
    return run
