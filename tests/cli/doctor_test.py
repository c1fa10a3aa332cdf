#!/usr/bin/env python3
"""`rueda doctor` as its users meet it: alone, below mpiexec, with faults put in.

usage: doctor_test.py RUEDA MPIEXEC
"""

import os
import subprocess
import tempfile
from pathlib import Path

from rueda_runs import PATIENCE, ProgramCase, long, longer, main, part


def by_its_signal():
    """What lets a crash end a process by its signal, with a sanitizer, too."""
    names = ("ASAN_OPTIONS", "TSAN_OPTIONS")
    return {name: os.environ.get(name, "") + ":handle_segv=0" for name in names}


class DoctorTest(ProgramCase):
    def examine(self, ranks, *words, code=0, **env):
        """The result and the JSON of a run that ends with the code; 0 ranks: without a launcher.

        A GPU stays out of it, for with one the transfer is another. The temporary folder is left
        empty.
        """
        command = ("doctor", "--json", "doctor.json", *words)
        (self.folder / "doctor.json").unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="rueda-doctor-test-") as folder:
            env = {"CUDA_VISIBLE_DEVICES": "", "TMPDIR": folder, **env}
            run = self.program.run if not ranks else lambda *w, **e: self.program.run_ranks(ranks, *w, **e)
            result = run(*command, **env)
            self.assertEqual(list(Path(folder).glob(".rueda*")), [])
        self.assertEqual(result.code, code, result)
        return result, self.read("doctor.json")

    def faults(self, report):
        return [f["what"] for f in report["findings"] if f["severity"] == "fault"]

    def the_fault(self, report):
        (fault,) = self.faults(report)
        return fault


def of_env_sh():
    """The variables that jobs/env.sh sets where none are."""
    script = Path(__file__).resolve().parents[2] / "jobs" / "env.sh"
    words = ["env", "-i", f"PATH={os.environ['PATH']}", "bash", "-c", '. "$0" && env', script]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.split("=", 1) for line in lines if "_MCA_" in line)


