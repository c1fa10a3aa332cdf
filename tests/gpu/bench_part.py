"""Training images per second of rueda, alone or taking turns with PyTorch on the same GPU; peak memory; the share of
the floor that follows from the rates measured in the same call. And rueda with one thing changed: without CUDA graphs,
with kernels in turn, on PyTorch's cuDNN."""

import json
import math
import re
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from time import monotonic

from cases import options_of, steps_of
from runner import Failure, NotRun, complaint, slug
from tools import data_set, require, require_torch, torch_cudnn, train, versions

BENCH = Path(__file__).resolve().parents[1] / "bench"
# Of an H100 and an H200, where PyTorch is not there to measure them. A product in TF32 is half as fast as in bf16.
ASSUMED_PRODUCTS = {"bf16_flops_per_second": 790e12, "tf32_flops_per_second": 395e12}
ASSUMED_COPIES = {"H100": 3.0e12, "H200": 4.3e12}
TRAIN_IMAGES = 50_000
EPOCHS = 3
EPOCH_SECONDS = 0.6  # at half of the floor: an epoch is long against the clock and short against the budget
LAST_TURN_SECONDS = 25  # of a step's limit, kept for rueda's last turn
SPEEDS = re.compile(r"(\d+) images/s at the floor, (\d+) by the plan")


def rates_of(results, device):
    """What the probe measured, if it did, else assumptions; of another GPU they are those of an H200."""
    for result in results:
        if result["part"] == "bench" and result["name"] == "rates" and result["status"] == "passed":
            return {**result["data"], "measured": True}
    copy = next((rate for name, rate in ASSUMED_COPIES.items() if name in device), ASSUMED_COPIES["H200"])
    return {**ASSUMED_PRODUCTS, "copy_bytes_per_second": copy, "measured": False}


def run_worker(shell, tools, script, *words):
    """A script of PyTorch's; what it compiles lies where later processes and calls find it."""
    require_torch(tools)
    folders = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
    caches = {variable: str(tools.carried / folder) for variable, folder in folders.items()}
    return shell.run([tools.torch_python, BENCH / script, *words], **caches)


def probe(shell, tools):
    done = run_worker(shell, tools, "torch_gpu_worker.py", json.dumps({"probe": True}))
    if done.returncode != 0:
        raise Failure(complaint(done))
    return json.loads(done.stdout.splitlines()[-1])


def probe_levers(shell, tools):
    """What parts of a step would gain from changes that rueda has not, in PyTorch."""
    done = run_worker(shell, tools, "torch_levers.py")
    if done.returncode != 0:
        raise Failure(complaint(done))
    return json.loads(done.stdout.splitlines()[-1])


def roofline(shell, tools, case):
    """What rueda says of a step at the rates of a product and a copy, and whether these were measured."""
    case, rates = case.sized(tools), rates_of(tools.results, tools.device)
    words = [
        "summary", "--model", case.model, "--image-size", case.side, "--batch-per-rank", case.batch, "--precision",
        case.precision, "--roofline", f"{rates[f'{case.precision}_flops_per_second']},{rates['copy_bytes_per_second']}",
    ]  # fmt: skip
    done = shell.run_well(tools.launch(1, "rueda", *words), LD_LIBRARY_PATH=tools.library_path)
    return done.stdout, rates["measured"]


