"""Pictures in folders, one folder a class, and how a picture of any size becomes 32 x 32."""

import logging
import random
import warnings

import bounds
from common import Fault, plain, require_file
from folders import NotRead, classes_in, halves_of, has_picture
from kinds import unreadable
from layout import SIDE, Split

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")  # as Pillow calls those of folders.ENDINGS
ORIENTATION = 0x0112  # EXIF 2.3, 4.6.4; the names are Pillow's
TURNS = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270", 7: "TRANSVERSE",
         8: "ROTATE_90"}
logging.getLogger("PIL").addHandler(logging.NullHandler())  # its remarks on damaged files are in ours
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


def _turn_of(picture):
    """How the picture is to be turned, by its EXIF block. ImageOps.exif_transpose writes the whole block anew, and
    fails where any other entry is damaged."""
    try:
        return TURNS.get(picture.getexif().get(ORIENTATION))
    except Exception:  # a damaged block says nothing: the picture is taken as it stands
        return None


def _upright(picture, path):
    from PIL import Image

    if picture.mode.startswith(("I", "F")):
        raise Fault(f"{plain(path)} has more than 8 bits a pixel: save it with 8")
    picture.load()
    turn = _turn_of(picture)
    return (picture.transpose(getattr(Image, turn)) if turn else picture).convert("RGB")


def _load(path):
    from PIL import Image

    require_file(path, bounds.PICTURE_BYTES)  # it may have changed since it was listed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=FORMATS) as picture:
                width, height = picture.size
                if width * height > bounds.PIXELS:
                    raise Fault(f"{plain(path)} has {width:,} x {height:,} pixels, more than {bounds.PIXELS:,}: "
                                "make it smaller")
                return _upright(picture, path)
    except Fault:
        raise
    except Exception as error:  # Pillow's decoders raise what they stumble over
        raise unreadable(path, "cannot be read as a picture", error) from None


def _split(classes, files):
    """Of (name of the class, path)."""
    numbers = {name: label for label, name in enumerate(classes)}
    files = sorted((numbers[name], path) for name, path in files)
    random.Random(SEED).shuffle(files)
    return Split([label for label, _ in files], lambda: (record(label, _load(path)) for label, path in files))


def is_one(folder):
    return folder.is_dir() and has_picture(folder)


def _read_halves(halves, not_read):
    train, test = (classes_in(half, not_read) for half in halves)
    strange = [name for name in test if name not in train]
    if strange:
        raise Fault(f"{plain(halves[1])} has the class {strange[0]}, which {plain(halves[0])} has not: put the "
                    "pictures where they belong, or move that class elsewhere")
    return list(train), *(_split(train, [(name, path) for name in half for path in half[name]])
                          for half in (train, test))


def _read_classes(folder, share, not_read):
    classes = classes_in(folder, not_read)
    train, test = [], []
    for name, paths in classes.items():
        if len(paths) < 2:
            raise Fault(f"{plain(paths[0].parent)} holds one picture: two are needed, to train and to test")
        mixed = random.Random(f"{SEED} {name}").sample(paths, len(paths))
        count = min(len(paths) - 1, max(1, round(len(paths) * share)))
        test += [(name, path) for path in mixed[:count]]
        train += [(name, path) for path in mixed[count:]]
    return list(classes), _split(classes, train), _split(classes, test)


def read(folder, options):
    not_read = NotRead()
    halves = halves_of(folder)
    found = _read_halves(halves, not_read) if halves else _read_classes(folder, options.test_share, not_read)
    not_read.tell()
    return found
