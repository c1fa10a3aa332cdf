#!/usr/bin/env python3
"""jobs/data.sh: what it reads, writes and refuses. usage: data_test.py RUEDA"""

import gzip
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rueda_runs import environment, main

ROOT = Path(__file__).resolve().parents[2]
RUEDA = str(Path(sys.argv[1]).resolve())
RECORD = 3073


def idx(*shape, elements):
    head = struct.pack(">HBB", 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
    return head + bytes(elements)


def grey(image, row, column):
    """A pixel that no image shares with another place."""
    return (image * 71 + row * 13 + column * 3) % 256


def images(count, height=28, width=28):
    return idx(count, height, width, elements=(
        grey(i, y, x) for i in range(count) for y in range(height) for x in range(width)))


class DataCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-data-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()

    def execute(self, *command, **env):
        return subprocess.run(
            command, env=environment(env), cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def script(self, *words, **env):
        return self.execute(ROOT / "jobs/data.sh", *words, **env)

    def made(self, *words, **env):
        done = self.script(*words, **env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, done, *words):
        """In one line, with nothing left behind."""
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(len(done.stderr.splitlines()), 1, done)
        for word in words:
            self.assertIn(word, done.stderr)
        left = [str(path) for path in self.folder.rglob(".rueda*")]
        self.assertEqual(left, [])

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def trained_on(self, folder):
        """What `rueda evaluate` says after a training on that set."""
        small = ("--data", folder, "--image-size", "16", "--batch-per-rank", "4", "--threads", "1")
        for words in (("train", *small, "--epochs", "1", "--run-dir", "run"), ("evaluate", *small, "--init-weights", "run")):
            done = self.execute(RUEDA, *words)
            self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def records(self, name):
        content = (self.folder / name).read_bytes()
        self.assertEqual(len(content) % RECORD, 0)
        return [content[at : at + RECORD] for at in range(0, len(content), RECORD)]

    def put_idx(self, train=12, test=4, **files):
        """The four files of a set in idx/, some of them other than they should be."""
        labels = {count: idx(count, elements=(k % 10 for k in range(count))) for count in (train, test)}
        whole = {"train_images": images(train), "train_labels": labels[train], "t10k_images": images(test),
                 "t10k_labels": labels[test], **files}
        for name, content in whole.items():
            split, what = name.split("_")
            end = f"{what}-idx{3 if what == 'images' else 1}-ubyte"
            self.put(f"idx/{split}-{end}.gz", gzip.compress(content))


class FashionMnist(DataCase):
    def test_images_are_padded_and_read_by_rueda(self):
        self.put_idx(train=12, test=4)
        said = self.made("fashion-mnist", "--from", "idx")
        self.assertIn("wrote 12 training images and 4 test images of 10 classes to data/fashion-mnist", said)
        files = sorted(os.listdir(self.folder / "data/fashion-mnist"))
        self.assertEqual(files, ["batches.meta.txt", *(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"])
        train = [record for name in files[1:6] for record in self.records(f"data/fashion-mnist/{name}")]
        self.assertEqual([record[0] for record in train], [k % 10 for k in range(12)])
        for image, record in enumerate(train):
            plane = [grey(image, y - 2, x - 2) if 2 <= min(x, y) and max(x, y) < 30 else 0
                     for y in range(32) for x in range(32)]
            self.assertEqual(record[1:], bytes(plane) * 3)
        self.assertEqual(len(self.records("data/fashion-mnist/test_batch.bin")), 4)
        self.assertIn("9 Ankle boot ", self.trained_on("data/fashion-mnist"))

    def test_the_same_set_is_left_alone_and_another_one_is_not_replaced_unasked(self):
        self.put_idx()
        self.made("fashion-mnist", "--from", "idx")
        inode = (self.folder / "data/fashion-mnist/test_batch.bin").stat().st_ino
        self.assertIn("already holds these 12 training", self.made("fashion-mnist", "data", "--from", "idx"))
        self.put_idx(train=9)
        self.refused(self.script("fashion-mnist", "--from", "idx"), "holds another data set", "--overwrite")
        self.assertEqual((self.folder / "data/fashion-mnist/test_batch.bin").stat().st_ino, inode)
        self.put("data/fashion-mnist/thesis.txt", b"dear")
        self.refused(self.script("fashion-mnist", "--from", "idx", "--overwrite"), "thesis.txt", "of no data set")
        (self.folder / "data/fashion-mnist/thesis.txt").unlink()
        self.assertIn("wrote 9 training", self.made("fashion-mnist", "--from", "idx", "--overwrite"))
        self.assertEqual(os.listdir(self.folder / "data"), ["fashion-mnist"])

    def test_no_link_is_written_through(self):
        self.put_idx()
        (self.folder / "elsewhere").mkdir()
        (self.folder / "data").mkdir()
        (self.folder / "data/fashion-mnist").symlink_to("../elsewhere")
        self.refused(self.script("fashion-mnist", "--from", "idx", "--overwrite"), "is a link or no folder")
        self.assertEqual(os.listdir(self.folder / "elsewhere"), [])

    def test_damaged_files_are_refused(self):
        many = images(12)
        for words, files in (
            (["train-images", "is truncated", "9,407 of 9,408 bytes"], {"train_images": many[:-1]}),
            (["train-images", "goes on after its 9,408 elements"], {"train_images": many + b"\0"}),
            (["not an IDX file of images", "00000801"], {"train_images": idx(12, elements=range(12))}),
            (["not an IDX file of labels", "00000803"], {"t10k_labels": many}),
            (["not an IDX file of images", "00000903"], {"train_images": b"\0\0\x09" + many[3:]}),
            (["t10k-labels", "image 2 has label 10, expected 0 to 9"], {"t10k_labels": idx(4, elements=[0, 9, 10, 1])}),
            (["12 images", "11 labels", "not of one set"], {"train_labels": idx(11, elements=[0] * 11)}),
            (["claims 4,294,967,295 x 28 x 28"], {"train_images": b"\0\0\x08\3" + b"\xff" * 4 + many[8:]}),
            (["claims 12 x 28 x 33"], {"train_images": images(12, 28, 33)}),
            (["claims 0 x 28 x 28"], {"train_images": images(0)}),
            (["is truncated: it has 2 of 4 bytes of its head"], {"train_images": b"\0\0"}),
        ):
            with self.subTest(words=words):
                self.put_idx(**files)
                self.refused(self.script("fashion-mnist", "--from", "idx"), *words)
                self.assertFalse((self.folder / "data/fashion-mnist").exists())

    def test_damaged_gzip_files_are_refused(self):
        self.put_idx()
        name = "idx/train-images-idx3-ubyte.gz"
        whole = (self.folder / name).read_bytes()
        torn = whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 0xFF]) + whole[len(whole) // 2 + 1 :]
        for content in (whole[:-9], whole[:200], torn, whole + b"more"):
            self.put(name, content)
            self.refused(self.script("fashion-mnist", "--from", "idx"), "train-images", "is a damaged gzip file")

    def test_a_small_file_that_unfolds_to_much_is_not_unfolded(self):
        self.put_idx()
        self.put("idx/train-images-idx3-ubyte.gz", gzip.compress(images(12)) + gzip.compress(bytes(1 << 24)) * 256)  # 4 GiB
        command = ["bash", "-c", 'ulimit -v 1000000; exec "$@"', "bash", ROOT / "jobs/data.sh"]
        done = self.execute(*command, "fashion-mnist", "--from", "idx")
        self.refused(done, "goes on after its 9,408 elements")

    def test_missing_and_odd_files(self):
        self.put_idx()
        self.refused(self.script("fashion-mnist", "--from", "nowhere"), "nowhere holds no train-images-idx3-ubyte")
        path = self.folder / "idx/t10k-labels-idx1-ubyte.gz"
        self.put("idx/t10k-labels-idx1-ubyte", b"")
        self.refused(self.script("fashion-mnist", "--from", "idx"), "remove one")
        (self.folder / "idx/t10k-labels-idx1-ubyte").unlink()
        path.unlink()
        os.mkfifo(path)
        self.refused(self.script("fashion-mnist", "--from", "idx"), "t10k-labels", "not a regular file")

    def test_a_folder_that_cannot_be_written(self):
        self.put_idx()
        self.put("data", b"a file")
        self.refused(self.script("fashion-mnist", "--from", "idx"), "data: File exists")


if __name__ == "__main__":
    main(1)
