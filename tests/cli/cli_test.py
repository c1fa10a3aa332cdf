#!/usr/bin/env python3
"""The rueda program as its users meet it: options, refusals, exit codes, output, run.json.

usage: cli_test.py RUEDA MPIEXEC
"""

import os
import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from rueda_runs import SMALL, ProgramCase, environment, main, needs_bf16


class Usage(ProgramCase):
    def test_help_of_the_program_names_the_commands(self):
        text = self.completed(self.program.run("--help")).out
        for command in ("train", "evaluate", "summary", "synth", "doctor", "bench", "predict", "report"):
            self.assertRegex(text, rf"(?m)^  {command} ")

    def test_without_a_command_comes_the_help_and_an_error(self):
        done = self.program.run()
        self.refused(done, "a command is missing", "see rueda --help")
        self.assertEqual(done.out, "")
        self.assertTrue(done.err.startswith(self.completed(self.program.run("--help")).out), done.err)
        below = self.program.run_ranks(2)
        self.refused(below, "a command is missing")
        self.assertEqual(below.err.count("Subcommands:"), 1)

    def test_help_as_a_command(self):
        for words in ((), ("train",), ("report",), ("bench", "all-reduce")):
            with self.subTest(words=words):
                self.assertEqual(self.completed(self.program.run("help", *words)).out,
                                 self.completed(self.program.run(*words, "--help")).out)

    def test_help_comes_once_below_a_launcher(self):
        text = self.completed(self.program.run_ranks(2, "train", "--help")).out
        self.assertEqual(text.count("--batch-per-rank N"), 1)

    def test_version_names_the_libraries(self):
        text = self.completed(self.program.run("--version")).out
        self.assertRegex(text, r"^rueda \d+\.\d+\.\d+")
        self.assertIn("MPI", text)
        self.assertIn("oneDNN", text)

    def test_what_has_no_effect_is_told(self):
        words = ("train", *SMALL, "--run-dir", "fresh", "--overwrite", "--data-limit", "5000")
        out = " ".join(self.completed(self.program.run(*words, "--trace-steps", "3")).err.split())
        self.assertIn("--overwrite has nothing to replace: fresh holds no run", out)
        self.assertIn("--data-limit 5000 is more than the 200 training images: all are used", out)
        self.assertIn("--trace-steps has no effect without --trace", out)
        again = self.completed(self.program.run(*words)).said
        self.assertNotIn("nothing to replace", again)

    def test_half_an_environment_of_a_launcher_ends_nothing(self):
        """With fewer cores than its parent, as Open MPI binds a rank."""
        names = ("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")
        core = min(os.sched_getaffinity(0))
        for values in (("2", None, None), ("2", "2", None), ("2", "x", "1"), ("x", "2", "1"), ("2", "2", "9" * 30)):
            given = {name: value for name, value in zip(names, values) if value is not None}
            done = subprocess.run(
                ["sh", "-c", 'taskset -c "$1" "$2" --version; exit $?', "sh", str(core), self.program.binary],
                env=environment({"OMPI_COMMAND": "rueda", **given}), capture_output=True, text=True, check=False,
            )  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""), values)

    def test_starts_without_cublas(self):
        """Loading it takes longer than all else that a start does: it waits until a GPU trains."""
        self.assertNotIn("libcublas", self.completed(self.program.run("doctor", "--help", LD_DEBUG="files")).err)

    def test_what_the_command_line_refuses(self):
        """One of them: tests/unit/cli/refusals_test.cpp has the others."""
        self.refused(self.program.run("train", "--foo", "3"), "--foo", "rueda train --help")

    def test_an_unknown_word_is_refused_alike_by_every_option(self):
        """Of each option whose help lists its words; --help-all has them all."""
        found = 0
        commands = ("train", "evaluate", "synth", "summary", "report", "predict", "bench all-reduce", "bench explain")
        for command in commands:
            words = command.split()
            text = self.completed(self.program.run(*words, "--help-all" if command == "train" else "--help")).out
            for option in re.findall(r"^  (--[a-z-]+) [a-z0-9-]+(?:\|[a-z0-9-]+)+(?: |$)", text, re.M):
                found += 1
                with self.subTest(command=command, option=option):
                    refused = self.program.run(*words, option, "xyzzy")
                    self.refused(refused, f"{option}: 'xyzzy' is not known", f"rueda {command} --help")
        self.assertGreater(found, 20)

    def test_the_bar_lives_while_it_evaluates(self):
        words = ("train", *SMALL, "--eval-every", "1", "--progress", "bar")
        out = self.completed(self.program.run_ranks(2, *words)).out
        self.assertRegex(out, r"Epoch 1/1 \[[=>]+ *\] evaluating +0/\d+")

    def test_images_that_are_there_twice_are_told_at_the_start(self):
        shutil.copytree(self.path("data"), self.path("twice"))
        shutil.copy(self.path("twice/data_batch_1.bin"), self.path("twice/data_batch_2.bin"))
        words = "training files have the same images"
        out = self.completed(self.program.run_ranks(2, "train", *SMALL, "--data", "twice", "--run-dir", "t")).said
        self.assertEqual(out.count(f"warning: {words}"), 1, out)
        out = " ".join(self.program.run("doctor", "--data", "twice").out.split())
        self.assertIn(f"remark data: {words}", out)

    def test_an_unknown_option_is_reported_once_below_a_launcher(self):
        self.refused(self.program.run_ranks(3, "train", "--foo"), "--foo")


