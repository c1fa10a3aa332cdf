"""The options of scale.sh. The command line wins over a preset."""

import argparse
import os
import shutil
from pathlib import Path

import child_process
from common import Fault
from launch import ASKED_SECONDS
from plan import parse_sweep
from presets import DEFAULTS, PRESETS, ROOT

USAGE = "jobs/scale.sh [PRESET] [options] [-- options of rueda train]"

DESCRIPTION = """\
Trains every model on every number of ranks with every batch, several times. Each run has a directory
OUT/runs/NAME (run.json, rueda.log, attempt.json). A study may be interrupted at any time: the same
command again runs only what is not finished.

presets
  book     resnet50v2 and resnet152v2 with the recipes of the book, on 1, 2 and 4 devices
  sa-miri  the same and resnet101v2
  lab5     the runs of book, with the tables of CC-MEI's Lab 5
  nyu      resnet18 with 32, 128, 512 and 2048 images, per rank and in all, on 1, 2 and 4 devices
  cpu      resnet20 and resnet18, 16 images per rank and 64 in all, on 1, 2 and 4 ranks: minutes on
           two cores
"""

EPILOG = """\
A configuration that fails is recorded; the study goes on. Exit codes: 0 the study is done and the report
is made, even if runs failed; 1 no report could be made; 2 bad request, nothing was run; 130 interrupted.

examples
  jobs/scale.sh cpu
  jobs/scale.sh book --out runs/book -- --data data/cifar-10-batches-py
  jobs/scale.sh --models resnet18 --batch-sweep 32x4:oom --ranks-per-node 1,2,4
  RUEDA_SITE=marenostrum5-acc jobs/scale.sh book --submit
"""

# What scale.sh itself gives to rueda train.
OWN_OPTIONS = {
    "--model": "--models",
    "--batch-per-rank": "--batch-per-rank before the --",
    "--global-batch": "--global-batch before the --",
    "--epochs": "--epochs before the --",
    "--threads": "--threads before the --",
    "--config": "--recipe",
    "--run-dir": "--out",
}

# What this program reads from the site file of Slurm jobs, which is bash; submit.sh reads the rest.
SITE_NAMES = ["RUEDA", "RUEDA_CONTAINER", "RUEDA_DATA", "RUEDA_CORES_PER_RANK", "RUEDA_GPUS_PER_NODE"]


def names(text):
    return list(dict.fromkeys(word for word in text.split(",") if word))


