#!/usr/bin/env python3
"""Scripts that find libraries, the configuration of a build, what it installs. usage: scripts_test.py RUEDA"""

import ast
import fcntl
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import shells
from rueda_runs import environment, main

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1]).resolve().parent
MODULE_COMMANDS = [*Path("/usr/share/modules").glob("init/bash"), *Path("/usr/share/lmod").glob("[0-9]*/init/bash")]


class ScriptCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-scripts-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()

    def put(self, files):
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run_script(self, script, *words, **env):
        return subprocess.run(
            [sys.executable, ROOT / script, *words], env={**os.environ, **env}, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip


class Mutations(unittest.TestCase):
    def test_each_wording_is_there_once(self):
        """A mutation whose wording is gone tests nothing, and no one sees it for hours."""
        for folder in ("mutations", "ptx"):
            sys.path.insert(0, str(ROOT / "tests" / folder))
            self.addCleanup(sys.path.pop, 0)
        mutations = [row[:3] for row in importlib.import_module("mutations").MUTATIONS]
        self.assertGreater(len(mutations), 100)
        mutants = importlib.import_module("mutate_kernels").MUTANTS
        self.assertGreater(len(mutants), 25)
        mutations += [(Path("cuda", "kernels", m.file), m.before, m.after) for m in mutants]
        for file, before, after in mutations:
            with self.subTest(file=file, before=before):
                self.assertNotEqual(before, after)
                self.assertEqual((ROOT / file).read_text(encoding="utf-8").count(before), 1)


class CountTests(ScriptCase):
    """What jobs/test.sh says at its end."""

    def test_what_was_skipped_is_named_with_its_reason_before_the_last_line(self):
        def program(name, stdout, result="OK"):
            return json.dumps({"name": f"rueda:cli / {name}", "result": result, "duration": 1, "stdout": stdout}) + "\n"

        log = self.folder / "testlog.json"
        log.write_text(
            program("unit", "skipped: no AVX-512 (2 cases)\nskipped: no GPU (1 case)\n7 passed, 0 failed, 3 skipped\n")
            + program("cuda", "skipped: no GPU (4 cases)\n0 passed, 0 failed, 4 skipped\n", "SKIP")
            + program("ptx", "skipped: no GPU\n", "SKIP") + program("old", "1 passed, 0 failed, 2 skipped\n")
            + program("mute", "", "SKIP") + program("plain", ""),
            encoding="utf-8",
        )  # fmt: skip
        done = self.run_script("jobs/check/count_tests.py", "--also", "lint=pass", log)
        lines = ["skipped 6: no GPU (unit, cuda, ptx)", "skipped 3: no reason given (old, mute)",
                 "skipped 2: no AVX-512 (unit)"]
        self.assertEqual((done.returncode, done.stdout.splitlines()[1:]),
                         (0, [*lines, "10 passed, 0 failed, 11 skipped"]))

    def test_a_test_script_says_why_it_leaves_cases_out(self):
        self.put({"skips_test.py": """
import unittest
from rueda_runs import main

class Case(unittest.TestCase):
    @unittest.skip("no GPU")
    def test_one(self): pass
    @unittest.skip("no GPU")
    def test_two(self): pass
    def test_three(self): self.skipTest("no root")

main(0)
"""})
        done = self.run_script(self.folder / "skips_test.py", PYTHONPATH=str(ROOT / "tests" / "cli"))
        self.assertEqual(done.stdout.splitlines()[-3:],
                         ["skipped: no GPU (2 cases)", "skipped: no root (1 case)",
                          "0 passed, 0 failed, 3 skipped"])  # fmt: skip


# What Python 3.9's library lacks, by its name.
NEWER_NAMES = {"linear_regression", "correlation", "pairwise", "bit_count", "tomllib", "StrEnum",
               "ExceptionGroup", "anext"}


def newer_than_3_9(path):
    """What of a script Python 3.9 cannot run, with its line. Raises SyntaxError for what it cannot read."""
    tree = ast.parse(path.read_text(encoding="utf-8"), path.name, feature_version=(3, 9))
    annotations = []
    for node in ast.walk(tree):
        annotations += [getattr(node, field, None) for field in ("annotation", "returns")]
        name = getattr(node, "attr", getattr(node, "id", getattr(node, "name", None)))
        if isinstance(node, (ast.Attribute, ast.Name, ast.alias)) and name in NEWER_NAMES:
            yield f"{path.name}:{node.lineno}: {name}"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip" and node.keywords:
            yield f"{path.name}:{node.lineno}: zip(strict)"
    for annotation in filter(None, annotations):
        if any(isinstance(part, ast.BinOp) for part in ast.walk(annotation)):
            yield f"{path.name}:{annotation.lineno}: a type with |"


class OldPython(ScriptCase):
    """RHEL 9's is 3.9."""

    def test_scripts_do_without_what_3_9_lacks(self):
        folders = ("jobs", "tests/faults", "tests/gpu", "tests/lab", "tests/bench")
        paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
        self.assertGreater(len(paths), 100)
        self.assertEqual([line for path in paths for line in newer_than_3_9(path)], [])
        self.put({"new.py": "a: int | None\ndef f(x: str | None) -> int | str: zip(x, strict=True)\nimport tomllib\n"})
        self.assertEqual(len(list(newer_than_3_9(self.folder / "new.py"))), 5)

    def test_an_older_one_is_told_in_a_line(self):
        pretend = self.folder / "sitecustomize.py"
        self.put({pretend.name: "import sys\nsys.version_info = (3, 8, 10, 'final', 0)\n"})
        for script, word in (("jobs/data", "data.sh"), ("tests/gpu/gpu_check.py", "gpu-check.sh")):
            done = self.run_script(script, "--help", PYTHONPATH=str(self.folder))
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (1, "", 1), done)
            self.assertIn(f"{word}: it needs Python 3.9 or newer", done.stderr)


