"""What test cases that run the program share: a folder, a small data set, and how runs end."""

import json
import tempfile
import unittest
from pathlib import Path

from rueda_runs import TIME_LIMIT, Program


class ProgramCase(unittest.TestCase):
    """A folder of its own with a small data set in data/."""

    time_limit = TIME_LIMIT  # seconds of a run
    paths = ("build/rueda", "mpiexec")  # of the program and the launcher; set by the script

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rueda-cli-")
        cls.program = Program(*cls.paths, cls.temporary.name, cls.time_limit)
        cls.folder = Path(cls.temporary.name)
        made = cls.program.run("synth", "--out", "data", "--train", "200", "--test", "50")
        if made.code != 0:
            raise AssertionError(f"no data set: {made}")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def read(self, name):
        """The JSON in a file of the folder."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def refused(self, result, *words, code=2):
        """One message of rueda's own, holding all words, and the exit code."""
        self.assertEqual(result.code, code, result)
        self.assertEqual(len(result.messages), 1, result)
        for word in words:
            self.assertIn(word, result.messages[0])

    def completed(self, result):
        self.assertEqual((result.code, result.messages), (0, []), result)
        return result
