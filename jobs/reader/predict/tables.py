"""The tables of predictions: epochs, the model, simulated sums."""

import math
from dataclasses import dataclass

from ..base.estimate import Estimate, exactly
from ..base.text import count_text, counted, first_few, setting_text
from ..runs.run import folder_name
from ..study.conclude import DOUBTS, doubted_runs
from ..study.observation import observe
from ..tables.table import Field, Table

_DEFINITIONS = (
    "Speedup is the predicted epoch time on one rank over that on P, for as many images; efficiency is speedup / P.",
    "Of a full step, in ms: compute = forward, loss, backward of a mean rank; rest = input, optimizer, bookkeeping; "
    "straggling = by how much the slowest of P ranks is later; exposed = communication that backward does not hide. "
    "They add up to the step. all-reduce = communication, hidden or not.",
    "An epoch is its full steps and a last, partial one with the images that are left.",
)
PLUS_MINUS = ("+-: half of the 90 % interval of a single run, as a share s of the figure before it: from the figure / "
              "(1 + s) to the figure x (1 + s)")
_CERTAIN = (f"{PLUS_MINUS}; of the epoch also that of images/s, step and rank-hours, of eff. also that of speedup. It "
            "follows from how far the runs are from the model, and from the model without each of them. It does not "
            "know what no run shows, such as a switch that many ranks share.")
_WIDEST = 9.0
_TOO_WIDE = "runs differ so much that an interval would reach to more than ten times the figure"
_UNCERTAIN = "Intervals need two runs or more of this network on several ranks: repeat them."


@dataclass
class Price:
    """What a rank costs, and what is worth it."""

    per_rank_hour: float = None  # in any currency
    watts: float = None  # of a rank
    least_efficiency: float = 0.8  # a share


def rank_hours(epoch):
    return epoch.scenario.ranks * epoch.seconds / 3600


def _images_per_rank(epoch):
    """Of its first step, which is a full one where there is any."""
    images = epoch.scenario.global_batch if epoch.full_steps else epoch.partial_images
    return images / epoch.scenario.ranks


def efficiency_of(epoch, one_rank):
    """Of images a second: epochs that leave out a last batch may have other images."""
    return epoch.images_per_second() / one_rank.images_per_second() / epoch.scenario.ranks


def within(value, plus_minus):
    """The value with its interval."""
    if math.isnan(plus_minus):
        return exactly(value)
    return Estimate(value, value / (1 + plus_minus), value * (1 + plus_minus))


def half_of(share):
    """As a cell: not determined where the interval reaches to more than ten times the figure."""
    return exactly(share).because(_TOO_WIDE) if share > _WIDEST else share


def _interval(key, half):
    return Field(key, "+-, %", "percent", half_of(half))


def _fields_of(epoch, one_rank, price):
    efficiency, ranks, step, sure = efficiency_of(epoch, one_rank), epoch.scenario.ranks, epoch.full, epoch.plus_minus
    certain = not math.isnan(sure.epoch)
    fields = [
        Field("ranks", "P", "count", ranks),
        Field("steps", "steps", "count", epoch.steps()),
        Field("images_per_rank", "images/rank", "count", _images_per_rank(epoch)),
        Field("epoch_seconds", "epoch, s", "seconds", epoch.seconds),
        *[_interval("epoch_plus_minus", sure.epoch)] * certain,
        Field("images_per_second", "images/s", "rate", epoch.images_per_second()),
        Field("speedup", "speedup", "ratio", efficiency * ranks),
        Field("efficiency", "eff., %", "percent", efficiency),
        *[_interval("efficiency_plus_minus", sure.speedup)] * certain,
        Field("step_seconds", "step, ms", "millis", step.seconds),
        Field("compute_seconds", "compute", "millis", step.compute),
        Field("rest_seconds", "rest", "millis", step.rest),
        Field("straggling_seconds", "straggling", "millis", step.straggling),
        Field("exposed_seconds", "exposed", "millis", step.exposed),
        Field("all_reduce_seconds", "all-reduce", "millis", step.all_reduce),
        *[_interval("all_reduce_plus_minus", sure.all_reduce)] * certain,
        Field("rank_hours", "rank-hours", "gigabytes", rank_hours(epoch)),
    ]
    if price.per_rank_hour is not None:
        fields.append(Field("cost", "cost", "gigabytes", rank_hours(epoch) * price.per_rank_hour))
    if price.watts is not None:
        fields.append(Field("kilowatt_hours", "kWh", "gigabytes", rank_hours(epoch) * price.watts / 1000))
    return fields


