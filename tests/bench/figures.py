"""From the seconds of steps to the figures of the benchmark and its report, with what it ran on."""

import os
import platform
from pathlib import Path
from statistics import fmean, median

REFERENCE = "rueda"
# Those that decide how fast oneDNN, and with it all contestants, can be.
EXTENSIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "avx512_fp16")


def images_per_second(reports, batch, batches):
    """Of each process: its batch divided by the median step of all passes but the first."""
    return [batch / median(report["step_seconds"][batches:]) for report in reports]


def summarise(reports, batch, batches):
    """Contestant to its figures: median and range over its processes, its losses, its versions."""
    figures = {name: summarise_one(of_name, batch, batches) for name, of_name in reports.items()}
    reference = figures.get(REFERENCE, {}).get("images_per_second")
    for figure in figures.values():
        own = figure.get("images_per_second")
        if reference and own:
            figure["rueda_is_times_as_fast"] = reference["median"] / own["median"]
    return figures


def summarise_one(reports, batch, batches):
    failures = [report["failure"] for report in reports if "failure" in report]
    if failures:
        return {"failure": failures[0]}
    speeds = images_per_second(reports, batch, batches)
    losses = reports[0]["losses"]
    return {
        "images_per_second": {"median": median(speeds), "min": min(speeds), "max": max(speeds)},
        "first_pass_loss": fmean(losses[:batches]),
        "last_pass_loss": fmean(losses[-batches:]),
        "versions": reports[0]["versions"],
        "processes": reports,
    }


def as_markdown(machine, results, arguments):
    """The whole report: what it ran on, by which method, with which versions, and a table of each case."""
    cores = ",".join(map(str, machine["cores"]))
    extensions = " ".join(machine["extensions"]) or "no extensions that matter here"
    figures = [figure for result in results for figure in result["contestants"].values()]
    versions = {name: text for figure in figures for name, text in figure.get("versions", {}).items()}
    return "\n\n".join([
        f"{machine['processor']} ({extensions}), cores {cores}; load before the start {machine['load_before']:.2f}",
        f"{arguments['rounds']} processes per contestant, taking turns; of each the median step of "
        f"{arguments['passes'] - 1} passes over {arguments['batches']} batches, after one pass that does not count",
        ", ".join(f"{name} {text}" for name, text in versions.items()) or "no versions",
        *map(table, results),
    ])  # fmt: skip


def table(result):
    rows = [
        f"{result['model']}, {result['image_size']} pixels, batch {result['batch']}, {result['precision']}",
        "",
        "| contestant | images/s | least to most | rueda is ... times as fast | loss of the first and the last pass |",
        "|---|---|---|---|---|",
    ]
    return "\n".join(rows + [row(name, one) for name, one in result["contestants"].items()])


def row(name, figure):
    if "failure" in figure:
        return f"| {name} | failed: {figure['failure']} | | | |"
    speed = figure["images_per_second"]
    ratio = figure.get("rueda_is_times_as_fast")
    cells = [
        name,
        f"{speed['median']:.1f}",
        f"{speed['min']:.1f} to {speed['max']:.1f}",
        f"{ratio:.2f}" if ratio else "",
        f"{figure['first_pass_loss']:.3f}, {figure['last_pass_loss']:.3f}",
    ]
    return f"| {' | '.join(cells)} |"


def describe_machine(cores):
    """By the first processor's lines in /proc/cpuinfo."""
    file = Path("/proc/cpuinfo")
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    lines = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    flags = fields.get("flags", "").split()
    return {
        "processor": fields.get("model name", platform.machine()),
        "extensions": [name for name in EXTENSIONS if name in flags],
        "cores": cores,
        "load_before": os.getloadavg()[0],
    }
