#!/usr/bin/env python3
"""Times training steps of rueda, PyTorch and Keras on the same cores, taking turns.

Run it by jobs/bench_frameworks.sh; docs/benchmarks.md says what is measured and by which rules.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import as_markdown, describe_machine, summarise

HERE = Path(__file__).resolve().parent
CASES = ("resnet18@32:64", "resnet50v2@128:16")
LEARNING_RATE = 0.002  # small enough that every contestant's loss falls from pass to pass
MOMENTUM = 0.9

# In the order of their turns. `layout` is that of the images and activations in memory.
CONTESTANTS = {
    "rueda": {"framework": "rueda", "ranks": 1},
    "rueda-2-ranks": {"framework": "rueda", "ranks": 2},
    "torch": {"framework": "torch", "layout": "contiguous"},
    "torch-channels-last": {"framework": "torch", "layout": "channels_last"},
    "torch-compile": {"framework": "torch", "layout": "channels_last", "compile": True},
    "keras": {"framework": "keras"},
}


class UsageError(Exception):
    """What the caller has to change; one line."""


def python_of(framework):
    """The interpreter that has the framework, or None."""
    if framework == "rueda":
        return sys.executable
    given = os.environ.get(f"RUEDA_{framework.upper()}_PYTHON")
    candidate = given or HERE.parents[1] / "build-parity" / framework / "bin" / "python"
    return str(candidate) if os.access(candidate, os.X_OK) else None


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


def chosen_names(text, with_compile):
    """The contestants to run, each of them able to."""
    every = [name for name, one in CONTESTANTS.items() if with_compile or not one.get("compile")]
    names = text.split(",") if text else every
    for name in names:
        if name not in CONTESTANTS:
            raise UsageError(f"contestant '{name}' is not known: give some of {', '.join(CONTESTANTS)}")
        framework = CONTESTANTS[name]["framework"]
        if python_of(framework) is None:
            raise UsageError(
                f"there is no Python with {framework} for contestant '{name}': set "
                f"RUEDA_{framework.upper()}_PYTHON to one, or have jobs/check/parity.sh install it below "
                "build-parity/, or leave it out with --contestants"
            )
    return names


def draw_images(binary, folder, count):
    """A synthetic data set in CIFAR-10's binary version; its five files are equally long."""
    command = [binary, "synth", "--out", folder, "--format", "bin", "--train", str(count + -count % 5)]
    done = subprocess.run([*command, "--test", "10"], stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise UsageError(f"{binary} synth drew no images in {folder}; it says why above")


def run_once(name, task):
    """The report of a fresh process: seconds and loss of each step, versions; or what went wrong."""
    framework = CONTESTANTS[name]["framework"]
    # Every thread pool that reads the environment gets the same number of threads.
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    done = subprocess.run(
        [python_of(framework), str(HERE / f"{framework}_worker.py"), json.dumps(task)],
        env={**os.environ, **dict.fromkeys(pools, str(task["threads"]))},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    said = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
    return {"failure": f"exit code {done.returncode}: {said[-1].strip()}", "stderr": done.stderr}


def run_rounds(names, case, precision, settings, rounds):
    """Reports by contestant. They take turns, so that changes of the machine affect all."""
    reports = {name: [] for name in names}
    for turn in range(1, rounds + 1):
        for name in names:
            if any("failure" in report for report in reports[name]):
                continue
            options = {key: CONTESTANTS[name].get(key) for key in ("ranks", "layout", "compile")}
            report = run_once(name, {**case, **settings, **options, "precision": precision})
            reports[name].append(report)
            outcome = report.get("failure") or f"last loss {report['losses'][-1]:.4f}"
            print(f"{case['model']} {precision} round {turn} {name}: {outcome}", file=sys.stderr)
            if "failure" in report:
                print(report["stderr"], file=sys.stderr)
    return reports


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="build/rueda", help="rueda [%(default)s]")
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher of its ranks [%(default)s]")
    parser.add_argument("--case", action="append", metavar="MODEL@SIDE:BATCH",
                        help=f"may be given again [{' '.join(CASES)}]")  # fmt: skip
    parser.add_argument("--precisions", default="fp32,bf16", help="[%(default)s]")
    parser.add_argument("--contestants", default="", help=f"some of {','.join(CONTESTANTS)}")
    parser.add_argument("--compile", action="store_true", help="with torch.compile, which is slow to start")
    parser.add_argument("--cores", default="", help="cores to run on, as 0-3,8 [all]")
    parser.add_argument("--rounds", type=int, default=5, help="processes per contestant [%(default)s]")
    parser.add_argument("--batches", type=int, default=5, help="batches of images [%(default)s]")
    parser.add_argument("--passes", type=int, default=5,
                        help="passes over them; the first is not counted [%(default)s]")  # fmt: skip
    parser.add_argument("--out", default="", metavar="FILE", help="JSON with every step")
    return parser.parse_args()


def run_case(arguments, names, case, settings):
    with tempfile.TemporaryDirectory(prefix="rueda-bench-") as folder:
        draw_images(arguments.binary, folder, arguments.batches * case["batch"])
        for precision in arguments.precisions.split(","):
            task = {**settings, "data": folder}
            reports = run_rounds(names, case, precision, task, arguments.rounds)
            yield {
                **case, "precision": precision,
                "contestants": summarise(reports, case["batch"], arguments.batches),
            }  # fmt: skip


def check(arguments):
    if min(arguments.rounds, arguments.batches, arguments.passes - 1) < 1:
        raise UsageError("--rounds and --batches are at least 1, --passes at least 2")
    if set(arguments.precisions.split(",")) - {"fp32", "bf16"}:
        raise UsageError(f"--precisions '{arguments.precisions}': give fp32, bf16 or fp32,bf16")
    check_binary(arguments.binary)


def run(arguments):
    """Whether every contestant ran to its end."""
    check(arguments)
    cases = [parse_case(text) for text in arguments.case or CASES]
    names = chosen_names(arguments.contestants, arguments.compile)
    machine = describe_machine(take_cores(arguments.cores))
    settings = {
        "threads": len(machine["cores"]), "lr": LEARNING_RATE, "momentum": MOMENTUM,
        "batches": arguments.batches, "passes": arguments.passes,
        "binary": str(Path(arguments.binary).resolve()), "mpiexec": arguments.mpiexec,
    }  # fmt: skip
    results = []
    for case in cases:
        for result in run_case(arguments, names, case, settings):
            results.append(result)
            if arguments.out:
                text = json.dumps({"machine": machine, "results": results}, indent=1)
                Path(arguments.out).write_text(text + "\n", encoding="utf-8")
    print(as_markdown(machine, results, vars(arguments)))
    return not any("failure" in one for result in results for one in result["contestants"].values())


def main():
    try:
        return 0 if run(parse_arguments()) else 1
    except UsageError as error:
        print(f"bench_frameworks: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