def _epoch_text(epoch):
    """With its interval, where there is one."""
    return within(epoch.seconds, epoch.plus_minus.epoch).text("seconds")


def _most_efficient_text(forecasts, one_rank, least):
    bound = f"{least * 100:.4g} %"
    enough = [epoch for epoch in forecasts if efficiency_of(epoch, one_rank) >= least]
    if not enough:
        return f"No P in the table has an efficiency of {bound} or more."
    most = enough[-1]
    return (f"Most ranks at an efficiency of {bound} or more: P = {count_text(most.scenario.ranks)}, "
            f"{_epoch_text(most)} an epoch.")


def _sweet_spots(forecasts, one_rank, least):
    fastest = min(forecasts, key=lambda epoch: epoch.seconds)
    cheapest = min(forecasts, key=rank_hours)
    return [f"Shortest epoch: P = {count_text(fastest.scenario.ranks)}, {_epoch_text(fastest)} at an efficiency of "
            f"{100 * efficiency_of(fastest, one_rank):.1f} %.",
            f"Lowest cost: P = {count_text(cheapest.scenario.ranks)}, {rank_hours(cheapest):.3g} rank-hours an epoch.",
            _most_efficient_text(forecasts, one_rank, least)]


def _price_notes(price):
    notes = []
    if price.per_rank_hour is not None:
        notes.append(f"cost: of an epoch, {setting_text(price.per_rank_hour)} a rank-hour, in the price's currency.")
    if price.watts is not None:
        notes.append(f"kWh: of an epoch, {setting_text(price.watts)} W a rank.")
    return notes


def _doubt_text(code, runs):
    return f"{DOUBTS[code].reason} ({first_few((folder_name(run.file) for run in runs), 3)}): {DOUBTS[code].remedy}"


def held_back(runs):
    """Why no number of ranks is recommended: what holds back conclusions from runs that the model is fitted to. Empty:
    nothing does."""
    doubted = doubted_runs([observe(run) for run in runs])
    if not doubted:
        return ""
    texts = [_doubt_text(code, [run for run, codes in doubted if code in codes])
             for code in dict.fromkeys(code for _, codes in doubted for code in codes)]
    return (f"No number of ranks is recommended, because {len(doubted)} of the {counted(len(runs), 'run')} that the "
            f"model is fitted to did not measure what they seem to: {'; '.join(texts)}.")


def _wide_text(forecasts):
    """Why no number of ranks is recommended, where intervals say nothing; empty: they do."""
    wide = [epoch for epoch in forecasts if max(epoch.plus_minus.epoch, epoch.plus_minus.speedup) > _WIDEST]
    if not wide:
        return ""
    return (f"No number of ranks is recommended, because {len(wide)} of the "
            f"{counted(len(forecasts), 'prediction')} may be wrong by more than a factor of ten: repeat the runs on a "
            "machine that nothing else uses.")


def forecast_table(forecasts, one_rank, price, why_not=""):
    """`forecasts` by P. `one_rank`: the epoch on one rank of the same batch per rank, or, for one global batch, of
    that. `why_not`: what holds recommendations back."""
    table = Table("forecast", "Predicted epochs")
    for epoch in forecasts:
        table.add_fields(_fields_of(epoch, one_rank, price))
    certain = not math.isnan(forecasts[0].plus_minus.epoch)
    why_not = why_not or _wide_text(forecasts)
    advice = [why_not] if why_not else _sweet_spots(forecasts, one_rank, price.least_efficiency)
    table.notes += [*advice, *_DEFINITIONS,
                    _CERTAIN if certain else _UNCERTAIN, *_price_notes(price)]
    return table


