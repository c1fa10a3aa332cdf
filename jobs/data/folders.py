"""Folders of pictures by class: which layout they have, which folder is which class, and what is not read."""

import os
import re
from collections import Counter

import bounds
from common import Fault, class_name, counted, plain, require_file, say

ENDINGS = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
# What archivers, disks and file managers leave; so are names that begin with a dot.
LITTER = ("__macosx", "@eadir", "lost+found", "thumbs.db", "desktop.ini", "$recycle.bin")
# Of a half's folder, in any case: train, Training, train_set, val-images ...
ADDED = r"([ _-]?(set|data|images))?"
TRAIN, TEST = re.compile(f"train(ing)?{ADDED}"), re.compile(f"test(ing)?{ADDED}")
VALIDATION = re.compile(f"(val|valid|validation|dev){ADDED}")
DEEPEST = 4  # levels to a picture: Tiny ImageNet's train/CLASS/images/
MANUAL = "docs/data.md has the lines that sort them"


def is_picture(path):
    return path.suffix.lower() in ENDINGS


def _inside(folder):
    """Its folders and its other files, without litter."""
    found = sorted(path for path in folder.iterdir()
                   if not path.name.startswith(".") and path.name.lower() not in LITTER)
    return [path for path in found if path.is_dir()], [path for path in found if not path.is_dir()]


def has_picture(folder, levels=DEEPEST):
    """In it or some levels below. Classes may be links; deeper ones, which may lead to all that there is, are not
    followed."""
    folders, files = _inside(folder)
    if levels < DEEPEST - 1:
        folders = [below for below in folders if not below.is_symlink()]
    return any(map(is_picture, files)) or (levels > 0 and any(has_picture(below, levels - 1) for below in folders))


def _has_classes(folder):
    return any(has_picture(below) for below in _inside(folder)[0])


class NotRead:
    """Counts what is left out, to be told."""

    def __init__(self):
        self._counts = Counter()

    def add_files(self, files):
        self._counts.update(path.suffix.lower() or "without an ending" for path in files)

    def add_below(self, folder):
        """All that lies in a folder below that of a class; a link is not followed, and counts as one."""
        inside = [[folder]] if folder.is_symlink() else (files for _, _, files in os.walk(folder))
        self._counts["in folders below a class"] += sum(map(len, inside))

    def add_beside(self, files):
        self._counts["beside the classes' folders"] += len(files)

    def tell(self):
        total = sum(self._counts.values())
        if total:
            reasons = ", ".join(f"{count:,} {plain(reason)}" for reason, count in self._counts.most_common() if count)
            say(f"{counted(total, 'file')} {'was' if total == 1 else 'were'} not read: {reasons}")


def _without_pictures(folder, folders, files):
    """What to do about a class's folder that holds no picture of its own."""
    full = [below for below in folders if has_picture(below)]
    if full and [below.name for below in folders] == ["images"]:
        return Fault(f"{plain(folder)} has its pictures one folder below, in images, as Tiny ImageNet has: "
                     f"move them up; {MANUAL}")
    if full:
        return Fault(f"{plain(folder)} holds no picture, but its folder {plain(full[0].name)} does: move them up, or "
                     f"give {plain(folder)} itself if its folders are the classes")
    if files:
        endings = ", ".join(sorted({path.suffix.lower() or plain(path.name) for path in files})[:5])
        return Fault(f"{plain(folder)} holds no picture that is read, but {counted(len(files), 'file')} "
                     f"({plain(endings)}): save pictures as PNG or JPEG, or move the folder elsewhere")
    return Fault(f"{plain(folder)} holds no picture: remove it, or put some there")


def _in_order(classes):
    """By name; folders that are all numbers as numbers."""
    numbers = all(name.isascii() and name.isdigit() for name in classes)
    return dict(sorted(classes.items(), key=lambda item: (int(item[0]) if numbers else 0, item[0])))


def classes_in(folder, not_read):
    """The pictures of each class, by its name."""
    folders, files = _inside(folder)
    if not folders or (any(map(is_picture, files)) and not _has_classes(folder)):
        raise _without_classes(folder)
    not_read.add_beside(files)
    classes, places = {}, {}
    for place in folders:
        name = class_name(place.name)
        if name in classes:
            raise Fault(f"{plain(place)} and another folder beside it have names that look alike, "
                        f"{places[name].name!a} and {place.name!a}: put their pictures into one of them, or rename one")
        below, inside = _inside(place)
        pictures = [path for path in inside if is_picture(path)]
        if not pictures:
            raise _without_pictures(place, below, inside)
        for path in pictures:
            require_file(path, bounds.PICTURE_BYTES)
        not_read.add_files(path for path in inside if not is_picture(path))
        for deeper in below:
            not_read.add_below(deeper)
        classes[name], places[name] = pictures, place
    return _in_order(classes)


def _without_classes(folder):
    lists = [path.name for place in (folder, folder.parent)
             for path in _inside(place)[1] if path.suffix.lower() == ".csv"]
    labels = f" ({plain(lists[0])} may have their labels, as in Kaggle's sets)" if lists else ""
    return Fault(f"{plain(folder)} holds pictures, but no folder for each class{labels}: put each into a "
                 f"folder with the name of its class; {MANUAL}")


def _half(folders, names):
    found = [path for path in folders if names.fullmatch(path.name.lower())]
    if len(found) > 1:
        raise Fault(f"{plain(found[0])} and {plain(found[1])} may both be meant: rename one, or move it elsewhere")
    return found[0] if found else None


def halves_of(folder):
    """The folders of the training set and of the test set; None of a folder that has not both."""
    folders, files = _inside(folder)
    train = _half(folders, TRAIN)
    others = [half for half in (_half(folders, TEST), _half(folders, VALIDATION)) if half]
    if train is None or not (others or _has_classes(train)):
        return None  # what is called train may be a class
    if not _has_classes(train):
        raise _without_classes(train)
    for half in others:
        if (half / "val_annotations.txt").exists() and _has_classes(half) and (half / "images").is_dir():
            raise Fault(f"{plain(half)} has its labels in val_annotations.txt, as Tiny ImageNet has: put each "
                        f"picture into a folder with the name of its class; {MANUAL}")
    tests = [half for half in others if _has_classes(half)]
    if not tests:
        what = f"{plain(others[0])} has no folders of classes" if others else "there is no test set beside it"
        raise Fault(f"{plain(train)} has the classes, and {what}: give {plain(train)} itself, of whose "
                    "pictures a share becomes the test set")
    for path in folders:
        if path not in (train, tests[0]):
            say(f"{plain(path.name)}/ was left out: {plain(train.name)}/ and {plain(tests[0].name)}/ are read")
    return train, tests[0]
