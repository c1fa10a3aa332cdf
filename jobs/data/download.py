"""Gets a file by HTTP, resumes where a connection was cut, and checks its sum."""

import fcntl
import hashlib
import http.client
import os
import signal
import stat
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import bounds
from common import Fault, plain
from kinds import ARCHIVES, kind_of

PIECE = 1 << 20
TIMEOUT = 60  # seconds without a byte
ANSWER = 300  # seconds until a server's answer has begun, redirections and all
SLOWEST = 1000  # bytes a second, over TIMEOUT
CONNECTIONS = 1000  # of one download
TRIES = 5  # of connections one after the other that bring nothing new


def md5_of(path):
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def _show(done, of):
    if sys.stdout.isatty():
        print(f"\r{done / 1e6:,.0f} of {of / 1e6:,.0f} MB", end="" if done < of else "\n", flush=True)


def _begin(url, have):
    """A response whose bytes go to the end of the file, and how many of the file count. A server that knows no ranges
    begins anew."""
    headers = {"Range": f"bytes={have}-"} if have else {}
    response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    first = (response.headers.get("Content-Range") or "").partition("bytes ")[2].partition("-")[0]
    if response.status == 206 and first != str(have):
        response.close()
        raise http.client.HTTPException(f"the server sends from byte {plain(first)}, asked for {have}")
    return response, have if response.status == 206 else 0


class _Pace:
    """Ends a download that would not end: each byte within the timeout, and a byte at a time."""

    def __init__(self, url, have):
        self._url, self._have, self._time = url, have, time.monotonic()

    def check(self, have):
        now = time.monotonic()
        if now - self._time < TIMEOUT:
            return
        if have - self._have < SLOWEST * TIMEOUT:
            raise Fault(f"{plain(self._url)} sends fewer than {SLOWEST:,} bytes a second: what came is "
                        "kept, and the same command goes on there")
        self._have, self._time = have, now


@contextmanager
def _within(seconds):
    """Ends what a timeout of sockets does not: an answer whose head comes a byte at a time."""
    def over(number, frame):
        raise TimeoutError(f"no answer in {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _append(url, file):
    """Takes what one connection brings. True at the end of the file."""
    with _within(ANSWER):
        response, have = _begin(url, file.seek(0, os.SEEK_END))
    with response:
        file.truncate(have)
        file.seek(have)
        length = response.headers.get("Content-Length")
        end = have + int(length) if length and length.isdigit() else None
        if (end or 0) > bounds.DOWNLOAD_BYTES:
            raise Fault(f"{plain(url)} has {end:,} bytes, more than any archive of CIFAR-10: check the address")
        pace = _Pace(url, have)
        for piece in iter(lambda: response.read1(PIECE), b""):
            have += len(piece)
            pace.check(have)
            if have > bounds.DOWNLOAD_BYTES:
                raise Fault(f"{plain(url)} does not end after {bounds.DOWNLOAD_BYTES:,} bytes: check the address")
            file.write(piece)
            _show(have, end or have)
    return end is None or have >= end


def _download(url, file):
    """Raises Fault where the server gives nothing more."""
    tries = TRIES
    for _ in range(CONNECTIONS):
        before = file.seek(0, os.SEEK_END)
        reason = "the connection was cut"
        try:
            if _append(url, file):
                return
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416:  # nothing comes after what is there: the sum will tell
                return
            raise Fault(f"{plain(url)}: the server answers {error.code} {plain(error.reason)}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = plain(getattr(error, "reason", error)) or type(error).__name__
        have = file.seek(0, os.SEEK_END)
        tries = TRIES if have > before else tries - 1
        if tries == 0 or have == 0:
            raise Fault(f"{plain(url)}: {reason} after {have:,} bytes, which are kept: the same command goes on there"
                        if have else f"{plain(url)} cannot be reached: {reason}")
    raise Fault(f"{plain(url)} was cut {CONNECTIONS:,} times: what came is kept, and the same command goes on there")


def _opened(part):
    """To read and write. No other file is written by way of it."""
    number = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(number)
        raise Fault(f"{plain(part)} is no regular file, or has another name (a hard link): remove it, or "
                    "give another DIR")
    return os.fdopen(number, "r+b")


def fetch(url, md5, path):
    """The file at `url` as `path`. Its bytes gather in a file beside it, which a second call resumes."""
    if not url.startswith(("http://", "https://")):
        raise Fault(f"{plain(url)} is no address of the web: give http:// or https://")
    part = path.with_name(path.name + ".part")
    with _opened(part) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Fault(f"another process writes {plain(part)}: wait for its end") from None
        _download(url, file)
        file.flush()
        found = md5_of(part)
        if found != md5:
            kind = kind_of(part, expected=ARCHIVES)
            part.unlink()
            if kind:
                raise Fault(f"{plain(url)} gave {kind.name}: {kind.remedy}")
            raise Fault(f"{plain(url)} has the MD5 sum {found}, expected {md5}: it was removed; the same "
                        "command gets it again")
        os.rename(part, path)
