"""Files of rows that a run appends epoch by epoch: steps.csv and ranks.csv. Each line begins with its epoch's number,
and epochs stand in their order, so that those that are wanted are found without reading the others."""

import os

_MOST_BYTES = 10_000_000_000
_LONGEST_LINE = 65_536
_NEAR = 1 << 16  # bytes that are read through


def _lines(file, stream):
    """The whole lines, without their ends. A crash may have cut the last one."""
    while True:
        line = stream.readline(_LONGEST_LINE + 1)
        if len(line) > _LONGEST_LINE:
            file.refuse(f"a line has more than {_LONGEST_LINE} bytes")
        if not line.endswith(b"\n"):
            return
        yield line[:-1]


def _epoch_of(line):
    """None where the line does not begin with one."""
    key = line.partition(b",")[0]
    return int(key) if key.isdigit() and len(key) < 16 else None


def _seek_epoch(file, stream, begin, epoch):
    """Moves to a line from `begin` on behind which no line of that epoch is missed."""
    end = os.fstat(stream.fileno()).st_size
    while end - begin > _NEAR:
        middle = (begin + end) // 2
        stream.seek(middle)
        stream.readline(_LONGEST_LINE + 1)  # of which the begin is not known
        place = stream.tell()
        found = _epoch_of(next(_lines(file, stream), b""))
        if place >= end or found is None or found >= epoch:
            end = middle
        else:
            begin = place
    stream.seek(begin)


def _lines_of_epoch(file, stream, begin, epoch):
    _seek_epoch(file, stream, begin, epoch)
    for line in _lines(file, stream):
        found = _epoch_of(line)
        if found == epoch:
            yield line
        elif found is not None and found > epoch:
            return


def _lines_by_epoch(file, stream, begin, wanted):
    if wanted is not None:
        found = {epoch: list(_lines_of_epoch(file, stream, begin, epoch)) for epoch in sorted(set(wanted))}
        return {epoch: lines for epoch, lines in found.items() if lines}
    found = {}
    for line in _lines(file, stream):
        if _epoch_of(line) is not None:
            found.setdefault(_epoch_of(line), []).append(line)
    return found


def rows_by_epoch(file, wanted=None):
    """(names of columns, {epoch: lines}) of an InputFile, for the epochs `wanted`, or all. Raises Unusable."""
    with file.open(_MOST_BYTES) as stream:
        names = next(_lines(file, stream), b"").decode("ascii", "replace").split(",")
        return names, _lines_by_epoch(file, stream, stream.tell(), wanted)


def spaced(epochs, rows_of_one, most_rows):
    """Those epochs whose rows are read: all, or where these are too many, at least two, evenly spaced from the first to
    the last."""
    count = max(2, most_rows // max(1, rows_of_one))
    if len(epochs) <= count:
        return list(epochs)
    return [epochs[index * (len(epochs) - 1) // (count - 1)] for index in range(count)]
