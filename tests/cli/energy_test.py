#!/usr/bin/env python3
"""The energy of hosts, from a tree of powercap files whose counters a test raises while a run trains.

usage: energy_test.py RUEDA MPIEXEC
"""

import signal
import subprocess

from rueda_runs import ProgramCase, environment, long, main

TRAIN = ["train", "--backend", "timed", "--data", "data", "--data-limit", "128", "--batch-per-rank", "16",
         "--log-level", "trace"]
RANGE = 150  # joules after which a counter begins again


class Energy(ProgramCase):
    def setUp(self):
        self.joules = 100
        for zone, name in (("intel-rapl:0", "package-0"), ("intel-rapl:0:1", "dram")):
            (self.folder / self.id() / zone).mkdir(parents=True)
            self.write(f"{self.id()}/{zone}/name", name)
            self.write(f"{self.id()}/{zone}/max_energy_range_uj", f"{RANGE * 10**6}\n")
        self.grow(0)

    def grow(self, joules):
        """The package by these joules, its memory by half of them."""
        self.joules += joules
        for zone, energy in (("intel-rapl:0", self.joules), ("intel-rapl:0:1", self.joules // 2)):
            new = self.folder / self.write(f"{self.id()}/new", f"{energy % RANGE * 10**6}\n")
            new.rename(self.folder / self.id() / zone / "energy_uj")  # whole, as the kernel's are

    def follow(self, ranks, *words, acts, code=0):
        """run.json and output of a run. `acts`: by the text of a line, what is done when it comes."""
        command = [self.program.mpiexec, "--bind-to", "none", "-n", str(ranks), self.program.binary, *TRAIN]
        command += ["--run-dir", f"{self.id()}/run", *words]
        out, env = [], environment({"RUEDA_POWERCAP": self.id()})
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(command, cwd=self.folder, env=env, **pipes) as process:
            for line in process.stdout:
                out.append(line)
                for text in [text for text in acts if text in line]:
                    acts.pop(text)(process)
        said = " ".join("".join(out).split())
        self.assertEqual((process.returncode, acts), (code, {}), said)
        return self.program.record(f"{self.id()}/run"), said

    def test_a_host_of_two_ranks_counts_once_through_wraps_and_in_reports(self):
        acts = {f"epoch 1, step {step}:": lambda _: self.grow(100) for step in (1, 2)}
        record, said = self.follow(2, "--epochs", "1", "--compute", "1600", acts=acts)
        energy = record["epochs"][0]["energy"]
        self.assertAlmostEqual(energy["host_joules"], 300, delta=3)
        self.assertEqual((energy["includes"], energy["joules"]), ("hosts", None))
        self.assertIn("300 J = 0.08333 Wh of hosts, 2.34 J per image", said)
        self.completed(self.program.run("report", self.id(), "--out", "report", "--plots", "off"))
        (table,) = (one for one in self.read("report/report.json")["tables"] if one["id"] == "cost")
        row = dict(zip((one["key"] for one in table["columns"]), table["rows"][0]))
        self.assertAlmostEqual(row["watt_hours_per_epoch"], 300 / 3600)
        self.assertEqual(row["energy_of"], "hosts")

    def grow_and_stop(self, process):
        self.grow(40)
        process.send_signal(signal.SIGUSR1)

    @long
    def test_a_resumed_run_keeps_the_sum(self):
        words = ("--epochs", "2", "--compute", "500", "--checkpoint-every", "1step")
        acts = {"epoch 1, step 1:": lambda _: self.grow(100), "epoch 2, step 1:": self.grow_and_stop}
        self.follow(1, *words, acts=acts, code=75)
        self.grow(90)  # between the processes
        acts = {"epoch 2, step 6:": lambda _: self.grow(20)}
        record, _ = self.follow(1, *words, "--resume", "auto", acts=acts)
        joules = [epoch["energy"]["host_joules"] for epoch in record["epochs"]]
        for known, true in zip([*joules, record["summary"]["energy"]["total_joules"]], (150, 90, 240)):
            self.assertAlmostEqual(known, true, delta=0.01 * true)

    @long
    def test_nonsense_is_said_once_and_hurts_nothing(self):
        words = ("--epochs", "1", "--compute", "300", "--overwrite")
        bad = lambda _: self.write(f"{self.id()}/intel-rapl:0/energy_uj", "\x1b[31mmuch")
        for acts in ({"epoch 1, step 1:": bad}, {}):
            record, said = self.follow(1, *words, acts=acts)
            self.assertIsNone(record["epochs"][0]["energy"]["total_joules"])
            self.assertIn("warning: rank 0: training goes on without the energy of", said)
            self.assertEqual(said.count("energy_uj: '\\x1b[31mmuch' is no such number"), 1, said)


if __name__ == "__main__":
    main()
