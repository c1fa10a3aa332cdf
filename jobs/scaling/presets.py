"""The studies that have a name, and which recipe trains which network."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "jobs" / "recipes"

# What holds where neither a preset nor an option says anything else.
DEFAULTS = {
    "models": [],
    "nodes": [1],
    "ranks_per_node": [1],
    "batch_per_rank": [],
    "global_batch": [],
    "repeats": 1,
    "epochs": None,  # the recipe's, or that of rueda train
    "recipe": "auto",
    "options": [],  # of rueda train
}

# The book's chapter 10; each recipe has the batch of its network.
BOOK = {"models": ["resnet50v2", "resnet152v2"], "ranks_per_node": [1, 2, 4], "repeats": 3}

PRESETS = {
    # Courses that number the same runs differently, which the report's layout of this name knows.
    "book": BOOK,
    "sa-miri": dict(BOOK, models=["resnet50v2", "resnet101v2", "resnet152v2"]),
    "lab5": BOOK,
    # The New York course's lab: it asks for batches per GPU, its published answer ran global ones.
    "nyu": {
        "models": ["resnet18"],
        "ranks_per_node": [1, 2, 4],
        "batch_per_rank": [32, 128, 512, 2048],
        "global_batch": [32, 128, 512, 2048],
        "repeats": 3,
    },
    # Minutes on two cores, where 4 ranks share them: run, marked by the report, left out of its fits.
    "cpu": {
        "models": ["resnet20", "resnet18"],
        "ranks_per_node": [1, 2, 4],
        "batch_per_rank": [16],
        "global_batch": [64],
        "repeats": 2,
        "epochs": 3,
        "recipe": "none",
        "options": ["--backend", "cpu", "--data", "synthetic", "--data-limit", "256", "--eval-every", "0"],
    },
}

# Presets whose courses want tables of their own.
LAYOUTS = ("book", "sa-miri", "lab5", "nyu")

MODEL_RECIPES = {
    "resnet18": RECIPES / "nyu-resnet18.toml",
    "resnet50v2": RECIPES / "book-resnet50v2.toml",
    "resnet101v2": RECIPES / "book-resnet101v2.toml",
    "resnet152v2": RECIPES / "book-resnet152v2.toml",
}


def recipe_of(model, word):
    """The recipe file of a network, or None. `word` is auto, none or a file."""
    if word == "none":
        return None
    if word == "auto":
        return MODEL_RECIPES.get(model)
    return Path(word)


def values_of(recipe):
    """What its lines say, as words by option."""
    lines = recipe.read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("#")[0].partition("=") for line in lines]
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}


def batch_of(recipe):
    """("rank" or "global", images) as the recipe says, or None where it says nothing."""
    for key, value in values_of(recipe).items():
        kind = {"batch-per-rank": "rank", "global-batch": "global"}.get(key)
        if kind and value.isdigit():
            return kind, int(value)
    return None
