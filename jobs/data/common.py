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


def require_file(path, most=None):
    """Refuses what is not a regular file, for example a pipe, which would be waited for; and one of more bytes than
    `most`."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        raise Fault(f"{plain(path)}: {getattr(error, 'strerror', error)}") from None
    if not stat.S_ISREG(found.st_mode):
        raise Fault(f"{plain(path)} is not a regular file")
    if most is not None and found.st_size > most:
        raise Fault(f"{plain(path)} has {found.st_size:,} bytes, expected up to {most:,}")
