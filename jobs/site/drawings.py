#!/usr/bin/env python3
"""Draws the manual's drawings, docs/pictures/*.svg.

usage: drawings.py            writes those that are missing or stale
       drawings.py --check    writes nothing; exit code 1 if one is missing or stale

The ring is drawn from its steps, the rooms from the table in docs/architecture.md, which must have the floors of
tests/check_includes.py: so no drawing shows what is no longer so.
"""

import argparse
import re
import sys
from pathlib import Path

from svg import BLUE, GREEN, ORANGE, PALE, PURPLE, WIDTH, Drawing, wrapped

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import check_includes  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
RANKS = 4
CHUNKS = (BLUE, ORANGE, GREEN, PURPLE)  # a colour for each chunk


def ring_states():
    """What every rank holds of every chunk before and after each step, and which chunk it sends next: the steps of
    src/reduce/ring_plan.hpp."""
    held = [[{rank} for _ in range(RANKS)] for rank in range(RANKS)]
    for step in range(2 * (RANKS - 1)):
        gathers = step >= RANKS - 1
        sent = [(rank + gathers - step % (RANKS - 1)) % RANKS for rank in range(RANKS)]
        yield held, sent
        after = [list(row) for row in held]
        for rank, chunk in enumerate(sent):
            to = (rank + 1) % RANKS
            after[to][chunk] = set(held[rank][chunk]) if gathers else held[to][chunk] | held[rank][chunk]
        held = after
    yield held, [None] * RANKS


def draw_state(drawing, x, y, title, held, sent):
    """A row for each rank, a column for each chunk. Arrows lead what is sent next to the row below."""
    cell, high, row, left = 37, 18, 31, 40
    drawing.text(x, y, title, bold=True)
    top = y + 22
    for rank in range(RANKS):
        at = top + rank * row
        drawing.text(x, at + 13, f"rank {rank}", size=11, colour=PALE)
        for chunk in range(RANKS):
            words = "".join(map(str, sorted(held[rank][chunk])))
            drawing.named_box(x + left + chunk * (cell + 2), at, cell, high, words, colour=CHUNKS[chunk],
                              full=len(words) == RANKS, strong=sent[rank] == chunk)
        if sent[rank] is None:
            continue
        middle = x + left + sent[rank] * (cell + 2) + cell / 2
        drawing.arrow((middle, at + high), (middle, at + row), dashed=rank == RANKS - 1)
        if rank == RANKS - 1:  # round the ring, to rank 0
            drawing.arrow((middle, top - 12), (middle, top), dashed=True)


def draw_circle(drawing, x, y):
    places = [(0, 0), (104, 0), (104, 56), (0, 56)]
    for rank, (right, down) in enumerate(places):
        drawing.named_box(x + right, y + down, 52, 22, f"rank {rank}")
    drawing.arrow((x + 52, y + 11), (x + 104, y + 11))
    drawing.arrow((x + 130, y + 22), (x + 130, y + 56))
    drawing.arrow((x + 104, y + 67), (x + 52, y + 67))
    drawing.arrow((x + 26, y + 56), (x + 26, y + 22))


def ring():
    drawing = Drawing(
        f"A ring all-reduce on {RANKS} ranks",
        "The array is cut into 4 chunks. In each of 3 steps of the reduce-scatter every rank sends one chunk to its "
        "right neighbour, which adds it to its own. Then each rank owns the complete sum of one chunk. In "
        "3 more steps, the all-gather, complete chunks travel round the ring until every rank has all of them.")
    draw_circle(drawing, 14, 48)
    end = drawing.paragraph(186, 58, "Each rank sends to its right neighbour and receives from its left one, both by "
                            "one MPI_Sendrecv. A box is a chunk of a rank's array; 013 is the sum of what ranks 0, 1 "
                            "and 3 had. What is sent next has a thick edge; a complete sum is dark.", 220)
    top, states = max(end, 136) + 12, list(ring_states())
    drawing.text(12, top, "Reduce-scatter: receive, add", size=12, bold=True)
    drawing.text(218, top, "All-gather: receive, keep", size=12, bold=True)
    for number, (held, sent) in enumerate(states):
        column, line = divmod(number, RANKS)
        gathers = column == 1
        title = "at the start" if number == 0 else f"after step {line if gathers else line - 1}"
        draw_state(drawing, 12 + 206 * column, top + 22 + 160 * line, title, held, sent)
    text = ("Each rank sends one chunk in every step: 6 chunks of a quarter, 1.5 times the array. That is the "
            "minimum for 4 ranks, and for many ranks it approaches twice the array.")
    drawing.paragraph(218, top + 22 + 160 * 3 + 24, text, 190)
    return drawing.text_of(top + 22 + 160 * RANKS + 2)


