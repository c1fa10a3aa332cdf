"""Faults that end processes: SIGKILL of a rank, of all, of the launcher; requests to stop."""

import signal
import time

from checkpoints import place
from job import demand
from kinds import kind
from trial import KILL_CODES_NOT


@kind("kill", "a rank is killed (SIGKILL) at a random moment")
def kill_rank(trial):
    job = trial.start()
    if trial.wait_for_moment(job):
        job.hit(job.find_rank(trial.rank()), signal.SIGKILL)
    ended = trial.end(job)
    if ended.code == 0:
        trial.over_before(job)
    else:
        trial.died(ended)
        trial.tell("ended")
    trial.go_on()


@kind("kill-step", "a rank is killed at the beginning of a step", ranks=(1, 2, 3, 4))
def kill_at_step(trial):
    step = trial.step()
    ended = trial.end(trial.start("--inject", f"kill:{trial.rank()}:{step}"))
    trial.died(ended)
    trial.go_on_before(step, "ended")


@kind("kill-job", "all processes are killed at a random moment")
def kill_job(trial):
    job = trial.start()
    trial.wait_for_moment(job)
    job.kill_all()
    trial.end(job)
    trial.outcome("resumed" if trial.whole() else "begun anew")
    trial.go_on()


@kind("kill-write", "all processes are killed while a checkpoint is written",
      ranks=(1, 2), cadences=("1step",), model="resnet18")
def kill_in_write(trial):
    """A larger network, whose checkpoints of 90 MB take a while."""
    job = trial.start()
    step = trial.rng.randint(1, trial.plan.steps + 1)  # one more at the end
    while job.runs and written_now(trial) < step:
        time.sleep(0.001)
    time.sleep(trial.rng.uniform(0, 0.2))
    job.kill_all()
    trial.end(job)
    trial.outcome("within a write" if written_now(trial) else "between two writes")
    trial.go_on()


def written_now(trial):
    """The step of the checkpoint that is being written or removed, counted from 1; 0: none is."""
    folder = trial.run_dir / "checkpoints"
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    places = [place(name) for name in names if name.startswith(".unfinished-")]
    return max((epochs * trial.plan.steps_per_epoch + steps + 1 for epochs, steps in places), default=0)


@kind("kill-launcher", "mpiexec is killed at a random moment")
def kill_launcher(trial):
    job = trial.start()
    if trial.wait_for_moment(job):
        job.hit(job.process.pid, signal.SIGKILL)
    ended = trial.end(job)
    demand(ended.code in (0, -signal.SIGKILL), f"{ended}")
    if ended.code == 0:
        trial.over_before(job)
    else:
        trial.outcome("ranks ended by themselves")
    trial.go_on()


@kind("stop", "a rank is asked to stop (SIGTERM or SIGUSR1) at a random moment")
def ask_to_stop(trial):
    job = trial.start()
    if trial.wait_for_moment(job):
        job.hit(job.find_rank(trial.rank()), trial.rng.choice((signal.SIGTERM, signal.SIGUSR1)))
    ended = trial.end(job)
    if ended.code == 75:
        demand(not ended.messages, f"stopped, and complains: {ended}")
        demand("rueda train --resume" in ended.out, "how to go on is not said")
        demand(trial.whole(), "stopped without a checkpoint")
        trial.outcome("75, resumed")
    elif ended.code == 0:
        trial.over_before(job)
    else:
        # Before the program listens, a signal does what it always does.
        trial.died(ended)
        demand(not trial.run_dir.exists(), f"ended by the signal in mid-run: {ended}")
        trial.outcome("ended in MPI's start-up")
    trial.go_on()


@kind("stop-twice", "a rank hangs, and another is asked to stop twice", ranks=(2, 3, 4))
def ask_twice(trial):
    """The first request is kept until the step ends, which it does not; the second ends the job."""
    step, hanging = trial.step(), trial.rank()
    job = trial.start("--inject", f"hang:{hanging}:{step}", "--stall-seconds", "0")
    pid = job.find_rank(hanging)
    demand(pid and job.wait_state(pid, "T", 60), "the rank does not hang")
    target = job.find_rank(trial.rank(but=hanging))
    job.hit(target, signal.SIGUSR1)
    time.sleep(1.3)
    demand(job.runs, "one request ended a job whose rank hangs")
    job.hit(target, signal.SIGUSR1)
    ended = trial.end(job)
    demand(ended.code not in KILL_CODES_NOT, f"{ended}")
    trial.go_on_before(step, "ended at once")
