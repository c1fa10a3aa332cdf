"""How fast more ranks learn: what larger batches teach, by the gradient noise scale."""

from ..base.text import counted
from .point_table import point_table, points_of, range_cell
from .table import Field

EQUAL_BATCHES = ("With a fixed global batch (strong scaling) the speedup of learning is that of throughput, "
                 "because a step teaches the same on any P.")  # fmt: skip
_NOTES = (
    "Noise scale: the batch above which more images in a step teach little more, with its 90 % interval. Learning "
    "efficiency: 1 / (1 + batch / noise scale).",
    "Teaches: how many steps of the fewest ranks' batch teach as much as one step; *images*: as how many of "
    "these steps it has the images. The best learning rate of plain SGD grows like what a step teaches: like its "
    "images (linear scaling) up to about the noise scale, and hardly above.",
    "Speedup of learning: speedup x learning efficiency / that of the fewest ranks. *From, to*: the extremes of both.",
    EQUAL_BATCHES,
)  # fmt: skip


def _row(f):
    learning, base = f.learning, f.series.points[0]
    if not learning.efficiency.known:
        return []
    return [
        Field("global_batch", "global batch", "count", f.point.global_batch),
        Field("noise_scale", "noise scale", "count", learning.noise.scale),
        Field("noise_scale_range", "from, to", "text", range_cell(learning.noise.scale, "count")),
        Field("learning_efficiency", "learning efficiency, %", "percent", learning.efficiency),
        Field("steps_of_base", "teaches, steps", "ratio", learning.steps_of_base),
        Field("images_of_base", "images, steps", "ratio", f.point.global_batch / base.global_batch),
        Field("speedup", "speedup", "ratio", f.epoch_view.speedup),
        Field("learning_speedup", "speedup of learning", "ratio", learning.speedup),
        Field("learning_speedup_range", "from, to", "text", range_cell(learning.speedup, "ratio")),
    ]


def noise_text(scale):
    """"412 images (350 to 500)"."""
    value, _, interval = scale.text("count", unit="").partition(" (")
    return f"{value} images" + (f" ({interval}" if interval else "")


def where_from(noise):
    """Which runs a noise scale comes from, and when."""
    batches = f"{noise.batches[0]:,}" + (f" to {noise.batches[-1]:,}" if len(noise.batches) > 1 else "")
    return (f"by {counted(noise.runs, 'run')} with global batches of {batches} images in epoch {noise.epoch}, the "
            "last that all have")  # fmt: skip


def _note_on(f):
    noise = f.learning.noise
    return f"{f.series.model}: {noise_text(noise.scale)}, {where_from(noise)}. It grows while a network learns."


def learning_table(figures):
    known = [f for f in points_of(figures) if f.learning.efficiency.determined]
    return point_table("learning", "How fast it learns", figures, _row, [*dict.fromkeys(map(_note_on, known)), *_NOTES])


def tells_learning(figures):
    """Whether any run says something of it."""
    return any(f.learning.speedup.known for f in points_of(figures))
