"""A set of one's own: finds out what lies at a place, and writes it in CIFAR-10's layout."""

from collections import Counter

import arrays
import bounds
import cifar100
import idx
import pictures
from common import Fault, class_name, plain, require_file, say
from kinds import require_unknown
from layout import write_set
from needs import need


def _idx_is_one(place):
    return place.is_dir() and any(place.glob("*train-images-idx3-ubyte*"))


def _read_idx(place, options):
    """The training set, and the test set, which MNIST calls t10k and EMNIST test."""
    train_files = idx.find_pair(place, "train")
    test_files = idx.find_pair(place, "t10k" if any(place.glob("*t10k-images*")) else "test")
    (train, in_train), (test, in_test) = idx.read_split(*train_files), idx.read_split(*test_files)
    return [str(k) for k in range(max(in_train, in_test))], train, test


# What is asked in this order whether a place is of its kind; the modules that it needs; how it is read.
KINDS = (
    (_idx_is_one, (), _read_idx),
    (cifar100.is_one, (), cifar100.read),
    (arrays.is_one, ("numpy", "PIL"), arrays.read),
    (pictures.is_one, ("PIL",), pictures.read),
)
EXACT = (pictures.read, cifar100.read)  # these know their classes; of others the largest label counts
SHOWN = 10  # numbers in a message


def _names_in(path):
    require_file(path, bounds.NAMES_BYTES)
    with open(path, "rb") as file:
        content = file.read(bounds.NAMES_BYTES)
    try:
        text = content.decode().removeprefix("\ufeff")  # Windows' mark of UTF-8
    except UnicodeDecodeError as error:
        raise Fault(f"{plain(path)} is no UTF-8 text, by its byte {error.start}: save it as UTF-8") from None
    return [class_name(line.strip()) for line in text.split("\n") if line.strip()]


def _given_names(path, found, read):
    """The names of --names: one for each class; of labels there may be more, which no image has."""
    given = _names_in(path)
    if len(given) < len(found) or (len(given) > len(found) and read in EXACT):
        raise Fault(f"{plain(path)} has {len(given)} names, and the set {len(found)} classes: one name a line, "
                    "for each class")
    twice = [name for name, times in Counter(given).items() if times > 1]
    if twice:
        raise Fault(f"{plain(path)} has the name {twice[0]} twice: each class needs its own")
    return given


def _tell_empty_classes(names, split, what):
    empty = sorted(set(range(len(names))) - set(split.labels))
    if empty:
        shown = ", ".join(str(k) if names[k] == str(k) else f"{k} {names[k]}" for k in empty[:SHOWN])
        say(f"{len(empty)} of {len(names)} classes {'has' if len(empty) == 1 else 'have'} no {what} image: {shown}"
            f"{', ...' if len(empty) > SHOWN else ''}")
    return bool(empty)


def _check_labels(names, train, test, from_zero):
    """Labels as a whole. `from_zero`: it is certain that 0 is a class, though no image may have it."""
    lowest, highest = (bound(bound(train.labels), bound(test.labels)) for bound in (min, max))
    if lowest > 0 and not from_zero:
        raise Fault(f"no image has the label 0, the labels are {lowest} to {highest}, and classes are counted "
                    f"from 0: subtract {lowest} from all labels, or give --names with {highest + 1} names "
                    "if 0 is a class")
    if _tell_empty_classes(names, train, "training"):
        say("a network gets an output for each of them: if these are no classes, number the labels without gaps")
    _tell_empty_classes(names, test, "test")


def _tell_classes(names, found):
    """Which class got which name, so that a wrong order is seen."""
    for label, name in enumerate(names):
        origin = found[label] if label < len(found) else name
        say(f"class {label}: {name}" + (f", from {plain(origin)}" if origin != name else ""))


def _nothing_known(place):
    if not place.is_dir():
        require_file(place)
        require_unknown(place)
    return Fault(f"{plain(place)} is nothing that can be converted: expected IDX files, folders of pictures by "
                 "class, .npy or .npz arrays, or the binary version of CIFAR-100")


def get(options):
    place = options.source
    if not place.exists():
        raise Fault(f"nothing is at {plain(place)}")
    for is_one, modules, read in KINDS:
        if is_one(place):
            need(*modules)
            names, train, test = read(place, options)
            break
    else:
        raise _nothing_known(place)
    found = names
    if options.names is not None:
        names = _given_names(options.names, names, read)
    _check_labels(names, train, test, from_zero=options.names is not None or read in EXACT)
    write_set(options.folder, names, train, test, options.overwrite)
    if options.names is not None or read is pictures.read:
        _tell_classes(names, found)
