#!/usr/bin/env python3
"""Finds a shared library of NVIDIA's and its header in the layouts in which sites have them.

usage: find_library.py NAME HEADER GIVEN ROOT...

Prints the file of the library, the folder of the header, and the name by which a program loads the
library, a line each. Exit code 1 and a line on standard error where one of them is missing.

GIVEN, if not empty, is the user's word: the library is taken from there or not at all. Otherwise
NAME_HOME, NAME_ROOT and NAME_PATH are looked into, the ROOTs (toolkits), what modules set
(LD_LIBRARY_PATH, CPATH and their like), the system, and pip's packages of this Python. A library
without its development link (libcudnn.so.9 alone, as pip and drivers have it) is as good as one with it.
"""

import os
import re
import site
import sys
from pathlib import Path

LIBRARY_FOLDERS = ("lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "targets/x86_64-linux/lib", ".")
HEADER_FOLDERS = ("include", "include/x86_64-linux-gnu", "targets/x86_64-linux/include")


def from_environment(*names):
    """The folders that the variables list."""
    return [Path(part) for name in names for part in os.environ.get(name, "").split(":") if part]


def own_roots(name):
    return from_environment(*(f"{name.upper()}_{ending}" for ending in ("HOME", "ROOT", "PATH")))


def common_roots():
    """The system, and pip's packages: nvidia/cudnn and its like; those of CUDA 13 share nvidia/cu13."""
    roots = [Path("/usr/local"), Path("/usr")]
    for packages in [*site.getsitepackages(), site.getusersitepackages()]:
        roots += sorted(Path(packages).glob("nvidia/*"))
    return roots


def below(roots, folders):
    return [root / folder for root in roots for folder in folders]


def version_of(file):
    """Orders libx.so before libx.so.10 before libx.so.9."""
    numbers = [int(number) for number in re.findall(r"\d+", file.name.partition(".so")[2])]
    return (bool(numbers), [-number for number in numbers])


def library_in(folder, name):
    """The development link, or the newest version where there is none."""
    found = [file for file in folder.glob(f"lib{name}.so*") if re.search(r"\.so[.\d]*$", file.name)]
    return min(found, key=version_of, default=None)


def library_folders(roots):
    folders = below(roots, LIBRARY_FOLDERS) + from_environment("LIBRARY_PATH", "LD_LIBRARY_PATH")
    return folders + below(common_roots(), LIBRARY_FOLDERS)


def find_library(name, given, roots):
    folders = below([Path(given)], LIBRARY_FOLDERS) if given else library_folders(roots)
    return next(filter(None, (library_in(folder, name) for folder in folders)), None)


def find_header(header, given, library, roots):
    """Next to the library first: elsewhere it may be of another version."""
    near = [*([Path(given)] if given else []), *([library.parent.parent] if library else []), *roots]
    folders = below(near, HEADER_FOLDERS) + from_environment("CPATH", "CPLUS_INCLUDE_PATH")
    folders += below(common_roots(), HEADER_FOLDERS)
    return next((folder for folder in folders if (folder / header).is_file()), None)


def loaded_name(library, name):
    """libNAME.so.MAJOR, by the file at the end of the links."""
    major = re.match(rf"lib{name}\.so\.\d+", library.resolve().name)
    return major.group() if major else library.name


def opened_names(program):
    """Names of the libraries that a program of rueda loads when it needs them: no list of the loader has these."""
    return sorted({name.decode() for name in re.findall(rb"libcublas\.so[.\d]*", Path(program).read_bytes())})


def main():
    name, header, given, *toolkits = sys.argv[1:]
    roots = own_roots(name) + [Path(root) for root in toolkits]
    library = find_library(name, given, roots)
    folder = find_header(header, given, library, roots)
    if library and folder:
        print(os.path.normpath(library.absolute()))
        print(os.path.normpath(folder.absolute()))
        print(loaded_name(library, name))
        return 0
    missing = [what for what, found in ((f"lib{name}.so", library), (header, folder)) if not found]
    print(f"{' and '.join(missing)} not found{' in ' + given if given else ''}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
