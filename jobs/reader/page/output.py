"""Writes the charts of a report, report.html and slides.html."""

from ..base.owned import remove_earlier, write_owned
from ..base.text import in_utf8
from ..charts.chart import render
from ..charts.every_chart import charts_of
from ..start import printable
from .render import page, slides
from .sheets import with_task_numbers

_NAMED = 5  # files in a line
_REMEDY = "move it away, or name another folder"


def _shown(names):
    """Some names of files for people, who may not have chosen them."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return printable(", ".join(names[:_NAMED])) + more


def _remove_others(folder, names):
    """Removes charts of an earlier report there, which would belong to none, and says what was removed or left."""
    removed = remove_earlier(folder, {"": names})
    if removed:
        print(f"Removed from plots/, of an earlier report: {_shown(removed)}")
    pictures = sorted(path.name for path in folder.iterdir() if path.suffix in (".png", ".pdf"))
    left = [name for name in pictures if name not in names]
    if left:
        print(f"Left in plots/, not known to be of an earlier report: {_shown(left)}")


def draw_all(report, formats, printed=False):
    """({name of a file: bytes}, [(chart, bytes of its PNG)]) of all charts of a report; `printed`: for sheets of
    paper."""
    contents, drawn = {}, []
    for chart in with_task_numbers(report, charts_of(report)):
        figure = chart.figure(printed)
        drawn.append((chart, render(figure, "png")))  # which pages need in any case
        pictures = {"png": drawn[-1][1], **({"pdf": render(figure, "pdf")} if "pdf" in formats else {})}
        contents.update({f"{chart.name}.{form}": pictures[form] for form in formats})
    return contents, drawn


def write_all(folder, report, formats, with_slides):
    """All files below `folder`, each drawn before any is written. Raises Unusable, before anything is written, where a
    file would be written over that no earlier report is known to have written, and OSError."""
    contents, drawn = draw_all(report, formats)
    pages = {"report.html": in_utf8(page(report, drawn, with_slides))}
    if with_slides:
        pages["slides.html"] = in_utf8(slides(report, drawn))
    write_owned(folder, str(folder), {"plots": contents, "": pages}, _REMEDY)
    _remove_others(folder / "plots", contents)
