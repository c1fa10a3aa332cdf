"""Refuses what would fail later, before anything runs."""

import os
import shutil
from pathlib import Path

from claim import make_directory
from common import Fault, read_json, write_json
from launch import choose_launcher, error_of, program_words
from presets import PRESETS, recipe_of, values_of


def check_models(options):
    if not options.models:
        raise Fault("no models: give a preset ({}) or --models".format(", ".join(PRESETS)))
    for model in options.models:
        recipe = recipe_of(model, options.recipe)
        if recipe is not None and not recipe.is_file():
            raise Fault("the recipe {} does not exist: give --recipe FILE, auto or none".format(recipe))
        error = error_of(program_words(options) + ["summary", "--model", model])
        if error.startswith("rueda: "):
            raise Fault(error[len("rueda: ") :])
        if error and not options.submit:  # with --submit the program may run in the jobs only
            raise Fault("{} does not run here: {}".format(options.rueda, error))


def check_batches(plan):
    for first, _ in plan:
        if first.kind == "global" and first.batch % first.ranks:
            text = "a global batch of {} cannot be shared evenly by {} ranks: give multiples of all numbers of ranks"
            raise Fault(text.format(first.batch, first.ranks))


def check_places(plan, options, machine):
    """Checks that there are nodes and cores for every configuration."""
    if not machine.in_slurm:
        if max(first.nodes for first, _ in plan) > 1 and not options.mpi_options:
            raise Fault("several nodes need a Slurm allocation, --submit, or --mpi-options='--hostfile FILE'")
        return
    for first, _ in plan:
        if first.nodes > machine.nodes:
            text = "{0} nodes are needed, and the allocation has {1}: use sbatch --nodes={0}"
            raise Fault(text.format(first.nodes, machine.nodes))
        check_slots(first.ranks_per_node, options, machine)


def check_slots(ranks, options, machine):
    if choose_launcher(options.launcher, machine) == "mpirun":
        have, remedy = machine.tasks_per_node, "ask Slurm for --ntasks-per-node={}".format(ranks)
    elif ranks > machine.cores:
        have, remedy = machine.cores, "ask Slurm for --ntasks-per-node={}".format(ranks)
    else:
        have, remedy = machine.cores // options.threads, "give --threads {}".format(machine.cores // ranks)
    if ranks > have:
        text = "{} ranks per node with {} threads do not fit into the allocation of {} tasks and {} cores per node: "
        text = text.format(ranks, options.threads, machine.tasks_per_node, machine.cores)
        raise Fault(text + remedy + ", or fewer --ranks-per-node")


def check_launcher(options, machine):
    launcher = choose_launcher(options.launcher, machine)
    if shutil.which(launcher) is None:
        raise Fault("{} was not found: load the module of MPI, or choose --launcher".format(launcher))


def check_data(options):
    """Of every model: what --data says, else its recipe."""
    given = [word.partition("=")[2] for word in options.train_options if word.startswith("--data=")]
    given += [place for name, place in zip(options.train_options, options.train_options[1:]) if name == "--data"]
    recipes = [recipe_of(model, options.recipe) for model in options.models]
    for place in given or [values_of(recipe).get("data", "synthetic") for recipe in recipes if recipe]:
        if place != "synthetic" and not Path(place).exists():
            raise Fault("--data {} does not exist: give CIFAR-10, or the word synthetic, after a --".format(place))


def common_part(options):
    """What is the same for all runs of a study."""
    return {name: getattr(options, name) for name in ("threads", "epochs", "recipe", "train_options")}


def earlier_study(path):
    """(common part, series by name) of the study.json that is there; empty if there is none."""
    if not os.path.lexists(str(path)):
        return {}, {}
    study = read_json(path) or {}
    common, series = study.get("common"), study.get("series")
    named = (isinstance(series, list)
             and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in series))
    if study.get("schema") != "rueda-study" or not isinstance(common, dict) or not named:
        raise Fault("{0} is not that of a study, or damaged; make room: mv {0} {0}.old, or choose another --out"
                    .format(path))
    return common, {entry["name"]: entry for entry in series}


def write_study(plan, options):
    """Writes the plan to OUT/study.json. Adds to an earlier plan whose common part is the same."""
    path = options.out / "study.json"
    earlier, series = earlier_study(path)
    common = common_part(options)
    for name, value in common.items():
        if earlier and earlier.get(name) != value:
            text = "{} holds a study with {} {}, not {}: give the same, or another --out"
            raise Fault(text.format(options.out, name.replace("_", " "), earlier.get(name), value))
    for each in plan:
        series[each.name] = describe(each)
    study = {"schema": "rueda-study", "schema_version": 1, "preset": options.preset, "common": common}
    study["series"] = list(series.values())
    make_directory(options.out / "runs")
    try:
        write_json(path, study)
    except OSError as error:
        raise Fault("--out {} cannot be written ({}): choose another folder".format(options.out, error.strerror))


def describe(series):
    first, sweep = series
    entry = dict(first._asdict(), name=series.name, ranks=first.ranks)
    entry["sweep"] = dict(sweep._asdict()) if sweep else None
    return entry
