"""What tests that run the program share: how it is run, alone or below mpiexec and each time with a time limit,
a folder with a small data set, and how runs end."""

import collections
import csv
import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 40  # seconds; a run takes one or two
PATIENCE = float(os.environ.get("RUEDA_TEST_PATIENCE", "1"))  # times as long, with a sanitizer

# Small enough that a run is mostly start-up: 4 steps of 32 on two ranks.
SMALL = ["--model", "resnet20", "--image-size", "16", "--data", "data", "--data-limit", "128", "--batch-per-rank", "16"]
SMALL += ["--epochs", "1", "--threads", "1", "--eval-every", "0"]


def has_bf16():
    """Whether oneDNN computes in bf16 here, from what the processor and the environment say."""
    if os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper() in ("SSE41", "AVX", "AVX2", "AVX2_VNNI"):
        return False
    info = Path("/proc/cpuinfo")
    return info.exists() and "avx512bw" in info.read_text(encoding="utf-8").split()


# Set in the tests that only `jobs/test.sh --all` runs.
LONG = os.environ.get("RUEDA_TEST_LONG") == "1"


def long(case):
    """Marks a case that takes long and rarely finds anything, or a class of such: it runs only in the long tests."""
    case.runs_in = (True,)
    return case


def longer(case):
    """Marks a case that also runs in the long tests, because it does more there (`part`)."""
    case.runs_in = (False, True)
    return case


def part(items, count):
    """The first `count` items, or all of them in a long test."""
    return items if LONG else items[:count]


# A noun that its number does not suit, in any text of rueda. Rates, as 1 images/s, are none.
NOUNS = "ranks|images|steps|epochs|hosts|threads|cores|micro-batches|numbers|files|runs|classes"
ONE_OF_MANY = re.compile(rf"(?<![\w.,/:-])1 ({NOUNS})\b(?!/)")

needs_bf16 = unittest.skipUnless(has_bf16(), "no AVX-512, without which oneDNN has no bf16")


@dataclass
class Result:
    """How a run ended and what it said."""

    code: int
    out: str
    err: str
    run_dir: str = ""  # of a training that the test numbered

    @property
    def said(self):
        """Tables and progress, then the log."""
        return self.out + self.err

    @property
    def messages(self):
        """Lines that are error messages of rueda's own; a launcher adds others."""
        return [line for line in self.err.splitlines() if line.startswith("rueda: ")]


def apart(words):
    """Splits words into those of the command and a dict of the variables of tests among them, RUEDA_INJECT=kill:1:4."""
    words = [str(word) for word in words]
    variables = [word for word in words if word.startswith("RUEDA_INJECT=")]
    return [word for word in words if word not in variables], dict(word.split("=", 1) for word in variables)


