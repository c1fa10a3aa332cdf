"""Why a run on P ranks is not P times as fast: the factors of the model of POP (docs/metrics.md, "Efficiency")."""

import math

from ..base.definitions import FACTORS
from ..base.statistics import quotient
from ..runs.run import middle_epoch

CAUSES = tuple(FACTORS)[1:-1]  # the four in the middle


def useful_seconds(run):
    """Of all ranks together, in the median epoch."""
    return run.world_size() * middle_epoch(run).efficiency.useful_mean


def factors_of(efficiency, before, after):
    """By the keys of FACTORS, from the run's EfficiencySeconds and the useful seconds of all ranks on P0 and on P
    ranks."""
    scaling, parallel = quotient(before, after), efficiency.parallel()
    return {"parallel": parallel, "load_balance": efficiency.load_balance(),
            "serialisation": efficiency.serialisation(), "transfer": efficiency.transfer(),
            "computation_scaling": scaling, "global": parallel * scaling}


def least_factor(factors):
    """Of the four causes; the first where several are as low."""
    least = CAUSES[0]
    for cause in CAUSES[1:]:
        if factors[cause] < factors[least]:
            least = cause
    return least


def efficiency_factors(base, run):
    """Of one run against one of the fewest ranks."""
    return factors_of(middle_epoch(run).efficiency, useful_seconds(base), useful_seconds(run))


def costliest_factor(base_runs, runs):
    """The least of the four causes; None where repeats do not agree on it. Only computation scaling depends on the
    base, and grows with its useful seconds, so that the extremes of these stand for all."""
    befores = [useful_seconds(run) for run in base_runs]
    known = [one for one in befores if not math.isnan(one)]
    extremes = {min(known), max(known)} if known else set()
    if len(known) < len(befores):
        extremes.add(math.nan)
    found = {least_factor(factors_of(middle_epoch(run).efficiency, before, useful_seconds(run)))
             for run in runs for before in extremes}
    return found.pop() if len(found) == 1 else None
