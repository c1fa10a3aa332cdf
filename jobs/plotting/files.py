"""How files are written."""

import io
import os
import secrets
import stat
from pathlib import Path


def write_whole(path, content):
    """The rule of all outputs of rueda. Where nothing or a regular file is, bytes go under a temporary name, as long for
    every path, which is then renamed: a file that is there is whole. A device or pipe is written into. Links and
    folders are refused, with an OSError."""
    path = Path(path)
    mode = path.lstat().st_mode if os.path.lexists(path) else stat.S_IFREG
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_NOFOLLOW), "wb") as stream:
            stream.write(content)
        return
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is neither a regular file nor a device or pipe")
    temporary = path.with_name(f".rueda.tmp-{secrets.randbits(64)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def save_figure(figure, path, **options):
    """In the form that the end of the path names. Raises OSError."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=str(path).rpartition(".")[2], **options)
    write_whole(path, buffer.getvalue())
