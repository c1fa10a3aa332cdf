"""Looks up the words of a command without running it: its program, its script, and the options of both."""

import functools
import os
import re
import shlex
import subprocess

from pages import ROOT

ENDS = {"&&", ";", "||", "|", "&"}
OF_MESON = {"prefix", "b_pch", "b_sanitize", "cpp_args", "cpp_link_args", "buildtype", "optimization", "unity"}
READERS = {"python3", ".", "source"}  # of scripts that need not be executable
COMMANDS = ("train", "summary", "synth", "doctor", "evaluate", "bench", "predict", "report", "watch", "forecast",
            "definitions")


def split(text):
    """The simple commands of a line, as words without variables before them."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    commands = [[]]
    for word in lexer:
        if word in ENDS:
            commands.append([])
        elif commands[-1] or not re.match(r"[A-Za-z_]\w*=", word):
            commands[-1].append(word)
    return [words for words in commands if words]


@functools.lru_cache(maxsize=None)
def help_of(program, *command):
    """What a command of rueda prints for --help, with all options."""
    words = [program, *command, "--help-all" if command == ("train",) else "--help"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@functools.lru_cache(maxsize=None)
def text_of(script):
    """A script's text, and that of the Python that does its work: a file or a folder that it names, or imports."""
    path = ROOT / script
    text = path.read_text(encoding="utf-8")
    paths = [found for name in re.findall(r"\w+\.py\b", text) for found in ROOT.glob(f"[jt]*s/**/{name}")]
    paths += [found for name in re.findall(r"\$root/([\w/]+)", text) for found in (ROOT / name).glob("*.py")]
    for folder in {path.parent, *(other.parent for other in paths)}:
        paths += [folder / f"{name}.py" for name in re.findall(r"^from (\w+) import", text, re.MULTILINE)]
    return text + "".join(other.read_text(encoding="utf-8") for other in paths if other.is_file())


def options(words):
    """Those up to --, which begins another command's."""
    own = words[: words.index("--")] if "--" in words else words
    return [re.match(r"\[?(--[\w-]+)", word)[1] for word in own if re.match(r"\[?--\w", word)]


def wrong_in_rueda(words, program):
    command = [word for word in words[1:3] if re.fullmatch(r"[a-z][a-z-]*", word)]
    if command and command[0] not in COMMANDS:
        return f"rueda has no command {command[0]}"
    command = command if command[:1] == ["bench"] else command[:1]
    known = help_of(program, *command)
    missing = [option for option in options(words[1:]) if not re.search(rf"{option}(?![\w-])", known + "--help-all")]
    return f"rueda {' '.join(command)} has no {missing[0]}" if missing else ""


def wrong_in_script(words, launchers):
    for word in words:
        if re.fullmatch(r"jobs/\S+\.sh", word) and not (ROOT / word).is_file():
            return f"{word} is not there"
    if not (ROOT / words[0]).is_file():
        return f"{words[0]} is not there"
    if not READERS & set(launchers) and not os.access(ROOT / words[0], os.X_OK):
        return f"{words[0]} is not executable"
    if words[0] == "jobs/slurm/submit.sh":
        return ""  # its options are sbatch's and its script's
    text = text_of(words[0])
    missing = [option for option in options(words[1:]) if not re.search(rf"{option}(?![\w-])", text + "--help")]
    return f"{words[0]} has no {missing[0]}" if missing else ""


def wrong_in_meson(words):
    known = (ROOT / "meson_options.txt").read_text(encoding="utf-8")
    for name in re.findall(r"-D(\w+)=", " ".join(words)):
        if f"option('{name}'" not in known and name not in OF_MESON:
            return f"the build has no option {name}"
    return ""


def trainings(text):
    """The words after the program's name of each training whose words are all known before it is run."""
    for words in split(text.partition(" # ")[0]):
        at = [i + 1 for i, word in enumerate(words) if re.fullmatch(r"(\S*/)?rueda", word)]
        own = words[at[0] :] if at else []
        if own[:1] == ["train"] and "--resume" not in own and not re.search(r"[$`<>]", " ".join(own)):
            yield own


def wrong_names(text, program):
    """What is wrong with the words of a command, or nothing."""
    for line in split(re.sub(r"[\[\]]", "", text.partition(" # ")[0])):
        words = line
        while words and words[0] in ("mpirun", "mpiexec", "srun", "chrt", *READERS):
            at = [i for i, word in enumerate(words) if i and re.fullmatch(r"\S*rueda|\S+/\S+|gdb", word)]
            words = words[at[0] :] if at else []
        if not words:
            continue
        wrong = ""
        if re.fullmatch(r"(build\S*/)?rueda", words[0]):
            wrong = wrong_in_rueda(words, program)
        elif re.match(r"(jobs|tests)/", words[0]):
            wrong = wrong_in_script(words, line[: -len(words)])
        elif words[0] == "meson":
            wrong = wrong_in_meson(words)
        if wrong:
            return wrong
    return ""
