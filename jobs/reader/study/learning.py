"""How much faster more ranks learn: what a larger batch teaches, from the gradient noise scale of all runs of a network
(docs/metrics.md, "Speedup of learning")."""

from dataclasses import dataclass

from ..base.estimate import Estimate
from ..runs.noise import learning_efficiency, pooled_scale, reason_of, steps_worth
from .observation import Processor, images_key, processor_of, runs_of

_NOT_MEASURED = "no run measured its gradient noise (--noise-scale)"
_NOTHING_IN_COMMON = "the runs have no epoch in common in which they measured it (train with equal --epochs)"


@dataclass(frozen=True)
class NetworkNoise:
    """The gradient noise scale of all runs of one network: in images, with a 90 % interval; or why it is not
    determined, and what helps."""

    scale: Estimate = Estimate()
    epoch: int = 0  # the last in which all runs that could determine one measured it; 0: none
    runs: int = 0  # that determined it then
    batches: tuple = ()  # their global batches, ascending


@dataclass(frozen=True)
class Learning:
    """Of a point against that of the fewest ranks of its series."""

    noise: NetworkNoise = NetworkNoise()
    efficiency: Estimate = Estimate()  # of learning, at this batch
    steps_of_base: Estimate = Estimate()  # that teach as much as one step here
    gain: Estimate = Estimate()  # the same for each image: what learning gains of what throughput does
    speedup: Estimate = Estimate()  # of learning


def _measured(run):
    """{epoch: GradientNoise} of the epochs in which a second batch size was there to compare."""
    return {epoch.epoch: epoch.noise for epoch in run.epochs if epoch.noise and epoch.noise.parts > 1}


def _why_not(runs):
    """Of runs of which none determined it: what most of the last epochs say."""
    words = [epoch.noise.reason for run in runs for epoch in run.epochs[-1:] if epoch.noise and epoch.noise.reason]
    if not words:
        return _NOT_MEASURED
    reason = reason_of(max(dict.fromkeys(words), key=words.count))
    return f"{reason.why} ({reason.remedy})"


def noise_of(runs):
    """The NetworkNoise of runs of one network, of which each determined its own or not. The noise scale grows while a
    network learns, so all are taken from the same epoch: the last that each run measured that could."""
    measured = [(run, of_run) for run in runs if (of_run := _measured(run))]
    if not measured:
        return NetworkNoise(Estimate().because(_why_not(runs)))
    common = set.intersection(*(set(of_run) for _, of_run in measured))
    if not common:
        return NetworkNoise(Estimate().because(_NOTHING_IN_COMMON))
    epoch = max(common)
    known = [(run, of_run[epoch]) for run, of_run in measured if of_run[epoch].scale.known]
    scale = pooled_scale([noise for _, noise in known])
    if not scale.known:
        return NetworkNoise(scale.because(_why_not([run for run, _ in measured])), epoch)
    return NetworkNoise(scale, epoch, len(known), tuple(sorted({run.global_batch for run, _ in known})))


def says_of_noise(run):
    """Whether it was trained by a version that measures it. A run that computes nothing learns nothing."""
    recorded = "noise-scale" in run.options or any(epoch.noise for epoch in run.epochs)
    return recorded and processor_of(run) is not Processor.timed


def _network(point):
    """What runs have in common that learn the same."""
    return point.source, point.model, point.image_size, images_key(point)


def noises_of(all_series):
    """{what runs of one network have in common: NetworkNoise}, without those of which no run says anything."""
    points = {}
    for series in all_series:
        for point in series.points:
            points.setdefault(_network(point), []).append(point)
    runs = {network: [run for run in runs_of(members) if says_of_noise(run)] for network, members in points.items()}
    return {network: noise_of(members) for network, members in runs.items() if members}


def learning_of(noises, base, point, speedup):
    """The Learning of a point: `speedup` is that of throughput, unknown in a series of one point, which has no other to
    compare with."""
    noise = noises.get(_network(point))
    if noise is None:
        return Learning()
    worth = steps_worth(noise.scale, point.global_batch, base.global_batch)
    gain = worth * (base.global_batch / point.global_batch)
    return Learning(noise, learning_efficiency(noise.scale, point.global_batch), worth, gain, speedup * gain)