def numbers(text):
    words = names(text)
    if not words or not all(word.isdigit() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError("'{}': whole numbers like 1,2,4".format(text))
    return [int(word) for word in words]


def number(text):
    return numbers(text)[0]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Fault("{}; see jobs/scale.sh --help".format(message))


def make_parser():
    parser = Parser(
        prog="jobs/scale.sh", usage=USAGE, description=DESCRIPTION, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    add = parser.add_argument
    add("preset", nargs="?", metavar="PRESET", help="preset of models, ranks and batches: " + ", ".join(PRESETS))
    add("--out", type=Path, default=Path("study"), metavar="DIR", help="directory of the study [study]")
    add("--models", type=names, metavar="A,B", help="networks to train")
    add("--nodes", type=numbers, metavar="1,2", help="numbers of nodes [1]")
    add("--ranks-per-node", type=numbers, metavar="1,2,4", help="numbers of ranks on each node [1]")
    add("--batch-per-rank", type=numbers, metavar="32,128", help="images of each rank in a step (weak scaling)")
    add("--global-batch", type=numbers, metavar="128,512", help="images of all ranks in a step (strong scaling)")
    add("--batch-sweep", type=parse_sweep, metavar="32x4:oom",
        help="32 images per rank, then four times the last batch, until memory is full; or up to a number, "
        "as in 32x4:512")  # fmt: skip
    add("--repeats", type=number, metavar="N", help="number of runs of each configuration")
    add("--epochs", type=number, metavar="N", help="epochs of each run, of which the first is warm-up")
    add("--threads", type=number, metavar="N",
        help="threads of each rank in the whole study [cores of a node / the most ranks that fit on it]")  # fmt: skip
    add("--recipe", metavar="FILE",
        help="recipe of all models; auto: that of jobs/recipes for each model; none: no recipe [auto]")  # fmt: skip
    add("--rueda", metavar="PATH", help="the program [build/rueda, else the one in PATH]")
    add("--launcher", choices=["auto", "mpirun", "srun"], default="auto",
        help="launcher of the ranks; auto: srun in a Slurm allocation, else mpirun [auto]")  # fmt: skip
    add("--mpi-options", type=str.split, default=[], metavar="WORDS",
        help="further options of the launcher, in one word: --mpi-options='--hostfile hosts'")  # fmt: skip
    add("--retry", action="store_true", help="repeats runs that failed")
    add("--dry-run", action="store_true", help="prints the commands and runs nothing")
    add("--submit", action="store_true",
        help="sends a Slurm job for each configuration, and one for the report after them")  # fmt: skip
    add("--site", metavar="FILE",
        help="site file for --submit by a path with a slash, or its name in jobs/slurm/sites [RUEDA_SITE]")  # fmt: skip
    add("--time", default="00:30:00", metavar="LIMIT", help="time limit of each job of --submit [00:30:00]")
    add("--report-only", action="store_true", help="trains nothing, and makes the report of the runs that exist")
    add("--no-plots", action="store_true", help="makes the report without charts")
    add("--only", metavar="NAME", help=argparse.SUPPRESS)  # one series, as --submit names it
    return parser


def find_program(path):
    if os.environ.get("RUEDA_CONTAINER"):
        return path or os.environ.get("RUEDA") or "rueda"  # this script cannot look into the container
    candidates = [path or os.environ.get("RUEDA")]
    if candidates[0] is None:
        candidates = [str(ROOT / folder / "rueda") for folder in ("build", "bin")] + ["rueda"]
    for candidate in candidates:
        found = shutil.which(candidate)
        if found:
            return str(Path(found).absolute())
    raise Fault("the program {} was not found: build it (jobs/setup.sh), or give --rueda PATH".format(candidates[0]))


def read_site(site):
    """Sets its values in the environment. `site`: a file, a name in jobs/slurm/sites, or None."""
    if site:
        os.environ["RUEDA_SITE"] = site
    os.environ["RUEDA_ROOT"] = str(ROOT)
    script = '. "$RUEDA_ROOT/jobs/slurm/load_site.sh" && printf "%s\\n" '
    script += " ".join('"${%s-}"' % name for name in SITE_NAMES)
    code, values, error = child_process.run(["bash", "-c", script], ASKED_SECONDS)
    if code != 0:
        said = error.strip().splitlines()
        raise Fault(said[-1] if said else "the site file cannot be read")
    os.environ.update(zip(SITE_NAMES, values.split("\n")))


def apply_preset(options):
    if options.preset is not None and options.preset not in PRESETS:
        raise Fault("unknown preset {}: {}".format(options.preset, ", ".join(PRESETS)))
    preset = dict(DEFAULTS, **PRESETS.get(options.preset, {}))
    if options.batch_per_rank or options.global_batch or options.batch_sweep:
        preset.update(batch_per_rank=[], global_batch=[])  # any batch option replaces all batches of the preset
    preset_options = preset.pop("options")
    data = os.environ.get("RUEDA_DATA")
    if data and "--data" not in preset_options:
        preset_options = preset_options + ["--data", data]
    for name, value in preset.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    options.train_options = preset_options + options.train_options


def refuse_own_options(words):
    for word in words:
        instead = OWN_OPTIONS.get(word.partition("=")[0])
        if instead:
            raise Fault("{} after the -- : use {}".format(word.partition("=")[0], instead))


def parse(words):
    words = list(words)
    split = words.index("--") if "--" in words else len(words)
    options = make_parser().parse_args(words[:split])
    options.train_options = words[split + 1 :]
    refuse_own_options(options.train_options)
    if options.submit:
        read_site(options.site)
    apply_preset(options)
    options.rueda = find_program(options.rueda)
    return options
