#!/usr/bin/env python3
"""Makes the man page and the completions of bash, zsh and fish from what the program's --help and --help-all print.

usage: manual.py RUEDA MAN_PAGE BASH ZSH FISH
"""

import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import completion

ENTRY = re.compile(r"  (-\S+(?: \S+)*|[A-Za-z]\S*(?: \.\.\.)?)(?:  +(\S.*))?$")  # an option, a positional, a command
PAGE = """.TH RUEDA 1 "{date}" "{version}" "User Commands"
.ad l
.nh
.SH NAME
rueda \\- {about}
.SH SYNOPSIS
.B rueda
.I COMMAND
.RI [ OPTIONS ]
{commands}.SH EXIT STATUS
0 done, 1 the run failed, 2 bad usage or input, 75 asked to stop and saved.
.SH ENVIRONMENT
{environment}.SH FILES
PREFIX/share/rueda has recipes for \\-\\-config, and in jobs the scripts
scale.sh, run\\-again.sh and slurm/submit.sh.
.SH EXAMPLES
{examples}.SH SEE ALSO
.BR mpirun (1),
.BR srun (1).
The manual is docs/README.md in the source tree.
"""
ENVIRONMENT = {
    "COLUMNS": "Width of help, tables and progress where the output is no terminal.",
    "RUEDA_PLOT_PYTHON": "Python that reads runs and draws; by default python3, then /usr/bin/python3.",
    "RUEDA_CUDA_GRAPHS": "off: steps on a GPU are not recorded as a graph. The bits stay the same.",
    "RUEDA_CUDA_PDL": "off: kernels on a GPU begin when the one before has ended. The bits stay the same.",
    "RUEDA_SHARE_PLANS": "0: this rank compiles all of its cuDNN engines itself.",
    "RUEDA_POWERCAP": "Directory of the energy counters, instead of /sys/class/powercap.",
    "OMPI_ALLOW_RUN_AS_ROOT, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "Both 1: Open MPI starts ranks for root too.",
}
EXAMPLES = (
    ("Check the machine, as the launcher shows it to the ranks.", "mpirun -n 2 rueda doctor"),
    ("Train on one rank and on two, into a folder each.",
     "mpirun -n 1 rueda train --epochs 3 --run-dir study/one\nmpirun -n 2 rueda train --epochs 3 --run-dir study/two"),
    ("Compare the two runs: speedup, efficiency, and where the time went.", "rueda report study --out study/report"),
    ("Predict epochs on more ranks than were run.", "rueda predict study --ranks 1,2,4,...,64"),
)  # fmt: skip

def output(*words):
    env = {**os.environ, "COLUMNS": "10000"}  # an option's help in one line
    return subprocess.run(words, capture_output=True, text=True, check=True, env=env, timeout=60).stdout.rstrip()


def read_help(program, words):
    """(command, what it does, entries) of this command and all below it. An entry is (heading, names, help), a line
    of an example (heading, "", line)."""
    ask = "--help-all" if words == ["train"] else "--help"
    lines, heading, entries = output(program, *words, ask).splitlines(), "", []
    for line, after in zip(lines[2:], [*lines[3:], ""]):
        entry = ENTRY.match(line)
        if re.match(r"[A-Z][\w ]+:$", line):
            heading = line[:-1]
        elif heading == "Example":
            entries.append((heading, "", line.strip()))
        elif entry:
            entries.append((heading, entry[1], entry[2] or after.strip()))
    yield " ".join(["rueda", *words]), lines[0], entries
    for heading, name, _ in entries:
        if heading == "Subcommands":
            yield from read_help(program, [*words, name])


def roff(text, width=66):
    """Lines of at most 80 characters, which may break at their commas and bars too."""
    lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
    text = "\n".join(lines).replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"([|,])(?=\S)", r"\1\\:", re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE))


def roff_lines(lines):
    """As they are."""
    return "\n".join(roff(line, 200) for line in lines.splitlines())


def section(command, about, entries):
    """Of the man page."""
    text = [".SH COMMANDS"] if command == "rueda" else [f'.SH "{command.upper()}"', roff(about)]
    last = "Options"
    for heading, names, line in entries:
        if command == "rueda" and heading == "Example":
            continue  # EXAMPLES has them
        if heading != last and command != "rueda":
            text.append(f".SS {heading}")
        last = heading
        text += [f".TP\n\\fB{roff(names)}\\fR\n{roff(line)}" if names else f".nf\n{roff(line, 200)}\n.fi"]
    return "\n".join(text) + "\n"


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    helps = list(read_help(sys.argv[1], []))
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    page = PAGE.format(
        date=date, version=output(sys.argv[1], "--version").split(" (")[0], about=roff(helps[0][1].rstrip(".")),
        commands="".join(section(*each) for each in helps),
        environment="".join(f".TP\n\\fB{roff(name)}\\fR\n{roff(about)}\n" for name, about in ENVIRONMENT.items()),
        examples="".join(f".PP\n{roff(about)}\n.PP\n.nf\n.RS\n{roff_lines(lines)}\n.RE\n.fi\n"
                         for about, lines in EXAMPLES),
    )  # fmt: skip
    Path(sys.argv[2]).write_text(page, encoding="utf-8")
    for file, text in zip(sys.argv[3:], completion.texts(helps)):
        Path(file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
