"""The Slurm job in which run-again.sh runs: which of its nodes are lost, and how it goes back into the queue."""

import os
from pathlib import Path

import child_process
from run_again_hosts import answering, checked_host, say

# The step that failed may still hold the cores. SLURM_OVERLAP is --overlap, which an older srun does not know.
PROBE = "env SLURM_OVERLAP=1 srun --mpi=none --nodes=1 --ntasks=1 --cpus-per-task=1 --nodelist"
REQUEUE = Path(__file__).resolve().parent / "slurm" / "requeue.sh"
ASKED_SECONDS = 60  # for a word of the controller
REQUEUE_SECONDS = 260  # for all that requeue.sh asks, each with its limit


def nodes_of_job():
    """The names of the job's nodes; none if Slurm does not say."""
    words = ["scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"]]
    code, out, _ = child_process.run(words, ASKED_SECONDS)
    return [checked_host(name, "the job") for name in out.split()] if code == 0 else []


def lost_nodes(stopped):
    """The job's nodes that start nothing any more. If none answers, it is not the nodes that are lost."""
    nodes = nodes_of_job()
    there = answering(nodes, stopped, PROBE)
    if stopped() or not there:
        return []
    return [node for node in nodes if node not in there]


def requeue(nodes=()):
    """Puts the job back into the queue, without these nodes. Returns whether Slurm took it."""
    for node in nodes:
        say(f"{node} does not answer and is left out")
    say("back into the queue")
    code, _, error = child_process.run([str(REQUEUE), *nodes], REQUEUE_SECONDS)
    reason = " ".join(error.split())[-200:]
    if code != 0:
        say(f"the job could not be put back into the queue: {reason or 'Slurm does not answer'}")
    elif reason:
        say(reason)
    return code == 0
