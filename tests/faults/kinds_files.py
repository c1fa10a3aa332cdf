"""Faults of files: damage to checkpoints at any place; disks that are full or read-only, which need root, for
small file systems in memory."""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager

import checkpoints
from job import demand
from trial import Skip, kind

CHECKPOINT = 2.2e6  # bytes of ResNet-20's


def flip(rng, checkpoint, data):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(rng, checkpoint, data):
    at = rng.randrange(len(data))
    fresh = rng.randbytes(min(rng.randint(1, 64), len(data) - at))
    if data[at:at + len(fresh)] == fresh:
        fresh = bytes(b ^ 0xFF for b in fresh)
    data[at:at + len(fresh)] = fresh


def cut(rng, checkpoint, data):
    del data[rng.randrange(len(data)):]


def cut_in_front(rng, checkpoint, data):
    del data[:rng.randint(1, len(data))]


def lengthen(rng, checkpoint, data):
    data += rng.randbytes(rng.randint(1, 4096))


def hole(rng, checkpoint, data):
    """A page of zeros, as some file systems leave it after a crash."""
    pages = [p for p in range(0, len(data), 4096) if any(data[p:p + 4096])]
    at = rng.choice(pages)
    data[at:at + 4096] = bytes(len(data[at:at + 4096]))


BYTES = [flip, flip, flip, overwrite, cut, cut, cut_in_front, lengthen, hole]


def change_bytes(rng, checkpoint, other):
    path = rng.choice(sorted(checkpoint.iterdir()))
    change = rng.choice(BYTES)
    data = bytearray(path.read_bytes())
    change(rng, checkpoint, data)
    path.write_bytes(data)
    return f"{change.__name__} {path.name}"


def remove(rng, checkpoint, other):
    path = rng.choice(sorted(checkpoint.iterdir()))
    path.unlink()
    return f"no {path.name}"


def exchange(rng, checkpoint, other):
    one, two = rng.sample(sorted(checkpoint.iterdir()), 2)
    os.rename(one, checkpoint / "x")
    os.rename(two, one)
    os.rename(checkpoint / "x", two)
    return f"{one.name} for {two.name}"


def take_from_other(rng, checkpoint, other):
    differs = lambda path: path.read_bytes() != (other / path.name).read_bytes()
    path = rng.choice([path for path in sorted(checkpoint.iterdir()) if differs(path)])
    shutil.copyfile(other / path.name, path)
    return f"{path.name} of another"


def directory_instead(rng, checkpoint, other):
    path = rng.choice(sorted(checkpoint.iterdir()))
    path.unlink()
    path.mkdir()
    return f"a directory as {path.name}"


CHANGES = [change_bytes] * 12 + [remove, exchange, take_from_other, directory_instead]


def spoil(trial, checkpoint, other):
    what = trial.rng.choice(CHANGES)(trial.rng, checkpoint, other)
    demand(checkpoints.damage(checkpoint), f"no damage: {what}")
    return what


@kind("damage", "the latest checkpoint is damaged at a random place", ranks=(1,), cadences=("1step", "2steps"))
def damage_latest(trial):
    """Runs of one rank, without mpiexec."""
    latest, other = copy_of_run(trial)
    what = spoil(trial, latest, other)
    ended = finish(trial)
    demand(ended.code == 0 and not ended.messages, f"{what}: {ended}")
    demand("passed over: checkpoint" in ended.said and latest.name in ended.said.split("passed over", 1)[1],
           f"{what}: not named as passed over:\n{ended.said[:3000]}")
    demand(f"resumes from run/checkpoints/{other.name}," in ended.said, f"{what}: not the one before")
    trial.compare()
    trial.outcome("passed over")


