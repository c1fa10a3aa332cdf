#!/usr/bin/env python3
"""What a busy cluster does to jobs, under a real Slurm of three nodes on this machine (tests/lab/slurm.sh).

usage: slurm_faults_test.py RUEDA [CASE...]
"""

import os
import signal
import tempfile
import unittest
from pathlib import Path

from rueda_runs import long, main
from slurm_test import ENDED, JOBS, ROOT, SMALL, Lab, obstacle

EPOCHS = 30  # of a run, which must not end before its fault comes
LONG_RUN = [JOBS / "long-run.sh", *SMALL, "--epochs", EPOCHS, "--lr-schedule", "constant", "--stall-seconds", "10"]


@long
@unittest.skipIf(obstacle(), f"no Slurm can be started: {obstacle()}")
class FaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-faults-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.folder.chmod(0o755)  # munged insists
        cls.lab = Lab(cls.folder)
        # The run itself notices first that a node is dead, as it does by default (120 s before 300).
        cls.lab.variables |= {"LAB_SLURM_NODES": "3", "LAB_SLURM_TIMEOUT": "60"}
        cls.addClassCleanup(cls.lab.stop)
        cls.lab.start()

    def submit(self, *words):
        return self.lab.call(JOBS / "submit.sh", "--parsable", *words).strip()

    def on_node(self, name):
        """The processes of a node, which has a hostname of its own."""
        daemon = (self.folder / "lab" / "pid" / f"slurmd-{name}").read_text(encoding="ascii").strip()
        mark = os.readlink(f"/proc/{daemon}/ns/uts")
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "ns" / "uts") == mark:
                    yield int(process.name), (process / "comm").read_text(encoding="utf-8").strip()
            except OSError:
                continue  # it has ended

    def kill(self, node, program=""):
        for number, name in list(self.on_node(node)):
            if name == program or not program:
                os.kill(number, signal.SIGKILL)

    def completed(self, job, restarts):
        facts = self.lab.end(job)
        text = self.lab.output(job)
        self.assertEqual((facts["JobState"], facts["Restarts"]), ("COMPLETED", str(restarts)), text)
        return facts, text

    def test_a_killed_rank_is_started_again_in_its_job(self):
        job = self.submit("--nodes=2", "--ntasks-per-node=1", *LONG_RUN)
        self.lab.wait_for_output(job, f"Epoch 2/{EPOCHS}")
        self.kill(self.second_node(job), "rueda")
        _, text = self.completed(job, 0)
        self.assertRegex(text, r"run-again: exit code \d+; again from epoch-")

    def second_node(self, job):
        """The one on which the script does not run."""
        facts = self.lab.facts(job)
        nodes = self.lab.call("scontrol", "show", "hostnames", facts["NodeList"]).split()
        return next(node for node in nodes if node != facts["BatchHost"])

    def test_a_dead_node_is_left_out(self):
        job = self.submit("--nodes=2", "--ntasks-per-node=1", *LONG_RUN)
        self.lab.wait_for_output(job, f"Epoch 2/{EPOCHS}")
        dead = self.second_node(job)
        self.kill(dead)
        revive = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec slurmd -f "$SLURM_CONF" -N "$0"', dead]
        try:
            self.lab.wait_for_output(job, f"run-again: {dead} does not answer and is left out")
        finally:
            self.lab.call(*revive)  # before the job starts again
        self.assertEqual(self.started_again(job)["ExcNodeList"], dead, self.lab.output(job))
        facts, text = self.completed(job, 1)
        nodes = self.lab.call("scontrol", "show", "hostnames", facts["NodeList"]).split()
        self.assertEqual((len(nodes), dead in nodes), (2, False), text)
        self.assertEqual(text.count(f"Epoch 1/{EPOCHS}"), 1, text)

    def started_again(self, job):
        """The facts of a job that was put back, as soon as Slurm has given it nodes: before a crash of its ranks in
        MPI_Init leaves the test undetermined."""

        def facts():
            found = self.lab.facts(job)
            return found if found["Restarts"] == "1" and found["JobState"] in ("RUNNING", *ENDED) else None

        return self.lab.wait(lambda: f"started again: {self.lab.output(job)}", facts, 0.1)

    def test_a_warning_while_the_doctor_runs(self):
        job = self.submit("--nodes=1", "--ntasks-per-node=1", *LONG_RUN)
        self.lab.wait_for_output(job, "Site file:")
        self.lab.call("scancel", "--signal=USR1", "--batch", job)
        self.completed(job, 1)

    def test_an_element_of_an_array_goes_back_alone(self):
        array = self.submit("--array=0-1", "--nodes=1", "--ntasks-per-node=1", *LONG_RUN)
        warned, other = f"{array}_1", f"{array}_0"  # the last has the array's number
        for element in (warned, other):
            self.lab.wait_for_output(element, f"Epoch 2/{EPOCHS}")
        self.lab.call("scancel", "--signal=USR1", "--batch", warned)
        self.completed(warned, 1)
        self.completed(other, 0)

    def test_a_study_in_a_shell_of_srun(self):
        words = ["cpu", "--models", "resnet20", "--epochs", "1", "--repeats", "1", "--no-plots",
                 "--batch-per-rank", "16"]
        words += ["--ranks-per-node", "1,2", "--threads", "1", "--out", "shell", "--", "--image-size", "16",
                  "--data-limit", "128"]
        text = self.lab.call("srun", "--ntasks=1", "--cpus-per-task=2", ROOT / "jobs" / "scale.sh", *words)
        self.assertIn("resnet20, 2 ranks, 16 per rank, repeat 1: ", text)

    def test_a_step_without_pmix(self):
        with self.assertRaisesRegex(AssertionError, "warning: srun started this process without PMIx"):
            self.lab.call("srun", "--mpi=none", "--ntasks=2", self.lab.variables["RUEDA"], "train", *SMALL)


if __name__ == "__main__":
    main(1)
