"""The layout of CIFAR-10's binary version.

A record is a label byte and 3,072 pixel bytes: 32 x 32 of red, then green, then blue. The training set is in
data_batch_1.bin and so on, the test set in test_batch.bin, the names of the classes in batches.meta.txt."""

import os
from collections import namedtuple

from common import Fault, counted, plain, say
from staging import META, TEST, put_set

SIDE = 32
CHANNELS = 3
RECORD_BYTES = 1 + CHANNELS * SIDE * SIDE
FEWEST_CLASSES, MOST_CLASSES = 2, 256  # a label is a byte
TRAIN_FILES = 5
FILE_IMAGES = 60_000  # rueda reads no file of more than 200 MB ...
MOST_IMAGES = 600_000  # ... and no set of more than 2 GB; the test set is one file


class Split(namedtuple("Split", "labels records")):
    """`records` makes an iterator of as many records as there are labels."""

    @property
    def count(self):
        return len(self.labels)



def grey_record(label, grey, width):
    """A record of a grey image, row after row, no side longer than 32: in the middle of black, three equal channels."""
    height = len(grey) // width
    between = bytes(SIDE - width)  # the end of a row and the beginning of the next
    body = between.join(grey[at : at + width] for at in range(0, len(grey), width))
    plane = bytes((SIDE - height) // 2 * SIDE + (SIDE - width) // 2) + body
    return bytes([label]) + plane.ljust(SIDE * SIDE, b"\0") * CHANNELS


def _parts(count):
    """Images of each training file: five files as CIFAR-10 has them where there are so many images, all about as
    long."""
    files = max(min(TRAIN_FILES, count), -(-count // FILE_IMAGES))
    return [count * (k + 1) // files - count * k // files for k in range(files)]


def _sizes(train_count, test_count):
    """The names of a set's batches with their numbers of images."""
    sizes = {f"data_batch_{k}.bin": part for k, part in enumerate(_parts(train_count), 1)}
    return {**sizes, TEST: test_count}


def _meta(names):
    return "".join(f"{name}\n" for name in names).encode()


def is_there(folder, names, train_count, test_count):
    """Whether a set of these classes and sizes lies in `folder`. Sets come there whole, so its content is not read."""
    sizes = _sizes(train_count, test_count)
    try:
        lengths = {name: (folder / name).stat().st_size for name in sizes}
        return lengths == {name: images * RECORD_BYTES for name, images in sizes.items()} and \
            (folder / META).read_text(encoding="utf-8").split("\n") in (names, [*names, ""], [*names, "", ""])
    except (OSError, ValueError):
        return False


def _check(names, train, test):
    if not FEWEST_CLASSES <= len(names) <= MOST_CLASSES:
        raise Fault(f"number of classes of the set: {len(names)}; rueda takes {FEWEST_CLASSES} to {MOST_CLASSES}")
    most = MOST_IMAGES - test.count
    for split, what, most in ((test, "test", FILE_IMAGES), (train, "training", most)):
        if not 1 <= split.count <= most:
            raise Fault(f"the set has {counted(split.count, f'{what} image')}: rueda takes 1 to {most:,}")


def _write_file(path, records, count):
    with open(path, "xb") as file:
        for _ in range(count):
            file.write(next(records))
        file.flush()
        os.fsync(file.fileno())


def _write_all(folder, names, train, test):
    sizes = _sizes(train.count, test.count)
    records = train.records()
    for name, count in sizes.items():
        _write_file(folder / name, test.records() if name == TEST else records, count)
    _write_file(folder / META, iter([_meta(names)]), 1)


def write_set(target, names, train, test, overwrite=False):
    _check(names, train, test)
    new = put_set(target, lambda folder: _write_all(folder, names, train, test), overwrite)
    described = (f"{counted(train.count, 'training image')} and {counted(test.count, 'test image')} of "
                 f"{len(names)} classes")
    say(f"wrote {described} to {plain(target)}" if new else f"{plain(target)} already holds these {described}")
