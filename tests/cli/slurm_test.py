#!/usr/bin/env python3
"""The job scripts under a real Slurm of two nodes on this machine (tests/lab/slurm.sh), on CPUs.

usage: slurm_test.py RUEDA
"""

import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import summary_line
from rueda_runs import environment

ROOT = Path(__file__).resolve().parents[2]
JOBS = ROOT / "jobs" / "slurm"
SLURM = ROOT / "tests" / "lab" / "slurm.sh"
TIME_LIMIT = 90  # seconds for a job; they take two to ten
ENDED = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY")

# A site without GPUs and with a core for each rank; a test may set other values in the environment.
SITE = """
: "${RUEDA_CORES_PER_RANK:=1}" "${RUEDA_GPUS_PER_NODE:=0}" "${RUEDA_BACKEND:=cpu}"
. "$RUEDA_ROOT/jobs/slurm/sites/generic.sh"
"""
SMALL = ["--model", "resnet20", "--image-size", "16", "--data", "synthetic", "--data-limit", "64"]
SMALL += ["--epochs", "1", "--threads", "1", "--eval-every", "0"]
BATCH = ["--batch-per-rank", "8"]

def obstacle():
    """Why there can be no Slurm here, or nothing."""
    if os.geteuid() != 0:
        return "starting its daemons needs root"
    for tool in ("slurmctld", "slurmd", "munged", "sbatch", "srun", "mpirun"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    with tempfile.TemporaryDirectory() as folder:
        for probe in (["unshare", "--uts", "true"], ["mknod", f"{folder}/null", "c", "1", "3"]):
            if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
                return f"{probe[0]} is not allowed here"
    return ""


def free_ports(count):
    """The first of so many ports in a row that nobody listens on."""
    for first in range(26817, 60000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise AssertionError("no free ports")


class Lab:
    """A Slurm of this test's own."""

    def __init__(self, folder):
        lab = {"LAB_SLURM_DIR": f"{folder}/lab", "LAB_SLURM_PORT": str(free_ports(3))}
        self.folder = folder
        self.variables = {**lab, "RUEDA": PATHS[0], "RUEDA_SITE": f"{folder}/site.sh"}
        (folder / "site.sh").write_text(SITE, encoding="utf-8")

    def start(self):
        self.call(SLURM, "start")
        told = self.call(SLURM, "env")
        self.variables.update(re.findall(r"(\w+)=(\S+)", told.replace("export ", "")))

    def stop(self):
        self.call(SLURM, "stop")

    def call(self, *words, **changes):
        done = subprocess.run(
            [str(word) for word in words], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            env=environment({**self.variables, **changes}), capture_output=True,
            timeout=TIME_LIMIT, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done}")
        return done.stdout

    def submit(self, *words, **changes):
        """The number of a job sent with the options of the site."""
        return self.call(JOBS / "submit.sh", "--parsable", *words, **changes).strip()

    def facts(self, job):
        """What Slurm tells about a job."""
        shown = self.call("scontrol", "show", "job", job)
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def await_fact(self, job, name, values):
        deadline = time.monotonic() + TIME_LIMIT
        while (facts := self.facts(job))[name] not in values:
            if time.monotonic() > deadline:
                raise AssertionError(f"job {job} is {facts[name]}, not {values}: {self.output(job)}")
            time.sleep(0.1)
        return facts

    def end(self, job):
        return self.await_fact(job, "JobState", ENDED)

    def output(self, job):
        path = Path(self.facts(job)["StdOut"])
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def await_output(self, job, text, times=1):
        deadline = time.monotonic() + TIME_LIMIT
        while self.output(job).count(text) < times:
            if time.monotonic() > deadline:
                raise AssertionError(f"job {job} does not say '{text}': {self.output(job)}")
            time.sleep(0.1)


@functools.lru_cache(maxsize=None)
def shared_lab():
    """One for all cases: to start and stop it takes as long as some jobs."""
    temporary = tempfile.TemporaryDirectory(prefix="rueda-slurm-")
    unittest.addModuleCleanup(temporary.cleanup)
    folder = Path(temporary.name)
    folder.chmod(0o755)  # munged insists
    lab = Lab(folder)
    unittest.addModuleCleanup(lab.stop)
    lab.start()
    return lab


@unittest.skipIf(obstacle(), f"no Slurm can be started: {obstacle()}")
class SlurmCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = shared_lab()
        cls.folder = cls.lab.folder

    def completed(self, job):
        """Its output."""
        facts = self.lab.end(job)
        told = self.lab.output(job)
        self.assertEqual((facts["JobState"], facts["ExitCode"]), ("COMPLETED", "0:0"), told)
        return told

    def failed(self, job, code):
        facts = self.lab.end(job)
        told = self.lab.output(job)
        self.assertEqual((facts["JobState"], facts["ExitCode"]), ("FAILED", f"{code}:0"), told)
        return told

    def record(self, *parts):
        return json.loads(self.folder.joinpath(*parts, "run.json").read_text(encoding="utf-8"))


class ScriptsTest(SlurmCase):
    def trained(self, job, name, ranks, hosts, *parts):
        record = self.record("runs", f"{name}-{job}", *parts)
        self.assertEqual(record["outcome"], "completed")
        self.assertEqual((record["world_size"], record["hosts"]), (ranks, hosts))

    def says(self, told, **facts):
        for name, value in facts.items():
            words = name.replace("_", " ")
            self.assertRegex(told, rf"(?m)^{words}: +{re.escape(value)}$")

    def test_cpu(self):
        job = self.lab.submit(JOBS / "cpu.sh", *SMALL, *BATCH)
        told = self.completed(job)
        self.trained(job, "rueda-cpu", 1, ["n1"])
        self.assertTrue((self.folder / f"rueda-cpu.{job}.out").exists())
        self.says(told, Job_name="rueda-cpu", Job_ID=job, Nodes="1 (n1)", Tasks="1", Cores_per_task="1")
        self.says(told, Submitted_in=str(self.folder), GPUs_per_node="0", Partition="main")
        self.assertRegex(told, r"Verdict: (ok|works)")

    def test_one_gpu(self):
        """Sent by sbatch itself: the script's own directives, with a GPU that Slurm believes in."""
        sbatch = ["sbatch", "--parsable", "--cpus-per-task=2", JOBS / "one-gpu.sh", *SMALL, *BATCH]
        job = self.lab.call(*sbatch, RUEDA_ROOT=str(ROOT)).strip()
        told = self.completed(job)
        self.trained(job, "rueda-one-gpu", 1, ["n1"])
        self.says(told, GPUs_per_node="1 (0)", Cores_per_task="2")

    def test_one_node(self):
        job = self.lab.submit("--gres=gpu:4", JOBS / "one-node.sh", *SMALL, *BATCH)
        told = self.completed(job)
        for ranks in (1, 2, 4):
            self.trained(job, "rueda-one-node", ranks, ["n1"], f"np{ranks}")
        self.says(told, Tasks_per_node="4", GPUs_per_node="4 (0,1,2,3)")

    def test_several_nodes_by_srun_and_by_mpirun(self):
        for launcher in ("srun", "mpirun"):
            with self.subTest(launcher=launcher):
                words = ["--ntasks-per-node=2", JOBS / "nodes.sh", *SMALL, *BATCH]
                job = self.lab.submit(*words, RUEDA_LAUNCHER=launcher)
                told = self.completed(job)
                self.trained(job, "rueda-nodes", 4, ["n1", "n2"])
                self.assertRegex(told, rf"launcher +{launcher}, 4 processes")
                self.says(told, Nodes="2 (n[1-2])", Tasks="4", Tasks_per_node="2")

    def test_a_job_ends_as_its_run_does(self):
        bad = self.lab.submit(JOBS / "cpu.sh", *SMALL, *BATCH, "--model", "resnet21")
        nan = self.lab.submit(JOBS / "cpu.sh", *SMALL, *BATCH, "--inject", "nan:0:1")
        self.assertIn("rueda: ", self.failed(bad, 2))
        self.assertIn("rueda: the loss", self.failed(nan, 1))

    def test_what_the_doctor_refuses_is_not_run(self):
        job = self.lab.submit(JOBS / "one-gpu.sh", *SMALL, *BATCH, RUEDA_BACKEND="cuda")
        self.assertIn("Verdict: ", self.failed(job, 1))
        self.assertFalse((self.folder / "runs" / f"rueda-one-gpu-{job}").exists())


class StudyTest(SlurmCase):
    tiny = ["cpu", "--models", "resnet20", "--epochs", "1", "--repeats", "1", "--no-plots"]
    options = ["--", "--image-size", "16", "--data-limit", "128"]

    def worlds(self, out):
        records = [self.record(run) for run in sorted((self.folder / out / "runs").iterdir())]
        return [(record["world_size"], len(record["hosts"])) for record in records]

    def inside(self, launcher, *study):
        """The worlds of a study in one job of two nodes."""
        words = ["--nodes=2", "--ntasks-per-node=2", JOBS / "study.sh", *self.tiny, *study]
        words += ["--out", launcher, "--threads", "1", "--batch-per-rank", "16", *self.options]
        told = self.completed(self.lab.submit(*words, RUEDA_LAUNCHER=launcher))
        self.assertIn("resnet20, 4 ranks on 2 nodes, 16 per rank, repeat 1: ", told)
        for attempt in (self.folder / launcher).glob("runs/*/attempt.json"):
            command = json.loads(attempt.read_text(encoding="utf-8"))["command"]
            self.assertTrue(command.startswith(launcher + " "), command)
        return self.worlds(launcher)

    def test_inside_an_allocation(self):
        by_srun = self.inside("srun", "--nodes", "1,2", "--ranks-per-node", "2")
        self.assertEqual(by_srun, [(2, 1), (4, 2)])
        by_mpirun = self.inside("mpirun", "--nodes", "2", "--ranks-per-node", "1,2")
        self.assertEqual(by_mpirun, [(2, 2), (4, 2)])

    def test_a_job_for_each_configuration(self):
        scale = [ROOT / "jobs" / "scale.sh", *self.tiny, "--out", "sent", "--submit"]
        scale += ["--nodes", "1,2", "--ranks-per-node", "2", "--batch-per-rank", "16", *self.options]
        self.assertIn("2 jobs sent, 0 in the queue before", self.lab.call(*scale))
        self.assertIn("0 jobs sent, 2 in the queue before", self.lab.call(*scale))
        jobs = json.loads((self.folder / "sent" / "slurm" / "jobs.json").read_text(encoding="utf-8"))
        self.completed(jobs["report"])
        self.assertEqual(self.worlds("sent"), [(2, 1), (4, 2)])
        for name, job in jobs.items():
            facts = self.lab.facts(job)
            self.assertEqual(facts["JobName"], name)
            self.assertTrue((self.folder / "sent" / "slurm" / f"{name}.{job}.out").exists())
        # The report waited for all others.
        ends = [self.lab.facts(jobs[name])["EndTime"] for name in jobs if name != "report"]
        self.assertGreaterEqual(self.lab.facts(jobs["report"])["StartTime"], max(ends))
        self.assertIn("0 jobs sent, 0 in the queue", self.lab.call(*scale))


class LongRunTest(SlurmCase):
    words = ["--ntasks-per-node=1", "--nodes=2", JOBS / "long-run.sh", *SMALL, *BATCH]

    def long(self, epochs, **changes):
        words = [*self.words, "--epochs", str(epochs), "--lr-schedule", "constant"]
        return self.lab.submit(*words, **changes)

    def hashes(self, job):
        record = self.record("runs", f"rueda-long-{job}")
        return [epoch["parameter_hash"] for epoch in record["epochs"]], record["resumptions"]

    def test_a_warned_run_saves_its_state_and_goes_on_in_the_same_bits(self):
        """The warning before the time limit; both launchers; then SIGTERM to the ranks alone."""
        signals = [("srun", "--signal=USR1", "--batch"), ("mpirun", "--signal=USR1", "--batch")]
        signals += [("srun", "--signal=TERM")]
        jobs = [self.long(30, RUEDA_LAUNCHER=launcher) for launcher, *_ in signals]
        for job, (_, *words) in zip(jobs, signals, strict=True):
            self.lab.await_output(job, "Epoch 2/30")
            self.lab.call("scancel", *words, job)
        curves = []
        for job in jobs:
            told = self.completed(job)
            self.assertEqual(self.lab.facts(job)["Restarts"], "1", told)
            self.assertIn("Stopped with its state saved: back into the queue.", told)
            self.assertEqual(told.count("note: resumes from"), 1, told)
            curve, resumptions = self.hashes(job)
            self.assertEqual((len(curve), len(resumptions)), (30, 1))
            curves.append(curve)
        self.assertEqual(curves[0], curves[1])
        self.assertEqual(curves[0], curves[2])

    def test_what_is_requeued_without_a_warning_goes_on_from_its_checkpoint(self):
        job = self.long(1000)
        self.lab.await_output(job, "Epoch 2/1000")
        self.lab.call("scontrol", "requeue", job)
        self.lab.await_output(job, "note: resumes from")
        self.lab.call("scancel", job)
        self.assertEqual(self.lab.end(job)["Restarts"], "1")
        self.assertEqual(self.lab.output(job).count("Epoch 1/1000"), 1)


class SiteTest(unittest.TestCase):
    """What submit.sh hands to an sbatch that only prints it."""

    def submit(self, *words, code=0, **changes):
        with tempfile.TemporaryDirectory(prefix="rueda-site-") as folder:
            sbatch = Path(folder) / "sbatch"
            sbatch.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
            sbatch.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            done = subprocess.run(
                [JOBS / "submit.sh", *words], env=environment({"PATH": path, **changes}), text=True,
                stdin=subprocess.DEVNULL, capture_output=True, check=False,
            )  # fmt: skip
        self.assertEqual(done.returncode, code, done)
        return done.stderr if code else done.stdout.splitlines()

    def test_marenostrum(self):
        told = self.submit("x.sh", RUEDA_SITE="marenostrum5-acc", RUEDA_ACCOUNT="bsc1")
        self.assertEqual(told, ["--cpus-per-task=20", "--account=bsc1", "--qos=acc_debug", "x.sh"])

    def test_a_site_without_gpus(self):
        told = self.submit("--time=5", "x.sh", "a b", RUEDA_SITE="cpu", RUEDA_PARTITION="p")
        self.assertEqual(
            told, ["--cpus-per-task=16", "--partition=p", "--gres=none", "--time=5", "x.sh", "a b"]
        )

    def test_a_site_that_is_not_there(self):
        told = self.submit("x.sh", RUEDA_SITE="nowhere", code=2)
        self.assertIn("rueda: the site file nowhere is neither there nor in", told)


if __name__ == "__main__":
    PATHS = [str(Path(path).resolve()) for path in sys.argv[1:]]
    summary_line.main()
