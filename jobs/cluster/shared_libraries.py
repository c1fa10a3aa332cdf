#!/usr/bin/env python3
"""Prints the shared libraries that programs need: "NAME PATH", a line each.

usage: shared_libraries.py [--without PATTERN]... PROGRAM...

A library whose name matches a PATTERN (fnmatch) is left out, and with it what only it needs. The
loader's own answer (ldd) says where a library lies; one that it does not find is an error. What rueda loads
only when it needs it counts, too.
"""

import argparse
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cuda" / "libraries"))
from find_library import opened_names  # noqa: E402

LOADER = "ld-linux*"  # belongs to the system, as the kernel does


def output(*words, **variables):
    return subprocess.run(
        words, env={**os.environ, **variables}, capture_output=True, text=True, check=True, timeout=120
    ).stdout


def needed(file):
    """Names that the file itself asks for."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", file))


def resolved(program):
    """Name to path of all that the loader would load; None for what it does not find."""
    found = {}
    for line in output("ldd", program, LD_PRELOAD=":".join(opened_names(program))).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            found[name] = None if rest.startswith("not found") else rest.partition(" (")[0]
    return found


def closure(program, patterns):
    """Name to path, without what matches."""
    patterns = [LOADER, *patterns]
    paths, found, queue = resolved(program), {}, [program]
    while queue:
        file = queue.pop()
        for name in needed(file) + (opened_names(file) if file == program else []):
            if name in found or any(fnmatch(name, pattern) for pattern in patterns):
                continue
            if paths.get(name) is None:
                sys.exit(f"shared_libraries: {program} needs {name}, which the loader does not find")
            found[name] = paths[name]
            queue.append(paths[name])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without", action="append", default=[], metavar="PATTERN")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    libraries = {}
    for program in options.program:
        libraries.update(closure(program, options.without))
    for name, path in sorted(libraries.items()):
        print(f"{name} {path}")


if __name__ == "__main__":
    main()
