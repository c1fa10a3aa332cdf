"""The tables of a report, each with the definitions of its figures below it. docs/report.md shows them."""

from .communication import bandwidth_table, communication_table
from .efficiency import factor_table, loss_table, phase_table, straggler_table
from .learning import learning_table
from .runs import batch_table, cost_table, run_table, startup_table
from .scaling import scaling_table, step_table
from .serial import serial_table
from .table import without_empty

_OF_POINTS = (scaling_table, step_table, learning_table, factor_table, communication_table, bandwidth_table,
              phase_table, loss_table, serial_table, straggler_table, cost_table, startup_table)  # fmt: skip


def study_tables(study, figures):
    """Those that have a row."""
    tables = [make(figures) for make in _OF_POINTS]
    return without_empty([*tables, batch_table(study, figures), run_table(study)])
