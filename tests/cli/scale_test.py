#!/usr/bin/env python3
"""jobs/scale.sh: what it plans, runs, repeats, skips and refuses; with a fake rueda, and once with rueda
itself.

usage: scale_test.py RUEDA
"""

import ast
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from rueda_runs import ProgramCase, environment, main

ROOT = Path(__file__).resolve().parents[2]
SCALE = ROOT / "jobs" / "scale.sh"
TIME_LIMIT = 40  # seconds

# Plays rueda train and rueda report. Every training is a line in calls; batches of FAKE_FULL and more
# do not fit, FAKE_FAIL names a network that fails, and FAKE_HANG one that does not end.
FAKE = r"""#!/usr/bin/env bash
if [ "$1" = summary ]; then
  [[ resnet20,resnet18,resnet50v2,resnet101v2,resnet152v2 == *$3* ]] && exit 0
  echo "rueda: --model '$3' is not known: give one of resnet20, resnet18" >&2
  exit 2
fi
if [ "$1" = report ]; then
  echo "$*" >>"$FAKE_CALLS.report"
  exit "${FAKE_REPORT_CODE:-0}"
fi
words=("$@")
for ((i = 0; i < $#; i++)); do
  case ${words[i]} in
    --model) model=${words[i + 1]} ;;
    --batch-per-rank | --global-batch) batch=${words[i + 1]} ;;
    --run-dir) directory=${words[i + 1]} ;;
  esac
done
basename "$directory" >>"$FAKE_CALLS"
if [ "$batch" -ge "${FAKE_FULL:-999999}" ]; then
  echo "rueda: out of memory: too much; the largest batch that fits is 96: give less" >&2
  exit 2
fi
if [ "$model" = "${FAKE_FAIL:-}" ]; then
  echo "rueda: the loss is NaN" >&2
  exit 1
fi
if [ "$model" = "${FAKE_HANG:-}" ]; then
  echo $$ >"$FAKE_CALLS.pid"
  exec sleep 300
fi
mkdir -p "$directory"
cat >"$directory/run.json" <<END
{"outcome": "completed", "data": {"train_images": 1000},
 "summary": {"steady_images_per_second": 812.4}}
END
"""

# Starts the program once, whatever the number of ranks.
LAUNCHER = """#!/usr/bin/env bash
while [ "$(basename "$1")" != rueda ]; do shift; done
exec "$@"
"""


