#!/usr/bin/env python3
"""Tests and measures rueda on a GPU; run it by jobs/gpu-check.sh. docs/cluster.md says how to read it.

Writes the report after every step, so that nothing is lost when the run ends early. The last line is
"N passed, N failed, N not run"; exit code 1 if anything failed, 2 for bad usage.
"""

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import monotonic

if sys.version_info < (3, 9):
    sys.exit("gpu-check.sh: it needs Python 3.9 or newer, and python3 is older: load a newer one's module")

from dataclasses import replace  # noqa: E402

import bench_part  # noqa: E402
import carry  # noqa: E402
import first_part  # noqa: E402
import tests_part  # noqa: E402
from tools import find_tools, prepare_network  # noqa: E402
from report import as_markdown, summary_line  # noqa: E402
from runner import FAILED, PASSED, Failure, Item, Shell, run_items, slug  # noqa: E402

PARTS = ("smoke", "tune", "tests", "bench", "ring", "sanitizer")
MINUTES = {"A": 6, "B": 9, "C": 7, None: 9}
TUNING_CALLS = ("A", "B")
PACK_MINUTES = 0.25  # of these, kept for the archive
TUNE_SECONDS = 150  # to time the engines of a network; what is not timed by then is left to a later call


# What a call does, in order: whether it lives, then what is worth most.
def steps(call, rehearsal):
    cases = bench_part.rehearsal_cases() if rehearsal else bench_part.cases()
    every = tests_part.REHEARSAL_RANKS if rehearsal else tests_part.RANKS
    smoke = Item("smoke", "smoke", 180, first_part.smoke)
    doctor = Item("tests", "doctor", 60, tests_part.doctor)
    properties = Item("smoke", "device properties", 30, first_part.ask_properties)
    tuned = [
        Item("tune", f"tune {case.name}", TUNE_SECONDS, first_part.tune, (case,), needs=20, after="smoke") for case in cases[:3]
    ]
    compiled = [
        Item("tune", f"compile {case.name}", 150, bench_part.run_torch, (replace(case, variants=case.variants[1:]),),
             after="smoke", group="untimed")
        for case in cases[:3] if "compile" in case.variants
    ]  # fmt: skip
    kernels = Item("tune", "kernels of a step", 100, first_part.count_kernels, (cases[0],), needs=20, after="smoke")
    layers = [
        Item("tune", f"layers of {case.name}", 60, first_part.time_layers, (case,), needs=20, after="smoke")
        for case in (cases[0], cases[2])
    ]
    programs = [
        Item("tests", f"{program} tests", 150, tests_part.run_tests, (1, program), group="untimed")
        for program in ("cuda", "backend_cuda", "parity_cuda")
    ]
    trains = [Item("tests", f"train on {ranks}", 90, tests_part.same_bits, (ranks,)) for ranks in every]
    fixed = Item("tests", "4 ranks equal 4 micro-batches", 60, tests_part.fixed_order)
    mpi = [Item("tests", f"mpi tests on {ranks}", 150, tests_part.run_tests, (ranks, "mpi")) for ranks in every]
    rates = Item("bench", "rates", 60, bench_part.probe, needs=15)
    compared = [Item("bench", case.name, case.limit, bench_part.compare, (case,), needs=20, after="smoke") for case in cases]
    rings = [
        Item("ring", f"all-reduce on {ranks}, {transport}", 60, bench_part.measure, (ranks, transport), needs=10)
        for ranks in every[1:] for transport in bench_part.TRANSPORTS
    ]  # fmt: skip
    rings += [
        Item("ring", f"all-reduce on {ranks}, shared", 60, bench_part.measure, (ranks, "device", "shared"), needs=10)
        for ranks in every[1:]
    ]
    overlap = Item("tests", "overlap on 2", 60, tests_part.overlapped)
    balance = Item("tests", "balance on 2", 60, tests_part.balanced)
    sanitizers = [
        Item("sanitizer", f"{tool} of {program}", 180, tests_part.sanitize, (tool, program), needs=20, group="sanitizer")
        for tool, program in tests_part.SANITIZERS
    ]
    return {
        "A": [smoke, doctor, properties, tuned[0], *programs, *compiled, kernels, layers[0], *tuned[1:], layers[1]],
        "B": [smoke, rates, *compared],
        "C": [smoke, *trains[1:], fixed, *rings, overlap, balance, *sanitizers, *mpi[1:], trains[0], mpi[0]],
        None: [smoke, doctor, trains[0], rates, *compared[:2], *programs, *trains[1:], *mpi, fixed, *rings, *sanitizers,
               *compared[2:]],
    }[call]  # fmt: skip


