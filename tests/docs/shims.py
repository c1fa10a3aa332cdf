#!/usr/bin/env -S python3 -I -S
"""Stands for rueda, the launchers, Slurm and the compiler while the commands of the documents are tried.

Each gets the words as the document has them. A training first goes to the real program with --print-config, so that
its own parser judges every word. Then it runs with limits after them: one epoch of a few images. In a short test
launchers start one process, a training that leaves nothing for later commands or is a job's is only judged, and
compilers only look at their sources.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

RUEDA = os.environ["DOCS_RUEDA"]
LONG = os.environ.get("RUEDA_TEST_LONG") == "1"
# Options with a value, of which srun and sbatch would know no others here.
SLURM = ("--mpi", "--nodes", "--ntasks", "--ntasks-per-node", "--cpus-per-task", "--cpu-bind", "--gres",
         "--time", "--wait", "--error",
         "--kill-on-bad-exit", "--account", "--partition", "--qos", "--reservation", "--dependency", "--job-name",
         "--output", "--open-mode", "--signal", "--requeue", "--parsable", "--exclusive", "--label", "--array",
         "--gpus-per-node", "--export", "-n", "-N", "-c")  # fmt: skip
OF_MPIRUN = {"-n": 1, "-np": 1, "--bind-to": 1, "--map-by": 1, "--mca": 2, "--host": 1, "--hostfile": 1, "-x": 1,
             "--oversubscribe": 0, "--allow-run-as-root": 0, "--use-hwthread-cpus": 0, "-q": 0}  # fmt: skip
MOST_RANKS = 2
LEAVES = {"--run-dir", "--trace", "--save-weights", "--checkpoint-every", "--resume"}  # what other commands read


def fail(text):
    sys.exit(f"{Path(sys.argv[0]).name}: {text}")


def value(words, *names):
    """The last value of an option, or nothing."""
    found = [words[i + 1] for i, word in enumerate(words[:-1]) if word in names]
    found += [word.partition("=")[2] for word in words if word.partition("=")[0] in names and "=" in word]
    return found[-1] if found else ""


def train_limits(words):
    """Options that make a training short whatever it is."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_COMM_", "PMIX_"))}
    config = subprocess.run([RUEDA, *words, "--print-config"], env=alone, capture_output=True, text=True, check=False)
    if config.returncode:
        sys.stderr.write(config.stderr)
        sys.exit(config.returncode)
    known = dict(re.findall(r'^([a-z-]+) = "?([^"\n]*)', config.stdout, re.MULTILINE))
    limits = ["--epochs", "1", "--warmup-epochs", "0", "--data-limit", "12", "--image-size", "8", "--threads", "1"]
    limits += ["--global-batch", "4"] if "global-batch" in known else ["--batch-per-rank", "2"]
    if known["backend"] == "timed":
        limits += [] if "from=" in known["compute"] else ["--compute", "1"]
    else:
        limits += ["--backend", "cpu"]
    if known["precision"] != "fp32":
        limits += ["--precision", "fp32"]
    if "v2" in known["model"]:
        limits += ["--model", "resnet20"]
    return limits


def rueda(words):
    command, in_job = words[:1], "SLURM_JOB_ID" in os.environ
    if any(word in ("--help", "--help-all", "--print-config", "--version") for word in words):
        pass
    elif command == ["train"]:
        words = [*words, *train_limits(words)]
        os.environ.pop("RUEDA_INJECT", None)  # of a step that so short a training may not have
        if not LONG and (in_job or not LEAVES & set(words)):
            return
    elif command == ["doctor"] and in_job and not LONG:
        return
    elif command == ["synth"]:
        words = [*words, *([] if LONG else ["--train", "20", "--test", "10"]), "--overwrite"]
    elif words[:2] == ["bench", "all-reduce"]:
        words = [*words, "--repetitions", "1", "--sizes", "4k"]
    elif words[:2] == ["bench", "layers"]:
        words = [*words, "--repetitions", "1", "--batch-per-rank", "1", "--image-size", "8", "--model", "resnet20"]
    elif command == ["predict"] and "--images" not in words:
        words = [*words, "--images", "50000"]  # a set's; the runs here have few
    elif command == ["watch"]:
        words = [*words, "--once"]
    elif command == ["evaluate"]:
        words = [*words, "--threads", "1"]
    if not LONG and command == ["report"]:  # pictures take longer than all else
        words = [*(word for word in words if word != "--slides"), "--plots", "off"]
    elif not LONG and command != ["predict"]:
        os.environ["RUEDA_PLOT_PYTHON"] = "true"
    os.execv(RUEDA, ["rueda", *words])


