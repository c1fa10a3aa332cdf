#!/usr/bin/env python3
"""Batches fitted to the memory of GPUs, and what GPUs tell while they train: on the stand-in, whose
devices have as much memory as a variable says, and whose management library is our own.

usage: memory_standin_test.py RUEDA_STANDIN MPIEXEC NVML_FOLDER
"""

import re

from rueda_runs import ProgramCase, long, main

# One step, on images small enough for the stand-in's arithmetic.
TRAIN = ["--backend", "cuda", "--model", "resnet20", "--data", "data", "--image-size", "8", "--epochs", "1"]
TRAIN += ["--threads", "1", "--eval-every", "0"]
LARGE = ["--batch-per-rank", "192", "--data-limit", "192"]
SMALL = ["--batch-per-rank", "16", "--data-limit", "16"]
MEMORY = {"RUEDA_STANDIN_MEMORY": "24000000"}  # bytes: enough for about a hundred images
LIE = {**MEMORY, "RUEDA_STANDIN_CLAIMED": "100000000"}


class StandIn(ProgramCase):
    def plan(self, batch, *words):
        """Bytes of the plan for a batch, as `rueda summary` tells them."""
        printed = self.completed(
            self.program.run("summary", "--backend", "cuda", "--image-size", "8",
                             "--batch-per-rank", str(batch), *words)
        ).out
        amount, unit = re.search(r"total +([\d.]+) (\w+)", printed).groups()
        return float(amount) * {"kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]

    def start(self, ranks, *words, **env):
        return super().start(ranks, *TRAIN, *words, **env)

    def train(self, *words, **env):
        return self.trained(1, *words, **env)

    def test_what_does_not_fit_is_refused_before_there_is_a_run(self):
        result = self.start(1, *LARGE, **MEMORY)
        self.refused(result, "192 images", "rank 0", "24.0 MB", "--on-oom halve", "--precision bf16",
                     "--recompute bn", "--batch-per-rank max")
        self.assertFalse((self.folder / result.run_dir).exists())
        largest = int(re.search(r"largest batch that fits is (\d+)", result.messages[0]).group(1))
        self.assertEqual(largest % 8, 0)
        for batch, fits in ((largest, True), (largest + 8, False)):
            result = self.start(1, *LARGE, "--batch-per-rank", str(batch), **MEMORY)
            self.assertEqual(result.code == 0, fits, result)

    @long
    def test_streamed_batches_are_planned_and_the_set_is_not_held(self):
        resident = self.train("--batch-per-rank", "16", "--data-limit", "64")["ranks"][0]["memory"]
        streamed = self.train("--batch-per-rank", "16", "--data-limit", "64", "--input", "stream")
        streamed = streamed["ranks"][0]["memory"]
        self.assertEqual(resident["images"] - streamed["images"], 64 * 3073)
        self.assertEqual((resident["staging"], streamed["staging"]), (0, 2 * 16 * (3 * 4 * 64 + 4)))

    def test_not_even_one_image_fits(self):
        result = self.start(1, *SMALL, RUEDA_STANDIN_MEMORY="6000000")
        self.refused(result, "not even one image fits", "--precision bf16")

    def test_the_most_that_fits_on_one_rank_and_on_two_that_share_a_gpu(self):
        words = ("--batch-per-rank", "max", "--data-limit", "160")
        record = self.train(*words, **MEMORY)
        batch = record["batch"]["micro_batch"]
        self.assertEqual(record["config"]["batch-per-rank"], "max")
        self.assertEqual(record["batch"]["micro_batch_asked"], "max")
        self.assertEqual((batch % 8, record["batch"]["global"]), (0, batch))
        self.assertGreater(batch, 16)
        taken = record["ranks"][0]["memory_bytes"]
        self.assertTrue(0.80 * 24e6 < taken < 0.97 * 24e6, taken)
        two = self.trained(2, *words, "--allow-shared-gpu", RUEDA_STANDIN_MEMORY="48000000")
        # The same share, less the messages of the all-reduce.
        share = two["batch"]["micro_batch"]
        self.assertTrue(batch // 2 < share <= batch, share)
        self.assertEqual(two["batch"]["global"], 2 * share)

    def test_the_most_that_fits_is_at_most_the_data(self):
        record = self.train("--batch-per-rank", "max", "--data-limit", "40")
        self.assertEqual(record["batch"]["micro_batch"], 40)

    def test_halved_until_it_fits(self):
        record = self.train(*LARGE, "--on-oom", "halve", **MEMORY)
        batch = record["batch"]
        self.assertEqual(batch["micro_batch_asked"], 192)
        self.assertIn(batch["micro_batch"], (24, 48, 96))
        self.assertEqual(record["config"]["batch-per-rank"], 192)
        self.assertEqual(record["said"].count("warning: micro-batches of 192"), 1)

    def test_a_halved_global_batch_is_that_of_the_resumed_run(self):
        record = self.train("--global-batch", "192", "--data-limit", "192", "--on-oom", "halve",
                            "--checkpoint-every", "1epoch", **MEMORY)
        halved = record["batch"]["global"]
        self.assertLess(halved, 192)
        self.completed(self.program.run("train", "--resume", record["config"]["run-dir"], "--epochs", "2", **MEMORY))
        resumed = self.program.record(record["config"]["run-dir"])
        self.assertEqual((resumed["batch"]["global"], len(resumed["epochs"])), (halved, 2))

    @long
    def test_a_resumed_run_keeps_its_global_batch(self):
        record = self.train(*LARGE, "--on-oom", "halve", "--checkpoint-every", "1epoch")
        resume = ("train", "--resume", record["config"]["run-dir"], "--epochs", "2")
        result = self.program.run(*resume, **MEMORY)
        self.refused(result, "192 images", "resume on more ranks", "--recompute block")
        for word in ("--batch-per-rank", "halve", "--precision"):
            self.assertNotIn(word, result.messages[0])
        self.refused(self.program.run(*resume, **LIE), "cudaMalloc failed",
                     "a run that is resumed keeps its batch", code=1)

    @long
    def test_halved_where_an_allocation_fails_all_the_same(self):
        self.refused(self.start(1, *LARGE, **LIE), "cudaMalloc failed", "--on-oom halve", code=1)
        record = self.train(*LARGE, "--on-oom", "halve", **LIE)
        self.assertIn(record["batch"]["micro_batch"], (24, 48, 96))

    @long
    def test_the_summary_plans_on_a_gpu(self):
        for words in ((), ("--precision", "bf16", "--recompute", "block")):
            planned = self.plan(16, *words)
            record = self.train(*SMALL, *words)
            memory, data = record["ranks"][0]["memory"], record["data"]
            images = 3073 * (60000 - data["train_images"] - data["test_images"])  # the summary counts all of CIFAR-10
            self.assertAlmostEqual(sum(memory.values()) + images, planned, delta=0.006 * planned)
        self.assertLess(self.plan(512, "--recompute", "block"), self.plan(512))
        self.assertLess(self.plan(512, "--precision", "bf16"), self.plan(512, "--precision", "tf32"))

    def test_the_summary_of_a_gpu_needs_one(self):
        result = self.program.run("summary", "--backend", "cuda", CUDA_VISIBLE_DEVICES="")
        self.refused(result, "can only be planned on one", "no CUDA device")

    def watched(self, *words, **env):
        return self.train(*SMALL, *words, LD_LIBRARY_PATH=self.paths[2], **env)

    def test_a_gpu_is_watched(self):
        record = self.watched(RUEDA_STANDIN_DEVICES="3", CUDA_VISIBLE_DEVICES="2,0")
        samples = record["gpu_samples"][0]
        printed = {name: values[0] for name, values in samples.items()}
        self.assertGreater(printed.pop("seconds"), 0)
        self.assertEqual(printed, {  # device 2 of the machine, the first that is visible
            "utilization": 0.92, "memory_bytes": 3e9, "sm_clock_hz": 1982e6,
            "memory_clock_hz": 2621e6, "power_watts": 302, "temperature_celsius": 62,
        })
        energy = record["epochs"][0]["energy"]
        self.assertEqual(energy, {"joules": 750, "images_per_joule": 16 / 750, "per_rank": [750],
                                  "host_joules": None, "total_joules": 750, "includes": "GPUs",
                                  "watt_hours": 750 / 3600, "joules_per_image": 750 / 16})  # fmt: skip

    def test_what_a_gpu_does_not_tell_is_null(self):
        record = self.watched(RUEDA_STANDIN_NVML_LACKS="energy,power")
        samples = record["gpu_samples"][0]
        self.assertIsNone(samples["power_watts"][0])
        self.assertEqual(samples["temperature_celsius"][0], 60)
        energy = record["epochs"][0]["energy"]
        self.assertEqual((energy.pop("per_rank"), energy.pop("includes")), ([None], "nothing"))
        self.assertEqual(set(energy.values()), {None})

    def test_without_a_driver_nothing_is_watched(self):
        self.assertEqual(self.watched(RUEDA_STANDIN_NVML_LACKS="driver")["gpu_samples"], [None])

    def test_a_shared_gpu_counts_once(self):
        words = ("--allow-shared-gpu", "--data-limit", "16", "--batch-per-rank", "8")
        record = self.trained(2, *words, LD_LIBRARY_PATH=self.paths[2])
        energy = record["epochs"][0]["energy"]
        self.assertEqual((energy["joules"], energy["per_rank"]), (250, [250, 250]))
        self.assertIn("250 J = 0.06944 Wh of GPUs, 15.6 J per image", record["said"])
        self.assertRegex(record["said"], r"power, W +300 +300 +300")


if __name__ == "__main__":
    main(3)
