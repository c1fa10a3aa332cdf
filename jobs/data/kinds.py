"""What a file is that is not what was expected, by how it begins: told with the remedy in place of "damaged"."""

from collections import namedtuple

from common import Fault, plain, require_file

HEAD_BYTES = 1024

# `begins` stands at the byte `at`; `name` follows "is", `remedy` a colon.
Kind = namedtuple("Kind", "begins at name remedy")

UNPACK = "unpack it, and give what was in it"
PICTURES = "save it as PNG or JPEG"
PAGE = ("an HTML page, such as a login, a quota or an error",
        "open the address in a browser, and save the file that it leads to")
BINARY = (
    Kind(b"version https://git-lfs.github.com/spec/", 0, "a Git LFS pointer, not the file that it stands for",
         "run `git lfs pull` in its repository, or download the file itself"),
    Kind(b"PK\3\4", 0, "a zip archive", UNPACK),
    Kind(b"\x1f\x8b", 0, "a gzip file", UNPACK),
    Kind(b"BZh", 0, "a bzip2 file", UNPACK),
    Kind(b"\xfd7zXZ\0", 0, "an xz file", UNPACK),
    Kind(b"\x28\xb5\x2f\xfd", 0, "a Zstandard file", UNPACK),
    Kind(b"7z\xbc\xaf\x27\x1c", 0, "a 7z archive", UNPACK),
    Kind(b"Rar!\x1a\7", 0, "a RAR archive", UNPACK),
    Kind(b"ustar", 257, "a tar archive", UNPACK),
    Kind(b"\x93NUMPY", 0, "a NumPy file", "give the folder or the .npz file with all four arrays"),
    Kind(b"PAR1", 0, "a Parquet file", "save its pictures as PNG files, a folder for each class"),
    Kind(b"\x89HDF\r\n\x1a\n", 0, "an HDF5 file", "save its arrays as .npy files"),
    Kind(b"MATLAB 5.0 MAT-file", 0, "a MATLAB file", "save its arrays as .npy files (scipy.io.loadmat reads it)"),
    Kind(b"%PDF-", 0, "a PDF document", PICTURES),
    Kind(b"ftyphei", 4, "a HEIC picture", PICTURES),
    Kind(b"ftypavif", 4, "an AVIF picture", PICTURES),
)
# Of texts, in lower case, whatever blanks come first.
TEXTS = (
    Kind(b"<!doctype html", 0, *PAGE),
    Kind(b"<html", 0, *PAGE),
    Kind(b"<head", 0, *PAGE),
    Kind(b"<svg", 0, "an SVG drawing", PICTURES),
    Kind(b"<?xml", 0, "an XML document, such as a server's error", "look into it, and get the file itself"),
    Kind(b"<error", 0, "an XML document, such as a server's error", "look into it, and get the file itself"),
    Kind(b'{"', 0, "a JSON text, such as a server's error", "look into it, and get the file itself"),
)


GZIP = (b"\x1f\x8b",)
ARCHIVES = (*GZIP, b"ustar")


def kind_of(path, expected=()):
    """None of what is not known, begins as one of `expected`, or is not a file that can be read."""
    try:
        require_file(path)  # a pipe would be waited for
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except (Fault, OSError):
        return None
    if not head:
        return Kind(b"", 0, "an empty file", "get it again")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for kinds, content in ((BINARY, head), (TEXTS, text)):
        for kind in kinds:
            if content.startswith(kind.begins, kind.at):
                return None if kind.begins in expected else kind
    return None


def require_unknown(path, expected=()):
    """Raises the fault of a file that is of another kind than those that begin as `expected`."""
    kind = kind_of(path, expected)
    if kind:
        raise Fault(f"{plain(path)} is {kind.name}: {kind.remedy}")


def unreadable(path, trouble, error, expected=(), remedy="get it again"):
    """The fault of a file that its reader gave up with `error`. `expected`: how such a file begins."""
    try:
        require_unknown(path, expected)
    except Fault as fault:
        return fault
    return Fault(f"{plain(path)} {trouble} ({plain(error) or type(error).__name__}); {remedy}")
