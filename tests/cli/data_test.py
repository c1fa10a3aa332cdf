#!/usr/bin/env python3
"""jobs/data.sh: what it reads, writes and refuses; sets of any number of classes and images.

usage: data_test.py RUEDA MPIEXEC
"""

import contextlib
import fcntl
import gzip
import hashlib
import http.server
import importlib.util
import io
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from rueda_runs import PATIENCE, ProgramCase, environment, main

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
            command, env=environment(env), cwd=self.folder, capture_output=True, text=True, check=False,
            timeout=120 * PATIENCE, stdin=subprocess.DEVNULL,
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
        for words in (("train", *small, "--epochs", "1", "--run-dir", "run"),
                      ("evaluate", *small, "--init-weights", "run")):
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
    def test_output_that_no_disk_takes(self):
        self.put_idx()
        line = f"{ROOT}/jobs/data.sh fashion-mnist --from idx . >/dev/full"
        self.refused(self.execute("bash", "-c", line, PYTHONUNBUFFERED=""), "the output: No space left on device")

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

    def test_a_link_by_a_batch_name_is_of_no_set(self):
        self.put_idx()
        self.put("data/fashion-mnist/test_batch.bin", b"")
        self.put("precious/thesis.txt", b"dear")
        for name in ("data_batch_1.bin", "data_batch_old"):
            (self.folder / "data/fashion-mnist" / name).symlink_to("../../precious")
            self.refused(self.script("fashion-mnist", "--from", "idx", "--overwrite"), name, "of no data set")
            (self.folder / "data/fashion-mnist" / name).unlink()
        self.assertEqual(os.listdir(self.folder / "precious"), ["thesis.txt"])

    WRITER = """
import os, signal, subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import staging
def write(folder, then):
    (folder / "test_batch.bin").write_bytes(b"half")
    then()
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def die_between():
    staging.os = type("Os", (), {**vars(os), "rename": lambda old, new: (rename(old, new), die())})
rename, command, words = os.rename, sys.argv[2], sys.argv[3:]
run = lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
if command == "live":
    staging.put_set(Path("data/other"), lambda folder: (write(folder, run), os.stat(folder / "test_batch.bin")))
else:
    then = {"killed": die, "between": die_between}[command]
    staging.put_set(Path("data/fashion-mnist"), lambda folder: write(folder, then), overwrite=True)
"""

    def writer(self, *words):
        words = [sys.executable, "-B", "-c", self.WRITER, ROOT / "jobs/data", *words]
        return subprocess.run(words, cwd=self.folder, check=False, stderr=subprocess.PIPE, text=True, timeout=120)

    def test_what_a_killed_call_left_is_removed(self):
        self.put_idx()
        make = ("fashion-mnist", "--from", "idx")
        self.assertEqual(self.writer("killed").returncode, -9)
        (left,) = (self.folder / "data").glob(".rueda-data.tmp-*")
        self.assertIn(f"removed data/{left.name}, which a call left that was killed", self.made(*make))
        self.assertEqual(os.listdir(self.folder / "data"), ["fashion-mnist"])
        before = (self.folder / "data/fashion-mnist/test_batch.bin").read_bytes()
        self.assertEqual(self.writer("between").returncode, -9)  # the old set is away, the new one not there
        self.assertFalse((self.folder / "data/fashion-mnist").exists())
        self.assertIn("already holds these", self.made(*make))
        self.assertEqual((self.folder / "data/fashion-mnist/test_batch.bin").read_bytes(), before)
        self.assertEqual(os.listdir(self.folder / "data"), ["fashion-mnist"])

    def test_what_no_killed_call_left_stays(self):
        self.put_idx()
        done = self.writer("live", ROOT / "jobs/data.sh", "fashion-mnist", "--from", "idx")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.folder / "data")), ["fashion-mnist", "other"])
        stay = []
        for change in (lambda left: (left / "set/thesis.txt").write_bytes(b"dear"),
                       lambda left: (left / "mine").mkdir(),
                       lambda left: (left / "lock").write_text(
                           (left / "lock").read_text().replace(" on ", " on other-")),
                       lambda left: (left / "lock").unlink(),
                       lambda left: (left / "set").rename(left.parent / "kept")
                       and (left / "set").symlink_to("../kept")):
            self.assertEqual(self.writer("killed").returncode, -9)
            (left,) = set((self.folder / "data").glob(".rueda-data.tmp-*")) - set(stay)
            change(left)
            stay.append(left)
        self.made("fashion-mnist", "data", "--from", "idx")
        self.assertEqual(set((self.folder / "data").glob(".rueda-data.tmp-*")), set(stay))
        self.assertEqual([left for left in stay if not (left / "set/test_batch.bin").exists()], [])

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
        self.put("idx/train-images-idx3-ubyte.gz",
                 gzip.compress(images(12)) + gzip.compress(bytes(1 << 24)) * 256)  # 4 GiB
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
    content, knows_ranges, cut_after, status, piece, slow_head = b"", True, None, None, None, False

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
        if server.slow_head:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while True:
                    self.wfile.write(b"H")
                    time.sleep(0.02)
            self.close_connection = True
            return None
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
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the reader had enough
            while server.piece and first < last:
                self.wfile.write(server.content[first : first + server.piece])
                first += server.piece
                time.sleep(0.02)
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
        cls.members = {**{f"{cls.FOLDER}/{name}": cls.BATCH for name in names},
                       f"{cls.FOLDER}/batches.meta.txt": cls.NAMES,
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

    def test_a_server_that_never_ends(self):
        """A byte at a time, each within the limit: of the archive, then of the answer's head."""
        self.server.piece = 1
        code = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import common, download
download.TIMEOUT, download.ANSWER = map(float, sys.argv[3:])
try: download.fetch(sys.argv[2], "0", Path("data/set.tar.gz"))
except common.Fault as fault: sys.exit(f"data.sh: {fault}")
"""
        (self.folder / "data").mkdir()
        done = self.execute(sys.executable, "-B", "-c", code, ROOT / "jobs/data", self.server.url, "1", "60",
                            no_proxy="*")
        self.server.slow_head = True
        other = self.execute(sys.executable, "-B", "-c", code, ROOT / "jobs/data", self.server.url, "60", "0.3",
                             no_proxy="*")
        self.assertIn("no answer in 0.3 s", other.stderr)
        self.assertIn("sends fewer than 1,000 bytes a second", done.stderr)
        self.assertGreater((self.folder / "data/set.tar.gz.part").stat().st_size, 0)

    def test_a_page_is_called_so(self):
        self.server.content = b"<!DOCTYPE html>\n<title>Log in to the hotel</title>"
        self.refused(self.get(), "gave an HTML page", "open the address in a browser", "By hand")
        self.assertEqual(os.listdir(self.folder / "data"), [])
        for content, words in ((self.server.content, "an HTML page"),
                               (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull")):
            self.put("data/cifar-10-binary.tar.gz", content)
            self.refused(self.get(), "data/cifar-10-binary.tar.gz is ", words)

    def test_no_other_file_is_written_by_a_hard_link(self):
        precious = self.put("precious", b"dear")
        self.part.parent.mkdir()
        os.link(precious, self.part)
        self.refused(self.get(), "cifar-10-binary.tar.gz.part", "a hard link")
        self.assertEqual(precious.read_bytes(), b"dear")
        self.part.unlink()
        os.mkfifo(self.part)
        self.refused(self.get(), "cifar-10-binary.tar.gz.part", "no regular file")

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
            (["batches.meta.txt", "no file of CIFAR-10's length"],
             archive({f"{self.FOLDER}/batches.meta.txt": "/etc/passwd"})),
            (["lacks batches.meta.txt"], archive({f"elsewhere/{batch}": b"short"})),
            (["is damaged"], self.whole[: len(self.whole) // 2]),
            (["is damaged"], b"no archive at all"),
        ):
            with self.subTest(words=words):
                self.put("data/cifar-10-binary.tar.gz", content)
                self.refused(self.get(content), *words)
                self.assertFalse((self.folder / "data" / self.FOLDER).exists())


def run_here(code, *words):
    """With these words as its command line. A Python of its own would load NumPy and Pillow each time."""
    with mock.patch.object(sys, "argv", ["-c", *map(str, words)]):
        exec(code, {"__name__": "__main__"})


DRAW = """
import sys
from PIL import Image
for word in sys.argv[1:]:
    path, mode, width, height, colour = word.split(":")
    Image.new(mode, (int(width), int(height)), tuple(map(int, colour.split(",")))).save(path)
"""

HAS_LIBRARIES = all(importlib.util.find_spec(module) for module in ("numpy", "PIL"))


@unittest.skipUnless(HAS_LIBRARIES, "no NumPy and Pillow in this Python")
class ConvertPictures(DataCase):
    def draw(self, *pictures):
        """Of 'path mode width height colour'."""
        for picture in pictures:
            (self.folder / picture.split()[0]).parent.mkdir(parents=True, exist_ok=True)
        run_here(DRAW, *(f"{self.folder}/{picture}".replace(" ", ":") for picture in pictures))

    def test_train_and_test_by_class(self):
        self.draw("in/train/cat/a.png RGB 32 32 200,100,50", "in/train/dog/b.PNG RGB 20 16 1,2,3",
                  "in/train/emu/c.jpg L 90 60 7", "in/test/dog/d.png RGBA 64 64 9,9,9,255")
        self.put("in/train/cat/.DS_Store", b"x")
        self.put("in/train/cat/notes.txt", b"x")
        self.assertIn("wrote 3 training images and 1 test image of 3 classes to out", self.made("convert", "in", "out"))
        self.assertEqual((self.folder / "out/batches.meta.txt").read_text(), "cat\ndog\nemu\n")
        train = [record for k in (1, 2, 3) for record in self.records(f"out/data_batch_{k}.bin")]
        cat, dog, emu = sorted(train)
        self.assertEqual(cat[1:], bytes([200]) * 1024 + bytes([100]) * 1024 + bytes([50]) * 1024)
        small = bytes(8 * 32) + (bytes(6) + b"\1" * 20 + bytes(6)) * 16 + bytes(8 * 32)  # in the middle of black
        self.assertEqual(dog[1:1025], small)
        self.assertLess(max(emu[1:]) - min(emu[1:]), 2)  # scaled to fill
        self.assertEqual(self.records("out/test_batch.bin"), [bytes([1]) + bytes([9]) * 3072])
        self.assertIn("2 emu ", self.trained_on("out"))
        self.assertIn("already holds these", self.made("convert", "in", "out"))

    def test_a_large_picture_loses_its_ends_alike(self):
        """Six bands of 16 pixels along the longer side, four along the shorter: of the six the outer two go, of the
        four none."""
        long, short = [250, 200, 150, 100, 50, 0], [240, 180, 120, 60]
        for name, across, down in (("wide", long, short), ("tall", short, long)):
            pixels = b"".join(bytes((across[x // 16], down[y // 16], 7)) for y in range(16 * len(down))
                              for x in range(16 * len(across)))
            self.put(f"in/train/{name}/a.ppm", b"P6 %d %d 255\n" % (16 * len(across), 16 * len(down)) + pixels)
            self.put(f"in/test/{name}/a.ppm", b"P6 32 32 255\n" + bytes(3072))
        self.made("convert", "in", "out")
        middles = range(3, 32, 8)  # of the four bands that are left
        for record in (one for k in (1, 2) for one in self.records(f"out/data_batch_{k}.bin")):
            label, red, green = record[0], record[1:1025], record[1025:2049]  # tall, wide
            across, down = [(short, long[1:5]), (long[1:5], short)][label]
            for seen, wanted in (([red[32 * 16 + x] for x in middles], across),
                                 ([green[32 * y + 16] for y in middles], down)):
                self.assertLess(max(abs(a - b) for a, b in zip(seen, wanted)), 8, (label, seen, wanted))

    def test_a_split_is_made_and_stays(self):
        self.draw(*(f"in/{name}/{k}.png L 32 32 {10 * k + label}" for label, name in enumerate("ab")
                    for k in range(10)))
        self.assertIn("wrote 14 training images and 6 test images",
                      self.made("convert", "in", "out", "--test-share", "0.3"))
        test = self.records("out/test_batch.bin")
        self.assertEqual([record[0] for record in sorted(test)], [0] * 3 + [1] * 3)
        train = [record for k in range(1, 6) for record in self.records(f"out/data_batch_{k}.bin")]
        self.assertEqual(len({*test, *train}), 20)
        self.assertNotEqual([record[0] for record in train], sorted(record[0] for record in train))  # mixed
        self.made("convert", "in", "again", "--test-share", "0.3")
        self.assertEqual(self.records("again/test_batch.bin"), test)

    def test_what_is_no_picture_or_no_class(self):
        self.draw("in/train/cat/a.png RGB 32 32 1,1,1", "in/train/dog/b.png RGB 32 32 1,1,1",
                  "in/test/cat/c.png L 9 9 1")
        whole = (self.folder / "in/train/cat/a.png").read_bytes()
        for words, name, content in (
            (["a.png cannot be read as a picture"], "in/train/cat/a.png", whole[:60]),
            (["a.png cannot be read as a picture"], "in/train/cat/a.png", b"GIF89a, really"),
            (["in/test has the class gnu, which in/train has not"], "in/test/gnu/x.png", whole),
            (["in/train/emu holds no picture"], "in/train/emu/x.txt", b""),
        ):
            with self.subTest(words=words):
                path = self.folder / name
                before = path.read_bytes() if path.exists() else None
                self.put(name, content)
                self.refused(self.script("convert", "in", "out"), *words)
                if before:
                    path.write_bytes(before)
                else:
                    path.unlink()
                    path.parent.rmdir()
        self.draw("in/train/cat/a.png I 32 32 70000")
        self.refused(self.script("convert", "in", "out"), "more than 8 bits a pixel")
        self.draw("in/train/cat/a.png L 9000 9000 1")
        self.refused(self.script("convert", "in", "out"), "9,000 x 9,000 pixels")
        self.draw("in/train/cat/a.tif RGB 9 9 1,1,1")
        tiff = (self.folder / "in/train/cat/a.tif").read_bytes()
        samples = struct.pack("<HHII", 277, 3, 1, 3)  # a pixel
        self.assertIn(samples, tiff)
        self.put("in/train/cat/a.png", tiff.replace(samples, struct.pack("<HHII", 277, 3, 1, 9999)))
        self.refused(self.script("convert", "in", "out"), "a.png cannot be read as a picture")
        self.assertFalse((self.folder / "out").exists())

    def tiles(self, *paths):
        """Small pictures, all different."""
        self.draw(*(f"{path} RGB 32 32 {number % 256},{number // 256},9" for number, path in enumerate(paths)))

    def test_folders_that_are_numbers(self):
        self.tiles(*(f"in/{label}/{k}.png" for label in range(12) for k in range(2)))
        names = self.put("names", b"".join(b"kind %d\n" % k for k in range(12)))
        said = self.made("convert", "in", "out", "--names", names)
        self.assertEqual([line for line in said.splitlines() if line.startswith("class ")],
                         [f"class {k}: kind {k}, from {k}" for k in range(12)])
        images = {record[1]: record[0] for record in self.records("out/test_batch.bin")}
        self.assertEqual({red // 2: label for red, label in images.items()}, {k: k for k in range(12)})
        for given, words in ((b"kind 12\n", ["13 names", "12 classes"]), (b"kind 1\n", ["13 names"])):
            self.refused(self.script("convert", "in", "o",
                                     "--names", self.put("n", names.read_bytes() + given)), *words)
        names.write_bytes(names.read_bytes().replace(b"11", b"1"))
        self.refused(self.script("convert", "in", "o", "--names", names), "the name kind 1 twice")

    def test_each_picture_is_read_or_counted(self):
        endings = ("png", "JPG", "jpeg", "bmp", "gif", "webp", "tif", "TIFF", "ppm", "pgm")
        self.tiles(*(f"in/{name}/{k}.{ending}" for name in "ab" for k, ending in enumerate(endings[:-1])),
                   "in/a/sub/x.png")
        self.draw(*(f"in/{name}/9.pgm L 32 32 9" for name in "ab"))
        for name in ("b/notes.txt", "b/more.txt", "b/README", "names.csv", "b/.hidden", "b/Thumbs.db",
                     "__MACOSX/x.png"):
            self.put(f"in/{name}", b"x")
        said = self.made("convert", "in", "out")
        self.assertIn("wrote 16 training images and 4 test images of 2 classes", said)
        self.assertIn("5 files were not read: 2 .txt, ", said)
        for reason in ("1 without an ending", "1 in folders below a class", "1 beside the classes' folders"):
            self.assertIn(reason, said)

    def test_names_of_the_halves(self):
        for train, test in (("Train", "Test"), ("training", "val"), ("train", "VALID"), ("train_set", "dev"),
                            ("train", "validation"), ("Training-Images", "Testing")):
            top = f"{train}-{test}"
            self.tiles(*(f"{top}/{half}/{name}/{k}.png" for half in (train, test) for name in "ab" for k in range(3)))
            for name in "ab":  # classes may be links
                (self.folder / top / test / name).rename(self.folder / top / f".{name}")
                (self.folder / top / test / name).symlink_to(f"../.{name}")
            self.assertIn("wrote 6 training images and 6 test images", self.made("convert", top, f"{top}-set"))
        self.tiles("in/train/a/1.png", "in/train/b/1.png", "in/test/a/2.png", "in/test/b/2.png", "in/val/a/3.png",
                   "in/x/1.png")
        said = self.made("convert", "in", "out")
        for name in ("val", "x"):
            self.assertIn(f"{name}/ was left out: train/ and test/ are read", said)
        for path in (self.folder / "in/test").glob("*/*"):  # as in a competition, whose test set has no labels
            path.rename(self.folder / "in/test" / f"{path.parent.name}{path.name}")
        self.assertIn("test/ was left out: train/ and val/ are read", self.made("convert", "in", "out2"))

    def test_layouts_that_are_refused_by_what_they_are(self):
        for words, paths in (
            (["flat/train holds pictures, but no folder for each class"], ["flat/train/1.png", "flat/valid/1.png"]),
            (["two/Training and two/train may both be meant"],
             [f"two/{half}/a/1.png" for half in ("train", "Training", "val")]),
            (["alone/train has the classes", "no test set beside it", "give alone/train itself"],
             ["alone/train/a/1.png"]),
            (["half/train has the classes", "half/test has no folders of classes"],
             ["half/train/a/1.png", "half/test/1.png"]),
            (["one holds pictures, but no folder for each class"], ["one/1.png", "one/2.png"]),
            (["deep/set holds no picture, but its folder a does"], ["deep/set/a/1.png", "deep/set/b/2.png"]),
        ):
            with self.subTest(words=words):
                self.tiles(*paths)
                self.refused(self.script("convert", paths[0].partition("/")[0], "out"), *words)
        self.tiles(*(f"vehicles/{name}/{k}.png" for name in ("train", "car") for k in range(2)))
        self.assertIn("class 1: train", self.made("convert", "vehicles", "out"))

    def test_layouts_that_lines_of_the_documentation_sort(self):
        lines = (ROOT / "docs/data.md").read_text().partition("```sh\n# Kaggle")[2].partition("```")[0].splitlines()
        kaggle, tiny = [lines[1]], lines[3:]
        self.tiles(*(f"kaggle/{half}/{k}.png" for half in ("train", "test") for k in range(1, 9)))
        labels = "".join(f"{k},{'cat' if k % 2 else 'dog'}\r\n" for k in range(1, 9))
        self.put("kaggle/trainLabels.csv", f"id,label\r\n{labels}".encode())
        self.tiles(*(f"tiny/train/{name}/images/{k}.png" for name in ("n1", "n2") for k in range(3)),
                   *(f"tiny/val/images/{k}.png" for k in range(4)))
        self.put("tiny/val/val_annotations.txt",
                 b"".join(b"%d.png\tn%d\t0\t0\t9\t9\n" % (k, k % 2 + 1) for k in range(4)))
        for folder, words, commands, convert in (
            ("kaggle", ["trainLabels.csv may have their labels", "docs/data.md"], kaggle, "kaggle/train"),
            ("tiny", ["val_annotations.txt, as Tiny ImageNet has", "docs/data.md"], tiny[1:], None),
            ("tiny", ["in images, as Tiny ImageNet has", "docs/data.md"], tiny[:1], "tiny"),
        ):
            self.refused(self.script("convert", folder, "out"), *words)
            subprocess.run(["bash", "-euc", "\n".join(commands)], cwd=self.folder / folder, check=True)
            if convert:
                self.assertIn("class 0: ", self.made("convert", convert, f"{folder}-set"))
        self.assertEqual((self.folder / "kaggle-set/batches.meta.txt").read_text(), "cat\ndog\n")
        self.assertEqual([record[0] for record in sorted(self.records("tiny-set/test_batch.bin"))], [0, 0, 1, 1])

    def test_names_that_are_more_than_ascii(self):
        """Composed, in UTF-8 whatever the locale, and no two that look alike."""
        twins = ("caf\u00e9", "cafe\u0301")
        self.tiles("in/train/\u732b/1.png", f"in/train/{twins[0]}/1.png", f"in/test/{twins[1]}/1.png",
                   "in/test/\u732b/2.png")
        for old in ({},
                    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):  # names are ASCII to Python
            self.made("convert", "in", "out", "--overwrite", **old)
            self.assertEqual((self.folder / "out/batches.meta.txt").read_bytes(), f"{twins[0]}\n\u732b\n".encode())
        self.tiles(f"in/train/{twins[1]}/1.png")
        self.refused(self.script("convert", "in", "o"), "names that look alike", "cafe\\u0301", "caf\\xe9")
        self.tiles(*(f"bad/{name}/{k}.png" for name in ("a\x1b", "a\x07", "b") for k in range(2)))
        self.refused(self.script("convert", "bad", "o"), "names that look alike", "a\\x1b", "a\\x07")
        os.rename(self.folder / "bad/b", os.fsencode(self.folder / "bad") + b"/caf\xe9")
        os.rename(self.folder / "bad/a\x07", self.folder / "other")
        self.assertIn("class 1: caf?\n", self.made("convert", "bad", "out2"))

    def test_a_damaged_exif_block(self):
        """The orientation is right, another entry is not: the picture is turned all the same."""
        entries = (b"\x01\x0f\0\2\0\0\0\2x\0\0\0", b"\x01\x12\0\3\0\0\0\1\0\6\0\0", b"\x87i\0\5\0\0\0\1\0\0\0\x32")
        block = b"Exif\0\0MM\0*\0\0\0\x08\0\3" + b"".join(entries) + bytes(5) + b"\1\x90\0\0\7\0\0\0\x040220" + bytes(4)
        self.draw(*(f"in/{name}/{k}.jpg RGB 32 32 {k * 200},90,90" for name in "ab" for k in range(2)))
        code = """
import sys
from PIL import Image
picture = Image.new("RGB", (32, 32))
picture.paste((255, 255, 255), (0, 0, 32, 16))  # the upper half
for path in sys.argv[2:]: picture.save(path, exif=bytes.fromhex(sys.argv[1]))
"""
        for damaged in (block, block[:20]):
            run_here(code, damaged.hex(), *(self.folder / f"in/a/{k}.jpg" for k in range(2)))
            self.made("convert", "in", "out", "--overwrite")
            (upper,) = (record[1 : 1025] for record in self.records("out/test_batch.bin") if record[0] == 0)
            turned = damaged == block  # to the right
            self.assertEqual([upper[at] > 200 for at in (16 * 32, 16 * 32 + 31)], [False, turned])

    def test_what_is_no_regular_file(self):
        self.tiles(*(f"in/{name}/{k}.png" for name in "ab" for k in range(2)))
        odd = self.folder / "in/a/odd.png"
        for make, words in ((os.mkfifo, "not a regular file"),
                            (lambda path: path.symlink_to("nowhere"), "No such file"),
                            (lambda path: path.symlink_to("odd.png"), "symbolic links")):
            make(odd)
            self.refused(self.script("convert", "in", "out"), "in/a/odd.png", words)
            odd.unlink()
        odd.symlink_to("..")  # a folder below, without an end
        self.assertIn("1 file was not read: 1 in folders below a class", self.made("convert", "in", "out"))
        (self.folder / "loop").symlink_to("loop")
        for place in (".", "", "..", "/", "a/.."):
            self.refused(self.script("convert", "in", place), "is no name for a set's folder")
        self.refused(self.script("convert", "loop", "o"), "nothing is at loop")
        self.refused(self.script("convert", "in", "loop/o"), "loop")

    def test_archives_of_arrays_that_are_damaged(self):
        code = """
import io, sys, numpy, zipfile
def npy(array):
    file = io.BytesIO(); numpy.save(file, array); return file.getvalue()
images, labels = npy(numpy.full((2, 32, 32, 3), 9, "uint8")), npy(numpy.array([0, 1]))
def write(name, first=images, method=zipfile.ZIP_STORED, change=bytes):
    with zipfile.ZipFile(sys.argv[1] + name, "w", method) as archive:
        for word, content in zip(("x_train", "y_train", "x_test", "y_test"), (first, labels, images, labels)):
            archive.writestr(word + ".npy", content)
    content = bytearray(open(sys.argv[1] + name, "rb").read())
    open(sys.argv[1] + name, "wb").write(change(content))
def central(offset, value):  # of the first entry of the central directory
    def change(content):
        content[content.index(b"PK\\1\\2") + offset] = value
        return content
    return change
write("right.npz")
write("method.npz", change=central(10, 99))
write("secret.npz", change=central(8, 1))
write("offset.npz", change=lambda content: content.replace(
    b"PK\\5\\6" + content[-18:], b"PK\\5\\6" + content[-18:-6] + b"\\xff\\xff\\xff\\x7f" + content[-2:]))
write("huge.npz", images.replace(b"(2, 32, 32, 3)", b"(2, 9**15, 32)".replace(b"9**15", b"99999")))
write("brackets.npz", images[:10] + b"(" * 118 + images[128:])
write("page.npz", change=lambda content: b"\\n<!DOCTYPE html><title>Log in</title>")
open(sys.argv[1] + "x_train.npy", "wb").write(b"version https://git-lfs.github.com/spec/v1\\noid sha256:0\\n")
for name in ("y_train", "y_test", "x_test"):
    open(sys.argv[1] + name + ".npy", "wb").write(labels if name[0] == "y" else images)
"""
        (self.folder / "arrays").mkdir()
        run_here(code, f"{self.folder}/arrays/")
        self.made("convert", "arrays/right.npz", "out")
        for name, words in (("method", ["compression method"]), ("secret", ["encrypted"]), ("offset", []),
                            ("huge", ["x_train.npy claims", "and has 6,144"]), ("brackets", ["save whole arrays"]),
                            ("page", ["an HTML page", "open the address in a browser"])):
            with self.subTest(name=name):
                self.refused(self.script("convert", f"arrays/{name}.npz", "other"), f"arrays/{name}.npz", *words)
        self.refused(self.script("convert", "arrays", "other"), "arrays/x_train.npy is a Git LFS pointer",
                     "git lfs pull")

    def test_a_class_by_the_name_of_an_attack(self):
        self.draw("in/a\x1b[31m/1.png L 9 9 1", "in/a\x1b[31m/2.png L 9 9 2", "in/b/1.png L 9 9 1",
                  "in/b/2.png L 9 9 3")
        self.made("convert", "in", "out")
        self.assertEqual((self.folder / "out/batches.meta.txt").read_text(), "a?[31m\nb\n")

    def test_arrays(self):
        code = """
import sys, numpy
folder, kind = sys.argv[1:]
images = numpy.arange(6 * 3 * 40 * 40, dtype="uint32").reshape(6, 40, 40, 3).astype("uint8")
if kind == "first": images = images.transpose(0, 3, 1, 2)
if kind == "grey": images = images[..., 0]
if kind == "float": images = images / 255
labels = numpy.array([0, 1, 36, 3, 4, 5])
if kind == "negative": labels[2] = -1
if kind == "few": labels = labels[:5]
if kind == "object": labels = labels.astype(object)
numpy.savez(folder + "/x.npz", x_train=images, y_train=labels[:, None], x_test=images, y_test=labels)
for name, what in (("train_images", images), ("train_labels", labels),
                   ("test_images", images), ("test_labels", labels)):
    numpy.save(folder + "/arrays/" + name + ".npy", what)
"""
        (self.folder / "arrays").mkdir()
        pixels = set()
        for kind in ("last", "first", "grey"):
            run_here(code, self.folder, kind)
            self.assertIn("of 37 classes", self.made("convert", "arrays", "out", "--overwrite"))
            pixels.add((self.folder / "out/test_batch.bin").read_bytes())
            self.assertIn("already holds these", self.made("convert", "x.npz", "out"))
        self.assertEqual(len(pixels), 2)  # colours may stand first or last
        for kind, words in (("float", ["float64, expected uint8"]), ("negative", ["image 2 has the label -1"]),
                            ("few", ["6 images", "5 labels"]), ("object", ["Python objects"])):
            run_here(code, self.folder, kind)
            self.refused(self.script("convert", "arrays", "other"), *words)

    def test_advice_on_arrays_looks_at_their_values(self):
        """Each line is followed, and gives the same images."""
        code = """
import sys, numpy
folder, kind, change = sys.argv[1:]
x = numpy.arange(2 * 32 * 32 * 3).reshape(2, 32, 32, 3) % 256
kinds = {"int64": x, "half": (x / 255).astype("float16"), "signed": x / 127.5 - 1, "wide": x * 257,
         "nan": x * numpy.nan, "bits": (x > 99).astype("uint8"), "right": x.astype("uint8")}
x = kinds[kind]
x = eval(change) if change else x
numpy.savez(folder + "/x.npz", x_train=x, y_train=[0, 1], x_test=x, y_test=[0, 1])
"""
        def convert(kind, change=""):
            run_here(code, self.folder, kind, change)
            return self.script("convert", "x.npz", "out", "--overwrite")

        self.assertEqual(convert("right").returncode, 0)
        right = self.records("out/test_batch.bin")
        for kind, words in (("int64", "from 0 to 255"), ("half", "from 0 to 1"), ("bits", "no pixel above 1")):
            with self.subTest(kind=kind):
                done = convert(kind)
                self.refused(done, words, "save ")
                said = convert(kind, done.stderr.strip().rpartition("save ")[2])
                self.assertEqual((said.returncode, said.stderr), (0, ""))
                if kind != "bits":
                    self.assertEqual(self.records("out/test_batch.bin"), right)
        for kind, words in (("signed", "from -1 to 1: undo their normalization"), ("wide", "to 65535: scale them"),
                            ("nan", "undo their normalization")):
            self.refused(convert(kind), words)

    def test_labels_as_a_whole(self):
        code = """
import sys, numpy
folder, labels = sys.argv[1], eval(sys.argv[2])
numpy.savez(folder + "/x.npz", x_train=numpy.full((len(labels), 32, 32), 9, "uint8"), y_train=labels,
            x_test=numpy.full((2, 32, 32), 9, "uint8"), y_test=labels[:2])
"""
        def convert(labels, *words):
            run_here(code, self.folder, labels)
            return self.script("convert", "x.npz", "out", "--overwrite", *words)

        self.refused(convert("range(1, 11)"), "no image has the label 0", "1 to 10", "subtract 1",
                     "--names with 11 names")
        names = self.put("names", b"".join(b"n%d\n" % k for k in range(11)))
        for labels, words in (("range(10)", ["8 of 10 classes have no test image: 2, 3, 4, 5, 6, 7, 8, 9"]),
                              ("range(0, 200, 20)",
                               ["171 of 181 classes have no training image: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...",
                                                     "number the labels without gaps"])):
            done = convert(labels)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for word in words:
                self.assertIn(word, done.stdout)
        self.assertIn("1 of 11 classes has no training image: 0 n0", convert("range(1, 11)", "--names", names).stdout)
        self.tiles("in/train/a/1.png", "in/train/b/1.png", "in/test/a/1.png")
        self.assertIn("1 of 2 classes has no test image: 1 b", self.made("convert", "in", "o"))

    def test_each_spelling_of_arrays_in_a_folder_and_in_a_file(self):
        code = """
import sys, numpy
numbers = numpy.arange(2 * 32 * 32 * 3, dtype="uint32").reshape(2, 32, 32, 3).astype("uint8")
for name in sys.argv[2:]:
    numpy.save(sys.argv[1] + "/" + name + ".npy", numbers if name in sys.argv[2::2] else numpy.array([0, 1]))
numpy.savez(sys.argv[1] + ".npz", **{name: numpy.load(sys.argv[1] + "/" + name + ".npy") for name in sys.argv[2:]})
"""
        table = (ROOT / "docs/data.md").read_text().partition("| a folder with `train_images.npy`")[2].partition("|")[0]
        words = re.findall(r"`([a-z_]+)(?:\.npy)?`", "`train_images.npy`" + table)
        self.assertEqual(len(words), 8)
        for spelling in (words[:4], words[4:], ["X_train", "y_train", "X_test", "Y_test"]):
            folder = self.folder / spelling[0]
            folder.mkdir()
            run_here(code, folder, *spelling)
            for place in (folder, f"{folder}.npz"):
                self.assertIn("of 2 classes", self.made("convert", place, "out"))
        (folder / "Y_test.npy").unlink()
        self.refused(self.script("convert", folder, "o"),
                     "holds the arrays X_test, X_train, y_train: expected", "y_test")
        (folder / "x_test.npy").touch()
        self.refused(self.script("convert", folder, "o"), "holds X_test and x_test: remove one")

    def test_a_python_without_the_libraries_starts_one_that_has_them(self):
        self.tiles(*(f"in/{name}/{k}.png" for name in "ab" for k in range(2)))
        python = self.put("bin/python3", b'#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')  # without Debian's packages
        python.chmod(0o755)
        self.assertIn("of 2 classes", self.made("convert", "in", "out", PATH=f"{python.parent}:/usr/bin:/bin"))

    def test_without_the_libraries_and_without_a_network(self):
        """Of a Python that has neither, in a folder where nothing can be installed."""
        self.draw("in/a/1.png L 9 9 1", "in/a/2.png L 9 9 1", "in/b/1.png L 9 9 1", "in/b/2.png L 9 9 1")
        hide = self.put("hide/sitecustomize.py",
                        b"import sys; sys.modules['PIL'] = sys.modules['numpy'] = None\n").parent
        done = self.script("convert", "in", "out", PYTHONPATH=str(hide), XDG_CACHE_HOME="/proc/nowhere",
                           RUEDA_DATA_PYTHON="1")
        self.refused(done, "has lost PIL")


class Surroundings(DataCase):
    """What lies about where data.sh is called, or where it keeps its libraries."""

    def test_nothing_of_the_current_folder_is_run(self):
        for name in ("random", "gzip", "tarfile", "numpy", "PIL", "venv", "pip", "sitecustomize"):
            self.put(f"{name}.py", b"open('ran', 'w')\n")
        self.put_idx()
        for path in ("", ":", "/nowhere:", ":/nowhere"):
            self.made("fashion-mnist", "--from", "idx", PYTHONPATH=path)
        self.assertFalse((self.folder / "ran").exists())

    def make_environment(self, cache):
        """needs._make by a Python that writes what it was asked."""
        python = self.put("python", b'#!/bin/sh\necho "$PWD $*" >"${0%python}asked"\nexit 1\n')
        python.chmod(0o755)
        code = """
import sys
sys.path.insert(0, sys.argv[1])
import common, needs
sys.executable = sys.argv[2]
try: needs._make(needs._environment())
except common.Fault as fault: sys.exit(f"data.sh: {fault}")
"""
        return self.execute(sys.executable, "-B", "-c", code, ROOT / "jobs/data", python, XDG_CACHE_HOME=cache)

    def test_no_other_folder_is_emptied_for_the_libraries(self):
        precious = self.put("mine/precious", b"dear")
        (self.folder / "cache/rueda").mkdir(parents=True)
        for make in (lambda: (self.folder / "cache/rueda/images").symlink_to("../../mine"),
                     lambda: self.put("cache/rueda/images/photo.png", b"dear"),
                     lambda: self.put("cache/rueda/images/pyvenv.cfg", b"home = /usr/bin\n")):
            make()
            self.assertIn("cache/rueda/images is in the way of a virtual environment",
                          self.make_environment("cache").stderr)
            self.assertFalse((self.folder / "asked").exists())
            if (self.folder / "cache/rueda/images").is_symlink():
                (self.folder / "cache/rueda/images").unlink()
        self.assertEqual(precious.read_bytes(), b"dear")
        self.put("cache/rueda/images/pyvenv.cfg", b"home = /usr/bin\nprompt = 'rueda-images'\n")
        self.assertIn("could not be installed", self.make_environment("cache").stderr)
        self.assertEqual((self.folder / "asked").read_text(),
                         f"/ -I -m venv --clear --prompt rueda-images {self.folder}/cache/rueda/images\n")

    def test_a_pipe_is_not_waited_for(self):
        for name in ("pipe", "pipe.npz", "pipe.tar.gz"):
            os.mkfifo(self.folder / name)
            self.refused(self.script("convert", name, "out"), f"{name} is not a regular file")


class ConvertOthers(DataCase):
    def test_idx(self):
        self.put_idx(train=12, test=4)
        for path in (self.folder / "idx").iterdir():
            path.rename(path.with_name("emnist-" + path.name.replace("t10k", "test")))
        names = self.put("names", b"".join(b"kind %d\n" % k for k in range(10)))
        self.made("convert", "idx", "out", "--names", names)
        self.assertEqual((self.folder / "out/batches.meta.txt").read_bytes(), names.read_bytes())
        self.refused(self.script("convert", "idx", "o", "--names", self.put("few", b"a\nb\n")), "2 names", "10 classes")
        self.put("names", b"\xef\xbb\xbf" + names.read_bytes().replace(b"\n", b"\r\n"))  # as Windows writes it
        self.assertIn("already holds", self.made("convert", "idx", "out", "--names", names))
        self.put("names", names.read_bytes().replace(b"kind 0", b"caf\xe9"))
        self.refused(self.script("convert", "idx", "o", "--names", names), "is no UTF-8 text, by its byte 6")

    def cifar100(self, **changes):
        record = bytes([19, 99]) + bytes(range(256)) * 12
        return {"train.bin": record * 3, "test.bin": bytes([0, 5]) + record[2:], "coarse_label_names.txt":
                b"".join(b"c%d\n" % k for k in range(20)),
                "fine_label_names.txt": b"".join(b"f%d\n" % k for k in range(100)),
                **{name.replace("_bin", ".bin"): content for name, content in changes.items()}}

    def test_cifar_100(self):
        files = {f"cifar-100-binary/{name}": content for name, content in self.cifar100().items()}
        self.put("c.tar.gz", archive(files))
        for name, content in files.items():
            self.put(name, content)
        for labels, place in (("fine", "c.tar.gz"), ("coarse", "c.tar.gz"), ("fine", "cifar-100-binary"),
                              ("coarse", ".")):
            self.made("convert", place, "out", "--labels", labels, "--overwrite")
            label = {"fine": 99, "coarse": 19}[labels]
            self.assertEqual(self.records("out/data_batch_1.bin"), [bytes([label]) + bytes(range(256)) * 12])
            names = (self.folder / "out/batches.meta.txt").read_text().split()
            self.assertEqual((len(names), names[5]), (label + 1, f"{labels[0]}5"))
        self.assertIn("99 f99 ", self.trained_on("out") if labels == "fine" else "99 f99 ")

    def test_cifar_100_damaged(self):
        for words, changes in (
            (["train.bin has 3,073 bytes", "no whole records"], {"train_bin": bytes(3073)}),
            (["train.bin: record 0 has the label 20, expected 0 to 19"], {"train_bin": bytes([20]) + bytes(3073)}),
            (["test.bin: record 0 has the label 100, expected 0 to 99"], {"test_bin": bytes([1, 100]) + bytes(3072)}),
        ):
            for name, content in self.cifar100(**changes).items():
                self.put(f"in/{name}", content)
            self.refused(self.script("convert", "in", "out"), *words)
        (self.folder / "in/test.bin").unlink()
        self.refused(self.script("convert", "in", "out"), "in holds no test.bin")
        self.put("c.tar.gz", b"no archive")
        self.refused(self.script("convert", "c.tar.gz", "out"), "c.tar.gz is damaged")

    def test_archives_are_bounded_before_they_are_unpacked(self):
        """None of them has what its headers claim: what is refused by a header was not read."""
        def header(name, size, kind=tarfile.REGTYPE):
            member = tarfile.TarInfo(name)
            member.size, member.type = size, kind
            return member.tobuf(tarfile.GNU_FORMAT)

        for words, content in (
            (["a header of 6,000,000,000 bytes"], header("long", 6_000_000_000, tarfile.XHDTYPE)),
            (["a header of 6,000,000,000 bytes"], header("long", 6_000_000_000, tarfile.GNUTYPE_LONGNAME)),
            (["members of 6,000,0", "is not the set"], header("other", 6_000_000_000)),
            (["more than 10,000 members"], header("none", 0) * 10_001),
            (["is damaged"], header("first", 0) * 9 + header("back", -2048)),
            (["is damaged"], header("cifar-100-binary/train.bin", 3074)),
            (["train.bin is no regular file of up to 200,000,000 bytes"],
             header("cifar-100-binary/train.bin", 201_000_000).ljust(1 << 20, b"\0")),
        ):
            for name, packed in (("c.tar.gz", gzip.compress(content, 1)), ("c.tar", content)):
                with self.subTest(words=words, name=name):
                    self.put(name, packed)
                    command = ["bash", "-c", 'ulimit -v 1000000; exec "$@"', "bash", ROOT / "jobs/data.sh"]
                    self.refused(self.execute(*command, "convert", name, "out"), name, *words)

    def test_files_that_are_something_else(self):
        for name, content, words in (
            ("c.tar.gz", b"version https://git-lfs.github.com/spec/v1\n", ["a Git LFS pointer", "git lfs pull"]),
            ("c.tgz", b"\xef\xbb\xbf\r\n<HTML><body>quota</body></HTML>",
             ["an HTML page", "open the address in a browser"]),
            ("c.tgz", b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
             ["an XML document", "a server's error"]),
            ("c.tar.gz", b"PK\3\4" + bytes(99), ["a zip archive: unpack it"]),
            ("c.tar.gz", b"", ["an empty file"]),
            ("set.7z", b"7z\xbc\xaf\x27\x1c" + bytes(99), ["a 7z archive: unpack it"]),
            ("set.parquet", b"PAR1\x15" + bytes(99), ["a Parquet file"]),
            ("idx/train-images-idx3-ubyte.gz", b"version https://git-lfs.github.com/spec/v1\n", ["a Git LFS pointer"]),
        ):
            with self.subTest(words=words):
                self.put_idx()
                self.put(name, content)
                self.refused(self.script("convert", name.partition("/")[0], "out"), name, *words)

    def test_nothing_known(self):
        self.refused(self.script("convert", "nowhere", "out"), "nothing is at nowhere")
        self.put("in/readme", b"x")
        self.refused(self.script("convert", "in", "out"), "nothing that can be converted")


class Classes(ProgramCase):
    """Sets of 2 to 100 classes with odd numbers of images, on 1 to 3 ranks."""

    SMALL = ("--image-size", "16", "--batch-per-rank", "5", "--threads", "1", "--data-limit", "23")

    def synth(self, classes, train=131, test=7):
        name = f"synth-{classes}-{train}-{test}"
        self.made("synth", "--out", name, "--classes", str(classes), "--train", str(train), "--test", str(test))
        return name

    def test_training_and_evaluation(self):
        for classes, ranks in ((2, 1), (3, 3), (37, 2), (100, 1)):
            data = self.synth(classes)
            record = self.trained(ranks, *self.SMALL, "--data", data, "--epochs", "1")
            without = 269_722 - 10 * 65  # ResNet-20, 64 weights and a bias for each class
            self.assertEqual(record["model"]["trainable_parameters"], without + 65 * classes)
            self.assertEqual(record["model"]["classes"], classes)
            self.assertNotIn("official", record["said"])
            words = ("evaluate", "--data", data, "--init-weights", record["run_dir"], "--json", f"{data}.json")
            said = self.completed(self.program.run_on(ranks, *words)).out
            score = self.read(f"{data}.json")
            self.assertEqual([len(row) for row in score["confusion"]], [classes] * classes)
            self.assertEqual(sum(map(sum, score["confusion"])), 7)
            self.assertEqual(score["val_accuracy"], record["epochs"][-1]["val_accuracy"])
            self.assertEqual("Most frequent mistakes" in said, classes > 20 and score["val_accuracy"] < 1)
            self.assertEqual("Images of each class, by the class" in said, classes <= 20)

    def test_mistakes_are_counted(self):
        data = self.synth(37, test=60)
        record = self.trained(1, *self.SMALL, "--data", data, "--epochs", "1")
        out = self.made("evaluate", "--data", data, "--init-weights", record["run_dir"], "--json", "m.json").out
        score = self.read("m.json")
        names = [f"{k} {one['name']}" for k, one in enumerate(score["classes"])]
        mistakes = sorted(((-count, row, column) for row, line in enumerate(score["confusion"])
                           for column, count in enumerate(line) if count and row != column))[:10]
        listed = out.partition("Most frequent mistakes\n")[2].splitlines()[1:]
        self.assertEqual(len(listed), len(mistakes))
        for line, (count, row, column) in zip(listed, mistakes):
            self.assertRegex(line, f"^  {names[row]} +{names[column]} +{-count} ")

    def test_one_image_of_each(self):
        record = self.trained(1, *self.SMALL, "--data", self.synth(2, train=1, test=1), "--epochs", "1")
        self.assertEqual((record["data"]["train_images"], record["data"]["test_images"]), (1, 1))

    def test_weights_and_checkpoints_of_another_number_of_classes(self):
        few, many = self.synth(3), self.synth(37)
        record = self.trained(1, *self.SMALL, "--data", few, "--epochs", "1", "--checkpoint-every", "1epoch")
        run = record["run_dir"]
        for words in (("train", *self.SMALL, "--data", many, "--init-weights", f"{run}/weights.safetensors"),
                      ("evaluate", "--data", many, "--init-weights", run)):
            self.refused(self.program.run(*words), "'linear.weight'", "(3, 64)", "with 37 classes")
        self.refused(self.program.run("train", "--resume", run, "--data", many, "--epochs", "2"), "data")

    def test_numbers_that_no_set_has(self):
        for words, said in ((("--classes", "1"), "--classes must be from 2 to 100"),
                            (("--classes", "101"), "--classes must be from 2 to 100"),
                            (("--test", "60001"), "--test must be from 1 to 60000"),
                            (("--train", "600000"), "must be from 1 to 600000 together")):
            self.refused(self.program.run("synth", "--out", "none", *words), said)


if __name__ == "__main__":
    main()
