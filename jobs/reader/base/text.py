"""Numbers and names in words: the one place where the reader decides how a value looks. The program's own tables show
numbers alike (src/display/text.hpp)."""

import math

NOTHING = "-"
_UNITS = ("B", "kB", "MB", "GB", "TB")


def _decimals(value, least):
    """Decimals that leave three significant digits, `least` of them at least."""
    if not math.isfinite(value) or value == 0:
        return least
    return min(12, max(least, 2 - math.floor(math.log10(abs(value)))))


def seconds_text(seconds):
    """6.412, 0.321, 0.0214, 0.00123: three decimals, more below 0.1 so that three digits remain."""
    return f"{seconds:.{_decimals(seconds, 3)}f}"


def rate_text(value):
    """798, 45.2, 3.21: three digits that count, no decimals from 100 on."""
    return f"{value:.{_decimals(value, 0)}f}"


def bytes_text(value):
    """1.09 MB, 44.7 MB: decimal units."""
    unit = 0
    while value >= 1000 and unit + 1 < len(_UNITS):
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} B" if unit == 0 else f"{rate_text(value)} {_UNITS[unit]}"


def size_text(size, _=None):
    """Of a round number of bytes, for an axis: 10 MB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size:g} B"


def setting_text(value):
    """0.2, 0.1, 1e-04: the shortest text that reads back as the same number, as the program writes it."""
    return repr(float(value)).removesuffix(".0")


def count_text(count):
    """11,173,962. Halves are rounded away from zero, as the program rounds."""
    return f"{math.floor(max(0.0, count) + 0.5):,}"


def millis_text(seconds):
    """Milliseconds with three digits that count, but no more than three decimals."""
    size = abs(1e3 * seconds)
    if size < 5e-4:
        return "0.000"
    decimals = 3
    if size >= 1:
        decimals = 2
    if size >= 10:
        decimals = 1
    return f"{1e3 * seconds:.{decimals}f}"


def shown_seconds(seconds):
    """Microseconds are noise in a table of seconds."""
    return seconds_text(0 if abs(seconds) < 5e-4 else seconds)


def shown_rate(rate):
    return count_text(rate) if rate >= 1000 else rate_text(rate)


def ratio_text(ratio):
    return f"{ratio:.2f}"


def percent_text(share):
    return f"{100 * share:.1f}"


def gigabytes_text(value):
    return f"{value:.3g}"


SHOW = {
    "text": setting_text,
    "count": count_text,
    "seconds": shown_seconds,
    "millis": millis_text,
    "rate": shown_rate,
    "ratio": ratio_text,
    "percent": percent_text,
    "bytes": bytes_text,
    "gigabytes": gigabytes_text,
}
"""How a column shows its numbers. report.json names them by these words."""

UNITS = {"seconds": " s", "millis": " ms", "percent": " %", "rate": " images/s", "gigabytes": " GB/s"}
"""What follows a number outside a table, whose headings have the units."""


def cell_text(cell, show):
    """The text of a table's cell, whose column is shown as `show`; a dash where nothing is known."""
    if isinstance(cell, str):
        return cell or NOTHING
    if cell is None or isinstance(cell, (list, dict)) or not math.isfinite(cell):
        return NOTHING
    return SHOW.get(show, setting_text)(cell)


def unit_of_time(seconds):
    """(factor, unit) in which the largest of these reads well."""
    largest = max((abs(one) for one in seconds), default=1)
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if largest * factor >= 0.9995:
            return factor, unit
    return (1, "s") if largest == 0 else (1e6, "µs")


def plural(count, noun):
    """"epoch", "epochs": a noun after this number."""
    if count == 1:
        return noun
    return noun + ("es" if noun.endswith(("tch", "s")) else "s")


def counted(count, noun):
    """"1 rank", "2 ranks", "50,000 images"."""
    return f"{count_text(count)} {plural(count, noun)}"


def added_to_list(words, word, separator=", "):
    """`words`, a list in a text, with one word more."""
    return words + separator + word if words else word


def first_few(names, most):
    """"a, b, ...": the first `most` of the names."""
    names = list(names)
    return ", ".join(names[:most] + ["..."] * (len(names) > most))


def in_utf8(text):
    """Bytes of a file's text; what a name on the disk has that is no UTF-8 becomes "?"."""
    return text.encode("utf-8", "replace")


def printable(text, longest=60):
    """A name from elsewhere, cut, in one line: what controls a terminal or hides text is spelled out."""
    text = str(text)
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:longest])
    return shown + ("..." if len(text) > longest else "")
