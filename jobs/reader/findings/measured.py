"""Where, when and how the runs of a report were measured."""

import os
import re

from ..base.statistics import each_once
from ..base.text import counted, printable
from ..study.observation import Processor, processor_of
from .finding import few_listed
from .learning import run_path

_NAMED = 4
_LONGEST = 1000  # characters of a command


def _device(run, rank):
    return "nothing (timed)" if processor_of(run) is Processor.timed else rank.device


def command_of(run):
    """Its command line without the student's folders: files below its working directory from there on, and of a program
    elsewhere the name alone."""
    line, place = run.command_line, run.raw.get("working_directory")
    if isinstance(place, str) and place.strip(os.sep):
        below = re.escape(place.rstrip(os.sep) + os.sep)
        line = re.sub(rf"(?<![^\s=\"']){below}(?=[^\s\"'])", "", line)
    program, space, words = line.partition(" ")
    return (os.path.basename(program) if os.path.isabs(program) else program) + space + words


def measured_json(runs):
    """Hosts and devices, from when to when, versions, and the command of each run, as the runs recorded them."""
    started = sorted(run.started_at for run in runs if run.started_at)
    versions = {}
    for run in runs:
        for name, version in run.versions.items():
            versions.setdefault(name, []).append(version)
    return {
        "hosts": each_once(rank.host for run in runs for rank in run.ranks),
        "devices": [one for one in each_once(_device(run, rank) for run in runs for rank in run.ranks) if one],
        "from": started[0] if started else None,
        "to": started[-1] if started else None,
        "versions": [{"name": name, "versions": each_once(found)} for name, found in versions.items()],
        "commands": [{"run": run_path(run), "ranks": len(run.ranks), "command": command_of(run)}
                     for run in runs if run.command_line],
    }


def _when(measured):
    if not measured["from"] or measured["from"] == measured["to"]:
        return measured["from"]
    return f"{measured['from']} to {measured['to']}"


def _command(commands, where):
    if not commands:
        return None
    text = printable(commands[0]["command"], _LONGEST)
    others = len(commands) - 1
    return text if not others else f"{text} (and {counted(others, 'other')}, in {where})"


def measured_lines(measured, where="report.json"):
    """[(what, text)] for the head of a report; nothing where no run of rueda is in it. `where` has all commands."""
    versions = [f"{printable(one['name'])} {few_listed(map(printable, one['versions']), _NAMED)}"
                for one in measured["versions"]]
    lines = [
        ("Machine", few_listed(map(printable, measured["devices"]), _NAMED) if measured["devices"] else None),
        ("Hosts", few_listed(map(printable, measured["hosts"]), _NAMED) if measured["hosts"] else None),
        ("Started", printable(_when(measured) or "")),
        ("Command", _command(measured["commands"], where)),
        ("Versions", "; ".join(versions)),
    ]
    return [(what, text) for what, text in lines if text]