class Recipes(ProgramCase):
    def test_a_faulty_line_is_named(self):
        name = self.write("bad.toml", '# fine\nmodel "resnet20"\n')
        self.refused(self.program.run("train", "--config", name), name, "line 2")

    def test_recipe_equals_command_line(self):
        recipe = "[train]  # as on the command line\n"
        words = []
        values = {"data-limit": 96, "batch-per-rank": 32, "lr": 0.05, "seed": 5, "eval-every": 0}
        for name, value in {**values, "data": "data", "augment": "standard", "epochs": 1}.items():
            recipe += f'{name} = "{value}"\n' if isinstance(value, str) else f"{name} = {value}\n"
            words += [f"--{name}", str(value)]
        words.append("--nesterov")
        name = self.write("good.toml", recipe + "nesterov = true\n")
        rest = ("--threads", "1", "--run-dir")
        self.completed(self.program.run("train", "--config", name, *rest, "by-recipe"))
        self.completed(self.program.run("train", *words, *rest, "by-words"))
        printed = self.completed(self.program.run("train", *words, "--threads", "1", "--print-config")).out
        self.completed(self.program.run("train", "--config", self.write("p.toml", printed), "--run-dir", "by-print"))
        records = [self.program.record(run) for run in ("by-recipe", "by-words", "by-print")]
        for record in records:
            del record["config"]["run-dir"]
            self.assertEqual(record["config"], records[0]["config"])
            for key in ("loss", "parameter_hash"):
                self.assertEqual(record["epochs"][0][key], records[0]["epochs"][0][key])


class OtherCommands(ProgramCase):
    def total(self, model):
        """Trainable parameters in the summary of a model."""
        text = self.completed(self.program.run("summary", "--model", model)).out
        found = re.findall(r"(?im)^\s*trainable\D*([\d,.' ]+\d)", text)
        self.assertEqual(len(found), 1, text)
        return int(re.sub(r"\D", "", found[0]))

    def test_summary_totals(self):
        self.assertEqual(self.total("resnet18"), 11_173_962)
        self.assertEqual(self.total("resnet20"), 269_722)

    def test_the_roofline_of_a_gpu_that_is_not_here(self):
        words = ("summary", "--model", "resnet50v2", "--image-size", "128", "--batch-per-rank", "1024", "--roofline")
        text = self.completed(self.program.run(*words, "H200", "--precision", "bf16")).out
        floor, plan = map(int, re.search(r"(\d+) images/s at the floor, (\d+) by the plan", text).groups())
        self.assertAlmostEqual(floor, 44_400, delta=900)  # counted apart from the program
        self.assertTrue(33_000 < plan < 35_000, text)
        own = self.completed(self.program.run(*words, "790e12,4.3e12", "--precision", "bf16")).out
        self.assertEqual(own.replace("790e12,4.3e12", "H200"), text)

    def bytes_below(self, name):
        files = sorted((self.folder / name).iterdir())
        return [(file.name, file.read_bytes()) for file in files]

    def test_synth_is_deterministic_in_both_formats(self):
        for form in ("bin", "py"):
            size = ("--format", form, "--train", "30", "--test", "10")
            for name in ("once", "again"):
                self.completed(self.program.run("synth", "--out", f"{name}-{form}", *size))
            once = self.bytes_below(f"once-{form}")
            self.assertGreaterEqual(len(once), 6)
            self.assertEqual(once, self.bytes_below(f"again-{form}"))

    def test_synth_replaces_another_data_set_only_when_asked(self):
        base = ("synth", "--out", "mine", "--train", "20", "--test", "10", "--seed")
        self.completed(self.program.run(*base, "1"))
        before = self.bytes_below("mine")
        self.assertIn("already", self.completed(self.program.run(*base, "1")).out)
        self.refused(self.program.run(*base, "2"), "mine", "--overwrite")
        self.assertEqual(self.bytes_below("mine"), before)
        self.completed(self.program.run(*base, "2", "--overwrite"))
        self.assertNotEqual(self.bytes_below("mine"), before)


