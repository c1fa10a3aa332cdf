"""What `rueda report` writes, into what, and what it refuses. In one process; tests/cli/report_test.py starts it."""

import contextlib
import errno
import hashlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from made import made_run  # noqa: E402
from reader import report  # noqa: E402
from reader.base import owned  # noqa: E402
from reader.base.owned import write_owned  # noqa: E402
from reader.findings.measured import measured_json, measured_lines  # noqa: E402
from reader.findings.report_json import report_json  # noqa: E402
from reader.findings.study_findings import findings  # noqa: E402
from reader.report_files import contents_of  # noqa: E402
from reader.runs.places import Study  # noqa: E402
from reader.start import Failed, Unusable  # noqa: E402
from reader.tables.study_tables import study_tables  # noqa: E402
from said import disturb, figures_of, named, of_parts  # noqa: E402

# Points of report.json, whose keys are users' interface.
POINT_KEYS = set(
    "ranks hosts rank_batch global_batch images steps repeats oversubscribed includes_warm_up disturbed epoch_seconds "
    "first_epoch_seconds full_step_seconds mean_step_seconds images_per_second images_per_second_per_rank speedup "
    "efficiency step_speedup step_efficiency learning_speedup learning_efficiency steps_of_base karp_flatt "
    "gustafson phases epoch_phases factors communication losses device_seconds joules watt_hours run".split()
)


def report_of(runs):
    study, series = Study(runs=runs), figures_of(runs)
    return report.Report("A study", "rueda", series, study_tables(study, series), findings(study, series),
                         all_runs=runs)


def runs():
    made = [of_parts(1, 10, 0), of_parts(2, 6, 1)]
    for number, run in enumerate(made):
        run.started_at = f"2026-11-2{number}T10:00:00Z"
        run.command_line = f"mpirun -n {number + 1} rueda train"
        run.versions = {"rueda": f"1.0.{number}", "MPI": "Open MPI 4"}
    return made


class Json(unittest.TestCase):
    def test_unknown_figures_are_null_and_all_keys_are_there(self):
        written = report_json(report_of(runs()))
        json.dumps(written, allow_nan=False)
        for point in written["series"][0]["points"]:
            self.assertEqual(set(point), POINT_KEYS)
        self.assertIsNone(written["series"][0]["points"][0]["joules"])
        self.assertEqual(written["series"][0]["points"][1]["efficiency"]["value"], 10 / 14)

    def test_findings_have_codes_and_figures_beside_their_texts(self):
        written = report_json(report_of(runs()))["findings"]
        speedup = next(one for one in written if one["code"] == "speedup")
        self.assertEqual(set(speedup), {"about", "code", "text", "figures"})
        self.assertEqual(speedup["figures"]["epoch_seconds"], {"value": 7, "low": 7, "high": 7})

    def test_a_fit_that_is_not_determined_says_why(self):
        made = runs()
        self.assertEqual(report_json(report_of(made))["series"][0]["amdahl"]["determined"], True)
        disturb(made[1])
        amdahl = report_json(report_of(made))["series"][0]["amdahl"]
        self.assertFalse(amdahl["determined"])
        self.assertIn("less than 85 %", amdahl["why"])


