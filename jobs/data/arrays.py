"""NumPy's files: four .npy files in a folder, or one .npz file with four arrays."""

import zipfile

from common import Fault, plain, require_file
from layout import MOST_IMAGES, Split
from pictures import record

# What people call them, images before labels.
WORDS = ((("train_images", "train_labels"), ("test_images", "test_labels")), (("x_train", "y_train"), ("x_test", "y_test")))
MOST_BYTES = 1 << 33  # of an array in an .npz file, which is unpacked into memory


def _words_in(names):
    names = set(names)
    for words in WORDS:
        if {word for pair in words for word in pair} <= names:
            return words
    return None


def _words_of_folder(folder):
    return _words_in(path.stem for path in folder.glob("*.npy"))


def is_one(place):
    if place.is_dir():
        return _words_of_folder(place) is not None
    return place.suffix == ".npz"


def _load(place):
    """The arrays by name. Nothing in a file is run (allow_pickle)."""
    import numpy

    try:
        if place.is_dir():
            words = _words_of_folder(place)
            paths = [place / f"{word}.npy" for pair in words for word in pair]
            for path in paths:
                require_file(path)
            return words, {path.stem: numpy.load(path, mmap_mode="r", allow_pickle=False) for path in paths}
        require_file(place)
        with zipfile.ZipFile(place) as archive:
            sizes = {member.filename.removesuffix(".npy"): member.file_size for member in archive.infolist()}
        words = _words_in(sizes)
        if words is None or max(sizes.values()) > MOST_BYTES:
            raise Fault(f"{plain(place)} holds no arrays train_images, train_labels, test_images, test_labels (or x_train, "
                        "y_train, x_test, y_test) of a size that rueda takes")
        with numpy.load(place, allow_pickle=False) as arrays:
            return words, {word: arrays[word] for pair in words for word in pair}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise Fault(f"{plain(place)}: {plain(error)}; save whole arrays of numbers again") from None


def _colours_last(images, name):
    """(N, height, width, 3), or (N, height, width) of grey images."""
    shape = images.shape
    if images.dtype != "uint8":
        raise Fault(f"{name} has elements of {plain(images.dtype)}, expected uint8: of numbers from 0 to 1 save "
                    "(x * 255).round().astype('uint8')")
    if len(shape) == 4 and shape[3] == 1:
        return images[..., 0]
    if len(shape) == 4 and shape[1] == 1:
        return images[:, 0]
    if len(shape) == 4 and shape[3] != 3 and shape[1] == 3:
        return images.transpose(0, 2, 3, 1)
    if len(shape) == 3 or (len(shape) == 4 and shape[3] == 3):
        return images
    raise Fault(f"{name} has the shape {shape}, expected (N, height, width), with 1 or 3 colours at its end or after N")


def _split(arrays, pair, place):
    from PIL import Image

    image_name, label_name = (f"{plain(place)}: {word}" for word in pair)
    images, labels = _colours_last(arrays[pair[0]], image_name), arrays[pair[1]]
    if labels.dtype.kind not in "iu" or labels.size != len(labels):
        raise Fault(f"{label_name} has the shape {labels.shape} of {plain(labels.dtype)}, expected a whole number an image")
    labels = [int(label) for label in labels.reshape(-1)]
    if len(labels) != len(images) or not 1 <= len(images) <= MOST_IMAGES or min(images.shape) < 1:
        raise Fault(f"{image_name} holds {len(images):,} images and {label_name} {len(labels):,} labels")
    for image, label in enumerate(labels):
        if not 0 <= label <= 255:
            raise Fault(f"{label_name}: image {image} has the label {label}, expected 0 to 255")

    def records():
        for label, image in zip(labels, images):
            yield record(label, Image.fromarray(image).convert("RGB"))

    return Split(labels, records), max(labels) + 1


def read(place, options):
    words, arrays = _load(place)
    (train, in_train), (test, in_test) = (_split(arrays, pair, place) for pair in words)
    return [str(k) for k in range(max(in_train, in_test))], train, test
