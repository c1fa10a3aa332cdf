"""How series look. They differ in marker, dash and lightness, so that no reader needs to see colours."""

from collections import namedtuple
from functools import lru_cache

from .report import is_own

Style = namedtuple("Style", "colour marker dash")

# Dark and light ones alternate. Hues after Okabe and Ito's palette, which colour-blind readers can distinguish.
_COLOURS = ("#00305e", "#e69f00", "#0072b2", "#56b4e9", "#7a2800", "#cc79a7", "#00604a", "#8fbf3f")
_MARKERS = ("o", "s", "^", "D", "v", "P", "<", "*", ">", "h", "X", "p", "d")
_DASHES = ("-", (0, (6, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
# What rueda did not run: grey, dotted.
_OTHER_COLOURS = ("#4d4d4d", "#9a9a9a", "#000000", "#767676")
_OTHER_MARKERS = ("X", "P", "*", "h")
_DOTTED = (0, (1, 1.6))

IDEAL_COLOUR = "#000000"
MEASURED = "#0072b2"
LIGHT = "#9fcbe8"
GRID = "#d4d4d4"
QUIET = "#555555"

PHASE_LOOKS = {  # face, hatch
    "load": ("#f2f2f2", "..."),
    "copy": ("#d0d0d0", "xx"),
    "forward": ("#a8c8e8", ""),
    "loss": ("#c4c4c4", "\\\\\\"),
    "backward": ("#2f6aa8", ""),
    "all_reduce": ("#f0b030", "//"),
    "optimizer": ("#1f3f1f", ""),
    "other": ("#ffffff", ""),
}

_SETTINGS = {
    "font.family": "DejaVu Sans",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "hatch.linewidth": 0.8,
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
}


def settings(size=13):
    """matplotlib's rcParams for letters of this size in points."""
    sizes = {"font.size": size, "axes.titlesize": size + 2, "axes.labelsize": size, "legend.fontsize": size - 1}
    return {**_SETTINGS, **sizes}


def _own_style(i):
    return Style(_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)], _DASHES[i % len(_DASHES)])


def _other_style(i):
    return Style(_OTHER_COLOURS[i % len(_OTHER_COLOURS)], _OTHER_MARKERS[i % len(_OTHER_MARKERS)], _DOTTED)


def styles_for(all_series):
    """A Style for each of a chart's series, in order. Other sources are grey where rueda's own series are shown too."""
    own = other = 0
    result = []
    has_own = any(map(is_own, all_series))
    for series in all_series:
        if is_own(series) or not has_own:
            result.append(_own_style(own))
            own += 1
        else:
            result.append(_other_style(other))
            other += 1
    return result


def style_at(i):
    """For lines that are no series: one for each number of ranks, for instance."""
    return _own_style(i)


@lru_cache(maxsize=None)
def _letters():
    """Code points that the charts' letters are drawn for."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(_SETTINGS["font.family"])).get_charmap())


def is_drawn(words):
    """Whether the charts' letters have all of the words: what they lack would be an empty box."""
    return all(ord(letter) in _letters() for letter in words)


def plain(words):
    """So that a dollar sign in a label is no formula."""
    return words.replace("$", r"\$")
