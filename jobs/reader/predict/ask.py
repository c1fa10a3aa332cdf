"""Asks the program for what the cost model says, many questions in one call."""

from dataclasses import dataclass

from ..base.ask import ask
from .model import EpochForecast, StepForecast

_UNITS = {"alpha": {"between": {"alpha": 1, "beta": 0}}, "beta": {"between": {"alpha": 0, "beta": 1}},
          "gamma": {"gamma": 1}}
_NO_MACHINE = {"inside": {"alpha": 0, "beta": 0}, "between": {"alpha": 0, "beta": 0}, "gamma": 0, "ranks_per_node": 1,
               "links_per_node": 1}


class _Numbered:
    """Things that questions name by their number, each once."""

    def __init__(self, to_json):
        self._numbers, self._to_json, self.questions = {}, to_json, []

    def number(self, thing):
        if thing not in self._numbers:
            self._numbers[thing] = len(self.questions)
            self.questions.append(self._to_json(thing))
        return self._numbers[thing]


def ring_coefficients(sums):
    """{(ranks, bytes): (alpha, beta, gamma)} of sums in a ring: what one second a message, a byte, an added byte
    makes of them."""
    sums = sorted(set(sums))
    if not sums:
        return {}
    machines = [{**_NO_MACHINE, **unit} for unit in _UNITS.values()]
    asked = [{"machine": machine, "algorithm": "ring", "ranks": ranks, "bytes": size}
             for ranks, size in sums for machine in range(len(machines))]
    seconds = ask({"machines": machines, "sums": asked})["sums"]
    return {one: tuple(seconds[3 * i : 3 * i + 3]) for i, one in enumerate(sums)}


def networks(names):
    """[{"training_flops", "parameters"}] of (model, image size, classes)."""
    asked = [{"model": model, "image_size": size, "classes": classes} for model, size, classes in names]
    return ask({"networks": asked})["networks"] if asked else []


class _Questions:
    """Models and scenarios of one call."""

    def __init__(self):
        self._machines = _Numbered(lambda machine: machine.json())
        self._noises = _Numbered(lambda noise: noise.json())
        self.schedules = _Numbered(lambda schedule: schedule.json())
        self.models = _Numbered(self._model_json)
        self.scenarios = _Numbered(self._scenario_json)

    def _model_json(self, model):
        return {"compute": model.compute.json(), "machine": self._machines.number(model.machine),
             "noise": self._noises.number(model.noise), "message_noise": model.message_noise,
             "rank_factors": list(model.rank_factors or ()), "shares_by_speed": model.shares_by_speed}

    def _scenario_json(self, scenario):
        return {**vars(scenario), "parts": list(scenario.parts), "schedule": self.schedules.number(scenario.schedule)}

    def ask(self, **asked):
        return ask({"machines": self._machines.questions, "noises": self._noises.questions,
                    "schedules": self.schedules.questions, "models": self.models.questions,
                    "scenarios": self.scenarios.questions, **asked})


def forecast_epochs(pairs):
    """An EpochForecast of each (model, scenario)."""
    pairs, questions = list(pairs), _Questions()
    asked = [{"model": questions.models.number(model), "scenario": questions.scenarios.number(scenario)}
             for model, scenario in pairs]
    answers = questions.ask(epochs=asked)["epochs"]
    return [EpochForecast(scenario, one["full_steps"], one["partial_images"], StepForecast(**one["full"]),
                          StepForecast(**one["partial"]), one["seconds"])
            for (_, scenario), one in zip(pairs, answers)]


def forecast_grid(models, scenarios):
    """Arrays [model][scenario]: seconds of an epoch, and of the sums of a full step."""
    import numpy

    questions = _Questions()
    rows = [questions.models.number(model) for model in models]
    columns = [questions.scenarios.number(scenario) for scenario in scenarios]
    grid = questions.ask(grid={"models": sorted(set(rows)), "scenarios": sorted(set(columns))})["grid"]
    return tuple(numpy.array(grid[name])[numpy.ix_(rows, columns)] for name in ("seconds", "all_reduce"))


@dataclass
class SimulatedSum:
    """One sum on a noisy ring, and the closed form; seconds."""

    ranks: int
    bytes: float
    closed: float  # by the closed form
    quiet: float  # simulated without noise
    noisy: float  # simulated, mean over rings
    rings: int  # with noise
    delay: float  # by what share messages took longer than without noise


def simulate_sums(model, schedule, ranks, seed):
    """A SimulatedSum of the largest bucket for each number of ranks."""
    questions = _Questions()
    which = {"model": questions.models.number(model), "schedule": questions.schedules.number(schedule), "seed": seed}
    asked = [{**which, "ranks": one} for one in ranks]
    return [SimulatedSum(**one) for one in questions.ask(simulations=asked)["simulations"]]