def images_of(tools, case, floor_speed):
    """Images of an epoch: whole batches, for about EPOCH_SECONDS."""
    if tools.rehearsal:
        return steps_of(tools, case, 2)
    batches = max(4, math.ceil(EPOCH_SECONDS * floor_speed / 2 / case.batch))
    return case.batch * min(batches, TRAIN_IMAGES // case.batch)


def run_rueda(shell, tools, case, images, turn, tunes=False, **environment):
    label = f"bench-{slug(case.name)}-{turn}"
    options = options_of(tools, case, images, 2 if tools.rehearsal else EPOCHS, tunes)
    data = data_set(shell, tools, 100 if tools.rehearsal else TRAIN_IMAGES)
    record = train(shell, tools, 1, label, {**options, "data": data}, **environment)
    return {
        "images_per_second": record["summary"]["steady_images_per_second"],
        "peak_memory_bytes": record["ranks"][0]["memory_bytes"],
        "startup_seconds": record["summary"]["startup_seconds"],
        "first_loss": record["epochs"][0]["loss"],
        "last_loss": record["epochs"][-1]["loss"],
    }


def together(runs):
    """One figure of several runs, with each run's."""
    speeds = [run["images_per_second"] for run in runs]
    return {**runs[-1], "images_per_second": fmean(speeds), "runs": speeds}


def model_of(shell, tools, case):
    """What a case's report begins with, and the images of an epoch."""
    said, measured = roofline(shell, tools, case)
    floor, plan = map(int, SPEEDS.search(said).groups())
    data = {"case": asdict(case), "floor_images_per_second": floor, "plan_images_per_second": plan}
    return {**data, "rates_measured": measured}, images_of(tools, case, floor)


def timed_engines(tools):
    """Kinds of work in the tuning file."""
    if not tools.tuning_file.exists():
        return 0
    return len(json.loads(tools.tuning_file.read_text(encoding="utf-8")).get("seconds", {}))


def measure_goal(shell, tools, case):
    """The first turn times the engines that no case before has timed. If it takes too long, the file has what was
    timed, and the next turn trains with that."""
    require(tools, 1)
    data, images = model_of(shell, tools, case)
    runs, failure = [], None
    for turn in range(1, case.turns + 1):
        last = turn == case.turns
        within = shell if last else replace(shell, deadline=shell.deadline - LAST_TURN_SECONDS)
        try:
            runs.append(run_rueda(within, tools, case, images, turn, tunes=turn == 1))
        except Failure as why:
            failure = failure or why
    data["kinds of work timed"] = timed_engines(tools)
    data["contestants"] = with_shares({"rueda": together(runs)} if runs else {}, data)
    if failure is not None:
        raise Failure(f"rueda: {failure}; {data['kinds of work timed']} kinds of work are timed and stay so", data)
    return data


def run_torch(shell, tools, case):
    """Variant to its report. A worker that dies leaves the reports of the variants before."""
    task = {name: value for name, value in asdict(case).items() if name != "turns"}
    try:
        done = run_worker(shell, tools, "torch_gpu_worker.py", json.dumps(task))
        output, why = done.stdout, complaint(done)
    except Failure as failure:
        output, why = (failure.data or {}).get("output", ""), str(failure)
    reports = {}
    for line in output.splitlines():
        if line.startswith('{"variant"'):
            report = json.loads(line)
            reports[f"torch-{report.pop('variant')}"] = report
    return {f"torch-{name}": {"failure": why} for name in case.variants} | reports


def compare(shell, tools, case):
    """rueda, PyTorch, rueda: drift affects both. Failed if rueda is, or if no variant of PyTorch ran."""
    require(tools, 1)
    require_torch(tools)
    data, images = model_of(shell, tools, case)
    runs, failures = [], []
    first = replace(shell, deadline=(2 * monotonic() + shell.deadline) / 3)  # if it hangs, PyTorch still runs
    others = replace(shell, deadline=shell.deadline - LAST_TURN_SECONDS)

    def take_turn(within, turn):
        try:
            runs.append(run_rueda(within, tools, case, images, turn))
        except Failure as why:
            failures.append(f"rueda: {why}")

    take_turn(first, 1)
    contestants = run_torch(others, tools, case)
    take_turn(shell, 2)
    if all("failure" in one for one in contestants.values()):
        failures += [f"{name}: {one['failure']}" for name, one in contestants.items()]
    if runs:
        contestants["rueda"] = together(runs)
    data["contestants"] = with_shares(dict(sorted(contestants.items())), data)
    data["engines timed"] = tools.tuning_file.exists()
    if failures:
        raise Failure("; ".join(failures), data)
    return data


def with_shares(contestants, data):
    """To each figure its share of the floor, and how much faster rueda is."""
    own = contestants.get("rueda", {})
    for name, figure in contestants.items():
        if "failure" in figure:
            continue
        figure["share_of_floor"] = figure["images_per_second"] / data["floor_images_per_second"]
        if own and name != "rueda":
            figure["rueda_is_times_as_fast"] = own["images_per_second"] / figure["images_per_second"]
            figure["rueda_memory_ratio"] = own["peak_memory_bytes"] / figure["peak_memory_bytes"]
    return contestants


def hidden(results, case, step):
    """Microseconds by which a step of `step` microseconds is shorter than its kernels one after another, if ncu has
    measured these: some run beside others."""
    for result in results:
        if result["name"] == f"kernels of {case.name}" and result["status"] == "passed":
            return result["data"]["kinds"]["all"]["microseconds"] - step
    return None


def with_and_without(shell, tools, case, variable):
    """On, off, on: what a step gains by what the variable turns off."""
    data, images = model_of(shell, tools, case)
    speeds = [
        run_rueda(shell, tools, case, images, turn, **{variable: state})["images_per_second"]
        for turn, state in enumerate(("on", "off", "on"))
    ]
    mean, batch = (speeds[0] + speeds[2]) / 2, case.sized(tools).batch
    data["images_per_second"] = {"on": [speeds[0], speeds[2]], "off": speeds[1]}
    data["microseconds saved"] = 1e6 * batch * (1 / speeds[1] - 1 / mean)
    data["microseconds less than its kernels"] = hidden(tools.results, case, 1e6 * batch / mean)
    return {**data, "on_is_times_as_fast": mean / speeds[1]}


def on_torch_cudnn(shell, tools, case):
    """rueda on its cuDNN, on PyTorch's, on its own; each with engines of its own that were timed."""
    folder = torch_cudnn(shell, tools)
    other = replace(tools, library_path=":".join(filter(None, [str(folder), tools.library_path])))
    own_version, version = (versions(shell, one).get("cuDNN", "unknown") for one in (tools, other))
    if version == own_version:
        raise NotRun(f"rueda runs on cuDNN {version} either way")
    tuning = Path(tools.carried, "tuning", f"{slug(tools.device)}-cuDNN-{version}.json")
    other = replace(other, tuning_file=tuning)
    data, images = model_of(shell, tools, case)
    run_rueda(shell, other, case, images, 0, tunes=True)
    turns = enumerate((tools, other, tools), 1)
    speeds = [run_rueda(shell, one, case, images, turn)["images_per_second"] for turn, one in turns]
    data["images_per_second"] = {own_version: [speeds[0], speeds[2]], version: speeds[1]}
    return {**data, "other_is_times_as_fast": 2 * speeds[1] / (speeds[0] + speeds[2])}
