"""Faults of the disk: full, read-only; they need root, for small file systems in memory."""

import os
import subprocess
import time
from contextlib import contextmanager

from job import demand
from kinds import kind
from trial import Skip

CHECKPOINT = 2.2e6  # bytes of ResNet-20's


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
