#!/usr/bin/env python3
"""Makes the seeds of tests/fuzz/corpus: small files of every kind that rueda reads, written by rueda
itself where it writes them.

usage: make_corpus.py RUEDA [--out DIR]

Inputs that fuzzing found (corpus/*/found-*) are left alone.
"""

import argparse
import io
import json
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MPI = ["mpirun", "-n", "2", "--bind-to", "none"]

KERAS_LOGS = {
    "verbose-2": """Batch_size: 4096
Num_replicas: 2
| NVIDIA-SMI 530.30.02   Driver Version: 530.30.02   CUDA Version: 12.1 |
Epoch 1/3
13/13 - 60s - loss: 2.9 - accuracy: 0.16 - 60s/epoch - 5s/step
Epoch 2/3
13/13 - 6s - loss: 2.13 - accuracy: 0.21 - val_loss: 2.3 - val_accuracy: 0.1 - 6s/epoch - 461ms/step
Epoch 3/3
13/13 - 6s - 455ms/step - accuracy: 0.21 - loss: 2.13
""",
    "verbose-1": """Model ResNet50 4 GPUs
Epoch 1/2
\r 1/25 [>.............................] - ETA: 5:00 - loss: 3.1\b\b\b\b\b\r25/25 [==============================] \
- 40s 544ms/step - loss: 2.1 - acc: 0.2
Epoch 2/2
\x1b[1m25/25\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m14s\x1b[0m 544ms/step - accuracy: 0.2 - loss: 2.1
Model: "resnet50v2"
50000/50000 [====] - 14s 280us/sample - loss: 2.1 - acc: 0.2
""",
    "rueda": "Epoch 1/2\n40/40 - 8.715 s - 0.218 s/step - loss: 2.7 - accuracy: 0.1\nEpoch 2/2\n"
             "40/40 - 8.5 s - 0.21 s/step - loss: 2.5 - accuracy: 0.1 - val_accuracy: 0.12\n",
    "option-words": "model=ResNet50,ranks=4,batch=2048,images=50000,size=32,processor=gpu\n"
                    "Epoch 1/1\n25/25 - 14s - loss: 2.1 - accuracy: 0.2\n",
}


def run(command, **options):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, **options)