def environment(changes):
    """This environment without what a launcher around the test has set, and with these changes; None: unset."""
    launcher = re.compile(r"^(OMPI_COMM_|OMPI_UNIVERSE_|MV2_COMM_|PMIX_|PMI_|SLURM_|TORCHELASTIC_|HOROVOD_|RANK$|"
                          r"WORLD_SIZE$)")
    env = {name: value for name, value in os.environ.items() if not launcher.match(name)}
    if os.geteuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    env.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")
    env["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"  # Open MPI 5
    env["RUEDA_POWERCAP"] = "none"  # what the machine counts is not a test's
    env.update(changes)
    return {name: value for name, value in env.items() if value is not None}


class Program:
    """The program under test and the folder it runs in."""

    def __init__(self, binary, mpiexec, folder, time_limit=TIME_LIMIT):
        self.time_limit = time_limit * PATIENCE
        self.binary = str(Path(binary).resolve())
        self.mpiexec = shutil.which(mpiexec) or mpiexec
        self.folder = Path(folder)

    def words(self, *arguments):
        """The command line of one process without a launcher."""
        return [self.binary, *arguments]

    def run(self, *arguments, **env):
        """One process without a launcher."""
        return self._execute(self.words(*arguments), env)

    def run_ranks(self, ranks, *arguments, **env):
        return self.run_contexts([(ranks, arguments)], **env)

    def run_on(self, ranks, *arguments, **env):
        """One rank needs no launcher."""
        return self.run_ranks(ranks, *arguments, **env) if ranks > 1 else self.run(*arguments, **env)

    def run_contexts(self, contexts, folders=(), **env):
        """One run whose ranks get different arguments: [(ranks, arguments), ...], and folders."""
        command = ["--bind-to", "none"]
        for i, (ranks, arguments) in enumerate(contexts):
            folder = ["--wdir", str(folders[i])] if folders else []
            command += [":"] * (i > 0) + ["-n", str(ranks), *folder, self.binary, *arguments]
        return self.launch(*command, **env)

    def launch(self, *words, **env):
        return self._execute([self.mpiexec, *words], env)

    def record(self, run_dir):
        """The run.json of a run."""
        return json.loads((self.folder / run_dir / "run.json").read_text(encoding="utf-8"))

    def _execute(self, command, env):
        command, variables = apart(command)
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment({**env, **variables}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=self.time_limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            words = " ".join(command)
            raise AssertionError(f"no end after {self.time_limit} s: {words}\n{out}\n{err}") from None
        if self.binary in command and (one := ONE_OF_MANY.search(out + err)):
            raise AssertionError(f"'{one[0]}': {' '.join(command)}\n{out}\n{err}")
        return Result(process.returncode, out, err)


class ProgramCase(unittest.TestCase):
    """A folder of its own with a small data set in data/."""

    time_limit = TIME_LIMIT  # seconds of a run
    images = (200, 50)  # of the data set, to train and to test
    paths = ()  # the words of the script: of the program, the launcher, and what it takes besides
    numbers = itertools.count()
    known = {}  # the records of runs, by their words

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-cli-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.program = Program(*cls.paths[:2], cls.folder, cls.time_limit)
        train, test = map(str, cls.images)
        cls.made("synth", "--out", "data", "--train", train, "--test", test)

    @classmethod
    def made(cls, *words, ranks=0):
        """The result of a run that has to end well before there can be cases."""
        result = cls.program.run_ranks(ranks, *words) if ranks else cls.program.run(*words)
        if result.code != 0:
            raise AssertionError(f"{words}: {result}")
        return result

    def read(self, name):
        """The JSON in a file of the folder."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def path(self, name):
        return self.folder / name

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def refused(self, result, *words, code=2):
        """One message of rueda's own, holding all words, and the exit code."""
        self.assertEqual(result.code, code, result)
        self.assertEqual(len(result.messages), 1, result)
        for word in words:
            self.assertIn(word, result.messages[0])

    def completed(self, result):
        self.assertEqual((result.code, result.messages), (0, []), result)
        return result

    def start(self, ranks, *words, **env):
        """A training in a directory of its own."""
        run_dir = f"run-{next(self.numbers)}"
        result = self.program.run_on(ranks, "train", *words, "--run-dir", run_dir, **env)
        result.run_dir = run_dir
        return result

    def trained(self, ranks, *words, **env):
        """run.json of a training that ends well, and with it what the run said and the rows of steps.csv."""
        result = self.start(ranks, *words, **env)
        self.assertEqual(result.code, 0, result)
        with open(self.folder / result.run_dir / "steps.csv", encoding="utf-8", newline="") as file:
            steps = list(csv.DictReader(file))
        record = self.program.record(result.run_dir)
        return {**record, "said": result.said, "steps": steps, "run_dir": result.run_dir}

    def known_run(self, ranks, *words):
        """The same, of an earlier run with these words if there was one. All classes draw the same images."""
        key = (ranks, *words)
        if key not in self.known:
            self.known[key] = self.trained(ranks, *words)
        return self.known[key]


def hashes(record):
    """Of the parameters after each epoch."""
    return [epoch["parameter_hash"] for epoch in record["epochs"]]


def losses(record):
    """Of every step."""
    return [float(row["train_loss"]) for row in record["steps"] if row["rank"] == "0"]


def cpu_seconds():
    """What this process and all that it waited for have used."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


class TimedResult(unittest.TextTestResult):
    """Prints the seconds of each case, and those of processors that its programs took."""

    def startTest(self, test):
        super().startTest(test)
        self.begin, self.used = time.monotonic(), cpu_seconds()

    def stopTest(self, test):
        super().stopTest(test)
        name = test.id().removeprefix("__main__.")
        wall, used = time.monotonic() - self.begin, cpu_seconds() - self.used
        self.stream.writeln(f" {wall:.1f} s, {used:.1f} s of processors: {name}")


def cases_of(suite):
    """The single cases of a suite of suites."""
    for test in suite:
        yield from cases_of(test) if isinstance(test, unittest.TestSuite) else [test]


def runs_now(case):
    method = getattr(case, case._testMethodName, case)
    return LONG in getattr(method, "runs_in", getattr(case, "runs_in", (False,)))


def main(words=2):
    """Runs the unittest cases of a script, or those that its command line names after so many words, for example
    OverlapTest.test_one_rank. The last line is what jobs/check/count_tests.py reads."""
    # Below nohup and in a shell's background signals are ignored that cases send.
    for number, action in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        signal.signal(number, action)
    loader, module = unittest.defaultTestLoader, sys.modules["__main__"]
    if len(sys.argv) <= words:
        sys.exit(module.__doc__)
    ProgramCase.paths, names = sys.argv[1 : words + 1], sys.argv[words + 1 :]
    if names:
        suite = loader.loadTestsFromNames(names, module)
    else:
        suite = unittest.TestSuite(filter(runs_now, cases_of(loader.loadTestsFromModule(module))))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1, resultclass=TimedResult).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    passed = max(result.testsRun - failed - skipped, 0)
    for reason, count in collections.Counter(reason for _, reason in result.skipped).items():
        print(f"skipped: {reason} ({count} case{'s' * (count > 1)})")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed or result.testsRun == 0 else 0)
