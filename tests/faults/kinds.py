"""The registry of faults: a kind's name, what it is, and what its plans need."""

from dataclasses import dataclass
from typing import Callable

KINDS = {}


@dataclass(frozen=True)
class Kind:
    """`put_in` gets a Trial; raises Failed, or Skip."""

    name: str
    title: str
    put_in: Callable
    wishes: dict  # of draw_plan


def kind(name, title, **wishes):
    def register(function):
        KINDS[name] = Kind(name, title, function, {"ranks": (2, 3, 4), **wishes})
        return function

    return register
