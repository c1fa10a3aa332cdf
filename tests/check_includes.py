#!/usr/bin/env python3
"""Checks that every room of the tree includes only what it may.

usage: check_includes.py [--root DIR] [--compile]

Rules (docs/architecture.md tells why):
- a room includes earlier rooms and itself only, in the order of ROOMS; rooms of one line of ROOMS
  do not know each other;
- headers of a library stay in the rooms of LIBRARIES and out of include/;
- a header that a file names in quotes exists, and a header begins with #pragma once.
With --compile, every header but those of the tests also compiles alone (g++ -fsyntax-only), unless a
source includes it before anything else, which shows the same; those below cuda/ only where the CUDA
headers are found.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOMS = [
    ["core"],
    ["kernels"],
    ["data"],
    ["model"],
    ["weights"],
    ["reduce"],
    ["backend"],
    ["optim"],
    ["train"],
    ["checkpoint"],
    ["record"],
    ["display"],
    ["study"],
    ["predict"],
    ["mpi", "cuda", "cpu", "timed"],
    ["wiring"],
    ["run"],
    ["commands"],
    ["cli"],
    ["main"],
    ["tests"],
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}

# Library, pattern of its headers, rooms that may include them, but never in a public header.
LIBRARIES = [
    ("oneDNN", r"(oneapi/)?dnnl(/.*|[^/]*\.hp*)", {"cpu", "tests"}),
    ("MPI", r"mpi(-ext)?\.h", {"mpi", "tests"}),
    ("CUDA", r"(cuda|cudnn|cublas|nccl|nvml|nvtx|driver_types|cooperative_groups).*", {"cuda", "tests"}),
    ("libarchive", r"archive(_entry)?\.h", {"data", "tests"}),
    ("zlib", r"zlib\.h", {"data", "checkpoint", "tests"}),
    ("nlohmann-json", r"nlohmann/.*",
     {"core", "weights", "checkpoint", "record", "study", "predict", "wiring", "run", "commands", "cli", "tests"}),
    ("CLI11", r"CLI/.*", {"cli"}),
    ("toml++", r"toml\+\+/.*", {"cli"}),
    ("spdlog", r"spdlog/(?!fmt/).*", {"run"}),
]
ENDINGS = (".hpp", ".cpp", ".cu", ".cuh")
PRECOMPILED = "pch"  # folders of headers that no file names
GENERATED = {"plot_archive.hpp", "published_data.hpp", "version_config.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def room_of(path):
    """The room of a file, given relative to the root; None outside all rooms."""
    parts = path.parts
    if parts[0] == "src":
        return "main" if len(parts) == 2 else parts[1]
    if parts[:2] == ("include", "rueda"):
        return parts[2] if len(parts) > 3 else None
    return parts[0]


def files(root):
    for top in ("include", "src", "mpi", "cuda", "tests"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in ENDINGS and path.is_file() and path.parent.name != PRECOMPILED:
                yield path.relative_to(root)


def resolve(root, file, name):
    """The file that `name` in quotes means, relative to the root, or None."""
    folders = [file.parent, Path("include"), Path("src"), Path()]
    if room_of(file) == "tests":  # may also look into the private headers of a room
        folders += [path.relative_to(root) for path in sorted((root / "src").iterdir())]
    for folder in folders:
        path = Path(os.path.normpath(folder / name))
        if (root / path).is_file():
            return path
    return None


def fault_of_own(room, target):
    """What is wrong with including the project's file `target`, or None."""
    other = room_of(target)
    if other not in LEVEL:
        return f"lies in no known room ({target})"
    if other == room or LEVEL[other] < LEVEL[room]:
        return None
    return f"belongs to {other}, which {room} must not know"


def fault_of_library(file, room, name):
    for library, pattern, rooms in LIBRARIES:
        if not re.fullmatch(pattern, name):
            continue
        if room not in rooms:
            return f"is {library}'s, which stays in {' and '.join(sorted(rooms))}"
        if file.parts[0] == "include":
            return f"is {library}'s, which no public header shows"
    return None


def fault_of_include(root, file, room, quoted, name):
    target = resolve(root, file, name) if quoted else None
    if target:
        return fault_of_own(room, target)
    fault = fault_of_library(file, room, name)
    if quoted and fault is None and name not in GENERATED:
        return "is not found"
    return fault


def first_code_line(lines):
    for line in lines:
        if line.strip() and not line.lstrip().startswith("//"):
            return line.strip()
    return ""


def faults_of_file(root, file):
    """Yields (line number, what is wrong)."""
    room = room_of(file)
    if room not in LEVEL:
        yield 1, f"lies in no known room: {room}"
        return
    lines = (root / file).read_text(encoding="utf-8").splitlines()
    if file.suffix in (".hpp", ".cuh") and first_code_line(lines) != "#pragma once":
        yield 1, "a header begins with #pragma once"
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match[2]
        fault = fault_of_include(root, file, room, quoted=match[1] == '"', name=name)
        if fault:
            yield number, f"{name} {fault}"


def compiler_flags(root):
    flags = ["-std=c++20", "-fsyntax-only", "-x", "c++", "-I", str(root / "include")]
    flags += ["-I", str(root / "src"), "-I", str(root)]
    mpi = subprocess.run(
        ["pkg-config", "--cflags", "ompi-cxx"], capture_output=True, text=True, check=False
    )
    return flags + mpi.stdout.split()


def finds_header(compiler, name):
    done = subprocess.run(
        [compiler, "-x", "c++", "-E", "-"], input=f"#include <{name}>\n", capture_output=True,
        text=True, check=False,
    )
    return done.returncode == 0


def compiled_first(root):
    """Headers that a source includes before anything else: the build has compiled them alone."""
    found = set()
    for file in files(root):
        if file.suffix != ".cpp" or room_of(file) == "tests":
            continue
        text = (root / file).read_text(encoding="utf-8")
        first = next(filter(None, map(INCLUDE.match, text.splitlines())), None)
        if first and first[1] == '"':
            found.add(resolve(root, file, first[2]))
    return found


def faults_of_compiling(root):
    """Compiles headers as the only include of an empty file; [(header, errors), ...]."""
    compiler = os.environ.get("CXX", "g++")
    flags = compiler_flags(root)
    headers = [file for file in files(root) if file.suffix == ".hpp" and room_of(file) != "tests"]
    headers = sorted(set(headers) - compiled_first(root))
    if not finds_header(compiler, "cuda_runtime.h"):
        headers = [file for file in headers if room_of(file) != "cuda"]

    def compile_alone(header):
        done = subprocess.run(
            [compiler, *flags, "-"], input=f'#include "{root / header}"\n', capture_output=True,
            text=True, check=False,
        )
        return header, done.stderr.strip() if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [(header, errors) for header, errors in pool.map(compile_alone, headers) if errors]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--compile", action="store_true", help="compile every header alone")
    options = parser.parse_args()
    root = options.root.resolve()
    faults = [
        f"{file}:{number}: {fault}"
        for file in files(root)
        for number, fault in faults_of_file(root, file)
    ]
    if options.compile:
        for file, errors in faults_of_compiling(root):
            faults.append(f"{file} does not compile alone:\n{errors}")
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