class Head(unittest.TestCase):
    """Where, when and how it was measured."""

    def test_machine_time_command_and_versions_are_those_of_the_runs(self):
        measured = measured_json(runs())
        self.assertEqual((measured["hosts"], measured["devices"]), (["node1"], ["CPU A"]))
        self.assertEqual((measured["from"], measured["to"]), ("2026-11-20T10:00:00Z", "2026-11-21T10:00:00Z"))
        self.assertEqual(measured["versions"][0], {"name": "rueda", "versions": ["1.0.0", "1.0.1"]})
        self.assertEqual([one["command"] for one in measured["commands"]],
                         ["mpirun -n 1 rueda train", "mpirun -n 2 rueda train"])

    def test_report_md_begins_with_them(self):
        text = contents_of(report_of(runs()))[""]["report.md"].decode()
        head = text[: text.index("## Findings")]
        for words in ("Machine: CPU A", "Hosts: node1", "Started: 2026-11-20T10:00:00Z to 2026-11-21T10:00:00Z",
                      "Command: mpirun -n 1 rueda train (and 1 other, in report.json)",
                      "Versions: rueda 1.0.0 and 1.0.1; MPI Open MPI 4"):  # fmt: skip
            self.assertIn(f"- {words}\n", head)

    def test_a_run_that_computed_nothing_has_no_machine(self):
        made = runs()
        for run in made:
            for rank in run.ranks:
                rank.backend, rank.device = "timed", "none: waits 8 ms for 12 images"
        self.assertEqual(measured_json(made)["devices"], ["nothing (timed)"])

    def test_what_a_record_says_cannot_forge_a_line(self):
        made = runs()
        made[0].command_line = "rueda train\n- Machine: a supercomputer"
        lines = dict(measured_lines(measured_json(made)))
        self.assertNotIn("\n", lines["Command"])

    def test_commands_do_not_show_the_folders_of_who_ran_them(self):
        for line, place, wanted in (
            ("/home/ann/rueda/build/rueda train --data=/home/ann/rueda/data --run-dir /home/ann/rueda/runs/a",
             "/home/ann/rueda", "build/rueda train --data=data --run-dir runs/a"),
            ("'/home/ann/my work/build/rueda' train --config '/home/ann/my work/a.toml'", "/home/ann/my work/",
             "'build/rueda' train --config 'a.toml'"),
            ("/usr/bin/rueda train --data /gpfs/cifar --run-dir /home/ann-2/runs", "/home/ann",
             "rueda train --data /gpfs/cifar --run-dir /home/ann-2/runs"),
            ("/usr/bin/rueda train --run-dir /scratch/home/ann/runs --data /home/ann/", "/home/ann",
             "rueda train --run-dir /scratch/home/ann/runs --data /home/ann/"),
            ("/opt/a/rueda train --data /data", "/", "rueda train --data /data"),
            ("/opt/a/rueda", None, "rueda"), ("build/rueda train", 7, "build/rueda train"), ("/a(b)*/x", "/a(b)*", "x"),
        ):  # fmt: skip
            with self.subTest(line=line):
                made = runs()[:1]
                made[0].command_line, made[0].raw = line, {"working_directory": place}
                self.assertEqual([one["command"] for one in measured_json(made)["commands"]], [wanted])

    def test_published_runs_alone_have_no_head(self):
        self.assertEqual(measured_lines(measured_json([])), [])


