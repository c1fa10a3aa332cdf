#!/usr/bin/env python3
"""Draws the pictures of the lessons, one SVG in each lesson's folder.

usage: python3 drawings.py

Each picture has a ground of its own, so that it reads on white pages and on dark ones.
"""

from html import escape
from pathlib import Path

INK, PALE, GROUND, EDGE = "#1f2933", "#5b6770", "#ffffff", "#c5ccd3"
BLUE, ORANGE, GREEN, RED, GREY = "#8fb4dc", "#f6bd78", "#93cf92", "#ee8c86", "#dfe3e8"
CHUNKS = (BLUE, ORANGE, GREEN)


class Picture:
    """Elements of an SVG; lengths are pixels."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def add(self, name, content="", **attributes):
        words = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
        self.parts.append(f"<{name}{words}>{content}</{name}>" if content else f"<{name}{words}/>")

    def box(self, x, y, width, height, fill, label="", edge=EDGE, thick=1):
        self.add("rect", x=x, y=y, width=width, height=height, rx=3, fill=fill, stroke=edge, stroke_width=thick)
        if label:
            self.text(x + width / 2, y + height / 2 + 4.5, label, "middle")

    def text(self, x, y, words, anchor="start", size=13, fill=INK, weight="normal"):
        self.add("text", escape(words), x=x, y=y, text_anchor=anchor, font_size=size, fill=fill, font_weight=weight)

    def line(self, x1, y1, x2, y2, colour=INK, dashes="none", thick=1.5):
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=thick, stroke_dasharray=dashes)

    def arrow(self, x1, y1, x2, y2, colour=INK, thick=1.8):
        """A line that ends in a head."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        across, down = (x2 - x1) / length, (y2 - y1) / length
        back_x, back_y = x2 - 9 * across, y2 - 9 * down
        corners = [(x2, y2), (back_x - 4 * down, back_y + 4 * across), (back_x + 4 * down, back_y - 4 * across)]
        self.line(x1, y1, round(back_x, 1), round(back_y, 1), colour, thick=thick)
        self.add("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), fill=colour)

    def svg(self):
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        ground = (f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="6" fill="{GROUND}" '
                  f'stroke="{EDGE}"/>')
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="DejaVu Sans, Verdana, sans-serif" '
                'role="img">')
        return "\n".join([head, f"<title>{escape(self.title)}</title>", ground, *self.parts, "</svg>", ""])


def ring():
    """Three ranks: the chunks that each has, before the first step and after each."""
    p = Picture(790, 262, "A ring all-reduce of three ranks in four steps")
    ranks, cell, gap, left, top, row = 3, 34, 58, 36, 62, 58
    chunks = [[name] * ranks for name in "abc"]
    for step in range(2 * (ranks - 1) + 1):
        x = left + step * (ranks * cell + gap)
        p.text(x + 1.5 * cell, 46, f"after step {step}" if step else "start", "middle", weight="bold")
        received = {((r + 1) % ranks, (r - step + 1) % ranks) for r in range(ranks)} if step else set()
        for rank in range(ranks):
            y = top + rank * row
            for k, content in enumerate(chunks[rank]):
                new = (rank, k) in received
                p.box(x + k * cell, y, cell, 30, CHUNKS[k], content, INK if new else EDGE, 2.2 if new else 1)
        if step == 2 * (ranks - 1):
            break
        old = [list(mine) for mine in chunks]
        for rank in range(ranks):  # as ring.cpp has it
            to, k = (rank + 1) % ranks, (rank - step) % ranks
            chunks[to][k] = "".join(sorted(old[to][k] + old[rank][k])) if step < ranks - 1 else old[rank][k]
            p.arrow(x + ranks * cell + 4, top + rank * row + 15, x + ranks * cell + gap - 4, top + to * row + 15,
                    ("#3f74ad", "#c97a17", "#3f8f3e")[k])
    for rank, name in enumerate("abc"):
        p.text(12, top + rank * row + 20, name, weight="bold")
    middle = left + 2 * (ranks * cell + gap)
    p.text((left + middle + ranks * cell) / 2, 22, "reduce-scatter: received chunks are added", "middle")
    p.text(middle + 2 * (ranks * cell + gap), 22, "all-gather: they are kept", "middle")
    p.line(middle + ranks * cell + gap / 2, 12, middle + ranks * cell + gap / 2, 236, EDGE, "4 4")
    p.text(left, 250, "abc = a + b + c. An arrow has the colour of the chunk that travels; "
                      "a thick edge marks what came.", fill=PALE)
    return p


