"""A folder in which commands of the documents find what their pages take for granted: the program, data, runs,
files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pages import ROOT

sys.path.insert(0, str(ROOT / "tests" / "cli"))
from rueda_runs import PATIENCE, environment  # noqa: E402

SHIMS = ("rueda", "mpirun", "mpiexec", "srun", "sbatch", "mpicxx", "nvcc", "module")
LIMIT = 400 * PATIENCE  # seconds of a block of commands
TRAIN = ["--backend", "cpu", "--data", "data/train", "--data-limit", "64", "--image-size", "8", "--batch-per-rank", "4",
         "--epochs", "2", "--threads", "1", "--eval-every", "0"]  # fmt: skip
KERAS = ("Epoch 1/2\n{steps}/{steps} - 60s - loss: 2.0 - accuracy: 0.3\n"
         "Epoch 2/2\n{steps}/{steps} - 50s - loss: 1.5 - accuracy: 0.5\n")
# What a launcher gives to root, or to more ranks than cores: here only jobs/env.sh may.
OF_LAUNCHERS = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe",
                "PRTE_MCA_rmaps_default_mapping_policy")  # fmt: skip


def link_weights(source, target):
    copy = os.link if source.endswith(".safetensors") else shutil.copy2
    return copy(source, target)


class Scratch:
    def __init__(self, folder, program, mpiexec):
        self.folder, self.program, self.mpiexec = Path(folder), str(Path(program).resolve()), mpiexec

    def make(self):
        for name in os.listdir(ROOT):
            if not name.startswith((".", "build", "runs", "data", "study", "report", "jobs", "docs")):
                (self.folder / name).symlink_to(ROOT / name)
        self.link_all("jobs", "scale.sh")
        self.link_all("docs", "lessons")
        shutil.copytree(ROOT / "docs" / "lessons", self.folder / "docs" / "lessons")
        shim = ROOT / "tests" / "docs" / "shims.py"
        (self.folder / "jobs" / "scale.sh").symlink_to(shim)
        for name in SHIMS:
            (self.folder / "bin").mkdir(exist_ok=True)
            (self.folder / "bin" / name).symlink_to(shim)
        (self.folder / "build").mkdir()
        (self.folder / "build" / "rueda").symlink_to(shim)
        self.make_files()
        self.make_runs()
        return self

    def copied(self, folder):
        """A copy for the commands of a page. Weights are never changed in place."""
        shutil.copytree(self.folder, folder, symlinks=True, copy_function=link_weights)
        return Scratch(folder, self.program, self.mpiexec)

    def link_all(self, name, *but):
        (self.folder / name).mkdir()
        for entry in os.listdir(ROOT / name):
            if entry not in but:
                (self.folder / name / entry).symlink_to(ROOT / name / entry)

    def real(self, *words, ranks=0):
        """The real program, as a test runs it."""
        start = [self.mpiexec, "--bind-to", "none", "-n", str(ranks)] if ranks else []
        done = subprocess.run([*start, self.program, *words], cwd=self.folder, env=environment({}), capture_output=True,
                              text=True, timeout=LIMIT, check=False)  # fmt: skip
        if done.returncode:
            raise AssertionError(f"{words}: {done.stderr}")

    def make_files(self):
        small = ["--train", "20", "--test", "10"]
        for name, form in (("synth", "bin"), ("cifar-10-batches-bin", "bin"), ("cifar-10-batches-py", "py")):
            self.real("synth", "--out", f"data/{name}", "--format", form, *small)
        self.real("synth", "--out", "data/train", "--train", "64", "--test", "10")
        for name in ("cifar", "cifar-10", "fashion-mnist"):
            (self.folder / "data" / name).symlink_to("synth")
        (self.folder / "slurm-4711.out").write_text(KERAS.format(steps=25), encoding="utf-8")
        for name, steps in (("run.out", 7), ("cpu.out", 196), ("gpu.out", 196)):
            (self.folder / name).write_text(KERAS.format(steps=steps), encoding="utf-8")
        (self.folder / "ddp.csv").write_text("epoch,seconds,ranks,global_batch\n1,2,1,32\n2,1,1,32\n", encoding="utf-8")
        (self.folder / "a").mkdir()
        (self.folder / "recipe.toml").write_text("epochs = 2\n", encoding="utf-8")

    def make_runs(self):
        for ranks, name in ((1, "one"), (2, "two"), (4, "four")):
            self.real("train", *TRAIN, "--run-dir", f"runs/{name}", ranks=ranks)
        self.real("train", *TRAIN, "--profile-layers", "--checkpoint-every", "1epoch", "--trace", "trace.json",
                  "--run-dir", "runs/layers")  # fmt: skip
        self.real("train", *TRAIN, "--model", "resnet18", "--data-limit", "8", "--epochs", "1",
                  "--save-weights", "w.safetensors", "--run-dir", "kept")  # fmt: skip
        self.real("evaluate", "--init-weights", "runs/layers", "--json", "evaluation.json")
        self.real("bench", "all-reduce", "--sizes", "4k,64k,1M", "--repetitions", "2", "--json", "ring.json", ranks=2)
        self.real("predict", "runs", "--json", "prediction.json")
        for name in ("book", "nyu", "study"):
            shutil.copytree(self.folder / "runs", self.folder / "made" / name, ignore=shutil.ignore_patterns("layers"))
        for name in ("book", "nyu", "study"):
            (self.folder / "made" / name).rename(self.folder / "runs" / name)
        shutil.copytree(self.folder / "runs" / "study", self.folder / "study" / "runs")
        for name in ("resnet20-np2-1", "resnet20-np4-1"):
            shutil.copytree(self.folder / "runs" / "layers", self.folder / "runs" / name)
        self.real("report", "study", "--plots", "off", "--out", "report")
        self.real("report", "study", "--layout", "lab5", "--plots", "off", "--hand-in", "class/group01")

    def variables(self):
        """The environment of a reader's shell, in which neither root nor more ranks than cores are prepared."""
        changes = dict.fromkeys(OF_LAUNCHERS) | {"HOME": str(self.folder), "MPLBACKEND": "agg"}
        changes |= {"DOCS_RUEDA": self.program, "DOCS_ROOT": str(ROOT), "RUEDA": None, "RUEDA_SITE": None}
        return environment(changes | {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"})

    def run(self, script, folder):
        """Standard error of the shell, and its exit code."""
        kept = self.folder / "variables"  # a page is read in one shell
        lines = ("set -eEuo pipefail\ntrap 'echo \"in: $BASH_COMMAND\" >&2' ERR\n"
                 f"[ ! -e {kept} ] || . {kept}\n{script}\n")
        lines += f"export -p | grep -Ev 'OMPI_|PRTE_' >{kept}"
        try:
            done = subprocess.run(["bash", "-c", lines], cwd=self.folder / folder, env=self.variables(),
                                  capture_output=True,
                                  stdin=subprocess.DEVNULL, text=True, timeout=LIMIT, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no end after {LIMIT} s", 1
        return done.stderr + ("" if done.returncode == 0 else done.stdout[-300:]), done.returncode
