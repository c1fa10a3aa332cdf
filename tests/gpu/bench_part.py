"""Training images per second of rueda and PyTorch on the same GPU, taking turns; peak memory; the share of
the floor that follows from the rates measured in the same call. And the all-reduce of gradients: over device buffers,
through the host, and MPI_Allreduce for comparison."""

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import monotonic

from runner import Failure, NotRun, complaint
from tools import data_set, require, train

BENCH = Path(__file__).resolve().parents[1] / "bench"
# Of an H100 and an H200, where PyTorch is not there to measure them. A product in TF32 is half as fast as in bf16.
ASSUMED_PRODUCTS = {"bf16_flops_per_second": 790e12, "tf32_flops_per_second": 395e12}
ASSUMED_COPIES = {"H100": 3.0e12, "H200": 4.3e12}
TRAIN_IMAGES = 50_000
EPOCHS = 3
EPOCH_SECONDS = 0.6  # at half of the floor: an epoch is long against the clock and short against the budget
SIZES = "resnet18,resnet50v2"
REHEARSAL_WORDS = ("--repetitions", 2, "--sizes", "100k,400k")
TRANSPORTS = ("device", "staged")
RING_WORDS = ("bench", "all-reduce", "--backend", "cuda", "--allow-shared-gpu")


@dataclass
class Case:
    model: str
    side: int
    batch: int
    precision: str
    variants: tuple = ("eager", "compile")
    recompute: str = "none"

    @property
    def name(self):
        name = f"{self.model}@{self.side}, batch {self.batch}, {self.precision}"
        return name if self.recompute == "none" else f"{name}, recompute {self.recompute}"

    @property
    def limit(self):
        """Tuning and torch.compile take minutes the first time; the case that counts most gets them."""
        return 300 if self == cases()[0] else 150 if "compile" in self.variants else 90


def cases():
    """The most telling ones first; what the time does not allow for is reported as not run."""
    graphs = ("eager", "compile", "compile-graphs")
    found = [Case("resnet50v2", 128, batch, "bf16") for batch in (256, 1024)]
    found += [Case("resnet18", 32, 128, "bf16", graphs), Case("resnet50v2", 128, 256, "tf32")]
    found += [Case(model, 128, 256, "bf16") for model in ("resnet101v2", "resnet152v2")]
    found += [Case("resnet18", 32, 512, "bf16"), Case("resnet18", 32, 32, "bf16", graphs), Case("resnet18", 32, 2048, "bf16")]
    found += [Case("resnet50v2", 128, 256, "bf16", (), word) for word in ("bn", "block")]
    found += [Case("resnet18", 32, batch, "tf32", ("eager",)) for batch in (128, 512, 2048, 32)]
    return found + [Case(model, 128, 256, "tf32", ("eager",)) for model in ("resnet101v2", "resnet152v2")]


def rehearsal_cases():
    """Small enough for a stand-in, and something of everything."""
    graphs = ("eager", "compile", "compile-graphs")
    found = [Case("resnet20", 8, 4, "bf16", graphs), Case("resnet20", 8, 4, "tf32", ("eager",))]
    return found + [Case("resnet20", 8, 4, "bf16", (), "block")]


def rates_of(results, device):
    """What the probe measured, if it did, else assumptions; of another GPU they are those of an H200."""
    for result in results:
        if result["part"] == "bench" and result["name"] == "rates" and result["status"] == "passed":
            return {**result["data"], "measured": True}
    copy = next((rate for name, rate in ASSUMED_COPIES.items() if name in device), ASSUMED_COPIES["H200"])
    return {**ASSUMED_PRODUCTS, "copy_bytes_per_second": copy, "measured": False}


def run_worker(shell, tools, task):
    """PyTorch in a process; what it compiles lies where later processes and calls find it."""
    if tools.torch_python is None:
        raise NotRun("no Python with PyTorch")
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(tools.carried / "inductor"), "TRITON_CACHE_DIR": str(tools.carried / "triton")}
    return shell.run([tools.torch_python, BENCH / "torch_gpu_worker.py", json.dumps(task)], **caches)


def probe(shell, tools):
    done = run_worker(shell, tools, {"probe": True})
    if done.returncode != 0:
        raise Failure(complaint(done))
    return json.loads(done.stdout.splitlines()[-1])


def floor_of(shell, tools, case, rates):
    """Images per second, as rueda counts them."""
    words = [
        "summary", "--model", case.model, "--image-size", case.side, "--batch-per-rank", case.batch, "--precision",
        case.precision, "--roofline", f"{rates[f'{case.precision}_flops_per_second']},{rates['copy_bytes_per_second']}",
    ]  # fmt: skip
    done = shell.run_well(tools.launch(1, "rueda", *words), LD_LIBRARY_PATH=tools.library_path)
    return int(re.search(r"(\d+) images/s at the floor", done.stdout)[1])


