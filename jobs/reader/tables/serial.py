"""The table of serial fractions, by Amdahl, by Karp and Flatt, and by Gustafson."""

from ..study.serial import amdahl_speedup, gustafson, karp_flatt, serial_fraction, speedup_limit
from .point_table import point_table, range_cell
from .table import Field

_NOTES = (
    "Amdahl: s of T(P)/T(1) = s + (1 - s)/P, least squares over all P of the series that had a core for each thread, P "
    "counted from the fewest ranks P0; its limit is P0/s. *From, to*: the fits to the extremes of the runs. *By that "
    "fit*: the speedup on P ranks by that s.",
    "Karp-Flatt: the s that one P alone implies, (1/S - 1/P) / (1 - 1/P), from the epoch view. If it grows with P, the "
    "loss is overhead that grows with P, and not serial work.",
    "Gustafson: the s of the scaled speedup S = P - s (P - 1), from the step view, which is that column.",
)


def serial_table(figures):
    """The serial fraction of every series that has a base."""

    def row(f):
        if f.of_fewest_ranks():
            return []
        fit = fits[f.series.id]
        return [Field("speedup", "speedup", "ratio", f.epoch_view.speedup),
                Field("amdahl", "Amdahl fit, %", "percent", fit),
                Field("amdahl_range", "from, to", "text", range_cell(fit, "percent")),
                Field("amdahl_speedup", "by that fit", "ratio", amdahl_speedup(f, fit)),
                Field("amdahl_limit", "speedup limit", "ratio", speedup_limit(f.series, fit)),
                Field("karp_flatt", "Karp-Flatt, %", "percent", karp_flatt(f)),
                Field("scaled_speedup", "scaled speedup", "ratio", f.step_view.speedup),
                Field("gustafson", "Gustafson, %", "percent", gustafson(f))]  # fmt: skip

    fits = {one.series.id: serial_fraction(one.series) for one in figures}
    return point_table("serial_fraction", "Serial fraction", figures, row, _NOTES)
