"""From the seconds of steps to the figures of the benchmark and its report, with what it ran on."""

import os
import platform
from pathlib import Path
from statistics import fmean, median

CEILING = "convolutions"
OURS = ("rueda", "rueda-2-ranks")
# Those that decide how fast oneDNN, and with it all contestants, can be.
EXTENSIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "avx512_fp16")


def figure(report, task):
    """A worker's report with its speed, from the median step of all passes but the first, and its losses."""
    counted = report["step_seconds"][task["batches"] :] or report["step_seconds"]
    losses = [report["losses"][: task["batches"]], report["losses"][-task["batches"] :]]
    speed = task["batch"] / median(counted)
    return {**report, "images_per_second": speed, "losses_of_passes": [fmean(some) for some in losses if some]}


def median_of(reports, key):
    """None of a contestant that failed, or that did not run."""
    values = [report.get(key) for report in reports]
    return median(values) if values and None not in values else None


def as_markdown(machine, results):
    """The whole report: what it ran on, with which versions, and a table of each case."""
    cores = machine["cores"]
    extensions = " ".join(machine["extensions"]) or "no extensions that matter here"
    reports = [one for result in results for of_name in result["reports"].values() for one in of_name]
    versions = {name: text for one in reports for name, text in one.get("versions", {}).items()}
    return "\n\n".join([
        f"{machine['processor']} ({extensions}), cores {','.join(map(str, cores))}; load before the start "
        f"{machine['load_before']:.2f}",
        ", ".join(f"{name} {text}" for name, text in versions.items()) or "no versions",
        *(table(result, len(cores)) for result in results),
    ])  # fmt: skip


def table(result, cores):
    reports = dict(result["reports"])
    ceiling = reports.pop(CEILING, [])
    speeds = {name: median_of(of_name, "images_per_second") for name, of_name in reports.items()}
    most = {key: median_of(ceiling, key) for key in ("images_per_second", "flop_per_image")}
    best = max((speed for name, speed in speeds.items() if speed and name not in OURS), default=None)
    return "\n".join([
        f"{result['model']}, {result['image_size']} pixels, batch {result['batch']}, {result['precision']}; rounds: "
        f"{len(ceiling)}; {CEILING} alone: {shown(most['images_per_second'], '.1f')} images/s",
        "",
        "| contestant | images/s | minimum to maximum | GFLOP/s per core | share of ceiling | rueda / it "
        "| 2 ranks / it | peak MB | losses |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
        *(row(name, of_name, speeds, most, cores) for name, of_name in reports.items()),
        "",
        f"best other: {shown(best, '.1f')} images/s; rueda / best other: "
        + ", ".join(shown(ratio(speeds.get(name), best), ".2f") for name in OURS),
    ])  # fmt: skip


def row(name, reports, speeds, most, cores):
    failures = [report["failure"] for report in reports if "failure" in report]
    if failures or not reports:
        return f"| {name} | failed: {(failures or ['not run'])[0]} |" + " |" * 7
    each, own = [report["images_per_second"] for report in reports], speeds[name]
    cells = [
        name, f"{own:.1f}", f"{min(each):.1f} to {max(each):.1f}",
        shown(most["flop_per_image"] and own * most["flop_per_image"] / cores / 1e9, ".1f"),
        shown(ratio(own, most["images_per_second"]), ".0%"),
        *(shown(ratio(speeds.get(ours), own), ".2f") for ours in OURS),
        f"{median_of(reports, 'peak_bytes') / 1e6:.0f}",
        ", ".join(f"{loss:.3f}" for loss in reports[0]["losses_of_passes"]),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def ratio(one, other):
    return one / other if one and other else None


def shown(value, form):
    return f"{value:{form}}" if value else ""


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
