#!/usr/bin/env python3
"""Tests and measures rueda on a GPU; run it by jobs/gpu-check.sh. docs/cluster.md says how to read it.

Writes gpu-check.json and gpu-check.md after every item, so that nothing is lost when the run ends early.
The last line is "N passed, N failed, N not run"; exit code 1 if anything failed, 2 for bad usage.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_part
import tests_part
from tools import find_tools
from report import as_markdown, summary_line
from runner import FAILED, PASSED, run_items

PARTS = ("tests", "bench", "ring", "sanitizer")  # in the order in which they run


def parse_arguments():
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=9, help="after which nothing runs any more [%(default)s]")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run [%(default)s]")
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of gpu-check.json and .md [%(default)s]")
    parser.add_argument("--resume", metavar="FILE", help="gpu-check.json whose passed items are kept, not run")
    parser.add_argument("--programs", metavar="DIR", help="folder with rueda and its test programs")
    parser.add_argument("--rehearsal", action="store_true",
                        help="tiny networks and buffers: tries this script, measures nothing")  # fmt: skip
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} is not one of {', '.join(PARTS)}")
    if not arguments.minutes > 0:
        parser.error("--minutes is a number above 0")
    return arguments


def output_of(*words):
    """The first line that a command prints, or nothing."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.splitlines() or [""])[0].strip()


def asked_smi(what):
    if not shutil.which("nvidia-smi"):
        return ""
    return output_of("nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader")


def describe(tools):
    rueda = tools.programs["rueda"]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "device": asked_smi("name") or "device unknown (no nvidia-smi)",
        "driver": asked_smi("driver_version") or "unknown",
        "clocks": asked_smi("clocks.max.sm,clocks.max.mem,power.limit"),
        "host_cores": len(os.sched_getaffinity(0)),
        "rehearsal": tools.rehearsal,
        "versions": {
            "rueda": output_of(rueda, "--version").removeprefix("rueda ") if rueda else "not there",
            "Python": platform.python_version(),
        },
        "programs": {**tools.programs, "mpirun": tools.mpirun, "compute-sanitizer": tools.sanitizer,
                     "Python with PyTorch": tools.torch_python},
    }  # fmt: skip


def collect(names, tools, results):
    """The items to run, short and important ones first: whether it lives, figures, then whether all is right."""
    makers = {
        "tests": lambda: tests_part.items(tools), "bench": lambda: bench_part.items(tools, results),
        "ring": lambda: bench_part.ring_items(tools), "sanitizer": lambda: tests_part.sanitizer_items(tools),
    }  # fmt: skip
    items = {part: makers[part]() if part in names else [] for part in PARTS}
    tests, bench, sanitizer = items["tests"], items["bench"], items["sanitizer"]
    return tests[:2] + bench[:3] + tests[2:] + items["ring"] + sanitizer[:1] + bench[3:] + sanitizer[1:]


def passed_before(file):
    if not file:
        return []
    results = json.loads(Path(file).read_text(encoding="utf-8"))["results"]
    return [one for one in results if one["status"] == PASSED]


def write(folder, about, results):
    rates = bench_part.rates_of(results)
    texts = {
        "gpu-check.json": json.dumps({"about": about, "rates": rates, "results": results}, indent=1) + "\n",
        "gpu-check.md": as_markdown(about, results, rates),
    }
    for name, text in texts.items():
        temporary = Path(folder, name + ".part")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(Path(folder, name))


def main():
    arguments = parse_arguments()
    try:
        kept = passed_before(arguments.resume)
    except (OSError, ValueError, KeyError) as error:
        print(f"gpu-check: --resume {arguments.resume} can not be used: {error}", file=sys.stderr)
        return 2
    out = Path(arguments.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    tools = find_tools(arguments.programs, arguments.rehearsal, out)
    about = describe(tools)
    results = list(kept)

    def after_each(new):
        results[:] = kept + new
        write(out, about, results)

    done = {(one["part"], one["name"]) for one in kept}
    items = [
        item for item in collect(arguments.only.split(","), tools, results)
        if (item.part, item.name) not in done
    ]  # fmt: skip
    after_each([])
    with tempfile.TemporaryDirectory(prefix="rueda-gpu-check-") as folder:
        run_items(items, arguments.minutes, folder, after_each)
    print((out / "gpu-check.md").read_text(encoding="utf-8"))
    print(summary_line(results))
    return 1 if any(one["status"] == FAILED for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
