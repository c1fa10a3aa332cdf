#!/usr/bin/env python3
"""Times training steps of rueda, PyTorch and Keras on the same cores, taking turns.

Run it by jobs/bench_frameworks.sh; docs/bench.md says what is measured and by which rules.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import CEILING, as_markdown, describe_machine, figure

HERE = Path(__file__).resolve().parent
CASES = ("resnet20@32:128", "resnet18@32:64", "resnet50v2@128:16")
LEARNING_RATE = 0.002  # small enough that every contestant's loss falls from pass to pass
MOMENTUM = 0.9

# In the order of their turns. `layout` is that of the images and activations in memory. `ranks` processes
# share cores and batch. `python` is the interpreter where it is not the framework's.
LAST = {"framework": "torch", "layout": "channels_last"}
CONTESTANTS = {
    CEILING: {"framework": "rueda"},  # the convolutions of rueda alone: a bound for all that use such kernels
    "rueda": {"framework": "rueda", "ranks": 1},
    "rueda-2-ranks": {"framework": "rueda", "ranks": 2},
    "torch": {"framework": "torch", "layout": "contiguous"},
    "torch-channels-last": LAST,
    "torch-compile": {**LAST, "compile": True},
    "torch-ddp": {**LAST, "ranks": 2},
    "ipex": {**LAST, "python": "ipex"},
    "keras": {"framework": "keras"},
    "keras-xla": {"framework": "keras", "compile": True},
}
OPTIONS = ("ranks", "layout", "compile", "python")


class UsageError(Exception):
    """What the caller has to change; one line."""


def python_of(framework):
    """The interpreter that has the framework, or None."""
    if framework == "rueda":
        return sys.executable
    given = os.environ.get(f"RUEDA_{framework.upper()}_PYTHON")
    candidate = given or HERE.parents[1] / "build-parity" / framework / "bin" / "python"
    return str(candidate) if os.access(candidate, os.X_OK) else None


def needed_python(name):
    """The contestant's interpreter, as python_of calls it."""
    return CONTESTANTS[name].get("python", CONTESTANTS[name]["framework"])


def check_binary(binary):
    if not Path(binary).is_file():
        raise UsageError(f"{binary} is not there: run jobs/setup.sh, or give --binary")


def parse_case(text):
    """'resnet18@32:64' as model, side of the images and global batch."""
    model, _, rest = text.partition("@")
    side, _, batch = rest.partition(":")
    if not (model and side.isdecimal() and batch.isdecimal() and int(side) * int(batch) > 0):
        raise UsageError(f"case '{text}' is not of the form MODEL@SIDE:BATCH, as resnet18@32:64")
    return {"model": model, "image_size": int(side), "batch": int(batch)}


def parse_cores(text):
    """'0-3,8' as the set of its numbers."""
    cores = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(f"--cores '{text}' is not a list of numbers and ranges, as 0-3,8")
        cores.update(range(int(first), int(last or first) + 1))
    return cores


def take_cores(text):
    """Binds this process, and with it all that it starts, to the cores; returns them."""
    allowed = os.sched_getaffinity(0)
    cores = parse_cores(text) if text else allowed
    if not cores or cores - allowed:
        raise UsageError(f"--cores {text}: this process may use {sorted(allowed)} only")
    os.sched_setaffinity(0, cores)
    return sorted(cores)


def chosen_names(text):
    """The contestants to run, each of them able to; the ceiling first, as all are compared with it."""
    names = text.split(",") if text else [name for name in CONTESTANTS if name != "ipex" or python_of(name)]
    for name in names:
        if name not in CONTESTANTS:
            raise UsageError(f"contestant '{name}' is not known: give some of {', '.join(CONTESTANTS)}")
        if python_of(needed_python(name)) is None:
            raise UsageError(
                f"there is no Python with {needed_python(name)} for contestant '{name}': set "
                f"RUEDA_{needed_python(name).upper()}_PYTHON to one, or have jobs/check/parity.sh install it below "
                "build-parity/, or leave it out with --contestants"
            )
    return list(dict.fromkeys([CEILING, *names]))