def parse_arguments():
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__.splitlines()[0])
    parser.add_argument("call", nargs="?", choices=("A", "B", "C"), help="A: does it live; B: speed; C: ranks that "
                        "share the GPU, memory errors; without: a bit of everything")  # fmt: skip
    parser.add_argument("--minutes", type=float, help="after which nothing runs any more [A: 6, B: 9, C: 7, else 9]")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run [%(default)s]")
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of reports and logs [%(default)s]")
    parser.add_argument("--with", dest="carried", metavar="ARCHIVE", help="gpu-check-carry.tar.xz of A or B")
    parser.add_argument("--resume", metavar="FILE", help="earlier report (JSON) whose passed steps are kept, not run")
    parser.add_argument("--programs", metavar="DIR", help="folder with rueda and its test programs")
    parser.add_argument("--rehearsal", action="store_true",
                        help="tiny networks and buffers: tries this script, measures nothing")  # fmt: skip
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} is not one of {', '.join(PARTS)}")
    arguments.minutes = MINUTES[arguments.call] if arguments.minutes is None else arguments.minutes
    if not arguments.minutes > 0:
        parser.error("--minutes is a number above 0")
    return arguments


def lines_of(shell, *words, **environment):
    """What a command prints, or nothing."""
    try:
        return shell.run(words, **environment).stdout.splitlines()
    except (OSError, Failure):
        return []


def output_of(shell, *words):
    """The first line that a command prints, or nothing."""
    return (lines_of(shell, *words) or [""])[0].strip()


def rueda_versions(tools, shell):
    """Of rueda and of the cuDNN that it runs on, which engines depend on."""
    if tools.programs["rueda"] is None:
        return {"rueda": "not there"}
    lines = lines_of(shell, tools.programs["rueda"], "--version", LD_LIBRARY_PATH=tools.library_path)
    named = dict(line.split(maxsplit=1) for line in lines if len(line.split()) > 1)
    return {"rueda": "unknown", **{name: named[name] for name in ("rueda", "cuDNN") if name in named}}


def asked_rueda(tools, shell):
    """How CUDA calls the GPU, where nvidia-smi is not there to say it."""
    if tools.programs["rueda"] is None:
        return ""
    file = Path(shell.folder, "devices.json")
    words = tools.launch(1, "rueda", "doctor", "--backend", "cuda", "--allow-shared-gpu", "--json", file)
    with suppress(OSError, Failure, ValueError, LookupError):
        shell.run(words, LD_LIBRARY_PATH=tools.library_path)
        return json.loads(file.read_text(encoding="utf-8"))["ranks"][0]["device"]["visible"][0]["name"]
    return ""


def describe(tools, shell):
    def asked_smi(what):
        return output_of(shell, "nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader")

    output_of(shell, "nvidia-smi", "-q")  # for the log
    python = tools.torch_python
    torch = "from importlib.metadata import version; print(version('torch'))"
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "device": asked_smi("name") or asked_rueda(tools, shell) or "unknown device",
        "driver": asked_smi("driver_version") or "unknown",
        "clocks": asked_smi("clocks.max.sm,clocks.max.mem,power.limit"),
        "host_cores": len(os.sched_getaffinity(0)),
        "rehearsal": tools.rehearsal,
        "versions": {
            **rueda_versions(tools, shell),
            "Python": platform.python_version(),
            **({"PyTorch": output_of(shell, python, "-c", torch)} if python else {}),
        },
        "programs": {**tools.programs, "mpirun": tools.mpirun, "compute-sanitizer": tools.sanitizer, "ncu": tools.ncu,
                     "Python with PyTorch": python},
    }  # fmt: skip


