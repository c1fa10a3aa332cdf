"""The tables and sentences of docs/results/h100.md, recomputed from the files beside it and from `rueda summary`."""

import json
import re
import statistics
import subprocess
from pathlib import Path

import h100_kernels
import tuned_engines

TUNED = "tuning-NVIDIA-H100-80GB-HBM3-cuDNN-9.14.0.json"
KERNELS = "kernels-resnet18-128-bf16.csv"
ROOFLINE = Path(__file__).resolve().parents[2] / "src/commands/roofline.hpp"
GOALS = {"resnet18@32, batch 128, bf16": 60_000, "resnet50v2@128, batch 256, bf16": 25_000}
MLPERF = 7160  # images/s of ResNet-50 at 224 pixels on an H100, MLPerf Training v4.0
NETWORKS = {"resnet18": "ResNet-18", "resnet50v2": "ResNet50V2"}
PLANNED = [("resnet50v2", 128, 1024), ("resnet50v2", 128, 256), ("resnet152v2", 128, 256), ("resnet18", 32, 512),
           ("resnet18", 32, 128)]  # fmt: skip
SHOWN = {  # of the convolutions with 1024 images
    "first of ResNet50V2, 7x7, forward with bias": "forward bf16 1024x8x128x128 by 64x8x7x7 stride 2 padding 3 + bias",
    "its weight gradient": "weight gradient bf16 1024x8x128x128 by 64x8x7x7 stride 2 padding 3",
    "1x1, 64 to 256 channels, forward with bias, residual and statistics":
        "forward bf16 1024x64x32x32 by 256x64x1x1 stride 1 padding 0 + bias + residual + statistics",
    "1x1, 64 to 256 channels, forward with bias":
        "forward bf16 1024x64x32x32 by 256x64x1x1 stride 1 padding 0 + bias",
    "3x3, 64 channels, forward": "forward bf16 1024x64x32x32 by 64x64x3x3 stride 1 padding 1",
    "3x3, 256 channels on 8x8, forward": "forward bf16 1024x256x8x8 by 256x256x3x3 stride 1 padding 1",
}  # fmt: skip
HEADERS = {
    "speed": "| case | rueda | two runs | share of the floor | eager | `torch.compile` | rueda / eager "
             "| rueda / compile | memory, GB | least other, GB |",
    "ring": "| ranks | MB | ring, device | fixed order, device | `MPI_Allreduce`, device | ring, staged "
            "| `MPI_Allreduce`, staged |",
    "kernels": "| kernels | launches | microseconds | share | MB |",
    "kinds": "| kind | launches then | measured, us | launches now | plan, us | plan / measured |",
    "engines": "| convolution, batch 1024 | took, us | roofline, us | share |",
    "roofline": "| network, batch | launches | H200 | H100 | A100 | H100, measured on 2026-11-26 |",
}  # fmt: skip


def row(*cells):
    return "".join(f"| {cell} " if cell != "" else "| " for cell in cells) + "|"


