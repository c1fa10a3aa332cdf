#!/usr/bin/env python3
"""The whole program on the stand-in (docs/dev/testing.md), whose device memory is host memory: what training does on
it (ranks, devices, transports, precisions, order of work, memory), the bench and the doctor.

usage: standin_test.py RUEDA_STANDIN MPIEXEC STALL_LIBRARY DRIVER
"""

import json
import tempfile
from pathlib import Path

from rueda_runs import LONG, Program, ProgramCase, long, longer, losses, main, part
from weights_test import read_header

# 22 images in global batches of 12: the last step has 10, which 4 ranks share as 3, 3, 2, 2. As small as the
# network takes them: the stand-in's arithmetic is slow.
SMALL = ["--model", "resnet20", "--image-size", "8", "--data", "data", "--data-limit", "22"]
SMALL += ["--global-batch", "12", "--epochs", "2", "--threads", "1", "--augment", "standard"]
SMALL += ["--eval-every", "1", "--lr", "0.1"]
SHARED = ["--backend", "cuda", "--allow-shared-gpu"]
FIXED = [*SHARED, "--reduce-order", "fixed"]
DELAYS = {"RUEDA_STANDIN_DELAY_US": "60", "RUEDA_STANDIN_COPY_US": "1000"}
STAGING = "warning: gradients are staged"
SIZES = (4, 40_000, 1_600_000)
MEASURED = ("--repetitions", "2", "--threads", "1", "--sizes", ",".join(map(str, SIZES)))
NAMES = ("ring", "mpi", "fixed")


class StandInCase(ProgramCase):
    time_limit = 300  # on a machine with other work
    images = (50, 12)

    def start(self, ranks, *words, **env):
        return super().start(ranks, *SMALL, *words, **env)

    def assertSameBits(self, one, other):
        """Of the parameters; of the evaluation too, unless the ranks that share it are others."""
        same = ["parameter_hash", "loss", "val_accuracy"]
        same += ["val_loss"] * (one["world_size"] == other["world_size"])
        for a, b in zip(one["epochs"], other["epochs"], strict=True):
            self.assertEqual([a[what] for what in same], [b[what] for what in same])

    def assertNear(self, values, expected, share):
        self.assertEqual(len(values), len(expected))
        for value, other in zip(values, expected):
            self.assertAlmostEqual(value, other, delta=share * abs(other))


class Ranks(StandInCase):
    def test_any_number_of_ranks_computes_what_the_cpu_computes(self):
        for ranks in (1, 4):
            gpu = self.known_run(ranks, *SHARED)
            cpu = self.trained(ranks, "--backend", "cpu")
            self.assertEqual([rank["backend"] for rank in gpu["ranks"]], ["cuda"] * ranks)
            self.assertEqual(len(losses(gpu)), 4)
            self.assertNear(losses(gpu)[:2], losses(cpu)[:2], 1e-4)
            gpu, cpu = gpu["epochs"][0], cpu["epochs"][0]
            self.assertEqual(gpu["val_accuracy"], cpu["val_accuracy"])
            self.assertNear([gpu["val_loss"]], [cpu["val_loss"]], 1e-3)

    @longer
    def test_ranks_equal_micro_batches_bit_for_bit(self):
        for ranks, precision in part(((4, "fp32"), (3, "bf16")), 1):
            words = [*FIXED, "--precision", precision]
            alone = self.trained(1, *words, "--accumulate", str(ranks))
            self.assertSameBits(self.known_run(ranks, *words), alone)

    def test_without_cuda_graphs_the_same_bits(self):
        """`off` records nothing, and computes what replayed steps compute."""
        for words in (SHARED, [*SHARED, "--precision", "bf16", "--overlap", "on"]):
            nodes, records = {}, {}
            for wanted in ("on", "off"):
                with tempfile.TemporaryDirectory() as folder:
                    records[wanted] = self.trained(1, *words, RUEDA_STANDIN_COUNTERS=folder, RUEDA_CUDA_GRAPHS=wanted)
                    nodes[wanted] = int(next(Path(folder).iterdir()).read_text().split("graph_nodes ")[1].split()[0])
            self.assertGreater(nodes["on"], 100)
            self.assertEqual(nodes["off"], 0)
            self.assertSameBits(records["on"], records["off"])

    def test_a_switch_is_on_or_off(self):
        for switch in ("RUEDA_CUDA_GRAPHS", "RUEDA_CUDA_PDL"):
            self.refused(self.start(1, *SHARED, **{switch: "0"}), f"{switch}=0: give on or off")

    @long
    def test_a_run_repeats_bit_for_bit(self):
        record = self.known_run(3, *SHARED)
        again = self.known_run(3, *SHARED, "--transport", record["all_reduce"]["transport"])
        self.assertSameBits(record, again)

    def test_precisions(self):
        fp32 = losses(self.known_run(2, *SHARED))[:2]
        for precision in ("tf32", "bf16"):
            record = self.trained(2, *SHARED, "--precision", precision)
            self.assertEqual(record["config"]["precision"], precision)
            # The stand-in multiplies in fp32 where it is asked for tf32, but the first layer reads windows of the image
            # there, whose products are added in another order.
            furthest = max(abs(mine / known - 1) for mine, known in zip(losses(record)[:2], fp32))
            self.assertEqual(furthest < 1e-6, precision == "tf32", furthest)
            self.assertNear(losses(record)[:2], fp32, 0.05)


