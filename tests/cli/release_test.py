#!/usr/bin/env python3
"""The release: everything that names the version names the same. usage: release_test.py RUEDA"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

from rueda_runs import environment, main

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv[1]).resolve()


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def only(pattern, text):
    """The groups of the one place that the pattern finds."""
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        raise AssertionError(f"{pattern} was found {len(found)} times")
    return found[0]


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


def numbers(version):
    return tuple(int(number) for number in version.split("."))


class Version(unittest.TestCase):
    version = only(r"^  version: '(.*)',$", text_of("meson.build"))

    def test_the_program_and_the_changelog(self):
        said = subprocess.run([PROGRAM, "--version"], env=environment({}), capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout.split()[:2], ["rueda", self.version])
        newest = re.search(r"^## (\d\S*) - (\d{4}-\d\d-\d\d)$", text_of("docs/changelog.md"), re.MULTILINE)
        self.assertTrue(newest, "no heading with version and date")
        self.assertEqual(newest[1], self.version)
        self.assertEqual(only(r"^date-released: (.*)$", text_of("CITATION.cff")), newest[2])

    def test_what_else_names_it(self):
        for name, pattern in (
            ("CITATION.cff", r"^version: (.*)$"),
            ("jobs/site/package.py", r'^    version\("(\d[^"]*)"'),
            ("docs/doctor.md", r"^rueda doctor (.*)$"),
        ):
            self.assertEqual(only(pattern, text_of(name)), self.version, name)

    def test_tags(self):
        """Before a release is tagged its version is newer than every tag."""
        tags = [tag[1:] for tag in git("tag", "--list", "v[0-9]*.[0-9]*.[0-9]*") if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
        newest = max(tags, key=numbers, default="0.0.0")
        self.assertGreaterEqual(numbers(self.version), numbers(newest))
        for tag in git("tag", "--list", "--points-at", "HEAD", "v[0-9]*"):
            self.assertEqual(tag, f"v{self.version}")


if __name__ == "__main__":
    main(1)
