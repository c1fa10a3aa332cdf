"""A set of one's own: finds out what lies at a place, and writes it in CIFAR-10's layout."""

import arrays
import cifar100
import idx
import pictures
from common import Fault, plain, require_file
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


def _names_in(path):
    require_file(path)
    with open(path, "rb") as file:
        text = file.read(1 << 20).decode("utf-8", "replace")
    return [plain(line.strip()) for line in text.split("\n") if line.strip()]


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
        raise Fault(f"{plain(place)} is nothing that can be converted: expected IDX files, folders of PNG or JPEG files by "
                    "class, .npy or .npz arrays, or the binary version of CIFAR-100")
    if options.names is not None:
        given = _names_in(options.names)
        if len(given) < len(names):
            raise Fault(f"{plain(options.names)} has {len(given)} names, and the set {len(names)} classes")
        names = given
    write_set(options.folder, names, train, test, options.overwrite)
