"""Sample images of an evaluation with their classes and what the network took them for, as HTML."""

import base64
import io
from html import escape

import numpy
from matplotlib.image import imsave

from ..charts.confusion import names_of
from ..charts.report import entries, number

_ROWS = (("first", "The first test images"), ("mistakes", "The mistakes of which the network was surest"))


def _png(rgb):
    """Of 32 x 32 x 3 bytes in hexadecimal digits."""
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


def _item(sample, names):
    label, answer = _words(sample, names)
    alt = f"Test image {sample['image']}, class {label}: {answer}"
    picture = f'<img alt="{escape(alt)}" src="data:image/png;base64,{_png(sample["rgb"])}">'
    return f"<li>{picture}<b>{escape(label)}</b> {escape(answer)}</li>"


def strip(evaluation):
    """Empty where the evaluation has no images."""
    names = names_of(evaluation)
    html = ""
    for key, heading in _ROWS:
        items = [_item(one, names) for one in entries(evaluation.get("samples") or {}, key)]
        if items:
            html += f'<h3>{heading}</h3>\n<ul class="samples">{"".join(items)}</ul>\n'
    return html