class Outputs(unittest.TestCase):
    """What cannot be proved its own is neither removed nor overwritten, and no link is followed."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.out = self.folder / "out"

    def write(self, **contents):
        write_owned(self.out, "out", {"": {"a": b"one"}, "tables": {"t": b"two"}, **contents}, "name another")

    def refused(self, *words, **contents):
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}
        with self.assertRaises(Unusable) as caught:
            self.write(**contents)
        for word in (*words, "name another"):
            self.assertIn(word, str(caught.exception))
        after = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}
        self.assertEqual(before, after)

    def test_what_an_earlier_report_wrote_is_replaced(self):
        self.write()
        self.write(tables={"t": b"three"})
        self.assertEqual((self.out / "tables/t").read_bytes(), b"three")
        record = (self.out / "tables/.rueda-files").read_text()
        self.assertEqual(record, f"{hashlib.sha256(b'three').hexdigest()}  ./t\n")

    def test_what_is_not_written_again_stays_and_stays_known(self):
        self.write(tables={"t": b"two", "other": b"x"})
        self.write()
        self.assertTrue((self.out / "tables/other").exists())
        self.assertIn("./other", (self.out / "tables/.rueda-files").read_text())

    def test_a_file_of_the_user_is_not_overwritten(self):
        self.out.mkdir()
        (self.out / "a").write_text("mine")
        self.refused("out/a", "was not written by an earlier report")
        (self.out / "a").unlink()
        (self.out / "tables").mkdir()
        (self.out / "tables/t").write_text("mine")
        self.refused("out/tables/t")

    def test_what_the_user_changed_since_is_not_overwritten(self):
        self.write()
        (self.out / "a").write_text("one, and my remarks")
        self.refused("out/a", "has changed since")

    def test_a_report_that_was_stopped_can_be_written_again(self):
        self.write(**{"": {"a": b"one", "b": b"one"}})
        writes = iter([owned.write_whole, mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))])
        with mock.patch.object(owned, "write_whole",
                               lambda *words: next(writes)(*words)), self.assertRaises(Failed) as caught:
            self.write(**{"": {"a": b"two", "b": b"two"}})
        self.assertIn("No space left on device", str(caught.exception))
        self.assertEqual(((self.out / "a").read_bytes(), (self.out / "b").read_bytes()), (b"two", b"one"))
        self.write(**{"": {"a": b"three", "b": b"three"}})
        self.assertEqual((self.out / ".rueda-files").read_text().count("./a"), 1)

    def test_the_same_content_is_nobodys_loss(self):
        self.out.mkdir()
        (self.out / "a").write_bytes(b"one")
        self.write()

    def test_no_link_inside_is_followed(self):
        mine = self.folder / "mine"
        mine.mkdir()
        (mine / "t").write_text("mine")
        self.out.mkdir()
        for link, target in (("tables", mine), ("a", mine / "t")):
            (self.out / link).symlink_to(target)
            self.refused(f"out/{link}", "it is a link to")
            (self.out / link).unlink()
        (self.out / ".rueda-files").symlink_to(mine / "t")
        self.refused(".rueda-files", "it is a link to")
        (self.out / ".rueda-files").unlink()
        (self.out / ".rueda-files").write_text("my notes")
        self.refused(".rueda-files", "it is no record of what was written there")
        (self.out / ".rueda-files").write_text("")
        self.write()
        self.assertEqual((mine / "t").read_text(), "mine")

    def test_a_link_that_the_user_names_is_a_folder(self):
        (self.folder / "real").mkdir()
        self.out.symlink_to(self.folder / "real")
        self.write()
        self.assertEqual((self.folder / "real/a").read_bytes(), b"one")

    def test_what_is_no_folder_or_no_file_is_refused(self):
        self.out.write_text("a file")
        self.refused("out", "it cannot be made a directory")
        self.out.unlink()
        (self.out / "a").mkdir(parents=True)
        self.refused("out/a", "it is no file")
        (self.out / "a").rmdir()
        os.mkfifo(self.out / "a")
        self.refused("out/a", "it is no file")


class Words(unittest.TestCase):
    """The command line."""

    def refused(self, *words):
        with self.assertRaises(Unusable) as caught:
            report.main([*words])
        return str(caught.exception)

    def test_what_does_not_go_together_is_refused(self):
        for words, said in (
            ([], "name at least one run directory, --keras-log or --published"),
            (["x", "--slides", "--plots", "off"], "--slides draws, and --plots off does not"),
            (["x", "--layout", "nyu"], "--plots on and --layout write files: say where with --out or --hand-in"),
            (["x", "--slides"], "say where with --out"), (["x", "--plots", "on"], "say where with --out"),
            (["x", "--efficiency", "0"], "--efficiency must be above 0 and at most 100"),
            (["x", "--efficiency", "100.1"], "--efficiency must be above 0 and at most 100"),
            (["x", "--efficiency", "many"], "--efficiency: 'many' is not a number"),
            (["x", "--purpose", "tim"], "--purpose: 'tim' is not known: did you mean time?"),
            (["x", "--layout", "lab6", "--out", "o"], "--layout: 'lab6' is not known: did you mean lab5?"),
            (["x", "--title="], "--title takes a value"), (["x", "--bogus"], "unknown option --bogus"),
            (["/nowhere/x"], "/nowhere/x: there is no such file or directory"),
        ):  # fmt: skip
            self.assertIn(said, self.refused(*words), words)

    def test_help_has_every_option_and_its_default(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), self.assertRaises(SystemExit) as ended:
            report.main(["--help"])
        self.assertEqual(ended.exception.code, 0)
        for option in ("RUN_DIR ...", "--keras-log FILE[,...]", "--published book|nyu|all", "--check DIR",
                       "--prediction FILE", "--out DIR", "--title TEXT", "--hand-in DIR",
                       "--layout book|sa-miri|lab5|sa-miri-2021|nyu", "--plots auto|on|off", "--slides",
                       "--purpose all|time|cost|knee|efficiency", "--efficiency PERCENT", "[auto]",
                       "[80]"):  # fmt: skip
            self.assertIn(option, said.getvalue())

    def test_without_a_library_that_draws_a_report_is_written_and_says_so(self):
        def lacks(*libraries):
            if "matplotlib" in libraries:
                raise Unusable("needs matplotlib: install python3-matplotlib")

        words = ["--published", "book", "--out", "out"]
        with tempfile.TemporaryDirectory() as folder, _in(folder):
            said = io.StringIO()
            with mock.patch.object(report.start, "need", lacks), contextlib.redirect_stdout(said):
                self.assertEqual(report.main(words), 0)
                self.assertIn("--slides needs matplotlib", self.refused(*words, "--slides"))
                self.assertIn("--plots on needs matplotlib", self.refused(*words, "--plots", "on"))
            self.assertIn("No plots and no report.html", said.getvalue())
            self.assertTrue(Path(folder, "out/report.md").exists())


@contextlib.contextmanager
def _in(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    unittest.main()
