"""study.json: what jobs/scale.sh was to run, against what lies below it (docs/report.md)."""

import os
from dataclasses import dataclass
from pathlib import Path

from ..base.json_view import InputFile, read_json
from ..base.text import counted, first_few, printable
from ..start import Unusable, path_of
from .places import ATTEMPT_NAME, read_attempt
from .records import Remark
from .run import NAME as RUN_NAME
from .run import folder_name

NAME = "study.json"
_SCHEMA, _VERSION = "rueda-study", 1
_REMEDY = "give the study.json that jobs/scale.sh wrote, or move it away"
_MOST_SERIES = 100_000
_SHOWN = 5
_PATIENCE = 1.0  # seconds by which two clocks may see a run's end


@dataclass
class Planned:
    """One entry of the plan: a configuration, or the first of growing batches."""

    name: str  # of its directory; of a sweep "sweep" stands for the kind of batch
    model: str
    ranks: int
    kind: str  # "rank": `batch` images of each rank, "global": of all together
    batch: int
    factor: int = 0  # of a sweep: by which the batch grows


def _read_entry(j):
    sweep = j.part("sweep")
    entry = Planned(j.text("name"), j.text("model"), j.positive("ranks"), j.text("kind"), j.positive("batch"))
    entry.factor = sweep.count("factor", 2) if sweep.has("factor") else 0
    return entry


def read_plan(file):
    """[Planned] of a study.json. Raises Unusable naming file, place and remedy."""
    j = read_json(InputFile(file, _REMEDY))
    j.require_schema(_SCHEMA, _VERSION, NAME)
    series = j.elements("series")
    if len(series) > _MOST_SERIES:
        j.at("series").refuse(f"has more than {_MOST_SERIES} elements")
    return [_read_entry(entry) for entry in series]


def _folders_of(runs):
    """{name: path} of the directories of a study's runs."""
    try:
        with os.scandir(path_of(runs)) as entries:
            return {entry.name: os.path.join(runs, entry.name)
                    for entry in entries if entry.is_dir(follow_symlinks=False)}
    except OSError:
        return {}


def _is_there(folder, name):
    return os.path.lexists(path_of(os.path.join(folder, name)))


def _names_of(entry, folders):
    """Directories that the entry may have filled: of a sweep those of its first batch and of larger ones."""
    if not entry.factor:
        return [entry.name]
    before, _, after = entry.name.partition(f"_sweep{entry.batch}_")
    names, batch = [f"{before}_rank{entry.batch}_{after}"], entry.batch * entry.factor
    while (larger := f"{before}_rank{batch}_{after}") in folders:
        names.append(larger)
        batch *= entry.factor
    return names


def _missing(folders, expected):
    """Planned directories without a run and without an attempt that says why."""
    return [name for name in expected
            if not any(_is_there(folders.get(name, os.devnull), file) for file in (RUN_NAME, ATTEMPT_NAME))]


def _remarks_on_folders(place, plan, folders):
    by_name = {name: entry for entry in plan for name in _names_of(entry, folders)}
    missing = _missing(folders, by_name)
    with_run = [name for name in sorted(folders) if _is_there(folders[name], RUN_NAME)]
    others = [name for name in with_run if name not in by_name]
    where, remarks = printable(Path(place).name or place), []
    if missing:
        remarks.append(Remark("plan-missing", [], f"{where}: its plan has {counted(len(missing), 'run')} that "
                              f"{'is' if len(missing) == 1 else 'are'} not there: "
                              f"{first_few(map(printable, missing), _SHOWN)}"))
    if others:
        paths = [os.path.join(folders[name], RUN_NAME) for name in others]
        remarks.append(Remark("plan-extra", paths, f"{where}: {counted(len(others), 'run')} "
                              f"{'is' if len(others) == 1 else 'are'} not in its plan: "
                              f"{first_few(map(printable, others), _SHOWN)}"))
    return by_name, remarks


def _remark_on_run(run, entry):
    """A run in the directory of an entry has its model, ranks and, but for a sweep's larger ones, its batch."""
    batch = run.global_batch if entry.kind == "global" else run.global_batch // run.world_size()
    wanted = [entry.model.lower(), entry.ranks] + ([] if entry.factor else [entry.batch])
    found = [run.model, run.world_size()] + ([] if entry.factor else [batch])
    if wanted == found:
        return []
    return [Remark("plan-differs", [str(run.file)], f"{printable(folder_name(run.file))}: the plan has "
                   f"{printable(' '.join(map(str, wanted)))} (model, ranks, batch), and run.json "
                   f"{printable(' '.join(map(str, found)))}")]


def _remark_on_attempt(run):
    """attempt.json has the seconds of the whole launch on another clock, and what was asked for."""
    file = Path(run.file).parent / ATTEMPT_NAME
    if not path_of(file).exists():
        return []
    name = printable(folder_name(run.file))
    try:
        attempt = read_attempt(file)
    except Unusable as error:
        return [Remark("attempt", [str(run.file)], f"{name}: its attempt.json cannot be compared ({error})")]
    if attempt.ranks != run.world_size():
        return [Remark("attempt", [str(run.file)],
                       f"{name}: attempt.json says {counted(attempt.ranks, 'rank')}, and run.json "
                       f"{run.world_size()}")]
    if attempt.seconds + _PATIENCE < run.summary.training_seconds:
        return [Remark("attempt", [str(run.file)], f"{name}: the launch took {attempt.seconds:.6g} s, and its epochs "
                       f"{run.summary.training_seconds:.6g} s",
                       figures={"recorded": run.summary.training_seconds, "other": attempt.seconds})]
    return []


def remarks_on_plan(place, runs):
    """[Remark] on the directory of a study, of whose study.json and attempt.json the runs below it have to be. None
    without a study.json."""
    file = Path(place) / NAME
    if not _is_there(place, NAME):
        return []
    try:
        plan = read_plan(file)
    except Unusable as error:
        return [Remark("plan", [], f"its plan cannot be compared ({error})")]
    folders = _folders_of(Path(place) / "runs")
    by_name, remarks = _remarks_on_folders(place, plan, folders)
    for run in runs:
        folder = Path(run.file).parent
        if folders.get(folder.name) == str(folder):
            remarks += _remark_on_run(run, by_name[folder.name]) if folder.name in by_name else []
            remarks += _remark_on_attempt(run)
    return remarks


def remarks_without_plan(runs):
    """[Remark] on runs that jobs/scale.sh made, as their attempt.json says, of which no study.json is there."""
    files = [str(run.file) for run in runs if path_of(Path(run.file).parent / ATTEMPT_NAME).exists()]
    if not files:
        return []
    return [Remark("plan", files, f"{counted(len(files), 'run')} of a study, and no {NAME}: whether others were left "
                   "out is not known", contradiction=False)]