def become(program, words):
    """The real one. Where python3 is a launcher itself, as pyenv's is, the folder of shims is not the first in PATH."""
    shims = str(Path(sys.argv[0]).parent)
    os.environ["PATH"] = ":".join(folder for folder in os.environ["PATH"].split(":") if folder != shims)
    os.execvp(program, words)


def launcher(words):
    """Open MPI's: with its options first, of which no others are known here."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] not in OF_MPIRUN:
            fail(f"unknown option {words[at]}")
        at += 1 + OF_MPIRUN[words[at]]
    program = words[at:] or fail("no program to start")
    program[0] = shutil.which(program[0]) or fail(f"{program[0]} is not there")
    if not LONG:
        os.execv(program[0], program)
    ranks = value(words[:at], "-n", "-np") or "1"
    start = ["mpirun", "--bind-to", "none", "-n", str(min(int(ranks), MOST_RANKS))]
    become("mpirun", [*start, *program])


def slurm_words(words):
    """(Options, what follows them), of which an option's value may be the next word."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, _, given = words[at].partition("=")
        if name not in SLURM:
            fail(f"unknown option {name}")
        at += 2 if name in ("-n", "-N", "-c") and not given else 1
    return words[:at], words[at:]


def srun(words):
    options, program = slurm_words(words)
    if "--mpi=list" in options:
        return
    if not program:
        fail("no program to start")
    os.execvp(program[0], program)


def sbatch(words):
    """Runs the script at once, as the job of a site without GPUs."""
    options, (script, *rest) = slurm_words(words)
    directives = re.findall(r"^#SBATCH (\S+)", Path(script).read_text(encoding="utf-8"), re.MULTILINE)
    slurm_words(directives)
    job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_NAME": "job", "SLURM_JOB_NODELIST": "n1",
           "SLURM_SUBMIT_DIR": os.getcwd(), "SLURM_JOB_PARTITION": "main", "SLURM_NTASKS_PER_NODE": "1",
           "SLURM_CPUS_PER_TASK": "1", "RUEDA_BACKEND": "cpu", "RUEDA_GPUS_PER_NODE": "0"}  # fmt: skip
    # A site's launcher, modules and container are not here.
    job |= {"RUEDA_LAUNCHER": "srun", "RUEDA_CONTAINER": "", "RUEDA": RUEDA_HERE}
    done = subprocess.run(["bash", script, *rest], env={**os.environ, **job}, check=False)
    if done.returncode:
        fail(f"the job {script} ended with {done.returncode}")
    print("1" if "--parsable" in options else "Submitted batch job 1")


def compiler(words):
    """Without nvcc a CUDA program is compiled as the lesson's other line does."""
    sources = [word for word in words if word.endswith(".cpp")]
    if not sources or not value(words, "-o"):
        fail("no source, or no program to make")
    if not LONG:
        for source in sources:
            Path(source).read_text(encoding="utf-8")
        program = Path(value(words, "-o"))
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
        return
    if Path(sys.argv[0]).name == "nvcc":
        words = [word for word in words if word not in ("-x", "cu", "-ccbin", "mpicxx")]
    become("mpicxx", ["mpicxx", *words])


def module(_):
    """Loads nothing: what a site calls so is not here."""


def scale(words):
    """Lets the real script print the commands of the study, and the real parser judge each training in it; of a study
    that is sent they are jobs."""
    script = Path(os.environ["DOCS_ROOT"], "jobs", "scale.sh")
    if "--help" in words:
        os.execv(script, [str(script), *words])
    own = words.index("--") if "--" in words else len(words)
    words = [*words[:own], "--dry-run", *words[own:]]
    done = subprocess.run([str(script), *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "RUEDA": RUEDA})  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode)
    trainings = {re.sub(r"--run-dir \S+", "", line.partition(" train ")[2]) for line in done.stdout.splitlines()}
    trainings.discard("")
    if not trainings and "slurm/submit.sh" not in done.stdout:
        fail(f"the dry run shows no training: {done.stdout[:300]}")
    for training in trainings:
        train_limits(["train", *shlex.split(training)])
    study = Path(value(words[:own], "--out") or "study")
    if not study.exists():
        shutil.copytree(Path(RUEDA_HERE).parents[1] / "study", study)  # what the real one would leave


RUEDA_HERE = str(Path(sys.argv[0]).parent / "rueda")
BY_NAME = {"rueda": rueda, "mpirun": launcher, "mpiexec": launcher, "srun": srun, "sbatch": sbatch,
           "mpicxx": compiler, "nvcc": compiler, "module": module, "scale.sh": scale}  # fmt: skip

if __name__ == "__main__":
    BY_NAME[Path(sys.argv[0]).name](sys.argv[1:])
