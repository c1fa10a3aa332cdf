#!/usr/bin/env python3
"""jobs/data.sh: what it reads, writes and refuses. usage: data_test.py RUEDA"""

import fcntl
import gzip
import hashlib
import http.server
import io
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
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


class Server(http.server.ThreadingHTTPServer):
    """Gives `content` at every path, as it is told to."""

    daemon_threads = True
    content, knows_ranges, cut_after, status = b"", True, None, None

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/set.tar.gz"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server, first = self.server, 0
        asked = self.headers.get("Range")
        server.asked.append(asked)
        if asked and server.knows_ranges:
            first = int(asked.removeprefix("bytes=").removesuffix("-"))
        if server.status or first > len(server.content):
            return self.send_error(server.status or 416)
        self.send_response(206 if asked and server.knows_ranges else 200)
        self.send_header("Content-Length", str(len(server.content) - first))
        if asked and server.knows_ranges:
            self.send_header("Content-Range", f"bytes {first}-{len(server.content) - 1}/{len(server.content)}")
        self.end_headers()
        last = len(server.content)
        if server.cut_after is not None:
            last = min(last, first + server.cut_after)
        self.wfile.write(server.content[first:last])
        self.close_connection = True

    def log_message(self, *words):
        pass


def archive(members):
    """A .tar.gz with these members: bytes, or the target of a link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


class Cifar10(DataCase):
    BATCH = bytes(10_000 * RECORD)  # all of them black airplanes
    NAMES = b"airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n"
    FOLDER = "cifar-10-batches-bin"

    @classmethod
    def setUpClass(cls):
        names = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
        cls.members = {**{f"{cls.FOLDER}/{name}": cls.BATCH for name in names}, f"{cls.FOLDER}/batches.meta.txt": cls.NAMES,
                       f"{cls.FOLDER}/readme.html": b"read me", "../../escaped": b"no"}
        cls.whole = archive(cls.members)

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.server.content = self.whole
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.part = self.folder / "data/cifar-10-binary.tar.gz.part"

    def get(self, content=None, url=None):
        md5 = hashlib.md5(self.whole if content is None else content).hexdigest()
        return self.script("cifar10", "--url", url or self.server.url, "--md5", md5, no_proxy="*", PYTHONUNBUFFERED="1")

    def test_a_download_goes_on_where_it_was_cut(self):
        self.server.cut_after = 0
        self.part.parent.mkdir()
        self.part.write_bytes(self.whole[:1000])
        done = self.get()
        self.refused(done, "cut after 1,000 bytes, which are kept", "By hand", "--data")
        self.assertEqual(self.server.asked, ["bytes=1000-"] * 5)
        self.assertEqual(self.part.read_bytes(), self.whole[:1000])
        self.server.cut_after = len(self.whole) // 3  # each connection brings a part
        self.server.asked.clear()
        done = self.get()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(len(self.server.asked), 3)
        self.assertIn("unpacked CIFAR-10 to data/cifar-10-batches-bin", done.stdout)
        self.assertEqual(os.listdir(self.folder / "data"), [self.FOLDER])
        self.assertEqual(len(os.listdir(self.folder / "data" / self.FOLDER)), 7)
        self.assertEqual((self.folder / "data" / self.FOLDER / "test_batch.bin").read_bytes(), self.BATCH)
        self.server.shutdown()
        self.assertIn("CIFAR-10 is already in data/cifar-10-batches-bin", self.made("cifar10"))

    def test_a_server_without_ranges_sends_all_again(self):
        self.server.content = small = archive({"something": b"else"})
        self.server.knows_ranges = False
        self.part.parent.mkdir()
        self.part.write_bytes(b"what another server sent")
        self.refused(self.get(small), "cifar-10-binary.tar.gz lacks batches.meta.txt")  # so its sum was right
        self.assertEqual(self.server.asked, ["bytes=24-"])

    def test_a_wrong_sum(self):
        self.server.content = b"a page that asks for a password"
        self.refused(self.get(), "has the MD5 sum", "it was removed", "By hand", "cifar-10-binary.tar.gz")
        self.assertEqual(os.listdir(self.folder / "data"), [])
        self.put("data/cifar-10-binary.tar.gz", b"x")
        self.refused(self.get(), "data/cifar-10-binary.tar.gz has the MD5 sum", "remove it")

    def test_bytes_too_many_are_dropped(self):
        self.part.parent.mkdir()
        self.part.write_bytes(self.whole + b"more")
        self.refused(self.get(), "has the MD5 sum", "it was removed")
        self.assertFalse(self.part.exists())

    def test_no_server_no_file_no_address(self):
        self.server.status = 404
        self.refused(self.get(), "the server answers 404", "By hand")
        self.server.shutdown()
        self.server.server_close()
        self.refused(self.get(), "cannot be reached", "By hand: get http://127.0.0.1", "data/cifar-10-binary.tar.gz")
        self.refused(self.get(url="file:///etc/passwd"), "no address of the web")

    def test_the_part_is_no_link_and_one_process_writes_it(self):
        self.put("precious", b"")
        self.part.parent.mkdir()
        self.part.symlink_to("../precious")
        self.refused(self.get(), "cifar-10-binary.tar.gz.part")
        self.part.unlink()
        with self.part.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refused(self.get(), "another process writes")
        self.assertEqual((self.folder / "precious").read_bytes(), b"")

    def test_an_archive_with_other_members_is_refused(self):
        batch = f"{self.FOLDER}/data_batch_1.bin"
        for words, content in (
            (["data_batch_1.bin", "no file of CIFAR-10's length"], archive({batch: b"short"})),
            (["data_batch_1.bin", "no file of CIFAR-10's length"], archive({batch: "/etc/passwd"})),
            (["lacks batches.meta.txt"], archive({f"elsewhere/{batch}": b"short"})),
            (["is damaged"], self.whole[: len(self.whole) // 2]),
            (["is damaged"], b"no archive at all"),
        ):
            with self.subTest(words=words):
                self.put("data/cifar-10-binary.tar.gz", content)
                self.refused(self.get(content), *words)
                self.assertFalse((self.folder / "data" / self.FOLDER).exists())


if __name__ == "__main__":
    main(1)