class Refusals(ProgramCase):
    def train(self, *arguments, ranks=1, **env):
        return self.program.run_on(ranks, "train", *SMALL, *arguments, **env)

    def test_what_is_refused_before_there_is_a_run(self):
        """In tests/unit/run/refusals_of_ranks_test.cpp ranks are threads, and refuse such things alike."""
        self.write("plain-file", "")
        shutil.copytree(self.folder / "data", self.folder / "damaged")
        with open(self.folder / "damaged" / "data_batch_3.bin", "r+b") as file:
            file.truncate(5000)
        for words, *shown in (
            (["--data", "nowhere"], "nowhere"),
            (["--data", "damaged"], "data_batch_3.bin"),
            (["--data", "/dev/zero"], "/dev/zero"),
            (["--run-dir", "plain-file/run"], "plain-file/run"),
            (["RUEDA_INJECT=nan:1:1"], "RUEDA_INJECT", "rank 1"),
            (["--backend", "timed", "--compute", "from=no.json"], "--compute from=no.json", "cannot be opened"),
            (["--backend", "cpu", "--transport", "staged"], "--transport staged", "needs no staging", "auto"),
            (["--transport", "device"], "--transport device", "needs no staging", "auto"),
        ):
            with self.subTest(words=words):
                self.refused(self.train("--run-dir", "not-made", *words, CUDA_VISIBLE_DEVICES=""), *shown)
                self.assertFalse((self.folder / "not-made").exists())

    def test_a_job_of_more_ranks_than_images_is_refused_once(self):
        """All ranks find it out while they plan."""
        self.refused(self.train("--data-limit", "2", ranks=3), "has 2 images, fewer than the 3 parts",
                     "start fewer ranks")

    def test_lost_output_is_a_failure(self):
        for words in (["summary"], ["train", *SMALL, "--run-dir", "full"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([self.program.binary, *words], cwd=self.folder, env=environment({}), stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("the output could not be written", done.stderr)

    def test_existing_run_is_kept_unless_asked(self):
        self.completed(self.train("--run-dir", "kept"))
        before = (self.folder / "kept" / "run.json").read_bytes()
        self.refused(self.train("--run-dir", "kept"), "kept", "--overwrite")
        self.assertEqual((self.folder / "kept" / "run.json").read_bytes(), before)
        self.completed(self.train("--run-dir", "kept", "--overwrite"))

    def test_cuda_without_a_device(self):
        self.refused(self.train("--backend", "cuda", CUDA_VISIBLE_DEVICES=""), "--backend")

    def test_bf16_on_a_processor_without_it(self):
        without = {"ONEDNN_MAX_CPU_ISA": "AVX2"}
        words = ("--precision bf16", "AVX-512", "--precision fp32")
        self.refused(self.train("--precision", "bf16", **without), *words)
        summary = ("summary", "--model", "resnet20", "--precision", "bf16")
        self.refused(self.program.run(*summary, **without), *words)

    def test_a_process_of_a_larger_job_that_finds_itself_alone(self):
        launchers = {"SLURM_STEP_NUM_TASKS": "SLURM_PROCID", "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK"}
        launchers["WORLD_SIZE"] = "RANK"  # torchrun
        for size, rank in launchers.items():
            self.refused(self.train(**{size: "4", rank: "0"}), size, "4")

    def test_a_faulty_command_line_of_one_rank(self):
        good = ["train", *SMALL]
        result = self.program.run_contexts([(1, good), (1, [*good, "--bogus"])])
        self.refused(result, "rank 1", "--bogus")

    def test_ranks_with_different_data(self):
        for side, images in (("left", "100"), ("right", "200")):
            (self.folder / side).mkdir()
            made = self.program.run("synth", "--out", f"{side}/set", "--train", images, "--test", "20")
            self.assertEqual(made.code, 0, made)
        context = ["train", *SMALL, "--data", "set"]
        result = self.program.run_contexts(
            [(1, context), (1, context)], folders=[self.folder / "left", self.folder / "right"]
        )
        self.refused(result, "data set differs", "100", "128", "rank 1")

    def test_ranks_with_different_configurations(self):
        common = ("train", *SMALL, "--seed")
        result = self.program.run_contexts([(1, (*common, "1")), (1, (*common, "2"))])
        self.refused(result, "seed")

    def test_nan_loss_stops_with_step_and_rank(self):
        result = self.train("RUEDA_INJECT=nan:1:2", ranks=2)
        self.refused(result, "step 2", "rank 1", code=1)

    def test_flipped_bit_stops_with_tensor_element_and_rank(self):
        result = self.train("RUEDA_INJECT=flip-bit:1:2", "--check-replicas", "step", ranks=2)
        self.refused(result, "element", "rank 1", code=1)
        self.assertRegex(result.messages[0], r"\w\.(weight|bias)\b")


class Binding(ProgramCase):
    def train(self, *launch, **env):
        """The cores of each rank, and whether the start block has the words of rueda's own binding."""
        words = ("train", *SMALL, "--overwrite", "--run-dir", "bound")
        result = self.completed(self.program.launch(*launch, self.program.binary, *words, **env))
        said = "on its share of its host's cores, not on Open MPI's default" in " ".join(result.out.split())
        return [rank["cores"] for rank in self.program.record("bound")["ranks"]], said

    def setUp(self):
        self.cores = len(os.sched_getaffinity(0))
        if self.cores < 2 or "Open MPI" not in self.program.run("--version").out:
            self.skipTest("needs two cores and Open MPI")

    def test_the_default_binding_gives_way_to_shares(self):
        self.assertEqual(self.train("-n", "1"), ([self.cores], True))
        shares, said = self.train("-n", "2")
        self.assertTrue(said)
        self.assertEqual(sum(shares), self.cores)

    def test_ranks_have_the_name_of_the_program(self):
        """Also where it has started itself anew, by way of /proc/self/exe."""
        words = ("train", *SMALL, "--epochs", "1000", "--overwrite", "--run-dir", "named")
        command = [self.program.mpiexec, "-n", "1", self.program.binary, *words]
        wanted = [Path(self.program.binary).name[:15]]
        with subprocess.Popen(command, cwd=self.folder, env=environment({}), stdout=subprocess.DEVNULL) as run:
            end = time.monotonic() + self.program.time_limit
            # A process is called "exe" until its libraries are loaded.
            while (names := self.names_of_bound_ranks()) != wanted and run.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            run.terminate()
        self.assertEqual(names, wanted)

    def names_of_bound_ranks(self):
        """Of processes of this test that rueda bound itself."""
        names = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                variables = (process / "environ").read_bytes().split(b"\0")
                if b"RUEDA_BINDING=share" in variables and (process / "cwd").samefile(self.folder):
                    names.append((process / "comm").read_text(encoding="utf-8").strip())
            except OSError:
                continue
        return names

    def test_variables_that_a_job_left_in_the_shell(self):
        """Some of a launcher's variables without the others start no share of cores, and do not crash."""
        left = {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMMAND": "rueda"}
        for more in ({}, {"OMPI_COMM_WORLD_SIZE": "2"}):
            core = ("taskset", "-c", str(max(os.sched_getaffinity(0))))
            process = subprocess.run((*core, self.program.binary, "--version"), env={**os.environ, **left, **more},
                                     check=False, capture_output=True)
            self.assertEqual(process.returncode, 0)

    def test_a_binding_that_was_asked_for_stays(self):
        taskset = ("taskset", "-c", str(max(os.sched_getaffinity(0))))
        for name, setting in (("openmpi", "hwloc_base_binding_policy"), ("prte", "hwloc_default_binding_policy")):
            file = self.folder / "home" / f".{name}" / "mca-params.conf"
            file.parent.mkdir(parents=True)
            file.write_text(f"{setting} = core\n", encoding="utf-8")
        in_a_file = {"HOME": str(self.folder / "home")}
        alone = ("-n", "1")
        for words, env in ((("--bind-to", "core", *alone), {}), ((*alone, *taskset), {}), (alone, in_a_file)):
            (cores,), said = self.train(*words, **env)
            self.assertLess(cores, self.cores)
            self.assertFalse(said)


class Output(ProgramCase):
    def test_output_in_a_file_is_plain_lines(self):
        words = ("train", *SMALL, "--epochs", "2", "--run-dir", "plain")
        out = self.completed(self.program.run_ranks(2, *words)).out
        self.assertNotRegex(out, r"[^\n\x20-\U0010ffff]")
        for epoch in (1, 2):
            self.assertRegex(out, rf"(?m)^Epoch {epoch}/2 - 4/4 - .* images/s \(.* per rank\)$")

    def test_the_last_screen_of_a_run(self):
        """It fits 24 lines of 80 columns with the prompt. On a disturbed machine a gap is told too."""
        words = ("train", *SMALL, "--data-limit", "200", "--epochs", "2", "--eval-every", "1", "--all-reduce", "auto")
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                out = self.completed(self.program.run_ranks(ranks, *words, "--run-dir", f"screen-{ranks}")).out
                screen = out[out.index("\nTime of a full step of ") + 1 :]
                for part in ("(partial step ", "evaluation", "noise scale", f"screen-{ranks}/weights.safetensors"):
                    self.assertIn(part, screen)
                self.assertEqual("load balance" in screen, ranks > 1)
                lines = re.sub(r"(?m)^  longest gap .*\n(?: {17}.*\n)*", "", screen).splitlines()
                self.assertLessEqual(len(lines), 23, screen)
                self.assertLessEqual(max(map(len, lines)), 80, screen)

    def test_the_log_has_levels_and_a_file_of_each_rank(self):
        crowded = ("--threads", str(os.cpu_count() + 1), "--data-limit", "32")  # gives a note
        words = ("train", *SMALL, *crowded, "--overwrite", "--run-dir", "logged")
        patient = {"OMP_WAIT_POLICY": "passive"}  # of threads without a core
        quiet = self.completed(self.program.run_ranks(2, *words, "--log-level", "warn", **patient)).said
        self.assertNotIn("note:", quiet)
        logs = ("--log-level", "debug", "--log-dir", "logs/here")
        told = self.completed(self.program.run_ranks(2, *words, *logs, **patient))
        self.assertRegex(told.err, r"(?m)^note: rank 0: ")
        self.assertNotIn("note:", told.out)
        for rank in (0, 1):
            text = (self.folder / "logs" / "here" / f"rank-{rank}.log").read_text(encoding="utf-8")
            for line in ("debug: start-up: data took", "debug: epoch 1 ended", f"info: rank {rank}: "):
                self.assertRegex(text, rf"(?m)^\d{{4}}-\d\d-\d\d [\d:.]+ rank-{rank} {line}")
        refusal = self.program.run(*words, "--log-dir", "data/data_batch_1.bin")
        self.refused(refusal, "--log-dir data/data_batch_1.bin")

    @needs_bf16
    def test_bf16_trains(self):
        words = ("train", *SMALL, "--precision", "bf16", "--epochs", "3")
        out = self.completed(self.program.run_ranks(2, *words, "--run-dir", "bf16")).out
        self.assertRegex(out, r"\bbf16\b")
        record = self.program.record("bf16")
        self.assertEqual(record["config"]["precision"], "bf16")
        losses = [epoch["loss"] for epoch in record["epochs"]]
        self.assertLess(losses[-1], losses[0])

    def test_the_timed_backend_waits_and_says_so(self):
        words = ("train", *SMALL, "--backend", "timed", "--check-replicas", "step")
        given = ("--compute", "20", "--run-dir", "timed")
        out = self.completed(self.program.run_ranks(3, *words, *given)).out
        self.assertEqual(out.count("NOTHING IS COMPUTED"), 2)
        self.assertRegex(out, r"(?m)^Epoch 1/1 - 3/3 .*timed, nothing computed")
        record = self.program.record("timed")
        self.assertEqual([rank["backend"] for rank in record["ranks"]], ["timed"] * 3)
        self.assertEqual(record["timed"]["images"], 16)
        self.assertIsNone(record["epochs"][0]["loss"])
        phases = record["summary"]["steady_full_step"]["phases"]
        # The means of the ranks: one may be late in the one phase, another in the other.
        self.assertGreaterEqual(phases["forward"]["mean"] + phases["backward"]["mean"], 0.02)

    def test_the_timed_backend_takes_the_time_of_a_run(self):
        computed = self.trained(0, *SMALL)
        recorded = f"{computed['run_dir']}/run.json"
        timed = self.trained(2, *SMALL, "--backend", "timed", "--compute", f"from={recorded}")["timed"]
        self.assertEqual(timed["recorded_in"], recorded)
        steps = [sum(float(row[phase]) for phase in ("forward", "loss", "backward")) for row in computed["steps"]]
        self.assertEqual(len(steps), 8)
        self.assertAlmostEqual(timed["seconds"], statistics.median(steps))


if __name__ == "__main__":
    main()
