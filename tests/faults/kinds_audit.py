"""Faults of arithmetic, once and for good, and audits by another rank and by the rank itself."""

from job import demand
from trial import curve, kind, record

FLIP = "a bit of an activation, a packed weight or a gradient flips"
ANY = (1, 2, 3, 4)  # ranks


@kind("audit", f"{FLIP}; --audit-every 1", ranks=ANY)
def audit(trial):
    find_flip(trial, "other")


@kind("audit-self", "the same flips; --audit-by self", draws="audit", ranks=ANY)
def audit_self(trial):
    find_flip(trial, "self")


@kind("audit-permanent", "the same bits, from that step on in all that the rank computes", draws="audit", ranks=ANY)
def audit_permanent(trial):
    find_permanent(trial, "other")


@kind("audit-self-permanent", "the same, and --audit-by self", draws="audit", ranks=ANY)
def audit_self_permanent(trial):
    find_permanent(trial, "self")


def flipped(trial, by, plus=""):
    """A run that is audited, and in which a bit flips: its end, what flips, on which rank, from which step on."""
    step, rank = trial.step(), trial.rank()
    what = trial.rng.choice(("activation", "weight", "gradient"))
    words = ["--audit-every", "1step", "--audit-by", by]
    ended = trial.end(trial.start(*words, f"RUEDA_INJECT=flip-{what}:{rank}:{step}{plus}"))
    return ended, what, rank, step


def find_flip(trial, by):
    """Found with the right rank, or it changes no bit of a gradient: then the run is as without it."""
    ended, what, rank, step = flipped(trial, by)
    epoch, within = divmod(step - 1, trial.plan.steps_per_epoch)
    says = f"wrong arithmetic at epoch {epoch + 1}, step {within + 1}: "
    says += f"rank {rank} on " if trial.plan.ranks > 2 or by == "self" else "rank "
    if ended.code == 0:
        demand(not record(trial.run_dir)["audit"]["findings"], f"found, and not stopped: {ended}")
        trial.compare()
        trial.outcome(f"{what}: changed no bit of a gradient")
        return
    trial.failed(ended, says, f"rank {rank} on ", "tensors differ")
    trial.outcome(f"{what}: found")
    trial.go_on_before(step, "named")


def find_permanent(trial, by):
    """Another rank finds it; the rank itself, and one rank alone, can not, because it repeats its error."""
    ended, what, rank, _ = flipped(trial, by, "+")
    blind = by == "self" or trial.plan.ranks == 1
    if ended.code == 0:
        demand(not record(trial.run_dir)["audit"]["findings"], f"found, and not ended: {ended}")
        same = curve(trial.run_dir) == trial.reference.curve
        demand(same or blind, f"other numbers than without the fault: {ended}")
        numbers = "the numbers of an undisturbed run" if same else "other numbers"
        trial.outcome(f"{what}: not found, {numbers}")
    elif blind:
        trial.failed(ended, "NaN")
        trial.outcome(f"{what}: not found, NaN")
    else:
        trial.failed(ended, "wrong arithmetic at epoch ", f"rank {rank} on ", "tensors differ")
        demand((" or rank " in ended.messages[0]) == (trial.plan.ranks == 2), f"not rank {rank} alone: {ended}")
        trial.outcome(f"{what}: found")
