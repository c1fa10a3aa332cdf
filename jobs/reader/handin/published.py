"""The published runs of published.json, which lies beside this file, as observations."""

import json
import pkgutil

from ..base.json_view import InputFile, JsonView
from ..base.text import printable
from ..start import Unusable
from ..study.observation import Processor
from .keras_line import LoggedEpoch, narrowed, printed_duration
from .logged_run import LoggedRun, observe


def _duration(view):
    duration = printed_duration(view.text())
    if duration is None:
        view.refuse('is no duration such as "14s"')
    return duration


def _add_epochs(run, view, steps):
    """"times" equal epochs one after the other."""
    printed = seconds = _duration(view.at("seconds"))
    if view.has("step"):
        seconds = narrowed(printed, _duration(view.at("step")) * float(steps))
    for _ in range(view.count("times") if view.has("times") else 1):
        number = view.count("number") if view.has("number") else len(run.epochs) + 1
        run.epochs.append(LoggedEpoch(number, steps, printed=printed, seconds=seconds))


def _run_of(view, source):
    run = LoggedRun(source.text("source"), view.text("model"), view.text_if_any("variant"), ranks=view.count("ranks"),
                    processor=Processor[view.text("processor")], image_size=source.count("image_size"),
                    global_batch=view.count("global_batch"), images=float(source.count("images")))
    for epochs in view.items("epochs"):
        _add_epochs(run, epochs, view.count("steps"))
    return run


def published(which):
    """The observations of a set ("book", "nyu"), or of "all". Raises Unusable naming the sets for any other word."""
    if which not in ("book", "nyu", "all"):
        raise Unusable(f'no published runs are called "{printable(which)}"; there are book, nyu and all')
    content = json.loads(pkgutil.get_data(__package__, "published.json"))
    file = InputFile("published.json", "take the program's own file, unchanged")
    sources = [source for source in JsonView(content, file).items("sources") if which in ("all", source.text("set"))]
    return [observe(_run_of(run, source)) for source in sources for run in source.items("runs")]
