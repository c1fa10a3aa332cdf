"""The tables that a course asks for, by the numbers of its tasks."""

from .nyu_layout import nyu_layout
from .one_device_layout import one_device_layout
from .task_layout import COURSES, task_layout

LAYOUTS = (*COURSES, "sa-miri-2021", "nyu")
"""In the order in which help lists them."""


def layout_tables(layout, figures, observations):
    """Only facts: the judgement is the student's. A table without a row is left out. docs/report.md lists the tables.

    `book`, `sa-miri` and `lab5` number the same tables differently: a CPU as baseline, its acceleration by a GPU, a
    table for each series, all series side by side. Ids are book_task_10_3, sa_miri_task_10_9_speedup, lab5_task_6_ID
    with the id of the series.

    `sa-miri-2021` is about one device: the networks (task 2), a CPU whose job ends (3), a GPU (4), its accuracy (5), a
    run to an accuracy (6), and a larger network (7).

    `nyu` has an epoch on one device by its batch, tables 1 to 3 (time and speedup, computing and communication,
    bandwidth) and the fifth epoch by its batch. With T(P) the time of an epoch on P ranks and C the time
    of an epoch on one without loading of data, on P ranks compute = C / P and communication = T(P) - C / P; bandwidth =
    2 (P-1)/P x bytes of a gradient x steps / communication, what a ring all-reduce sends in that time (Patarasuk and
    Yuan, JPDC 69(2), 2009). Batches and ranks that were not run leave cells empty."""
    if layout == "nyu":
        return nyu_layout(figures)
    if layout == "sa-miri-2021":
        return one_device_layout(observations)
    return task_layout(layout, figures, observations)
