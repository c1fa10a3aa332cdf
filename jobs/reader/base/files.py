"""How files are written, and which files are ours to remove (docs/reliability.md, "What is removed, and when")."""

import errno
import fcntl
import hashlib
import io
import os
import re
import secrets
import stat
import sys
from pathlib import Path

RECORD = ".rueda-files"  # in a folder: what was written there, as sha256sum does
_LINE = re.compile(r"([0-9a-f]{64})  \./([^/]+)")
DATELESS = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}, "svg": {"Date": None}}
"""The metadata of savefig by form: equal figures give equal files."""


def _write_stream(path, content):
    """A pipe must have a reader, or opening it would wait for one, deaf to signals."""
    try:
        stream = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads this pipe", str(path)) from None
        raise
    with os.fdopen(stream, "wb") as file:
        fcntl.fcntl(stream, fcntl.F_SETFL, fcntl.fcntl(stream, fcntl.F_GETFL) & ~os.O_NONBLOCK)
        file.write(content)


_PIECE = 1 << 18
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
"""Links of the system, which are meant by their names."""


def write_whole(path, content):
    """The rule of all outputs of rueda. Where nothing or a regular file is, bytes go under a temporary name, as long
    for every path, which is then renamed: a file that is there is whole. A device or pipe is written into. Links and
    folders are refused, with an OSError."""
    path = Path(path)
    if str(path) in _STREAMS:
        sys.stdout.flush()
        with os.fdopen(os.dup(_STREAMS[str(path)]), "wb") as file:
            file.write(content)
        return
    mode = path.lstat().st_mode if os.path.lexists(path) else stat.S_IFREG
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        _write_stream(path, content)
        return
    if not stat.S_ISREG(mode):
        kind = "it is a link; name the file itself" if stat.S_ISLNK(mode) else "it is no file, device or pipe"
        raise OSError(errno.EINVAL, kind, str(path))
    temporary = path.with_name(f".rueda.tmp-{secrets.randbits(64)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def obstacle_to_output(path):
    """Why write_whole could not begin with this path, for example "it is a link"; empty if it could. Found by trying
    the temporary file, which is removed again."""
    path = Path(path)
    if str(path) in _STREAMS:
        return ""
    mode = path.lstat().st_mode if os.path.lexists(path) else stat.S_IFREG
    if stat.S_ISLNK(mode):
        return "it is a link; name the file itself"
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return "" if os.access(path, os.W_OK) else os.strerror(errno.EACCES)
    if not stat.S_ISREG(mode):
        return "it is no file, device or pipe"
    temporary = path.with_name(f".rueda.tmp-{secrets.randbits(64)}")
    try:
        temporary.touch(exist_ok=False)
        temporary.unlink()
    except OSError:
        return "its folder does not exist, is full or may not be written into"
    return ""


def save_figure(figure, path, **options):
    """In the form that the end of the path names. Raises OSError."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    form = str(path).rpartition(".")[2]
    with rc_context({"svg.hashsalt": "rueda"}):  # else its names are drawn by lot
        figure.savefig(buffer, format=form, metadata=DATELESS.get(form), **options)
    write_whole(path, buffer.getvalue())


def make_folder(path):
    """A folder inside an output. None that a link leads to: it would be somebody else's. Raises OSError."""
    if os.path.islink(path):
        raise OSError(errno.EINVAL, "it is a link; remove it, or name another output", str(path))
    os.makedirs(path, exist_ok=True)


def open_regular(path, flags=0):
    """A regular file, for reading bytes: a pipe or device may keep whoever reads it waiting. Raises OSError."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read_at_most(file, most):
    """As file.read(most) does, but without taking that much memory before it is known how much is there."""
    parts = []
    while most > 0 and (part := file.read(min(most, _PIECE))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def read_regular(path, flags=0):
    with open_regular(path, flags) as file:
        return file.read()


def _hash(content):
    return hashlib.sha256(content).hexdigest()


class Ownership:
    """What earlier calls wrote into a folder, by its record."""

    def __init__(self, folder):
        self.folder = Path(folder)
        lines = (self._bytes(RECORD) or b"").decode("utf-8", "replace").splitlines()
        self.known = {}  # name to hashes: two of a file while it is replaced
        for match in filter(None, map(_LINE.fullmatch, lines)):
            self.known.setdefault(match[2], set()).add(match[1])

    def _bytes(self, name):
        """None where there is no regular file of this name, links not followed."""
        try:
            return read_regular(self.folder / name, os.O_NOFOLLOW)
        except OSError:
            return None

    def proven(self, name):
        """Whether a file is there that an earlier call wrote, unchanged since."""
        content = self._bytes(name) if name in self.known else None
        return content is not None and _hash(content) in self.known[name]

    def remove_others(self, names):
        """Removes what earlier calls wrote and is not among the names. Returns what was removed."""
        others = [name for name in sorted(self.known) if name not in names and self.proven(name)]
        for name in others:
            (self.folder / name).unlink()
        return others

    def keep(self, names):
        """Records these alone of what is known."""
        self.known = {name: hashes for name, hashes in self.known.items() if name in names}
        self.write({}, and_earlier=True)

    def write(self, contents, and_earlier=False):
        """Records {name: bytes}, all that belongs to the folder now. `and_earlier` keeps what is known: a file may be
        the old one or the new one until it has been replaced, and whoever is stopped in between can prove either."""
        hashes = {name: {_hash(content)} for name, content in contents.items()}
        for name, known in self.known.items() if and_earlier else ():
            hashes.setdefault(name, set()).update(known)
        lines = [f"{one}  ./{name}\n" for name in sorted(hashes) for one in sorted(hashes[name])]
        write_whole(self.folder / RECORD, "".join(lines).encode("utf-8"))
