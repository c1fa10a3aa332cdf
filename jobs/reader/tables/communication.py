"""Tables of communication: its time in an epoch, and its rate."""

import math

from .point_table import point_table
from .table import Field


def _communication_row(f):
    c = f.communication
    if f.of_fewest_ranks():
        return []
    return [
        Field("inferred_seconds", "inferred, s", "seconds", c.inferred),
        Field("inferred_same_batch_seconds", "same batch, s", "seconds", c.inferred_same_batch),
        Field("measured_seconds", "measured, s", "seconds", c.busy),
        Field("exposed_seconds", "exposed, s", "seconds", c.exposed),
        Field("wait_seconds", "waiting, s", "seconds", c.wait),
        Field("transfer_seconds", "transfer, s", "seconds", c.transfer),
        Field("add_seconds", "adding, s", "seconds", c.add),
        Field("exposed_share", "exposed of epoch, %", "percent", c.exposed / f.point.epoch.value),
    ]


_COMMUNICATION_NOTES = (
    "Inferred: T(P) - T(P0) P0/P: all that is not ideal scaling; below 0 where it was better.",
    "Same batch: T(P) - T(1)/P against one rank at this rank's batch, where that was run. It leaves out that small "
    "batches are slower.",
    "Measured: time inside the all-reduce, hidden by backward or not, mean over ranks. Its parts are waiting for ranks "
    "that began later, transfer, and adding.",
    "Exposed: the part that nothing hid, the phase all_reduce.",
)


def communication_table(figures):
    title = "Communication in an epoch, measured in three ways"
    return point_table("communication", title, figures, _communication_row, _COMMUNICATION_NOTES)


def _bandwidth_row(f):
    c = f.communication
    if not math.isfinite(c.busbw):
        return []
    return [
        Field("all_reduce", "all-reduce", "text", f.run.all_reduce),
        Field("steps", "steps of an epoch", "count", f.point.steps),
        Field("bytes_per_step", "a step sums", "bytes", c.bytes),
        Field("algbw_GBps", "algbw, GB/s", "gigabytes", c.algbw),
        Field("busbw_GBps", "busbw, GB/s", "gigabytes", c.busbw),
        Field("link_busbw_GBps", "of transfer, GB/s", "gigabytes", c.link_busbw),
    ]


_BANDWIDTH_NOTES = (
    "GB = 10^9 bytes. algbw = bytes summed in a step / the slowest rank's time inside the all-reduce, which includes "
    "waiting for later ranks; busbw = algbw x 2(P-1)/P, comparable with a link.",
    "Of transfer: 2(P-1)/P x bytes / the mean time in messages alone, without waiting and adding: the "
    "rate of the link. Sums in shared memory use none.",
)


def bandwidth_table(figures):
    return point_table("bandwidth", "Bandwidth of the all-reduce", figures, _bandwidth_row, _BANDWIDTH_NOTES)
