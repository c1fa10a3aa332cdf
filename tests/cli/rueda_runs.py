"""Runs the rueda program for cli_test.py, alone or below mpiexec, each time with a time limit."""

import json
import os
import re
import shutil
import signal
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 40  # seconds; a run takes one or two
PATIENCE = float(os.environ.get("RUEDA_TEST_PATIENCE", "1"))  # times as long, with a sanitizer

# Small enough that a run is mostly start-up: 4 steps of 32 on two ranks.
SMALL = ["--model", "resnet20", "--data-limit", "128", "--batch-per-rank", "16", "--epochs", "1"]
SMALL += ["--threads", "1", "--eval-every", "0"]


def has_bf16():
    """Whether oneDNN computes in bf16 here, from what the processor and the environment say."""
    if os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper() in ("SSE41", "AVX", "AVX2", "AVX2_VNNI"):
        return False
    info = Path("/proc/cpuinfo")
    return info.exists() and "avx512bw" in info.read_text(encoding="utf-8").split()


needs_bf16 = unittest.skipUnless(has_bf16(), "no AVX-512, without which oneDNN has no bf16")


@dataclass
class Result:
    """How a run ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def messages(self):
        """Lines that are error messages of rueda's own; a launcher adds others."""
        return [line for line in self.err.splitlines() if line.startswith("rueda: ")]


def environment(changes):
    """This environment without what a launcher around the test has set."""
    launcher = re.compile(r"^(OMPI_COMM_|OMPI_UNIVERSE_|PMIX_|PMI_|SLURM_)")
    env = {name: value for name, value in os.environ.items() if not launcher.match(name)}
    if os.geteuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    env.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")
    env.update(changes)
    return env


class Program:
    """The program under test and the folder it runs in."""

    def __init__(self, binary, mpiexec, folder, time_limit=TIME_LIMIT):
        self.time_limit = time_limit * PATIENCE
        self.binary = str(Path(binary).resolve())
        self.mpiexec = shutil.which(mpiexec) or mpiexec
        self.folder = Path(folder)

    def run(self, *arguments, **env):
        """One process without a launcher."""
        return self._execute([self.binary, *arguments], env)

    def run_ranks(self, ranks, *arguments, **env):
        return self.run_contexts([(ranks, arguments)], **env)

    def run_contexts(self, contexts, folders=(), **env):
        """One run whose ranks get different arguments: [(ranks, arguments), ...], and folders."""
        command = [self.mpiexec, "--bind-to", "none"]
        for i, (ranks, arguments) in enumerate(contexts):
            folder = ["--wdir", str(folders[i])] if folders else []
            command += [":"] * (i > 0) + ["-n", str(ranks), *folder, self.binary, *arguments]
        return self._execute(command, env)

    def record(self, run_dir):
        """The run.json of a run."""
        return json.loads((self.folder / run_dir / "run.json").read_text(encoding="utf-8"))

    def _execute(self, command, env):
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment(env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=self.time_limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            words = " ".join(command)
            raise AssertionError(f"no end after {self.time_limit} s: {words}\n{out}\n{err}") from None
        return Result(process.returncode, out, err)
