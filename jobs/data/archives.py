"""Reads members of tar archives, packed by gzip or not, with bounds: tarfile itself reads headers of any claimed size,
and unpacks what it passes over."""

import gzip
import tarfile

import bounds
from common import Fault, plain, require_file
from kinds import ARCHIVES, unreadable


class _Bounded:
    """What tarfile reads of: forward only, so far and in such pieces as no archive of a set goes beyond."""

    def __init__(self, stream, path):
        self._stream, self._path = stream, plain(path)

    def tell(self):
        return self._stream.tell()

    def seek(self, position):
        if position < self._stream.tell():
            raise tarfile.ReadError("a member of negative size")
        if position > bounds.UNPACKED_BYTES:
            raise Fault(f"{self._path} has members of {position:,} bytes and more, and rueda reads archives of up to "
                        f"{bounds.UNPACKED_BYTES:,}: it is not the set")
        self._stream.seek(position)

    def read(self, count):
        if not 0 <= count <= bounds.HEADER_BYTES:
            raise Fault(f"{self._path} has a header of {count:,} bytes, expected up to "
                        f"{bounds.HEADER_BYTES:,}: get it again")
        if self._stream.tell() + count > bounds.UNPACKED_BYTES:
            raise Fault(f"{self._path} is longer than {bounds.UNPACKED_BYTES:,} bytes: it is not the set")
        return self._stream.read(count)


def _opened(file):
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file


def _content_of(member, tar):
    with tar.extractfile(member) as file:
        return b"".join(iter(lambda: file.read(bounds.HEADER_BYTES // 2), b""))


def _members(path, folder, most):
    with open(path, "rb") as file, _opened(file) as stream, \
            tarfile.open(fileobj=_Bounded(stream, path), mode="r:") as tar:
        for count, member in enumerate(tar, 1):
            if count > bounds.MEMBERS:
                raise Fault(f"{plain(path)} has more than {bounds.MEMBERS:,} members: it is not the set")
            name = member.name.removeprefix("./").removeprefix(folder + "/")
            if name in most:
                fits = member.isreg() and member.size <= most[name]
                yield name, _content_of(member, tar) if fits else None


def members(path, folder, most):
    """(name, content) of those members that lie in `folder` or at the top and have names in `most`, which has the
    largest size of each: None instead of the content of a larger one, or of a link. No path is followed."""
    require_file(path)
    try:
        yield from _members(path, folder, most)
    except Fault:
        raise
    except Exception as error:  # tarfile raises what it stumbles over
        raise unreadable(path, "is damaged", error, expected=ARCHIVES) from None
