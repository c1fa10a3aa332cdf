"""One trial: a run with a plan, the fault that a kind puts in, and what must hold afterwards."""

import json
import random
import signal
import time
from dataclasses import dataclass, field
from typing import Callable

import checkpoints
from job import Job, demand
from plans import BASE

LIMIT = 90  # seconds that a job may take to end, on a machine that has other work
KEYS = ("epoch", "loss", "accuracy", "val_loss", "val_accuracy", "parameter_hash")
MOST_KILLS = 8  # of a run that goes on, in a trial
KILL_CODES_NOT = (0, 2, 75)
KINDS = {}


@dataclass(frozen=True)
class Kind:
    """Of fault: `put_in` gets a Trial; raises Failed, or Skip."""

    name: str
    title: str
    put_in: Callable
    wishes: dict  # of draw_plan
    draws: str  # the kind whose random numbers it takes, so that both meet the same faults


def kind(name, title, draws=None, **wishes):
    def register(function):
        KINDS[name] = Kind(name, title, function, {"ranks": (2, 3, 4), **wishes}, draws or name)
        return function

    return register


class Skip(Exception):
    """This machine or program lacks what a fault needs."""


@dataclass
class Reference:
    """The same configuration, never interrupted and without checkpoints."""

    curve: list
    seconds: float
    training: float  # of these, after start-up


@dataclass
class Figures:
    """What a trial measured."""

    lost: int = 0  # steps, at most
    seconds: float = 0  # from fault to end, at most
    kills_after: int = 0  # of resumed runs, once more
    outcomes: list = field(default_factory=list)


class Place:
    """What all trials share: the program, a folder with a small data set, references."""

    def __init__(self, program, folder, plans, again, kills=3, apart=4.0):
        self.program, self.folder, self.plans = program, folder, plans
        self.again = again  # how likely a run that goes on is killed
        self.kills, self.apart = kills, apart  # of an unattended run
        self._references = {}

    def reference(self, plan, limit=LIMIT):
        key = (plan.ranks, plan.words)
        if key not in self._references:
            folder = self.folder / f"reference-{len(self._references)}"
            folder.mkdir()
            (folder / "data").symlink_to(self.folder / "data")
            job = Job(launch(self.program, plan.ranks, plan.words, "run"), folder, "reference")
            ended = job.end(limit)
            demand(ended.code == 0, f"the reference: {ended}")
            startup = sum(record(folder / "run")["ranks"][0]["startup"].values())
            training = max(0.1, ended.seconds - startup)
            self._references[key] = Reference(curve(folder / "run"), ended.seconds, training)
        return self._references[key]


def launch(program, ranks, words, run_dir, alone=False):
    train = [program.binary, "train", *BASE, *words, "--run-dir", run_dir]
    return train if alone else [program.mpiexec, "--bind-to", "none", "-n", str(ranks), *train]


def record(run_dir):
    return json.loads((run_dir / "run.json").read_text(encoding="utf-8"))


def curve(run_dir):
    """What the epochs computed, without how long it took."""
    return [tuple(epoch[key] for key in KEYS) for epoch in record(run_dir)["epochs"]]


