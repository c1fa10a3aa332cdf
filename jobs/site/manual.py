#!/usr/bin/env python3
"""Makes the man page and the completion of bash from what the program's --help and --help-all print.

usage: manual.py RUEDA MAN_PAGE COMPLETION
"""

import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

ENTRY = re.compile(r"  (-\S+(?: \S+)*|[A-Za-z]\S*(?: \.\.\.)?)(?:  +(\S.*))?$")  # an option, a positional, a command
LIST = re.compile(r"(?:: |[Ss]ome of )((?:[a-z][a-z0-9-]*, )+[a-z][a-z0-9-]*)")
FILES = re.compile(r"(FILE|PATH|DIR|RUN\.json)\b")
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
# In a loader's function a plain declare would be local. Bash takes the = of --option=word for a word of its own.
COMPLETION = r"""# bash completion of rueda, made from its --help
declare -gA _rueda_offers=({offers})
declare -gA _rueda_values=({values})
_rueda() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command=rueda word offers list=
  [ "$cur" != = ] || cur=
  [ "$prev" != = ] || prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
    [ -z "${{_rueda_offers[$command $word]+is}}" ] || command="$command $word"
  done
  offers=${{_rueda_values[$command $prev]-${{_rueda_offers[$command]}}}}
  [[ $cur != *,* ]] || list=${{cur%,*}},
  mapfile -t COMPREPLY < <(compgen -P "$list" -W "${{offers#@}}" -- "${{cur##*,}}")
  if [[ $offers == @* && $cur != -* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$cur")
  fi
}}
complete -F _rueda rueda
"""


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


def words_of(value, about):
    """What may be a value, with @ in front where files are."""
    given = LIST.search(about) if value in ("NAME", "LIST", "[TOPIC]") else None
    words = given[1].split(", ") if given else [word for word in value.split("|") if re.fullmatch("[a-z0-9-]+", word)]
    return ("@" if FILES.match(value) else "") + " ".join(words + re.findall(r"or the word (\w+)", about))


def completion(helps):
    offers, values = {}, {}
    # summary's --model names no networks: train's does.
    networks = next(words_of("NAME", about) for command, _, entries in helps if command == "rueda train"
                    for _, names, about in entries if names == "--model NAME")  # fmt: skip
    for command, _, entries in helps:
        offers[command] = "@" * any(heading == "Positionals" for heading, _, _ in entries)
        for heading, names, about in entries:
            names, _, value = names.partition(" ")
            option = names.rpartition(",")[2]
            if option and heading != "Positionals":
                offers[command] += option + " "
            if value and heading != "Positionals":
                values[f"{command} {option}"] = words_of(value, about) or networks * (value == "NAME")
    table = ["".join(f"\n  ['{key}']='{text}'" for key, text in rows.items()) for rows in (offers, values)]
    return COMPLETION.format(offers=table[0], values=table[1])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    helps = list(read_help(sys.argv[1], []))
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    page = PAGE.format(
        date=date, version=output(sys.argv[1], "--version").split(" (")[0], about=roff(helps[0][1].rstrip(".")),
        commands="".join(section(*each) for each in helps),
        environment="".join(f".TP\n\\fB{roff(name)}\\fR\n{roff(about)}\n" for name, about in ENVIRONMENT.items()),
        examples="".join(f".PP\n{roff(about)}\n.PP\n.nf\n.RS\n{roff_lines(lines)}\n.RE\n.fi\n" for about, lines in EXAMPLES),
    )  # fmt: skip
    Path(sys.argv[2]).write_text(page, encoding="utf-8")
    Path(sys.argv[3]).write_text(completion(helps), encoding="utf-8")


if __name__ == "__main__":
    main()