FORWARD, BACKWARD, SUM, UPDATE = 64, 156, 44, 32  # pixels of the time line


def draw_step(drawing, y, overlap):
    """A step on the two threads of a rank; returns its end."""
    left, buckets = 14, 3
    ends = left + FORWARD + BACKWARD
    drawing.text(left, y, "training", size=11, colour=PALE)
    drawing.named_box(left, y + 6, FORWARD, 26, "forward", colour=PALE)
    for bucket in range(buckets):
        begin = left + FORWARD + BACKWARD / buckets * bucket
        drawing.named_box(begin, y + 6, BACKWARD / buckets, 26, f"bucket {bucket}", colour=BLUE, size=11)
    drawing.text(left + FORWARD + BACKWARD / 2, y, "backward", size=11, anchor="middle", colour=PALE)
    drawing.text(left, y + 54, "communication", size=11, colour=PALE)
    free = 0
    for bucket in range(buckets):
        ready = left + FORWARD + BACKWARD / buckets * (bucket + 1)
        begin = max(free, ready if overlap else ends)
        drawing.named_box(begin, y + 60, SUM, 26, f"sum {bucket}", colour=GREEN)
        if overlap:
            drawing.arrow((ready, y + 32), (ready, y + 60), dashed=True)
        free = begin + SUM
    drawing.box(ends, y + 6, free - ends, 26, fill="url(#waits)", edge=ORANGE)
    drawing.named_box(free, y + 6, UPDATE, 26, "SGD", colour=PURPLE)
    return free + UPDATE


def overlap():
    drawing = Drawing(
        "A step without and with overlap",
        "Without overlap the sums of the three buckets begin when the backward pass has ended, and the training thread "
        "waits for all three. With overlap each sum begins when its bucket is complete, during the backward pass, and "
        "only the last sum is waited for. The step becomes shorter by the part that is hidden.")
    drawing.text(14, 54, "Without overlap", size=13, bold=True)
    end = draw_step(drawing, 74, False)
    drawing.text(14, 194, "With overlap", size=13, bold=True)
    shorter = draw_step(drawing, 214, True)
    drawing.arrow((end, 74), (end, 322), dashed=True, tip=False, colour=PALE)
    drawing.arrow((shorter, 214), (shorter, 322), dashed=True, tip=False, colour=PALE)
    drawing.arrow((end, 312), (shorter, 312))
    drawing.text((end + shorter) / 2, 305, "saved", anchor="middle")
    drawing.box(14, 334, 26, 16, fill="url(#waits)", edge=ORANGE)
    end = drawing.paragraph(48, 346, "Exposed: the training thread waits for the sums.", 350)
    drawing.paragraph(14, end + 6, "A dashed arrow: the backward pass has completed a bucket. At least the sum of the "
                      "last bucket is exposed, as no sum can begin before its bucket is complete. Not to scale.", 390)
    return drawing.text_of(420)


def rooms_of_page():
    """[(floor, [(room, what it holds)])] of the table in the manual, from the top floor down."""
    page = (ROOT / check_includes.CONTRACTS).read_text(encoding="utf-8")
    floors = []
    for number, names, hold in re.findall(r"^\| (\d+) \| (`.*?`) \| (.*) \|$", page, re.MULTILINE):
        names = re.findall(r"`(\w+)`", names)
        parts = [re.split(r"[:(]", part)[0] for part in hold.split(";")]
        words = [part.replace("`", "").strip() for part in parts]
        if len(names) > 1 and len(names) != len(words):
            raise SystemExit(f"{check_includes.CONTRACTS}: floor {number} has {len(names)} rooms and says what "
                             f"{len(words)} hold")
        floors.append((int(number), list(zip(names, words))))
    known = [set(rooms) for rooms in check_includes.ROOMS if rooms not in (["main"], ["tests"])]
    if [{room for room, _ in rooms} for _, rooms in reversed(floors)] != known:
        raise SystemExit(f"{check_includes.CONTRACTS}: its table of rooms has other floors than "
                         "tests/check_includes.py")
    return floors