def images_of(case, floor_speed):
    """Images of an epoch: whole batches, for about EPOCH_SECONDS."""
    batches = max(4, math.ceil(EPOCH_SECONDS * floor_speed / 2 / case.batch))
    return case.batch * min(batches, TRAIN_IMAGES // case.batch)


def options_of(tools, case, tunes, images, epochs):
    """Of a run that first times the engines that no run before has, or uses what was found."""
    return {
        "model": case.model, "image-size": case.side, "batch-per-rank": case.batch, "precision": case.precision,
        "recompute": case.recompute, "lr": 0.002, "scale-lr": "none", "lr-schedule": "constant", "check-replicas": "off",
        "data-limit": images, "epochs": epochs, "tuning-file": tools.tuning_file, **({"tune-engines": None} if tunes else {}),
    }  # fmt: skip


def run_rueda(shell, tools, case, images, turn):
    """The first turn measures what no case before has measured; the second uses it."""
    label = f"bench-{case.model}-{case.side}-{case.batch}-{case.precision}-{case.recompute}-{turn}"
    options = options_of(tools, case, turn == 1, images, 2 if tools.rehearsal else EPOCHS)
    data = data_set(shell, tools, 100 if tools.rehearsal else TRAIN_IMAGES)
    record = train(shell, tools, 1, label, {**options, "data": data})
    return {
        "images_per_second": record["summary"]["steady_images_per_second"],
        "peak_memory_bytes": record["ranks"][0]["memory_bytes"],
        "startup_seconds": record["summary"]["startup_seconds"],
        "first_loss": record["epochs"][0]["loss"],
        "last_loss": record["epochs"][-1]["loss"],
    }


def run_torch(shell, tools, case):
    """Variant to its report. A worker that dies leaves the reports of the variants before."""
    try:
        done = run_worker(shell, tools, vars(case))
        output, why = done.stdout, complaint(done)
    except Failure as failure:
        output, why = (failure.data or {}).get("output", ""), str(failure)
    reports = {}
    for line in output.splitlines():
        if line.startswith('{"variant"'):
            report = json.loads(line)
            reports[f"torch-{report.pop('variant')}"] = report
    return {f"torch-{name}": {"failure": why} for name in case.variants} | reports


def together(runs):
    """One figure of two runs, before and after the others, so that drift affects all."""
    speeds = [run["images_per_second"] for run in runs]
    return {**runs[-1], "images_per_second": fmean(speeds), "runs": speeds}


def compare(shell, tools, case):
    require(tools, 1)
    rates = rates_of(tools.results, tools.device)
    best = floor_of(shell, tools, case, rates)
    images = 2 * case.batch if tools.rehearsal else images_of(case, best)
    contestants, runs, failure = {}, [], None
    most = replace(shell, deadline=(2 * shell.deadline + monotonic()) / 3)  # if it hangs, PyTorch still runs
    try:
        runs.append(run_rueda(most, tools, case, images, 1))
    except Failure as why:
        failure = why
    # Time for rueda's second turn is kept back.
    others = replace(shell, deadline=shell.deadline - 15)
    with suppress(NotRun):
        contestants.update(run_torch(others, tools, case) if case.variants else {})
    if failure is None or tools.tuning_file.exists():  # also after too short a time to time all engines
        try:
            runs.append(run_rueda(shell, tools, case, images, 2))
        except Failure as why:
            failure = failure or why
    if runs:
        contestants["rueda"] = together(runs)
    data = {"case": vars(case), "floor_images_per_second": best, "rates_measured": rates["measured"]}
    data["contestants"] = add_shares(dict(sorted(contestants.items())), best)
    if failure is not None:
        raise Failure(f"rueda: {failure}", data)
    return data


def add_shares(contestants, best):
    """To each figure its share of the floor, and how much faster rueda is."""
    own = contestants.get("rueda", {})
    for name, figure in contestants.items():
        if "failure" in figure:
            continue
        figure["share_of_floor"] = figure["images_per_second"] / best
        if own and name != "rueda":
            figure["rueda_is_times_as_fast"] = own["images_per_second"] / figure["images_per_second"]
            figure["rueda_memory_ratio"] = own["peak_memory_bytes"] / figure["peak_memory_bytes"]
    return contestants


def rows_of(record):
    """What the report shows of what `rueda bench all-reduce --json` wrote."""
    return [
        {
            "bytes": one["bytes"], "algorithm": one["algorithm"],
            "milliseconds": 1e3 * one["median_seconds"], "busbw_GBps": one["busbw_GBps"],
        }
        for one in record["results"]
    ]  # fmt: skip


def measure(shell, tools, ranks, transport, algorithms="ring,fixed,mpi"):
    require(tools, ranks)
    sizes = REHEARSAL_WORDS if tools.rehearsal else ("--sizes", SIZES)
    file = Path(shell.folder, f"all-reduce-{ranks}-{transport}.json")
    choice = ("--algorithms", algorithms, "--transport", transport)
    words = tools.launch(ranks, "rueda", *RING_WORDS, *choice, *sizes, "--json", file)
    done = shell.run(words, LD_LIBRARY_PATH=tools.library_path)
    if done.returncode == 2:
        raise NotRun(f"rueda bench of this build: {complaint(done)}")
    if done.returncode != 0:
        raise Failure(complaint(done))
    return {"rows": rows_of(json.loads(file.read_text(encoding="utf-8")))}
