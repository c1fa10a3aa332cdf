# Does it live: the smoke run, what is known of the GPU, engines that are timed for later calls, and what each kernel of a
# step moves.

import csv
import json
import os
from dataclasses import replace
from pathlib import Path
from time import monotonic

import bench_part
from runner import Failure, NotRun, slug, tail
from tests_part import REHEARSAL_RUN, SANITIZER_WORDS, SMALL_RUN
from tools import require, train

FIRST_SECONDS, ATTEMPT_SECONDS = 60, 30  # the first time, the machine has not yet read its libraries
WORST = 12  # passes of layers
SMOKE_STEPS = 4  # the second is recorded as a CUDA graph, the others replay it
WORKS = "it works"
# Name and environment. What works with one of the first serves all that follows; the others tell why nothing does.
SERVING = {"as it is": {}, "once more": {}, "without CUDA graphs": {"RUEDA_CUDA_GRAPHS": "off"}}
TELLING = {"CUDA_LAUNCH_BLOCKING": {"CUDA_LAUNCH_BLOCKING": "1"}, "compute-sanitizer": {}}
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")  # bytes and ns
# A step of ResNet50V2 has some 600. The clocks stay as they are, and the caches as the kernel before left them.
NCU_WORDS = (
    "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS), "--target-processes", "all",
    "--clock-control", "none", "--cache-control", "none", "--launch-count", 1200,
)  # fmt: skip


def smoke(shell, tools):
    """The loss of a few steps. If they fail, they are tried again, which tells a slow start from a fault, then without
    CUDA graphs. What works so serves all else. If nothing does, they are tried with what may tell why."""
    log = shell.log.with_name("cudnn.txt")
    failures = {}
    for name, environment in {**SERVING, **TELLING}.items():
        if name == "compute-sanitizer" and not tools.sanitizer:
            continue
        try:
            record = try_steps(shell, tools, name, {**environment, **cudnn_log(log)})
        except Failure as failure:
            failures[name] = {"why": str(failure), **(failure.data or {})}
            continue
        if not failures:
            return {"loss": record["epochs"][0]["loss"]}
        failures[name] = {"why": WORKS}
        break
    serves = name in SERVING and failures[name]["why"] == WORKS
    if serves:
        os.environ.update(SERVING[name])
    why = "; ".join(f"{name}: {found['why']}" for name, found in failures.items()) + "; all else runs so" * serves
    raise Failure(why, {"attempts": failures, "cudnn": tail(text_of(log))}, stops=not serves)


def cudnn_log(file):
    """Errors and warnings; the names since cuDNN 9."""
    return {"CUDNN_LOGLEVEL_DBG": "2", "CUDNN_LOGDEST_DBG": str(file)}


def try_steps(shell, tools, name, environment):
    """run.json of a few steps."""
    prefix = (tools.sanitizer, *SANITIZER_WORDS) if name == "compute-sanitizer" else ()
    options = dict(REHEARSAL_RUN if tools.rehearsal else SMALL_RUN, epochs=1, precision="bf16")
    del options["deterministic"]  # which some engines are not
    options["data-limit"] = options["batch-per-rank"] * (1 if prefix else SMOKE_STEPS)
    seconds = FIRST_SECONDS if name == "as it is" else ATTEMPT_SECONDS
    short = replace(shell, deadline=min(shell.deadline, monotonic() + seconds))
    return train(short, tools, 1, "smoke", options, prefix, **environment)


def text_of(file):
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def ask_properties(shell, tools):
    """As cuDNN describes the GPU: with this it makes plans for it on any machine."""
    require(tools, 1, "cuda")
    said = shell.run_well([tools.programs["cuda"], "[properties]"], LD_LIBRARY_PATH=tools.library_path).stdout
    text = said[said.find("{") : said.rfind("}") + 1]
    (tools.out / "device-properties.json").write_text(text + "\n", encoding="utf-8")
    return json.loads(text)


def tune(shell, tools, case):
    """Then starts twice more: does a plan that the first start kept spare the second its compilation? If the time is
    too short, the file has what was timed, and a later try measures the rest."""
    try:
        train(shell, tools, 1, "tune", bench_part.options_of(tools, case, True, case.batch, 1))
    except Failure as failure:
        timed = len(json.loads(text_of(tools.tuning_file) or "{}").get("seconds", {}))
        found = {"kinds of work": timed, **(failure.data or {})}
        raise Failure(f"{failure}; {timed} kinds of work are timed and stay so", found) from failure
    seconds = json.loads(text_of(tools.tuning_file))["seconds"]
    plans = tools.carried / "plans"
    plans.mkdir(exist_ok=True)
    kept = {**bench_part.options_of(tools, case, False, case.batch, 1), "plan-cache": plans, "log-level": "debug"}
    starts = [train(shell, tools, 1, f"kept-{turn}", kept)["summary"]["startup_seconds"] for turn in (1, 2)]
    return {"kinds of work": len(seconds), "engines timed": sum(map(len, seconds.values())),
            "plans kept": len(list(plans.iterdir())), "seconds of a start that keeps plans, then reads them": starts}  # fmt: skip


def time_layers(shell, tools, case):
    """What rueda measures of each layer in the last five of 7 steps, call by call, into layers-CASE.json; the worst."""
    options = {**bench_part.options_of(tools, case, False, 7 * case.batch, 1), "profile-layers": None}
    if not tools.tuning_file.exists():
        del options["tuning-file"]
    profile = train(shell, tools, 1, "layers", options)["profile"]
    text = json.dumps(profile, indent=1) + "\n"
    Path(tools.out, f"layers-{slug(case.name)}.json").write_text(text, encoding="utf-8")
    passes = profile["passes"]
    lost = sorted(passes, key=lambda one: (one["roof_seconds"] or 0) - one["seconds"])
    worst = {f"{one['layer']}, {one['pass']}": 1e6 * one["seconds"] for one in lost[:WORST]}
    return {"passes": len(passes), "microseconds": 1e6 * sum(one["seconds"] for one in passes), "worst": worst}


def count_kernels(shell, tools, case):
    """Sums of what Nsight Compute writes of each kernel into kernels.csv: a first step is not yet a CUDA graph."""
    if tools.ncu is None:
        raise NotRun("no ncu")
    file = tools.out / "kernels.csv"
    options = bench_part.options_of(tools, case, False, case.batch, 1)
    if not tools.tuning_file.exists():
        del options["tuning-file"]  # what is timed would be counted
    try:
        train(shell, tools, 1, "kernels", options, [tools.ncu, "--log-file", file, *NCU_WORDS])
    except Failure as failure:
        raise Failure(f"{failure}: {text_of(file)[-300:]}", failure.data) from failure
    rows = list(csv.DictReader(line for line in text_of(file).splitlines() if line.startswith('"')))[1:]  # first: units
    if not rows:
        raise Failure(f"ncu saw no kernel: {text_of(file)[-300:]}")
    total = {name: sum(float(row[name].replace(",", "")) for row in rows) for name in METRICS}
    return {"kernels": len(rows), **total}