def draw_images(binary, folder, count):
    """A synthetic data set in CIFAR-10's binary version; its five files are equally long."""
    command = [binary, "synth", "--out", folder, "--format", "bin", "--train", str(count + -count % 5)]
    done = subprocess.run([*command, "--test", "10"], stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise UsageError(f"{binary} synth drew no images in {folder}; it says why above")


def run_once(name, task):
    """The report of a fresh process: what figures.figure needs, or what went wrong."""
    # Every thread pool that reads the environment gets the same number of threads.
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    threads = str(task["threads"] // (task["ranks"] or 1))
    worker = HERE / f"{CONTESTANTS[name]['framework']}_worker.py"
    done = subprocess.run(
        [python_of(needed_python(name)), str(worker), json.dumps(task)],
        env={**os.environ, **dict.fromkeys(pools, threads)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return figure(json.loads(lines[-1]), task)
    print(done.stderr, file=sys.stderr)
    said = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
    return {"failure": f"exit code {done.returncode}: {said[-1].strip()}"}


def run_rounds(names, task, rounds, reports):
    """Adds to the reports of each contestant. They take turns, so that changes of the machine affect all."""
    # Whatever failed in an earlier call may try again.
    reports |= {name: [one for one in reports.get(name, []) if "failure" not in one] for name in names}
    for turn in range(1, rounds + 1):
        for name in names:
            if any("failure" in report for report in reports[name]):
                continue
            options = {key: CONTESTANTS[name].get(key) for key in OPTIONS}
            report = run_once(name, {**task, **options})
            reports[name].append(report)
            outcome = report.get("failure") or f"{report['images_per_second']:.1f} images/s"
            print(f"{task['model']} {task['precision']} round {turn} {name}: {outcome}", file=sys.stderr)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="build/rueda", help="rueda [%(default)s]")
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher of its ranks [%(default)s]")
    parser.add_argument("--case", action="append", metavar="MODEL@SIDE:BATCH",
                        help=f"may be given again [{' '.join(CASES)}]")  # fmt: skip
    parser.add_argument("--precisions", default="fp32,bf16", help="[%(default)s]")
    parser.add_argument("--contestants", default="", help=f"some of {','.join(CONTESTANTS)}")
    parser.add_argument("--cores", default="", help="cores to run on, as 0-3,8 [all]")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each; 0: report FILE [%(default)s]")
    parser.add_argument("--batches", type=int, default=5, help="batches of images [%(default)s]")
    parser.add_argument("--passes", type=int, default=5,
                        help="passes over them; the first is not counted [%(default)s]")  # fmt: skip
    parser.add_argument("--out", default="", metavar="FILE", help="JSON with every step; rounds add to it")
    return parser.parse_args()


def run_case(arguments, names, settings, reports):
    with tempfile.TemporaryDirectory(prefix="rueda-bench-") as folder:
        draw_images(arguments.binary, folder, arguments.batches * settings["batch"])
        run_rounds(names, {**settings, "data": folder}, arguments.rounds, reports)


def check(arguments):
    if min(arguments.rounds + 1, arguments.batches, arguments.passes - 1) < 1:
        raise UsageError("--batches is at least 1, --passes at least 2")
    if set(arguments.precisions.split(",")) - {"fp32", "bf16"}:
        raise UsageError(f"--precisions '{arguments.precisions}': give fp32, bf16 or fp32,bf16")
    check_binary(arguments.binary)


def run(arguments):
    """Whether every contestant ran to its end."""
    check(arguments)
    cases = [parse_case(text) for text in arguments.case or CASES]
    names = chosen_names(arguments.contestants)
    machine = describe_machine(take_cores(arguments.cores))
    settings = {
        "threads": len(machine["cores"]), "lr": LEARNING_RATE, "momentum": MOMENTUM,
        "batches": arguments.batches, "passes": arguments.passes,
        "binary": str(Path(arguments.binary).resolve()), "mpiexec": arguments.mpiexec,
    }  # fmt: skip
    file = Path(arguments.out)
    results = json.loads(file.read_text(encoding="utf-8"))["results"] if file.is_file() else []
    for case in cases if arguments.rounds else ():
        for precision in arguments.precisions.split(","):
            case = {**case, "precision": precision}
            known = [result for result in results if case.items() <= result.items()]
            result = known[0] if known else {**case, "reports": {}}
            results += [] if known else [result]
            run_case(arguments, names, {**case, **settings}, result["reports"])
            if arguments.out:
                text = json.dumps({"machine": machine, "results": results}, indent=1)
                file.write_text(text + "\n", encoding="utf-8")
    print(as_markdown(machine, results))
    return not any("failure" in one for result in results for of_name in result["reports"].values() for one in of_name)


def main():
    try:
        return 0 if run(parse_arguments()) else 1
    except UsageError as error:
        print(f"bench_frameworks: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
