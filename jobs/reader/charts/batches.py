"""The sweep over batch sizes: throughput over the images of each rank, a line for each P. Marks the sizes
that did not fit into memory."""

from .chart import Chart, horizontal_grid, legend_below, powers_of_two_axis, value_axis
from .lines import draw_series, hollow_entry
from ..base.text import count_text
from .quantity import THROUGHPUT, figure_text, is_hollow, ranks_of, remarks_on
from .report import entries, estimate, is_own, number, text
from .style import plain, style_at


def _key(series):
    """What stays the same in a sweep."""
    return tuple(text(series.get(name)) for name in ("source", "model", "variant", "processor", "image_size"))


def sweeps(all_series):
    """[(key, {ranks: {images of each rank: point}})]; a point may be in a weak and a strong series."""
    found = {}
    for series in all_series:
        for point in series["points"]:
            batch = number(point.get("rank_batch"))
            if batch and batch > 0 and estimate(point, THROUGHPUT.key):
                by_ranks = found.setdefault(_key(series), {})
                by_ranks.setdefault(ranks_of(point), {}).setdefault(int(batch), point)
    return [(key, one) for key, one in found.items() if any(len(batches) > 1 for batches in one.values())]


def _refused_rows(report):
    """Rows of the table `batches` about what was refused, by the keys of its columns."""
    for table in entries(report, "tables"):
        keys = [column.get("key") for column in table["columns"]]
        for row in table["rows"] if table.get("id") == "batches" else ():
            cells = dict(zip(keys, row))
            if text(cells.get("marks")).startswith("refused"):
                yield cells


def refused_in(report, model):
    """{images of each rank: [ranks]} that were refused, of a model."""
    found = {}
    for cells in _refused_rows(report):
        ranks, batch = number(cells.get("ranks")), number(cells.get("rank_batch"))
        if ranks and batch and text(cells.get("model")) == model:
            found.setdefault(int(batch), set()).add(int(ranks))
    return {batch: sorted(ranks) for batch, ranks in sorted(found.items())}


def _mark_refused(axes, refused):
    """A cross on the axis, with the numbers of ranks above."""
    upon_axis = axes.get_xaxis_transform()
    for batch, ranks in refused.items():
        axes.plot([batch], [0.03], "x", color="black", markersize=11, markeredgewidth=2.4, transform=upon_axis)
        words = "refused\nP = " + ", ".join(map(str, ranks))
        axes.annotate(
            words, (batch, 0.03), (0, 10), xycoords=upon_axis, textcoords="offset points", ha="center",
            va="bottom", fontsize="small",
        )  # fmt: skip


def draw(axes, by_ranks, refused):
    handles, ends = [], []
    for i, (ranks, batches) in enumerate(sorted(by_ranks.items())):
        known = [(batch, point, estimate(point, THROUGHPUT.key)) for batch, point in sorted(batches.items())]
        moved = [({**point, "ranks": batch}, rate) for batch, point, rate in known]
        handles.append(draw_series(axes, moved, 1, style_at(i), f"P = {ranks}"))
        ends += [end for _, value in moved for end in (value.low, value.high)]
    batches = {batch for one in by_ranks.values() for batch in one}
    powers_of_two_axis(axes.xaxis, batches | set(refused), "images of each rank in a step")
    value_axis(axes, ends, "images/s of all ranks")
    horizontal_grid(axes)
    _mark_refused(axes, refused)
    hollow = any(is_hollow(point) for one in by_ranks.values() for point in one.values())
    legend_below(axes, handles + ([hollow_entry()] if hollow else []))


def _rows(by_ranks, batches):
    return [
        [f"P = {ranks}", *[figure_text(THROUGHPUT, points.get(batch)) for batch in batches]]
        for ranks, points in sorted(by_ranks.items())
    ]


def charts(report):
    """A chart for each model that was run with several batch sizes."""
    made = []
    found = sweeps(report["series"])
    titles = _titles([key for key, _ in found])
    for i, (key, by_ranks) in enumerate(found):
        refused = refused_in(report, key[1]) if is_own({"source": key[0]}) else {}
        batches = sorted({batch for one in by_ranks.values() for batch in one})
        shown = [{"source": key[0], "processor": key[3], "points": list(one.values())} for one in by_ranks.values()]
        remarks = remarks_on(shown, THROUGHPUT.key)
        remarks += [
            f"Refused, because it does not fit: {count_text(batch)} images a rank." for batch in refused
        ]
        made.append(_chart(i, titles[i], by_ranks, refused, batches, remarks))
    return made


def _chart(i, title, by_ranks, refused, batches, remarks):
    return Chart(
        "batch-sweep" + (f"-{i + 1}" if i else ""), f"{title}: batch sizes", "Batch sizes",
        lambda axes: draw(axes, by_ranks, refused), ["images/s", *map(str, batches)],
        _rows(by_ranks, batches), remarks,
    )  # fmt: skip


def _titles(keys):
    """Of each sweep; processor and pixels where sweeps differ in them."""
    return [_title(key, len({other[3] for other in keys}) > 1, len({other[4] for other in keys}) > 1) for key in keys]


def _title(key, with_processor, with_pixels):
    source, model, variant, processor, pixels = key
    words = [model, variant, source if source.lower() != "rueda" else ""]
    words += [processor.upper()] if with_processor and processor != "timed" else []
    words += [f"{pixels} pixels"] if with_pixels and pixels else []
    words += ["nothing computed"] if processor == "timed" else []
    return plain(", ".join(word for word in words if word))
