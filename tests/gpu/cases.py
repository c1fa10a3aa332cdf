"""What is measured: a network at a batch and a precision, and the options of a run of it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Case:
    model: str
    side: int
    batch: int
    precision: str = "bf16"
    variants: tuple = ()  # of PyTorch
    turns: int = 2

    @property
    def name(self):
        return f"{self.model}@{self.side}, batch {self.batch}, {self.precision}"

    def sized(self, tools):
        """What runs: a rehearsal has the steps of a call, on a network that a stand-in computes in a second."""
        return replace(self, model="resnet20", side=8, batch=4) if tools.rehearsal else self


RESNET18, LARGE, RESNET50, HUGE = (
    Case("resnet18", 32, 128), Case("resnet18", 32, 512), Case("resnet50v2", 128, 256), Case("resnet50v2", 128, 1024),
)  # fmt: skip
GOALS = (RESNET18, LARGE, RESNET50, HUGE)
OTHERS = (
    replace(RESNET18, precision="tf32"), replace(RESNET50, precision="tf32"),
    Case("resnet101v2", 128, 256, turns=1), Case("resnet152v2", 128, 256, turns=1),
)  # fmt: skip
GRAPHS = ("eager-graph", "compile-graph")
OPPONENTS = (
    replace(RESNET18, variants=("eager", *GRAPHS, "reduce-overhead", "autotune-graph")),
    replace(LARGE, variants=GRAPHS), replace(RESNET50, variants=GRAPHS),
)  # fmt: skip


def options_of(tools, case, images, epochs, tunes=False):
    """Of a run with the engines that were timed before, if any were. `tunes`: it times those that are missing."""
    case = case.sized(tools)
    options = {
        "model": case.model, "image-size": case.side, "batch-per-rank": case.batch, "precision": case.precision,
        "lr": 0.002, "scale-lr": "none", "lr-schedule": "constant", "check-replicas": "off", "data-limit": images,
        "epochs": epochs,
    }  # fmt: skip
    if tunes or tools.tuning_file.exists():
        options["tuning-file"] = tools.tuning_file
    return {**options, **({"tune-engines": None} if tunes else {})}


def steps_of(tools, case, count):
    """Images of so many steps."""
    return count * case.sized(tools).batch
