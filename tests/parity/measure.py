"""From runs in float64 and float32 to what is stored, and how it is written: JSON with one digest, one row of
logits or one tensor a line.

A run is a dictionary of NumPy results:
  step    inference, training: (logits, loss); gradients, statistics: {name: tensor}
  train   training: (logits, loss); updated, updated_twice: {name: tensor}; losses: [float]
The float64 run is the reference; the float32 runs, of several thread counts and layouts, tell how
far the framework itself is from it in single precision.
"""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import formula

LOSSES = 20


@dataclass(frozen=True)
class Sgd:
    """The optimizer of a recipe.

    The losses of a series of steps are taken at a gentler rate: at the recipe's own, from the
    first step on and without its schedule, training is chaotic, and even float64 runs of
    different thread counts part within 20 steps.
    """

    learning_rate: float
    momentum: float
    weight_decay: float
    gentle_rate: float


def output(exact, runs):
    """Logits and loss of one forward pass, each a pair."""
    logits, loss = exact
    return {
        "logits": logits.tolist(),
        "loss": float(loss),
        "framework_error": rounded(max(formula.relative_error(r[0], logits) for r in runs)),
        "loss_error": rounded(max(abs(float(r[1]) - float(loss)) for r in runs)),
    }


def digests(exact, runs):
    """{name: digest} of {name: tensor}."""
    result = {}
    for name, values in exact.items():
        result[name] = formula.digest(name, values)
        errors = [formula.relative_error(run[name], values) for run in runs]
        result[name]["framework_error"] = rounded(max(errors))
    return result


def step(exact, runs):
    """The case `step`."""
    result = {}
    for part in ("inference", "training"):
        result[part] = output(exact[part], [run[part] for run in runs])
    for part in ("gradients", "statistics"):
        if part in exact:
            result[part] = digests(exact[part], [run[part] for run in runs])
    return result


def train(exact, runs, sgd):
    """The case `train`."""
    result = {"sgd": asdict(sgd)}
    result["training"] = output(exact["training"], [run["training"] for run in runs])
    for part in ("updated", "updated_twice"):
        result[part] = digests(exact[part], [run[part] for run in runs])
    losses = exact["losses"]
    spread = [max(abs(run["losses"][s] - losses[s]) for run in runs) for s in range(LOSSES)]
    result["losses"] = losses
    result["spread"] = [rounded(s) for s in spread]
    return result


def counts(tensors):
    """Numbers of parameters, from the list of tensors."""
    sizes = {True: 0, False: 0}
    for entry in tensors:
        sizes[entry["trainable"]] += math.prod(entry["shape"])
    return {"parameters": sum(sizes.values()), "trainable": sizes[True], "non_trainable": sizes[False]}


def rounded(error):
    """A measured error with the three digits that mean something."""
    return float(f"{error:.3g}")


def is_leaf(value):
    """Whether a value is written in one line."""
    if isinstance(value, dict):
        return not any(isinstance(v, dict) or is_table(v) for v in value.values())
    return not is_table(value)


def is_table(value):
    return isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value)


def lines(value, indent=0):
    """The text of a value that is not a leaf, or of a leaf."""
    if is_leaf(value):
        return json.dumps(value)
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{pad}{json.dumps(k)}: {lines(v, indent + 1)}" for k, v in value.items()]
        begin, end = "{}"
    else:
        items = [pad + lines(v, indent + 1) for v in value]
        begin, end = "[]"
    return begin + "\n" + ",\n".join(items) + "\n" + " " * indent + end


def write(folder, name, value):
    """Writes `value` to `name`.json in `folder`."""
    path = Path(folder, name + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(value) + "\n", encoding="utf-8", newline="\n")
