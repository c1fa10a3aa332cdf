"""Runs of more ranks than run.json has rows of: these are read from ranks.csv, an epoch at a time."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
import made_files  # noqa: E402
from made_files import MadeRun  # noqa: E402
from reader.base.json_view import InputFile  # noqa: E402
from reader.predict.noise import RunNoise  # noqa: E402
from reader.runs.records import remarks_on_run  # noqa: E402
from reader.runs.rows import rows_by_epoch, spaced  # noqa: E402
from reader.runs.run import batches_of, read_run  # noqa: E402
from reader.study.shares import measured_costs  # noqa: E402
from reader.study.waiting import waiting_of  # noqa: E402
from run_files_test import Folder, sample  # noqa: E402


class ManyRanks(Folder):
    """Runs whose rows of ranks are in ranks.csv alone."""

    def both(self, made):
        return read_run(made.write(self.folder / "few")), read_run(made.write_as_of_many(self.folder / "many"))

    def test_their_rows_are_those_of_run_json(self):
        few, many = self.both(sample())
        for one, other in zip(few.epochs, many.epochs):
            self.assertEqual((other.ranks, len(other.of_ranks)), (2, 2))
            self.assertEqual(batches_of(many, other), batches_of(few, one))
            for rank, row in zip(one.of_ranks, other.of_ranks):
                row.batch = 0
                self.assertEqual(repr(row), repr(rank))

    def test_a_study_of_them_has_the_same_figures(self):
        made = {ranks: MadeRun(parts=(12,) * ranks, hosts=("a",) * ranks) for ranks in (1, 2, 4)}
        pages = []
        for kind in ("write", "write_as_of_many"):
            runs = [read_run(getattr(one, kind)(self.folder / kind / f"of-{ranks}")) for ranks, one in made.items()]
            for run in runs:  # so that rows are asked
                (run.file.parent / "steps.csv").unlink()
            pages.append(repr([[waiting_of(run), measured_costs(run, {}), RunNoise(run).relative_spread()]
                               for run in runs]))
        self.assertEqual(*pages)

    def test_without_a_readable_file_nothing_is_known_of_ranks(self):
        path = sample().write_as_of_many(self.folder)
        file = self.folder / "ranks.csv"
        whole = file.read_text(encoding="utf-8")
        lines = whole.splitlines(keepends=True)
        for content in (None, "", lines[0], whole[:-20], "".join(lines[:-1]), "".join(lines) + lines[-1],
                        whole.replace(",0.", ",x.", 1), whole.replace("rank", "knar", 1)):  # fmt: skip
            file.unlink(missing_ok=True)
            if content is not None:
                file.write_text(content, encoding="utf-8")
            run = read_run(path)
            least = min(map(len, (epoch.of_ranks for epoch in run.epochs)))
            self.assertEqual(least, 0, content)
            self.assertEqual([epoch.ranks for epoch in run.epochs], [2] * len(run.epochs))
            codes = [remark.code for remark in remarks_on_run(run)]
            self.assertEqual(codes, ["ranks-csv"] if content is not None else [], content)

    def test_changed_rows_are_remarked_on(self):
        path = sample().write_as_of_many(self.folder)
        file = self.folder / "ranks.csv"
        lines = file.read_text(encoding="utf-8").splitlines()
        self.assertEqual(remarks_on_run(read_run(path)), [])
        cells = lines[3].split(",")
        cells[lines[0].split(",").index("forward")] = "9.5"
        lines[3] = ",".join(cells)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.assertIn("phases", [remark.code for remark in remarks_on_run(read_run(path))])

    def test_of_very_many_rows_some_epochs_are_read(self):
        epochs = list(range(1, 201))
        for rows, most, count in ((1024, 20_000, 19), (2, 20_000, 200), (1_000_000, 20_000, 2), (0, 10, 10)):
            some = spaced(epochs, rows, most)
            self.assertEqual((len(some), len(set(some)), some[0], some[-1]), (count, count, 1, 200))
        self.assertEqual(spaced([7], 1_000_000, 10), [7])

    def test_epochs_are_found_in_a_large_file(self):
        """Rows of some bytes, so that one epoch's may be smaller and larger than what is read through."""
        for rows, epochs in ((1, 30_000), (3_000, 40), (7, 2_000)):
            lines = [made_files.HEADER]
            for epoch in range(1, epochs + 1):
                if epoch != 9:
                    lines += [f"{epoch},{row},0" + ",1" * 20 for row in range(1, rows + 1)]
            path = self.write("steps.csv", "\n".join(lines) + "\n")
            names, found = rows_by_epoch(InputFile(path, ""), [epochs, 1, 2, 9, 10, epochs // 2, epochs + 1])
            self.assertEqual(sorted(found), sorted({1, 2, 10, epochs // 2, epochs}))
            for epoch, own in found.items():
                self.assertEqual([line.split(b",")[:2] for line in own],
                                 [[b"%d" % epoch, b"%d" % row] for row in range(1, rows + 1)])


if __name__ == "__main__":
    unittest.main()
