"""report.json (docs/report.md): all figures of a report, unrounded, unknown ones null."""

from ..base.definitions import PHASES
from ..study.causes import is_determined, lost_margin, most_lost
from ..study.series import amdahl_fraction
from ..study.serial import serial_fraction
from .comparison import comparison_json
from .finding import findings_json, json_value
from .learning import learned_json, run_path
from .measured import measured_json

SCHEMA, SCHEMA_VERSION = "rueda-report", 2
"""The version is raised when a field changes its meaning or goes."""


def _buckets(point):
    """Of the first run. They are the same in all, but for --bucket-mb auto."""
    if not point.runs:
        return []
    run = point.runs[0]
    links = run.sums_go_over_links()
    return [{"bytes": bucket.bytes, "busy_median_seconds": bucket.busy.median,
             "transfer_median_seconds": bucket.transfer.median if links else None}
            for bucket in run.summary.all_steps.buckets]  # fmt: skip


def _communication(f):
    c = f.communication
    if c.inferred != c.inferred:
        return None
    return {
        "inferred": c.inferred, "inferred_same_batch": c.inferred_same_batch, "measured": c.busy, "exposed": c.exposed,
        "wait": c.wait, "transfer": c.transfer, "add": c.add, "bytes_per_step": c.bytes, "algbw_GBps": c.algbw,
        "busbw_GBps": c.busbw, "link_busbw_GBps": c.link_busbw, "buckets": _buckets(f.point),
    }  # fmt: skip


def _losses(base, f):
    if f.losses is None:
        return None
    loss, most = f.losses, most_lost(base, f)
    return {"lost": loss.lost, "phases": {phase: loss.phases[phase] for phase in PHASES}, "waiting": loss.waiting,
            "spread": loss.lost_spread, "margin": lost_margin(base, f), "determined": is_determined(base, f),
            "rest": loss.rest, "most": most and most.key}  # fmt: skip


def _phases(f, phases):
    """Of runs of rueda."""
    return None if f.run is None else {phase: phases[phase] for phase in PHASES}


def _point(base, f):
    p, joules = f.point, f.energy.total()
    return {
        "ranks": p.ranks, "hosts": p.hosts, "rank_batch": p.rank_batch or None, "global_batch": p.global_batch,
        "images": p.images, "steps": p.steps, "repeats": p.repeats, "oversubscribed": p.oversubscribed,
        "includes_warm_up": p.includes_warm_up, "disturbed": p.disturbed, "epoch_seconds": p.epoch,
        "first_epoch_seconds": p.first_epoch, "full_step_seconds": p.full_step, "mean_step_seconds": p.mean_step,
        "images_per_second": f.images_per_second, "images_per_second_per_rank": f.images_per_second * (1 / p.ranks),
        "speedup": f.epoch_view.speedup, "efficiency": f.epoch_view.efficiency, "step_speedup": f.step_view.speedup,
        "step_efficiency": f.step_view.efficiency, "learning_speedup": f.learning.speedup,
        "learning_efficiency": f.learning.efficiency, "steps_of_base": f.learning.steps_of_base,
        "karp_flatt": f.karp_flatt, "gustafson": f.gustafson,
        "phases": _phases(f, f.step_phases), "epoch_phases": _phases(f, f.epoch_phases), "factors": f.factors,
        "communication": _communication(f), "losses": _losses(base, f), "device_seconds": f.device_seconds,
        "joules": joules, "watt_hours": joules / 3600, "run": None if f.run is None else run_path(f.run),
    }  # fmt: skip


def _amdahl(series):
    raw, fit = amdahl_fraction(series), serial_fraction(series)
    if raw is None:
        return None
    return {"serial_fraction": raw.value, "low": raw.low, "high": raw.high, "determined": fit.determined,
            "why": fit.why}


def _gradient_noise(learning):
    """Of all runs of the network; None where no run says anything of it."""
    if not learning.efficiency.known:
        return None
    noise = learning.noise
    return {"scale": noise.scale, "why": noise.scale.why, "epoch": noise.epoch or None, "runs": noise.runs,
            "global_batches": noise.batches}  # fmt: skip


def _series(figures):
    s = figures.series
    return {
        "id": s.id, "label": s.label, "source": s.source, "model": s.model, "variant": s.variant,
        "processor": s.processor.name, "image_size": s.image_size, "scaling": s.scaling.value, "batch": s.batch,
        "points": [_point(figures.points[0], f) for f in figures.points], "amdahl": _amdahl(s),
        "gradient_noise": _gradient_noise(figures.points[0].learning),
    }  # fmt: skip


def runs_shown(figures):
    """The run of each point, each once."""
    runs = [f.run for series in figures for f in series.points if f.run is not None]
    return list({id(run): run for run in runs}.values())


def report_json(report):
    """A Report as a dict that JSON can hold."""
    runs = runs_shown(report.series)
    return json_value({
        "schema": SCHEMA, "schema_version": SCHEMA_VERSION, "title": report.title, "made_with": report.made_with,
        "measured": measured_json(report.all_runs), "findings": findings_json(report.findings),
        "series": [_series(one) for one in report.series], "runs": [learned_json(run) for run in runs],
        "comparison": comparison_json(report.comparison) if report.comparison else None,
        "tables": [table.json() for table in report.tables],
        "layouts": {name: [table.json() for table in tables] for name, tables in report.layouts.items()},
        "predictions": report.predictions,
    })  # fmt: skip
