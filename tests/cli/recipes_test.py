#!/usr/bin/env python3
"""Every recipe of jobs/recipes trains, and says what its origin says.

usage: recipes_test.py RUEDA MPIEXEC
"""

import tomllib
from pathlib import Path

from rueda_runs import ProgramCase, long, main

RECIPES = Path(__file__).resolve().parents[2] / "jobs" / "recipes"

# One step of two images; the smallest that each kind of network takes.
ONE_STEP = {
    "data": "synthetic", "data-limit": 2, "batch-per-rank": 2, "epochs": 1, "eval-every": 0,
    "warmup-epochs": 0, "target-accuracy": 1, "threads": 1, "progress": "off",
}  # fmt: skip
SMALL_SIDE = {"quickstart": 16, "nyu-resnet18": 16, "high-accuracy": 16}
OTHER_SMALL_SIDE = 32

# Chapter 10 of the book: ResNet50.py, ResNet50_seq.py, cifar.py, the job files and the text's logs.
BOOK = {
    "precision": "fp32", "image-size": 128, "augment": "none", "normalize": "scale",
    "shuffle": "off", "shard": "step", "last-batch": "keep", "lr": 0.01, "momentum": 0,
    "weight-decay": 0, "nesterov": False, "warmup-epochs": 0, "lr-schedule": "constant",
    "eval-every": 0, "epochs": 2, "input": "stream",
}  # fmt: skip
PARALLEL = {**BOOK, "scale-lr": "linear"}
SEQUENTIAL = {**BOOK, "model": "resnet50v2", "scale-lr": "none", "global-batch": 256}
TORCH = {
    "model": "resnet18", "precision": "fp32", "image-size": 32, "augment": "standard",
    "normalize": "cifar10", "shuffle": "on", "shard": "step", "last-batch": "keep", "lr": 0.1,
    "scale-lr": "none", "momentum": 0.9, "weight-decay": 0.0005, "global-batch": 128,
}  # fmt: skip

FACTS = {
    "book-resnet50v2":
        {**PARALLEL, "model": "resnet50v2", "batch-per-rank": 2048, "base-batch": 2048},
    "book-resnet101v2":
        {**PARALLEL, "model": "resnet101v2", "batch-per-rank": 1024, "base-batch": 1024},
    "book-resnet152v2":
        {**PARALLEL, "model": "resnet152v2", "batch-per-rank": 1024, "base-batch": 1024},
    "book-seq": SEQUENTIAL,
    "book-seq-95": {**SEQUENTIAL, "epochs": 20, "target-accuracy": 0.95},
    "nyu-resnet18":
        {**TORCH, "epochs": 2, "lr-schedule": "constant", "warmup-epochs": 0, "nesterov": False,
         "input": "stream", "input-workers": 2},
    "high-accuracy": {**TORCH, "input": "resident", "epochs": 200, "lr-schedule": "cosine"},
    "quickstart": {"model": "resnet20", "epochs": 3, "batch-per-rank": 64, "lr": 0.05},
}  # fmt: skip


class RecipesTest(ProgramCase):
    time_limit = 300

    def train_one_step(self, name):
        """The run.json of a step."""
        changes = {**ONE_STEP, "image-size": SMALL_SIDE.get(name, OTHER_SMALL_SIDE)}
        options = [word for key, value in changes.items() for word in (f"--{key}", str(value))]
        self.made("train", "--config", str(RECIPES / f"{name}.toml"), "--run-dir", name, *options)
        return self.program.record(name)

    def test_every_recipe_has_facts(self):
        self.assertEqual({path.stem for path in RECIPES.glob("*.toml")}, set(FACTS))

    def test_recipes_say_what_their_origin_says(self):
        for name, facts in FACTS.items():
            with self.subTest(recipe=name):
                printed = self.made("train", "--config", str(RECIPES / f"{name}.toml"), "--print-config").out
                config = tomllib.loads(printed)
                self.assertEqual({key: config.get(key) for key in facts}, facts)

    @long
    def test_recipes_train_a_step(self):
        for name in FACTS:
            with self.subTest(recipe=name):
                run = self.train_one_step(name)
                self.assertEqual(run["batch"]["steps_per_epoch"], 1)
                self.assertEqual(run["summary"]["epochs_completed"], 1)


if __name__ == "__main__":
    main()
