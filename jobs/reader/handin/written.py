"""Numbers, units and headings as people write them."""

import math
import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_MOST_EXPONENT = 300
_LEADING = re.compile(r"[\s'~≈x×]*")
_SPREAD = re.compile(r"±|\+/-|\+-")  # what follows it is how far the number may be off
_READINGS = [re.compile(rf"(-?)([0-9]+|[0-9]{{1,3}}(?:{group}[0-9]{{3}})+)(?:{point}([0-9]*))?(?![0-9,.])"
                        r"(?:[eE]([+-]?[0-9]{1,4}))?([^0-9]*)$") for group, point in ((",", r"\."), (r"\.", ","))]
_BLANK = re.compile(r"[\s–—-]*|n/?a|n\.a\.", re.IGNORECASE)


class Unit(NamedTuple):
    """What a figure measures ("time", "share", "bytes", "rate", "bandwidth"), and how much of the unit of the tables of
    the runs it is."""

    kind: str
    factor: float


_UNITS = (
    ("time", 1, "s sec secs second seconds segundo segundos segon segons"),
    ("time", 1e-3, "ms msec millisecond milliseconds milisegundos"),
    ("time", 1e-6, "us µs μs"),
    ("time", 60, "min mins minute minutes minuto minutos minut minuts"),
    ("time", 3600, "h hour hours hora horas hores"),
    ("share", 0.01, "% percent pct porcentaje"),
    ("bytes", 1, "b bytes"),
    ("bytes", 1e3, "kb"),
    ("bytes", 1e6, "mb"),
    ("bytes", 1e9, "gb"),
    ("rate", 1, "images/s images/sec images/second img/s imgs/s im/s imágenes/s imagenes/s imatges/s samples/s"),
    ("rate", 1e3, "kimg/s"),
    ("bandwidth", 1, "gb/s gbps"),  # of GB/s
    ("bandwidth", 1e-3, "mb/s"),
)
_BY_WORD = {word: Unit(kind, factor) for kind, factor, words in _UNITS for word in words.split()}
_IN_BRACKETS = re.compile(r"[(\[]([^)\]]*)[)\]]")


class WrittenNumber(NamedTuple):
    """A number as somebody wrote it."""

    value: float
    half_unit: float  # of its last digit: what rounding to that digit may change
    unit: object = None  # Unit, where one follows the number


def is_blank(cell):
    return _BLANK.fullmatch(cell.strip()) is not None


def unit_named(text):
    """The Unit of this name, or None. A unit of an epoch, a step or the like is the same unit."""
    text = text.strip().lower()
    return _BY_WORD.get(text) or _BY_WORD.get(text.partition("/")[0].strip())


@lru_cache(maxsize=10_000)
def unit_of_heading(heading):
    """Of "Time (ms)", "Time [ms]", "full step, ms", "epoch_s", "ms/step"; None where there is none."""
    bracketed = [unit_named(part) for part in _IN_BRACKETS.findall(heading)]
    last = re.split(r"[,_\s]", _IN_BRACKETS.sub("", heading).strip())[-1]
    return next(filter(None, [*bracketed, unit_named(last)]), None)


def _read(text, pattern):
    match = pattern.match(text)
    if match is None:
        return None
    sign, whole, decimals, exponent, unit = match.groups(default="")
    power = int(exponent or 0)
    if abs(power) > _MOST_EXPONENT:
        return None
    value = float(f"{sign}{re.sub('[,.]', '', whole)}.{decimals}e{power}")
    if not math.isfinite(value):
        return None
    return WrittenNumber(value, 0.5 * 10.0 ** (power - len(decimals)), unit_named(unit))


@lru_cache(maxsize=100_000)
def written_numbers(cell):
    """Every way to read a cell as a number, as a tuple, with commas or points between thousands; empty if it is
    none."""
    text = _SPREAD.split(cell)[0]
    text = text[_LEADING.match(text).end():].rstrip()
    numbers = [_read(text, pattern) for pattern in _READINGS]
    return tuple(number for number in numbers if number is not None)


def _bare(text):
    """In small letters, without accents."""
    letters = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in letters if not unicodedata.combining(c))


@lru_cache(maxsize=100_000)
def plain_name(text):
    """Letters and digits of a name, in small letters, without what stands in brackets or after a comma."""
    return "".join(re.findall("[a-z0-9]", _bare(re.split("[(,]", text)[0])))


def words_of(heading):
    """The words of a heading without accents and units: {"speed", "up"}."""
    text = _IN_BRACKETS.sub(" ", heading).partition(",")[0]
    return frozenset(re.findall("[a-z0-9]+|%|#", _bare(text)))
