"""The cost model of a network on a machine, fitted to runs and records, or given."""

import math
from dataclasses import dataclass, field, replace

from ..base.definitions import DEFINITIONS
from ..base.statistics import each_once
from ..base.text import count_text, printable
from ..start import Unusable
from ..study.observation import machine_of, observe
from .ask import forecast_epochs, networks
from .fits import ComputeFit, StepTimes
from .links import MachineFit, Measurements
from .model import STILL, ComputeModel, CostModel, Given, Link, Machine, Target
from .noise import fit_noise, fit_rank_factors, noises_of
from .scenario import equal_parts

_USUAL_IMAGE_SIZE = 32


@dataclass
class CostFit:
    """A cost model and where it is from."""

    model: CostModel
    network: str  # its name
    image_size: int  # pixels
    classes: int
    machine: MachineFit
    compute: ComputeFit = None  # None: given
    notes: list = field(default_factory=list)  # what was assumed, and where it may not hold

    def is_of(self, run):
        """Whether the network that the model is for was run."""
        return (self.network, self.image_size, self.classes) == (run.model, run.image_size, run.classes)


def _words(names):
    return ", ".join(map(printable, sorted(names)))


def usable_runs(runs, notes):
    """Of runs with an epoch, those that a fit goes by: with a core for each thread. `notes` names what is left out."""
    usable = []
    for run in runs:
        if observe(run).oversubscribed:
            notes.append(f"{run.file} ran more threads than it had cores, so its times also depend on the scheduler: "
                         "it is shown with its prediction, but not used for the fit.")
        else:
            usable.append(run)
    return usable


def _network_that_ran(runs, wanted):
    """The network whose runs are fitted."""
    names = {run.model for run in runs}
    if wanted in names or not names:
        return wanted
    if len(names) == 1:
        return names.pop()
    which = "say by --model which one is meant"
    if wanted:
        which = f"give the runs of one of them, for {printable(wanted)} to be taken from it"
    raise Unusable(f"the runs are of {_words(names)}: {which}")


def _require_one_kind(runs):
    kinds = {f"{run.ranks[0].backend} in {run.precision} at {run.image_size} pixels with {run.classes} classes"
             for run in runs}
    if len(kinds) > 1:
        raise Unusable(f"the runs to fit the compute time to are not of one kind: {_words(kinds)}; give those of one")


def _require_one_machine(runs):
    values = {}
    for run in runs:
        for name, value in machine_of(run).items():
            values.setdefault(name, set()).add(value)
    for name in sorted(values):
        if len(values[name]) > 1:
            raise Unusable(f"the runs to fit the compute time to differ in {printable(name)}: {_words(values[name])}; "
                           "give those of one")


def _given_compute(given):
    fixed = given.fixed or 0.0
    per_image = (given.step_seconds - fixed) / given.batch
    if per_image < 0:
        raise Unusable("--fixed is more than --compute, the whole step: give less")
    return ComputeModel(fixed, per_image)


def _link_of(alpha, bandwidth, fitted, unknown):
    """What is given, else what was fitted. Raises Unusable with the text `unknown` where a half is missing."""
    if fitted is None and (alpha is None or bandwidth is None):
        raise Unusable(unknown)
    link = fitted.link if fitted else Link()
    return Link(link.alpha if alpha is None else alpha, link.beta if bandwidth is None else 1 / bandwidth)


_NO_LINK = ("the cost of a message is unknown: give runs with --all-reduce ring on 2 ranks or more, a record of rueda "
            "bench all-reduce by --bench, or --alpha and --bandwidth")
_NO_LINK_INSIDE = ("the cost of a message within a node is unknown: give runs or a record of rueda bench on 2 ranks or "
                   "more of one host, or --inside-alpha and --inside-bandwidth")
_NO_LINK_BETWEEN = ("the cost of a message between nodes is unknown: give runs or a record of rueda bench on several "
                    "hosts, or --alpha and --bandwidth")


