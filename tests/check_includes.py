#!/usr/bin/env python3
"""Checks that every room of the tree includes only what it may.

usage: check_includes.py [--root DIR] [--compile]

Rules (docs/architecture.md says why):
- a room includes earlier rooms and itself only, in the order of ROOMS; rooms of one line of ROOMS do not
  include each other;
- only the folder WIRING includes the concrete backends and sums;
- headers of a library stay in the rooms of LIBRARIES and out of include/;
- include/ holds the contracts: the page CONTRACTS names each header of it, and no other; a contract includes
  contracts and headers of the room BELOW_CONTRACTS, and no header of another room;
- an include names its header from include/, src/ or the root: its room can be read there;
- what is printed goes through harmless(), which foreign text in it cannot pass as escape codes, or one_line(),
  which it cannot pass as a line either; errors derive from rueda::Error, which is made so;
- calls of std::filesystem take an error_code: what they would throw names neither option nor remedy;
- a header that a file names in quotes exists, and a header begins with #pragma once.
With --compile, every header except those of the tests must also compile alone (g++ -fsyntax-only). Left out
are headers that a source includes first, because the build shows it, and those of cuda/ where the CUDA headers
are not found.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ORDER = """base < launch, kernels, data, model, reduce < backend < cpu, cuda, mpi, train < record < display
< run < commands < cli < main < tests"""
ROOMS = [rooms.split(", ") for rooms in " ".join(ORDER.split()).split(" < ")]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}

# Library, pattern of its headers, rooms that may include them, but never in a public header.
LIBRARIES = [
    ("oneDNN", r"(oneapi/)?dnnl(/.*|[^/]*\.hp*)", {"cpu", "tests"}),
    ("MPI", r"mpi(-ext)?\.h", {"mpi", "tests"}),
    ("CUDA", r"(cuda|cudnn|cublas|nccl|nvml|nvtx|driver_types|cooperative_groups).*", {"cuda", "tests"}),
    ("libarchive", r"archive(_entry)?\.h", {"data", "tests"}),
    ("zlib", r"zlib\.h", {"data", "run", "tests"}),
    ("hwloc", r"hwloc(/.*|\.h)", {"launch"}),
    ("nlohmann-json", r"nlohmann/.*",
     {"base", "model", "record", "run", "commands", "cli", "tests"}),
    ("CLI11", r"CLI/.*", {"cli", "tests"}),
    ("toml++", r"toml\+\+/.*", {"cli"}),
    ("spdlog", r"spdlog/(?!fmt/).*", {"base"}),
]
WIRING = "src/run/wiring"
CONCRETE = re.compile(r"(mpi/sums|cuda/backend|src/cpu|src/backend/timed)/.*")
CONTRACTS = "docs/architecture.md"
BELOW_CONTRACTS = "base"
ENDINGS = (".hpp", ".cpp", ".cu", ".cuh")
PRECOMPILED = "pch"  # folders of headers that no file names
GENERATED = {"reader_archive.hpp", "published_data.hpp", "version_config.hpp"}
PRINTS = re.compile(
    r'std::(cout|cerr|clog) <<|std::fputs\((?!")|\b(printf|fprintf|puts|perror)\(|fmt::print\(|logger\(\)\.log\('
)
HARMLESS = ("harmless(", "one_line(")
OWN_ERROR = re.compile(r"(struct|class) \w+( final)? : (public )?std::\w*(exception|error)\b|throw std::runtime_error")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')

# The names of functions that look at the disk, and how many arguments come before the error_code.
THROWS = re.compile(
    r"\b(?:fs|std::filesystem)::(exists|is_\w+|file_size|hard_link_count|last_write_time|status|symlink_status|space|"
    r"absolute|canonical|weakly_canonical|read_symlink|create_director(?:y|ies)|remove|remove_all|current_path|"
    r"temp_directory_path|directory_iterator|recursive_directory_iterator|rename|copy|copy_file|equivalent|relative|"
    r"proximate|create_symlink|create_hard_link|resize_file|permissions)\b(?: \w+)?\("
)
BEFORE_ERROR = {"current_path": 0, "temp_directory_path": 0}
BEFORE_ERROR.update(dict.fromkeys(
    ("rename", "copy", "copy_file", "equivalent", "relative", "proximate", "create_symlink", "create_hard_link",
     "resize_file", "permissions"), 2))  # fmt: skip

Include = collections.namedtuple("Include", "file line quoted name target")
"""`target`: the file of the project that is meant, relative to the root, or None."""


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
    folders = [Path("include"), Path("src"), Path()]
    if room_of(file) == "tests":
        folders += [file.parent, Path("tests")]
    paths = (Path(os.path.normpath(folder / name)) for folder in folders)
    return next((path for path in paths if (root / path).is_file()), None)


def includes_of(root, file):
    for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            quoted = match[1] == '"'
            yield Include(file, number, quoted, match[2], resolve(root, file, match[2]) if quoted else None)


def fault_of_own(file, target):
    """What is wrong if `file` includes `target`, or None."""
    room, other = room_of(file), room_of(target)
    if other not in LEVEL:
        return f"is in no known room ({target})"
    if file.parts[0] == "include" and target.parts[0] != "include" and other != BELOW_CONTRACTS:
        return f"lies above the contracts, which include each other and {BELOW_CONTRACTS} only"
    if other == room:
        return None
    if LEVEL[other] >= LEVEL[room]:
        return f"belongs to {other}, which {room} must not include"
    may_name = str(file.parent) == WIRING or room == "tests"
    if CONCRETE.fullmatch(str(target)) and not may_name:
        return f"is concrete: only {WIRING} includes it"
    return None


def fault_of_library(file, name):
    for library, pattern, rooms in LIBRARIES:
        if not re.fullmatch(pattern, name):
            continue
        if room_of(file) not in rooms:
            return f"is {library}'s, which stays in {' and '.join(sorted(rooms))}"
        if file.parts[0] == "include":
            return f"is {library}'s, which no public header shows"
    return None


def fault_of_include(include):
    if include.target:
        return fault_of_own(include.file, include.target)
    fault = fault_of_library(include.file, include.name)
    if include.quoted and fault is None and include.name not in GENERATED:
        return "is not found"
    return fault


def first_code_line(text):
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("//")), "")


def faults_of_files(root, every):
    """Yields FILE:LINE: what is wrong. `every`: file to its Includes."""
    for file, includes in every.items():
        if room_of(file) not in LEVEL:
            yield f"{file}:1: is in no known room: {room_of(file)}"
            continue
        if file.suffix in (".hpp", ".cuh") and first_code_line((root / file).read_text("utf-8")) != "#pragma once":
            yield f"{file}:1: a header begins with #pragma once"
        for number, line in enumerate((root / file).read_text("utf-8").splitlines(), 1):
            if room_of(file) == "tests":
                continue
            if PRINTS.search(line) and not any(word in line for word in HARMLESS):
                yield f"{file}:{number}: prints what did not go through harmless() or one_line()"
            if OWN_ERROR.search(line) and file.name != "error.hpp":
                yield f"{file}:{number}: an error that is no rueda::Error, which is one line whatever it quotes"
        yield from faults_of_filesystem(root, file)
        for include in includes:
            if fault := fault_of_include(include):
                yield f"{file}:{include.line}: {include.name} {fault}"


def arguments_at(text, begin):
    """Those of a call whose parenthesis is open before `begin`."""
    depth, arguments = 1, [""]
    for sign in text[begin:]:
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            break
        if sign == "," and depth == 1:
            arguments.append("")
        else:
            arguments[-1] += sign
    return [argument.strip() for argument in arguments if argument.strip()]


def faults_of_filesystem(root, file):
    if room_of(file) == "tests":
        return
    text = re.sub(r"//.*", "", (root / file).read_text("utf-8"))
    for call in THROWS.finditer(text):
        arguments = arguments_at(text, call.end())
        of_status = "status" in "".join(arguments)  # has looked already
        if len(arguments) <= BEFORE_ERROR.get(call[1], 1) and not of_status:
            line = text.count("\n", 0, call.start()) + 1
            yield f"{file}:{line}: fs::{call[1]} without an error_code: what it throws names no option and no remedy"


def faults_of_contracts(root):
    """Headers of include/ and names on the page of the contracts that do not go together."""
    there = {str(path.relative_to(root / "include")) for path in (root / "include").rglob("*.hpp")}
    named = set(re.findall(r"`(rueda/[\w/]+\.hpp)`", (root / CONTRACTS).read_text(encoding="utf-8")))
    for name in sorted(there - named):
        yield f"include/{name}:1: no contract of {CONTRACTS}: move it to the folder of its room in src"
    for name in sorted(named - there):
        yield f"{CONTRACTS}:1: include/{name} is not there"


def compiler_flags(root):
    flags = ["-std=c++20", "-fsyntax-only", "-x", "c++", "-I", str(root / "include")]
    flags += ["-I", str(root / "src"), "-I", str(root)]
    mpi = subprocess.run(["pkg-config", "--cflags", "ompi-cxx"], capture_output=True, text=True, check=False)
    return flags + mpi.stdout.split()


def compiles(words, code):
    """What the compiler says if it refuses the code, or nothing."""
    done = subprocess.run([*words, "-"], input=code, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def compiled_first(every):
    """Headers that a source includes before anything else: the build has compiled them alone."""
    return {includes[0].target for file, includes in every.items() if includes and file.suffix == ".cpp"}


def faults_of_compiling(root, every):
    """Compiles headers as the only include of an empty file."""
    compiler = os.environ.get("CXX", "g++").split()
    words = compiler + compiler_flags(root)
    headers = {file for file in every if file.suffix == ".hpp" and room_of(file) != "tests"} - compiled_first(every)
    if compiles([*compiler, "-x", "c++", "-E"], "#include <cuda_runtime.h>\n"):
        headers = {file for file in headers if room_of(file) != "cuda"}
    headers = sorted(headers)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = pool.map(lambda header: compiles(words, f'#include "{root / header}"\n'), headers)
        return [f"{file} does not compile alone:\n{text}" for file, text in zip(headers, errors) if text]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--compile", action="store_true", help="compile every header alone")
    options = parser.parse_args()
    root = options.root.resolve()
    every = {file: list(includes_of(root, file)) for file in files(root)}
    faults = [*faults_of_files(root, every), *faults_of_contracts(root)]
    if options.compile:
        faults += faults_of_compiling(root, every)
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
