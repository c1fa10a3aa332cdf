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
import expected  # noqa: E402
from calls import CALLS, PARTS, every_call  # noqa: E402
from gpu_watch import GpuWatch  # noqa: E402
from report import as_markdown, summary_line  # noqa: E402
from runner import FAILED, PASSED, Failure, Shell, run_items, slug  # noqa: E402
from tools import find_tools, prepare_network, versions  # noqa: E402

PACK_MINUTES = 0.25  # of a call's, kept for the archive
ABOUT_SECONDS = 30
REHEARSAL_PATIENCE = 10


def parse_arguments():
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__.splitlines()[0])
    numbered = "; ".join(f"{number}: {call.what}" for number, call in CALLS.items())
    minutes = ", ".join(f"{number}: {call.minutes}" for number, call in CALLS.items())
    parser.add_argument("call", nargs="?", choices=CALLS, help=f"{numbered}; without a number: all")
    parser.add_argument("--minutes", type=float, help=f"after which nothing runs any more [{minutes}; all: their sum]")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run [%(default)s]")
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of reports and logs [%(default)s]")
    parser.add_argument("--with", dest="carried", metavar="ARCHIVE", help="gpu-check-carry.tar.xz of an earlier call")
    parser.add_argument("--resume", metavar="FILE", help="earlier report (JSON) whose passed steps are kept, not run")
    parser.add_argument("--programs", metavar="DIR", help="folder with rueda and its test programs")
    parser.add_argument("--rehearsal", action="store_true",
                        help="tiny networks and buffers: tries this script, measures nothing")  # fmt: skip
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} is not one of {', '.join(PARTS)}")
    chosen = chosen_call(arguments)
    arguments.minutes = chosen.minutes if arguments.minutes is None else arguments.minutes
    if not arguments.minutes > 0:
        parser.error("--minutes is a number above 0")
    return arguments


def chosen_call(arguments):
    return CALLS[arguments.call] if arguments.call else every_call()


def steps_of(arguments, call, rehearsal):
    """Those of the parts that were asked for. A rehearsal has time: a stand-in computes slowly."""
    parts = arguments.only.split(",")
    chosen = [one for one in [*call.steps, *call.more] if one.part in parts]
    return [replace(one, limit=one.limit * REHEARSAL_PATIENCE) for one in chosen] if rehearsal else chosen


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
    if tools.programs["rueda"] is None:
        return {"rueda": "not there"}
    named = {}
    with suppress(OSError, Failure):
        named = versions(shell, tools)
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


def write(base, call, about, results):
    """Both reports, `base`.json and `base`.md."""
    rates = bench_part.rates_of(results, about["device"])
    judged = expected.judged(call, about["device"], about["rehearsal"], results)
    report = json.dumps({"about": about, "rates": rates, "results": results, "expected": judged}, indent=1) + "\n"
    for ending, text in ((".json", report), (".md", as_markdown(about, results, rates, judged))):
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
        return (f"{archive}, with engines timed on {others}: not used on this {tools.device}, on which they are timed "
                "again")
    return f"{archive}, no engines timed on this kind of GPU"


def read_report(file):
    """Of an earlier call: the kind of GPU, and the steps that passed."""
    report = json.loads(Path(file).read_text(encoding="utf-8"))
    return report["about"]["device"], [one for one in report["results"] if one["status"] == PASSED]


def run_steps(items, end, tools, folder, watch, after_each):
    """`watch`: what notes the GPU's clocks beside each step, or None."""

    def noted(results):
        if watch:
            results[-1]["gpu"] = watch.take()
        after_each(results)

    if watch:
        watch.start()
    try:
        run_items(items, end, tools, folder, noted)
    finally:
        if watch:
            watch.end()


def check(arguments, tools, before, folder):
    """All of a call. The report is rewritten after each step."""
    number, call, begin = arguments.call, chosen_call(arguments), monotonic()
    tools.logs.mkdir(exist_ok=True)
    base = tools.out / "-".join(filter(None, ("gpu-check", number)))
    loopback = prepare_network(tools)
    about = describe(tools, Shell(begin + ABOUT_SECONDS, folder, tools.logs / "about.txt"))
    about["loopback"] = loopback
    tools.device = about["device"]
    about["carried"] = choose_tuning(tools, about["versions"].get("cuDNN", "unknown"), arguments.carried or "nothing")
    print(f"GPU: {tools.device}; taken along: {about['carried']}", file=sys.stderr)
    device, kept = before
    if kept and device != tools.device:
        about["resumed"] = f"{arguments.resume} is of {device}, and this is {tools.device}: all steps run again."
        kept = []
    done = {(one["part"], one["name"]) for one in kept}
    items = [one for one in steps_of(arguments, call, tools.rehearsal) if (one.part, one.name) not in done]

    def after_each(new):
        tools.results[:] = kept + new
        write(base, number, about, tools.results)

    after_each([])
    watch = GpuWatch(tools.nvidia_smi, tools.out / "gpu.csv") if call.watched else None
    run_steps(items, begin + 60 * (arguments.minutes - PACK_MINUTES * call.keeps), tools, folder, watch, after_each)
    if call.keeps:
        about["packed"] = carry.pack(tools.carried, tools.out / "gpu-check-carry.tar.xz")
        write(base, number, about, tools.results)
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
