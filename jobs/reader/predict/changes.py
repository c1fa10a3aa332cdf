"""--what-if: another machine, one figure of the model changed by a factor or to a value."""

from dataclasses import dataclass, replace

from ..base.text import printable
from ..start import Unusable
from .quantities import amount, parse_rate, parse_seconds


@dataclass
class Change:
    """`value`: bytes per second, seconds, or the factor."""

    word: str
    value: float = 1.0
    is_factor: bool = True

    def apply(self, model):
        """The changed model. Raises Unusable where the model does not know what is asked for."""
        return _WORDS[self.word][1](model, self)


def _changed(seconds, change):
    return seconds * change.value if change.is_factor else change.value


def _changed_rate(seconds_per_byte, change):
    """The rate is one over the seconds of a byte."""
    return seconds_per_byte / change.value if change.is_factor else 1 / change.value


def _change_link(level, cost, change_cost):
    def change_model(model, change):
        link = getattr(model.machine, level)
        link = replace(link, **{cost: change_cost(getattr(link, cost), change)})
        return replace(model, machine=replace(model.machine, **{level: link}))

    return change_model


def _change_add_rate(model, change):
    return replace(model, machine=replace(model.machine, gamma=_changed_rate(model.machine.gamma, change)))


def _change_compute_time(model, change):
    return replace(model, compute=model.compute.slowed(change.value))


def _change_noise(model, change):
    return replace(model, noise=replace(model.noise, factor=model.noise.factor * change.value))


def _share_by_speed(model, _):
    if model.rank_factors is None:
        raise Unusable("--what-if balance: no run shows how fast each rank is; give one on 2 ranks or more, with three "
                       "full steps or more in an epoch")
    return replace(model, shares_by_speed=True)


_WORDS = {
    "bandwidth": ("rate", _change_link("between", "beta", _changed_rate)),
    "latency": ("time", _change_link("between", "alpha", _changed)),
    "inside-bandwidth": ("rate", _change_link("inside", "beta", _changed_rate)),
    "inside-latency": ("time", _change_link("inside", "alpha", _changed)),
    "add-rate": ("rate", _change_add_rate),
    "compute-time": ("factor", _change_compute_time),
    "noise": ("factor", _change_noise),
    "balance": ("alone", _share_by_speed),
}
"""Word to the kind of its value, and what it does. Bandwidth and latency are between nodes, or of all links where there
is one level."""


def _refuse(option, text, remedy):
    raise Unusable(f"{option} '{printable(text)}': {remedy}")


def _change_of(part):
    word, equals, value = part.partition("=")
    if word not in _WORDS:
        _refuse("--what-if", part, f"give {', '.join(_WORDS)}: the last one alone, each other one as name=value, for "
                                   "example bandwidth=2x or latency=5us")
    kind, option = _WORDS[word][0], f"--what-if {word}"
    if kind == "alone":
        if equals:
            _refuse(option, value, "it has no value: leave it out")
        return Change(word)
    factor = amount(value, {"x": 1.0})
    if factor is not None:
        if kind == "rate" and factor == 0:
            _refuse(option, "0x", "a rate has to stay above 0")
        return Change(word, factor)
    if kind == "factor":
        _refuse(option, value, "give a factor, as 0.5x")
    return Change(word, (parse_rate if kind == "rate" else parse_seconds)(option, value), False)


def parse_changes(text):
    """Reads "bandwidth=2x,latency=5us". Empty: no change. Raises Unusable naming the part."""
    return [_change_of(part) for part in text.split(",")] if text else []
