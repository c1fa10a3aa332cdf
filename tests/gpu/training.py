"""Runs `rueda` on the GPU and reads what it wrote down."""

import json
from pathlib import Path

from runner import Failure, NotRun


def require(tools, ranks, program="rueda"):
    if tools.programs[program] is None:
        raise NotRun(f"no program {program}")
    if ranks > 1 and tools.mpirun is None:
        raise NotRun("no mpirun")


def train(shell, tools, ranks, label, options):
    """run.json of a run of as many ranks on the one GPU. `options`: name to value; None for a flag."""
    require(tools, ranks)
    run_dir = Path(shell.folder, label)
    every = {
        "backend": "cuda", "allow-shared-gpu": None, "data": "synthetic", "eval-every": 0,
        "progress": "off", "overwrite": None, "run-dir": run_dir, **options,
    }  # fmt: skip
    words = [word for name, value in every.items() for word in option_words(name, value)]
    shell.run_well(tools.launch(ranks, "rueda", "train", *words), LD_LIBRARY_PATH=tools.library_path)
    return read_record(run_dir)


def data_set(shell, tools, images):
    """A folder with so many training images, drawn once: `--data synthetic` has 5,000."""
    folder = Path(shell.folder, f"data-{images}")
    if not folder.exists():
        words = ["synth", "--out", folder, "--format", "bin", "--train", images, "--test", 100]
        shell.run_well(tools.launch(1, "rueda", *words), LD_LIBRARY_PATH=tools.library_path)
    return folder


def option_words(name, value):
    return [f"--{name}"] if value is None else [f"--{name}", str(value)]


def read_record(run_dir):
    try:
        record = json.loads(Path(run_dir, "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(f"no run.json that can be read: {error}") from error
    if record["outcome"] != "completed":
        raise Failure(f"the run's outcome is '{record['outcome']}'")
    return record


def parameter_hash(record):
    return record["epochs"][-1]["parameter_hash"]
