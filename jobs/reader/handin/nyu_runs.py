"""Part 1 of the layout `nyu`, and question 4 of another course's lab, which are about single runs."""

import math

from ..tables.point_table import count_cell, marks_of, points_of
from ..tables.table import Field, Table, without_empty
from .side_by_side import ranks_heading

_FIFTH = 5  # the epoch that question 4 of lab 4, High Performance Machine Learning, asks for


def loading_of(figures):
    """Seconds of an epoch that its steps waited for data; NaN where that was not measured."""
    return math.nan if figures.run is None else figures.epoch_phases["load"]


def _configurations(figures):
    """Each configuration once, though it may belong to a weak and to a strong series."""
    found = {}
    for one in points_of(figures):
        point = one.point
        found.setdefault((point.subject(), point.ranks, point.global_batch, str(point.epoch.value)), one)
    return list(found.values())


def _named(figures):
    """What every row begins with."""
    point = figures.point
    what = f"{point.model}, {point.processor.value}{point.source_remark()}"
    if point.variant:
        what += f", {point.variant}"
    return [Field("model", "Model", "text", what),
            Field("ranks", ranks_heading(point.processor), "count", point.ranks),
            Field("rank_batch", "Batch of each", "count", count_cell(point.rank_batch))]


def _marks(figures):
    return Field("marks", "Marks", "text", marks_of(figures.point))


def _one_device(figures):
    table = Table("nyu_question_1", "Part 1: an epoch on one device", notes=(
        "Time: an epoch after the first. Without loading: less what its steps waited for data; the copy to the device "
        "is part "
        "of it. Nothing where loading was not measured.",))
    for one in _configurations(figures):
        if one.ranks() == 1:
            seconds, loading = one.point.epoch.value, loading_of(one)
            table.add_fields([*_named(one), Field("unloaded_s", "Without loading (sec)", "seconds", seconds - loading),
                              Field("loading_s", "Loading (sec)", "seconds", loading),
                              Field("time_s", "Time (sec)", "seconds", one.point.epoch),
                              Field("images_per_second", "Images/s", "rate", one.images_per_second), _marks(one)])
    return table


def _large_batches(figures):
    table = Table("nyu_question_4", "Large batches: the fifth epoch, by its batch", notes=(
        "Loss and accuracy: means over the training images of the fifth epoch, each by the weights of its step. Of "
        "repeats, the "
        "run that stands for all.", "Runs of fewer epochs are left out; --epochs 5 trains five."))
    for one in _configurations(figures):
        epochs = one.run.epochs if one.run else ()
        for epoch in (epoch for epoch in epochs if epoch.epoch == _FIFTH):
            table.add_fields([*_named(one), Field("global_batch", "Batch of all", "count",
                                                  count_cell(one.point.global_batch)),
                              Field("learning_rate", "Learning rate", "ratio", epoch.learning_rate),
                              Field("train_loss", "Training loss", "seconds", epoch.train.loss),
                              Field("train_accuracy", "Training accuracy (%)", "percent", epoch.train.accuracy),
                              _marks(one)])
    return table


def nyu_run_tables(figures):
    """nyu_question_1 and nyu_question_4."""
    return without_empty([_one_device(figures), _large_batches(figures)])
