"""NumPy's files: four .npy files in a folder, or one .npz file with four arrays."""

import math
import zipfile

import bounds
from common import Fault, plain, require_file
from kinds import unreadable
from layout import MOST_IMAGES, Split
from pictures import record

# What people call them, images before labels.
WORDS = ((("train_images", "train_labels"), ("test_images", "test_labels")),
         (("x_train", "y_train"), ("x_test", "y_test")))


KNOWN = {word for words in WORDS for pair in words for word in pair}


def _pairs_in(names, place):
    """The names of images and labels for training, then for testing, of those that are there; in any case (X_train)."""
    there = {}
    for name in sorted(names):
        if name.lower() in there and name.lower() in KNOWN:
            raise Fault(f"{plain(place)} holds {plain(there[name.lower()])} and {plain(name)}: remove one")
        there[name.lower()] = name
    for words in WORDS:
        if all(word in there for pair in words for word in pair):
            return [tuple(there[word] for word in pair) for pair in words]
    raise Fault(f"{plain(place)} holds the arrays {plain(', '.join(there.values()))}: expected train_images, "
                "train_labels, test_images, test_labels, or x_train, y_train, x_test, y_test")


def _stems(folder):
    return [path.stem for path in folder.glob("*.npy") if not path.name.startswith(".")]


def is_one(place):
    if place.is_dir():
        return any(stem.lower() in KNOWN for stem in _stems(place))
    return place.suffix == ".npz"


def _guarded(path, load):
    """What `load` makes of the file. Nothing in it is run (allow_pickle)."""
    try:
        return load(path)
    except Fault:
        raise
    except Exception as error:  # zipfile and NumPy raise what they stumble over
        raise unreadable(path, "cannot be read as NumPy's arrays", error, expected=(b"PK\3\4", b"\x93NUMPY"),
                         remedy="save whole arrays of numbers again") from None


def _mapped(path):
    import numpy

    require_file(path)
    return numpy.load(path, mmap_mode="r", allow_pickle=False)


def _from_folder(folder):
    pairs = _pairs_in(_stems(folder), folder)
    return pairs, {name: _guarded(folder / f"{name}.npy", _mapped) for pair in pairs for name in pair}


def _array_in(archive, member):
    """Its size is that which its head claims, before memory is taken for it."""
    from numpy.lib import format as npy

    heads = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in heads:
            raise ValueError(f"{member.filename} has the version {version} of .npy")
        shape, _, dtype = heads[version](file)
        claimed, size = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
        if claimed != size and not dtype.hasobject:
            raise ValueError(f"{member.filename} claims {claimed:,} bytes and has {size:,}")
    with archive.open(member) as file:
        return npy.read_array(file, allow_pickle=False)


def _from_archive(place):
    require_file(place)
    with zipfile.ZipFile(place) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        pairs = _pairs_in(members, place)
        wanted = {name: members[name] for pair in pairs for name in pair}
        for name, member in wanted.items():
            if member.file_size > bounds.ARRAY_BYTES:
                raise Fault(f"{plain(place)}: {name} has {member.file_size:,} bytes, and rueda takes up to "
                            f"{bounds.ARRAY_BYTES:,}")
        return pairs, {name: _array_in(archive, member) for name, member in wanted.items()}


def _colours_last(images, name):
    """(N, height, width, 3), or (N, height, width) of grey images."""
    shape = images.shape
    if len(shape) == 4 and shape[3] == 1:
        return images[..., 0]
    if len(shape) == 4 and shape[1] == 1:
        return images[:, 0]
    if len(shape) == 4 and shape[3] != 3 and shape[1] == 3:
        return images.transpose(0, 2, 3, 1)
    if len(shape) == 3 or (len(shape) == 4 and shape[3] == 3):
        return images
    raise Fault(f"{name} has the shape {shape}, expected (N, height, width), with 1 or 3 colours at its end or after N")


def _require_pixels(images, name):
    """Refuses what is not uint8 with the line that converts it, which depends on the values."""
    if images.dtype == "uint8":
        return
    if images.dtype.kind not in "biuf":
        raise Fault(f"{name} has elements of {plain(images.dtype)}, expected uint8 from 0 to 255")
    lowest, highest = float(images.min()), float(images.max())
    if not (lowest >= 0 and highest < math.inf):
        remedy = "undo their normalization first: pixels are 0 to 255"
    elif highest <= 1:
        remedy = "save (x.astype('float32') * 255).round().astype('uint8')"
    elif highest <= 255:
        remedy = "save x.round().astype('uint8')"
    else:
        remedy = "scale them to 0 to 255 first"
    raise Fault(f"{name} has elements of {plain(images.dtype)}, expected uint8, from {lowest:g} to "
                f"{highest:g}: {remedy}")


def _split(arrays, pair, place):
    from PIL import Image

    image_name, label_name = (f"{plain(place)}: {word}" for word in pair)
    images, labels = _colours_last(arrays[pair[0]], image_name), arrays[pair[1]]
    if labels.dtype.kind not in "iu" or labels.ndim < 1 or labels.size != len(labels):
        raise Fault(f"{label_name} has the shape {labels.shape} of {plain(labels.dtype)}, expected a whole "
                    "number an image")
    if len(labels) != len(images) or not 1 <= len(images) <= MOST_IMAGES or min(images.shape) < 1:
        raise Fault(f"{image_name} holds {len(images):,} images and {label_name} {len(labels):,} labels")
    _require_pixels(images, image_name)
    labels = [int(label) for label in labels.reshape(-1)]
    for image, label in enumerate(labels):
        if not 0 <= label <= 255:
            raise Fault(f"{label_name}: image {image} has the label {label}, expected 0 to 255")

    def records():
        for label, image in zip(labels, images):
            yield record(label, Image.fromarray(image).convert("RGB"))

    return Split(labels, records), max(labels) + 1


def read(place, options):
    pairs, arrays = _from_folder(place) if place.is_dir() else _guarded(place, _from_archive)
    (train, in_train), (test, in_test) = (_split(arrays, pair, place) for pair in pairs)
    if max(arrays[images].max() for images, _ in pairs) <= 1:
        raise Fault(f"{plain(place)} has no pixel above 1, and white is 255: save (x * 255).astype('uint8')")
    return [str(k) for k in range(max(in_train, in_test))], train, test
