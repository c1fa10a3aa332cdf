"""How a set gets to its place whole or not at all, and what becomes of what a killed call left.

A set is written into a folder beside its place, `.rueda-data.tmp-...`: `lock`, whose lock its writer holds as long as
it lives, `set`, and `old`, which is the set that is replaced. Nothing but files of sets is ever removed, and no link is
followed to one."""

import fcntl
import filecmp
import os
import re
import secrets
import socket
import stat
from contextlib import contextmanager

from common import Fault, plain, say

META = "batches.meta.txt"
TEST = "test_batch.bin"
BATCH = re.compile(r"data_batch_\d+\.bin")
PREFIX = ".rueda-data.tmp-"
LOCK, NEW, OLD = "lock", "set", "old"
SIGNATURE = re.compile(r"a set for (?P<name>[^/\0]+) written on (?P<host>[^\n]+)\n")
MOST_SIGNATURE = 4096


def _is_of_set(name):
    return name in (META, TEST) or BATCH.fullmatch(name) is not None


def _is_set(folder):
    """Whether it is a folder, no link, with nothing but files of a set."""
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        return False
    return all(_is_of_set(entry.name) and entry.is_file(follow_symlinks=False) for entry in os.scandir(folder))


def _remove_set(folder):
    for entry in os.scandir(folder):
        if _is_of_set(entry.name):
            os.unlink(entry.path)
    os.rmdir(folder)


def _clear(folder, target):
    """Removes what its writer left. A set that was to be replaced comes back if none took its place."""
    if os.path.lexists(folder / OLD) and not os.path.lexists(target):
        os.rename(folder / OLD, target)
    for part in (NEW, OLD):
        if os.path.lexists(folder / part):
            _remove_set(folder / part)
    os.unlink(folder / LOCK)
    os.rmdir(folder)


def _sign(number, target):
    """Locked first, signed then: who reads a signature and gets the lock knows that the writer is dead."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return  # a file system without locks: without a signature nobody removes it but its writer
    os.write(number, os.fsencode(f"a set for {target.name} written on {socket.gethostname()}\n"))


@contextmanager
def _claimed(target):
    """A folder beside `target` that is the caller's until the end."""
    folder = target.with_name(PREFIX + secrets.token_hex(8))
    folder.mkdir()
    number = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        _sign(number, target)
        (folder / NEW).mkdir()
        yield folder
    finally:
        try:
            _clear(folder, target)
        except OSError:
            pass  # what made the call end is told; the next one tries again
        os.close(number)


def _target_of_dead(folder, number):
    """The place of the set that a dead process of this user and host wrote into `folder`, whose lock file is open."""
    found, there = os.fstat(number), os.lstat(folder / LOCK)
    signature = SIGNATURE.fullmatch(os.fsdecode(os.read(number, MOST_SIGNATURE)))
    if not signature or signature["host"] != socket.gethostname() or found.st_uid != os.geteuid():
        return None
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    parts = set(os.listdir(folder)) - {LOCK}
    if (found.st_dev, found.st_ino) != (there.st_dev, there.st_ino) or not stat.S_ISREG(found.st_mode) or \
            not parts <= {NEW, OLD} or not all(_is_set(folder / part) for part in parts):
        return None
    return folder.with_name(signature["name"])


def remove_leftovers(place):
    """Removes the folders of killed calls in `place`. What is not proven to be one, or has a living writer, stays."""
    for folder in sorted(place.glob(f"{PREFIX}*")):
        try:
            number = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            target = None if folder.is_symlink() else _target_of_dead(folder, number)
            if target is not None:
                _clear(folder, target)
                say(f"removed {plain(folder)}, which a call left that was killed")
        except OSError:
            pass  # its writer lives, or something in it is another's
        finally:
            os.close(number)


def _require_replaceable(target, overwrite):
    if target.is_symlink() or not target.is_dir():
        raise Fault(f"{plain(target)} is a link or no folder: remove it, or give another place")
    for entry in os.scandir(target):
        if not _is_of_set(entry.name) or not entry.is_file(follow_symlinks=False):
            raise Fault(f"{plain(target)} holds {plain(entry.name)}, which is of no data set: give another place")
        if not overwrite:
            raise Fault(f"{plain(target)} holds another data set: give another place, or --overwrite to replace it")


def _same(folder, target):
    names = os.listdir(folder)
    if {name for name in os.listdir(target) if _is_of_set(name)} != set(names):
        return False
    _, different, unreadable = filecmp.cmpfiles(folder, target, names, shallow=False)
    return not different and not unreadable


def _put(folder, target, overwrite):
    """Moves what was written to its place. True unless the same set was there."""
    if os.path.lexists(target):
        if target.is_dir() and _same(folder / NEW, target):
            return False
        _require_replaceable(target, overwrite)
        os.rename(target, folder / OLD)
    os.rename(folder / NEW, target)
    return True


def put_set(target, fill, overwrite=False):
    """Has `fill` write a set into a folder beside `target`, which then gets its name: no half of a set is ever at
    `target`. True unless the same set was there."""
    if target.name in ("", ".."):
        raise Fault(f"{plain(target)!r} is no name for a set's folder: give one, for example data/mine")
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target.parent)
    with _claimed(target) as folder:
        fill(folder / NEW)
        return _put(folder, target, overwrite)
