#!/usr/bin/env python3
"""Runs over several hosts on this machine (tests/lab/hosts.sh) equal those on one.

usage: lab_test.py RUEDA MPIEXEC WIRE MPI_TESTS
"""

import contextlib
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from rueda_runs import LONG, ProgramCase, environment, hashes, long, longer, main

HOSTS = Path(__file__).resolve().parents[1] / "lab" / "hosts.sh"
TIME_LIMIT = 60  # seconds; a run takes two or three

# 70 images in global batches of 24: the last step has 22, which 4 ranks share as 6, 6, 5, 5.
SMALL = ["--model", "resnet20", "--data", "data", "--image-size", "16", "--data-limit", "70", "--epochs", "1"]
SMALL += ["--global-batch", "24", "--threads", "1", "--eval-every", "0", "--check-replicas", "step"]


def obstacle():
    """Why there can be no hosts here, or nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "unshare", "mpirun"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun is not there"
    probe = f"labprobe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return "network namespaces are not allowed here: " + made.stderr.strip()
    subprocess.run(["ip", "netns", "del", probe], check=True)
    return ""


class Lab:
    """Hosts of this test's own."""

    def __init__(self, folder):
        self.folder = folder
        self.variables = {"LAB_NAME": f"lab{os.getpid()}-", "LAB_WIRE": str(Path(ProgramCase.paths[2]).resolve())}

    @contextlib.contextmanager
    def hosts(self, count, rate="1gbit", delay="50us"):
        self._call("up", str(count), rate, delay)
        try:
            yield self
        finally:
            self._call("down")

    def run(self, ranks, *command, code=0):
        return self._call("run", str(ranks), "--", *command, code=code)

    def on_host(self, host, command):
        return self._call("exec", str(host), "--", "sh", "-c", command)

    def _call(self, *words, code=0):
        done = subprocess.run(
            [HOSTS, *words], cwd=self.folder, env=environment(self.variables), text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT, check=False,
        )  # fmt: skip
        if done.returncode != code:
            raise AssertionError(f"{words}: {done}")
        return done.stdout + (done.stderr if code else "")


@unittest.skipIf(obstacle(), f"no hosts can be made: {obstacle()}")
class HostsTest(ProgramCase):
    time_limit = TIME_LIMIT

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = Lab(cls.folder)

    def over_hosts(self, lab, ranks, *options, before=()):
        """The run.json of a run over the hosts that are up."""
        lab.run(ranks, *before, self.program.binary, "train", *SMALL, *options, "--run-dir", "over", "--overwrite")
        return self.program.record("over")

    def on_one_host(self, ranks, *options):
        return self.trained(ranks, *SMALL, *options)

    def hashes_are_equal(self, over, alone):
        self.assertEqual(hashes(over), hashes(alone))

    @long
    def test_two_hosts_of_two_ranks(self):
        ring, fixed = ("--all-reduce", "ring"), ("--reduce-order", "fixed")
        hierarchical, auto = ("--all-reduce", "hierarchical"), ("--all-reduce", "auto")
        with self.lab.hosts(2) as lab:
            words = (ring, (*auto, *fixed), (*hierarchical, *fixed))
            over = {one: self.over_hosts(lab, 4, *one) for one in words}
            other = self.over_hosts(lab, 4, *hierarchical)["epochs"][0]
            self.assertIn("4 ranks: passed",
                          lab.run(4, str(Path(self.paths[3]).resolve()), "[ring]"))  # the sums of the ring
        self.assertEqual({len(record["hosts"]) for record in over.values()}, {2})
        self.hashes_are_equal(over.pop(ring), self.on_one_host(4, *ring))
        alone = self.on_one_host(4, *ring, *fixed)
        for record in over.values():  # whatever auto chooses here and there
            self.hashes_are_equal(record, alone)
        # In its own order of additions the last bits differ, and no more.
        self.assertAlmostEqual(other["loss"], alone["epochs"][0]["loss"], delta=1e-3 * other["loss"])

    def test_what_still_runs_on_a_host_ends_with_it(self):
        with self.lab.hosts(2) as lab:
            number = int(lab.on_host(1, "sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"))
            self.assertTrue(Path(f"/proc/{number}").exists())
        self.assertFalse(Path(f"/proc/{number}/exe").exists())

    def test_three_hosts(self):
        with self.lab.hosts(3) as lab:
            over = self.over_hosts(lab, 3, "--all-reduce", "ring")
        self.assertEqual(len(over["hosts"]), 3)
        self.hashes_are_equal(over, self.on_one_host(3, "--all-reduce", "ring"))

    def test_clocks_behind_a_slow_network(self):
        """How many trips comparing takes does not depend on the delay, nor whether its error is told."""
        with self.lab.hosts(4, delay="5ms") as lab:
            for ranks in (2, 3, 4, 8):
                said = lab.run(ranks, str(Path(self.paths[3]).resolve()), "*clocks*")
                self.assertIn(f"{ranks} ranks: passed", said)

    @longer
    def test_two_hosts_with_one_address(self):
        """As two machines with Docker are: what ends the run, what names the cause, and the line that helps."""
        bridge = "ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up"
        self.lab.variables["LAB_INTERFACES"] = ""  # MPI chooses, as it does on a cluster
        self.lab.variables["LAB_BEFORE"] = "nice -n 10"  # ranks that wait spin: other tests go first
        self.addCleanup(self.lab.variables.pop, "LAB_INTERFACES")
        train = [self.program.binary, "train", *SMALL, "--stall-seconds", "5", "--run-dir", "over", "--overwrite"]
        with self.lab.hosts(2) as lab:
            for host in range(2):
                lab.on_host(host, bridge)
            if LONG:  # ranks that wait spin for half a minute
                said = lab.run(2, *train, code=1)
                self.assertRegex(said, r"rank \d on lab\S+: in MPI_\w+ for 3\d s\. "
                                       r"Every rank that has come prints such a line")
                self.assertIn("If none is missing, the ranks do not reach each other: rueda doctor", said)
            found = " ".join(lab.run(2, self.program.binary, "doctor", code=1).split())
            self.assertIn("hosts have one and the same address: 172.17.0.1 (docker0) on lab", found)
            self.lab.variables["LAB_INTERFACES"] = re.search(r"mpirun (--mca btl_tcp_if_exclude \S+)", found)[1]
            del self.lab.variables["LAB_BEFORE"]
            lab.run(2, *train)
        self.assertFalse(list(self.folder.glob(".rueda-doctor-*")))

    @long
    def test_what_a_link_takes_at_least_is_booked_as_transfer(self):
        words = ["--backend", "timed", "--compute", "100", "--overlap", "off", "--epochs", "3", "--data-limit", "72"]
        rate = 100e6  # bit/s; on two ranks each sends as many bytes as the gradients have
        with self.lab.hosts(2, "100mbit") as lab:
            record = self.over_hosts(lab, 2, *words, "--all-reduce", "ring")
        for epoch in record["epochs"]:
            least = 0.9 * 8 * epoch["communication"]["bytes_per_step"] / rate
            self.assertGreater(epoch["full_step"]["all_reduce_transfer"]["min"], least)
            self.assertGreater(epoch["seconds"], epoch["efficiency"]["ideal_network"] + epoch["steps"] * least)


if __name__ == "__main__":
    main(4)