@kind("damage-all", "all checkpoints are damaged", ranks=(1,), cadences=("1step", "2steps"))
def damage_all(trial):
    latest, other = copy_of_run(trial)
    what = spoil(trial, latest, other)
    shutil.copytree(trial.run_dir, trial.folder / "before")
    what += "; " + spoil(trial, other, trial.folder / "before" / "checkpoints" / latest.name)
    ended = finish(trial)
    try:
        trial.failed(ended, "none of the 2 checkpoints is undamaged", latest.name, code=2)
    except AssertionError as error:
        raise type(error)(f"{what}: {error}") from None
    for path in (latest, other):
        demand(path.is_dir(), f"{what}: {path.name} was removed")
    trial.outcome("refused")


def finish(trial):
    return trial.end(trial.start(alone=True))


def copy_of_run(trial):
    """Of a run that was killed, with two checkpoints; made once for a plan."""
    source = trial.place.folder / f"killed-{abs(hash((trial.plan.words, trial.plan.cadence)))}"
    if not source.exists():
        job = trial.start("--keep", "2", f"RUEDA_INJECT=kill:0:{trial.plan.steps}", alone=True)
        trial.end(job)
        shutil.copytree(trial.run_dir, source)
    else:
        shutil.copytree(source, trial.run_dir)
    latest, other = trial.whole()
    return latest, other


@contextmanager
def small_disk(path, size):
    """A file system in memory at `path`, which is made."""
    path.mkdir()
    if os.geteuid() != 0:
        raise Skip("needs root, to mount a file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int(size)}", "rueda-faults", str(path)],
                             capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        raise Skip(f"can not mount a file system: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False)


def remount(path, options):
    """False while a file there is being written and the change forbids that."""
    change = ["mount", "-o", f"remount,{options}", str(path)]
    return subprocess.run(change, capture_output=True, check=False).returncode == 0


@kind("disk-full", "the disk is full at a checkpoint", cadences=("1step", "2steps"))
def disk_full(trial):
    size = trial.rng.uniform(0.2, 1.9) * CHECKPOINT
    with small_disk(trial.run_dir, size):
        ended = trial.end(trial.start("--keep", "2"))
        trial.failed(ended, "run/", "No space left on device", "has room")
        trial.tell("said")
        demand(remount(trial.run_dir, "size=64m"), "the disk did not grow")
        trial.go_on()


@kind("disk-full-late", "the disk is filled by somebody else at a random moment")
def disk_filled(trial):
    with small_disk(trial.run_dir, 64e6):
        job = trial.start()
        trial.wait_for_moment(job)
        fill(trial.run_dir.parent / "run" / "of-somebody-else")
        job.note_fault()
        ended = trial.end(job)
        if ended.code == 0:
            trial.outcome("completed")  # a checkpoint that was removed made room, or all was over
        elif ended.code == 2:
            trial.failed(ended, "run directory", "free space", code=2)
            trial.outcome("refused at the start")
        else:
            trial.failed(ended, "run/", "No space left on device")
            trial.tell("said")
        (trial.run_dir / "of-somebody-else").unlink()
        trial.go_on()


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue
        finally:
            os.fsync(file.fileno())


@kind("read-only", "the run directory is read-only from the start")
def read_only(trial):
    with small_disk(trial.run_dir, 64e6):
        demand(remount(trial.run_dir, "ro"), "the disk is still writable")
        trial.failed(trial.end(trial.start()), "run directory", "permissions", code=2)
        trial.outcome("refused")
        demand(remount(trial.run_dir, "rw"), "the disk is still read-only")
        trial.go_on()


@kind("read-only-late", "the run directory becomes read-only at a random moment")
def read_only_late(trial):
    with small_disk(trial.run_dir, 64e6):
        job = trial.start()
        trial.wait_for_moment(job)
        while job.runs and not remount(trial.run_dir, "ro"):
            time.sleep(0.002)  # between two files
        job.note_fault()
        ended = trial.end(job)
        if ended.code == 0:
            trial.over_before(job)
        elif ended.code == 2:
            trial.failed(ended, "run directory", code=2)
            trial.outcome("refused at the start")
        else:
            trial.failed(ended, "run/", "Read-only file system")
            trial.tell("said")
        remount(trial.run_dir, "rw")
        trial.go_on()
