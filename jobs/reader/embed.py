#!/usr/bin/env python3
"""Makes the C++ header that holds the reader as a zip archive that Python can run.

usage: embed.py HEADER

The archive has jobs/reader, with the pages of docs/courses in reader/handin/courses, and jobs/plot_*.py. `python3
ARCHIVE report ...` runs that command, `python3 ARCHIVE --for PID plot_confusion ...` the script of that name for the
process PID, and ends with it. Equal files give equal archives. HEADER.d names what the header depends on.
"""

import io
import sys
import zipfile
from pathlib import Path

JOBS = Path(__file__).resolve().parents[1]
COURSES = JOBS.parent / "docs" / "courses"
MAIN = """import sys
if sys.version_info < (3, 9):
    sys.exit("rueda: this Python is older than 3.9: name another in RUEDA_PLOT_PYTHON")
if sys.argv[1] == "--for":
    import ctypes, os, runpy, signal
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != int(sys.argv[2]):
        sys.exit(1)
    sys.argv = sys.argv[3:]
    runpy.run_module(sys.argv[0], run_name="__main__")
else:
    from reader.__main__ import main
    main()
"""
HEADER = """#pragma once

namespace rueda {{

/// A zip archive of jobs/reader, jobs/plot_*.py and docs/courses, so that the program can read runs wherever it lies.
inline constexpr unsigned char kReaderArchive[] = {{
{bytes}}};

}}  // namespace rueda
"""


def embedded():
    """What the archive holds: all of the reader that git could know, the scripts that draw, and the courses' pages."""
    found = [path for path in (JOBS / "reader").rglob("*") if path.suffix != ".pyc" and path.is_file()]
    return sorted([*found, *JOBS.glob("plot_*.py"), *COURSES.glob("*.md")])


def name_of(file):
    """In the archive."""
    return f"reader/handin/courses/{file.name}" if file.parent == COURSES else file.relative_to(JOBS).as_posix()


def archive(files):
    """The bytes of the archive; its times are those at which a zip's calendar begins."""
    content = {"__main__.py": MAIN.encode()}
    content.update({name_of(file): file.read_bytes() for file in files})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content_of_file in content.items():
            target.writestr(zipfile.ZipInfo(name), content_of_file, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def depends_text(header, files):
    """A rule of make. A folder changes when a file is added to it."""
    folders = sorted({file.parent for file in files})
    return f"{header}: " + " ".join(str(path).replace(" ", r"\ ") for path in [*files, *folders]) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    files = embedded()
    data = archive(files)
    lines = [",".join(map(str, data[i : i + 24])) + ",\n" for i in range(0, len(data), 24)]
    header = Path(sys.argv[1])
    header.write_text(HEADER.format(bytes="".join(lines)), encoding="utf-8")
    Path(f"{header}.d").write_text(depends_text(header, files), encoding="utf-8")


if __name__ == "__main__":
    main()
