"""What a reader says of made runs."""

from pathlib import Path

from made import made_run
from reader.findings.study_findings import findings
from reader.runs.epochs import EfficiencySeconds, RankFigures
from reader.runs.places import Study
from reader.study.figures import evaluate
from reader.study.observation import observe_all
from reader.study.series import make_series


def figures_of(runs):
    """[SeriesFigures]"""
    return evaluate(make_series(observe_all(runs)))


def found(runs, **options):
    """[Finding]"""
    return findings(Study(runs=runs), figures_of(runs), **options)


def by_code(runs, code, **options):
    """The finding of this code, or None."""
    return next((one for one in found(runs, **options) if one.code == code), None)


def text_of(runs, **options):
    return "\n".join(one.text for one in found(runs, **options))


def named(run, name):
    run.file = Path("runs", name, "run.json")
    return run


def runs_of(times):
    """A run for each (P, seconds of a steady epoch)."""
    return [named(made_run(ranks=ranks, epochs=(99, seconds)), f"p{ranks}-{n}")
            for n, (ranks, seconds) in enumerate(times)]


def of_parts(ranks, backward, all_reduce, **more):
    """An epoch of backward and all-reduce alone, whatever they take."""
    phases = {"backward": backward, "all_reduce": all_reduce}
    return named(made_run(ranks=ranks, epochs=(99, backward + all_reduce), phases=phases, **more), f"p{ranks}")


def disturb(run, share=0.5):
    """A rank gets this share of its cores in the last epoch."""
    run.epochs[-1].of_ranks = [RankFigures(rank=n, core_share=share) for n in range(len(run.ranks))]
    return run


def set_efficiency(run, useful_mean, useful_max, ideal_network, seconds):
    run.epochs[-1].efficiency = EfficiencySeconds(useful_mean, useful_max, ideal_network, seconds)
    return run
