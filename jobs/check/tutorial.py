"""What jobs/check/tutorial.sh runs: tutorial.py --write|--check PAGE SCRATCH

Comments in the page, each on a line of its own before a block, say what belongs there:

    <!-- not run -->              the commands of the next block are for the reader alone
    <!-- fails -->                they have to fail
    <!-- shown: FROM ... TO -->   the next block has the lines of the last output from the first that FROM matches to
                                  the first after it that TO matches, or with ..< before it; without TO to the end
    <!-- varies -->               and --check asks only whether there are any, as they depend on machine and chance
    <!-- picture: FILE -->        the next picture is this file of the scratch folder

Between <!--=NAME--> and <!----> stands the figure of that name (tutorial_figures.py). Pictures of the page lie in
docs/pictures.
"""

import difflib
import gzip
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import tutorial_figures

TIME_LIMIT = 1800  # seconds of a block of commands
DIRECTIVE = re.compile(r"<!-- (not run|fails|shown|varies|picture)(?:: ?(.*?))? ?-->")
PICTURE = re.compile(r'<img src="(pictures/[\w.-]+\.png)"')
FIGURE = re.compile(r"(<!--=(\w+)-->).*?(<!---->)")
# The same commands on a few made images: shorter, with as many lines.
SMALLER = [(r"jobs/data\.sh fashion-mnist", "jobs/data.sh fashion-mnist --from idx"),
           (r"--data-limit \d+", "--data-limit 144"), (r"--repeats \d+", "--repeats 1"), (r"kill:1:\d+", "kill:1:5"),
           (r"--ranks-per-node 1,2,4", "--ranks-per-node 1,2"),
           (r"bench all-reduce", "bench all-reduce --repetitions 3")]
# What comes and goes with the load of the machine, and what a factor below 98 % adds to its line.
CHANCE = re.compile(r"^(note: |  slow: |  disturbed: ).*\n?|  low: .*", re.MULTILINE)
# A figure, or that runs of a busy machine determine none.
NUMBER = re.compile(r"\bnot determined\b|\b[0-9a-f]{16}\b|(?<!\w)-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?|(?<= )-(?= |$)",
                    re.MULTILINE)


class Unfit(Exception):
    """What the page shows and what happened do not go together."""


def made_images(folder):
    """A tiny data set in the four files of Fashion-MNIST."""
    folder.mkdir()
    draw = random.Random(1)
    for name, count in (("train", 160), ("t10k", 40)):
        head = b"".join(n.to_bytes(4, "big") for n in (0x803, count, 28, 28))
        pixels = bytes(draw.choices(range(256), k=count * 28 * 28))
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + pixels))
        head = b"".join(n.to_bytes(4, "big") for n in (0x801, count))
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(head + bytes(i % 10 for i in range(count))))


def run(commands, scratch, may_fail):
    """The output of a block, as in a terminal that has read jobs/env.sh."""
    process = subprocess.Popen(["bash", "-c", f"set -eo pipefail\n. jobs/env.sh\n{commands}"], cwd=scratch, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise Unfit(f"no end after {TIME_LIMIT} s: {commands}") from None
    if (process.returncode != 0) != may_fail:
        raise Unfit(f"exit code {process.returncode}: {commands}\n{output}")
    # The name of a machine says nothing to a reader.
    return re.sub(rf"\b{re.escape(platform.node())}\b", "laptop", output)


def section(output, shown):
    """The lines that a comment <!-- shown --> asks for, without blank ones at the end."""
    start, dots, end = re.fullmatch(r"(.*?)(?: (\.\.[.<]) (.*))?", shown).groups()
    lines = output.splitlines()
    first = next((n for n, line in enumerate(lines) if re.search(start, line)), None)
    if first is None:
        raise Unfit(f"no line has {start!r}:\n{output}")
    last = len(lines) - 1
    if end:
        last = next((n for n in range(first + 1, len(lines)) if re.search(end, lines[n])), None)
        if last is None:
            raise Unfit(f"no line after {lines[first]!r} has {end!r}:\n{output}")
    last += dots != "..<"
    return "\n".join(line.rstrip() for line in lines[first:last]).rstrip().split("\n")


def shape(lines):
    """What has to be equal on every machine, line by line."""
    text = NUMBER.sub("N", CHANCE.sub("", "\n".join(lines)))
    return [" ".join(line.split()) for line in text.splitlines()]


class Tutorial:
    """Goes through the page once; `lines` is the page as it should be."""

    def __init__(self, page, scratch, check):
        self.page, self.scratch, self.check = page, scratch, check
        self.lines, self.output, self.pictures, self.asked = [], "", {}, {}

    def go(self):
        lines = iter(self.page.read_text(encoding="utf-8").splitlines())
        for line in lines:
            self.lines.append(line)
            if match := DIRECTIVE.fullmatch(line):
                self.asked[match[1]] = match[2] or ""
            elif line in ("```sh", "```text"):
                inside = list(iter(lambda: next(lines), "```"))
                self.lines += self.block(line == "```sh", inside) + ["```"]
                self.asked = {}
            elif (match := PICTURE.match(line)) and "picture" in self.asked:
                self.pictures[match[1]] = self.scratch / self.asked["picture"]
                self.asked = {}

    def block(self, is_command, inside):
        if is_command:
            if "not run" not in self.asked:
                self.command("\n".join(inside))
            return inside
        found = section(self.output, self.asked["shown"])
        if self.check and "varies" not in self.asked and shape(found) != shape(inside):
            differences = difflib.unified_diff(shape(inside), shape(found), "the page", "printed now", lineterm="")
            raise Unfit("\n".join(["the page shows other lines than are printed: run jobs/check/tutorial.sh",
                                   *differences]))
        return inside if self.check else found

    def command(self, text):
        for pattern, smaller in SMALLER if self.check else []:
            text = re.sub(pattern, smaller, text)
        begin = time.monotonic()
        self.output = run(text, self.scratch, "fails" in self.asked)
        print(f"{time.monotonic() - begin:6.1f} s  {text.splitlines()[0]}", flush=True)

    def finish(self):
        """Figures, which need all runs, then files: nothing is written before all is there."""
        figures = tutorial_figures.FIGURES[self.page.stem](self.scratch)
        text = "\n".join(self.lines) + "\n"
        for name in {match[2] for match in FIGURE.finditer(text)} - set(figures):
            raise Unfit(f"there is no figure {name}")
        for picture in self.pictures.values():
            if not picture.is_file() or not picture.read_bytes().startswith(b"\x89PNG"):
                raise Unfit(f"no picture was drawn in {picture}")
        if self.check:
            return
        tutorial_figures.must_hold(self.scratch)
        for name, picture in self.pictures.items():
            shutil.copyfile(picture, self.page.parent / name)
        self.page.write_text(FIGURE.sub(lambda match: match[1] + figures[match[2]] + match[3], text), encoding="utf-8")


def main():
    mode, page, scratch = sys.argv[1:]
    tutorial = Tutorial(Path(page), Path(scratch), mode == "--check")
    if tutorial.check:
        made_images(tutorial.scratch / "idx")
    try:
        tutorial.go()
        tutorial.finish()
    except Unfit as fault:
        print(f"tutorial: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
