"""The machine or allocation, and the command lines: launcher, program, options."""

import os
import re
import shlex
import shutil
import subprocess
from typing import NamedTuple

import child_process
from presets import recipe_of

ASKED_SECONDS = 120  # for a program that only says something, perhaps in a container


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
    nodes, of_job = environment.get("SLURM_JOB_NUM_NODES", 1), environment.get("SLURM_CPUS_ON_NODE", cores)
    return Machine(True, int(nodes), int(of_job), cores, fewest_tasks(environment.get("SLURM_TASKS_PER_NODE", "1")))


def threads_for(cores, ranks_per_node):
    """Threads of a rank in the whole study: the cores divided by the largest number of ranks on a node that
    still have a core each."""
    fitting = [ranks for ranks in ranks_per_node if ranks <= cores]
    return max(1, cores // max(fitting, default=1))


def choose_launcher(word, machine):
    if word != "auto":
        return word
    return "srun" if machine.in_slurm and shutil.which("srun") else "mpirun"


def mpirun_words(configuration, options, machine):
    """Ranks are bound to cores of their own in an allocation that has them."""
    words = ["mpirun", "-n", str(configuration.ranks)]
    place = "ppr:{}:node".format(configuration.ranks_per_node)
    if machine.in_slurm and configuration.ranks_per_node * options.threads <= machine.here:
        words += ["--use-hwthread-cpus", "--map-by", "{}:pe={}".format(place, options.threads)]
        return words + ["--bind-to", "hwthread"] + options.mpi_options
    if configuration.nodes > 1 or machine.in_slurm:
        words += ["--map-by", place]
    return words + ["--bind-to", "none"] + options.mpi_options


def srun_words(configuration, options):
    """When a rank ends early, the others have ten seconds to end. Killed at once, their exit code would be
    that of the signal, and the one that gives the reason would be lost."""
    words = ["srun", "--mpi=" + os.environ.get("RUEDA_MPI", "pmix")]
    words += ["--kill-on-bad-exit=0", "--wait=10"]
    words += ["--nodes={}".format(configuration.nodes), "--ntasks={}".format(configuration.ranks)]
    words += ["--ntasks-per-node={}".format(configuration.ranks_per_node)]
    words += ["--cpus-per-task={}".format(options.threads), "--cpu-bind=cores"]
    return words + options.mpi_options


def program_words(options):
    """rueda, in the site's container where there is one."""
    return shlex.split(os.environ.get("RUEDA_CONTAINER", "")) + [options.rueda]


def train_words(configuration, options):
    words = ["train"]
    recipe = recipe_of(configuration.model, options.recipe)
    if recipe:
        words += ["--config", str(recipe)]
    batch = "--batch-per-rank" if configuration.kind == "rank" else "--global-batch"
    words += ["--model", configuration.model, batch, str(configuration.batch)]
    words += ["--threads", str(options.threads), "--progress", "lines", "--save-weights", "none"]
    if options.epochs:
        words += ["--epochs", str(options.epochs)]
    return words + options.train_options


def command_of(configuration, options, machine, run_directory):
    if choose_launcher(options.launcher, machine) == "srun":
        words = srun_words(configuration, options)
    else:
        words = mpirun_words(configuration, options, machine)
    words = words + program_words(options) + train_words(configuration, options)
    return words + ["--run-dir", str(run_directory), "--overwrite"]


def text_of(words):
    """As it can be pasted into a shell."""
    return " ".join(shlex.quote(word) for word in words)


def error_of(words):
    """The last line of a program that fails, or nothing."""
    code, said, _ = child_process.run(words, ASKED_SECONDS, stderr=subprocess.STDOUT)
    lines = said.strip().splitlines() or ["it said nothing"]
    if code is None:
        return "it did not answer within {} s".format(ASKED_SECONDS)
    return lines[-1] if code else ""
