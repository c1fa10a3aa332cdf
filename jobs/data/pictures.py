"""Folders of PNG and JPEG files, one folder a class, and how a picture of any size becomes 32 x 32."""

import random
import warnings

from common import Fault, plain
from layout import SIDE, Split

ENDINGS = (".png", ".jpg", ".jpeg")
MOST_PIXELS = 50_000_000
SEED = 1  # of the order: classes are mixed, because --data-limit takes the first images


def fitted(picture):
    """A Pillow image as 32 x 32: a larger one is scaled until its shorter side fits and loses its ends, a smaller one
    stands in the middle of black."""
    from PIL import Image

    width, height = picture.size
    factor = min(width, height) / SIDE
    if factor > 1:
        width, height = round(width / factor), round(height / factor)
        picture = picture.resize((width, height), Image.LANCZOS)
    left, top = (width - SIDE) // 2, (height - SIDE) // 2
    return picture.crop((left, top, left + SIDE, top + SIDE))  # what lies outside is black


def record(label, picture):
    """`picture` is a Pillow image of any size in RGB."""
    return bytes([label]) + b"".join(plane.tobytes() for plane in fitted(picture).split())


def _load(path):
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=("PNG", "JPEG")) as picture:
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    raise Fault(f"{plain(path)} has {width:,} x {height:,} pixels, more than {MOST_PIXELS:,}: make it smaller")
                if picture.mode.startswith(("I", "F")):
                    raise Fault(f"{plain(path)} has more than 8 bits a pixel: save it with 8")
                return ImageOps.exif_transpose(picture).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Fault(f"{plain(path)} cannot be read as PNG or JPEG: {plain(error)}") from None


def _split(files):
    """Of (label, path)."""
    files = sorted(files)
    random.Random(SEED).shuffle(files)
    return Split(len(files), lambda: (record(label, _load(path)) for label, path in files))


def _classes(folder):
    """Paths by the name of their class."""
    classes = {}
    for place in sorted(folder.iterdir()):
        if place.is_dir() and not place.name.startswith("."):
            classes[place.name] = sorted(path for path in place.iterdir()
                                         if path.suffix.lower() in ENDINGS and not path.name.startswith("."))
            if not classes[place.name]:
                raise Fault(f"{plain(place)} holds no PNG or JPEG file: remove it, or put some there")
    return classes


def is_one(folder):
    return folder.is_dir() and any(
        path.suffix.lower() in ENDINGS for pattern in ("*/*", "*/*/*") for path in folder.glob(pattern))


def read(folder, options):
    halves = [folder / "train", folder / "test"]
    if all(half.is_dir() for half in halves):
        train, test = map(_classes, halves)
        strange = [name for name in test if name not in train]
        if strange:
            raise Fault(f"{plain(halves[1] / strange[0])} is of a class that {plain(halves[0])} has not")
        names = list(train)
        return [plain(name) for name in names], *(
            _split((names.index(name), path) for name, paths in half.items() for path in paths) for half in (train, test))
    classes = _classes(folder)
    train, test = [], []
    for label, (name, paths) in enumerate(classes.items()):
        if len(paths) < 2:
            raise Fault(f"{plain(folder / name)} holds one picture: two are needed, to train and to test")
        mixed = random.Random(f"{SEED} {name}").sample(paths, len(paths))
        count = min(len(paths) - 1, max(1, round(len(paths) * options.test_share)))
        test += [(label, path) for path in mixed[:count]]
        train += [(label, path) for path in mixed[count:]]
    return [plain(name) for name in classes], _split(train), _split(test)