class Fitting:
    """Runs, records, and what is given: the model that is fitted to all of them, and to all runs but one. Raises
    Unusable where something is neither measured nor given."""

    def __init__(self, runs, benches, target, given):
        self.target, self.given, self.runs = target, given, runs
        ran = _network_that_ran(runs, target.model)
        self._chosen = [run for run in runs if run.model == ran]
        _require_one_kind(self._chosen)
        _require_one_machine(self._chosen)
        self._set_network(target, ran)
        self._measured = Measurements(runs, benches)
        self._steps = StepTimes(self._chosen)
        self._flops = self._shares_of_flops()

    def _set_network(self, target, ran):
        self.network = target.model or ran
        if not self.network:
            raise Unusable("nothing to predict from: name directories of runs, as in rueda predict runs/; or give "
                           "--model, --compute, --batch-per-rank, --alpha and --bandwidth")
        first = self._chosen[0] if self._chosen else None
        self.image_size = target.image_size or (first.image_size if first else _USUAL_IMAGE_SIZE)
        self.classes = target.classes or (first.classes if first else DEFINITIONS["usual_classes"])

    def _names(self):
        return self.network, self.image_size, self.classes

    def _shares_of_flops(self):
        """(of FLOPs, of parameters) of the network that the model is for and the one that ran; None if they are one."""
        wanted = self._names()
        first = self._chosen[0] if self._chosen else None
        ran = (first.model, first.image_size, first.classes) if first else wanted
        known = networks(each_once([wanted, ran]))  # an unknown network is refused
        if ran == wanted:
            return None
        return tuple(known[0][what] / known[1][what] for what in ("training_flops", "parameters"))

    def _compute(self, left_out):
        """(ComputeModel, ComputeFit or None)."""
        if self.given.step_seconds is not None:
            return _given_compute(self.given), None
        if not self._chosen:
            raise Unusable("the compute time is unknown: give run directories, or --compute with the time of a step of "
                           "--batch-per-rank images on one rank")
        fit = self._steps.fit(left_out)
        model = fit.model if self.given.fixed is None else replace(fit.model, fixed=self.given.fixed)
        if self._flops:
            model = replace(model, per_image=model.per_image * self._flops[0], update=model.update * self._flops[1])
        return model, fit

    def _machine(self, fitted):
        target, given = self.target, self.given
        gamma, links = fitted.gamma, target.links_per_node
        if target.ranks_per_node == 0:
            unknown = ". ".join([_NO_LINK, *fitted.notes])
            between = _link_of(given.alpha, given.bandwidth, fitted.only(), unknown)
            return Machine(Link(), between, gamma, 1, links)
        inside = _link_of(given.inside_alpha, given.inside_bandwidth, fitted.inside, _NO_LINK_INSIDE)
        between = _link_of(given.alpha, given.bandwidth, fitted.between, _NO_LINK_BETWEEN)
        return Machine(inside, between, gamma, target.ranks_per_node, links)

    def _gamma(self):
        return None if self.given.add_rate is None else 1 / self.given.add_rate

    def model_without(self, run, like):
        """The CostModel of all runs but this one, with the noise of `like`: how steps vary, all runs show together."""
        number = next(index for index, one in enumerate(self.runs) if one is run)
        compute, _ = self._compute(run)
        return replace(like, compute=compute, machine=self._machine(self._measured.fit(self._gamma(), number)))

    def fit(self):
        """The CostFit of all."""
        fitted = self._measured.fit(self._gamma())
        compute, compute_fit = self._compute(None)
        seen = noises_of(self._chosen)
        noise = fit_noise(seen)
        message_noise = 0.0 if math.isnan(fitted.message_noise) else fitted.message_noise
        if self.given.message_noise is not None:
            message_noise = self.given.message_noise
        model = CostModel(compute, self._machine(fitted), noise.noise, message_noise)
        model = replace(model, rank_factors=fit_rank_factors(seen, lambda runs: _steps_of_alike(model, runs)))
        notes = [*self._notes_on_compute(compute_fit), *self._notes_on_machine(model.machine, fitted),
                 _note_on_noise(noise, model.rank_factors)]
        return CostFit(model, self.network, self.image_size, self.classes, fitted, compute_fit, notes)

    def _notes_on_compute(self, fit):
        if fit is None:
            return []
        ran, notes = self._chosen[0], []
        if not fit.fit.separable:
            fixed = "0" if self.given.fixed is None else "given"
            batch = ran.global_batch // ran.world_size() // ran.micro_batches
            notes.append(
                f"All runs had {batch} images in a micro-batch, so the fit cannot separate t0, the time that does not "
                f"depend on the batch, from t1: t0 is taken as {fixed}. This makes predictions of other batches and of "
                "the last, partial step of an epoch uncertain.")
        if self._flops:
            classes = "" if self.classes == ran.classes else f" with {self.classes} classes"
            notes.append(
                f"{self.network} at {self.image_size} pixels{classes} was not run: its time of an image is that of "
                f"{ran.model} at {ran.image_size} pixels times {self._flops[0]:.3g}, the ratio of FLOPs. This "
                "assumes the same FLOPs a second for both.")
        return notes

    def _notes_on_machine(self, machine, fitted):
        notes, given = [], self.given
        all_given = given.alpha is not None and given.bandwidth is not None
        if self.target.ranks_per_node == 0 and fitted.between is None and not all_given:
            notes.append("Only links within one host were measured: all ranks are predicted with these. For several "
                         "nodes give --ranks-per-node, --alpha and --bandwidth.")
        notes += fitted.notes
        if machine.gamma == 0:
            notes.append("The time of adding was not measured apart from that of messages: gamma is 0, and beta "
                         "includes it.")
        return notes


def _steps_of_alike(model, runs):
    """Seconds of a step of each of these runs without its sums, if all ranks were alike."""
    model = replace(model, noise=STILL, rank_factors=())
    steps = [forecast.full for forecast in forecast_epochs((model, equal_parts(run)) for run in runs)]
    return [step.compute + step.rest for step in steps]


def _note_on_noise(fitted, factors):
    if fitted.samples == 0:
        return ("How much the steps of the ranks vary was not measured: all ranks are predicted to be equally fast.")
    basis = f"{count_text(fitted.samples)} steps of single ranks"
    if not fitted.from_steps:
        basis += ", of which only quantiles are known"
    note = (f"The prediction of stragglers is based on {basis}. It never exceeds the slowest of these steps, so for "
            "more ranks than that it is too low. Ranks and steps are taken as independent of each other.")
    if factors:
        note += (f" Ranks are not equally fast: the slowest takes {factors[-1] / factors[0]:.2f} times as long as the "
                 "fastest. Fast and slow ranks are taken to be as frequent on any number of ranks as in these runs.")
    return note


def without_each_run(fitting, fit):
    """The models that are fitted without each of the runs (the jackknife: B. Efron, C. Stein, Annals of Statistics
    9(3), 586-596, 1981). None where a link or the network shows in one of them alone."""
    try:
        return [fitting.model_without(run, fit.model) for run in fitting.runs]
    except Unusable:
        return None
