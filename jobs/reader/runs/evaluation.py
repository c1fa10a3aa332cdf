"""evaluation.json: what `rueda evaluate --json` wrote of a network's answers (docs/weights.md)."""

import math
import re
from dataclasses import dataclass, field

from ..base.definitions import FILES
from ..base.json_view import InputFile, read_json
from .epochs import Score, read_test_score

NAME, SCHEMA, VERSION = (FILES["evaluation"][key] for key in ("name", "schema", "version"))
_REMEDY = "write it again with rueda evaluate --json, or remove it"
_RGB = re.compile("[0-9a-f]{%d}" % (2 * 32 * 32 * 3))


@dataclass
class ClassScore:
    """How a class of the test images fared."""

    name: str = ""
    images: int = 0
    correct: int = 0
    predicted: int = 0  # images of all classes that were taken for it


@dataclass
class SampleImage:
    """A test image with what it was taken for."""

    image: int = 0  # its place in the test set
    label: int = 0
    predicted: int = 0
    probability: float = math.nan  # of the predicted class
    rgb: str = ""  # 32 x 32 x 3 bytes, row by row, as two hexadecimal digits each


@dataclass
class EvaluationRecord:
    weights: str = ""  # path of their file
    score: Score = field(default_factory=Score)
    confusion: list = field(default_factory=list)  # rows are classes, columns predicted ones
    classes: list = field(default_factory=list)
    first: list = field(default_factory=list)  # of SampleImage: the first of the test set
    mistakes: list = field(default_factory=list)  # those with the highest probability


def _read_sample(j, classes):
    sample = SampleImage(j.count("image"), j.at("label").whole(0, classes - 1), j.at("predicted").whole(0, classes - 1),
                         j.number_if_any("probability"), j.raw_text("rgb"))
    if not _RGB.fullmatch(sample.rgb):
        j.at("rgb").refuse("is no image of 32 x 32 pixels")
    return sample


def _read_confusion(j, classes):
    """What those who draw rely on: as many rows and columns as classes."""
    rows = j.elements("confusion")
    if len(rows) != classes:
        j.at("confusion").refuse("does not have a row for each class")
    for row in rows:
        if len(row.elements()) != classes:
            row.refuse("does not have a column for each class")
    return [[cell.count() for cell in row.elements()] for row in rows]


def read_evaluation(file):
    """Raises Unusable naming file, field and remedy."""
    j = read_json(InputFile(file, _REMEDY))
    j.require_schema(SCHEMA, VERSION, NAME)
    record = EvaluationRecord(j.text_if_any("weights"), read_test_score(j))
    classes = j.elements("classes")
    if not classes:
        j.at("classes").refuse("has no class")
    record.confusion = _read_confusion(j, len(classes))
    record.classes = [ClassScore(one.raw_text("name"), one.count("images"), one.count("correct"), one.count("predicted"))
                      for one in classes]
    samples = j.part("samples")
    record.first = [_read_sample(one, len(classes)) for one in samples.items("first")]
    record.mistakes = [_read_sample(one, len(classes)) for one in samples.items("mistakes")]
    return record
