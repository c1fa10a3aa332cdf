"""What a hand-in has of the runs: the records that `rueda report --check` compares, as they are."""

import os
from pathlib import Path

from ..base.files import open_regular
from ..base.text import printable
from ..runs import evaluation
from ..runs.places import ATTEMPT_NAME, RUN_NAME, record_folders
from ..runs.plan import NAME as PLAN_NAME
from ..runs.ranks import NAME as RANKS_NAME
from ..runs.records import EPOCHS_NAME
from ..runs.steps import NAME as STEPS_NAME
from ..start import path_of

_RECORDS = (RUN_NAME, ATTEMPT_NAME, evaluation.NAME, EPOCHS_NAME, RANKS_NAME, STEPS_NAME)
_RUNS = "runs"  # where a study has its runs, and a hand-in its extract
_MOST_BYTES = 8_000_000  # of a file: the steps of a small batch may take more


def _study_of(folder, places):
    """The folder of the study.json whose plan this run is of, if it lies in what was named."""
    study = os.path.dirname(os.path.dirname(folder))
    is_within = any(Path(place) in (Path(study), *Path(folder).parents) for place in places)
    if os.path.basename(os.path.dirname(folder)) != _RUNS or not is_within:
        return None
    return study if os.path.lexists(os.path.join(study, PLAN_NAME)) else None


def _names(folders):
    """{folder: a name of its own}."""
    names = {}
    for folder in folders:
        base = name = os.path.basename(os.path.normpath(folder)) or "run"
        number = 1
        while name in names.values():
            number += 1
            name = f"{base}_{number}"
        names[folder] = name
    return names


def _read(folder, names):
    """({name: bytes}, [why one is missing])."""
    found, missing = {}, []
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            continue
        try:
            with open_regular(path) as file:
                content = file.read(_MOST_BYTES + 1)
        except OSError as error:
            missing.append(f"{printable(path, 200)} ({error.strerror})")
            continue
        if len(content) > _MOST_BYTES:
            missing.append(f"{printable(path, 200)} (more than {_MOST_BYTES // 1_000_000} MB)")
        else:
            found[name] = content
    return found, missing


def extract(places):
    """({folder of the hand-in: {name: bytes}}, [files that are left out, with the reason]) of all runs and attempts in
    these places. A study keeps its plan and its form, so that a run of the plan that is missing is seen."""
    folders = [os.path.abspath(path_of(folder)) for folder in record_folders(places)]
    places = [os.path.abspath(path_of(place)) for place in places]
    study_of = {folder: _study_of(folder, places) for folder in folders}
    outer = _names(dict.fromkeys(study_of[folder] or folder for folder in folders))
    contents, missing = {}, []
    for study in dict.fromkeys(filter(None, study_of.values())):
        contents[f"{_RUNS}/{outer[study]}"], without = _read(study, [PLAN_NAME])
        missing += without
    for folder, study in study_of.items():
        name = f"{outer[study]}/{_RUNS}/{os.path.basename(folder)}" if study else outer[folder]
        contents[f"{_RUNS}/{name}"], without = _read(folder, _RECORDS)
        missing += without
    return contents, missing
