# Does it live: the smoke run, what is known of the GPU, engines that are timed for later calls, and what each kernel of a
# step moves.

import csv
import json
from dataclasses import replace
from time import monotonic

import bench_part
from runner import Failure, NotRun, tail
from tests_part import REHEARSAL_RUN, SANITIZER_WORDS, SMALL_RUN
from tools import require, train

ATTEMPT_SECONDS = 60  # on a machine that has not yet read its libraries
SMOKE_STEPS = 4
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")  # bytes and ns
# A step of ResNet50V2 has some 600. The clocks stay as they are, and the caches as the kernel before left them.
NCU_WORDS = (
    "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS), "--target-processes", "all",
    "--clock-control", "none", "--cache-control", "none", "--launch-count", 1200,
)  # fmt: skip


def smoke(shell, tools):
    """The loss of a few steps. After a failure the same again with what may tell why."""
    log = shell.log.with_name("cudnn.txt")
    watched = {"CUDNN_LOGLEVEL_DBG": "2", "CUDNN_LOGDEST_DBG": str(log)}  # errors and warnings; names since cuDNN 9
    attempts = [("as it is", (), watched), ("CUDA_LAUNCH_BLOCKING", (), {**watched, "CUDA_LAUNCH_BLOCKING": "1"})]
    if tools.sanitizer:
        attempts.append(("compute-sanitizer", (tools.sanitizer, *SANITIZER_WORDS), watched))
    options, failures = dict(REHEARSAL_RUN if tools.rehearsal else SMALL_RUN, epochs=1, precision="bf16"), {}
    del options["deterministic"]  # which some engines are not
    for name, prefix, environment in attempts:
        options["data-limit"] = options["batch-per-rank"] * (1 if prefix else SMOKE_STEPS)
        short = replace(shell, deadline=min(shell.deadline, monotonic() + ATTEMPT_SECONDS))
        try:
            record = train(short, tools, 1, "smoke", options, prefix, **environment)
        except Failure as failure:
            failures[name] = {"why": str(failure), **(failure.data or {})}
            continue
        if not failures:
            return {"loss": record["epochs"][0]["loss"]}
        failures[name] = {"why": "it works"}
        break
    why = "; ".join(f"{name}: {found['why']}" for name, found in failures.items())
    raise Failure(why, {"attempts": failures, "cudnn": tail(text_of(log))})


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
    """Then starts twice more: does a plan that the first start kept spare the second its compilation?"""
    train(shell, tools, 1, "tune", bench_part.options_of(tools, case, True, case.batch, 1))
    seconds = json.loads(text_of(tools.tuning_file))["seconds"]
    plans = tools.carried / "plans"
    plans.mkdir(exist_ok=True)
    kept = {**bench_part.options_of(tools, case, False, case.batch, 1), "plan-cache": plans, "log-level": "debug"}
    starts = [train(shell, tools, 1, f"kept-{turn}", kept)["summary"]["startup_seconds"] for turn in (1, 2)]
    return {"kinds of work": len(seconds), "engines timed": sum(map(len, seconds.values())),
            "plans kept": len(list(plans.iterdir())), "seconds of a start that keeps plans, then reads them": starts}  # fmt: skip


def count_kernels(shell, tools, case):
    """Sums of what Nsight Compute writes of each kernel into kernels.csv: a first step is not yet a CUDA graph."""
    if tools.ncu is None:
        raise NotRun("no ncu")
    file = tools.out / "kernels.csv"
    options = bench_part.options_of(tools, case, not tools.tuning_file.exists(), case.batch, 1)
    try:
        train(shell, tools, 1, "kernels", options, [tools.ncu, "--log-file", file, *NCU_WORDS])
    except Failure as failure:
        raise Failure(f"{failure}: {text_of(file)[-300:]}", failure.data) from failure
    rows = list(csv.DictReader(line for line in text_of(file).splitlines() if line.startswith('"')))[1:]  # first: units
    if not rows:
        raise Failure(f"ncu saw no kernel: {text_of(file)[-300:]}")
    total = {name: sum(float(row[name].replace(",", "")) for row in rows) for name in METRICS}
    return {"kernels": len(rows), **total}
