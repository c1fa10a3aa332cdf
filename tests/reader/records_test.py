"""Records that say a thing twice: runs as they were written have no remark, and each forgery that a teacher met has
one."""

import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made_files import MadeRun, noise_json  # noqa: E402
from reader.runs.places import load_study  # noqa: E402
from reader.runs.plan import read_plan  # noqa: E402
from reader.start import Unusable  # noqa: E402
from reader.study.remarks import copies_among, remarks_on_study  # noqa: E402

NAMES = [f"resnet20_rank12_n1x{ranks}_r{repeat}" for repeat in (1, 2, 3) for ranks in (1, 2)]


def times_of(number):
    """Each run has times of its own."""
    return lambda epoch, step, rank: {"forward": 0.01 + 1e-5 * number + 1e-6 * epoch + 1e-7 * step,
                                      "backward": 0.02 + 1e-4 * rank, "all_reduce": 0.001, "optimizer": 0.001}


def entry(name, **more):
    ranks, repeat = int(name.partition("n1x")[2][0]), int(name[-1])
    return {"model": "resnet20", "nodes": 1, "ranks_per_node": ranks, "kind": "rank", "batch": 12, "repeat": repeat,
            "name": name, "ranks": ranks, "sweep": None, **more}


class Forgeries(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = Path(scratch.name) / "study"
        for number, name in enumerate(NAMES):
            ranks = entry(name)["ranks"]
            made = MadeRun(parts=(12,) * ranks, images=60, times=times_of(number),
                           started_at=f"2024-05-06T07:0{number}:09Z", options={"run-dir": f"study/runs/{name}"})
            made.write(self.run_folder(name))
            training = made.summary_json()["training_seconds"]
            attempt = {"schema": "rueda-attempt", "schema_version": 1, "model": "resnet20", "ranks": ranks,
                       "batch_per_rank": 12, "global_batch": None, "exit_code": 0, "seconds": training + 2}
            (self.run_folder(name) / "attempt.json").write_text(json.dumps(attempt))
        self.write_plan(series=[entry(name) for name in NAMES])

    def run_folder(self, name):
        return self.place / "runs" / name

    def write_plan(self, **more):
        plan = {"schema": "rueda-study", "schema_version": 1, "preset": None, "common": {}, "series": []}
        (self.place / "study.json").write_text(json.dumps({**plan, **more}))

    def remarks(self):
        return remarks_on_study(load_study([self.place]), [self.place])

    def check(self, *codes, contradiction=True):
        found = self.remarks()
        self.assertEqual(sorted({remark.code for remark in found if remark.contradiction is contradiction}),
                         sorted(codes), [remark.text for remark in found])
        for remark in found:
            self.assertNotIn("\n", remark.text)
        return found

    def edit(self, change, name=NAMES[1]):
        file = self.run_folder(name) / "run.json"
        document = json.loads(file.read_text())
        change(document)
        file.write_text(json.dumps(document))

    def test_runs_as_they_were_written(self):
        self.assertEqual(self.remarks(), [])

    def test_another_noise_scale(self):
        noisy = MadeRun(parts=(12, 12), images=60, times=times_of(1), started_at="2024-05-06T07:01:09Z",
                        options={"run-dir": f"study/runs/{NAMES[1]}"},
                        noise=lambda epoch: noise_json(24, 2, 3, 90.0, 80.0, 99.0))
        noisy.write(self.run_folder(NAMES[1]))
        self.assertEqual(self.remarks(), [])

        def double(document):
            for name in ("scale", "low", "high"):
                document["epochs"][1]["gradient_noise"][name] *= 2

        self.edit(double)
        self.check("epochs-csv", "noise")

    def test_halved_epoch_times(self):
        def halve(document):
            for epoch in document["epochs"]:
                epoch["seconds"] /= 2

        self.edit(halve)
        found = self.check("epoch-seconds", "epochs-csv", "rate", "summary")
        self.assertTrue(all(NAMES[1] in remark.text for remark in found))

    def test_halved_everywhere_in_run_json(self):
        """With rates and sums in keeping, the other files remain."""
        def halve(document):
            for epoch in document["epochs"]:
                epoch["seconds"] /= 2
                epoch["images_per_second"] *= 2
                for rank in epoch["ranks"]:
                    rank["seconds"] /= 2
                    rank["phases"] = {name: value / 2 for name, value in rank["phases"].items()}
                for phase in epoch["phases"].values():
                    phase.update({name: value / 2 for name, value in phase.items()})
                epoch["efficiency"]["useful_mean"] /= 2
            for key in ("steady_epoch_seconds", "training_seconds"):
                document["summary"][key] /= 2

        self.edit(halve)
        self.check("epochs-csv", "steps-csv")
        for name in ("epochs.csv", "steps.csv"):
            (self.run_folder(NAMES[1]) / name).unlink()
        self.check()
        self.check("alone", contradiction=False)

    def test_a_phase_and_a_summary_that_were_changed(self):
        self.edit(lambda document: document["epochs"][1]["ranks"][0]["phases"].update(all_reduce=0.0))
        self.check("efficiency", "phases", "steps-csv")

        def summary(document):
            document["summary"]["steady_epoch_seconds"] /= 1.01
        self.edit(summary, NAMES[2])
        self.assertIn("summary", {remark.code for remark in self.remarks() if NAMES[2] in remark.text})

    def test_a_tool_that_writes_numbers_anew_changes_nothing(self):
        self.edit(lambda document: document.update(json.loads(json.dumps(document, indent=3))))
        self.check()

    def test_a_slow_repeat_deleted_and_another_copied_in_its_place(self):
        shutil.rmtree(self.run_folder(NAMES[5]))
        found = self.check("plan-missing")
        self.assertIn(NAMES[5], found[0].text)
        shutil.copytree(self.run_folder(NAMES[1]), self.run_folder(NAMES[5]))
        found = self.check("copies")
        self.assertEqual([len(remark.runs) for remark in found if remark.code == "copies"], [2])
        self.assertEqual([remark.code for remark in found if not remark.contradiction], ["moved"])

    def test_a_slow_repeat_that_was_made_unreadable_or_a_failure(self):
        (self.run_folder(NAMES[5]) / "run.json").write_text("{")
        self.assertIn(NAMES[5], self.check("unreadable")[0].text)
        (self.run_folder(NAMES[5]) / "run.json").unlink()
        file = self.run_folder(NAMES[5]) / "attempt.json"
        file.write_text(file.read_text().replace('"exit_code": 0', '"exit_code": 1'))
        found = self.check("failed", contradiction=False)
        self.assertEqual(found[0].runs, [str(file.with_name("run.json"))])

    def test_one_run_as_five_repeats(self):
        for repeat in range(4, 8):
            shutil.copytree(self.run_folder(NAMES[0]), self.run_folder(f"{NAMES[0][:-1]}{repeat}"))
        found = self.check("copies", "plan-extra")
        self.assertEqual([len(remark.runs) for remark in found if remark.code == "copies"], [5])

    def test_a_copy_with_another_start_and_one_changed_epoch(self):
        shutil.rmtree(self.run_folder(NAMES[5]))
        shutil.copytree(self.run_folder(NAMES[1]), self.run_folder(NAMES[5]))

        def disguise(document):
            document["started_at"] = "2024-05-06T08:00:00Z"
            document["epochs"][2]["seconds"] *= 1.001
        self.edit(disguise, NAMES[5])
        self.assertIn("copies", {remark.code for remark in self.remarks()})

    def test_a_copy_of_which_all_times_are_longer(self):
        """With sums and rates in keeping, but for the files beside it."""
        shutil.copytree(self.run_folder(NAMES[1]), self.run_folder(NAMES[5]), dirs_exist_ok=True)

        def stretch(document):
            document["started_at"] = "2024-05-06T08:00:00Z"
            for epoch in document["epochs"]:
                epoch["seconds"] *= 1.013
                for phase in epoch["phases"].values():
                    phase.update({name: value * 1.013 for name, value in phase.items()})
        self.edit(stretch, NAMES[5])
        self.assertIn("copies", {remark.code for remark in self.remarks()})

    def continue_run(self, name, number, epoch):
        """Leaves this run the epochs before `epoch`, and makes the run of this name one that continues it."""
        made = MadeRun(parts=(12, 12), images=60, epochs=5, times=times_of(number), options={"run-dir": name})
        made.write(self.run_folder(name))
        earlier = json.loads((self.run_folder(NAMES[1]) / "run.json").read_text())["epochs"][:epoch - 1]

        def resume(document):
            document["epochs"][:epoch - 1] = earlier
            document["epochs"][epoch - 1]["resumed_at_step"] = 0
        self.edit(resume, name)

    def copied(self):
        """{code: how many runs} of remarks on runs that share epochs."""
        return {remark.code: len(remark.runs) for remark in self.remarks() if remark.code in ("copies", "branches")}

    def test_a_run_that_continues_another_of_its_group_is_noted(self):
        self.continue_run("branch", 9, 3)
        self.assertEqual(self.copied(), {"branches": 2})
        self.edit(lambda document: document["epochs"][2].update(resumed_at_step=None), "branch")
        self.assertEqual(self.copied(), {"copies": 2})

    def test_a_run_that_goes_on_where_another_ended(self):
        self.continue_run("branch", 9, 4)
        self.assertEqual(self.copied(), {"branches": 2})

    def test_a_score_that_was_changed_in_two_files(self):
        """steps.csv has those of the steps."""
        for run, column, name in ((NAMES[1], 4, "loss"), (NAMES[3], 5, "accuracy")):
            self.edit(lambda document: document["epochs"][2].update({name: 0.75}), run)
            file = self.run_folder(run) / "epochs.csv"
            *lines, last = file.read_text().splitlines()
            cells = last.split(",")
            cells[column] = "0.75"
            file.write_text("\n".join([*lines, ",".join(cells)]) + "\n")
        found = {remark.text.partition(" is ")[0] for remark in self.check("steps-csv")}
        self.assertEqual(found, {f"{NAMES[1]}: loss of epoch 3", f"{NAMES[3]}: accuracy of epoch 3"})

    def test_two_groups_with_the_same_runs(self):
        other = self.place.with_name("other")
        shutil.copytree(self.place, other)
        runs = load_study([self.place]).runs + load_study([other]).runs
        self.assertEqual([len(group) for group in copies_among(runs)], [2] * len(NAMES))
        self.assertEqual(copies_among(load_study([other]).runs), [])

    def test_single_epochs_of_equal_length_are_no_copies_by_chance(self):
        for number in range(3):
            MadeRun(epochs=1, started_at=f"2024-05-06T07:08:0{min(number, 1)}Z").write(
                self.place.with_name("single") / str(number))
        runs = load_study([self.place.with_name("single")]).runs
        self.assertEqual([[run.file.parent.name for run in group] for group in copies_among(runs)], [["1", "2"]])

    def test_runs_of_another_host(self):
        for name in NAMES[1:4:2]:
            self.edit(lambda document: [rank.update(host="friend-pc") for rank in document["ranks"]], name)
        found = self.check("hosts", contradiction=False)
        self.assertEqual(len(found[0].runs), 2)
        self.assertIn("friend-pc", found[0].text)

    def test_timed_called_cpu(self):
        folder = self.run_folder(NAMES[1])
        made = MadeRun(parts=(12, 12), images=60, times=times_of(1), backend="timed", options={"run-dir": str(folder)},
                       timed={"seconds": 0.01, "images": 12})
        made.write(folder)
        self.check()
        text = (folder / "run.json").read_text()
        (folder / "run.json").write_text(text.replace('"timed"', '"cpu"').replace("timed", "cpu"))
        found = self.check("backend")
        self.assertIn("computes nothing", found[0].text)

    def test_a_command_line_that_says_something_else(self):
        for words, options, contradicts in (
                ("--epochs 3 --model=ResNet20 --lr 0.10 --seed 7", {}, False), ("--epochs 5", {}, True),
                ("--model resnet18", {}, True),
                ("--balance 3,1", {"balance": "3,1"}, False), ("--balance 3,1", {"balance": "equal"}, True),
                ("--batch-per-rank max --backend auto --overwrite --threads 4", {}, False),
                ("--backend timed", {}, True)):  # fmt: skip
            def change(document, words=words, options=options):
                document["command_line"] = "rueda train " + words
                document["config"].update(options, balance=options.get("balance", "equal"))
            self.edit(change, NAMES[0])
            self.assertEqual("command-line" in {remark.code for remark in self.remarks()}, contradicts, words)

    def test_a_whole_run_that_was_shorter_than_its_epochs(self):
        def total(share):
            return lambda document: document["summary"].update(
                total_seconds=share * document["summary"]["training_seconds"])

        self.edit(total(1.0))
        self.check()
        self.edit(total(0.99))
        self.assertIn("longer than the whole run", self.check("summary")[0].text)

    def test_a_launch_that_was_shorter_than_its_epochs(self):
        file = self.run_folder(NAMES[0]) / "attempt.json"
        file.write_text(json.dumps(dict(json.loads(file.read_text()), seconds=0.01)))
        self.assertEqual(self.remarks(), [])  # within a second
        self.edit(lambda document: document["summary"].update(training_seconds=5.0, total_seconds=6.0), NAMES[0])
        self.check("attempt", "summary")

    def test_a_run_that_is_not_what_the_plan_has(self):
        self.write_plan(series=[entry(name) for name in NAMES[:-1]] + [entry(NAMES[-1], batch=24)])
        self.assertIn(NAMES[-1], self.check("plan-differs")[0].text)

    def test_growing_batches_are_planned_by_the_first(self):
        name = "resnet20_sweep6_n1x1_r1"
        for batch in (6, 12, 24):
            MadeRun(parts=(batch,), images=60,
                    times=times_of(batch)).write(self.run_folder(f"resnet20_rank{batch}_n1x1_r9"))
        sweep = dict(entry(NAMES[0]), name="resnet20_sweep6_n1x1_r9", batch=6,
                     sweep={"first": 6, "factor": 2, "last": None})
        self.write_plan(series=[entry(one) for one in NAMES] + [sweep])
        self.check()
        self.write_plan(series=[entry(one) for one in NAMES] + [dict(sweep, name=name)])
        self.check("plan-extra", "plan-missing")

    def test_a_failed_attempt_is_there(self):
        (self.run_folder(NAMES[3]) / "run.json").unlink()
        self.check()

    def test_a_hostile_plan_is_one_remark(self):
        whole = json.loads((self.place / "study.json").read_text())
        for content in ("", "[]", "[" * 5000, '{"schema": "rueda-study"}', json.dumps(dict(whole, series={})),
                        json.dumps(dict(whole, series=[None])),
                        json.dumps(dict(whole, series=[dict(entry(NAMES[0]), sweep=3)])),
                        json.dumps(dict(whole, series=[dict(entry(NAMES[0]), sweep={"factor": 1})])),
                        json.dumps(dict(whole, series=[dict(entry(NAMES[0]), name="\x1b[2J")])),
                        json.dumps(dict(whole, series=[dict(entry(NAMES[0]), batch=1e300)]))):  # fmt: skip
            (self.place / "study.json").write_text(content)
            try:
                read_plan(self.place / "study.json")
            except Unusable as error:
                self.assertIn("study.json: ", str(error))
                self.check("plan")
        (self.place / "study.json").write_text(json.dumps(dict(whole,
                                                               series=[dict(entry(NAMES[0]), name="../../etc")])))
        self.check("plan-extra", "plan-missing")

    def test_a_hostile_table_is_one_remark(self):
        for content in ("", "epoch\n1e300\n-1\nnan\n99999999999999999999\n", "epoch,seconds\n1,x\n", "\x00",
                        "a" * 200_000):
            (self.run_folder(NAMES[0]) / "epochs.csv").write_text(content)
            self.check("epochs-csv")


if __name__ == "__main__":
    unittest.main()
