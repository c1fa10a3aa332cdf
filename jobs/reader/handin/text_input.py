"""Text that other programs printed: decoded, in lines, without what launchers put before them."""

import codecs
import re
from typing import NamedTuple

LONGEST_LINE = 4096  # characters; what follows is cut
_CHUNK = 1 << 20  # bytes
_ENDS = re.compile("[\n\r\b]")
# ECMA-48: ESC [ parameters, ended by a byte from @ to ~; other sequences are ESC and one character.
_ESCAPE = re.compile(r"\x1b(?:\[[^@-~]*[@-~]?|.?)", re.DOTALL)
_MARKED = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be"),
           (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DATE = (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|[0-9]{4}/[0-9]{2}/[0-9]{2} |"
         r"[A-Za-z]{3} [A-Za-z]{3} [0-9 ][0-9] |[A-Za-z]{3} [0-9 ][0-9] ")
_PREFIXES = [[re.compile(pattern) for pattern in alternatives] for alternatives in (
    [r"\[[^ ]*@[^ ]*\] "],  # "[mpiexec@host] " (Hydra)
    [rf"\[?(?:{_DATE})?[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:[.,][.,0-9]*)?Z?(?:[+-][0-9]{{2}}:[0-9]{{2}})?(?: "
     rf"[0-9]{{4}})?"
     r"\]?(?: (?:stdout|stderr) (?:[A-Za-z] )?)?:? *"],
    [r"[^ ]* [^ \[]+\[[0-9]+\]: "],  # "node7 python3[1234]: " (journald, after its time stamp)
    [r"\[[^,\]]*,(?P<rank>[0-9]+)\]<(?:stdout|stderr)>: *", r"<(?:stdout|stderr)>: *"],  # "[1,0]<stdout>:" (mpirun)
    [r"\[[A-Za-z]* *(?P<rank>[0-9]+)\](?:: ?| )",  # "[0] " (Hydra), "[default0]:" (torchrun)
     r" *rank *(?P<rank>[0-9]+): ?", r" *(?P<rank>[0-9]+): "],  # "0: " (srun)
    [r"\((?P<worker>[^)]* pid=[^)]*)\) *"],  # "(Worker pid=7) " (Ray)
    [r"(?P<worker>[^ |(<\[]+) *\| "],  # "worker-0 | " (Docker)
    [r"(?:DEBUG|INFO|WARNING|ERROR):[^ :]*:"],  # "INFO:root:" (Python's logging)
)]
# Where the next line of a rank begins within a line, whose end was lost.
_NEXT_MARK = re.compile(r"\[[^,\]]*,[0-9]+\]<(?:stdout|stderr)>:|rank[0-9]+:")


class LinePrefix(NamedTuple):
    """What launchers and log collectors put before a line, time stamps included."""

    length: int = 0
    rank: object = None  # where it says
    worker: str = ""  # a process that has a name or a number, but no rank


class OutputLine(NamedTuple):
    text: str  # without the launcher's prefix
    whole: str  # with it
    of_rank_0: bool = True  # of rank 0, of the first worker, or of the only process


def launcher_prefix(line):
    """A launcher's mark may stand after a time stamp, so each kind of prefix is tried once, in order."""
    at, rank, worker = 0, None, ""
    for alternatives in _PREFIXES:
        match = next(filter(None, (pattern.match(line, at) for pattern in alternatives)), None)
        if match is None:
            continue
        found = match.groupdict()
        at, rank, worker = match.end(), found.get("rank", rank), found.get("worker", worker)
    return LinePrefix(at, None if rank is None else int(rank), worker)


def _coding_of(head):
    """The name of a text's coding and the bytes of its mark: by the mark, or by the zeros of its first letter."""
    for mark, name in _MARKED:
        if head.startswith(mark):
            return name, len(mark)
    if len(head) >= 4 and head[:3] == b"\0\0\0" and head[3]:
        return "utf-32-be", 0
    if len(head) >= 4 and head[0] and head[1:4] == b"\0\0\0":
        return "utf-32-le", 0
    if len(head) > 1 and head[0] == 0 and head[1]:
        return "utf-16-be", 0
    if len(head) > 1 and head[0] and head[1] == 0:
        return "utf-16-le", 0
    return "utf-8", 0


def decoded_text(content):
    """The text of bytes in UTF-8, UTF-16 or UTF-32, without a byte-order mark. U+FFFD stands for what is none of them,
    and in UTF-8 a lone surrogate for each byte (PEP 383), so that messages can show it."""
    name, mark = _coding_of(content[:4])
    return content[mark:].decode(name, _errors_of(name))


def _errors_of(name):
    return "surrogateescape" if name == "utf-8" else "replace"


class _Lines:
    """Puts pieces of text together to lines as a terminal would have shown them in time: line feeds, carriage returns,
    backspaces and the mark of a rank within a line end lines."""

    def __init__(self):
        self._open = ""
        self._worker = ""
        self._begins, self._of_rank_0 = True, True

    def add(self, text):
        """The lines that `text` completes."""
        begin = 0
        for end in _ENDS.finditer(text):
            line = self._open + text[begin:min(end.start(), begin + 4 * LONGEST_LINE)]
            self._open, begin = "", end.end()
            yield from self._pieces(line, end.group() == "\n")
        self._open = (self._open + text[begin:begin + 4 * LONGEST_LINE])[:4 * LONGEST_LINE]

    def finish(self):
        yield from self._pieces(self._open, True)

    def _pieces(self, line, line_feed):
        if not line:  # of many in a bar that backspaces draw
            self._of_rank_0 = self._of_rank_0 or self._begins
            self._begins = line_feed
            return
        whole = _ESCAPE.sub("", line) if "\x1b" in line else line
        rest = whole = whole[:LONGEST_LINE]
        while True:
            mark = _NEXT_MARK.search(rest, 1)
            piece = rest[:mark.start()] if mark else rest
            prefix = launcher_prefix(piece)
            # What follows a carriage return is of the same process, and mostly without a prefix.
            if self._begins or prefix.length:
                self._of_rank_0 = self._is_of_rank_0(prefix)
            yield OutputLine(piece[prefix.length:], whole, self._of_rank_0)
            self._begins = False
            rest = rest[len(piece):]
            if not rest:
                break
        self._begins = line_feed

    def _is_of_rank_0(self, prefix):
        if prefix.rank is not None:
            return prefix.rank == 0
        self._worker = self._worker or prefix.worker
        return not prefix.worker or prefix.worker == self._worker


def output_lines(file, most_bytes):
    """Each OutputLine of what a program printed; `file` is an InputFile. Memory does not grow with the file. Raises
    Unusable as InputFile.open does."""
    with file.open(most_bytes) as stream:
        name, mark = _coding_of(stream.read(4))
        stream.seek(mark)
        decoder = codecs.getincrementaldecoder(name)(_errors_of(name))
        lines = _Lines()
        while True:
            chunk = stream.read(_CHUNK)
            yield from lines.add(decoder.decode(chunk, final=not chunk))
            if not chunk:
                break
        yield from lines.finish()
