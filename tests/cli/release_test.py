#!/usr/bin/env python3
"""The release: everything that names the version or the packages names the same. usage: release_test.py RUEDA"""

import ast
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from rueda_runs import environment, main

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "jobs" / "site"
PROGRAM = Path(sys.argv[1]).resolve()
# What only packaging needs, or what each package of Debian is built with anyway.
PACKAGING, ESSENTIAL = {"debhelper-compat", "dh-sequence-python3"}, {"g++"}


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


def package_list(name):
    """One of the lists in jobs/setup.sh."""
    script = f'. jobs/setup.sh; printf "%s\\n" "${{{name}[@]}}"'
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment({}), capture_output=True,
                          text=True, check=True)
    return done.stdout.split()


def paragraphs(text):
    """Fields of each paragraph of a control file; a line that is none is an error."""
    for block in re.split(r"\n\s*\n", text.strip()):
        fields = {}
        for line in block.splitlines():
            field = re.fullmatch(r"([A-Z][A-Za-z-]*): ?(.*)", line)
            if field:
                name = field[1]
                fields[name] = field[2]
            elif line.startswith(" ") and fields:
                fields[name] += line
            else:
                raise AssertionError(f"not a field: {line}")
        yield fields


def names_of(relation):
    """Of the packages in a list of dependencies, without versions and variables."""
    return set(re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", relation))


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
            ("jobs/site/debian/changelog", r"\Arueda \((.*)\) "),
            ("jobs/site/package.py", r'^    version\("(\d[^"]*)"'),
        ):
            self.assertEqual(only(pattern, text_of(name)), self.version, name)

    def test_tags(self):
        """Before a release is tagged its version is newer than every tag."""
        tags = [tag[1:]
                for tag in git("tag", "--list", "v[0-9]*.[0-9]*.[0-9]*") if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
        newest = max(tags, key=numbers, default="0.0.0")
        self.assertGreaterEqual(numbers(self.version), numbers(newest))
        for tag in git("tag", "--list", "--points-at", "HEAD", "v[0-9]*"):
            self.assertEqual(tag, f"v{self.version}")


@unittest.skipUnless(git("rev-parse", "HEAD"), "not a clone")
class Release(unittest.TestCase):
    """The archive, and the repository of Spack beside it."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-release-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def script(self, *words, umask=0o022, **env):
        return subprocess.run(
            [SITE / "release.sh", *words], env=environment(env), cwd=self.folder, capture_output=True, text=True,
            check=False, umask=umask, timeout=120,
        )  # fmt: skip

    def test_the_same_commit_gives_the_same_bytes(self):
        for name, settings in (("one", {}), ("two", {"umask": 0o077, "TZ": "Asia/Tokyo", "GZIP": None, "LC_ALL": "C"})):
            done = self.script("--out", name, **settings)
            self.assertEqual(done.returncode, 0, done)
        one, two = ((self.folder / name / f"rueda-{Version.version}.tar.gz").read_bytes() for name in ("one", "two"))
        self.assertEqual(one, two)
        with tarfile.open(self.folder / "one" / f"rueda-{Version.version}.tar.gz") as archive:
            names = archive.getnames()
        self.assertEqual({name.split("/")[0] for name in names}, {f"rueda-{Version.version}"})
        self.assertIn(f"rueda-{Version.version}/meson.build", names)
        again = self.script("--out", "one", "--url", "https://site.example/rueda/")
        self.assertEqual(again.returncode, 0, again)
        for name, address in (("one", "https://site.example/rueda"), ("two", f"file://{self.folder.resolve()}/two")):
            repository = self.folder / name / "spack_repo/rueda"
            recipe = (repository / "packages/rueda/package.py").read_text(encoding="utf-8")
            ast.parse(recipe)
            self.assertEqual(only(r'^    url = "(.*)"$', recipe), f"{address}/rueda-{Version.version}.tar.gz")
            said = only(r'^    version\("(.*)", sha256="(.*)"\)$', recipe)
            self.assertEqual(said, (Version.version, hashlib.sha256(one).hexdigest()))
            self.assertTrue((repository / "repo.yaml").exists())

    def test_refusals_leave_all_as_it_is(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/thesis.txt").write_text("mine", encoding="utf-8")
        (self.folder / "link").symlink_to("mine")
        for words, reason in (
            (("--out", "mine"), "thesis.txt; give another --out"), (("--out", "link"), "is a link"),
            (("--out", "new", "--commit", "nothere"), "no such commit"),
            (("--out", "new", "--commit=x"), "unknown option"), (("--out", "new", "--url", "a/b"), "give --url as"),
            (("--out", "new", "--url", 'https://a/"; import os #'), "give --url as"),
        ):  # fmt: skip
            done = self.script(*words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(reason, done.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.rglob("*")), ["link", "mine", "thesis.txt"])


class Packages(unittest.TestCase):
    source, *binaries = paragraphs((SITE / "debian/control").read_text(encoding="utf-8"))

    def test_fields_and_names(self):
        self.assertEqual([binary["Package"] for binary in self.binaries], ["rueda", "rueda-doc"])
        for fields in (self.source, *self.binaries):
            wanted = {"Maintainer", "Section"} if fields is self.source else {"Architecture", "Depends", "Description"}
            self.assertLessEqual(wanted, set(fields))
        for name in ("rules", "tests/train"):
            self.assertTrue(os.access(SITE / "debian" / name, os.X_OK), name)

    def test_what_debian_builds_with_is_what_setup_installs(self):
        named = names_of(self.source["Build-Depends"])
        self.assertEqual(named - PACKAGING, set(package_list("build_packages")) - ESSENTIAL)
        self.assertLessEqual(PACKAGING, named)

    def test_what_the_page_on_installing_lists(self):
        listed = only(r"apt-get install (g\+\+.*?)\n```", text_of("docs/install.md").replace("\\\n", " "))
        self.assertEqual(set(listed.split()), set(package_list("build_packages")) | {"openmpi-bin", "catch2"})

    def test_what_is_installed_with_the_program(self):
        names = names_of(self.binaries[0]["Depends"]) | names_of(self.binaries[0]["Recommends"])
        self.assertLessEqual(names, set(package_list("packages")))
        self.assertIn("openmpi-bin", names)

    def test_files_to_install_exist(self):
        for name in ("rueda-doc.docs", "rueda-doc.examples"):
            for path in text_of(f"jobs/site/debian/{name}").split():
                self.assertTrue((ROOT / path).exists(), path)


class Images(unittest.TestCase):
    def commands(self, name, begin, end):
        """Of the build and of the final stage, each as words."""
        text = re.sub(r"\\\n", " ", text_of(f"jobs/site/{name}"))
        return [found.split() for found in re.findall(f"{begin}(.*?){end}", text, re.MULTILINE | re.DOTALL)]

    def test_both_are_made_by_the_same_commands(self):
        docker = self.commands("Dockerfile", "^RUN ", "$")
        self.assertEqual(docker, self.commands("rueda.def", "^%post\n", r"(?=\n\S|\Z)"))
        self.assertEqual(docker[0], ["/src/rueda/jobs/site/package_deb.sh", "--out", "/packages"])
        self.assertEqual(len(docker), 2)

    def test_packages_are_on_the_list(self):
        install = only(r"apt-get install (.*?)&&", re.sub(r"\\\n", " ", text_of("jobs/site/Dockerfile")))
        names = [word for word in install.split() if not word.startswith(("-", "/"))]
        instead_of_scipy = {"python3-munkres"}
        self.assertLessEqual(set(names), {*package_list("packages"), *instead_of_scipy})

    def test_both_are_of_one_release_of_debian(self):
        release = only(r"^ARG DEBIAN=(\d+)$", text_of("jobs/site/Dockerfile"))
        self.assertEqual(re.findall(r"^From: (.*)$", text_of("jobs/site/rueda.def"), re.MULTILINE),
                         [f"debian:{release}"] * 2)


if __name__ == "__main__":
    main(1)