def data_parallel():
    """One step of three replicas."""
    p = Picture(760, 236, "One step of data-parallel SGD on three ranks")
    for rank in range(3):
        y = 46 + 56 * rank
        p.text(14, y + 24, f"rank {rank}", weight="bold")
        p.box(72, y, 96, 38, GREY, "32 samples")
        p.box(208, y, 96, 38, BLUE, "replica w")
        p.box(344, y, 96, 38, ORANGE, f"gradient g{rank}")
        p.arrow(170, y + 19, 206, y + 19)
        p.arrow(306, y + 19, 342, y + 19)
        p.arrow(442, y + 19, 478, y + 19)
        p.box(628, y, 118, 38, BLUE, "w − rate · g", INK)
        p.arrow(588, y + 19, 626, y + 19)
    p.box(480, 46, 106, 150, GREEN)
    for i, words in enumerate(("all-reduce", "g = g0 + g1 + g2", "on every rank")):
        p.text(533, 106 + 20 * i, words, "middle", 11)
    p.text(120, 30, "batch of 96", "middle")
    p.text(256, 30, "equal", "middle")
    p.text(392, 30, "each / 96", "middle")
    p.text(687, 30, "equal again", "middle")
    p.text(14, 222, "Only gradients travel. Replicas begin equal and add the same g, so they stay equal.", fill=PALE)
    return p


def taking_turns(buckets, compute, send, slice_=0.25):
    """One core for both threads: slices of backward and of sums, as [(begin, end)] of each."""
    rows, now = {"backward": [], "sum": []}, 0.0
    done = sent = 0.0
    while sent < buckets * send - 1e-9:
        may_send = int((done + 1e-9) / compute) * send > sent + 1e-9
        for name in ("backward", "sum"):
            if name == "backward" and done < buckets * compute - 1e-9:
                done += slice_
            elif name == "sum" and may_send:
                sent += slice_
            else:
                continue
            rows[name].append((now, now + slice_))
            now += slice_
    return rows


def overlap():
    """Backward and sums over time: in one piece, with a second core, with threads that share a core."""
    p = Picture(760, 330, "A step without overlap, with overlap, and with two threads on one core")
    left, unit, buckets, compute, send = 104, 44, 4, 2.0, 1.25
    whole = buckets * compute
    pieces = [(compute * i, compute * (i + 1)) for i in range(buckets)]
    cases = (("one bucket: the sum begins when backward ends", [(0, whole)], [(whole, whole + buckets * send)]),
             ("four buckets, a core for each thread (or backward on a GPU)", pieces,
              [(end, end + send) for _, end in pieces]),
             ("four buckets, one core: the threads take turns", *taking_turns(buckets, compute, send).values()))
    for i, (title, backward, sums) in enumerate(cases):
        y = 30 + 98 * i
        p.text(14, y, title, weight="bold")
        p.text(14, y + 25, "backward")
        p.text(14, y + 53, "sum")
        for row, colour, bars in ((0, BLUE, backward), (1, ORANGE, sums)):
            for begin, end in bars:
                p.box(left + begin * unit, y + 8 + 28 * row, (end - begin) * unit, 24, colour)
        computed, end = left + backward[-1][1] * unit, left + sums[-1][1] * unit
        p.line(computed, y + 4, computed, y + 72, RED, "4 3")
        p.line(end, y + 4, end, y + 72, RED, "4 3")
        p.line(computed, y + 68, end, y + 68, RED, thick=4)
        p.text(end + 8, y + 72, "exposed", fill="#b3332b")
    p.text(14, 320, "time →", fill=PALE)
    return p