def write(base, about, results):
    """Both reports, `base`.json and `base`.md."""
    rates = bench_part.rates_of(results, about["device"])
    report = json.dumps({"about": about, "rates": rates, "results": results}, indent=1) + "\n"
    for ending, text in ((".json", report), (".md", as_markdown(about, results, rates))):
        Path(f"{base}.part").write_text(text, encoding="utf-8")
        Path(f"{base}.part").replace(f"{base}{ending}")


def tuned_on(folder):
    """The kinds of GPU on which engines were timed that lie in the folder."""
    found = []
    for file in sorted(folder.glob("*.json")):
        with suppress(OSError, ValueError, LookupError, TypeError):
            tuning = json.loads(file.read_text(encoding="utf-8"))
            found.append(f"{tuning['device']} with cuDNN {tuning['cudnn']}")
    return ", ".join(found)


def choose_tuning(tools, version, archive):
    """The file for this kind of GPU and cuDNN: calls may meet different ones. Says what of `archive` serves here."""
    folder = tools.carried / "tuning"
    folder.mkdir(parents=True, exist_ok=True)
    tools.tuning_file = folder / f"{slug(tools.device)}-cuDNN-{version}.json"
    others = tuned_on(folder)
    if tools.tuning_file.exists():
        return f"{archive}, with engines timed on this kind of GPU"
    if others:
        return f"{archive}, with engines timed on {others}: not used on this {tools.device}, on which they are timed again"
    return f"{archive}, no engines timed on this kind of GPU"


def read_report(file):
    """Of an earlier call: the kind of GPU, and the steps that passed."""
    report = json.loads(Path(file).read_text(encoding="utf-8"))
    return report["about"]["device"], [one for one in report["results"] if one["status"] == PASSED]


# All of a call. The report is rewritten after each step.
def check(arguments, tools, before, folder):
    call, begin = arguments.call, monotonic()
    tools.logs.mkdir(exist_ok=True)
    base = tools.out / "-".join(filter(None, ("gpu-check", call)))
    loopback = prepare_network(tools)
    about = describe(tools, Shell(begin + 30, folder, tools.logs / "about.txt"))
    about["loopback"] = loopback
    tools.device = about["device"]
    about["carried"] = choose_tuning(tools, about["versions"].get("cuDNN", "unknown"), arguments.carried or "nothing")
    print(f"GPU: {tools.device}; taken along: {about['carried']}", file=sys.stderr)
    device, kept = before
    if kept and device != tools.device:
        about["resumed"] = f"{arguments.resume} is of {device}, and this is {tools.device}: all steps run again."
        kept = []
    done = {(one["part"], one["name"]) for one in kept}
    parts = arguments.only.split(",")
    items = [one for one in steps(call, tools.rehearsal) if one.part in parts and (one.part, one.name) not in done]

    def after_each(new):
        tools.results[:] = kept + new
        write(base, about, tools.results)

    after_each([])
    run_items(items, begin + 60 * (arguments.minutes - PACK_MINUTES * (call in TUNING_CALLS)), tools, folder, after_each)
    if call in TUNING_CALLS:
        about["packed"] = carry.pack(tools.carried, tools.out / "gpu-check-carry.tar.xz")
        write(base, about, tools.results)
    print(Path(f"{base}.md").read_text(encoding="utf-8"))


def main():
    arguments = parse_arguments()
    out = Path(arguments.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    tools = find_tools(arguments.programs, arguments.rehearsal, out)
    option = f"--resume {arguments.resume}"
    try:
        before = read_report(arguments.resume) if arguments.resume else ("", [])
        option = f"--with {arguments.carried}"
        if arguments.carried:
            carry.unpack(arguments.carried, tools.carried)
    except Exception as error:  # of whatever kind: both files come from outside
        print(f"gpu-check: {option} can not be used: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="rueda-gpu-check-") as folder:
        check(arguments, tools, before, folder)
    print(summary_line(tools.results))
    return 1 if any(one["status"] == FAILED for one in tools.results) else 0


if __name__ == "__main__":
    sys.exit(main())