class WithoutPackages(ScriptCase):
    def test_a_training_by_pytorch_says_what_it_lacks(self):
        words = [sys.executable, "-I", "-S", ROOT / "jobs" / "torch_ddp.py", "--help"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Atorch_ddp\.py: .*'torch'; install numpy and PyTorch for /\S+\n\Z")


class CurrentFolder(ScriptCase):
    def test_no_module_of_the_current_folder_is_run(self):
        """An empty entry of PYTHONPATH, as `PYTHONPATH=$PYTHONPATH:DIR` leaves one, means that folder."""
        names = ("argparse", "contextlib", "json", "os", "pathlib", "re", "signal", "subprocess")
        self.put({f"{name}.py": "import sys\nsys.exit('code of the current folder ran')\n" for name in names})
        for script in ("scale.sh", "run-again.sh", "gpu-check.sh", "bench_frameworks.sh", "data.sh"):
            done = subprocess.run([ROOT / "jobs" / script, "--help"], env={**os.environ, "PYTHONPATH": ":/nowhere"},
                                  cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
            self.assertEqual((script, done.returncode, done.stderr), (script, 0, ""))


class SimulatedCluster(ScriptCase):
    def test_programs_are_looked_up_where_it_is_called(self):
        figures = dict.fromkeys(("epoch_seconds", "step_seconds", "gathered_megabytes", "run_json_megabytes",
                                 "memory_megabytes"), 1)
        figures |= {"ranks": 64, "epochs": 2, "steps_csv_megabytes": 6}
        self.put({"build/program": f"#!{sys.executable}\nprint({json.dumps(json.dumps(figures))})\n"})
        (self.folder / "build" / "program").chmod(0o755)
        words = [sys.executable, ROOT / "jobs" / "check" / "simulated_cluster.py", "--records", "--ranks", "64",
                 "build/program"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1], "| 64 | 1 | 1e+03 | 1e+06 | 1 | 1 | 3 |")


class FindLibrary(ScriptCase):
    """In folders as sites have them; no system has this library."""

    def find(self, given="", toolkit="", **env):
        words = ["ruedatry", "ruedatry.h", given and self.folder / given, self.folder / toolkit]
        env = {name: str(self.folder / folder) for name, folder in {"PYTHONUSERBASE": "nothing", **env}.items()}
        return self.run_script("cuda/libraries/find_library.py", *words, **env)

    def test_layouts_and_their_order(self):
        base = f"base/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/nvidia/cudnn"
        for folder, library, how in (
            ("env/targets/x86_64-linux", "lib/libruedatry.so.9", {"toolkit": "env"}),
            (base, "lib/libruedatry.so.9", {"PYTHONUSERBASE": "base"}),
            ("toolkit", "lib64/libruedatry.so", {"toolkit": "toolkit"}),
            ("variable", "lib/libruedatry.so.10", {"toolkit": "toolkit", "RUEDATRY_ROOT": "variable"}),
            ("word", "lib/libruedatry.so", {"given": "word", "toolkit": "toolkit", "RUEDATRY_ROOT": "variable"}),
        ):
            self.put({f"{folder}/{library}": "", f"{folder}/include/ruedatry.h": ""})
            done = self.find(**how)
            file = self.folder / folder / library
            wanted = f"{file}\n{self.folder / folder / 'include'}\n{file.name}\n"
            self.assertEqual((done.returncode, done.stdout), (0, wanted), done)

    def test_a_program_loads_it_by_its_major_version(self):
        self.put({"kit/lib64/libruedatry.so.9.1.2": "", "kit/include/ruedatry.h": ""})
        (self.folder / "kit/lib64/libruedatry.so").symlink_to("libruedatry.so.9.1.2")
        self.assertEqual(self.find(toolkit="kit").stdout.splitlines()[2], "libruedatry.so.9")

    def test_what_is_missing_is_named(self):
        self.put({"cuda/lib64/libruedatry.so": ""})
        done = self.find(toolkit="cuda")
        self.assertEqual((done.returncode, done.stderr), (1, "ruedatry.h not found\n"))


class SharedLibraries(ScriptCase):
    def compile(self, code, *words):
        command = ["g++", "-x", "c++", "-", "-x", "none", "-fPIC", "-L.", "-Wl,--no-as-needed"]
        path = f"-Wl,-rpath,{self.folder},-rpath-link,{self.folder}"
        subprocess.run([*command, path, *words], input=code, text=True, cwd=self.folder, check=True)

    def listed(self, *patterns):
        options = [word for pattern in patterns for word in ("--without", pattern)]
        return self.run_script("jobs/cluster/shared_libraries.py", *options, self.folder / "program")

    def test_a_program_that_needs_libnear_which_needs_libfar(self):
        self.compile("int far_away() { return 1; }", "-shared", "-o", "libfar.so")
        self.compile("int far_away(); int near_by() { return far_away(); }", "-shared", "-o", "libnear.so", "-lfar")
        self.compile("int near_by(); int main() { return near_by(); }", "-o", "program", "-lnear")
        self.assertIn(f"libfar.so {self.folder / 'libfar.so'}\n", self.listed().stdout)
        without = ("libc.so*", "libm.so*", "libgcc_s*", "libstdc++*")
        self.assertEqual(self.listed(*without).stdout.split()[::2], ["libfar.so", "libnear.so"])
        self.assertEqual(self.listed(*without, "libnear*").stdout, "")
        (self.folder / "libfar.so").unlink()
        done = self.listed()
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("libfar.so, which the loader does not find", done.stderr)


    def test_what_a_program_loads_when_it_needs_it(self):
        self.compile("int far_away() { return 1; }", "-shared", "-o", "libcublas.so.7")
        self.compile('#include <cstdio>\nint main(int n, char**) { std::puts("libcublas.so.7" + n); }', "-o", "program")
        self.assertIn(f"libcublas.so.7 {self.folder / 'libcublas.so.7'}\n", self.listed().stdout)
        self.assertNotIn("libcublas", self.listed("libcublas*").stdout)
        (self.folder / "libcublas.so.7").unlink()
        self.assertIn("libcublas.so.7, which the loader does not find", self.listed().stderr)


class Setup(ScriptCase):
    """jobs/setup.sh with a meson that only writes down what it is asked for."""

    MESON = """#!/bin/bash
    [ "$1" != --version ] || { echo 1.3.0; exit; }
    echo "${*//$PWD\\//}" >>calls
    [ "$1" != setup ] || { mkdir -p build/meson-private && touch build/build.ninja build/meson-private/coredata.dat; }
    """

    def calls(self, *builds):
        """What meson was asked for, a list for each build."""
        self.put({"bin/meson": self.MESON})
        (self.folder / "bin/meson").chmod(0o755)
        for name in ("setup.sh", "env.sh"):
            self.put({f"jobs/{name}": (ROOT / "jobs" / name).read_text(encoding="utf-8")})
        for options in builds:
            (self.folder / "calls").unlink(missing_ok=True)
            subprocess.run(
                ["bash", "-c", f". jobs/setup.sh; build build {options}"], cwd=self.folder, timeout=60, check=True,
                env={**environment({}), "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            yield (self.folder / "calls").read_text(encoding="utf-8").splitlines()

    def test_what_a_quickstart_left_out_is_added_when_all_is_wanted(self):
        small = '"${small[@]}"'
        first, again, whole, then, quick = self.calls(small, small, "", "", small)
        self.assertIn(" -Dcuda=disabled -Dtests=false", first[0])
        self.assertEqual(whole[0], f"setup --reconfigure build {self.folder} -Dcuda=auto -Dtests=true")
        compiles = ["compile -C build"]
        self.assertEqual((first[1:], again, whole[1:], then, quick), (compiles,) * 5)

    def test_a_build_that_its_user_configured_stays_so(self):
        self.put({"build/build.ninja": "", "build/meson-private/coredata.dat": ""})
        self.assertEqual(list(self.calls("", '"${small[@]}"')), [["compile -C build"]] * 2)


    def test_who_asks_for_help_builds_nothing(self):
        self.assertEqual(list(self.calls()), [])  # puts the files there
        done = subprocess.run(["bash", "jobs/setup.sh", "--help"], cwd=self.folder, timeout=60, check=False,
                              env={**environment({}), "PATH": f"{self.folder}/bin:{os.environ['PATH']}"},
                              capture_output=True, text=True)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("usage: jobs/setup.sh ", done.stderr)
        self.assertFalse((self.folder / "calls").exists())


class OpenMpiPrefix(ScriptCase):
    """jobs/cluster/build_openmpi_cuda.sh on a source that compiles nothing."""

    CONFIGURE = r"""#!/bin/sh
[ ! -e "$RUEDA_TEST_BREAK" ] || exit 1
mkdir -p opal/include && echo '#define OPAL_CUDA_SUPPORT 1' >opal/include/opal_config.h
echo 'all: ;' >Makefile
echo 'install: ; mkdir -p $(DESTDIR)/opt && cp -r ../src/tree $(DESTDIR)/opt/openmpi-cuda' >>Makefile
"""
    PROGRAM = "#!/bin/sh\necho mca:mpi:base:param:mpi_built_with_cuda_support:value:true\n"

    def setUp(self):
        super().setUp()
        tree = "source/openmpi/tree"
        self.put({
            "source/openmpi/configure": self.CONFIGURE, f"{tree}/bin/ompi_info": self.PROGRAM,
            f"{tree}/bin/mpirun": self.PROGRAM,
            f"{tree}/etc/openmpi-mca-params.conf": "", f"{tree}/lib/pkgconfig/ompi.pc": "prefix=/opt",
            "cuda/include/cuda.h": "", "source/openmpi/VERSION": "major=4\nminor=1\nrelease=4\ngreek=\n",
        })  # fmt: skip
        for name in ("configure", "tree/bin/ompi_info", "tree/bin/mpirun"):
            (self.folder / "source/openmpi" / name).chmod(0o755)
        (self.folder / f"{tree}/bin/mpiexec").symlink_to("mpirun")
        subprocess.run(["tar", "-C", "source", "-cf", "openmpi.tar", "openmpi"], cwd=self.folder, check=True)

    def build(self, prefix="home/.local", code=0, machine="x86_64"):
        self.put({"bin/uname": f"#!/bin/sh\necho {machine}\n"})
        (self.folder / "bin/uname").chmod(0o755)
        env = {"CUDA_HOME": f"{self.folder}/cuda", "TARBALL": f"{self.folder}/openmpi.tar",
               "HOME": f"{self.folder}/home", "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        done = subprocess.run(
            [ROOT / "jobs/cluster/build_openmpi_cuda.sh", prefix], cwd=self.folder, capture_output=True,
            text=True, timeout=60, env=environment({**env, "RUEDA_TEST_BREAK": f"{self.folder}/break"}), check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, code, done)
        if code == 2 and not (self.folder / "break").exists():
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr if code else done.stdout

    def holds(self, *names, prefix="home/.local"):
        for name in names:
            self.assertTrue((self.folder / prefix / name).exists(), name)

    def test_a_folder_that_others_fill_is_left_alone(self):
        self.put({"home/.local/share/thesis": "precious"})
        self.assertIn("holds what was not put there by an earlier call: share/thesis; give a PREFIX",
                      self.build(code=2))
        self.holds("share/thesis")
        self.assertFalse((self.folder / "home/.local.work").exists())

    def test_a_build_that_fails_leaves_the_earlier_one(self):
        self.build()
        (self.folder / "break").touch()
        self.build(code=2)
        self.holds("env.sh", "bin/mpirun")

    def test_an_earlier_build_is_replaced_unless_something_came_to_it(self):
        (self.folder / "home/.local").mkdir(parents=True)  # an empty one, and an absent one in the other tests
        self.assertNotIn("removed", self.build())
        self.put({"source/openmpi/tree/new": ""})
        subprocess.run(["tar", "-C", "source", "-cf", "openmpi.tar", "openmpi"], cwd=self.folder, check=True)
        self.assertIn(f"removed the earlier content of {self.folder}/home/.local", self.build())
        self.holds("env.sh", "new", "bin/mpiexec")
        for change in (
            lambda prefix: (prefix / "share").mkdir() or (prefix / "share/thesis").write_text("precious"),
            lambda prefix: (prefix / "bin/own").symlink_to("/bin/true"),
            lambda prefix: (prefix / "etc/openmpi-mca-params.conf").write_text("btl = tcp\n"),
        ):
            shutil.rmtree(self.folder / "home")
            self.build()
            change(self.folder / "home/.local")
            before = sorted((self.folder / "home/.local").rglob("*"))
            self.assertRegex(self.build(code=2), r"earlier call: (share/thesis|bin/own|etc/openmpi-mca-params.conf);")
            self.assertEqual(sorted((self.folder / "home/.local").rglob("*")), before)

    def test_a_version_that_can_hang_is_built_on_x86_64_alone(self):
        self.build()
        self.assertIn("Open MPI 4.1.4 can hang on aarch64: set TARBALL to one of 4.1.7",
                      self.build(code=2, machine="aarch64"))
        for release, code in ((6, 2), (7, 0), (10, 0)):
            self.put({"source/openmpi/VERSION": f"major=4\nminor=1\nrelease={release}\ngreek=\n"})
            subprocess.run(["tar", "-C", "source", "-cf", "openmpi.tar", "openmpi"], cwd=self.folder, check=True)
            self.build(code=code, machine="aarch64")

    def test_no_link_is_followed_and_no_folder_is_worked_in_that_others_made(self):
        self.put({"elsewhere/thesis": "precious", "prefix.work/src/thesis": "precious"})
        (self.folder / "link").symlink_to("elsewhere")
        (self.folder / "made.work").symlink_to("elsewhere")
        self.assertIn("/link is a link", self.build("link", 2))
        self.assertIn("/made.work is a link", self.build("made", 2))
        self.assertIn("/prefix.work is not empty, and build_openmpi_cuda.sh did not make it", self.build("prefix", 2))
        self.holds("elsewhere/thesis", "prefix.work/src/thesis", prefix=".")

    def test_two_at_once_do_not_work_in_one_folder(self):
        self.build()
        with open(self.folder / "home/.local.work/.rueda-work", encoding="utf-8") as mark:
            fcntl.flock(mark, fcntl.LOCK_EX)
            self.assertIn("in use by another call", self.build(code=2))


@unittest.skipUnless(shutil.which("meson"), "no meson in PATH")
class Configure(ScriptCase):
    def refused(self, *options, **env):
        words = ["meson", "setup", self.folder / "build", ROOT, "-Dcuda=disabled", "-Dtests=false", *options]
        done = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0, done)
        return done.stdout

    def test_a_build_that_could_not_train_is_refused(self):
        text = self.refused("-Dcpu=disabled")
        self.assertIn("nothing to train on", text)
        self.assertIn("-Dcpu=disabled asks for it", text)

    def test_flags_that_change_the_arithmetic_are_refused(self):
        self.assertIn("not exact: NaN is not seen.", self.refused(CXXFLAGS="-O3 -ffast-math"))
        self.assertIn('-Dcpp_args: "-funsafe-math-optimizations"',
                      self.refused("-Dcpp_args=-funsafe-math-optimizations"))
        self.assertIn("not exact", self.refused(CXXFLAGS="-Ofast -march=native"))

    def test_nvcc_gets_no_fast_math_from_its_variables(self):
        words = [ROOT / "cuda" / "exact_nvcc.sh", "echo", "compiled"]
        for name, flags, result in (
            ("NVCC_APPEND_FLAGS", "-ccbin g++-12", "compiled"), ("NVCC_APPEND_FLAGS", "--use_fast_math", "take it out"),
            ("NVCC_PREPEND_FLAGS", "-Xcompiler -Ofast", '("-Xcompiler -Ofast")'),
        ):  # fmt: skip
            done = subprocess.run(words, env={**os.environ, name: flags}, capture_output=True, text=True, check=False)
            self.assertIn(result, done.stdout + done.stderr)
            self.assertEqual(done.returncode, 0 if result == "compiled" else 1)


@unittest.skipUnless(shutil.which("meson"), "no meson in PATH")
class Installed(ScriptCase):
    """In a staging folder, as packages are made: nothing there may need the build or its prefix."""

    def setUp(self):
        super().setUp()
        self.output("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", self.folder)
        self.program = next(self.folder.rglob("bin/rueda"))
        self.share = self.program.parents[1] / "share"

    def output(self, *words, **env):
        done = subprocess.run(words, env=environment(env), cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def each_shell(self, lines):
        """(shell, line, what it offers), of the shells that are here."""
        for shell, offers in shells.OFFERS.items():
            if shell not in shells.MISSING:
                for line, offered in zip(lines, offers(self.share, self.folder, lines)):
                    yield shell, line, offered

    def test_the_program_its_recipes_and_scripts(self):
        self.output(self.program, "train", "--config", self.share / "rueda/recipes/quickstart.toml", "--print-config")
        line = self.output(self.share / "rueda/jobs/scale.sh", "cpu", "--dry-run").splitlines()[1]
        self.assertIn(f" {self.share}/rueda/bin/rueda train ", line)
        self.output(self.share / "rueda/jobs/slurm/submit.sh", "--help")
        self.output(self.share / "rueda/jobs/data.sh", "--help")
        plots = [script.name for script in (ROOT / "jobs").glob("plot_*.py")]
        self.assertEqual([name for name in plots if not (self.share / "rueda/jobs" / name).exists()], [])

    def test_the_module_file(self):
        """Loaded and unloaded by the module command of this machine, with another module that it needs."""
        if not MODULE_COMMANDS:
            self.skipTest("no Environment Modules and no Lmod")
        options = json.loads(self.output("meson", "introspect", "--buildoptions", BUILD))
        prefix = next(option["value"] for option in options if option["name"] == "prefix")
        [file] = (self.share / "rueda/modulefiles/rueda").iterdir()
        self.assertIn(f" {file.name} ", self.output(self.program, "--version").replace("(", "").replace(")", "") + " ")
        text = file.read_text(encoding="utf-8").replace("[list ]", "[list mpi]")
        self.assertIn("[list mpi]", text)
        self.put({f"modules/rueda/{file.name}": text, "modules/mpi/5": "#%Module1.0\nsetenv MPI_IS loaded\n"})
        script = """. "$1"; module use "$2"; module load rueda
                    printf '%s\n' "$PATH" "$MANPATH" "$RUEDA_SHARE" "$MPI_IS"
                    module unload rueda; printf '%s\n' "${RUEDA_SHARE-none}" "$PATH" """
        words = ("bash", "-c", script, "bash", MODULE_COMMANDS[0], self.folder / "modules")
        said = self.output(*words, PATH="/usr/bin:/bin", MANPATH=None)
        path, man, share, mpi, left, after = said.splitlines()[-6:]
        self.assertEqual(path.split(":")[0], f"{prefix}/bin")
        self.assertEqual((mpi, left), ("loaded", "none"))
        self.assertNotIn(f"{prefix}/bin", after.split(":"))
        for place, file in ((path, "rueda"), (man, "man1/rueda.1"), (share, "jobs/slurm/submit.sh")):
            self.assertTrue((self.folder / place.split(":")[0].lstrip("/") / file).exists(), said)

    def test_the_man_page_and_the_completions_have_every_option(self):
        listed = {}
        page = (self.share / "man/man1/rueda.1").read_text(encoding="utf-8").replace("\\fR", "").replace("\\", "")
        for command, ask in ((["train"], "--help-all"), (["bench", "all-reduce"], "--help"), (["report"], "--help")):
            options = re.findall(r"^  (?:-h,)?(--[a-z-]+)", self.output(self.program, *command, ask), re.MULTILINE)
            part = page.partition(f'.SH "RUEDA {" ".join(command).upper()}"')[2].partition('.SH "')[0]
            self.assertEqual(re.findall(r"^fB(?:-h,:)?(--[a-z-]+)", part, re.MULTILINE), options)
            listed[" ".join(command) + " --"] = sorted(options)
        for shell, line, offered in self.each_shell(list(listed)):
            self.assertEqual(sorted(offered), listed[line], (shell, line))

    def test_the_man_page_has_every_variable_that_the_program_reads(self):
        page = (self.share / "man/man1/rueda.1").read_text(encoding="utf-8").replace("\\fR", "").replace("\\", "")
        headings = re.findall(r"(?m)^\.SH (.*)", page)
        self.assertEqual(headings[-5:], ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"])
        sources = [path.read_text(encoding="utf-8") for folder in ("src", "mpi", "cuda")
                   for path in (ROOT / folder).rglob("*.cpp")]
        read = {name for source in sources
                for name in re.findall(r'(?:getenv|environment_variable|switched_on)\("(RUEDA_\w+)"', source)}
        self.assertLessEqual({"RUEDA_PLOT_PYTHON", "RUEDA_POWERCAP"}, read)
        named = set(re.findall(r"RUEDA_\w+", page.partition(".SH ENVIRONMENT")[2]))
        self.assertEqual(named, read - {"RUEDA_BINDING"})  # which rueda sets for itself
        for example in re.findall(r"(?m)^(?:mpirun -n \d )?(rueda .*)",
                                  page.partition(".SH EXAMPLES")[2].partition(".SH")[0]):
            self.output(self.program, *example.split()[1:2], "--help")

    def test_completion(self):
        self.put({"some file.toml": ""})
        cases = {
            "ben": ["bench"], "bench a": ["all-reduce"], "train --all-red": ["--all-reduce"],
            "train --all-reduce=sh": ["shared"],
            "train --all-reduce sh": ["shared"], "summary --model resnet18": ["resnet18"], "train --seed ": [],
            "train --config some": ["some file.toml"], "watch some": ["some file.toml"], "watch train --on": ["--once"],
            "train --data syn": ["synthetic"], "train --help dev": ["device"],
            "report --layout sa": ["sa-miri", "sa-miri-2021"], "bench all-reduce --algorithms ring,cen": ["central"],
        }  # fmt: skip
        for shell, line, offered in self.each_shell(list(cases)):
            self.assertEqual([text.rpartition(",")[2] for text in offered if text], cases[line], (shell, line))
        if shells.MISSING:
            self.skipTest("not tried, because not installed: " + ", ".join(shells.MISSING))


if __name__ == "__main__":
    main(1)