def device():
    """The two paths from one GPU's memory to another's."""
    p = Picture(760, 262, "A chunk on its way: device buffers, and staged through host memory")
    for x, rank in ((40, 0), (480, 1)):
        p.box(x, 14, 240, 208, "#f5f7f9")
        p.text(x + 120, 34, f"rank {rank}", "middle", weight="bold")
        p.box(x + 40, 48, 160, 44, GREEN, "GPU memory")
        p.box(x + 40, 162, 160, 44, GREY, "host memory")
    p.arrow(240, 70, 518, 70, "#3f8f3e", 2.5)
    p.text(380, 60, "device buffers:", "middle")
    p.text(380, 88, "MPI reads the GPU's memory", "middle", 12)
    p.arrow(160, 94, 160, 160, "#c97a17", 2.5)
    p.arrow(240, 184, 518, 184, "#c97a17", 2.5)
    p.arrow(600, 160, 600, 94, "#c97a17", 2.5)
    p.text(168, 132, "copy")
    p.text(592, 132, "copy", "end")
    p.text(380, 174, "staged:", "middle")
    p.text(380, 202, "MPI reads the host's memory", "middle", 12)
    p.text(40, 248, "In both, a kernel on the GPU then adds the chunk that came. "
                    "MPI may go on only when that kernel is done.", fill=PALE)
    return p


def scaling():
    """A step of three ranks, and the four times whose ratios are the factors."""
    p = Picture(760, 268, "The times of a step and the three factors of its efficiency")
    left, top = 70, 48
    ideal, computing, step = 290, (340, 360, 440), 600
    slowest, mean = max(computing), sum(computing) / len(computing)
    for rank, mine in enumerate(computing):
        y = top + 32 * rank
        p.text(14, y + 17, f"rank {rank}")
        p.box(left, y, mine, 24, BLUE, "computing")
        if mine < slowest:
            p.box(left + mine, y, slowest - mine, 24, GREY)
            p.text(left + slowest - 6, y + 16.5, "waiting", "end")
        p.box(left + slowest, y, step - slowest, 24, ORANGE, "sum")
    marks = (("T(1)/P", ideal), ("mean", mean), ("slowest", slowest), ("step", step))
    for name, at in marks:
        p.line(left + at, top - 12, left + at, 164, INK, "4 3")
        p.text(left + at, top - 18, name, "end" if name == "T(1)/P" else "middle")
    factors = ("computation", "load balance", "communication")
    for i, name in enumerate(factors):
        (short, begin), (long_, end) = marks[i], marks[i + 1]
        p.line(left + begin, 164, left + end, 164, RED, thick=4)
        p.text(left, 188 + 20 * i, f"{name} = {short} / {long_} = {begin / end:.2f}")
    p.text(left + 300, 208, f"efficiency = T(1)/P / step = {ideal / step:.2f}, their product")
    p.text(14, 256, "What lies between two marks is lost, and the factor between them says how much.", fill=PALE)
    return p


def balance():
    """A step of a slow rank and a fast one: equal shares, then shares by speed."""
    p = Picture(760, 262, "A step of two ranks of unequal speed with equal shares and with shares by speed")
    left, unit, slow = 84, 4, 3
    for i, (title, shares) in enumerate((("equal shares: the fast rank waits", (48, 48)),
                                         ("shares by speed: both are ready at the same time", (24, 72)))):
        top = 40 + 104 * i
        ready = [share * times for share, times in zip(shares, (slow, 1))]
        p.text(14, top - 10, title, weight="bold")
        for rank, share in enumerate(shares):
            y = top + 32 * rank
            p.text(14, y + 17, f"rank {rank}")
            p.box(left, y, ready[rank] * unit, 24, BLUE, f"{share} samples")
            if ready[rank] < max(ready):
                p.box(left + ready[rank] * unit, y, (max(ready) - ready[rank]) * unit, 24, GREY, "waiting")
            p.box(left + max(ready) * unit, y, 40, 24, ORANGE, "sum")
        p.line(left + max(ready) * unit, top - 6, left + max(ready) * unit, top + 66, RED, "4 3")
    p.text(14, 234, "Rank 0 takes 3 units of time for a sample, rank 1 takes 1. "
                    "In both, the step has the same 96 samples.", fill=PALE)
    p.text(14, 252, "48 x 3 = 144 units, then 24 x 3 = 72 x 1 = 72. "
                    "Together they make 1/3 + 1 samples in a unit: 96 need 72.", fill=PALE)
    return p


