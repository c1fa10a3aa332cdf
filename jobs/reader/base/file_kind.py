"""What a file is where a text was expected, by its first bytes (as src/base/file_kind.cpp has it for data and weights)."""

from collections import namedtuple

HEAD_BYTES = 512
OtherKind = namedtuple("OtherKind", "name remedy")

_LFS = OtherKind("a Git LFS pointer, which stands for the file", "get the file: git lfs pull, in its repository")
_ANNEX = OtherKind("a git-annex pointer, which stands for the file", "get the file: git annex get, in its repository")
_HTML = OtherKind("an HTML page, such as a login or an error of the server",
                  "open the address in a browser to see what the server wants, and download the file again")
_XML = OtherKind("an XML text, such as an object store's error", "read it for the reason, and download the file again")


def _packed(name, program):
    return OtherKind(name, f"unpack it with {program}, and give what was in it")


_MAGICS = (  # none of them begins a text; offset, bytes, kind
    (0, b"version https://git-lfs.", _LFS),
    (0, b"version https://hawser.", _LFS),
    (0, b"/annex/objects/", _ANNEX),
    (0, b"../.git/annex/objects/", _ANNEX),
    (0, b"PK\3\4", _packed("a zip archive", "unzip")),
    (0, b"PK\5\6", _packed("a zip archive", "unzip")),
    (0, b"\x1f\x8b", _packed("a gzip file", "gunzip, or tar -xf if it is a tar archive")),
    (4, b"1AY&SY", _packed("a bzip2 file", "bunzip2, or tar -xf if it is a tar archive")),
    (0, b"\xfd7zXZ\0", _packed("an xz file", "unxz, or tar -xf if it is a tar archive")),
    (0, b"\x28\xb5\x2f\xfd", _packed("a Zstandard file", "unzstd, or tar -xf if it is a tar archive")),
    (0, b"7z\xbc\xaf\x27\x1c", _packed("a 7z archive", "7z x")),
    (257, b"ustar", _packed("a tar archive", "tar -xf")),
)


def other_kind(head):
    """The OtherKind of a file that begins with these bytes, None where it may be a text that is wanted."""
    for offset, magic, kind in _MAGICS:
        if head.startswith(magic, offset):
            return kind
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text.startswith(b"<") and (b"<!doctype html" in text or b"<html" in text):
        return _HTML
    return _XML if text.startswith((b"<?xml", b"<error>")) else None
