"""Sample images of an evaluation with their classes and what the network took them for."""

import base64
import io
from collections import namedtuple

from ..charts.confusion import names_of
from ..charts.report import entries, number

Sample = namedtuple("Sample", "alternative data label answer")
_ROWS = (("first", "The first test images"), ("mistakes", "The mistakes of which the network was surest"))


def _png(rgb):
    """Of 32 x 32 x 3 bytes in hexadecimal digits."""
    import numpy
    from matplotlib.image import imsave

    pixels = numpy.frombuffer(bytes.fromhex(rgb), dtype=numpy.uint8).reshape(32, 32, 3)
    buffer = io.BytesIO()
    imsave(buffer, pixels, format="png", metadata={"Software": None})
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _words(sample, names):
    """(class, what it was taken for with how much probability)."""
    probability = number(sample.get("probability"))
    sure = f", {100 * probability:.0f} %" if probability is not None else ""
    label, predicted = names[sample["label"]], names[sample["predicted"]]
    if sample["label"] == sample["predicted"]:
        return label, f"✓ right{sure}"
    return label, f"✗ {predicted}{sure}"


def _sample(one, names):
    label, answer = _words(one, names)
    return Sample(f"Test image {one['image']}, class {label}: {answer}", _png(one["rgb"]), label, answer)


def strips(evaluation):
    """[(heading, [Sample])]; empty where the evaluation has no images."""
    names = names_of(evaluation)
    known = [(heading, entries(evaluation.get("samples") or {}, key)) for key, heading in _ROWS]
    return [(heading, [_sample(one, names) for one in samples]) for heading, samples in known if samples]
