#!/usr/bin/env python3
"""Makes the C++ header that holds the scripts that draw, as a zip archive that Python can run.

usage: embed.py HEADER FILE...

FILEs lie in jobs/ or jobs/plotting/. `python3 ARCHIVE PID plot_report REPORT_DIR` runs the script of that name for the
process PID, and ends with it. Equal files give equal archives.
"""

import io
import sys
import zipfile
from pathlib import Path

MAIN = """import ctypes, os, runpy, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__")
"""
HEADER = """#pragma once

namespace rueda {{

/// A zip archive of jobs/plot_*.py and jobs/plotting, so that the program can draw wherever it lies.
inline constexpr unsigned char kPlotArchive[] = {{
{bytes}}};

}}  // namespace rueda
"""


def archive(files):
    """The bytes of the archive; its times are those at which a zip's calendar begins."""
    jobs = Path(__file__).resolve().parents[1]
    content = {"__main__.py": MAIN}
    for file in sorted(Path(name).resolve() for name in files):
        content[file.relative_to(jobs).as_posix()] = file.read_text(encoding="utf-8")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, text in content.items():
            target.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data = archive(sys.argv[2:])
    lines = [",".join(map(str, data[i : i + 24])) + ",\n" for i in range(0, len(data), 24)]
    Path(sys.argv[1]).write_text(HEADER.format(bytes="".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
