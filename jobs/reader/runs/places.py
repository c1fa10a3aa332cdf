"""Everything that lies below the directories of a study."""

import math
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ..base.json_view import InputFile, read_json
from ..start import Unusable, path_of
from . import evaluation
from .run import NAME as RUN_NAME
from .run import read_run

ATTEMPT_NAME = "attempt.json"
_NAMES = (RUN_NAME, ATTEMPT_NAME, evaluation.NAME)
_MOST_ATTEMPT_BYTES = 10_000_000
_MOST_LEVELS = 5
_MOST_CODE = 1_000_000
_ATTEMPT_REMEDY = "give the attempt.json that jobs/scale.sh wrote"
_WHAT_TO_NAME = "name run directories of rueda train, or the directory of a study"


@dataclass
class Attempt:
    """What jobs/scale.sh wrote about one run that it started: also of those that were refused or failed before they had
    a run.json."""

    file: Path = None
    model: str = ""
    ranks: int = 0
    rank_batch: int = 0  # 0: a global batch was asked for
    global_batch: int = 0  # 0: a batch per rank was asked for
    exit_code: int = 0  # below 0 where a signal ended it
    message: str = ""  # the program's, empty if it gave none
    seconds: float = math.nan  # of the whole launch


@dataclass
class Unreadable:
    """A file that was found and could not be read."""

    file: Path
    why: str


@dataclass
class Study:
    """Everything found below the directories of a study."""

    runs: list = field(default_factory=list)  # with at least one finished epoch
    empty_runs: list = field(default_factory=list)  # without
    failed: list = field(default_factory=list)  # attempts that did not end well
    unreadable: list = field(default_factory=list)  # in directories that hold others


def depth_of(model):
    """The first number in its name, by which models are listed; those without one come last."""
    digits = re.search("[0-9]{1,18}", model)
    return int(digits[0]) if digits else sys.maxsize


def read_attempt(file):
    """Raises Unusable."""
    j = read_json(InputFile(file, _ATTEMPT_REMEDY), _MOST_ATTEMPT_BYTES)
    j.require_kind("rueda-attempt", ATTEMPT_NAME)
    j.positive("ranks")
    attempt = Attempt(Path(file), j.text("model"), j.count("ranks"), message=j.text_if_any("message"),
                      seconds=j.number_if_any("seconds"))
    attempt.rank_batch = j.count("batch_per_rank") if j.has("batch_per_rank") else 0
    attempt.global_batch = j.count("global_batch") if j.has("global_batch") else 0
    code = j.at("exit_code")
    if not -_MOST_CODE <= code.number() <= _MOST_CODE:
        code.refuse("is no exit code")
    attempt.exit_code = int(code.number())
    return attempt


def _list_files(folder, level):
    """Files of each folder before those of the folders in it, these by name, and a link that leads nowhere, so that a
    run is not missed in silence. What cannot be listed is left out."""
    files = [os.path.join(folder, name) for name in _NAMES if os.path.lexists(path_of(os.path.join(folder, name)))]
    if level == _MOST_LEVELS:
        return files
    try:
        with os.scandir(path_of(folder)) as entries:
            below = sorted(os.path.join(folder, entry.name) for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return files
    for path in below:
        files += _list_files(path, level + 1)
    return files


def _files_of(place):
    """Itself, or the files in it and below."""
    if not os.path.exists(path_of(place)):
        raise Unusable(f"{place}: there is no such file or directory; {_WHAT_TO_NAME}")
    return _list_files(place, 0) if os.path.isdir(path_of(place)) else [str(place)]


def record_folders(places):
    """The directories that hold what load_study reads, in its order, each once. Raises Unusable."""
    return list(dict.fromkeys(os.path.dirname(file) for place in places for file in _files_of(os.fspath(place))))


def _load_file(study, by_folder, file):
    name, folder = os.path.basename(file), os.path.dirname(file)
    if name == evaluation.NAME:
        if folder in by_folder:
            by_folder[folder].evaluation = evaluation.read_evaluation(file)
    elif name == ATTEMPT_NAME:
        attempt = read_attempt(file)
        study.failed += [attempt] if attempt.exit_code != 0 else []
    else:
        run = read_run(file)
        (study.runs if run.epochs else study.empty_runs).append(run)
        if run.epochs:
            by_folder[folder] = run


def _refuse_places(places, study):
    why = f" that can be read ({study.unreadable[0].why})" if study.unreadable else ""
    raise Unusable(f"{places[0]}: no run.json below it{why}; {_WHAT_TO_NAME}")


def load_study(places):
    """Reads run.json, attempt.json and a run's evaluation.json of every directory below `places` (five levels deep,
    symbolic links are not followed); a place may also be a file of the first two. Files found below count once, however
    they were named. Raises Unusable if a place is not there or none holds anything, and if a place's own file cannot be
    read; one that lies deeper is put into `unreadable`."""
    study, by_folder, seen = Study(), {}, set()
    for place in map(os.fspath, places):
        for file in _files_of(place):
            real = os.path.realpath(path_of(file))
            if real in seen:
                continue
            seen.add(real)
            try:
                _load_file(study, by_folder, file)
            except Unusable as error:
                if os.path.normpath(place) in (os.path.normpath(file), os.path.normpath(os.path.dirname(file))):
                    raise
                study.unreadable.append(Unreadable(Path(file), str(error)))
    study.runs.sort(key=lambda run: depth_of(run.model))
    if places and not (study.runs or study.empty_runs or study.failed):
        _refuse_places(places, study)
    return study
