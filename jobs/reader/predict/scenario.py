"""The one place where a scenario is made from a run."""

import math
from dataclasses import replace

from ..runs.run import balance_of, batches_of, steady_epochs
from ..study.observation import observe
from .model import Scenario, Schedule

USUAL_BUCKET_MB = 25


# Whose names are a part of another's come after it.
_OTHER_SUMS = ("hierarchical-halving", "hierarchical", "halving", "doubling")


def _algorithm_of(run):
    """How the run summed its buckets; `auto` takes what costs least for each of them."""
    if run.sums_by("auto (") and run.sums_go_over_links():
        return "best"
    if run.sums_by("ring"):
        return "ring"
    return next((word for word in _OTHER_SUMS if run.sums_by(word)), "ring")


def _parts_of(run):
    """Images of each rank in a full step where they were given; () where they are equal, or follow from speed."""
    batches = batches_of(run, steady_epochs(run)[-1])
    if balance_of(run) in ("equal", "speed") or len(set(batches)) == 1:
        return ()
    return tuple(batches)


def drops_last(run):
    """Whether the images that do not fill a global batch are left out."""
    return run.options.get("last-batch") == "drop"


def schedule_of(run):
    """The buckets as the run had them; as training cuts them without the option where they are not recorded."""
    network = run.model, run.image_size, run.classes
    return Schedule(*network, tuple(run.bucket_bytes), USUAL_BUCKET_MB)


def epoch_images(images, global_batch, drops):
    """Of an epoch that may leave out what does not fill a batch."""
    return images - images % global_batch if drops and images >= global_batch else images


def scenario_of(run):
    """The same ranks, batch, parts, images, micro-batches, buckets, sums and overlap. Raises ValueError if the run
    has no epoch."""
    return Scenario(schedule_of(run), run.world_size(), run.global_batch, int(observe(run).images),
                    run.micro_batches, _algorithm_of(run), run.overlaps, _parts_of(run))


def equal_parts(run):
    return replace(scenario_of(run), parts=())


def on_ranks(run, ranks):
    """The scenario of a run on another number of ranks: as many images a rank, in equal parts, of the same set."""
    scenario = scenario_of(run)
    if ranks == scenario.ranks:
        return scenario
    batch = max(ranks, math.floor(scenario.global_batch * ranks / scenario.ranks + 0.5))
    return with_batch(replace(scenario, ranks=ranks, parts=()), batch, run.train_images, drops_last(run))


def with_batch(scenario, global_batch, images, drops):
    """With another global batch, of a set of so many images. Parts that were given are of their own batch alone."""
    parts = scenario.parts if global_batch == scenario.global_batch else ()
    return replace(scenario, global_batch=global_batch, images=epoch_images(images, global_batch, drops), parts=parts)