def survive():
    """A ring of four, of which one rank is killed: before, when its neighbours see it, and the ring of the others."""
    p = Picture(760, 262, "A ring of four ranks goes on as a ring of three")
    corners = ((0, 0), (110, 0), (110, 90), (0, 90))  # ranks in the order of the ring
    colours = {"works": BLUE, "dead": RED, "sees the error": ORANGE, "waits": GREY}
    panels = (("a sum", ("works",) * 4, "each sends to the next"),
              ("rank 2 is killed", ("waits", "sees the error", "dead", "sees the error"),
               "revoke: nobody waits any more"),
              ("the sum again", ("works", "works", None, "works"), "agree: nobody has it; shrink"))
    for i, (title, states, caption) in enumerate(panels):
        left, top = 40 + 248 * i, 60
        p.text(left + 85, 34, title, "middle", weight="bold")
        living = [rank for rank in range(4) if states[rank] not in (None, "dead")]
        ring = range(4) if i == 0 else living
        if i != 1:
            for rank, after in zip(ring, [*ring[1:], ring[0]]):
                (x1, y1), (x2, y2) = ends(corners[rank], corners[after])
                p.arrow(left + x1, top + y1, left + x2, top + y2)
        for rank, state in enumerate(states):
            if state:
                x, y = corners[rank]
                p.box(left + x, top + y, 60, 36, colours[state], str(rank), INK)
        p.text(left + 85, 216, caption, "middle", 12)
    for i, (state, colour) in enumerate(colours.items()):
        p.box(40 + 170 * i, 234, 16, 14, colour)
        p.text(62 + 170 * i, 246, state, fill=PALE, size=12)
    return p


def noise():
    """Gradients of four steps at two batch sizes, as arrows that end around that of all samples."""
    p = Picture(760, 268, "Gradients of parts and of whole steps around the gradient of all samples")
    tips = ((-44, -34), (38, -46), (50, 30), (-36, 44))  # pixels from the end of G: alike in length, in all directions
    panels = (("parts of b samples", 1, ORANGE, "mean of |g_i|² = |G|² + S / b"),
              ("whole steps of B = 4 b samples", 0.5, GREEN, "mean of |g|² = |G|² + S / B"))
    for i, (title, scale, colour, formula) in enumerate(panels):
        x, y, end = 40 + 380 * i, 126, 190
        p.text(x, 30, title, weight="bold")
        p.add("circle", cx=x + end, cy=y, r=round(58 * scale, 1), fill="none", stroke=EDGE, stroke_width=1.5)
        for across, down in tips:
            p.arrow(x, y, round(x + end + across * scale, 1), round(y + down * scale, 1), colour)
        p.arrow(x, y, x + end, y, INK, 2.6)
        p.text(x + end + 6, y + 5, "G", weight="bold")
        p.text(x, 218, formula)
    p.text(40, 240, "The longer arrows of small batches tell how wide the circle is, and the rest is |G|². "
                    "Noise scale = S / |G|².", fill=PALE)
    p.text(40, 257, "Four times the samples make the circle half as wide, "
                    "which helps where the circle is wide beside G.", fill=PALE)
    return p


def ends(start, end):
    """Where an arrow between two boxes of 60 x 36 begins and ends; both are given by their upper left corners."""
    middles = [(x + 30, y + 18) for x, y in (start, end)]
    across, down = (b - a for a, b in zip(*middles))
    cut = min(36 / abs(across) if across else 1, 24 / abs(down) if down else 1)  # of the way, at each end
    (x1, y1), (x2, y2) = middles
    across, down = cut * across, cut * down
    return [(round(x1 + across, 1), round(y1 + down, 1)), (round(x2 - across, 1), round(y2 - down, 1))]


def drawings():
    """The text of each SVG, by its path below this folder."""
    made = {"01-ring/ring.svg": ring, "02-data-parallel/data_parallel.svg": data_parallel,
            "03-overlap/overlap.svg": overlap, "04-device/device.svg": device, "05-scaling/scaling.svg": scaling,
            "06-balance/balance.svg": balance, "07-survive/survive.svg": survive,
            "08-noise/noise.svg": noise}
    return {path: draw().svg() for path, draw in made.items()}


if __name__ == "__main__":
    for path, svg in drawings().items():
        (Path(__file__).parent / path).write_text(svg, encoding="utf-8")