def resnet50_flops(side=224):
    """Of a training step by image: forward, data gradient but the first convolution's, weight gradient."""
    first = total = (side // 2) ** 2 * 64 * 147
    channels, side = 64, side // 4
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            out = side // 2 if block == 0 and width > 64 else side
            total += side**2 * channels * width + out**2 * (9 * width**2 + 4 * width**2)
            total += out**2 * channels * 4 * width if block == 0 else 0
            channels, side = 4 * width, out
    return 2.0 * (3 * (total + channels * 1000) - first)


class Figures:
    def __init__(self, folder, program):
        self.program = program
        read = lambda name: json.loads((folder / name).read_text(encoding="utf-8"))
        self.calls = {call: read(f"gpu-check-{call}.json") for call in "ABC"}
        self.rates = self.calls["B"]["rates"]
        self.flops, self.copied = self.rates["bf16_flops_per_second"], self.rates["copy_bytes_per_second"]
        self.cases = {one["name"]: one["data"] for one in self.calls["B"]["results"] if "case" in one.get("data", {})}
        tuned = read(TUNED)
        self.seconds, self.engines = tuned["seconds"], tuned["engines"]
        self.timed = {key: one for key, at in self.seconds.items() if (one := tuned_engines.timed(key, at))}
        self.kernels = h100_kernels.read(folder / KERNELS)
        self.step, self.trials, self.launches = h100_kernels.step(self.kernels, self.engines)
        self.summaries = {}

    # What others compute.

    def speed(self, case):
        return self.cases[case]["contestants"]["rueda"]["images_per_second"]

    def step_microseconds(self, case):
        return 1e6 * self.cases[case]["case"]["batch"] / self.speed(case)

    def best(self, key):
        return 1e6 * min(self.seconds[key].values())

    def engine(self, key, name):
        return 1e6 * min(took for engine, took in self.seconds[key].items() if engine.startswith(name))

    def summary(self, model, side, batch, gpu):
        """Of the plan: its kinds, each with launches, GFLOP, MB and microseconds of an image; the floor; the plan."""
        words = ("summary", "--model", model, "--image-size", str(side), "--batch-per-rank", str(batch), "--precision",
                 "bf16", "--roofline", gpu)  # fmt: skip
        if words not in self.summaries:
            done = subprocess.run([self.program, *words], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
            rows = re.findall(r"(?m)^  (\S.*?) +(\d+) +(\S+) +(\S+) +(\S+) +(\S+)$", done.stdout.split("\n\n")[0])
            kinds = {name: (int(launches), flops, float(plan)) for name, launches, flops, _, _, plan in rows}
            speeds = re.search(r"(\d+) images/s at the floor, (\d+) by the plan", done.stdout)
            self.summaries[words] = kinds, int(speeds[1]), int(speeds[2])
        return self.summaries[words]

    def constant(self, name):
        return float(re.search(rf"\b{name} = ([\d.e-]+);", ROOFLINE.read_text(encoding="utf-8"))[1])

    def result(self, call, name):
        return next(one for one in self.calls[call]["results"] if one["name"] == name)

    # Tables.

    def tables(self):
        return {header: getattr(self, f"{name}_rows")() for name, header in HEADERS.items()}

    def speed_rows(self):
        order = ["resnet18@32, batch 128, bf16", "resnet18@32, batch 512, bf16", "resnet50v2@128, batch 256, bf16",
                 "resnet50v2@128, batch 1024, bf16"]  # fmt: skip
        return [self.speed_row(self.cases[name]) for name in order]

    def speed_row(self, data):
        case, own = data["case"], data["contestants"]["rueda"]
        others = [data["contestants"][f"torch-{one}"] for one in ("eager", "compile")]
        name = f"{NETWORKS[case['model']]}, {case['side']} pixels, batch {case['batch']}"
        runs = " and ".join(f"{one:,.0f}" for one in own["runs"]) if len(own["runs"]) > 1 else "one run alone"
        head = [name, f"{own['images_per_second']:,.0f}", runs, f"{100 * own['share_of_floor']:.0f} %"]
        memory = f"{own['peak_memory_bytes'] / 1e9:.2f}"
        if "failure" in others[0]:
            return row(*head, "not measured", "not measured", "", "", memory, "")
        return row(*head, *(f"{one['images_per_second']:,.0f}" for one in others),
                   *(f"{one['rueda_is_times_as_fast']:.2f}" for one in others), memory,
                   f"{min(one['peak_memory_bytes'] for one in others) / 1e9:.2f}")  # fmt: skip

    def ring_rows(self):
        def rate(ranks, way, algorithm):
            rows = self.result("C", f"all-reduce on {ranks}, {way}")["data"]["rows"]
            return next(one for one in rows if one["algorithm"] == algorithm)["busbw_GBps"]

        ways = [("device", "ring"), ("device", "fixed"), ("device", "mpi"), ("staged", "ring"), ("staged", "mpi")]
        return [row(ranks, 44.7, *(f"{rate(ranks, *way):.3g}" for way in ways)) for ranks in (2, 4)]

    def kernels_rows(self):
        total = sum(one.microseconds for one in self.step.values())
        rows = [(one.name, one.launches, one.microseconds, one.megabytes) for one in self.step.values()]
        rows.sort(key=lambda one: -one[2])
        rows.append(("all", *(sum(column) for column in list(zip(*rows))[1:])))
        return [row(name, f"{launches:.0f}", f"{time:,.0f}", f"{100 * time / total:.1f} %", f"{moved:,.0f}")
                for name, launches, time, moved in rows]  # fmt: skip

    def measured_kinds(self):
        """Launches and microseconds of the step, by the kinds of the plan."""
        kinds = {}
        for name, one in self.step.items():
            kind = name if name.startswith("batch norm") else "all others"
            kind = "convolutions" if name == h100_kernels.CONVOLUTIONS else kind
            launches, time = kinds.get(kind, (0, 0))
            kinds[kind] = launches + one.launches, time + one.microseconds
        kinds["all"] = tuple(map(sum, zip(*kinds.values())))
        return kinds

    def kinds_rows(self):
        kinds, _, _ = self.summary("resnet18", 32, 128, "H100")
        rows = []
        for kind, (now, _, plan) in kinds.items():
            launches, time = self.measured_kinds()[kind]
            rows.append(row(kind, f"{launches:.0f}", f"{time:,.0f}", now, f"{128 * plan:,.0f}",
                            f"{12800 * plan / time:.0f} %"))  # fmt: skip
        return rows

    def engines_rows(self):
        rows = []
        for name, key in SHOWN.items():
            one = self.timed[key]
            floor = one.floor(self.flops, self.copied)
            took = f"{1e6 * one.seconds:,.0f}"
            rows.append(row(name, took, f"{1e6 * floor:,.0f}", f"{100 * floor / one.seconds:.0f} %"))
        return rows

    def roofline_rows(self):
        rows = []
        for model, side, batch in PLANNED:
            plans = {gpu: self.summary(model, side, batch, gpu) for gpu in ("H200", "H100", "A100")}
            case = f"{model}@{side}, batch {batch}, bf16"
            measured = f"{self.speed(case):,.0f}" if case in self.cases else ""
            launches = plans["H100"][0]["all"][0]
            both = [f"{floor:,} / {plan:,}" for _, floor, plan in plans.values()]
            rows.append(row(f"{model}@{side}, {batch}", launches, *both, measured))
        return rows

    # Sentences.

    def sentences(self):
        return [*self.about(), *self.tests(), *self.speeds(), *self.ring(), *self.kernels_told(), *self.tuner()]

    def about(self):
        about = self.calls["B"]["about"]
        versions = about["versions"]
        properties = self.result("A", "device properties")["data"]
        cuda = f"{properties['driverVer'] // 1000}.{properties['driverVer'] % 1000 // 10}"
        watts = round(float(about["clocks"].split()[-2]))
        number = self.rates["versions"]["cuDNN of PyTorch"]
        theirs = f"{int(number) // 10000}.{int(number) // 100 % 100}.{int(number) % 100}"
        revision = re.sub(r"[()]", "", versions["rueda"]).split()
        return [
            f"Measured on {about['date'].split()[0]} on one **{about['device']}** (SXM, {watts} W, driver "
            f"{about['driver']}, CUDA {cuda}) in a virtual machine with {about['host_cores']} cores, in "
            f"{3.2 + 3 + 6 + 2:.0f} minutes.",
            f"rueda {revision[0]} ({revision[1]}) with cuDNN {versions['cuDNN']}",
            f"PyTorch {versions['PyTorch']} with cuDNN {theirs}",
        ]

    def tests(self):
        smoke = {f"{self.result(call, 'smoke')['data']['loss']:.3f}" for call in "ABC"}
        counts = [self.result("A", f"{name} tests")["data"] for name in ("cuda", "backend_cuda", "parity_cuda")]
        mpi = [self.result("C", f"mpi tests on {ranks}")["data"] for ranks in (1, 2, 4)]
        bits = [self.result("C", name)["data"]["parameter_hashes"].values()
                for name in ("train on 1", "train on 2", "train on 4", "4 ranks equal 4 micro-batches")]  # fmt: skip
        passed = "{}, {} and {} passed".format(*(one["passed"] for one in counts))
        doctor = re.match(r"(no end after \d+ s)", self.result("A", "doctor")["why"])[1]
        if any(one["failed"] or one["skipped"] for one in counts + mpi) or any(len(set(one)) > 1 for one in bits):
            return ["tests failed, or bits differ, in these files"]
        return [
            f"passed in each of {len(self.calls)} calls, loss {' and '.join(smoke)} |",
            f"{passed}, none failed or skipped |",
            f"MPI tests on 1, 2 and 4 ranks | {' or '.join({str(one['passed']) for one in mpi})} passed on each |",
            f"`rueda doctor` | **failed**: {doctor} |",
            "replicas have the same bits on 1, 2 and 4 ranks that share the GPU | yes",
            "staging through the host give the same bits | yes, on 1, 2 and 4 ranks |",
            "4 ranks with `--reduce-order fixed` equal 4 micro-batches of one rank, over device buffers | yes",
        ]

    def speeds(self):
        spreads, slower = [], 0
        for data in self.cases.values():
            found = [one for name, one in data["contestants"].items() if "step_seconds" in one]
            spreads += [max(one["step_seconds"]) / min(one["step_seconds"]) - 1 for one in found]
            rates = [one["images_per_second"] for one in found]
            slower += len(rates) == 2 and data["contestants"]["torch-compile"]["images_per_second"] < max(rates)
        shares = " and ".join(f"{100 * self.speed(case) / goal:.0f} %" for case, goal in GOALS.items())
        small, best = self.speed("resnet18@32, batch 128, bf16"), self.speed("resnet50v2@128, batch 1024, bf16")
        flops = float(self.summary("resnet50v2", 128, 1024, "H100")[0]["convolutions"][1])
        theirs = MLPERF * resnet50_flops() / 1e9 / flops
        tf32 = self.rates["tf32_flops_per_second"]
        return [
            f"{self.flops / 1e12:.0f} TFLOP/s of a matrix product in bf16, {tf32 / 1e12:.0f} in TF32, "
            f"{self.copied / 1e12:.2f} TB/s of a copy.",
            f"three blocks of one case differ by up to {100 * max(spreads):.0f} %, and compiled is slower than eager "
            f"in {('no', 'one', 'two', 'three')[slower]} of three cases",
            "1.25 times as fast as `torch.compile` is not shown",
            f"With rueda's {small:,.0f} the goal is missed where PyTorch passes {small / 1.25:,.0f}.",
            "goals of 60,000 images/s for ResNet-18 at 128 and 25,000 for ResNet50V2 at 256 are **not met**: "
            f"{shares} of them",
            f"that is {theirs:,.0f} of ResNet50V2 at 128 pixels, of which rueda's {best:,.0f} with batch 1024 are "
            f"{100 * best / theirs:.0f} %",
        ]

    def ring(self):
        rows = [one for one in self.result("C", "all-reduce on 2, device")["data"]["rows"]
                if one["algorithm"] == "ring"]
        sizes = " MB as for ".join(f"{one['bytes'] / 1e6:.1f}" for one in rows)
        times = " and ".join(f"{one['milliseconds']:.2f}" for one in rows)
        return [f"about as long for {sizes} MB ({times} ms on two ranks)"]

    def kernels_told(self):
        total = sum(one.microseconds for one in self.step.values())
        step = self.step_microseconds("resnet18@32, batch 128, bf16")
        norm = sum(one.microseconds for name, one in self.step.items() if name.startswith("batch norm"))
        each = {name.split(": ")[-1]: one.microseconds / one.launches for name, one in self.step.items()}
        return [
            f"Batch norm is {100 * norm / total:.0f} % of it.",
            f"took {step:,.0f} us in a CUDA graph, {100 * step / total:.0f} % of this sum",
            f"of {self.launches} launches of convolutions {self.trials} were trials, of as many different plans, and "
            f"{self.launches - self.trials} the step's",
            f"takes {100 - 100 * step / total:.0f} % less than its kernels by `ncu`",
            f"*Statistics* take {each['statistics']:.1f} us a launch although the output is still in the cache, and "
            f"*apply* {each['apply']:.1f}, which moves more than twice as much; *gradient sums* take "
            f"{each['gradient sums']:.1f}, and the *input gradient* {each['input gradient']:.1f}, which moves about as "
            "much.",
            "each within 10 % with the launches of that day",  # tests/unit/commands/roofline_test.cpp
        ]

    def tuner(self):
        fitted = [one for one in self.timed.values() if one.fits]
        (fixed, share, half), spread = tuned_engines.fit(fitted, self.flops, self.copied)
        more = list(h100_kernels.beside_tuner(self.kernels, self.engines, self.seconds))
        first = [self.best(key) / 1e3 for key in list(SHOWN.values())[:2]]
        whole = self.step_microseconds("resnet50v2@128, batch 1024, bf16") / 1e3
        return [
            f"The tuner timed {len(self.timed)} of them",
            f"That adds {min(more):.0f} to {max(more):.0f} us",
            f"against the roofline, {self.flops / 1e12:.0f} TFLOP/s and {self.copied / 1e12:.2f} TB/s",
            f"{len(fitted)} of them fit `{1e6 * fixed:.0f} us + max(FLOPs / (rate x {share:.2f} x side / "
            f"(side + {half})), bytes / rate)`",
            f"root of the mean square error of {100 * spread:.0f} %",
            f"Of the {1e6 * fixed:.0f} us the step pays {1e6 * self.constant('kProductSeconds'):.0f} for each "
            "convolution",
            f"takes {sum(first):.1f} of the {whole:.1f} ms of a step with 1024 images",
            *self.epilogues(),
            *self.additions(),
        ]

    def epilogues(self):
        """Of engine 4, with and without statistics, and beside engine 7."""
        pairs, passes, ratios = [], [], []
        for key in self.seconds:
            if " + " not in key:
                continue
            ratios.append(self.engine(key, "eng7{") / self.engine(key, "eng4{"))
            summed = key + " + statistics"
            if key.endswith("residual") and summed in self.seconds:
                pairs.append(f"{self.engine(key, 'eng4{'):.1f} and {self.engine(summed, 'eng4{'):.1f}")
                passes.append(1e6 * (self.constant("kSumSeconds")
                                     + self.output_bytes(key) / self.copied / self.constant("kOwnShare")))  # fmt: skip
        faster = [one for one in ratios if one > 1]
        both, alone = (self.engine(list(SHOWN.values())[index], "eng4{") for index in (2, 3))
        return [
            f"in {('no', 'one', 'two', 'three')[len(pairs)]} shapes at batch 256 the tuner timed engine 4 with bias "
            f"and residual and also with statistics: {pairs[0]} us, {', '.join(pairs[1:])}.",
            f"a launch of {min(passes):.0f} to {max(passes):.0f} us by the plan",
            f"From 64 to 256 channels at batch 1024 engine 4 takes {both:.0f} us with all three, {alone:.0f} with "
            "bias alone",
            f"engine 4 of cuDNN 9.14 was {min(faster):.1f} to {max(faster):.1f} times as fast as engine 7 in "
            f"{len(faster)} of {len(ratios)} cases",
            "cuDNN 9.19 suggests engine 7 first",  # tests/cuda/cudnn_plans.txt
        ]

    def output_bytes(self, key):
        """In bf16, of a convolution that keeps the image's sides by its stride."""
        match = tuned_engines.KEY.fullmatch(key)
        images, height, width, filters, stride = (int(match[i]) for i in (2, 4, 5, 6, 9))
        return 2 * images * filters * -(-height // stride) * -(-width // stride)

    def additions(self):
        """Bytes a second of a bias that rueda's own kernel adds: it reads and writes the output."""
        rates = {}
        for key, engines in self.seconds.items():
            plain = key.split(" + ")[0]
            if " 1024x" not in key or not key.endswith(" + bias"):
                continue
            channels = int(tuned_engines.KEY.fullmatch(key)[6])
            rate = 2 * self.output_bytes(key) / (engines["unfused"] - min(self.seconds[plain].values())) / 1e12
            rates.setdefault(channels >= 256, []).append(rate)
        wide = statistics.median(rates[True])
        return [f"moved {wide:.1f} TB/s with 256 channels and more, and {rates[False][0]:.1f} with 64, where a copy "
                f"has {self.copied / 1e12:.1f}"]  # fmt: skip
