"""Folders of output: only what an earlier call is known to have written is replaced (docs/reliability.md, "What is
removed, and when")."""

import os
from pathlib import Path

from ..start import Failed, Unusable
from .files import RECORD, Ownership, make_folder, read_regular, write_whole
from .text import printable


def _fault_of(path):
    """Why a file or folder inside an output may not be written into; empty if it may."""
    if os.path.islink(path):
        return f"it is a link to {printable(os.readlink(path))}, and no link inside an output is followed"
    return ""


def _has(path, content):
    """Whether a regular file has this content already: nothing is lost with it."""
    try:
        return read_regular(path, os.O_NOFOLLOW) == content
    except OSError:
        return False


def _fault_of_file(ownership, path, content):
    if not os.path.lexists(path):
        return ""
    if fault := _fault_of(path):
        return fault
    if not os.path.isfile(path):
        return "it is no file"
    if ownership.proven(path.name) or _has(path, content):
        return ""
    return f"it was not written by an earlier report, or has changed since ({RECORD} there lists what was)"


def _fault_of_record(ownership):
    """A record that is none would be written over, too. One of nothing is empty."""
    path = ownership.folder / RECORD
    if not os.path.lexists(path) or ownership.known or _has(path, b""):
        return ""
    return _fault_of(path) or "it is no record of what was written there"


def _with_parents(contents):
    """The same, and nothing for the folders in between, outer ones first."""
    found = {parent.as_posix() for below in contents for parent in Path(below).parents if parent != Path()}
    return {below: contents.get(below, {}) for below in sorted({*contents, *found})}


def _check(folder, name, contents, remedy):
    """Raises Unusable if anything would be written over that is not known to be ours."""
    for below in contents:
        inside = folder / below
        if below and (fault := _fault_of(inside)):
            raise Unusable(f"{name}/{below}: {fault}; {remedy}")
        if inside.exists() and not inside.is_dir():
            raise Unusable(f"{Path(name, below)}: it cannot be made a directory; {remedy}")
    for below, files in contents.items():
        inside = folder / below
        ownership = Ownership(inside)
        if fault := _fault_of_record(ownership):
            raise Unusable(f"{Path(name, below, RECORD)}: {fault}; {remedy}")
        for file, content in files.items():
            if fault := _fault_of_file(ownership, inside / file, content):
                raise Unusable(f"{Path(name, below, file)}: {fault}; {remedy}")


def _write(folder, files):
    """Also what earlier calls wrote stays in the record, while it is unchanged."""
    ownership = Ownership(folder)
    kept = {name: read_regular(folder / name) for name in ownership.known if name not in files
            and ownership.proven(name)}
    ownership.write({**kept, **files}, and_earlier=True)
    for name, content in files.items():
        write_whole(folder / name, content)
    ownership.write({**kept, **files})


def write_owned(folder, name, contents, remedy):
    """Writes {folder below: {file: bytes}} into a folder, which messages call `name`, and records what is written.
    Raises Unusable, before anything is written, for the first file that is there and no earlier call is known to have
    written, for links, and where no folder can be made; Failed where writing fails."""
    folder, contents = Path(folder), _with_parents(contents)
    try:
        _check(folder, name, contents, remedy)
        os.makedirs(folder, exist_ok=True)
        for below in filter(None, contents):
            make_folder(folder / below)
    except OSError as error:
        raise Unusable(f"{error.filename or name}: {error.strerror}; {remedy}") from None
    try:
        for below, files in contents.items():
            _write(folder / below, files)
    except OSError as error:
        raise Failed(f"{error.filename or name}: it cannot be written: {error.strerror}") from None


def _folders_of_earlier(folder):
    """Folders from this one on in which an earlier call left its record, inner ones first; links are not followed."""
    if not os.path.isfile(folder / RECORD):
        return []
    with os.scandir(folder) as entries:
        below = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return [one for name in below for one in _folders_of_earlier(folder / name)] + [folder]


def remove_earlier(folder, contents):
    """Removes, from a folder and those below it, what earlier calls wrote and is not in {folder below: names}, and
    folders that it leaves empty. Returns the paths of the files that were removed, below `folder`."""
    removed = []
    for inside in _folders_of_earlier(Path(folder)):
        below = inside.relative_to(folder)
        names = contents.get("" if below == Path() else below.as_posix())
        ownership = Ownership(inside)
        removed += [(below / one).as_posix() for one in ownership.remove_others(names or ())]
        ownership.keep(names or ())
        if names is None and os.listdir(inside) == [RECORD]:
            (inside / RECORD).unlink()
            inside.rmdir()
    return removed
