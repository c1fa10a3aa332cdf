"""`load` and its tables, and the notebook of the manual, whose cells run here one after the other."""

import json
import math
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "jobs"))
from made_files import MadeRun, noise_json  # noqa: E402
from reader import load  # noqa: E402
from reader.start import Unusable  # noqa: E402

NOTEBOOK = ROOT / "docs" / "notebooks" / "reading-runs.ipynb"


def times_of(ranks, repeat):
    """The last rank is 2 ms slower; all wait for it, and 1 ms for messages."""
    def times(epoch, step, rank):
        late = 0.002 if rank == ranks - 1 and ranks > 1 else 0.0
        waits = 0.0 if ranks == 1 else 0.003 - late
        return {"forward": 0.01 + 1e-4 * repeat + 1e-5 * epoch, "backward": 0.02 + late, "all_reduce": waits,
                "optimizer": 0.001}

    return times


class Study(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        for ranks in (1, 2, 4):
            for repeat in (1, 2):
                made = MadeRun(parts=(12,) * ranks, images=108, times=times_of(ranks, repeat),
                               started_at=f"2024-05-0{ranks}T07:0{repeat}:09Z")
                made.write(self.folder / "study" / "runs" / f"p{ranks}_r{repeat}")


class Tables(Study):
    def setUp(self):
        super().setUp()
        self.loaded = load(self.folder / "study")

    def test_runs(self):
        runs = self.loaded.runs
        self.assertEqual(list(runs.index), ["p1_r1", "p1_r2", "p2_r1", "p2_r2", "p4_r1", "p4_r2"])
        self.assertEqual(list(runs["ranks"]), [1, 1, 2, 2, 4, 4])
        self.assertAlmostEqual(runs.loc["p1_r1", "epoch_seconds"], 9 * (0.0311 + 2.5e-5))
        self.assertAlmostEqual(runs.loc["p2_r1", "images_per_second"], 108 / runs.loc["p2_r1", "epoch_seconds"])
        self.assertTrue((runs["started_at"].dt.year == 2024).all())

    def test_epochs(self):
        epochs = self.loaded.epochs
        self.assertEqual(list(epochs.loc["p1_r1"]["steady"]), [False, True, True])
        self.assertAlmostEqual(epochs.loc[("p2_r2", 3), "loss"], 2.3 / 3)  # and not the phase of this name
        self.assertAlmostEqual(epochs.loc[("p4_r1", 2), "all_reduce_seconds"], 3 * (3 * 0.003 + 0.001) / 4)
        phases = [column for column in epochs if column.endswith("_seconds")]
        self.assertEqual(len(phases), 8)
        self.assertTrue((abs(epochs[phases].sum(axis=1) - epochs["seconds"]) < 1e-9).all())

    def test_noise(self):
        made = MadeRun(parts=(12, 12), images=108,
                       noise=lambda epoch: noise_json(24, 2, 5, 90.0, 80.0, 99.0) if epoch > 1 else None)
        made.write(self.folder / "noisy")
        loaded = load(self.folder / "noisy")
        row = loaded.epochs.loc[("noisy", 2)]
        self.assertEqual([row[f"noise_scale{end}"] for end in ("", "_low", "_high")], [90, 80, 99])
        self.assertAlmostEqual(row["learning_efficiency"], 90 / 114)
        self.assertTrue(math.isnan(loaded.epochs.loc[("noisy", 1), "noise_scale"]))
        steps = loaded.steps["gradient_norm2"].groupby(["epoch", "rank"]).count()
        self.assertEqual(steps.tolist(), [0, 0, 5, 0, 5, 0])

    def test_steps(self):
        steps = self.loaded.steps
        self.assertEqual(len(steps), 2 * 3 * (9 + 2 * 5 + 4 * 3))
        self.assertEqual(steps.loc["p2_r1"]["full"].groupby("step").all().tolist(), [True] * 4 + [False])
        self.assertEqual(set(steps.loc[("p2_r1", 1)]["steady"]), {False})
        waits = steps.loc["p4_r2"]["all_reduce"].groupby(["epoch", "step"]).min()
        self.assertTrue((abs(waits - 0.001) < 1e-12).all())
        self.assertTrue((abs(steps["useful"] + steps["all_reduce"] - steps["seconds"]) < 1e-12).all())

    def test_points(self):
        points = self.loaded.points.loc["s1"]
        self.assertEqual(list(points["repeats"]), [2, 2, 2])
        self.assertAlmostEqual(points.loc[2, "speedup"],
                               points.loc[1, "epoch_seconds"] / points.loc[2, "epoch_seconds"])
        self.assertTrue((points["speedup_low"] <= points["speedup"]).all())
        self.assertAlmostEqual(points.loc[4, "all_reduce_transfer"], 3 * 0.001)
        self.assertAlmostEqual(points.loc[4, "all_reduce_waiting"], 3 * 0.002 * 3 / 4)
        self.assertAlmostEqual(points.loc[4, "lost_waiting"], 3 * 0.002 * 3 / 4)
        self.assertTrue(math.isnan(points.loc[1, "lost_seconds"]))
        self.assertEqual(self.loaded.series.loc["s1", "scaling"], "weak")

    def test_without_steps_and_without_runs(self):
        for file in self.folder.rglob("steps.csv"):
            file.unlink()
        self.assertEqual(len(load(self.folder / "study").steps), 0)
        self.assertRaises(Unusable, load, self.folder / "nowhere")
        (self.folder / "study/runs/p1_r1/steps.csv").write_text("nonsense\n")
        with self.assertRaises(Unusable):
            _ = load(self.folder / "study").steps

    def test_names_are_told_apart(self):
        for group in ("a", "b"):
            MadeRun().write(self.folder / "class" / group / "run")
        self.assertEqual(list(load(self.folder / "class").runs.index), ["a/run", "b/run"])

    def test_each_column_is_in_the_last_cell_of_the_notebook(self):
        cell = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"][-1]
        listed = set(re.findall(r"`([a-zA-Z_]+)`", "".join(cell["source"])))
        ends = ("_low", "_high")
        phases = {"load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other"}
        for frame in (self.loaded.runs, self.loaded.epochs, self.loaded.series, self.loaded.points):
            for column in frame.reset_index():
                name = next((column[:-len(end)] for end in ends if column.endswith(end)), column)
                of_phase = name.removesuffix("_seconds") in phases or name.removeprefix("lost_") in phases
                self.assertTrue(name in listed or of_phase, name)


class Notebook(Study):
    def test_its_cells_run_in_the_folder_of_a_study(self):
        (self.folder / "jobs").symlink_to(ROOT / "jobs")
        notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertTrue(all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells))
        names, before = {}, os.getcwd()
        os.chdir(self.folder)
        try:
            for number, cell in enumerate(cells):
                with self.subTest(cell="".join(cell["source"])):
                    exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)  # as a notebook does
        finally:
            os.chdir(before)
        self.assertEqual(len(names["runs"].runs), 6)
        self.assertTrue((abs(names["transfer"].drop(["p1_r1", "p1_r2"]) - 0.001) < 1e-12).all())


if __name__ == "__main__":
    unittest.main()
