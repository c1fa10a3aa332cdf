"""What a file is where a text was expected, by its first bytes (src/base/file_kind.cpp has the kinds)."""

import shlex
from collections import namedtuple

from .definitions import DEFINITIONS, LIMITS
from .text import printable

HEAD_BYTES = LIMITS["head_bytes"]
OtherKind = namedtuple("OtherKind", "name remedy")
"""`remedy` is empty where only the reader knows what it wants instead."""


def _is_like(kind, head, text):
    magics = any(head.startswith(bytes.fromhex(one["bytes"]), one["offset"]) for one in kind["magics"])
    return (magics
            or any(text.startswith(one["begin"].encode()) and one["has"].encode() in text for one in kind["texts"]))


def _remedy(kind, name):
    if kind["unpack"]:
        return f"unpack it: {kind['unpack']} {shlex.quote(printable(name))}"
    return kind["instead"]


def other_kind(head, name):
    """The OtherKind of a file of this name that begins with these bytes, None where it may be a text that is wanted."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    kind = next((one for one in DEFINITIONS["file_kinds"] if _is_like(one, head, text)), None)
    return kind and OtherKind(kind["name"], _remedy(kind, name))
