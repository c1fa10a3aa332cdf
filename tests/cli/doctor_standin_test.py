#!/usr/bin/env python3
"""`rueda doctor` where there are GPUs: on the stand-in, whose device memory is host memory.

usage: doctor_standin_test.py RUEDA_STANDIN MPIEXEC
"""

from rueda_runs import ProgramCase, main


class StandIn(ProgramCase):
    def examine(self, *words, code=0, gpus=2):
        result = self.program.run_ranks(2, "doctor", "--json", "doctor.json", *words,
                                        RUEDA_STANDIN_DEVICES=str(gpus))
        self.assertEqual(result.code, code, result)
        return result, self.read("doctor.json")

    def test_gpu_memory_arrives_and_its_links_are_measured(self):
        result, report = self.examine()
        for rank, transfer in zip(report["ranks"], report["transfers"]):
            self.assertEqual(len(rank["device"]["visible"]), 2)
            self.assertGreater(rank["device"]["free_bytes"], 0)
            self.assertTrue(transfer["device"])
            self.assertEqual(transfer["end"], "arrived")
            self.assertGreater(transfer["link"]["gb_per_second"], 0)
        self.assertIn("GPU memory to the right neighbour", result.out)

    def test_ranks_on_one_gpu_are_told(self):
        _, report = self.examine(gpus=1, code=1)
        self.assertFalse(report["works"])
        fault = next(f for f in report["findings"] if "share one GPU" in f["what"])
        self.assertIn("--allow-shared-gpu", fault["change"])

    def test_a_crash_that_training_survives_is_no_fault(self):
        result, report = self.examine("--fault", "crash-transfer:1")
        if report["ranks"][0]["awareness"]["aware"]:
            self.skipTest("this MPI takes GPU memory, so that a crash is a fault")
        self.assertTrue(report["works"], result)
        self.assertEqual(report["transfers"][1]["end"], "crashed")
        self.assertIn("MPI is not CUDA-aware", result.out)


if __name__ == "__main__":
    main()
