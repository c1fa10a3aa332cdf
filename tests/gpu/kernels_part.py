"""Where the time of a step goes: what each kernel of one step takes and moves, by Nsight Compute; each layer by rueda's
own clock; and whether plans that a start has kept spare the next one their compilation."""

import csv
import json
import re
from pathlib import Path

import bench_part
from cases import options_of, steps_of
from runner import Failure, NotRun, slug, text_of
from tools import train

WORST = 12  # passes of layers
DURATION, READ, WRITTEN = METRICS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum")
# The first step of the epoch by its NVTX range: what comes before it, as the trial of each plan, is not counted. It is
# not yet a CUDA graph. The clocks stay as they are, and the caches as the kernel before left them.
STEP = "step 1/"  # a range that is pushed and popped is named with a slash
NCU_WORDS = (
    "--nvtx", "--nvtx-include", STEP, "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS),
    "--target-processes", "all", "--clock-control", "none", "--cache-control", "none",
)  # fmt: skip
# A kernel is of the first kind whose pattern is in its name.
KINDS = (
    ("dense layer", r"cublas|sgemm|gemv|scal_kernel|multiply_rows"),
    ("beside convolutions", r"split_k_kernel|ReduceSplitK|init_device_workspace"),
    ("convolutions", r"fprop|dgrad|wgrad|convFwd|convBwd|ImplicitGemmConvolution|cudnn"),
    ("batch norm: statistics", r"StatisticsSums"),
    ("batch norm: apply", r"\bApply<"),
    ("batch norm: gradient sums", r"GradientSums"),
    ("batch norm: input gradient", r"InputGradient"),
    ("update", r"SgdUpdate|update_slices"),
    ("all others", ""),
)


def kernels_in(text):
    """A row of each kernel in what ncu writes, between lines that begin with == and after a row of units."""
    return list(csv.DictReader(line for line in text.splitlines() if line.startswith('"')))[1:]


def kind_of(name):
    return next(kind for kind, pattern in KINDS if re.search(pattern, name))


def number(text):
    return float(text.replace(",", ""))


def by_kind(rows):
    """Launches, microseconds and MB of each kind and of all."""
    sums = {kind: {"launches": 0, "microseconds": 0.0, "MB": 0.0} for kind in [kind for kind, _ in KINDS] + ["all"]}
    for row in rows:
        for kind in (kind_of(row["Kernel Name"]), "all"):
            sums[kind]["launches"] += 1
            sums[kind]["microseconds"] += number(row[DURATION]) / 1e3
            sums[kind]["MB"] += (number(row[READ]) + number(row[WRITTEN])) / 1e6
    for one in sums.values():
        one["microseconds a launch"] = one["microseconds"] / one["launches"] if one["launches"] else None
    return sums


def plan_by_kind(text, images):
    """Microseconds of a step, of what `rueda summary --roofline` has for each image: the last column of its first
    table."""
    rows = re.findall(r"^  (\S.*?)  +\d+ .* (\S+)$", text.partition("\n\n")[0], re.MULTILINE)
    return {kind: images * float(plan) for kind, plan in rows}


def count_kernels(shell, tools, case):
    """ncu's rows of a step stay in kernels-CASE.csv. Beside their sums stands rueda's plan."""
    if tools.ncu is None:
        raise NotRun("no ncu")
    file = tools.out / f"kernels-{slug(case.name)}.csv"
    options = options_of(tools, case, steps_of(tools, case, 1), 1)
    try:
        train(shell, tools, 1, "kernels", options, [tools.ncu, "--log-file", file, *NCU_WORDS])
    except Failure as failure:
        raise Failure(f"{failure}: {text_of(file)[-300:]}", failure.data) from failure
    rows = kernels_in(text_of(file))
    if not rows:
        raise Failure(f"ncu saw no kernel in the range {STEP}: {text_of(file)[-300:]}")
    plan = plan_by_kind(bench_part.roofline(shell, tools, case)[0], steps_of(tools, case, 1))
    return {"kinds": by_kind(rows), "plan": plan, "engines timed": "tuning-file" in options}


def time_layers(shell, tools, case):
    """What rueda measures of each layer in the last five of 7 steps, call by call, into layers-CASE.json; the worst."""
    options = {**options_of(tools, case, steps_of(tools, case, 7), 1), "profile-layers": None}
    profile = train(shell, tools, 1, "layers", options)["profile"]
    text = json.dumps(profile, indent=1) + "\n"
    Path(tools.out, f"layers-{slug(case.name)}.json").write_text(text, encoding="utf-8")
    passes = profile["passes"]
    lost = sorted(passes, key=lambda one: (one["roof_seconds"] or 0) - one["seconds"])
    worst = {f"{one['layer']}, {one['pass']}": 1e6 * one["seconds"] for one in lost[:WORST]}
    return {"passes": len(passes), "microseconds": 1e6 * sum(one["seconds"] for one in passes), "worst": worst}


def keep_plans(shell, tools, case):
    """Two starts, of which the first keeps its plans: does that spare the second its compilation?"""
    plans = tools.carried / "plans"
    plans.mkdir(exist_ok=True)
    kept = {**options_of(tools, case, steps_of(tools, case, 1), 1), "plan-cache": plans, "log-level": "debug"}
    starts = [train(shell, tools, 1, f"kept-{turn}", kept)["summary"]["startup_seconds"] for turn in (1, 2)]
    return {"plans kept": len(list(plans.iterdir())), "seconds of a start that keeps plans, then reads them": starts}
