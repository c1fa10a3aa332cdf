"""evaluation.json: what `rueda evaluate --json` wrote of a network's answers (docs/checkpoints.md)."""

import re

from ..base.definitions import FILES
from ..base.json_view import InputFile, read_json

NAME, SCHEMA, VERSION = (FILES["evaluation"][key] for key in ("name", "schema", "version"))
_REMEDY = "write it again with rueda evaluate --json, or remove it"
_RGB = re.compile("[0-9a-f]{%d}" % (2 * 32 * 32 * 3))  # 32 x 32 x 3 bytes, row by row, two digits each


def _sample(j, classes):
    """A test image with what it was taken for."""
    if not _RGB.fullmatch(j.raw_text("rgb")):
        j.at("rgb").refuse("is no image of 32 x 32 pixels")
    return {"image": j.count("image"), "label": j.at("label").whole(0, classes - 1),
            "predicted": j.at("predicted").whole(0, classes - 1), "probability": j.number_if_any("probability"),
            "rgb": j.raw_text("rgb")}


def _confusion(j, classes):
    """What those who draw rely on: as many rows and columns as classes."""
    rows = j.elements("confusion")
    if len(rows) != classes:
        j.at("confusion").refuse("does not have a row for each class")
    for row in rows:
        if len(row.elements()) != classes:
            row.refuse("does not have a column for each class")
    return [[cell.count() for cell in row.elements()] for row in rows]


def evaluation_of(j):
    """The part of the JsonView that reports show, as a dict of the same keys; unknown numbers are NaN. Rows of
    `confusion` are classes, its columns predicted ones. Raises Unusable."""
    classes = j.elements("classes")
    if not classes:
        j.at("classes").refuse("has no class")
    samples = {name: [_sample(one, len(classes)) for one in j.part("samples").items(name)]
               for name in ("first", "mistakes")}
    return {"weights": j.text_if_any("weights"), "val_loss": j.number_if_any("val_loss"),
            "val_accuracy": j.number("val_accuracy"), "val_samples": j.count("val_samples"),
            "val_seconds": j.number_if_any("val_seconds"), "confusion": _confusion(j, len(classes)),
            "classes": [{"name": one.raw_text("name"),
                         **{key: one.count(key) for key in ("images", "correct", "predicted")}}
                        for one in classes], "samples": samples}  # fmt: skip


def read_evaluation(file):
    """evaluation_of a file. Raises Unusable naming file, field and remedy."""
    j = read_json(InputFile(file, _REMEDY))
    j.require_schema(SCHEMA, VERSION, NAME)
    return evaluation_of(j)