class Corpus:
    def __init__(self, out, rueda, scratch):
        self.out, self.rueda, self.scratch = out, rueda, scratch

    def write(self, target, name, content):
        folder = self.out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def data_files(self):
        for version in ("bin", "py"):
            run([self.rueda, "synth", "--out", self.scratch / version, "--format", version,
                 "--train", "5", "--test", "1"])
        for version, target in (("bin", "binary"), ("py", "pickle")):
            for file in sorted((self.scratch / version).rglob("*batch*")):
                if file.is_file() and file.stem in ("data_batch_1", "test_batch", "batches.meta", "batches"):
                    self.write(target, file.name, file.read_bytes())

    def python_pickles(self):
        """The pickles of other writers, as tests/support/python_pickles.hpp has them."""
        text = (ROOT / "tests/support/python_pickles.hpp").read_text()
        for i, block in enumerate(text.split("PythonPickle{")[2:]):
            writer, *hexes = re.findall(r'"([^"]*)"', block.split("},")[0])
            parts = re.split(r'",\n', block.split("},")[0])
            before, after = ("".join(re.findall(r'"?([0-9a-f]{2,})"?', part)) for part in parts[1:3])
            pixels = bytes((7 * image + p) % 100 for image in range(2) for p in range(3072))
            self.write("pickle", f"python-{i}", bytes.fromhex(before) + pixels + bytes.fromhex(after))

    def archives(self):
        image = bytes([3]) + bytes(3072)
        good = [("cifar-10-batches-bin/data_batch_1.bin", image), ("cifar-10-batches-bin/test_batch.bin", image)]
        self.write("archive", "plain.tar", tar_of(good))
        self.write("archive", "packed.tar.gz", tar_of(good, "w:gz"))
        self.write("archive", "pax.tar", tar_of(good, format=tarfile.PAX_FORMAT, pax={"comment": "x" * 600}))
        long = [("a/" * 80 + "cifar-10-batches-bin/" + name.split("/")[1], data) for name, data in good]
        self.write("archive", "long-names.tar.gz", tar_of(long, "w:gz", format=tarfile.GNU_FORMAT))
        for kind, name in ((tarfile.SYMTYPE, "symlink"), (tarfile.LNKTYPE, "hardlink"),
                           (tarfile.FIFOTYPE, "fifo"), (tarfile.CHRTYPE, "device")):
            self.write("archive", name + ".tar.gz", tar_of(good[:1], "w:gz", link=(kind, good[1][0])))
        for name, path in (("above", "../../test_batch.bin"), ("absolute", "/cifar-10-batches-bin/test_batch.bin")):
            self.write("archive", name + ".tar.gz", tar_of([good[0], (path, image)], "w:gz"))
        python = [(f"cifar-10-batches-py/{file.name}", file.read_bytes())
                  for file in sorted((self.scratch / "py").rglob("*_batch*"))]
        self.write("archive", "python.tar.gz", tar_of([python[0], python[-1]], "w:gz"))

    def safetensors(self):
        shapes = {"conv.weight": [5, 3, 2, 2], "conv.bias": [5], "bn.weight": [5], "bn.bias": [5],
                  "bn.running_mean": [5], "bn.running_var": [5], "dense.weight": [4, 5], "dense.bias": [4]}
        self.write("safetensors", "network", tensor_file(shapes, {"format": "pt", "model": "small"}))
        self.write("safetensors", "empty", struct.pack("<Q", 2) + b"{}")
        self.write("safetensors", "zero", tensor_file({"a": [0, 3], "b": []}, {}))

    def runs(self):
        folder = self.scratch / "run"
        run([*MPI, self.rueda, "train", "--model", "resnet20", "--image-size", "8", "--data-limit", "24",
             "--batch-per-rank", "4", "--epochs", "2", "--threads", "1", "--run-dir", folder],
            stderr=subprocess.DEVNULL)
        whole = json.loads((folder / "run.json").read_text())
        whole["command_line"] = "rueda train"  # not where it lay
        self.write("run_json", "two-ranks", compact(whole))
        whole["epochs"] = []
        self.write("run_json", "no-epoch", compact(whole))
        self.write("steps_csv", "two-ranks", "".join((folder / "steps.csv").open().readlines()[:4]))
        self.write("attempt_json", "failed", compact({
            "schema": "rueda-attempt", "model": "resnet50v2", "ranks": 4, "batch_per_rank": 64, "global_batch": 256,
            "exit_code": 1, "message": "out of memory"}))

    def tables(self):
        bench = self.scratch / "bench.json"
        run([*MPI, self.rueda, "bench", "all-reduce", "--sizes", "4k,64k", "--algorithms", "ring,mpi",
             "--repetitions", "2", "--json", bench])
        self.write("bench_json", "two-ranks", compact(json.loads(bench.read_text())))
        self.write("tuning", "one", compact({
            "rueda_tuning": 1, "device": "GPU", "cudnn": "9.0.0", "engines": {"forward bf16 1x2x3x4": "eng7{k1=2}"}}))

    def checkpoints(self):
        epoch = {"epoch": 1, "steps": 3, "ranks": [], "seconds": 1.5, "loss": 2.3, "accuracy": 0.1, "samples": 96,
                 "val_loss": None, "learning_rate": 0.1, "images_per_second": 64, "parameter_hash": "0123",
                 "resumed_at_step": 2}
        steps = {"ranks": [], "slowest": [0.5, 0.25], "slowest_busy": [0.1, 0.1]}
        epoch["sums"] = {"full": steps, "partial": {"ranks": [], "slowest": [], "slowest_busy": []}}
        head = compact({"started_at": "2026-01-02T03:04:05Z", "resumptions": [
            {"at": "2026-01-02T03:04:05Z", "checkpoint": "epoch-0001-step-00002", "epochs": 1, "steps": 2,
             "world_size": 2}], "checkpoints": [
            {"path": "epoch-0001-step-00002", "epochs": 1, "steps": 2, "bytes": 8, "pause_seconds": None,
             "write_seconds": 0.5}], "audit": {"steps": 2, "findings": ["one"]}, "total_seconds": 3.5})
        epochs = [compact(epoch), compact({**epoch, "epoch": 2, "loss": None})]
        self.write("manifest", "history", head[:-1] + ',"epochs":[\n' + ",\n".join(epochs) + "\n]}\n")
        position = {"epochs": 1, "steps": 2, "global_step": 5, "steps_per_epoch": 3, "loss_so_far": 4.5,
                    "correct_so_far": 7, "samples_so_far": 64, "seconds_so_far": 0.5, "spent_seconds": 1.5}
        self.write("manifest", "whole", json.dumps({
            "schema": "rueda-checkpoint", "schema_version": 1, "written_at": "2026-01-02T03:04:05Z",
            "position": position, "world_size": 2, "micro_batches": 1, "global_batch": 32,
            "versions": {"rueda": "1"}, "data": ["training images: 96"], "machines": ["cpu", "cpu"],
            "config": {"model": "resnet20", "lr": 0.1},
            "files": {"weights.safetensors": {"bytes": 8, "crc32": "00000000"}},
            "manifest_crc32": "00000000"}, indent=2))

    def texts(self):
        for name, text in KERAS_LOGS.items():
            self.write("keras_log", name, text)
        for name in ("quickstart", "book-resnet50v2"):
            self.write("recipe", name, (ROOT / f"jobs/recipes/{name}.toml").read_text())
        self.write("recipe", "quoted", "[train]\nmodel = 'resnet20' # small\ndata = \"a # b\"\noverwrite = true\n"
                                       "learning-rate = 1e-1\nepochs = 3\n")


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def tensor_file(shapes, metadata):
    header, begin = ({"__metadata__": metadata} if metadata else {}), 0
    for name, shape in shapes.items():
        count = 1
        for extent in shape:
            count *= extent
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, begin + 4 * count]}
        begin += 4 * count
    text = compact(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + struct.pack(f"<{begin // 4}f", *([0.5] * (begin // 4)))


def tar_of(members, mode="w", link=None, format=tarfile.USTAR_FORMAT, pax=None):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=format, pax_headers=pax) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo(link[1])
            info.type, info.linkname = link[0], "/etc/passwd"
            archive.addfile(info)
    data = out.getvalue()
    # Python fills up to 10 KiB; two blocks of zeros end an archive as well.
    return data if mode != "w" else data.rstrip(b"\0") + bytes(1024 + -len(data.rstrip(b"\0")) % 512)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rueda", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "corpus")
    arguments = parser.parse_args()
    for old in arguments.out.glob("*/*"):
        if not old.name.startswith("found-"):
            old.unlink()
    scratch = Path(tempfile.mkdtemp())
    try:
        corpus = Corpus(arguments.out, arguments.rueda.resolve(), scratch)
        for make in (corpus.data_files, corpus.python_pickles, corpus.archives, corpus.safetensors, corpus.runs,
                     corpus.tables, corpus.checkpoints, corpus.texts):
            make()
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