class Devices(StandInCase):
    def test_ranks_on_one_gpu_are_refused_unless_allowed(self):
        result = self.start(2, "--backend", "cuda")
        allowed = self.known_run(2, *SHARED)
        uuid = allowed["ranks"][0]["uuid"]
        self.refused(result, f"ranks 0 and 1 on {uuid}", "--allow-shared-gpu")
        self.assertFalse((self.folder / result.run_dir).exists())
        self.assertIn(f"ranks share a GPU, and its speed: ranks 0 and 1 on {uuid}", allowed["said"])

    @longer
    def test_each_rank_takes_its_own_and_sends_its_memory_round_the_ring(self):
        """All GPUs visible to all ranks, or each rank's own alone; counted between the program and MPI."""
        ranks, sums = 4, 5  # 4 steps, and a sum of zeros before
        alone = self.folder / self.write("alone.sh", f"""#!/bin/sh
CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK exec {self.program.binary} "$@"
""")
        alone.chmod(0o755)
        starts = ((self.program.binary, "device"), (self.program.binary, "staged"), (alone, "device"))
        for program, transport in part(starts, 1):
            with self.subTest(program=program, transport=transport), tempfile.TemporaryDirectory() as folder:
                self.program = Program(program, self.program.mpiexec, self.folder, self.time_limit)
                count = {"LD_PRELOAD": str(Path(self.paths[2]).resolve()), "RUEDA_TEST_COUNT": folder}
                record = self.trained(ranks, "--backend", "cuda", "--transport", transport, "--bucket-mb", "0.4",
                                      RUEDA_STANDIN_DEVICES=str(ranks), **count)  # fmt: skip
                self.assertEqual(len({rank["uuid"] for rank in record["ranks"]}), ranks)
                self.assertNotIn("ranks share", record["said"])
                self.assertSameBits(record, self.known_run(ranks, *SHARED, "--bucket-mb", "0.4"))
                buckets = record["all_reduce"]["bucket_bytes"]
                exchanges = sums * len(buckets) * 2 * (ranks - 1)
                floats = sums * sum(buckets) / 4 * 2 * (ranks - 1) / ranks
                for rank in range(ranks):
                    calls, sent, most_reduced = map(int, Path(folder, str(rank)).read_text().split()[:3])
                    self.assertEqual(calls, exchanges)
                    self.assertAlmostEqual(sent, floats, delta=exchanges)  # chunks differ by one
                    self.assertLess(most_reduced, 100)

    @long
    def test_auto_takes_the_gpu_if_there_is_one(self):
        record = self.trained(1, "--backend", "auto")
        self.assertEqual(record["ranks"][0]["device"], "stand-in (host memory, no GPU)")
        self.assertSameBits(record, self.known_run(1, *SHARED))
        without = self.trained(1, "--backend", "auto", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(without["ranks"][0]["backend"], "cpu")
        refused = self.start(1, "--backend", "cuda", CUDA_VISIBLE_DEVICES="")
        self.refused(refused, "--backend cuda: no CUDA device")

    def test_a_folder_for_plans_that_is_none(self):
        refused = self.start(1, "--backend", "cuda", "--plan-cache", "nowhere")
        self.refused(refused, "--plan-cache nowhere: No such file or directory", "make it first")
        (self.folder / "loop").symlink_to("loop")
        for folder, why in (("loop", "Too many levels of symbolic links"), ("x" * 5000, "File name too long")):
            refused = self.start(1, "--backend", "cuda", "--plan-cache", folder)
            self.refused(refused, "--plan-cache " + folder[:20], why, "make it first")
            self.assertLess(len(refused.messages[0]), 1000)


class Transport(StandInCase):
    # On the stand-in device memory is the host's, so that any MPI can read it.
    def test_staged_and_direct_end_with_the_same_bits(self):
        records = {
            word: self.known_run(3, *SHARED, "--transport", word) for word in ("staged", "device")
        }
        for word, record in records.items():
            self.assertEqual(record["all_reduce"]["transport"], word)
            self.assertNotIn("warning", record["said"])
        self.assertSameBits(*records.values())

    def test_auto_warns_once_where_it_has_to_stage(self):
        self.program.run_ranks(1, "doctor", "--json", "doctor.json")
        if self.read("doctor.json")["ranks"][0]["awareness"]["aware"]:
            self.skipTest("this MPI takes GPU memory, so that nothing is staged")
        record = self.known_run(3, *SHARED)
        self.assertEqual(record["all_reduce"]["transport"], "staged")
        self.assertEqual(record["said"].count(STAGING), 1, record["said"])
        self.assertNotIn(STAGING, self.known_run(1, *SHARED)["said"])

    @long
    def test_mpi_sums_device_memory_too(self):
        words = [*SHARED, "--all-reduce", "mpi", "--transport"]
        direct = self.trained(2, *words, "device")
        self.assertSameBits(direct, self.trained(2, *words, "staged"))
        self.assertNear(losses(direct)[:2], losses(self.known_run(2, *SHARED))[:2], 1e-5)


class Peers(StandInCase):
    """Ranks whose GPUs map each other's memory, which is the driver's."""

    def setUp(self):
        self.driver = {"RUEDA_STANDIN_DRIVER": str(Path(self.paths[3]).resolve())}

    @longer
    def test_they_have_the_bits_of_the_fixed_order(self):
        for ranks, words, env in part((
            (2, ["--bucket-mb", "0.4", "--overlap", "on"], DELAYS),
            (4, ["--precision", "bf16", "--overlap", "off"], {"RUEDA_STANDIN_DEVICES": "4"}),
        ), 1):
            fixed = [word for word in words if "overlap" not in word and word not in ("on", "off")]
            shared = self.trained(ranks, *SHARED, *words, "--all-reduce", "shared", **env, **self.driver)
            self.assertSameBits(shared, self.known_run(ranks, *FIXED, *fixed))
            self.assertEqual(shared["all_reduce"]["algorithm"], "shared")
            self.assertEqual(shared["all_reduce"]["transport"], "device")
            self.assertNotIn(STAGING, shared["said"])

    def test_one_rank_needs_no_peer(self):
        self.assertSameBits(self.trained(1, *SHARED, "--all-reduce", "shared"), self.known_run(1, *SHARED))

    def test_the_benchmark_has_them_and_auto_does_not_take_them(self):
        words = (*MEASURED, *SHARED, "--algorithms", "auto,shared", "--json", "a.json")
        self.completed(self.program.run_ranks(3, "bench", "all-reduce", *words, **self.driver))
        self.assertEqual([one["algorithm"] for one in self.read("a.json")["results"]], ["auto", "shared"] * len(SIZES))
        record = self.trained(2, *SHARED, "--all-reduce", "auto", **self.driver)
        self.assertNotIn("shared", record["all_reduce"]["algorithm"])

    def test_where_they_cannot_all_ranks_refuse(self):
        words = [*SHARED, "--all-reduce", "shared"]
        remedy = ("--gres", "give --all-reduce ring")
        self.refused(self.start(2, *words), "cannot share its own", "cudaErrorNotSupported", *remedy)
        for fault, said in (("open-fails", "cudaIpcOpenMemHandle failed: invalid argument"),
                            ("no-peer", "cudaErrorPeerAccessUnsupported"),
                            ("pool-memory", "cudaIpcGetMemHandle failed")):  # fmt: skip
            self.refused(self.start(3, *words, RUEDA_DRIVER_FAULT=fault, **self.driver), said, *remedy)


class Order(StandInCase):
    """With delays, whatever is not waited for is read too early."""

    def test_delays_change_no_bit(self):
        words = [*SHARED, "--transport", "device"]
        self.assertSameBits(self.trained(3, *words, **DELAYS), self.known_run(3, *words))

    def test_delays_change_no_bit_of_staged_micro_batches(self):
        """Two ranks of two micro-batches are four ranks without delays."""
        words = ["--transport", "staged", "--accumulate", "2"]
        slow = self.trained(2, *FIXED, "--precision", "fp32", *words, **DELAYS)
        self.assertSameBits(slow, self.known_run(4, *FIXED, "--precision", "fp32"))


class Faults(StandInCase):
    def test_faults_are_found(self):
        corrupt = ["--verify-messages", "RUEDA_INJECT=corrupt-message:1:2", "--transport"]
        corrupted = ("a message of gradients was corrupted", "step 2", "to rank 1")
        for words, parts in (
            (["RUEDA_INJECT=nan:1:2"], ("step 2", "rank 1")),
            (["RUEDA_INJECT=flip-bit:1:2", "--check-replicas", "step"], ("step 2", "rank 1")),
            ([*corrupt, "device"], corrupted),
            ([*corrupt, "staged"], corrupted),
        ):
            self.refused(self.start(2, *SHARED, *words), *parts, code=1)

    def test_check_sums_change_no_bit(self):
        checked = self.trained(2, *SHARED, "--all-reduce", "ring", "--verify-messages", **DELAYS)
        self.assertSameBits(checked, self.known_run(2, *SHARED))


class Weights(StandInCase):
    @long
    def test_weights_of_the_gpu_go_on_on_the_cpu(self):
        self.trained(2, *SHARED, "--save-weights", "gpu.safetensors")
        # A step so small that it changes no parameter.
        still = ["--init-weights", "gpu.safetensors", "--epochs", "1", "--lr", "1e-30"]
        still += ["--momentum", "0", "--weight-decay", "0"]
        cpu = self.trained(1, *still, "--backend", "cpu", "--save-weights", "cpu.safetensors")
        gpu = self.trained(1, *still, *SHARED, "--save-weights", "back.safetensors")
        self.assertNear(losses(gpu), losses(cpu), 1e-4)
        gpu, cpu = gpu["epochs"][0], cpu["epochs"][0]
        self.assertEqual(gpu["val_accuracy"], cpu["val_accuracy"])
        self.assertNear([gpu["val_loss"]], [cpu["val_loss"]], 1e-4)
        saved = self.parameters("gpu.safetensors")
        self.assertEqual(len(saved), 59)
        for name in ("cpu.safetensors", "back.safetensors"):
            self.assertEqual(self.parameters(name), saved, name)

    def parameters(self, name):
        """The bytes of every tensor that training changes by its gradient."""
        header, data = read_header(self.folder / name)
        trained = {key for key in header if key.endswith((".weight", ".bias"))}
        return {key: data[slice(*header[key]["data_offsets"])] for key in trained}


class Engines(StandInCase):
    """Those of the stand-in that use tensor cores are compiled at run time."""

    def compilations(self, ranks, contexts, *words):
        """By rank, how many plans it compiled, and how the run ended. `contexts`: what the environment of single ranks
        has besides, by rank."""
        command = []
        with tempfile.TemporaryDirectory() as folder:
            run_dir = f"run-{Path(folder).name}"
            for rank in range(ranks):
                (Path(folder) / str(rank)).mkdir()
                changes = {"RUEDA_STANDIN_COUNTERS": f"{folder}/{rank}", **contexts.get(rank, {})}
                command += [":"] * (rank > 0) + ["-n", "1"]
                command += [word for name, value in changes.items() for word in ("-x", f"{name}={value}")]
                command += [self.program.binary, "train", *SMALL, *SHARED, *words, "--run-dir", run_dir]
            result = self.program.launch("--bind-to", "none", *command)
            texts = [next((Path(folder) / str(rank)).iterdir()).read_text("utf-8") for rank in range(ranks)]
        return [int(text.split("compilations ")[1]) for text in texts], result, run_dir

    def test_an_engine_that_does_not_run_gives_way_to_the_next(self):
        """In each of the three directions, or the run would end."""
        words = [*SHARED, "--precision", "tf32"]
        record = self.trained(1, *words, RUEDA_STANDIN_NO_RUN="0")
        self.assertSameBits(record, self.known_run(1, *words))
        self.assertIn("engines of cuDNN do not compile or run; others are used", record["said"])
        self.assertIn('eng0{k2=1} for "forward', record["said"])

    @longer
    def test_ranks_compile_each_plan_once(self):
        """Each a part. They get as many images, so that all want the same plans."""
        words = ("--precision", "tf32", "--data-limit", "24", "--epochs", "1", "--eval-every", "0")
        alone, _, run_dir = self.compilations(3, {rank: {"RUEDA_SHARE_PLANS": "0"} for rank in range(3)}, *words)
        expected, plans = self.program.record(run_dir), alone[0]
        self.assertEqual(alone, [plans] * 3)
        self.assertGreater(plans, 10)
        shared, result, run_dir = self.compilations(3, {}, *words)
        self.completed(result)
        self.assertEqual(sum(shared), plans)
        self.assertLessEqual(max(shared) - min(shared), 1)
        self.assertSameBits(self.program.record(run_dir), expected)
        if not LONG:
            return
        with self.subTest("a rank to which cuDNN refuses the others' plans compiles all"):
            some, result, run_dir = self.compilations(3, {1: {"RUEDA_STANDIN_NO_RESTORE": "1"}}, *words)
            self.completed(result)
            self.assertEqual(some, [shared[0], plans, shared[2]])
            self.assertSameBits(self.program.record(run_dir), expected)
        with self.subTest("where a rank cannot compile its part, the others compile that too"):
            some, result, _ = self.compilations(3, {1: {"RUEDA_STANDIN_NO_COMPILE": "0"}}, *words)
            self.completed(result)
            self.assertEqual(some, [shared[0] + shared[1], shared[1], shared[2] + shared[1]])
        with self.subTest("a rank that fails leaves none waiting"):
            _, result, _ = self.compilations(3, {1: {"RUEDA_STANDIN_NO_COMPILE": "9"}}, *words)
            self.refused(result, "rank 1", "cuDNN has no engine", code=1)

    @long
    def test_statistics_in_an_epilogue_are_timed_against_a_pass_of_their_own(self):
        words = ["--model", "resnet50v2", "--precision", "bf16", "--data-limit", "2", "--global-batch", "2"]
        words += [*SHARED, "--epochs", "1", "--eval-every", "0", "--tuning-file", "t.json"]
        self.trained(1, *words, "--tune-engines")
        tuning = self.read("t.json")
        suffix = " + statistics"
        summed = [key for key in tuning["seconds"] if key.endswith(suffix)]
        adding = [key for key in summed if " + bias" in key or " + residual" in key]
        self.assertEqual((len(summed), len(adding)), (20, 5))  # by shape, at this size
        for key in summed:
            with self.subTest(key=key):
                seconds = tuning["seconds"][key]
                self.assertIn(tuning["engines"][key], seconds)
                self.assertIn("unfused", seconds)
                self.assertIn(key.removesuffix(suffix), tuning["seconds"])  # what it was compared with
        self.trained(1, *words)

    def test_a_tuned_run_takes_statistics_in_the_epilogue_of_any_convolution(self):
        """Those of ResNet-20 have no bias: without a tuning file none takes them."""
        words = [*SHARED, "--precision", "bf16", "--epochs", "1", "--eval-every", "0"]
        self.trained(1, *words, "--tuning-file", "any.json", "--tune-engines")
        tuning = self.read("any.json")
        summed = [key for key in tuning["seconds"] if key.endswith(" + statistics")]
        self.assertGreater(len(summed), 3)  # by shape
        for key in summed:
            self.assertIn("unfused", tuning["seconds"][key])
            self.assertEqual(tuning["seconds"][key].keys(), tuning["launches"][key].keys())
        runs = {}
        for engine in ("unfused", "eng0{k2=1}"):
            chosen = {key: engine if key in summed else "eng0{k2=1}" for key in tuning["engines"]}
            self.write("any.json", json.dumps({**tuning, "engines": chosen}))
            runs[engine] = self.trained(1, *words, "--tuning-file", "any.json")
            repeatable = self.trained(1, *words, "--tuning-file", "any.json", "--deterministic")
            runs[engine, "repeatable"] = repeatable
        self.assertNear(losses(runs["eng0{k2=1}"]), losses(runs["unfused"]), 0.01)
        self.assertNotEqual(runs["eng0{k2=1}"]["epochs"][0]["parameter_hash"],
                            runs["unfused"]["epochs"][0]["parameter_hash"])  # plain sums, without a pivot
        self.assertSameBits(runs["eng0{k2=1}", "repeatable"], runs["unfused"])
        self.assertSameBits(runs["unfused", "repeatable"], runs["unfused"])

    def test_a_tuning_run_that_ends_early_leaves_what_it_measured(self):
        """Memory is short for the last layers, whose weights are large. What the device reports is more."""
        words = [*SHARED, "--tune-engines", "--tuning-file"]
        self.trained(1, *words, "whole.json")
        result = self.start(1, *words, "part.json", RUEDA_STANDIN_CLAIMED="100000000", RUEDA_STANDIN_MEMORY="150000")
        self.refused(result, "out of memory", code=1)
        whole, part = self.read("whole.json"), self.read("part.json")
        self.assertLess(0, len(part["engines"]))
        self.assertLess(part["engines"].keys(), whole["engines"].keys())
        self.assertLess(part["seconds"].keys(), whole["seconds"].keys())


class DeviceMemory(StandInCase):
    def counters(self, *words):
        """What each rank of a run on two made of its device memory."""
        with tempfile.TemporaryDirectory() as folder:
            self.trained(2, *SHARED, *words, RUEDA_STANDIN_COUNTERS=folder)
            texts = [path.read_text(encoding="utf-8") for path in Path(folder).iterdir()]
        return [{line.split()[0]: int(line.split()[1]) for line in text.splitlines()} for text in texts]

    def test_no_step_allocates(self):
        short = self.counters("--epochs", "1")
        long = self.counters("--epochs", "3")
        self.assertEqual(len(short), 2)
        for what in ("allocations", "peak_bytes"):
            self.assertEqual({rank[what] for rank in long}, {rank[what] for rank in short})
        for rank in short + long:
            self.assertGreater(rank["allocations"], 0)
            self.assertEqual((rank["overruns"], rank["bytes_in_use"]), (0, 0), rank)


class Bench(ProgramCase):
    time_limit = 200

    def run_bench(self, ranks, *words, **env):
        return self.program.run_ranks(ranks, "bench", "all-reduce", *words, **env)

    def test_device_memory(self):
        for ranks, transport in ((2, "device"), (3, "staged")):
            words = (*MEASURED, *SHARED, "--transport", transport, "--algorithms", ",".join(NAMES), "--json", "a.json")
            result = self.completed(self.run_bench(ranks, *words, RUEDA_STANDIN_DELAY_US="1"))
            self.assertIn("note: ranks share a GPU", result.err)
            record = self.read("a.json")
            self.assertEqual((record["backend"], record["transport"]), ("cuda", transport))
            self.assertEqual(record["device"], "stand-in (host memory, no GPU)")
            rows = [(one["bytes"], one["algorithm"]) for one in record["results"]]
            self.assertEqual(rows, [(size, name) for size in SIZES for name in NAMES])

    def test_refusals(self):
        self.refused(self.run_bench(2, "--backend", "cuda"), "ranks 0 and 1 on GPU-")
        nothing = self.program.run("bench", "all-reduce", *SHARED, "--transport", "auto", CUDA_VISIBLE_DEVICES="")
        self.refused(nothing, "no CUDA device")


class Doctor(ProgramCase):
    def examine(self, *words, code=0, gpus=2, **env):
        result = self.program.run_ranks(2, "doctor", "--json", "doctor.json", *words,
                                        RUEDA_STANDIN_DEVICES=str(gpus), **env)
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
            self.assertGreater(transfer["two_copies_gb_per_second"], 0)
        self.assertIn("GPU memory to the right neighbour", result.out)

    @long
    def test_ranks_on_one_gpu_are_told(self):
        _, report = self.examine(gpus=1, code=1)
        self.assertFalse(report["works"])
        fault = next(f for f in report["findings"] if "share one GPU" in f["what"])
        self.assertIn("--allow-shared-gpu", fault["change"])

    def test_a_crash_that_training_survives_is_no_fault(self):
        # The code is mpirun's own, for a process that is gone.
        result, report = self.examine(code=1, RUEDA_DOCTOR_FAULT="crash-transfer:1")
        if report["ranks"][0]["awareness"]["aware"]:
            self.skipTest("this MPI takes GPU memory, so that a crash is a fault")
        self.assertTrue(report["works"], result)
        self.assertEqual(report["transfers"][1]["end"], "crashed")
        self.assertIn("MPI is not CUDA-aware", " ".join(result.out.split()))


if __name__ == "__main__":
    main(4)
