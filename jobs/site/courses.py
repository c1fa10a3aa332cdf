#!/usr/bin/env python3
"""Makes docs/courses/*.md, a page for each course, from the templates in jobs/site/courses, which share what several
courses ask for (blocks.md.j2).

usage: courses.py [--check]
--check: writes nothing, and says which pages are not what the templates make.
"""

import re
import sys
import textwrap
from pathlib import Path

import jinja2

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "jobs" / "site" / "courses"
PAGES = ROOT / "docs" / "courses"
NAMES = sorted(path.name.removesuffix(".md.j2") for path in TEMPLATES.glob("*.j2") if path.name != "blocks.md.j2")


WIDTH = 120
NO_BREAK = "\u00a0"  # stands between a number and its % while lines are broken
AS_THEY_ARE = re.compile(r"#|\||\*\*(Hand in|Tables and charts)\*\*:")  # lines that are read by their beginning


def wrapped(paragraph):
    """The lines of a paragraph, a list or a quotation, joined and broken anew."""
    lines = []
    for line in paragraph:
        begin = re.match(r"> |- |", line)[0]
        if lines and (line.startswith("  ") or begin == ("> " if lines[-1].startswith("> ") else "")):
            lines[-1] += " " + line.removeprefix("> ").strip()
        else:
            lines.append(line)
    for line in (re.sub(r"(?<=\d) (?=%)", NO_BREAK, line) for line in lines):
        after = {"> ": "> ", "- ": "  "}.get(line[:2], "")
        broken = textwrap.wrap(line, WIDTH, subsequent_indent=after, break_long_words=False, break_on_hyphens=False)
        yield from (one.replace(NO_BREAK, " ") for one in broken)


def with_wrapped_text(text):
    """What macros filled in leaves long lines and short ones."""
    for number, part in enumerate(re.split(r"(?ms)(^```.*?^```$)", text)):
        for paragraph in [part] if number % 2 else re.split(r"(\n\n+)", part):
            untouched = number % 2 or not paragraph.strip() or AS_THEY_ARE.match(paragraph.lstrip("\n"))
            ends = re.fullmatch(r"(\n*)(.*?)(\n*)", paragraph, re.DOTALL)
            yield paragraph if untouched else ends[1] + "\n".join(wrapped(ends[2].split("\n"))) + ends[3]


def page(name):
    """The text of a page."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
                                     trim_blocks=True, keep_trailing_newline=True, autoescape=False)  # fmt: skip
    return "".join(with_wrapped_text(environment.get_template(f"{name}.md.j2").render().lstrip("\n")))


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    old = [name for name in NAMES if sys.argv[1:] and (PAGES / f"{name}.md").read_text(encoding="utf-8") != page(name)]
    if old:
        sys.exit(f"courses.py: {', '.join(old)}: not what the templates make: call jobs/site/courses.py")
    if not sys.argv[1:]:
        PAGES.mkdir(exist_ok=True)
        for name in NAMES:
            (PAGES / f"{name}.md").write_text(page(name), encoding="utf-8")


if __name__ == "__main__":
    main()
