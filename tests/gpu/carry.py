# What a call tuned and compiled, as one archive for later calls, which may find a machine that has forgotten it.

import tarfile
from pathlib import PurePosixPath

MOST_BYTES = 16 * 2**20 - 1
CACHES = ("inductor", "triton")  # of torch.compile: worth less than all else, the last one least


def pack(folder, archive):
    """Writes as much of the folder as there is room for, and says in words what that is."""
    entries = sorted(folder.iterdir(), key=lambda path: (path.name in CACHES, path.name != "tuning", path.name))
    for count in range(len(entries), -1, -1):
        with tarfile.open(archive, "w:xz", preset=1) as tar:
            for entry in entries[:count]:
                tar.add(entry, entry.name)
        if archive.stat().st_size <= MOST_BYTES:
            break
    names = [entry.name for entry in entries]
    return ", ".join(names[:count]) + "".join(f"; {name} is left out for its size" for name in names[count:])


def unpack(archive, folder):
    """Into the folder. ValueError for an archive that holds anything but plain files below it."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if not (member.isfile() or member.isdir()) or path.is_absolute() or ".." in path.parts:
                raise ValueError(f"it holds {member.name}, which is no plain file below a folder")
        tar.extractall(folder)
