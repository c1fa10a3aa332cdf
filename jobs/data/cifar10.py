"""CIFAR-10 (Krizhevsky 2009) in its binary version, from its author's address or from an archive that is there."""

import bounds
from archives import members
from common import Fault, plain, require_file, say
from download import fetch, md5_of
from kinds import ARCHIVES, require_unknown
from layout import RECORD_BYTES, is_there
from staging import META, TEST, put_set

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
ARCHIVE = "cifar-10-binary.tar.gz"
FOLDER = "cifar-10-batches-bin"
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
TRAIN, TEST_IMAGES = 50_000, 10_000
BATCHES = [*(f"data_batch_{k}.bin" for k in range(1, 6)), TEST]
BATCH_BYTES = 10_000 * RECORD_BYTES


def _by_hand(url, md5, archive):
    return (f"By hand: get {url} (MD5 {md5}) on a machine with a network, put it to {plain(archive)}, and run this "
            "again; `rueda train --data` takes the archive itself, too")


def _unpack_into(folder, archive):
    """Only the files of the set, by their names alone: no path and no link of an archive is followed."""
    most = {META: bounds.META_BYTES, **dict.fromkeys(BATCHES, BATCH_BYTES)}
    missing = set(most)
    for name, content in members(archive, FOLDER, most):
        if name not in missing:
            continue
        if content is None or (name != META and len(content) != BATCH_BYTES):
            raise Fault(f"{plain(archive)}: {name} is no file of CIFAR-10's length; get the archive again")
        (folder / name).write_bytes(content)
        missing.remove(name)
    if missing:
        raise Fault(f"{plain(archive)} lacks {sorted(missing)[0]}; get the archive again")


def _unpack(archive, target, overwrite):
    new = put_set(target, lambda folder: _unpack_into(folder, archive), overwrite)
    say(f"{'unpacked CIFAR-10 to' if new else 'CIFAR-10 is already in'} {plain(target)}")


def _require_sum(archive, md5):
    require_file(archive, bounds.DOWNLOAD_BYTES)
    found = md5_of(archive)
    if found != md5:
        require_unknown(archive, expected=ARCHIVES)
        raise Fault(f"{plain(archive)} has the MD5 sum {found}, expected {md5}: remove it, and run this again")


def get(options):
    target, archive = options.folder / FOLDER, options.folder / ARCHIVE
    if is_there(target, NAMES, TRAIN, TEST_IMAGES):
        return say(f"CIFAR-10 is already in {plain(target)}")
    url, md5 = options.url or URL, (options.md5 or MD5).lower()
    options.folder.mkdir(parents=True, exist_ok=True)
    if archive.exists():
        _require_sum(archive, md5)
        return _unpack(archive, target, options.overwrite)
    say(f"gets {plain(url)}, 170 MB")
    try:
        fetch(url, md5, archive)
    except Fault as fault:
        raise Fault(f"{fault}. {_by_hand(url, md5, archive)}") from None
    _unpack(archive, target, options.overwrite)
    archive.unlink()