class Trial:
    """Its folder holds data/ and run/; jobs are named by their number."""

    def __init__(self, place, folder, rng, **wishes):
        self.place, self.folder, self.rng = place, folder, rng
        self.plan = place.plans.draw(rng, **wishes)
        self.run_dir = folder / "run"
        self.figures = Figures()
        self._jobs = 0
        self._reached = 0  # steps that were seen to be done
        (folder / "data").symlink_to(place.folder / "data")

    @property
    def reference(self):
        return self.place.reference(self.plan)

    def wait_for_moment(self, job, share=1.15):
        """A moment from the start to a little after the end; as these runs are mostly start-up, every
        second time one after it. False if the job has ended by then."""
        after_end, at = self.rng.random() < 0.5, self.rng.uniform(0, share)
        if not after_end:
            return job.sleep_until(at * self.reference.seconds)
        written = lambda: self.run_dir.exists() and (self.run_dir / "run.json").exists()
        while job.runs and not written():
            time.sleep(0.002)
        return job.sleep_until(time.monotonic() - job.began + at * self.reference.training)

    def rank(self, but=None):
        return self.rng.choice([r for r in range(self.plan.ranks) if r != but])

    def step(self):
        return self.rng.randint(1, self.plan.steps)

    def start(self, *words, alone=False, env=None, before=()):
        """The same command begins a run and goes on with it."""
        return self.start_with(self.plan.words, *words, alone=alone, env=env, before=before)

    def start_with(self, given, *words, alone=False, env=None, before=()):
        self._jobs += 1
        words = [*given, *self.plan.checkpoint_words, "--resume", "auto", *words]
        command = [*before, *launch(self.place.program, self.plan.ranks, words, "run", alone)]
        return Job(command, self.folder, f"job-{self._jobs}", env)

    def end(self, job, within=LIMIT):
        ended = job.end(within)
        if job.fault_at != job.began:
            self.figures.seconds = max(self.figures.seconds, ended.seconds)
        self._reached = max(self._reached, ended.steps_shown)
        if self._jobs == 1 and ended.code == 0:
            self._was_over(time.monotonic() - job.began)
        return ended

    def _was_over(self, seconds):
        """Moments are drawn for a machine that was busier; later ones will be for this."""
        self.reference.seconds = min(self.reference.seconds, seconds)

    def outcome(self, text):
        self.figures.outcomes.append(text)

    def over_before(self, job):
        """Completed, because the fault came too late: not while a whole epoch was left to do."""
        early = job.epochs_at_fault is not None and job.epochs_at_fault < self.plan.epochs - 1
        demand(not early, f"completed, although {job.epochs_at_fault} epochs were done at the fault")
        self.outcome("over before")

    def died(self, ended):
        """By a signal that leaves only the launcher to report."""
        demand(ended.code not in KILL_CODES_NOT, f"not ended as by a signal: {ended}")
        demand(not ended.messages, f"rueda speaks of what it can not know: {ended}")

    def failed(self, ended, *says, code=1):
        """One message of rueda's own that has all the words."""
        demand(ended.code == code, f"exit code {code} expected: {ended}")
        demand(len(ended.messages) == 1, f"one message expected: {ended}")
        for words in says:
            demand(words in ended.messages[0], f"'{words}' is missing: {ended}")

    def whole(self):
        """The checkpoints, all of them undamaged."""
        found = checkpoints.list_all(self.run_dir)
        for path in found:
            damage = checkpoints.damage(path)
            demand(not damage, f"{path.name} has a checkpoint's name, but {damage}")
        return found

    def tell(self, how):
        """The outcome of a job that ended early."""
        self.outcome(f"{how}, {'resumed' if self.whole() else 'begun anew'}")

    def go_on_before(self, step, how):
        """Goes on; no checkpoint has what a fault at the beginning of this step made."""
        for path in self.whole():
            steps = checkpoints.steps_of(path, self.plan.steps_per_epoch)
            demand(steps < step, f"{path.name} is later than the fault in step {step}")
        self.tell(how)
        self.go_on(reached=step - 1)

    def go_on(self, reached=None):
        """Resumes until the run is complete, killing it again at times; compares with the reference."""
        self._reached = max(self._reached, reached or 0)
        for attempt in range(MOST_KILLS + 1):
            latest = self._latest()
            self._count_lost(latest)
            job = self.start()
            if attempt < MOST_KILLS and self.rng.random() < self.place.again:
                self._kill_again(job)
            ended = self.end(job)
            self._resumed_from(ended, latest)
            if ended.code == 0:
                break
            self.died(ended)
            self.figures.kills_after += 1
        demand(ended.code == 0, f"not completed: {ended}")
        demand(not ended.messages, f"completed, and complains: {ended}")
        self.compare()
        return ended

    def _kill_again(self, job):
        if self.wait_for_moment(job, 0.8):
            job.hit(job.find_rank(self.rank()), signal.SIGKILL)

    def _latest(self):
        found = self.whole()
        self._readable()
        return found[0] if found else None

    def _readable(self):
        if (self.run_dir / "run.json").exists():
            try:
                record(self.run_dir)
            except ValueError as error:
                demand(False, f"run.json is not whole: {error}")

    def _count_lost(self, latest):
        steps = checkpoints.steps_of(latest, self.plan.steps_per_epoch) if latest else 0
        lost = self._reached - steps
        self._reached = steps
        # One checkpoint is written while the next steps are taken; until it is whole the one before counts.
        most = 2 * self.plan.cadence_steps
        demand(lost <= most, f"{lost} steps are lost, {most} at most were expected")
        self.figures.lost = max(self.figures.lost, lost)

    def _resumed_from(self, ended, latest):
        if ended.code != 0 and "start-up" not in ended.said and "resumes from" not in ended.said:
            return  # ended before it said so
        if latest is None:
            demand("resumes from" not in ended.said, f"resumed from nothing: {ended.said[:2000]}")
        else:
            says = f"resumes from run/checkpoints/{latest.name},"
            demand(says in ended.said, f"'{says}' is missing: {ended.said[:3000]}")

    def compare(self):
        expected, found = self.reference.curve, curve(self.run_dir)
        demand(found == expected, f"other numbers than without the fault:\n{found}\n{expected}")
        demand(record(self.run_dir)["outcome"] == "completed", "run.json's outcome")
        self._compare_steps()
        left = checkpoints.temporaries(self.run_dir)
        demand(not left, f"temporary files are left: {left}")
        self.whole()

    def _compare_steps(self):
        """steps.csv has whole lines, and no step of a rank twice."""
        text = (self.run_dir / "steps.csv").read_text(encoding="utf-8")
        rows = [line.split(",") for line in text.splitlines()]
        demand(text.endswith("\n") and len({len(row) for row in rows}) == 1, "steps.csv is not whole")
        places = [tuple(row[:3]) for row in rows[1:]]
        demand(len(places) == len(set(places)), "steps.csv has a step twice")


def trial_rng(seed, kind, index):
    return random.Random(f"{seed}/{kind}/{index}")
