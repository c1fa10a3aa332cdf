"""Faults of processes: SIGKILL of a rank, of all, of the launcher; requests to stop; and of a rank that goes on
running, or seems to: hangs, flipped bits, NaN, corrupted messages."""

import re
import signal
import statistics
import time
from dataclasses import replace
from pathlib import Path

from checkpoints import place
from job import SHOWN, demand, state
from trial import KILL_CODES_NOT, LIMIT, Skip, kind, record

STALL = ["--stall-seconds", "3"]
RUN_AGAIN = Path(__file__).resolve().parents[2] / "jobs" / "run-again.sh"
LAUNCHER_LIMIT = {"MPIEXEC_TIMEOUT": "70"}  # seconds; Open MPI's


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
    ended = trial.end(trial.start(f"RUEDA_INJECT=kill:{trial.rank()}:{step}"))
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
    job = trial.start(f"RUEDA_INJECT=hang:{hanging}:{step}", "--stall-seconds", "0")
    pid = job.find_rank(hanging)
    demand(pid and job.wait_for(lambda: state(Path("/proc", str(pid))) == "T", 60), "the rank does not hang")
    target = job.find_rank(trial.rank(but=hanging))
    job.hit(target, signal.SIGUSR1)
    time.sleep(1.3)
    demand(job.runs, "one request ended a job whose rank hangs")
    job.hit(target, signal.SIGUSR1)
    ended = trial.end(job)
    demand(ended.code not in KILL_CODES_NOT, f"{ended}")
    trial.go_on_before(step, "ended at once")


@kind("hang", "a rank hangs (SIGSTOP) at the beginning of a step")
def hang(trial):
    step, rank = trial.step(), trial.rank()
    ended = trial.end(trial.start(*STALL, f"RUEDA_INJECT=hang:{rank}:{step}"))
    stuck(trial, ended, rank)
    demand(any(f"step {step}," in m for m in ended.messages), f"step {step} is not named: {ended}")
    trial.go_on_before(step, "named")


def stuck(trial, ended, rank):
    """Those that wait say so, each once; the one that hangs says nothing."""
    demand(ended.code == 1, f"exit code 1 expected: {ended}")
    spoke = [re.match(r"rueda: (?:the ring is stuck|stuck outside the ring)\. rank (\d+) on .*: in ", m)
             for m in ended.messages]
    demand(spoke and all(spoke), f"not only of being stuck: {ended}")
    ranks = [int(m[1]) for m in spoke]
    demand(len(ranks) == len(set(ranks)) and rank not in ranks, f"ranks that spoke: {ranks}: {ended}")


@kind("stopped", "a rank is stopped (SIGSTOP) at a random moment")
def stopped(trial):
    rank = trial.rank()
    job = trial.start(*STALL, env=LAUNCHER_LIMIT)
    if trial.wait_for_moment(job):
        job.hit(job.find_rank(rank), signal.SIGSTOP)
    ended = trial.end(job)
    if ended.code == 0:
        trial.over_before(job)
    elif not ended.messages:
        beyond_mpi(trial, ended)
    else:
        stuck(trial, ended, rank)
        trial.tell("named")
    trial.go_on()


def beyond_mpi(trial, ended):
    """Where the others do not wait for it, or can not say so, only the launcher can end it."""
    over = (trial.run_dir / "run.json").exists() and record(trial.run_dir)["outcome"] == "completed"
    before = not trial.run_dir.exists()
    demand("time" in ended.err and (before or over), f"no message says why it ended: {ended}")
    trial.outcome("in MPI_Init: ended by mpiexec's limit" if before else
                  "after MPI's end, all done: ended by mpiexec's limit")


def without_checks(plan):
    words = list(plan.words)
    while "--check-replicas" in words:
        at = words.index("--check-replicas")
        del words[at:at + 2]
    return words


@kind("flip-bit", "a bit of a rank's parameters flips; looked for after each step")
def flip_bit(trial):
    step, rank = trial.step(), trial.rank()
    words = [*without_checks(trial.plan), "--check-replicas", "step"]
    ended = trial.end(trial.start_with(words, f"RUEDA_INJECT=flip-bit:{rank}:{step}"))
    epoch, within = divmod(step - 1, trial.plan.steps_per_epoch)
    trial.failed(ended, f"replicas differ after epoch {epoch + 1}, step {within + 1}: parameter ",
                 "element ", f"; rank {rank} differs from its own hash before the update")
    shows_bits(ended, rank)
    trial.go_on_before(step, "named")