class Healthy(DoctorTest):
    def test_alone(self):
        result, report = self.examine(0, "--backend", "cpu")
        self.assertTrue(report["works"])
        self.assertEqual((report["transfers"], len(report["ranks"])), ([], 1))
        self.assertIn("none (one process)", result.out)
        self.assertIn("one rank has no neighbour", result.out)
        self.assertEqual(result.messages, [])
        batches = report["largest_batch"]["models"]
        self.assertEqual(len(batches), 18)
        of = {(b["model"], b["precision"]): b["largest_batch"] for b in batches}
        self.assertGreater(of["resnet20", "fp32"], of["resnet110", "fp32"])

    @long
    def test_what_env_sh_sets_is_not_blamed(self):
        own = of_env_sh()
        self.assertGreaterEqual(len(own), 3, own)
        self.assertNotIn("OMPI_MCA_mpi_yield_when_idle", own)  # where ranks have cores of their own it costs
        set_here = {"RUEDA_DOCTOR_FAULT": "crash-transfer:1", "OMPI_MCA_pml": None, **own}
        _, report = self.examine(2, code=1, **set_here, **by_its_signal())
        self.assertIn("OMPI_MCA_btl_base_warn_component_unused=0", report["ranks"][0]["launch"]["settings"])
        for finding in report["findings"]:  # which may name what else is set here
            for name in own:
                self.assertNotIn(name, finding["what"])
                self.assertNotIn(name, finding["change"])

    def test_what_open_mpi_5_tells_its_ranks_is_no_setting(self):
        theirs = {"OMPI_MCA_PREFIXES": "mca,opal", "OMPI_MCA_cpu_type": "x86_64", "OMPI_MCA_num_procs": "2"}
        _, report = self.examine(0, **theirs, OMPI_MCA_mpi_yield_when_idle="1")
        listed = [one.partition("=")[0] for one in report["ranks"][0]["launch"]["settings"]]
        self.assertIn("OMPI_MCA_mpi_yield_when_idle", listed)
        self.assertEqual(set(listed) & theirs.keys(), set())

    @long
    def test_variables_that_steer_mpi_and_threads_are_listed(self):
        for ranks in (0, 2):
            result, report = self.examine(ranks, UCX_TLS="tcp", KMP_AFFINITY="none\x1b[2J",
                                          OMPI_MCA_btl="self,vader,tcp")
            listed = report["ranks"][0]["launch"]["settings"]
            for one in ("UCX_TLS=tcp", r"KMP_AFFINITY=none\x1b[2J", "OMPI_MCA_btl=self,vader,tcp"):
                self.assertIn(one, listed)
            self.assertEqual([one for one in listed if "orte" in one or "ess_" in one], [])
            self.assertIn("UCX_TLS=tcp", result.out)
            self.assertNotIn("\x1b", result.out)

    @longer
    def test_below_a_launcher(self):
        for ranks in part((3, 1), 1):
            result, report = self.examine(ranks, "--data", "data")
            self.assertEqual(self.faults(report), [])
            self.assertEqual([r["rank"] for r in report["ranks"]], list(range(ranks)))
            self.assertEqual(result.out.count("Verdict:"), 1, result)
            ends = [t["end"] for t in report["transfers"]]
            self.assertEqual(ends, ["arrived"] * ranks if ranks > 1 else [])
            self.assertEqual(report["progress"]["step"], "leave MPI")
            self.assertEqual(report["progress"]["trouble"], "")
            for rank in report["ranks"]:
                self.assertEqual(rank["launch"]["launcher"], "mpirun")
                # What is made of these has a unit test: on a busy machine all messages are slow.
                for figure in ("latency_us", "gb_per_second"):
                    for link in ("host_link", "host_memory"):
                        self.assertEqual(rank[link][figure] > 0, ranks > 1)
                self.check_data(rank["data"])
            if ranks > 1:
                self.assertIn(f"{ranks} of {ranks} ranks, the same on each", result.out)
            self.assertIn("200 images, 20 of each class", result.out)
        self.assertIn(report["verdict"], ("ok", "works with remarks"))  # remarks are of this machine
        self.check_page(result.out)

    def check_data(self, data):
        self.assertEqual(data["train_per_class"], [20] * 10)
        self.assertEqual(data["test_per_class"], [5] * 10)
        self.assertEqual((len(data["class_names"]), len(data["files"])), (10, 7))

    def check_page(self, text):
        for line in text.splitlines():
            if not line.startswith("  change "):
                self.assertLessEqual(len(line), 80, line)
        self.assertEqual([c for c in text if ord(c) < 32 and c != "\n"], [])


class Settings(DoctorTest):
    @long
    def test_affinity_from_outside(self):
        cores = os.sched_getaffinity(0)
        if len(cores) == 1:
            self.skipTest("one core")
        os.sched_setaffinity(0, {min(cores)})
        try:
            _, report = self.examine(0)
        finally:
            os.sched_setaffinity(0, cores)
        self.assertIn("without taskset", report["findings"][0]["change"])


    def test_a_setting_in_a_file_is_named_and_taken_out_by_the_line_to_change(self):
        file = self.folder / "home" / ".openmpi" / "mca-params.conf"
        file.parent.mkdir(parents=True)
        file.write_text("# of mine\npml = nothing\n", encoding="utf-8")
        alone = {"HOME": str(self.folder / "home"), "OMPI_MCA_pml": None}
        _, report = self.examine(0, code=1, **alone)
        self.assertIn(f"(pml=nothing is set in line 2 of {file})", self.the_fault(report))
        line = next(f["change"] for f in report["findings"] if f["severity"] == "fault").split(";")[0]
        subprocess.run(["bash", "-c", line], check=True)
        self.assertEqual(file.read_text(encoding="utf-8"), "# of mine\n# pml = nothing\n")
        self.examine(0, **alone)


