#!/usr/bin/env python3
"""Draws what `rueda evaluate --json` wrote: the confusion matrix. Shades are shares of the class, numbers
are images; with more than 20 classes there are shades alone. Needs matplotlib.

usage: plot_confusion.py PICTURE <RECORD      PICTURE ends in .png, .pdf or .svg
"""

from reader import start
from reader.base.files import save_figure
from reader.base.json_view import InputFile, JsonView
from reader.runs.evaluation import evaluation_of

REMEDY = "draw what `rueda evaluate --json` wrote"


def draw(record, picture):
    evaluation = evaluation_of(JsonView(record, InputFile("the record", REMEDY)))
    from reader.charts import confusion  # needs matplotlib

    chart = confusion.chart("confusion", record["config"]["model"], evaluation)
    save_figure(chart.figure(), picture, dpi=150)


if __name__ == "__main__":
    start.run_on_input("plot_confusion", __doc__, draw, REMEDY)
