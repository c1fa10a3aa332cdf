#!/usr/bin/env python3
"""The manual's pictures: charts are as new as what draws them, the words of drawings fit, a page shows its table.

usage: pictures_test.py      Needs matplotlib, whose DejaVu Sans is what browsers without Arial have.
"""

import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "jobs" / "site"), str(ROOT / "jobs" / "check")]

import all_reduce  # noqa: E402
import pictures  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
needs_matplotlib = unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib in this Python")
DRAWINGS = sorted(ROOT.glob("docs/**/*.svg"))


class Charts(unittest.TestCase):
    def test_each_is_newer_than_what_draws_it(self):
        self.assertEqual(pictures.stale(pictures.read_made()), [], "run jobs/site/pictures.py")

    def test_each_is_one_that_a_script_draws(self):
        for file in ROOT.glob("docs/**/*.png"):
            name = file.relative_to(ROOT / "docs").as_posix()
            known = name in pictures.CHARTS_KEPT or any(file.match(pattern) for pattern in pictures.OF_RUNS)
            self.assertTrue(known, f"no script draws {name}")

    def test_each_change_is_seen(self):
        """Of the table, of a rule, of the picture; and a picture that nobody noted."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = [root / "docs" / "a.png", root / "table.csv", root / "rule.py"]
            (root / "docs").mkdir()
            for file in files:
                file.write_text("1", encoding="utf-8")
            charts = {"a.png": (None, files[1], ["rule.py"])}
            self.assertEqual(pictures.stale({}, charts, root), ["a.png"])
            made = json.loads(json.dumps({"a.png": pictures.state_of("a.png", charts, root)}))
            self.assertEqual(pictures.stale(made, charts, root), [])
            for file in files:
                file.write_text("2", encoding="utf-8")
                self.assertEqual(pictures.stale(made, charts, root), ["a.png"], file)
                file.write_text("1", encoding="utf-8")
            files[0].unlink()
            self.assertEqual(pictures.stale(made, charts, root), ["a.png"])

    @needs_matplotlib
    def test_each_can_be_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, (draw, _, _) in pictures.CHARTS_KEPT.items():
                picture = Path(folder, Path(name).name)
                draw(picture)
                self.assertEqual(picture.read_bytes()[:4], b"\x89PNG", name)


def width_of(words, size, weight):
    """Pixels of the words in DejaVu Sans."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family="DejaVu Sans", weight=weight)))
    font.set_size(10 * size, 72)
    font.set_text(words)
    return font.get_width_height()[0] / 640


def texts_of(root):
    """(words, left, right, baseline, size) of each line of text."""
    for text in root.iter(f"{SVG}text"):
        words, size, x = "".join(text.itertext()), float(text.get("font-size")), float(text.get("x"))
        width = width_of(words, size, text.get("font-weight", "normal"))
        left = x - width * {"middle": 0.5, "end": 1}.get(text.get("text-anchor"), 0)
        yield words, left, left + width, float(text.get("y")), size


def misfits(root):
    """Words that leave the drawing or the box in which they begin, or lie on others."""
    right = float(root.get("viewBox").split()[2])
    boxes = [[float(box.get(key)) for key in ("x", "y", "width", "height")]
             for box in root.iter(f"{SVG}rect") if box.get("x")]
    texts = list(texts_of(root))
    for number, (words, begin, end, y, size) in enumerate(texts):
        middle = ((begin + end) / 2, y - size / 3)
        around = [box for box in boxes if 0 <= middle[0] - box[0] <= box[2] and 0 <= middle[1] - box[1] <= box[3]]
        box = min(around, key=lambda one: one[2] * one[3], default=[0, 0, right, 0])
        if begin < box[0] or end > box[0] + box[2]:
            yield f"{words}: beyond its box or the drawing"
        for other, first, last, line, _ in texts[number + 1:]:
            if abs(line - y) < 0.7 * size and first < end and begin < last:
                yield f"{words}: on '{other}'"


@needs_matplotlib
class Drawings(unittest.TestCase):
    def test_words_fit_in_the_font_that_every_system_has(self):
        self.assertGreater(len(DRAWINGS), 8)
        for file in DRAWINGS:
            root = ElementTree.parse(file).getroot()
            self.assertEqual(list(misfits(root)), [], file)
            self.assertTrue(root.get("font-family").endswith("sans-serif"), file)
            self.assertNotIn("Arial", root.get("font-family"))

    def test_what_does_not_fit_is_found(self):
        head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">'
        box = '<rect x="10" y="10" width="40" height="20"/>'
        for inside, wrong in ((f'{box}<text x="12" y="24" font-size="12">a word</text>', 1),
                              ('<text x="12" y="24" font-size="12">a word</text>', 0),
                              (f'{box}<text x="30" y="24" font-size="12" text-anchor="middle">abc</text>', 0),
                              ('<text x="80" y="24" font-size="12">a word</text>', 1),
                              ('<text x="2" y="24" font-size="12">a word</text><text x="30" y="25" '
                               'font-size="12">b</text>', 1)):  # fmt: skip
            self.assertEqual(len(list(misfits(ElementTree.fromstring(f"{head}{inside}</svg>")))), wrong, inside)


class Pages(unittest.TestCase):
    def test_the_page_of_sums_shows_its_table(self):
        page = all_reduce.PAGE.read_text(encoding="utf-8")
        shown = page.partition(all_reduce.BEGIN)[2].partition(all_reduce.END)[0]
        self.assertIn(f"\n\n{all_reduce.markdown(all_reduce.read_table())}\n", shown)
        self.assertEqual(all_reduce.page_with(page, shown.strip()), page)


if __name__ == "__main__":
    unittest.main()
