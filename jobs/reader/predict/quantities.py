"""Amounts as people write them, a number and a unit: 5us, 544ms, 10GB/s, 1Gbit/s. Units are powers of 1000."""

import re
from dataclasses import dataclass

from ..base.text import printable
from ..start import Unusable

MOST_RANKS = 16_384
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_RATES = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "kbit/s": 1e3 / 8, "Mbit/s": 1e6 / 8,
          "Gbit/s": 1e9 / 8, "Tbit/s": 1e12 / 8}  # fmt: skip
_SHARES = {"": 1.0, "%": 0.01}
_AMOUNT = re.compile(r"(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?) ?(\S*)")


def amount(text, units):
    """A number from 0 on, times what the unit after it stands for; None if it is none."""
    match = _AMOUNT.fullmatch(text) if text.isascii() else None
    value = float(match[1]) if match and match[2] in units else float("inf")
    return value * units[match[2]] if value < float("inf") else None


def _refuse(option, text, remedy):
    raise Unusable(f"{option} '{printable(text)}': {remedy}")


def _parsed(option, text, units, remedy):
    value = amount(text, units)
    return _refuse(option, text, remedy) if value is None else value


def parse_seconds(option, text):
    """Seconds, of s, ms, us or ns; 0 is allowed. Raises Unusable."""
    return _parsed(option, text, _SECONDS, "give a time with its unit, as 5us, 544ms or 1.5s")


def parse_rate(option, text):
    """Bytes per second, above 0. Raises Unusable."""
    remedy = "give a rate above 0 with its unit, as 10GB/s, 118MB/s or 1Gbit/s"
    return _parsed(option, text, _RATES, remedy) or _refuse(option, text, remedy)


def parse_share(option, text):
    """A share, as 20% or 0.2; from 0 on. Raises Unusable."""
    return _parsed(option, text, _SHARES, "give a share, as 20% or 0.2")


def _continue_to(ranks, last):
    """Appends what stands for "..." between `ranks` and `last`."""
    a, b = ranks[-2:]
    grows = b % a == 0 and (len(ranks) < 3 or b * ranks[-3] == a * a)
    following = b * b // a if grows else 2 * b - a
    while following < last:
        ranks.append(following)
        following = following * (b // a) if grows else following + b - a


def parse_rank_list(option, text):
    """Numbers of ranks, as 1,2,4, or 1,2,4,...,64 for what goes on by the same factor or, if the last two of three
    do not have the factor of the first two, by the same difference. Ascending, each once. Raises Unusable."""
    ranks, goes_on, valid = [], False, True
    for word in text.split(","):
        if word == "...":
            valid = valid and len(ranks) >= 2 and not goes_on
            goes_on = True
            continue
        number = int(word) if re.fullmatch(r"\d{1,18}", word, re.ASCII) else 0
        valid = valid and (ranks[-1] if ranks else 0) < number <= MOST_RANKS
        if not valid:
            break
        if goes_on:
            _continue_to(ranks, number)
        goes_on = False
        ranks.append(number)
    if valid and not goes_on and ranks:
        return ranks
    return _refuse(option, text,
                   f"give numbers of ranks from 1 to {MOST_RANKS} in ascending order, as 1,2,4 or 1,2,4,...,64")


@dataclass
class MeasuredEpoch:
    """An epoch time of P ranks."""

    ranks: int
    seconds: float


def parse_measured(word):
    """"1:13.6s" for an epoch on one rank. Raises Unusable."""
    ranks, colon, time = word.partition(":")
    subject = f"--measured '{printable(word)}': "
    if not colon:
        raise Unusable(subject + "give epoch times by number of ranks, as 1:13.6s,2:8.1s")
    count, seconds = parse_rank_list("--measured", ranks)[0], parse_seconds("--measured", time)
    if not seconds > 0:
        raise Unusable(subject + "the time must be above 0")
    return MeasuredEpoch(count, seconds)
