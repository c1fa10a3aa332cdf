#!/usr/bin/env python3
"""`rueda predict`: what it fits, predicts, writes and refuses. Expected figures are computed here.

usage: predict_test.py RUEDA MPIEXEC
"""

import csv
import json
import shutil

from rueda_runs import ProgramCase, main

GRADIENT_BYTES = 1_084_420  # of resnet20, with what is summed along
# A machine and a network of which everything is given.
GIVEN = ("--model", "resnet20", "--compute", "100ms", "--batch-per-rank", "100", "--images", "1050",
         "--alpha", "1ms", "--bandwidth", "1GB/s", "--overlap", "off", "--bucket-mb", "0")  # fmt: skip


def ring(ranks, size, alpha=1e-3, bandwidth=1e9):
    return 2 * (ranks - 1) * (alpha + size / ranks / bandwidth)


def change_json(text, change):
    value = json.loads(text)
    change(value)
    return json.dumps(value)


class Predict(ProgramCase):
    """Three small runs for all cases: three epochs of four full steps and a half one; 1 ms an image. How fits
    are computed: tests/reader/predict_fits_test.py."""

    time_limit = 120
    images = (9 * 64, 50)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for ranks, batch in ((1, 16), (1, 64), (2, 64)):
            cls.made(
                "train", "--backend", "timed", "--model", "resnet20", "--compute", str(batch), "--batch-per-rank",
                str(batch), "--data", "data", "--data-limit", str(9 * batch * ranks // 2), "--epochs", "3",
                "--all-reduce", "ring",
                "--overlap", "off", "--bucket-mb", "0.4", "--progress", "off", "--run-dir", f"runs/p{ranks}-b{batch}",
                ranks=ranks,
            )  # fmt: skip

    def predict(self, *words):
        """The tables of --json by name, and what was printed."""
        result = self.completed(self.program.run("predict", *words, "--json", "shown.json"))
        return self.read("shown.json"), result.out

    def figures(self, shown):
        return {row["figure"]: row["value"] for row in shown["model"]["rows"]}

    def refuses(self, *words, shown):
        self.refused(self.program.run("predict", *words), *shown)

    def rows(self, *words):
        shown, _ = self.predict(*GIVEN, *words)
        return shown["forecast"]["rows"]

    def test_epochs_by_hand(self):
        # 1 ms an image. P = 1: ten steps of 100 and one of 50; P = 4: two of 400, one of 250 (63).
        one, four = self.rows("--ranks", "1,4")
        self.assertAlmostEqual(one["epoch_seconds"], 1.05)
        self.assertEqual((one["steps"], one["exposed_seconds"], one["efficiency"]), (11, 0, 1))
        all_reduce = ring(4, GRADIENT_BYTES)
        self.assertAlmostEqual(four["exposed_seconds"], all_reduce)
        epoch = 2 * (0.1 + all_reduce) + 0.063 + all_reduce
        self.assertAlmostEqual(four["epoch_seconds"], epoch)
        self.assertAlmostEqual(four["speedup"], 1.05 / epoch)
        self.assertAlmostEqual(four["images_per_second"], 1050 / epoch)
        self.assertAlmostEqual(four["rank_hours"], 4 * epoch / 3600)

    def test_global_batch(self):
        # 200 images a step for all: five of 200 and one of 50; on four ranks 50 and 13 each.
        shown, _ = self.predict("runs/p1-b16", "runs/p1-b64", "--global-batch", "200", "--images", "1050",
                               "--alpha", "1ms", "--bandwidth", "1GB/s", "--ranks", "4")  # fmt: skip
        (four,) = shown["forecast"]["rows"]
        self.assertEqual((four["steps"], four["images_per_rank"]), (6, 50))

    def test_the_machine_that_is_asked_for(self):
        def exposed(*words):
            return self.rows("--ranks", "8", *words)[0]["exposed_seconds"]

        doubling = 3 * (1e-3 + GRADIENT_BYTES / 1e9)
        self.assertAlmostEqual(exposed("--algorithm", "doubling"), doubling)
        halving = 2 * 3 * 1e-3 + 2 * 7 / 8 * GRADIENT_BYTES / 1e9
        self.assertAlmostEqual(exposed("--algorithm", "halving"), halving)
        best = min(doubling, halving, ring(8, GRADIENT_BYTES))
        self.assertAlmostEqual(exposed("--algorithm", "best"), best)
        nodes = ("--ranks-per-node", "4", "--inside-alpha", "1us", "--inside-bandwidth", "100GB/s")
        within = 2 * 3 * (1e-6 + GRADIENT_BYTES / 4 / 1e11)
        across = 2 * (1e-3 + GRADIENT_BYTES / 8 / 1e9 * 4)
        self.assertAlmostEqual(exposed(*nodes, "--algorithm", "hierarchical"), within + across)
        # Between two hosts halving is a ring.
        self.assertAlmostEqual(exposed(*nodes, "--algorithm", "hierarchical-halving"), within + across)
        apart = 2 * (1e-3 + GRADIENT_BYTES / 8 / 1e9)
        hierarchical = (*nodes, "--algorithm", "hierarchical", "--links-per-node", "4")
        self.assertAlmostEqual(exposed(*hierarchical), within + apart)

    def test_what_if_stands_beside_what_is(self):
        def exposed(changes):
            shown, _ = self.predict(*GIVEN, "--ranks", "8", "--what-if", changes)
            self.assertIn(changes, shown["forecast_what_if"]["title"])
            tables = [shown[name]["rows"][0] for name in ("forecast", "forecast_what_if")]
            self.assertAlmostEqual(tables[0]["exposed_seconds"], ring(8, GRADIENT_BYTES))
            return tables[1]["exposed_seconds"]

        self.assertAlmostEqual(exposed("bandwidth=2x"), ring(8, GRADIENT_BYTES, bandwidth=2e9))
        self.assertAlmostEqual(exposed("latency=5us,bandwidth=5GB/s"), ring(8, GRADIENT_BYTES, 5e-6, 5e9))

    def test_what_parts_by_speed_would_bring(self):
        """Times by hand: of two ranks that are alike, and with a rank that needs twice as long for an image."""

        def with_times(record, factors):
            for rank in (rank for epoch in record["epochs"] for rank in epoch["ranks"]):
                factor = factors[rank["rank"]]
                rank["phases"] = dict.fromkeys(rank["phases"], 0) | {"backward": factor * rank["samples"] * 1e-3}
                spread = rank["full_step_compute_seconds"]
                spread.update({key: factor * 64e-3 for key in ("min", "mean", "median", "p90", "max")})

        def forecasts(name):
            shown, text = self.predict(f"of-{name}/p2-b64", "--ranks", "1,2,4", "--batch-per-rank", "62",
                                       "--images", "558", "--what-if", "balance")  # fmt: skip
            tables = [shown[table]["rows"] for table in ("forecast", "forecast_what_if")]
            self.assertEqual(shown["forecast_what_if"]["title"], shown["forecast"]["title"] + ", with balance")
            return tables, " ".join(text.split())

        for name, factors in (("alike", (1, 1)), ("uneven", (1, 2))):
            shutil.copytree(self.folder / "runs", self.folder / f"of-{name}")
            for run in ("p1-b16", "p1-b64", "p2-b64"):
                self.by_hand(f"of-{name}/{run}")
            file = self.folder / f"of-{name}" / "p2-b64" / "run.json"
            text = change_json(file.read_text(encoding="utf-8"), lambda record: with_times(record, factors))
            file.write_text(text, encoding="utf-8")
        (before, after), text = forecasts("alike")
        self.assertEqual(before, after)
        self.assertIn("balance: it changes nothing", text)
        (before, after), text = forecasts("uneven")
        self.assertIn("in whole images, with which the slowest is ready soonest", text)
        # Images of 2/3 and 4/3 ms, since a mean rank needs 1 ms: slow ranks take 82.7 ms for their 62. By speed they
        # have 41, and the fast ones 83, which take longer. Of 62 images in the last step two ranks have 41 and 21, four
        # have 20, 21, 10 and 11. One rank alone is a fast one, or one of mean speed.
        fast, slow = 2 / 3e3, 4 / 3e3
        self.assertAlmostEqual(before[0]["epoch_seconds"], 558 * fast)
        self.assertAlmostEqual(before[1]["step_seconds"], 62 * slow + before[1]["exposed_seconds"])
        self.assertAlmostEqual(after[0]["epoch_seconds"], 0.558 * 8 / 9)
        for row, seconds in zip(after[1:], (4 * 83 * fast + 21 * slow, 2 * 83 * fast + 11 * slow)):
            self.assertAlmostEqual(row["epoch_seconds"], seconds + row["steps"] * row["exposed_seconds"])
        self.refuses(*GIVEN, "--what-if", "balance", shown=("no run shows how fast each rank is",))

    def test_cost_and_sweet_spots(self):
        shown, text = self.predict(*GIVEN, "--ranks", "1,2,4,8", "--price", "2", "--watts", "500")
        for row in shown["forecast"]["rows"]:
            self.assertAlmostEqual(row["cost"], 2 * row["rank_hours"])
            self.assertAlmostEqual(row["kilowatt_hours"], row["rank_hours"] / 2)
        rows = shown["forecast"]["rows"]
        notes = " ".join(shown["forecast"]["notes"])
        fastest = min(rows, key=lambda row: row["epoch_seconds"])
        self.assertIn(f"Shortest epoch: P = {fastest['ranks']:.0f},", notes)
        self.assertIn("Lowest cost: P = 1,", notes)
        most = max(row["ranks"] for row in rows if row["efficiency"] >= 0.8)
        self.assertIn(f"80 % or more: P = {most:.0f},", notes)
        self.assertIn("Predicted epochs of resnet20", text)

    def test_simulation(self):
        shown, _ = self.predict(*GIVEN, "--ranks", "1,2,1024", "--simulate", "--message-noise", "50%")
        for row in shown["simulation"]["rows"][1:]:
            self.assertAlmostEqual(row["quiet_seconds"] / row["closed_seconds"], 1)
        two, many = shown["simulation"]["rows"][1:]
        self.assertAlmostEqual(two["noisy_ratio"], 1.25, delta=0.04)  # two exponential messages: 1 + 1/2
        self.assertAlmostEqual(many["noisy_ratio"], 1.5, delta=0.04)  # for many 1 + noise
        noisy = shown["forecast"]["rows"][2]["all_reduce_seconds"]
        self.assertAlmostEqual(noisy / many["noisy_seconds"], 1, delta=1e-6)

    def test_what_was_measured_elsewhere(self):
        shown, _ = self.predict(*GIVEN, "--ranks", "1", "--measured", "1:1.05s,4:500ms")
        loss = shown["loss"]["rows"][1]
        self.assertAlmostEqual(loss["lost_seconds"], 0.5 - 1.05 / 4)
        self.assertAlmostEqual(loss["all_reduce_seconds"], 3 * ring(4, GRADIENT_BYTES))
        # 2.625 steps of images make 3 on four ranks, 10.5 make 11 on one.
        partial = 0.5 * (1 - 2.625 / 3) - 1.05 / 4 * (1 - 10.5 / 11)
        self.assertAlmostEqual(loss["partial_at_most_seconds"], partial)

    def test_files(self):
        shown, _ = self.predict(*GIVEN, "--ranks", "1,2", "--out", "out/deep")
        folder = self.folder / "out" / "deep"
        self.assertEqual(self.read("out/deep/predict.json"), shown)
        self.assertIn("### Predicted epochs", (folder / "predict.md").read_text(encoding="utf-8"))
        with open(folder / "forecast.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([float(row["ranks"]) for row in rows], [1, 2])
        self.assertEqual(float(rows[1]["epoch_seconds"]), shown["forecast"]["rows"][1]["epoch_seconds"])

    def record(self, name):
        return self.program.record(f"runs/{name}")

    def test_runs_beside_their_prediction(self):
        shown, _ = self.predict("runs", "--ranks", "1,2", "--cross-validate", "--fit-ranks", "1",
                               "--alpha", "1ms", "--bandwidth", "1GB/s")  # fmt: skip
        rows = {row["run"]: row for row in shown["measured"]["rows"]}
        self.assertEqual({name: row["fitted"] for name, row in rows.items()},
                         {"p1-b16": "yes", "p1-b64": "yes", "p2-b64": "no"})  # fmt: skip
        for name, row in rows.items():
            self.assertEqual(row["measured_epoch_seconds"],
                             self.record(name)["summary"]["steady_epoch_seconds"])  # fmt: skip
            error = row["predicted_epoch_seconds"] / row["measured_epoch_seconds"] - 1
            self.assertAlmostEqual(row["relative_error"], error)
        figures = self.figures(shown)

        def step(images):
            each = figures["t1, an image"] + figures["input, an image"]
            return figures["t0"] + images * each + figures["update and other"]

        # One rank: four steps of 64 images and one of 32, nothing else.
        self.assertAlmostEqual(rows["p1-b64"]["predicted_step_seconds"], step(64))
        self.assertAlmostEqual(rows["p1-b64"]["predicted_epoch_seconds"], 4 * step(64) + step(32))
        expected = abs(rows["p2-b64"]["relative_error"]) * 100
        self.assertIn(f"off by {expected:.1f} % in the mean", " ".join(shown["measured"]["notes"]))

    def by_hand(self, name, images=1.0, sums=1.0):
        """Writes times into the record of a run, so that no clock decides what is fitted: 1 ms an image and the
        time of the ring, by these factors; no step differs from another."""

        def all_of(spread, seconds):
            spread.update(dict.fromkeys(spread.keys() - {"count", "deviation"}, seconds))

        def fixed(record):
            summary, ranks = record["summary"], len(record["ranks"])
            step, summing = summary["steady_full_step"], summary["steady_communication"]
            compute = images * 1e-3 * record["batch"]["global"] / ranks
            for one in summing["buckets"]:
                all_of(one["transfer"], sums * ring(ranks, one["bytes"]))
                all_of(one["add"], 0)
            whole = sum(one["transfer"]["mean"] for one in summing["buckets"])
            for spread, seconds in ((summing["transfer"], whole), (summing["add"], 0),
                                    (step["seconds"], compute + whole)):
                all_of(spread, seconds)
            for phase, spread in step["phases"].items():
                all_of(spread, {"backward": compute, "all_reduce": whole}.get(phase, 0))
            for rank in (rank for epoch in record["epochs"] for rank in epoch["ranks"]):
                all_of(rank["full_step_compute_seconds"], compute)

        file = self.folder / name / "run.json"
        file.write_text(change_json(file.read_text(encoding="utf-8"), fixed), encoding="utf-8")
        (file.parent / "steps.csv").unlink()

    def test_intervals_and_the_points_for_extra_p(self):
        shown, text = self.predict("runs", "--ranks", "1,2", "--extra-p", "points.jsonl")
        self.assertIn("Intervals need two runs or more of this network", " ".join(text.split()))
        self.assertNotIn("epoch_plus_minus", shown["forecast"]["rows"][0])
        measured = [json.loads(line) for line in (self.folder / "points.jsonl").read_text().splitlines()]
        epochs = [(one["params"]["p"], one["value"]) for one in measured if one["metric"] == "epoch_seconds"]
        self.assertEqual(epochs, [(row["ranks"], row["measured_epoch_seconds"]) for row in shown["measured"]["rows"]])

        shutil.copytree(self.folder / "runs", self.folder / "sure")
        shutil.copytree(self.folder / "runs" / "p2-b64", self.folder / "sure" / "p2-again")
        for run, *factors in (("p1-b16",), ("p1-b64",), ("p2-b64", 1.01), ("p2-again", 0.99, 1.1)):
            self.by_hand(f"sure/{run}", *factors)
        shown, text = self.predict("sure", "--ranks", "1,2,4", "--cross-validate", "--what-if", "bandwidth=0.5x")
        one, two, four = shown["forecast"]["rows"]
        self.assertIsNone(one["all_reduce_plus_minus"])
        # The sums of the two runs differ by 10 %: 4.8 % from their mean on two sides, a degree of freedom.
        self.assertGreater(two["all_reduce_plus_minus"], 0.3)
        self.assertLess(two["epoch_plus_minus"], two["all_reduce_plus_minus"])
        self.assertGreater(four["efficiency_plus_minus"], two["epoch_plus_minus"])
        slow = shown["forecast_what_if"]["rows"][1]
        self.assertAlmostEqual(slow["all_reduce_plus_minus"], two["all_reduce_plus_minus"], delta=0.1)
        self.assertGreater(slow["epoch_plus_minus"], two["epoch_plus_minus"])
        self.assertIn("half of the 90 % interval of a single run", " ".join(text.split()))

        shown, _ = self.predict("sure", "--ranks", "1", "--cross-validate", "--fit-ranks", "2")
        others = [row for row in shown["measured"]["rows"] if row["fitted"] == "no"]
        ratios = [(row["measured_epoch_seconds"] / row["predicted_epoch_seconds"], 1 + row["plus_minus"])
                  for row in others]
        inside = sum(1 / most <= ratio <= most for ratio, most in ratios)
        self.assertIn(f" {inside} of them lie in their interval", shown["measured"]["notes"][-1])

    def test_notes_on_the_fit(self):
        shown, _ = self.predict("runs/p1-b64", "runs/p2-b64", "--ranks", "1", "--model", "resnet18")
        notes = " ".join(shown["model"]["notes"])
        for words in ("resnet18 at 32 pixels was not run", "All runs had 64 images", "Only links within one host"):
            self.assertIn(words, notes)
        self.assertEqual(self.figures(shown)["t0"], 0)
        self.assertGreater(self.figures(shown)["t1, an image"], 10e-3)  # of resnet20 it is 1 ms
        self.assertNotIn("measured", shown)

    def test_a_record_of_the_bench(self):
        self.made("bench", "all-reduce", "--sizes", "100k,1M", "--algorithms", "ring,mpi", "--repetitions", "9",
                  "--threads", "1", "--json", "ring.json", ranks=2)  # fmt: skip
        shown, _ = self.predict("--bench", "ring.json", "--model", "resnet20", "--compute", "1ms",
                               "--batch-per-rank", "8", "--ranks", "1,2")  # fmt: skip
        results = self.read("ring.json")["results"]
        rows = {one["bytes"]: one["median_seconds"] for one in results if one["algorithm"] == "ring"}
        figures = self.figures(shown)
        for size, seconds in rows.items():  # two unknowns, two sizes: exact, unless one would be negative
            fitted = ring(2, size, figures["alpha"], 1 / figures["1 / beta"] if figures["1 / beta"] else 1e99)
            if figures["alpha"] > 0 and figures["1 / beta"] > 0:
                self.assertAlmostEqual(fitted / seconds, 1)

    def broken(self, name, change, of="p1-b64"):
        """A copy of a run whose run.json `change` has made of the text."""
        shutil.copytree(self.folder / "runs" / of, self.folder / name)
        file = self.folder / name / "run.json"
        file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")
        return name

    def test_files_that_are_refused(self):
        self.refuses("nothere", shown=("nothere",))
        self.refuses(self.broken("cut", lambda text: text[:1000]), shown=("run.json",))
        (self.folder / "empty").mkdir()
        self.refuses("empty", shown=("empty",))
        self.refuses("--bench", "nothere.json", *GIVEN, shown=("nothere.json",))
        self.refuses("--bench", "runs/p1-b64/run.json", *GIVEN, shown=("is no record of rueda bench",))
        self.refuses("runs", "--model", "resnet18", "--extra-p", "points.jsonl", shown=("no run is of this network",))

    def test_runs_without_figures_are_refused(self):
        self.refuses(self.broken("unfinished", lambda text: change_json(text, lambda record: record["epochs"].clear())),
                     shown=("no finished epoch",))
        self.refuses("runs/p1-b64", shown=("cost of a message is unknown", "--bench"))
        self.refuses("runs", "--fit-ranks", "3", shown=("--fit-ranks",))


if __name__ == "__main__":
    main()
