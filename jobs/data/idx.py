"""Reads IDX, the format of MNIST and its kin: http://yann.lecun.com/exdb/mnist describes it. Two zero bytes, the type
of the elements, the number of dimensions, each dimension as a big-endian 32-bit number, then the elements."""

import gzip
import struct
import zlib
from collections import namedtuple

from common import Fault, plain, require_file
from kinds import GZIP, require_unknown, unreadable
from layout import MOST_IMAGES, SIDE, Split, grey_record

UNSIGNED_BYTE = 8
LARGEST = 255  # of a label, which is a byte

Array = namedtuple("Array", "shape elements")


def _bytes_of(stream, count, path, what):
    read = stream.read(count)
    if len(read) != count:
        raise Fault(f"{plain(path)} is truncated: it has {len(read):,} of {count:,} bytes of {what}; get it again")
    return read


def _check_shape(shape, path):
    """Before anything of that size is read."""
    if min(shape) < 1 or shape[0] > MOST_IMAGES or max(shape[1:], default=1) > SIDE:
        sizes = " x ".join(f"{size:,}" for size in shape)
        raise Fault(f"{plain(path)} claims {sizes} elements: rueda takes 1 to {MOST_IMAGES:,} images of up to "
                    f"{SIDE} x {SIDE} pixels")


def _read(stream, path, dimensions):
    zeros, kind, found = struct.unpack(">HBB", _bytes_of(stream, 4, path, "its head"))
    if zeros != 0 or kind != UNSIGNED_BYTE or found != dimensions:
        require_unknown(path, expected=GZIP)
        what = {1: "labels", 3: "images"}[dimensions]
        raise Fault(f"{plain(path)} is not an IDX file of {what}: it begins with the bytes "
                    f"{zeros:04x}{kind:02x}{found:02x}, expected 0000080{dimensions}")
    shape = struct.unpack(f">{dimensions}I", _bytes_of(stream, 4 * dimensions, path, "its head"))
    _check_shape(shape, path)
    count = 1
    for size in shape:
        count *= size
    elements = _bytes_of(stream, count, path, "elements")
    if stream.read(1):
        raise Fault(f"{plain(path)} goes on after its {count:,} elements: it is damaged, or of another kind")
    return Array(shape, elements)


def read_array(path, dimensions):
    """The array of unsigned bytes in `path`, which may be packed by gzip. No more is unpacked than the head claims."""
    require_file(path)
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if not packed:
                return _read(file, path, dimensions)
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _read(unpacked, path, dimensions)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, "is a damaged gzip file", error, expected=GZIP) from None


def _check_labels(labels, path, classes):
    for image, label in enumerate(labels):
        if label >= classes:
            raise Fault(f"{plain(path)}: image {image:,} has label {label}, expected 0 to {classes - 1}")


def read_split(images_path, labels_path, classes=None):
    """A split and its number of classes: that given, or one more than its largest label."""
    images, labels = read_array(images_path, 3), read_array(labels_path, 1).elements
    count, height, width = images.shape
    if len(labels) != count:
        raise Fault(f"{plain(images_path)} holds {count:,} images and {plain(labels_path)} {len(labels):,} labels: "
                    "they are not of one set")
    if classes is not None:
        _check_labels(labels, labels_path, classes)
    size = height * width

    def records():
        for image, label in enumerate(labels):
            yield grey_record(label, images.elements[image * size : (image + 1) * size], width)

    return Split(labels, records), classes or max(labels) + 1


def find_pair(folder, beginning):
    """The files of images and labels in `folder`, packed or not, by the names that MNIST and its kin give them:
    `beginning` stands before the last words."""
    pair = []
    for what in ("images-idx3-ubyte", "labels-idx1-ubyte"):
        found = sorted(path for path in folder.glob(f"*{beginning}-{what}*")
                       if path.name.endswith((what, f"{what}.gz")))
        if len(found) > 1:
            raise Fault(f"{plain(folder)} holds {plain(found[0].name)} and {plain(found[1].name)}: remove one")
        if not found:
            raise Fault(f"{plain(folder)} holds no {beginning}-{what} (or .gz): give the folder with the "
                        "four IDX files")
        pair += found
    return pair
