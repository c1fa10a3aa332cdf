"""The command line of a command of rueda: help and refusals as the program itself has them.

    line = CommandLine("report", "Makes tables ...", example="  rueda report study --out study/report")
    line.add_argument("places", metavar="RUN_DIR", nargs="*", help="Run directories ...")
    line.add_argument("--out", metavar="DIR", default="", help="Writes ... to this directory")
    line.add_choice("--plots", ("auto", "on", "off"), default="auto", help="Draws ...")
    options = line.parse(words)

Needs no library, so that --help works everywhere.
"""

import argparse
import re
import shutil
import textwrap

from .start import Unusable, printable

_COLUMN = 26  # where help texts begin
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_LONGEST = 40  # letters of a word that a hint is looked for
_SHORT = 3  # letters of a word that is another word with another letter: no is not on
_ELSEWHERE = {"yes": "on", "true": "on", "no": "off", "false": "off", "none": "off"}


def _edits_between(word, known):
    """Letters to insert, remove, change, or swap with their neighbour (optimal string alignment)."""
    before, row = [], list(range(len(known) + 1))
    for i, letter in enumerate(word):
        last, before, row = before, row, [i + 1]
        for j, other in enumerate(known):
            best = min(before[j] + (letter != other), before[j + 1] + 1, row[j] + 1)
            if i and j and (letter, word[i - 1]) == (known[j - 1], other):
                best = min(best, last[j - 1] + 1)
            row.append(best)
    return row[-1]


def _slips_between(word, known):
    """What a word that is the beginning of another lacks is no slip."""
    if known.startswith(word):
        return 0
    word = word.lower()
    if len(word) <= _SHORT and len(word) == len(known) and word != known:
        return len(word)
    return _edits_between(word, known)


def did_you_mean(word, known):
    """A question that names the nearest of `known`; empty where none is near."""
    slips = {one: _slips_between(word, one) for one in known}
    nearest = min(slips, key=slips.get, default=None) if len(word) <= _LONGEST else None
    return f": did you mean {nearest}?" if nearest and slips[nearest] < 2 + len(word) // 4 else ""


def one_of(words):
    """A `type` of add_argument."""

    def parse(word):
        if word in words:
            return word
        meant = _ELSEWHERE.get(word.lower())
        hint = f": did you mean {meant}?" if meant in words else did_you_mean(word, words)
        give = " Give " if hint else ": give "
        raise argparse.ArgumentTypeError(f"'{printable(word)}' is not known{hint}{give}{' or '.join(words)}")

    return parse


def number(word):
    """A `type` of add_argument."""
    if _NUMBER.fullmatch(word) and abs(float(word)) < float("inf"):
        return float(word)
    raise argparse.ArgumentTypeError(f"'{printable(word)}' is not a number, for example 0.1 or 1e-4")


def whole_number(word):
    """A `type` of add_argument."""
    if re.fullmatch(r"\d{1,18}", word):
        return int(word)
    raise argparse.ArgumentTypeError(f"'{printable(word)}' is not a whole number, for example 100")


def _shown(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


class CommandLine(argparse.ArgumentParser):
    def __init__(self, command, purpose, example):
        super().__init__(prog=f"rueda {command}", description=purpose, add_help=False, allow_abbrev=False)
        self.example = example
        self.add_argument("-h", "--help", action="help", help="Print this help message and exit")

    def add_choice(self, name, words, target=None, **more):
        """An option that takes one of these words, which help lists; None if it is not given and has no default."""
        return (target or self).add_argument(name, metavar="|".join(words), type=one_of(words), **more)

    def parse(self, words):
        """The options of these words. Raises Unusable."""
        for word in words:
            if word.startswith("--") and word.endswith("="):
                self.error(f"{word[:-1]} takes a value")
        options, rest = self.parse_known_intermixed_args(words)
        if rest:
            self._refuse(next((word for word in rest if word.startswith("-")), rest[0]))
        return options

    def _refuse(self, word):
        name = word.partition("=")[0]
        if not name.startswith("-"):
            self.error(f"unexpected argument {printable(word)}")
        dashed = "--" + name.lstrip("-").replace("_", "-").lower()
        known = [one for action in self._actions for one in action.option_strings if one.startswith("--")]
        self.error(f"unknown option {printable(word)}{did_you_mean(dashed, known)}")

    def error(self, message):
        message = re.sub(r"^argument (-h/--help|[^:]+): ", r"\1: ", message)
        message = re.sub(r"^(\S+): expected .*", r"\1 takes a value", message)
        message = re.sub(r"^(\S+): ignored explicit argument .*", r"\1 takes no value", message)
        raise Unusable(f"{message}; see {self.prog} --help")

    def _row(self, action):
        names = ",".join(action.option_strings)
        value = action.metavar if action.nargs != 0 and action.metavar else ""
        label = f"  {names} {value}".rstrip() if names else f"  {value} ..."
        text = action.help or ""
        if names and action.dest != "help" and not text.endswith("]"):
            text += " [off]" if action.nargs == 0 else f" [{_shown(action.default) if action.default else 'none'}]"
        width = max(_COLUMN + 20, shutil.get_terminal_size().columns)
        lines = textwrap.wrap(text, width - _COLUMN, break_on_hyphens=False, break_long_words=False)
        if len(label) + 2 <= _COLUMN and lines:
            label = label.ljust(_COLUMN) + lines.pop(0)
        return "\n".join([label, *[" " * _COLUMN + line for line in lines]])

    def format_help(self):
        """In lines that fit the terminal, each option with its default."""
        positional = [action.metavar for action in self._actions if not action.option_strings]
        usage = " ".join([f"Usage: {self.prog} [OPTIONS]", *[f"[{one}...]" for one in positional]])
        parts = [f"{self.description}\n{usage}"]
        headings = {self._positionals: "Positionals", self._optionals: "Options"}
        for group in self._action_groups:
            rows = [self._row(one) for one in group._group_actions if one.help is not argparse.SUPPRESS]
            if rows:
                parts.append("\n".join([f"{headings.get(group, group.title)}:", *rows]))
        return "\n\n".join([*parts, f"Example:\n{self.example}"]) + "\n"
