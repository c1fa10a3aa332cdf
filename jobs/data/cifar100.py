"""CIFAR-100 (Krizhevsky 2009) in its binary version: records of a coarse label, a fine label and the pixels."""

import bounds
from archives import members
from common import Fault, plain, require_file
from kinds import require_unknown
from layout import RECORD_BYTES, Split

FOLDER = "cifar-100-binary"
IN_RECORD = 1 + RECORD_BYTES
CLASSES = {"coarse": 20, "fine": 100}
FILES = ("train.bin", "test.bin", "coarse_label_names.txt", "fine_label_names.txt")


def _from_archive(archive):
    found = {}
    for name, content in members(archive, FOLDER, dict.fromkeys(FILES, bounds.MEMBER_BYTES)):
        if content is None:
            raise Fault(f"{plain(archive)}: {name} is no regular file of up to {bounds.MEMBER_BYTES:,} bytes; "
                        "get the archive again")
        found[name] = content
    return found


def _from_folder(folder):
    found = {}
    for name in FILES:
        if (folder / name).exists():
            require_file(folder / name, bounds.MEMBER_BYTES)
            with open(folder / name, "rb") as file:
                found[name] = file.read(bounds.MEMBER_BYTES)
            if name.endswith(".bin") and len(found[name]) % IN_RECORD:
                require_unknown(folder / name)
    return found


def _split(content, labels, place):
    at = 0 if labels == "coarse" else 1
    count, rest = divmod(len(content), IN_RECORD)
    if rest or count == 0:
        raise Fault(f"{place} has {len(content):,} bytes, which are no whole records of {IN_RECORD:,}; get it again")
    for image in range(count):
        for byte, most in ((0, CLASSES["coarse"]), (1, CLASSES["fine"])):
            if content[image * IN_RECORD + byte] >= most:
                raise Fault(f"{place}: record {image} has the label {content[image * IN_RECORD + byte]}, expected 0 to "
                            f"{most - 1}")

    def records():
        for first in range(0, len(content), IN_RECORD):
            yield content[first + at : first + at + 1] + content[first + 2 : first + IN_RECORD]

    return Split(content[at::IN_RECORD], records)


def is_one(place):
    """Whether it is CIFAR-100, as a folder or as an archive."""
    if place.is_dir():
        return (place / "fine_label_names.txt").exists() or (place / FOLDER).is_dir()
    return place.name.endswith((".tar.gz", ".tgz", ".tar"))


def read(place, options):
    labels = options.labels or "fine"
    if place.is_dir():
        place = place / FOLDER if (place / FOLDER).is_dir() else place
        found = _from_folder(place)
    else:
        found = _from_archive(place)
    for name in FILES:
        if name not in found:
            raise Fault(f"{plain(place)} holds no {name}: give the binary version of CIFAR-100")
    names = [name for name in found[f"{labels}_label_names.txt"].decode("utf-8", "replace").split("\n") if name.strip()]
    if len(names) != CLASSES[labels]:
        raise Fault(f"{plain(place)}: {labels}_label_names.txt names {len(names)} classes, expected {CLASSES[labels]}")
    return names, *(_split(found[name], labels, f"{plain(place)}: {name}") for name in FILES[:2])
