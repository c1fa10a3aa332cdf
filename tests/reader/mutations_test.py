"""Damaged files: whatever a byte or a value in them becomes, the reader reads them or refuses them in one sentence.

The files are those of tests/fuzz/corpus. The changes are drawn from fixed seeds, so they are the same everywhere.

usage: mutations_test.py RUEDA
"""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "jobs"))

from reader import report, start  # noqa: E402
from reader.predict import command as predict  # noqa: E402

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
EDGES = (None, True, -1, 0, 1, 0.5, 1e-300, 1e300, 2**63, -(2**63), "", "x", "\x1b[2J", "1e999", [], [[]], {},
         [None], {"": 0})
RAW = (b"", b"0", b"-1", b"1e999", b"NaN", b"null", b"[", b"}", b'"', b"\x00", b"\xff", b"\n", b"9" * 400)


def places_in(value, found):
    """Appends (parent, key) of everything below a value of JSON."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        places_in(value[key], found)
    return found


def with_another_value(text, draw):
    whole = json.loads(text)
    for _ in range(draw.randint(1, 3)):
        parent, key = draw.choice(places_in(whole, []) or [({}, "")])
        if draw.random() < 0.25:
            parent.pop(key, None) if isinstance(parent, dict) else parent.pop(key)
        else:
            parent[key] = draw.choice(EDGES)
    return json.dumps(whole).encode()


def with_other_bytes(text, draw):
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(text))
        text = text[:at] + draw.choice(RAW) + text[at + draw.choice((0, 1, 1, 40)):]
    return text


class Mutations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, corpus, name, words, main, count, is_json=True):
        """Every file of a corpus as it is, then `count` changed ones: `main(words(FILE))` ends or raises Unusable."""
        read = refused = 0
        for file in sorted((CORPUS / corpus).iterdir()):
            text = file.read_bytes()
            for seed in range(count):
                draw = random.Random(f"{file.name} {seed}")
                changed = text
                if seed > 0:
                    changed = (with_another_value if is_json and seed % 2 else with_other_bytes)(text, draw)
                path = self.folder / name
                path.write_bytes(changed)
                with self.subTest(file=file.name, seed=seed), contextlib.redirect_stdout(io.StringIO()) as printed:
                    try:
                        main(words(path))
                        read += 1
                    except start.Unusable as error:
                        refused += 1
                        self.assertNotIn("\n", start.printable(error))
                    self.assertNotIn("\x1b", printed.getvalue())
        self.assertGreater(read, 0)
        self.assertGreater(refused, 0)

    def test_a_run(self):
        self.check("run_json", "run.json",
                   lambda path: [str(path), "--plots", "off", "--out", str(self.folder / "out")], report.main, 40)

    def test_a_failed_attempt(self):
        self.check("attempt_json", "attempt.json", lambda path: [str(path), "--plots", "off"], report.main, 80)

    def test_a_log(self):
        self.check("keras_log", "run.out", lambda path: ["--keras-log", str(path), "--plots", "off"], report.main, 25,
                   is_json=False)

    def test_a_benchmark(self):
        costs = ["--model", "resnet20", "--compute", "100ms", "--batch-per-rank", "64", "--images", "640"]
        self.check("bench_json", "bench.json", lambda path: [*costs, "--bench", str(path)], predict.main, 12)

    def test_predictions_of_a_run(self):
        links = ["--alpha", "10us", "--bandwidth", "1GB/s"]  # of which these runs tell nothing
        self.check("run_json", "run.json", lambda path: [str(path), "--ranks", "1,2,3", *links], predict.main, 20)


if __name__ == "__main__":
    os.environ["RUEDA_PROGRAM"] = sys.argv.pop(1)
    unittest.main()
