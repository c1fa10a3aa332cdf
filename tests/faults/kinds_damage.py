"""Damage to checkpoints: bits, cuts, holes, missing and exchanged files, at any place."""

import os
import shutil

import checkpoints
from job import demand
from kinds import kind


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
    demand("passed over: checkpoint" in ended.out and latest.name in ended.out.split("passed over", 1)[1],
           f"{what}: not told as passed over:\n{ended.out[:3000]}")
    demand(f"resumes from run/checkpoints/{other.name}," in ended.out, f"{what}: not the one before")
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
        job = trial.start("--keep", "2", "--inject", f"kill:0:{trial.plan.steps}", alone=True)
        trial.end(job)
        shutil.copytree(trial.run_dir, source)
    else:
        shutil.copytree(source, trial.run_dir)
    latest, other = trial.whole()
    return latest, other