@kind("flip-bit-epoch", "the same; looked for at checkpoints and after each epoch")
def flip_bit_epoch(trial):
    step, rank = trial.step(), trial.rank()
    words = without_checks(trial.plan)
    ended = trial.end(trial.start_with(words, f"RUEDA_INJECT=flip-bit:{rank}:{step}"))
    blame = "differs from the majority" if trial.plan.ranks > 2 else "no majority"
    trial.failed(ended, "replicas differ after epoch ", ": parameter ", "element ", blame)
    if trial.plan.ranks > 2:
        demand(f"; rank {rank} {blame}" in ended.messages[0], f"not rank {rank}: {ended}")
    shows_bits(ended, rank)
    trial.go_on_before(step, "named")


def shows_bits(ended, rank):
    """Both values, which differ by the bit, and whose they are."""
    shown = re.findall(r"rank (\d+) has \S+ \(bits ([0-9a-f]{8})\)", ended.messages[0])
    demand(len(shown) == 2 and shown[0][1] != shown[1][1], f"no two values: {ended}")
    demand(rank == 0 or str(rank) in (shown[0][0], shown[1][0]), f"no value of rank {rank}: {ended}")


@kind("nan", "a parameter of a rank becomes NaN", ranks=(1, 2, 3, 4))
def nan(trial):
    step, rank = trial.step(), trial.rank()
    ended = trial.end(trial.start(f"RUEDA_INJECT=nan:{rank}:{step}"))
    epoch, within = divmod(step - 1, trial.plan.steps_per_epoch)
    trial.failed(ended, "NaN", f"at epoch {epoch + 1}, step {within + 1}", f"rank {rank}")
    trial.go_on_before(step, "named")


@kind("message", "a bit of a message of gradients flips on its way; --verify-messages")
def corrupt_message(trial):
    step, rank = trial.step(), trial.rank()
    words = ["--verify-messages", f"RUEDA_INJECT=corrupt-message:{rank}:{step}"]
    ended = trial.end(trial.start(*words))
    demand(ended.code not in KILL_CODES_NOT, f"{ended}")
    trial.failed(ended, "a message of gradients was corrupted", f"to rank {rank} ", f"step {step}, bucket ")
    trial.go_on_before(step, "named")


@kind("again", "ranks of an unattended run are killed, --kills of them, --apart seconds in the mean; jobs/run-again.sh",
      cadences=("10steps",))
def unattended(trial):
    """The run ends by itself, with the numbers of one that nobody disturbed."""
    kills, apart = trial.place.kills, trial.place.apart
    epochs = 1 + round(kills * apart / 0.6)  # of half a second or more
    words = ["--data", "synthetic", "--data-limit", "2048", "--image-size", "16", "--global-batch", "64",
             "--epochs", str(epochs)]
    trial.plan = replace(trial.plan, words=tuple(words), steps_per_epoch=32, epochs=epochs)
    limit = LIMIT + 20 * kills * apart
    trial.place.reference(trial.plan, limit)
    job = trial.start(before=[RUN_AGAIN, "--most", "50", "--"])
    start = seconds_to_step(job)
    back = []
    while job.runs and len(back) < kills:
        soon = time.monotonic() + trial.rng.expovariate(1 / apart)
        while job.runs and time.monotonic() < soon:
            time.sleep(0.01)
        pid = job.find_rank(trial.rank())
        if pid:
            job.hit(pid, signal.SIGKILL)
            back.append(seconds_to_step(job, len(back) + 1))
    ended = trial.end(job, limit)
    demand(ended.code == 0 and back, f"not completed, or before a kill: {ended}")
    trial.compare()
    trial.figures.kills_after = len(back)
    late = sorted(seconds - start for seconds in back)
    demand(statistics.median(late) < 3, f"seconds from a kill to the next step, less those of the first start: {late}")
    trial.outcome(f"killed {len(back)} times; to the next step the {start:.1f} s of a start and "
                  f"{statistics.median(late):+.1f} s in the median, {late[-1]:+.1f} s at most")


def seconds_to_step(job, failures=0):
    """From now until it shows a step after so many failures, or ends."""
    began = time.monotonic()
    while job.runs and len(re.findall(r"again from", job.err.read_text(errors="replace"))) < failures:
        time.sleep(0.01)
    said = job.out.stat().st_size
    with open(job.out, encoding="utf-8", errors="replace") as out:
        out.seek(said)
        text = ""
        while job.runs and not SHOWN.search(text):
            time.sleep(0.01)
            text += out.read()
    return time.monotonic() - began