class ScaleCase(unittest.TestCase):
    """A folder with a launcher and a program that only play."""

    two = ("--models", "resnet20,resnet18", "--recipe", "none", "--batch-per-rank", "8")

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-scale-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.out = self.folder / "study"
        (self.folder / "bin").mkdir()
        self.add_programs(rueda=FAKE, mpirun=LAUNCHER)

    def add_programs(self, **texts):
        for name, text in texts.items():
            (self.folder / "bin" / name).write_text(text, encoding="utf-8")
            (self.folder / "bin" / name).chmod(0o755)

    def environment(self, changes):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        fake = {"PATH": path, "FAKE_CALLS": str(self.folder / "calls")}
        return environment({**fake, "RUEDA": str(self.folder / "bin" / "rueda"), **changes})

    def scale(self, *words, code=0, **changes):
        """What it printed; its errors are in self.errors."""
        done = subprocess.run(
            [SCALE, *words], cwd=self.folder, env=self.environment(changes), text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, code, done)
        self.errors = done.stderr
        return done.stdout

    def calls(self):
        """Names of the runs since the last time it was asked."""
        calls = self.folder / "calls"
        names = calls.read_text(encoding="utf-8").split() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return names

    def attempt(self, name):
        return json.loads((self.out / "runs" / name / "attempt.json").read_text(encoding="utf-8"))

    def hanging(self, *words, ignored=(), **changes):
        """A study that has begun to train resnet18, which does not end, and the process that trains."""

        def prepare():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        process = subprocess.Popen(
            [SCALE, *(words or self.two)], cwd=self.folder, env=self.environment({"FAKE_HANG": "resnet18", **changes}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=prepare,
        )  # fmt: skip
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        pid = self.folder / "calls.pid"
        while not (pid.exists() and pid.read_text(encoding="utf-8").endswith("\n")):
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        training = int(pid.read_text(encoding="utf-8"))
        pid.unlink()
        self.addCleanup(subprocess.run, ["kill", str(training)], stderr=subprocess.DEVNULL, check=False)
        return process, training

    def assert_ended(self, pid):
        deadline = time.monotonic() + TIME_LIMIT
        while Path(f"/proc/{pid}").exists() and ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8"):
            self.assertLess(time.monotonic(), deadline, "the training is left")
            time.sleep(0.02)


class PlanTest(ScaleCase):
    def commands(self, *words):
        lines = self.scale("--dry-run", *words).splitlines()
        self.assertEqual(self.calls(), [])
        return [line for line in lines if line.startswith("mpirun")]

    def test_courses_share_their_runs(self):
        book, miri = self.commands("book"), self.commands("sa-miri")
        self.assertEqual(len(book), 2 * 3 * 3)  # networks, ranks, repeats
        self.assertEqual(self.commands("lab5"), book)
        self.assertLess(set(book), set(miri))  # the same directories, so that one study serves both

    def test_sa_miri(self):
        commands = self.commands("sa-miri")
        self.assertEqual(len(commands), 3 * 3 * 3)
        for line, ranks in zip(commands[3:6], [1, 2, 4]):
            self.assertIn(f"mpirun -n {ranks} ", line)
            self.assertIn("/book-resnet101v2.toml --model resnet101v2 --batch-per-rank 1024 ", line)
        self.assertIn("--model resnet50v2 --batch-per-rank 2048 ", commands[0])

    def test_nyu_has_batches_per_rank_and_global_ones_each_once(self):
        commands = self.commands("nyu", "--repeats", "1")
        steps = []  # (ranks, images of a step)
        for line in commands:
            ranks = int(line.split(" -n ")[1].split()[0])
            option, batch = [pair for pair in zip(line.split(), line.split()[1:]) if pair[0].endswith("-batch")
                             or pair[0] == "--batch-per-rank"][0]  # fmt: skip
            steps.append((ranks, int(batch) * (ranks if option == "--batch-per-rank" else 1)))
        wanted = {(p, b) for p in (1, 2, 4) for b in (32, 128, 512, 2048)}
        wanted |= {(p, b * p) for p in (1, 2, 4) for b in (32, 128, 512, 2048)}
        self.assertEqual(sorted(steps), sorted(wanted))
        self.assertEqual(len(steps), 17)
        self.assertTrue(all("nyu-resnet18.toml" in line for line in commands))

    def test_options_replace_what_the_preset_says(self):
        commands = self.commands("cpu", "--models", "resnet18", "--ranks-per-node", "2",
            "--global-batch", "32,64", "--repeats", "1", "--epochs", "7", "--threads", "3",
            "--", "--lr", "0.5")  # fmt: skip
        self.assertEqual(len(commands), 2)
        self.assertIn("--model resnet18 --global-batch 32 --threads 3 ", commands[0])
        self.assertIn("--epochs 7 ", commands[0])
        self.assertIn("--lr 0.5 --run-dir study/runs/resnet18_global32_n1x2_r1 --overwrite", commands[0])

    def test_all_runs_of_a_repeat_before_the_next(self):
        self.scale("cpu", "--models", "resnet20", "--global-batch", "8", "--ranks-per-node", "1,2")
        names = [f"resnet20_global8_n1x{ranks}_r{repeat}" for repeat in (1, 2) for ranks in (1, 2)]
        self.assertEqual(self.calls(), names)

    def test_threads_are_those_of_the_most_ranks_that_have_cores(self):
        cores = len(os.sched_getaffinity(0))
        self.scale("cpu", "--models", "resnet20", "--ranks-per-node", f"1,{cores},{4 * cores}",
            "--batch-per-rank", "8", "--repeats", "1")  # fmt: skip
        self.assertEqual(self.attempt(f"resnet20_rank8_n1x{4 * cores}_r1")["threads"], 1)
        self.assertEqual(self.attempt("resnet20_rank8_n1x1_r1")["threads"], 1)


class RunTest(ScaleCase):
    def test_what_an_attempt_leaves(self):
        text = self.scale(*self.two, "--ranks-per-node", "2")
        self.assertRegex(text, r"\[2/2\] resnet18, 2 ranks, 8 per rank, repeat 1: [0-9.]+ s, 812 images/s")
        attempt = self.attempt("resnet18_rank8_n1x2_r1")
        self.assertGreater(attempt.pop("seconds"), 0)
        self.assertIn("mpirun -n 2 ", attempt.pop("command"))
        threads = max(1, len(os.sched_getaffinity(0)) // 2)
        expected = {
            "schema": "rueda-attempt", "schema_version": 1, "model": "resnet18", "nodes": 1,
            "ranks_per_node": 2, "ranks": 2, "batch_per_rank": 8, "global_batch": None, "repeat": 1,
            "threads": threads, "exit_code": 0, "message": None, "out_of_memory": False,
        }  # fmt: skip
        self.assertEqual(attempt, expected)
        study = json.loads((self.out / "study.json").read_text(encoding="utf-8"))
        names = [series["name"] for series in study["series"]]
        self.assertEqual(names, ["resnet20_rank8_n1x2_r1", "resnet18_rank8_n1x2_r1"])

    def test_finished_runs_are_not_repeated_and_others_are(self):
        self.scale(*self.two)
        self.assertEqual(len(self.calls()), 2)
        self.assertIn("2 runs finished earlier", self.scale(*self.two))
        self.assertEqual(self.calls(), [])
        (self.out / "runs" / "resnet18_rank8_n1x1_r1" / "attempt.json").unlink()  # as if interrupted
        self.assertIn("1 run finished earlier", self.scale(*self.two))
        self.assertEqual(self.calls(), ["resnet18_rank8_n1x1_r1"])
        record = self.out / "runs" / "resnet20_rank8_n1x1_r1" / "run.json"
        record.write_text('{"outcome": "running"}', encoding="utf-8")  # although it ended well
        self.scale(*self.two, "--retry")
        self.assertEqual(self.calls(), ["resnet20_rank8_n1x1_r1"])

    def test_a_failure_is_recorded_and_tried_again_only_if_asked(self):
        text = self.scale(*self.two, FAKE_FAIL="resnet20")
        self.assertIn("resnet20, 1 rank, 8 per rank, repeat 1: failed (1): the loss is NaN", text)
        self.assertIn("1 run failed; --retry", text)
        self.assertEqual(len(self.calls()), 2)
        attempt = self.attempt("resnet20_rank8_n1x1_r1")
        self.assertEqual((attempt["exit_code"], attempt["message"]), (1, "the loss is NaN"))
        self.assertIn("1 run failed earlier", self.scale(*self.two))
        self.assertEqual(self.calls(), [])
        self.scale(*self.two, "--retry")
        self.assertEqual(self.calls(), ["resnet20_rank8_n1x1_r1"])

    def test_interrupted_it_ends_at_once_and_goes_on_later(self):
        for number in (signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                # A shell's background jobs begin so; the signal must end them nevertheless.
                process, training = self.hanging(ignored=[signal.SIGINT])
                process.send_signal(number)
                _, errors = process.communicate(timeout=TIME_LIMIT)
                self.assertEqual(process.returncode, 130)
                self.assertIn("the same command goes on", errors)
                self.assert_ended(training)
                self.assertFalse((self.out / "runs" / "resnet18_rank8_n1x1_r1" / "attempt.json").exists())
        self.calls()
        self.scale(*self.two)
        self.assertEqual(self.calls(), ["resnet18_rank8_n1x1_r1"])

    def test_with_nohup_it_stays_and_killed_it_leaves_no_training(self):
        process, training = self.hanging(ignored=[signal.SIGHUP])
        process.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.kill()
        self.assert_ended(training)

    def test_another_study_in_the_same_place_is_refused(self):
        self.scale(*self.two)
        self.scale(*self.two, "--epochs", "9", code=2)
        self.assertIn("holds a study with epochs None, not 9", self.errors)
        threads = self.attempt("resnet20_rank8_n1x1_r1")["threads"]
        self.scale(*self.two, "--threads", str(threads + 1), code=2)
        self.assertIn(f"holds a study with threads {threads}, not {threads + 1}", self.errors)

    def test_the_report(self):
        self.scale(*self.two)
        asked = self.folder / "calls.report"
        self.assertEqual(asked.read_text(encoding="utf-8"), "report study --out study/report\n")
        self.scale(*self.two, code=1, FAKE_REPORT_CODE="2")
        self.assertIn("the report failed (2)", self.errors)
        self.scale(*self.two, "--no-plots")
        self.assertEqual(asked.read_text(encoding="utf-8").splitlines()[2:],
                         ["report study --out study/report --plots off"])

    def test_no_report_on_nothing(self):
        self.scale(*self.two, "--models", "resnet20", code=1, FAKE_FAIL="resnet20")
        self.assertIn("nothing was trained", self.errors)
        self.assertFalse((self.folder / "calls.report").exists())

    def test_the_report_of_a_course_has_its_tables_if_they_can_be_made(self):
        book = ["book", "--models", "resnet50v2", "--ranks-per-node", "1", "--repeats", "1", "--",
                "--data", "synthetic"]
        course, plain = "report study --out study/report --layout book\n", "report study --out study/report\n"
        asked = self.folder / "calls.report"
        self.scale("sa-miri", *book[1:])
        self.assertEqual(asked.read_text(encoding="utf-8"), course.replace("book", "sa-miri"))
        asked.unlink()
        for changes, calls in (({}, course), ({"code": 1, "FAKE_REPORT_CODE": "2"}, course + plain)):
            self.scale(*book, **changes)
            self.assertEqual(asked.read_text(encoding="utf-8"), calls)
            asked.unlink()


class ClaimTest(ScaleCase):
    """What is removed and what is not, and who works where."""

    place = "runs/resnet18_rank8_n1x1_r1"

    def refused(self, *wanted, words=()):
        self.scale(*self.two, *words, code=2)
        self.assertEqual(len(self.errors.splitlines()), 1, self.errors)
        for words in wanted:
            self.assertIn(words, self.errors)

    def test_a_second_one_on_the_same_study_is_refused(self):
        process, training = self.hanging()
        directory = self.out / self.place
        before = [directory.stat().st_ino, sorted(directory.iterdir())]
        self.refused("the study study is in use by process ", "choose another --out")
        self.assertEqual([directory.stat().st_ino, sorted(directory.iterdir())], before)
        self.assertIsNone(process.poll())

    def test_jobs_of_one_study_run_beside_each_other(self):
        only = [*self.two, "--only"]
        self.hanging(*only, "resnet18_rank8_n1x1_r1")
        self.scale(*only, "resnet20_rank8_n1x1_r1")
        self.assertEqual(self.attempt("resnet20_rank8_n1x1_r1")["exit_code"], 0)
        self.refused(f"the run directory study/{self.place} is in use by", words=["--only", "resnet18_rank8_n1x1_r1"])
        self.refused("the study study is in use by")

    def test_a_training_that_outlived_its_study_keeps_its_directory(self):
        self.scale(*self.two)
        directory = self.out / self.place
        (directory / "attempt.json").unlink()
        with open(directory / ".lock", "w", encoding="utf-8") as lock:  # as rueda train has it
            print("process 7 on elsewhere", file=lock, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = sorted(directory.iterdir())
            self.refused(f"the run directory study/{self.place} is in use by process 7 on elsewhere")
            self.assertEqual(sorted(directory.iterdir()), before)
        self.assertIn(f"removes what an earlier attempt left in study/{self.place}", self.scale(*self.two))

    def test_what_the_study_did_not_make_stays(self):
        thesis = self.out / self.place / "thesis"
        thesis.parent.mkdir(parents=True)
        thesis.write_text("precious", encoding="utf-8")
        self.refused(f"{self.place} was not made by this study", f"mv study/{self.place} study/{self.place}.old")
        self.assertTrue(thesis.exists())
        shutil.rmtree(self.out)
        for name, words in ((self.place, []), ("runs", []), ("report", []), ("slurm", ["--submit"])):
            shutil.rmtree(self.out, ignore_errors=True)
            elsewhere = self.folder / "elsewhere"
            elsewhere.mkdir(exist_ok=True)
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            (self.out / name).symlink_to(elsewhere)
            self.refused(f"study/{name} is a link", words=words)
            self.assertEqual(list(elsewhere.iterdir()), [])

    def test_damaged_records(self):
        self.scale(*self.two)
        path = self.out / "study.json"
        whole = path.read_text(encoding="utf-8")
        study = json.loads(whole)
        for text in (whole[:-9], "[]", "{}", "[" * 100000, *(json.dumps({**study, **change}) for change in (
            {"common": 5}, {"common": None}, {"series": {}}, {"series": [5]}, {"series": [{}]},
            {"series": [{"name": []}]},
        ))):  # fmt: skip
            with self.subTest(text=text[:80]):
                path.write_text(text, encoding="utf-8")
                self.refused("study/study.json is not that of a study, or damaged", "mv study/study.json")
                self.assertEqual(path.read_text(encoding="utf-8"), text)
        path.write_text(whole, encoding="utf-8")
        for name, content in (
            ("attempt.json", {"exit_code": []}), ("attempt.json", {"exit_code": 1, "message": 5, "out_of_memory": {}}),
            ("attempt.json", {"exit_code": 1, "message": "a\n\x1b[31m"}), ("run.json", {"outcome": [], "data": 5}),
            ("run.json", {"outcome": "completed", "data": {"train_images": "many"}, "summary": [5]}),
        ):  # fmt: skip
            (self.out / self.place / name).write_text(json.dumps(content), encoding="utf-8")
            self.assertNotIn("\x1b", self.scale(*self.two) + self.errors)
        (self.out / self.place / "run.json").unlink()
        os.mkfifo(self.out / self.place / "run.json")  # and is not waited for
        self.scale(*self.two)


class SweepTest(ScaleCase):
    sweep = ("--models", "resnet20", "--recipe", "none", "--batch-sweep")

    def names(self, batches, repeat=1):
        return [f"resnet20_rank{batch}_n1x1_r{repeat}" for batch in batches]

    def test_until_memory_is_full(self):
        text = self.scale(*self.sweep, "8x4:oom", "--repeats", "2", FAKE_FULL="128")
        # 8, 32 fit and 128 does not, which the second repeat need not find out again.
        self.assertEqual(self.calls(), self.names([8, 32, 128]) + self.names([8, 32], 2))
        attempt = self.attempt("resnet20_rank128_n1x1_r1")
        self.assertEqual((attempt["exit_code"], attempt["out_of_memory"]), (2, True))
        self.assertIn("does not fit into memory; the largest batch that does is 96", text)
        self.scale(*self.sweep, "8x4:oom", "--repeats", "2", FAKE_FULL="128")
        self.assertEqual(self.calls(), [])

    def test_to_a_last_batch_or_until_the_images_are_too_few(self):
        self.scale(*self.sweep, "8x4:130")
        self.assertEqual(self.calls(), self.names([8, 32, 128]))
        self.scale(*self.sweep, "100x3:oom")
        self.assertEqual(self.calls(), self.names([100, 300, 900]))  # of 1000


class RefusalTest(ScaleCase):
    def refused(self, words, *wanted, **changes):
        self.scale(*words, code=2, **changes)
        self.assertEqual(len(self.errors.strip().splitlines()), 1, self.errors)
        for word in ("scale.sh: ", *wanted):
            self.assertIn(word, self.errors)
        self.assertEqual(self.calls(), [])
        self.assertFalse(self.out.exists())

    def test_bad_input_is_refused_before_anything_runs(self):
        some = ["--models", "resnet20", "--recipe", "none", "--batch-per-rank", "8"]
        for words, *wanted in (
            ([], "no models"), (["bok"], "unknown preset bok", "book"),
            (["cpu", "--models", "resnet21"], "--model 'resnet21' is not known", "resnet18"),
            (["--models", "resnet20"], "no batch is given for resnet20"),
            (["cpu", "--global-batch", "30"], "30", "4 ranks"), ([*some, "--nodes", "2"], "several nodes"),
            ([*some, "--rueda", "/nowhere/rueda"], "/nowhere/rueda was not found"),
            ([*some, "--recipe", "no.toml"], "no.toml does not exist"), ([*some, "--repeats", "0"], "--repeats"),
            ([*some, "--ranks-per-node", "1,x"], "--ranks-per-node"),
            ([*some, "--batch-sweep", "32:oom"], "32x4:oom"), ([*some, "--batch-sweep", "32x1:oom"], "32x4:oom"),
            ([*some, "--batch-sweep", "32x2:16"], "smaller than the first"),
            ([*some, "--", "--threads", "2"], "--threads", "before the --"),
            ([*some, "--", "--data", "/nowhere"], "--data /nowhere does not exist", "synthetic"),
            (["cpu", "--", "--data=/nowhere"], "--data /nowhere"),
            (["book", "--submit"], "--data data/cifar-10-batches-py"),
            ([*some, "--out", "/dev/null/x"], "--out /dev/null/x cannot be written (Not a directory)"),
        ):  # fmt: skip
            self.refused(words, *wanted)
        self.refused([*some, "--launcher", "srun"], "srun was not found", PATH=self.bare_path())

    def test_output_that_nobody_takes(self):
        for sink, code in (("| true", 128 + signal.SIGPIPE), ("> /dev/full", 1)):
            line = ["bash", "-c", f"set -o pipefail; (sleep 0.1; {SCALE} book --dry-run) {sink}"]
            changes = {"PYTHONUNBUFFERED": ""}  # as Python is by itself
            done = subprocess.run(line, env=self.environment(changes), capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, "Traceback" in done.stderr), (code, False), done)

    def bare_path(self):
        """The fake programs and what a shell script needs, but no Slurm."""
        for name in ("bash", "dirname", "basename", "id", "awk", "env"):
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        (self.folder / "bin" / "python3").symlink_to(sys.executable)
        return str(self.folder / "bin")

    def test_cpu_asks_slurm_for_no_gpu(self):
        self.add_programs(squeue="#!/bin/sh\n", sbatch=f'#!/bin/sh\necho "$*" >>{self.folder}/sent; echo 7\n')
        self.scale("cpu", "--models", "resnet20", "--repeats", "1", "--submit", RUEDA_GPUS_PER_NODE="4")
        sent = (self.folder / "sent").read_text(encoding="utf-8").splitlines()
        self.assertEqual((len(sent), [line for line in sent if "gpu:" in line or "--gres=none" not in line]), (6, []))

    def test_an_allocation_that_is_too_small_is_refused(self):
        job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "1", "SLURM_CPUS_ON_NODE": "4"}
        job["SLURM_TASKS_PER_NODE"] = "2(x1)"
        some = ("--models", "resnet20", "--recipe", "none", "--batch-per-rank", "8", "--threads", "2")
        self.refused([*some, "--nodes", "2"], "2 nodes are needed, and the allocation has 1", **job)
        srun = [*some, "--launcher", "srun", "--ranks-per-node"]
        self.refused([*srun, "3"], "3 ranks per node with 2 threads", "4 cores", **job)
        self.refused([*srun, "5"], "4 cores per node: ask Slurm for --ntasks-per-node=5", **job)
        self.refused([*some, "--launcher", "mpirun", "--ranks-per-node", "3"], "2 tasks", **job)
        self.scale(*some, "--launcher", "mpirun", "--ranks-per-node", "2", **job)


class WholeTest(ScaleCase):
    def test_a_study_with_rueda_itself(self):
        self.scale("cpu", "--models", "resnet20", "--ranks-per-node", "2", "--repeats", "1", "--threads", "1",
            "--epochs", "1", "--", "--image-size", "16", "--data-limit", "128",
                   RUEDA=str(Path(ProgramCase.paths[0]).resolve()),
            PATH=os.environ["PATH"])  # fmt: skip
        runs = self.out.glob("runs/*/run.json")
        records = {run.parent.name: json.loads(run.read_text(encoding="utf-8")) for run in runs}
        worlds = {name: (each["world_size"], each["batch"]["global"]) for name, each in records.items()}
        self.assertEqual(worlds, {"resnet20_rank16_n1x2_r1": (2, 32), "resnet20_global64_n1x2_r1": (2, 64)})
        for record in records.values():
            self.assertEqual(record["outcome"], "completed")
            self.assertEqual({rank["threads"] for rank in record["ranks"]}, {1})
        self.assertIn("resnet20", (self.out / "report" / "report.md").read_text(encoding="utf-8"))
        probe = ["/usr/bin/python3", "-c", "import matplotlib"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            self.assertTrue((self.out / "report" / "report.html").exists())

    def test_its_python_is_that_of_old_login_nodes(self):
        for source in sorted((ROOT / "jobs" / "scaling").glob("*.py")):
            ast.parse(source.read_text(encoding="utf-8"), str(source), feature_version=(3, 6))


if __name__ == "__main__":
    main(1)