class Launches(DoctorTest):
    @long
    def test_singletons_below_slurm_are_explained_by_the_first(self):
        slurm = {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4"}
        result, report = self.examine(0, code=1, SLURM_PROCID="0", **slurm)
        self.assertIn("SLURM_STEP_NUM_TASKS=4", self.the_fault(report))
        self.assertIn("srun --mpi=pmix -n 4", result.out)
        self.assertIn("Verdict: will not work", result.out)
        self.assertEqual(self.program.run("doctor", SLURM_PROCID="2", **slurm).out, "")

    def test_cuda_that_is_not_there(self):
        _, report = self.examine(0, "--backend", "cuda", code=1)
        self.assertIn("without a GPU", self.faults(report)[0])


class Transfers(DoctorTest):
    def broken(self, fault, *words, seconds=20):
        limit = ("--timeout", str(int(seconds * PATIENCE)))
        result, report = self.examine(3, *limit, code=1, RUEDA_DOCTOR_FAULT=fault, **by_its_signal())
        for word in words:
            self.assertIn(word, self.the_fault(report))
        self.assertIn("Host memory to the right neighbour", result.out)
        self.assertIn("Verdict: will not work", result.out)
        return [t["end"] for t in report["transfers"]]

    @longer
    def test_a_crash_is_reported_with_rank_and_signal(self):
        for rank in part((1, 0), 1):
            ends = self.broken(f"crash-transfer:{rank}", f"crashed on rank {rank}", "signal 11")
            self.assertEqual(ends.count("waited"), 2)

    @long
    def test_a_worker_that_vanishes(self):
        self.broken("die-transfer:0", "crashed on rank 0", "signal 9")

    @long
    def test_a_worker_that_the_launcher_ends_has_not_crashed(self):
        ends = self.broken("end-transfer:1", "was ended from outside (signal 15")
        self.assertEqual(ends[1], "waited")

    @long
    def test_a_stall_ends_by_the_time_limit(self):
        self.broken("stall-transfer:1", "did not end", seconds=4)

    def test_wrong_elements_are_counted(self):
        self.broken("wrong-transfer:2", "wrong elements on rank 2", "1 of 256", "number 128")


class Starts(DoctorTest):
    def test_a_crash_and_a_stall_alone(self):
        result, report = self.examine(0, code=1, RUEDA_DOCTOR_FAULT="crash-start:0", **by_its_signal())
        self.assertIn("look at this machine", self.faults(report)[0])
        self.assertIn("signal 11", self.faults(report)[0])
        self.assertIn("Verdict: will not work", result.out)
        _, report = self.examine(0, "--timeout", "1", code=1, RUEDA_DOCTOR_FAULT="stall-start:0")
        self.assertIn("did not end within 1 s", self.faults(report)[0])

    def test_another_rank_that_crashes_says_so_itself(self):
        fault = {"RUEDA_DOCTOR_FAULT": "crash-start:1"}
        result, report = self.examine(2, "--timeout", "4", code=1, **fault, **by_its_signal())
        self.assertIn('"start MPI"', self.faults(report)[0])  # timed out, or ended by mpiexec
        self.assertEqual(len(result.messages), 1, result)
        self.assertIn("rank 1", result.messages[0])
        self.assertIn("signal 11", result.messages[0])


class Data(DoctorTest):
    def test_a_missing_data_set_is_a_finding(self):
        result, report = self.examine(2, "--data", "nowhere", code=1)
        self.assertIn("all ranks cannot read it", self.the_fault(report))
        self.assertIn("no rank can read it", result.out)

    @long
    def test_ranks_that_read_different_sets(self):
        made = self.program.run("synth", "--out", "other", "--train", "200", "--test", "50",
                                "--seed", "2")
        self.assertEqual(made.code, 0, made)
        words = ["doctor", "--json", "doctor.json", "--data"]
        result = self.program.run_contexts([(1, [*words, "data"]), (1, [*words, "other"])])
        self.assertEqual(result.code, 1, result)
        self.assertIn("ranks read different images: ", result.out)


class Usage(DoctorTest):
    def test_bad_usage(self):
        for words, part in (
            (("--json", "nowhere/d.json"), "nowhere/d.json"),
            (("--json", "data"), "--json data"),
        ):
            self.refused(self.program.run("doctor", *words), part)

    def test_help_names_the_options(self):
        text = self.completed(self.program.run("doctor", "--help")).out
        for option in ("--data", "--json", "--backend", "--allow-shared-gpu", "--timeout"):
            self.assertRegex(text, rf"(?m)^  {option}\b")


if __name__ == "__main__":
    main()