def rooms():
    floors = rooms_of_page()
    count = sum(len(rooms) for _, rooms in floors)
    drawing = Drawing(f"The {count} rooms of rueda on {len(floors)} floors",
                      "From the bottom: " + "; ".join(f"floor {floor}: {', '.join(room for room, _ in rooms)}"
                                                      for floor, rooms in reversed(floors)) + ".")
    left, y = 44, 44
    for floor, inside in floors:
        width = (WIDTH - 12 - left - 4 * (len(inside) - 1)) / len(inside)
        texts = [wrapped(words, 11, width - 8) for _, words in inside]
        high = 24 + 14 * max(map(len, texts))
        drawing.text(left - 8, y + 18, str(floor), anchor="end", colour=PALE)
        for place, ((room, _), lines) in enumerate(zip(inside, texts)):
            x = left + place * (width + 4)
            drawing.box(x, y, width, high, fill="#eef3f8", edge=BLUE)
            drawing.text(x + 5, y + 17, room, size=13, bold=True)
            for number, line in enumerate(lines):
                drawing.text(x + 5, y + 32 + 14 * number, line, size=11)
        y += high + 5
    drawing.arrow((12, 50), (12, y - 8))
    end = drawing.paragraph(left, y + 14,
                            "A room includes only rooms on lower floors and itself; rooms on one floor do "
                            "not include each other.", WIDTH - left - 12)
    return drawing.text_of(end + 2)


# What to ask of a report, in this order, and where "yes" leads: a section of docs/why-not-scaling.md.
QUESTIONS = (
    ("Do repeats differ by more than is lost, or are points marked as disturbed, single runs or more threads than "
     "cores?", "Measure again", PALE),
    ("Is the efficiency 98 % or more?", "It scales", GREEN),
    ("Is load balance below 98 %, because one rank is slower or has more to do?", "A: one rank is slower", BLUE),
    ("Is most lost by serialisation?", "B: late in turn", BLUE),
    ("Is most lost by transfer, and the exposed all-reduce is not among the causes?", "C: once an epoch", ORANGE),
    ("By transfer, and busbw is far below what the link can do?", "D: a slow link", ORANGE),
    ("By transfer, and busbw is near what the link can do?", "E: steps are too short", ORANGE),
    ("By computation scaling, and load or copy are among the causes?", "F: waits for input", PURPLE),
    ("By computation scaling, and the optimizer is among the causes?", "G: work that does not shrink", PURPLE),
    ("By computation scaling, and the causes are forward and backward?", "H: ranks share what one had", PURPLE),
)


def questions():
    drawing = Drawing("Why does my training not scale?", " ".join(
        f"{question} Yes: {leaf}." for question, leaf, _ in QUESTIONS))
    y = 42
    for number, (question, leaf, colour) in enumerate(QUESTIONS):
        lines = wrapped(question, 12, 212)
        high = 12 + 15 * len(lines)
        drawing.box(12, y, 226, high)
        drawing.paragraph(20, y + 17, question, 212, size=12)
        drawing.arrow((238, y + high / 2), (282, y + high / 2))
        drawing.text(257, y + high / 2 - 4, "yes", size=11, anchor="middle")
        drawing.named_box(282, y + high / 2 - 17, 126, 34, leaf, colour=colour)
        if number + 1 < len(QUESTIONS):
            drawing.arrow((125, y + high), (125, y + high + 20))
            drawing.text(132, y + high + 13, "no", size=11)
        y += high + 20
    return drawing.text_of(y - 4)


DRAWINGS = {"ring": ring, "overlap": overlap, "rooms": rooms, "why-not-scaling": questions}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stale = 0
    for name, draw in DRAWINGS.items():
        file, text = PICTURES / f"{name}.svg", draw()
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if check:
            print(f"docs/pictures/{name}.svg is stale: run jobs/site/drawings.py", file=sys.stderr)
        else:
            file.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
