"""What there is to run on: this machine, or a Slurm allocation."""

import os
import re
from typing import NamedTuple


class Machine(NamedTuple):
    in_slurm: bool
    nodes: int
    cores: int  # of a node, as far as this program may use them
    here: int  # that the system lets it use; Slurm may count on more
    tasks_per_node: int  # that Slurm counts on; outside of it, the cores


def fewest_tasks(text):
    """The least number in Slurm's "4(x2),3"."""
    return min(int(number) for number in re.findall(r"(?:^|,)(\d+)", text) or ["1"])


def this_machine(environment=os.environ):
    cores = len(os.sched_getaffinity(0))
    if "SLURM_JOB_ID" not in environment:
        return Machine(False, 1, cores, cores, cores)
    return Machine(
        True,
        int(environment.get("SLURM_JOB_NUM_NODES", "1")),
        int(environment.get("SLURM_CPUS_ON_NODE", cores)),
        cores,
        fewest_tasks(environment.get("SLURM_TASKS_PER_NODE", "1")),
    )


def threads_for(cores, ranks_per_node):
    """Threads of a rank, the same in the whole study: the cores, divided by the most ranks of a node
    that have a core each."""
    fitting = [ranks for ranks in ranks_per_node if ranks <= cores]
    return max(1, cores // max(fitting, default=1))
