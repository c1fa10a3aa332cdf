#!/usr/bin/env python3
"""`rueda doctor` as its users meet it: alone, below mpiexec, with faults put in.

usage: doctor_test.py RUEDA [MPIEXEC]
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import summary_line
from program_case import ProgramCase
from rueda_runs import PATIENCE


def by_its_signal():
    """What lets a crash end a process by its signal, with a sanitizer, too."""
    names = ("ASAN_OPTIONS", "TSAN_OPTIONS")
    return {name: os.environ.get(name, "") + ":handle_segv=0" for name in names}


class DoctorTest(ProgramCase):
    def examine(self, ranks, *words, code=0, **env):
        """The result and the JSON of a run that ends with the code; 0 ranks: without a launcher.

        A GPU stays out of it, for with one the transfer is another.
        """
        env.setdefault("CUDA_VISIBLE_DEVICES", "")
        command = ("doctor", "--json", "doctor.json", *words)
        (self.folder / "doctor.json").unlink(missing_ok=True)
        result = self.program.run_ranks(ranks, *command, **env) if ranks else self.program.run(
            *command, **env)
        self.assertEqual(result.code, code, result)
        return result, json.loads((self.folder / "doctor.json").read_text(encoding="utf-8"))

    def faults(self, report):
        return [f["what"] for f in report["findings"] if f["severity"] == "fault"]


class Healthy(DoctorTest):
    def test_alone(self):
        result, report = self.examine(0)
        self.assertTrue(report["works"])
        self.assertEqual(report["transfers"], [])
        self.assertEqual(len(report["ranks"]), 1)
        self.assertIn("none (one process)", result.out)
        self.assertIn("one rank has no neighbour", result.out)
        self.assertEqual(result.messages, [])

    def test_below_a_launcher(self):
        for ranks in (1, 2, 3):
            result, report = self.examine(ranks)
            self.assertEqual(self.faults(report), [])
            self.assertEqual([r["rank"] for r in report["ranks"]], list(range(ranks)))
            self.assertEqual(result.out.count("Verdict:"), 1, result)
            self.assertTrue(all(r["launch"]["launcher"] == "mpirun" for r in report["ranks"]))
            ends = [t["end"] for t in report["transfers"]]
            self.assertEqual(ends, ["arrived"] * ranks if ranks > 1 else [])
            speeds = [r["host_link"]["gb_per_second"] > 0 for r in report["ranks"]]
            self.assertEqual(speeds, [ranks > 1] * ranks)

    def test_every_model_has_its_largest_batch(self):
        _, report = self.examine(0, "--backend", "cpu")
        batches = report["largest_batch"]["models"]
        self.assertEqual(len(batches), 18)
        of = {(b["model"], b["precision"]): b["largest_batch"] for b in batches}
        self.assertGreater(of["resnet20", "fp32"], of["resnet110", "fp32"])

    def test_the_page_is_narrow_and_plain(self):
        result, _ = self.examine(2, "--data", "data")
        for line in result.out.splitlines():
            if not line.startswith("  change "):
                self.assertLessEqual(len(line), 80, line)
        self.assertEqual([c for c in result.out if ord(c) < 32 and c != "\n"], [])

    def test_nothing_is_left_in_the_temporary_folder(self):
        with tempfile.TemporaryDirectory(prefix="rueda-doctor-test-") as folder:
            self.examine(2, TMPDIR=folder)
            self.assertEqual(list(Path(folder).glob(".rueda*")), [])

    def test_the_record_of_a_good_run_ends_in_its_last_step(self):
        _, report = self.examine(2)
        self.assertEqual(report["progress"]["step"], "leave MPI")
        self.assertEqual(report["progress"]["trouble"], "")


class Launches(DoctorTest):
    def test_singletons_below_slurm_are_explained(self):
        env = {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}
        result, report = self.examine(0, code=1, **env)
        self.assertEqual(len(self.faults(report)), 1)
        self.assertIn("SLURM_NTASKS=4", self.faults(report)[0])
        self.assertIn("srun --mpi=pmix -n 4", result.out)
        self.assertIn("Verdict: will not work", result.out)

    def test_other_singletons_are_silent(self):
        env = {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SLURM_PROCID": "2"}
        self.assertEqual(self.program.run("doctor", **env).out, "")

    def test_cuda_that_is_not_there(self):
        _, report = self.examine(0, "--backend", "cuda", code=1, CUDA_VISIBLE_DEVICES="")
        self.assertIn("without a GPU", self.faults(report)[0])


class Transfers(DoctorTest):
    def broken(self, fault, *words, seconds=20, **env):
        options = ("--timeout", str(int(seconds * PATIENCE)), "--fault", fault)
        result, report = self.examine(3, *options, code=1, **env)
        self.assertEqual(len(self.faults(report)), 1, result)
        for word in words:
            self.assertIn(word, self.faults(report)[0])
        self.assertIn("Host memory to the right neighbour", result.out)
        self.assertIn("Verdict: will not work", result.out)
        return result, report

    def test_a_crash_is_told_with_rank_and_signal(self):
        for rank in ("0", "1"):
            _, report = self.broken(f"crash-transfer:{rank}", f"crashed on rank {rank}", "signal 11")
            self.assertEqual([t["end"] for t in report["transfers"]].count("waited"), 2)

    def test_a_crash_leaves_mpi_in_order(self):
        result, _ = self.broken("crash-transfer:1")
        self.assertNotIn("exiting improperly", result.err)

    def test_a_worker_that_vanishes(self):
        for rank in ("0", "2"):
            self.broken(f"die-transfer:{rank}", f"crashed on rank {rank}", "signal 9")

    def test_a_stall_ends_by_the_time_limit(self):
        self.broken("stall-transfer:1", "did not end", seconds=4)

    def test_wrong_elements_are_counted(self):
        self.broken("wrong-transfer:2", "wrong elements on rank 2", "1 of 256", "number 128")

    def test_nothing_is_left_behind_a_crash(self):
        with tempfile.TemporaryDirectory(prefix="rueda-doctor-test-") as folder:
            self.broken("crash-transfer:1", TMPDIR=folder)
            self.assertEqual(list(Path(folder).glob(".rueda*")), [])


class Starts(DoctorTest):
    def test_a_crash_alone(self):
        result, report = self.examine(0, "--fault", "crash-start:0", code=1, **by_its_signal())
        self.assertIn("look at this machine", self.faults(report)[0])
        self.assertIn("signal 11", self.faults(report)[0])
        self.assertIn("Verdict: will not work", result.out)

    def test_a_stall_alone(self):
        _, report = self.examine(0, "--timeout", "1", "--fault", "stall-start:0", code=1)
        self.assertIn("did not end within 1 s", self.faults(report)[0])

    def test_another_rank_that_crashes_says_so_itself(self):
        words = ("--timeout", "4", "--fault", "crash-start:1")
        result, report = self.examine(2, *words, code=1, **by_its_signal())
        self.assertIn('"start MPI"', self.faults(report)[0])  # timed out, or ended by mpiexec
        self.assertEqual(len(result.messages), 1, result)
        self.assertIn("rank 1", result.messages[0])
        self.assertIn("signal 11", result.messages[0])


class Data(DoctorTest):
    def test_a_data_set_is_described(self):
        result, report = self.examine(2, "--data", "data")
        for rank in report["ranks"]:
            data = rank["data"]
            self.assertEqual(data["train_per_class"], [20] * 10)
            self.assertEqual(data["test_per_class"], [5] * 10)
            self.assertEqual(len(data["class_names"]), 10)
            self.assertEqual(len(data["files"]), 7)
        self.assertIn("2 of 2 ranks, the same on each", result.out)
        self.assertIn("200 images, 20 of each class", result.out)
        self.assertEqual(report["verdict"], "works with remarks")

    def test_a_missing_data_set_is_a_finding(self):
        result, report = self.examine(2, "--data", "nowhere", code=1)
        self.assertEqual(len(self.faults(report)), 1)
        self.assertIn("all ranks cannot read it", self.faults(report)[0])
        self.assertIn("no rank can read it", result.out)

    def test_ranks_in_different_folders(self):
        with tempfile.TemporaryDirectory(prefix="rueda-doctor-test-") as other:
            words = ["doctor", "--data", "data"]
            contexts = [(1, [*words, "--json", "doctor.json"]), (1, words)]
            result = self.program.run_contexts(contexts, folders=[self.folder, other])
        self.assertEqual(result.code, 1, result)
        report = json.loads((self.folder / "doctor.json").read_text(encoding="utf-8"))
        self.assertIn("rank 1 cannot read it", self.faults(report)[0])

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
        self.refused(self.program.run("doctor", "--timeout", "0"), "--timeout")
        self.refused(self.program.run("doctor", "--json", "nowhere/d.json"), "nowhere/d.json")
        self.refused(self.program.run("doctor", "--json", "data"), "--json data")
        self.refused(self.program.run("doctor", "--fault", "x:0"), "--fault")
        self.refused(self.program.run("doctor", "--backend", "tpu"), "--backend")

    def test_help_keeps_the_faults_to_itself(self):
        text = self.completed(self.program.run("doctor", "--help")).out
        for option in ("--data", "--json", "--backend", "--allow-shared-gpu", "--timeout"):
            self.assertRegex(text, rf"(?m)^  {option}\b")
        self.assertNotIn("--fault", text)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ProgramCase.paths = (sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "mpiexec")
    summary_line.main()
