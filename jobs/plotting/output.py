"""Writes the files of a report: charts, report.html, slides.pdf."""

import os

from . import catalogue, page, slides
from .chart import render


def write_whole(path, content):
    """Under a temporary name that is then renamed, so that a file that is there is whole."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def _remove_others(folder, names):
    """Charts of an earlier report there, which would belong to none."""
    for path in folder.iterdir():
        if path.suffix in (".png", ".pdf") and path.name not in names:
            path.unlink()


def _write_charts(folder, charts, formats):
    """Draws every chart once. Returns [(chart, bytes of its PNG)], which the page needs in any case."""
    folder.mkdir(exist_ok=True)
    _remove_others(folder, {f"{chart.name}.{form}" for chart in charts for form in formats})
    drawn = []
    for chart in charts:
        figure = chart.figure()
        drawn.append((chart, render(figure, "png")))
        if "png" in formats:
            write_whole(folder / f"{chart.name}.png", drawn[-1][1])
        if "pdf" in formats:
            write_whole(folder / f"{chart.name}.pdf", render(figure, "pdf"))
    return drawn


def write_all(folder, report, formats, with_slides):
    """All files below `folder`. Raises OSError."""
    charts = catalogue.charts_of(report)
    drawn = _write_charts(folder / "plots", charts, formats)
    write_whole(folder / "report.html", page.page(report, drawn).encode("utf-8"))
    if with_slides:
        write_whole(folder / "slides.pdf", slides.slides(report, charts))