def _seconds_with_unit(seconds):
    """52.1 us, 1.2 ms, 3.4 s."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def _rate_with_unit(seconds_per_byte):
    """118 MB/s, 1.25 GB/s."""
    if seconds_per_byte == 0:
        return "unlimited"
    rate = 1 / seconds_per_byte
    return f"{rate * 1e-9:.4g} GB/s" if rate >= 1e9 else f"{rate * 1e-6:.4g} MB/s"


def _add_link(table, where, link, fitted):
    source, error = "given", None
    if fitted and link == fitted.link:
        source, error = fitted.source, fitted.fit.typical_error
    table.add(["alpha" + where, _seconds_with_unit(link.alpha), link.alpha, error, source])
    table.add(["1 / beta" + where, _rate_with_unit(link.beta), link.beta, error, source])


def _add_machine(table, fit):
    machine, fitted = fit.model.machine, fit.machine
    if machine.ranks_per_node == 1:
        _add_link(table, "", machine.between, fitted.only())
    else:
        _add_link(table, " inside nodes", machine.inside, fitted.inside)
        _add_link(table, " between nodes", machine.between, fitted.between)
    source = counted(fitted.gamma_rows, "bucket") + " of runs" if fitted.gamma_rows else ""
    text = _rate_with_unit(machine.gamma) if machine.gamma > 0 else "unknown"
    table.add(["1 / gamma", text, machine.gamma, None, source])


def _add_compute(table, fit):
    compute, source, error = fit.model.compute, "given", None
    if fit.compute:
        source, error = counted(fit.compute.runs, "run"), fit.compute.fit.typical_error
    for figure, seconds, relative_error in (("t0", compute.fixed, error), ("t1, an image", compute.per_image, error),
                                            ("input, an image", compute.input_per_image, None),
                                            ("update and other", compute.update, None)):
        table.add([figure, _seconds_with_unit(seconds), seconds, relative_error, source])


def fit_table(fit):
    table = Table(
        "model", "The cost model",
        [("figure", "figure", "text"), ("text", "value", "text"), ("value", "in SI units", "gigabytes"),
         ("relative_error", "error, %", "percent"), ("source", "from", "text")],
        ["A message of n bytes takes alpha + n beta; adding n bytes n gamma; forward, loss and backward of b images t0 "
         "+ t1 b. beta and gamma are shown as rates.",
         "error: root of the mean square of (fitted - measured) / measured of what the two figures were fitted to."])
    _add_machine(table, fit)
    _add_compute(table, fit)
    table.notes += fit.notes
    return table


def simulation_table(sums, noise):
    table = Table("simulation", "The ring, message by message")
    for one in sums:
        table.add_fields([
            Field("ranks", "P", "count", one.ranks),
            Field("messages", "messages in a row", "count", 2 * (one.ranks - 1)),
            Field("bytes", "bytes", "bytes", one.bytes),
            Field("closed_seconds", "closed form, ms", "millis", one.closed),
            Field("quiet_seconds", "simulated, ms", "millis", one.quiet),
            Field("noisy_seconds", "with noise, ms", "millis", one.noisy),
            Field("noisy_ratio", "noisy / closed", "ratio", one.noisy / one.closed if one.closed > 0 else None),
            Field("rings", "rings", "count", one.rings)])
    table.notes.append(
        f"Noise: each message takes (1 - {noise:.3g}) of its mean and an exponentially distributed time of mean "
        f"{noise:.3g} of it. A rank that waits delays its neighbour; for many ranks the messages take "
        f"{1 + noise:.3g} times as long. rings: how many were simulated; the table has their mean.")
    return table
