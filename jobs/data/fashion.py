"""Fashion-MNIST (Xiao, Rasul and Vollgraf 2017): 28 x 28 grey photographs of clothes, from Debian's package."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from common import ROOT, Fault, plain, say
from idx import find_pair, read_split
from layout import is_there, write_set

PACKAGE = "dataset-fashion-mnist"
FILES = "usr/share/datasets/fashion-mnist"  # of the package, below the root
TRAIN, TEST = 60_000, 10_000
NAMES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


PATIENCE = 900  # seconds for a package


def _ends_well(*command, folder=None):
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _unpacked(folder):
    """The package's files below `folder`, if it can be downloaded. Neither needs root, nor changes the system."""
    if not _ends_well("apt-get", "download", PACKAGE, folder=folder):
        return None
    for package in Path(folder).glob("*.deb"):
        if _ends_well("dpkg-deb", "-x", str(package), folder):
            return Path(folder) / FILES
    return None


def _installed():
    """The files of the package, which is installed where that may be: as jobs/setup.sh installs packages."""
    if os.geteuid() == 0 or shutil.which("sudo"):
        _ends_well("bash", "-c", '. "$1" && apt_install "$2"', "bash", ROOT / "jobs/setup.sh", PACKAGE)
    return Path("/", FILES) if Path("/", FILES).is_dir() else None


def _write(source, target, overwrite):
    train, _ = read_split(*find_pair(source, "train"), classes=len(NAMES))
    test, _ = read_split(*find_pair(source, "t10k"), classes=len(NAMES))
    write_set(target, NAMES, train, test, overwrite)


def get(options):
    target = options.folder / "fashion-mnist"
    if options.source is not None:
        return _write(options.source, target, options.overwrite)
    if is_there(target, NAMES, TRAIN, TEST):
        return say(f"{plain(target)} already holds Fashion-MNIST")
    if Path("/", FILES).is_dir():
        return _write(Path("/", FILES), target, options.overwrite)
    if not shutil.which("apt-get"):
        raise Fault(f"this is not a Debian system, whose package {PACKAGE} has the images: get the four files "
                    "{train,t10k}-{images-idx3,labels-idx1}-ubyte.gz, and give their folder: --from FOLDER")
    say(f"gets Debian's package {PACKAGE}")
    with tempfile.TemporaryDirectory(prefix="rueda-data-") as folder:
        source = _unpacked(folder) or _installed()
        if source is None:
            raise Fault(f"Debian's package {PACKAGE} can be neither downloaded nor installed: on a machine "
                        f"with a network run `apt-get download {PACKAGE}`, unpack it here by `dpkg-deb -x "
                        f"FILE.deb FOLDER`, and give --from FOLDER/{FILES}")
        return _write(source, target, options.overwrite)
