"""What the documents hold: the commands, links, headings and names of files of each page."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What may begin a command in the running text; in blocks marked `sh` every line is one.
PROGRAM = re.compile(
    r"(\. |[A-Z][A-Z0-9_]*=\S+ )*(\S*rueda|(mpirun|mpiexec|srun)(?= -)|mpicxx|nvcc|sbatch|python3|meson|ninja|cmake|"
    r"reframe|docker|module|export|source|tar|git|jobs/\S+|tests/\S+\.(py|sh)|build\S*/\S+|\. \S+env\.sh)(?= |$)"
)
FENCE = re.compile(r"^ *(```+)\s*(\S*)")
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)")
FILE_NAME = re.compile(r"(?<![\w/.-])(?:docs|jobs|tests|src|include|mpi|cuda)/[\w./-]+")
TEST_NAME = re.compile(r"(?<![\w/.-])(?:unit|cli|faults|lab|mpi|parity)/[\w/]+_test\.(?:cpp|py)")
ENDS = {"for": "done", "while": "done", "if": "fi", "case": "esac"}  # of what goes over several lines


@dataclass
class Command:
    """A line of a shell, with what was continued on the next lines; `block` counts the blocks of a page."""

    page: str
    line: int
    text: str
    block: int
    inline: bool = False

    def __str__(self):
        return f"{self.page}:{self.line}: {self.text}"


def page_names():
    """All pages, from the root, as git or the folder has them."""
    return ["README.md"] + sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md"))


def shell_lines(page, lines, index):
    """Those of a block, continued lines and those of a loop joined."""
    found, end = [], ""
    for number, line in lines:
        line = line.strip()
        if found and found[-1].text.endswith("\\"):
            found[-1].text = found[-1].text[:-1].rstrip() + " " + line
        elif end:
            found[-1].text += "\n" + line
            end = "" if re.match(end, line) else end
        elif line and not line.startswith("#"):
            found.append(Command(page, number, line, index))
            end = "" if re.search(r"; *(done|fi|esac)\b", line) else ENDS.get(line.partition(" ")[0], "")
    return found


class Page:
    """A document of Markdown, in parts: blocks of code, and text."""

    def __init__(self, name, text=None):
        self.name = name
        text = (ROOT / name).read_text(encoding="utf-8") if text is None else text
        self.blocks = []  # [(language, [(line, text), ...]), ...]; of text the language is None
        block, fence, before = "none yet", "", ""
        for number, line in enumerate(text.splitlines(), 1):
            match = FENCE.match(line)
            if match and (not fence or match[1] == fence):
                fence, block = ("" if fence else match[1]), "none yet"
                language = match[2] or "text"
                continue
            indented = not fence and line.startswith("    ") and (block == "indented" or not before.strip())
            kind = language if fence else "indented" if indented else None
            if kind != block:
                self.blocks.append((kind, []))
                block = kind
            self.blocks[-1][1].append((number, line))
            before = line

    def text(self):
        """The lines outside of blocks, with their numbers."""
        return [line for language, lines in self.blocks if language is None for line in lines]

    def anchors(self):
        """What a link may name after #, as hosts of Markdown make it from headings."""
        names = []
        for _, line in self.text():
            if match := HEADING.match(line):
                words = re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", match[1]).strip().lower()
                name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
                names.append(name if name not in names else f"{name}-{names.count(name)}")
            names += re.findall(r'<a (?:id|name)="([^"]+)"', line)
        return names

    def links(self):
        """(line, target) of each link that is not to another site."""
        prose = [(number, INLINE.sub("", line)) for number, line in self.text()]
        found = [(number, target) for number, line in prose for target in LINK.findall(line)]
        return [(number, target) for number, target in found if not re.match(r"[a-z]+:", target)]

    def file_names(self):
        """(line, path) of what is in the folders of the source, or of a test, wherever the text names it."""
        found = []
        for number, line in self.text():
            line = LINK.sub("]", line)
            found += [(number, name.rstrip(".")) for name in FILE_NAME.findall(line)]
            found += [(number, f"tests/{name}") for name in TEST_NAME.findall(line)]
        return [(number, name) for number, name in found if not re.search("[A-Z]{2}|/[A-Z]/", name)]

    def commands(self):
        found = []
        for index, (language, lines) in enumerate(self.blocks):
            if language in ("sh", "bash", "shell"):
                found += shell_lines(self.name, lines, index)
            elif language == "indented" and PROGRAM.match(lines[0][1].strip()):
                found += shell_lines(self.name, lines, index)
            elif language is None:
                found += self.inline_commands(lines, index)
        return found

    def inline_commands(self, lines, index):
        """Code of at least two words in the running text that begins with a program; it may go over a line's end."""
        text = "\n".join(line for _, line in lines)
        found = []
        for match in INLINE.finditer(text):
            words = match[1].replace("\\|", "|").replace("\n", " ")
            if PROGRAM.match(words) and " " in words.strip() and "\n\n" not in match[1]:
                line = lines[text.count("\n", 0, match.start())][0]
                found.append(Command(self.name, line, words, index, inline=True))
        return found


def help_examples(program, commands):
    """The lines after "Example:" of what --help prints."""
    found = []
    for command in commands:
        words = [program, *command.split(), "--help"]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        name = " ".join(["rueda", *command.split(), "--help"])
        lines = text.partition("\nExample:\n")[2].splitlines()
        found += shell_lines(name, [(1, line) for line in lines], 0)
    return found


def examples_in_heads():
    """The commands in the comments of recipes, and of scripts, where explanations may follow after two spaces."""
    found = []
    for path in sorted([*ROOT.glob("jobs/recipes/*.toml"), *ROOT.glob("jobs/**/*.sh")]):
        name = str(path.relative_to(ROOT))
        page = name if name.endswith(".toml") else f"the head of {name}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.removeprefix("#   ").partition("  ")[0]
            if line.startswith("#   ") and PROGRAM.match(text) and "train ..." not in text:
                found.append(Command(page, number, text, number))
    return found
