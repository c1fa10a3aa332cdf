"""Claims: a locked file in a directory says who works there, and its first line that scale.sh made the directory
(docs/reliability.md, "What is removed, and when")."""

import errno
import fcntl
import os
import re
import shutil
import socket
import stat
import time

from common import Fault, read_json, say

MARK = ".rueda-work"
TRAINING = ".lock"  # that of rueda train (src/run/directory_claim.cpp)
OWNER = "scale.sh"
SIGNATURE = re.compile(r"(?:{}\n)?(process \d+ on [^\n]{{1,255}})?\n?".format(re.escape(OWNER)))
PATIENCE = 5  # seconds, for a training whose ranks are about to end


def make_directory(path):
    """A directory inside of a study, and none that a link leads to."""
    if path.is_symlink():
        raise Fault("{} is a link: remove it, or choose another --out".format(path))
    path.mkdir(parents=True, exist_ok=True)


class Claim:
    """Holds the lock on a file, which it makes if it is not there. `shared`: others may share it. `of_training`: the
    file is that of rueda train, which is waited for and not signed. Raises Fault."""

    def __init__(self, path, what, shared=False, of_training=False):
        self.path = path
        self.patience = PATIENCE if of_training else 0
        self.how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self.file = self.open(os.O_RDONLY)
        self.text = self.checked_text()
        if not self.lock():
            whose = SIGNATURE.fullmatch(self.text).group(1) or "another process"
            text = "{} is in use by {}: wait until that has ended, or choose another --out"
            self.release()
            raise Fault(text.format(what, whose))
        if not of_training:
            self.sign()

    def open(self, how):
        """None that is a link, a pipe or somebody's file under a second name."""
        how |= os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            return os.open(str(self.path), how, 0o666)
        except OSError as error:
            raise Fault("{}: {}, and it must be locked: remove it, or choose another --out"
                        .format(self.path, error.strerror))

    def checked_text(self):
        found = os.fstat(self.file)
        text = os.read(self.file, 512).decode("utf-8", "replace") if stat.S_ISREG(found.st_mode) else None
        if text is None or found.st_nlink > 1 or not SIGNATURE.fullmatch(text):
            self.release()
            raise Fault("{} is no lock of scale.sh: remove it, or choose another --out".format(self.path))
        return text

    def lock(self):
        """False if another process keeps it. What cannot be locked at all counts as locked."""
        end = time.monotonic() + self.patience
        while True:
            try:
                fcntl.flock(self.file, self.how | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.05)
            except OSError as error:
                if error.errno != errno.EBADF:
                    return True
                os.close(self.file)  # NFS locks no file that is open for reading
                self.file = self.open(os.O_RDWR)

    def sign(self):
        """Into the file that is locked, not into one that has its name since."""
        file = os.open(str(self.path), os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if os.path.sameopenfile(file, self.file):
                os.ftruncate(file, 0)
                os.write(file, "{}\nprocess {} on {}\n".format(OWNER, os.getpid(), socket.gethostname()).encode())
        finally:
            os.close(file)

    def release(self):
        if self.file is not None:
            os.close(self.file)
        self.file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


def claim_study(directory, shared):
    """On OUT. `shared`: for a job that runs a part of it, and for what sends these jobs."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Fault("--out {} cannot be written ({}): choose another folder".format(directory, error.strerror))
    return Claim(directory / MARK, "the study {}".format(directory), shared)


def claim_attempt(directory):
    """On the directory of a run, which is then empty but for its locks. What an earlier attempt left is removed if the
    directory is that of an attempt and nothing trains there."""
    make_directory(directory)
    what = "the run directory {}".format(directory)
    known = ((directory / MARK).exists()
             or (read_json(directory / "attempt.json") or {}).get("schema") == "rueda-attempt")
    if not known and any(directory.iterdir()):
        text = "{0} was not made by this study, which would replace what it holds; make room: mv {0} {0}.old"
        raise Fault(text.format(directory))
    claim = Claim(directory / MARK, what)
    if not (directory / TRAINING).exists():
        empty(directory)
        return claim
    with Claim(directory / TRAINING, what, of_training=True):
        empty(directory)
    return claim


def empty(directory):
    left = [path for path in directory.iterdir() if path.name not in (MARK, TRAINING)]
    if left:
        say("removes what an earlier attempt left in {}".format(directory))
    for path in left:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(str(path))
        else:
            path.unlink()
