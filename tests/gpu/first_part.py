# Does it live: the smoke run, and what is known of the GPU.

import json
import os
from dataclasses import replace
from time import monotonic

from runner import Failure, tail, text_of
from tests_part import REHEARSAL_RUN, SANITIZER_WORDS, SMALL_RUN
from tools import require, train

# A run takes 2 or 3 s; the first time, the machine has not yet read its libraries. What watches takes longer.
FIRST_SECONDS, ATTEMPT_SECONDS, WATCHED_SECONDS = 30, 10, 30
REHEARSAL_SECONDS = 300
SMOKE_STEPS = 4  # the second is recorded as a CUDA graph, the others replay it
WORKS = "it works"
# Name and environment. What works with one of the first serves all that follows; the others tell why nothing does.
SERVING = {
    "as it is": {}, "once more": {}, "kernels in turn": {"RUEDA_CUDA_PDL": "off"},
    "without CUDA graphs": {"RUEDA_CUDA_GRAPHS": "off"},
}  # fmt: skip
TELLING = {"CUDA_LAUNCH_BLOCKING": {"CUDA_LAUNCH_BLOCKING": "1"}, "compute-sanitizer": {}}


def smoke(shell, tools):
    """The loss of a few steps. If they fail, they are tried again, which tells a slow start from a fault, then with
    kernels that wait for the end of the one before, then without CUDA graphs. What works so serves all else. If nothing
    does, they are tried with what may tell why."""
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
    seconds = seconds_of(name, tools)
    short = replace(shell, deadline=min(shell.deadline, monotonic() + seconds))
    return train(short, tools, 1, "smoke", options, prefix, **environment)


def seconds_of(attempt, tools):
    if tools.rehearsal:
        return REHEARSAL_SECONDS
    return {"as it is": FIRST_SECONDS, "compute-sanitizer": WATCHED_SECONDS}.get(attempt, ATTEMPT_SECONDS)


def ask_properties(shell, tools):
    """As cuDNN describes the GPU: with this it makes plans for it on any machine."""
    require(tools, 1, "cuda")
    said = shell.run_well([tools.programs["cuda"], "[properties]"], LD_LIBRARY_PATH=tools.library_path).stdout
    text = said[said.find("{") : said.rfind("}") + 1]
    (tools.out / "device-properties.json").write_text(text + "\n", encoding="utf-8")
    return json.loads(text)
