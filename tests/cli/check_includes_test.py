#!/usr/bin/env python3
"""tests/check_includes.py on made-up trees: it passes a good one and finds each kind of slip."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import summary_line

SCRIPT = Path(__file__).resolve().parents[1] / "check_includes.py"

GOOD = {
    "include/rueda/core/error.hpp": "#pragma once\n",
    "include/rueda/model/graph.hpp": '#pragma once\n\n#include "rueda/core/error.hpp"\n',
    "src/model/parts.hpp": "// Parts.\n#pragma once\n",
    "src/model/graph.cpp": '#include "parts.hpp"\n#include "rueda/model/graph.hpp"\n',
    "src/cpu/backend.hpp": "#pragma once\n#include <oneapi/dnnl/dnnl.hpp>\n",
    "src/report/write.cpp": "#include <nlohmann/json.hpp>\n",
    "src/data/untar.cpp": "#include <archive.h>\n#include <archive_entry.h>\n",
    "mpi/ring.hpp": '#pragma once\n#include <mpi.h>\n#include "rueda/model/graph.hpp"\n',
    "cuda/kernels.cu": "#include <cuda_runtime.h>\n",
    "cuda/query.hpp": "#pragma once\n",
    "src/commands/cli.cpp": '#include <CLI/CLI.hpp>\n#include "cpu/backend.hpp"\n',
    "src/commands/root.cpp": '#include "cuda/query.hpp"\n#include "mpi/ring.hpp"\n',
    "src/main.cpp": '#include "version_config.hpp"\n',
    "tests/mpi/ring_test.cpp": '#include <mpi.h>\n#include "mpi/ring.hpp"\n',
    "tests/unit/cpu_test.cpp": '#include "backend.hpp"\n',
}


def check(changes=None, *options):
    """Exit code and complaints for the good tree with `changes` (file -> text)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**GOOD, **(changes or {})}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(SCRIPT), "--root", folder, *options],
            capture_output=True, text=True, timeout=60,
        )
        return done.returncode, done.stderr


class CheckIncludesTests(unittest.TestCase):
    def refuses(self, name, text, complaint):
        code, complaints = check({name: text})
        self.assertEqual(code, 1)
        self.assertEqual(len(complaints.splitlines()), 1, complaints)
        self.assertTrue(complaints.startswith(name), complaints)
        self.assertIn(complaint, complaints)

    def test_passes_a_good_tree(self):
        self.assertEqual(check(), (0, ""))

    def test_an_earlier_room_must_not_know_a_later_one(self):
        self.refuses("src/core/a.cpp", '#include "rueda/model/graph.hpp"\n', "belongs to model")

    def test_mpi_must_not_know_the_cpu_backend(self):
        self.refuses("mpi/a.cpp", '#include "cpu/backend.hpp"\n', "belongs to cpu")

    def test_mpi_must_not_know_the_cuda_room(self):
        self.refuses("mpi/a.cpp", '#include "cuda/query.hpp"\n', "belongs to cuda")

    def test_a_library_in_quotes_is_seen(self):
        self.refuses("src/train/a.cpp", '#include "mpi.h"\n', "MPI")

    def test_a_path_with_dots_hides_nothing(self):
        self.refuses("src/report/a.cpp", '#include "../cpu/backend.hpp"\n', "belongs to cpu")

    def test_only_the_last_room_names_a_backend(self):
        self.refuses("src/train/a.cpp", '#include "cpu/backend.hpp"\n', "belongs to cpu")

    def test_mpi_must_not_include_cuda(self):
        self.refuses("mpi/a.hpp", "#pragma once\n#include <cuda_runtime.h>\n", "CUDA")

    def test_cuda_must_not_include_mpi(self):
        self.refuses("cuda/a.cu", "#include <mpi.h>\n", "MPI")

    def test_mpi_stays_in_its_room(self):
        self.refuses("src/commands/a.cpp", "  #  include <mpi.h>\n", "MPI")

    def test_onednn_stays_in_its_room(self):
        self.refuses("src/backend/a.cpp", "#include <dnnl.hpp>\n", "oneDNN")

    def test_libarchive_stays_in_its_room(self):
        self.refuses("src/commands/a.cpp", "#include <archive_entry.h>\n", "libarchive")

    def test_cli11_stays_in_its_room(self):
        self.refuses("src/train/a.cpp", "#include <CLI/CLI.hpp>\n", "CLI11")

    def test_json_stays_out_of_public_headers(self):
        text = "#pragma once\n#include <nlohmann/json.hpp>\n"
        self.refuses("include/rueda/report/a.hpp", text, "no public header")
        self.assertEqual(check({"src/report/a.hpp": text}), (0, ""))

    def test_a_quoted_header_exists(self):
        self.refuses("src/model/a.cpp", '#include "rueda/model/gone.hpp"\n', "is not found")

    def test_a_header_begins_with_pragma_once(self):
        text = "#include <vector>\n#pragma once\n"
        self.refuses("include/rueda/core/a.hpp", text, "#pragma once")

    def test_an_unknown_room_is_refused(self):
        self.refuses("src/attic/a.cpp", "int a;\n", "no known room")

    def test_compiles_headers_alone(self):
        name, code = "include/rueda/core/a.hpp", "std::vector<int> a();\n"
        whole = {name: "#pragma once\n#include <vector>\n" + code}
        part = {name: "#pragma once\n" + code}
        for name in ("mpi/ring.hpp", "src/cpu/backend.hpp"):
            whole[name] = part[name] = "#pragma once\n"
        self.assertEqual(check(whole, "--compile"), (0, ""))
        code, complaints = check(part, "--compile")
        self.assertEqual(code, 1)
        self.assertIn("include/rueda/core/a.hpp does not compile alone", complaints)

    def test_leaves_to_the_build_what_a_source_includes_first(self):
        tree = {name: "#pragma once\n" for name in ("mpi/ring.hpp", "src/cpu/backend.hpp")}
        tree["include/rueda/core/a.hpp"] = "#pragma once\nstd::vector<int> a();\n"
        tree["src/core/a.cpp"] = '#include "rueda/core/a.hpp"\n\n#include <vector>\n'
        self.assertEqual(check(tree, "--compile"), (0, ""))
        tree["src/core/a.cpp"] = '#include <vector>\n\n#include "rueda/core/a.hpp"\n'
        self.assertEqual(check(tree, "--compile")[0], 1)


if __name__ == "__main__":
    summary_line.main()
