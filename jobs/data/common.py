"""What all of data.sh uses: faults, messages, and the reading of files with bounds."""

import stat
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Fault(Exception):
    """Bad input: printed in one line, exit code 2."""


def say(text):
    print(text, flush=True)


def counted(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def plain(text):
    """One line without control characters, for a terminal: text from a file or the name of one."""
    line = "".join(c if c.isprintable() else "?" for c in str(text))
    return line if len(line) <= 200 else line[:200] + "..."


def class_name(text):
    """A class's name as a set has it: composed (NFC), as macOS's file names are not."""
    return plain(unicodedata.normalize("NFC", text))


def require_file(path):
    """Refuses what is not a regular file, for example a pipe, which would be waited for."""
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise Fault(f"{plain(path)}: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise Fault(f"{plain(path)} is not a regular file")
