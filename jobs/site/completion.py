"""The completions of bash, zsh and fish, from what manual.py read in the program's help."""

import re
from dataclasses import dataclass, field

LIST = re.compile(r"(?:: |[Ss]ome of )((?:[a-z][a-z0-9-]*, )+[a-z][a-z0-9-]*)")
FILES = re.compile(r"(FILE|PATH|DIR|RUN\.json)\b")


@dataclass
class Option:
    names: list  # all of them, the long one last
    about: str
    value: str = ""  # as the help names it; empty: a flag
    words: list = field(default_factory=list)  # that may be its value
    files: bool = False  # whether names of files may be

    @property
    def is_list(self):
        return self.value == "LIST"


@dataclass
class Command:
    path: str  # rueda bench all-reduce
    files: bool = False  # whether its arguments are names of files
    options: list = field(default_factory=list)
    commands: list = field(default_factory=list)  # (name, what it does) of those below it


def words_of(value, about):
    """What may be a value, as the help lists it."""
    given = LIST.search(about) if value in ("NAME", "LIST", "[TOPIC]") else None
    words = given[1].split(", ") if given else [word for word in value.split("|") if re.fullmatch("[a-z0-9-]+", word)]
    return words + re.findall(r"or the word (\w+)", about)


def brief(about):
    """What a line of a menu has room for."""
    return re.split(r"[:;] | \[|, for example", about)[0]


def commands_of(helps):
    commands = []
    for path, _, entries in helps:
        command = Command(path)
        for heading, names, about in entries:
            names, _, value = names.partition(" ")
            if heading == "Positionals":
                command.files = True
            elif heading == "Subcommands":
                command.commands.append((names, brief(about)))
            elif names:
                words, files = words_of(value, about), bool(FILES.match(value))
                command.options.append(Option(names.split(","), about, value, words, files))
        commands.append(command)
    # The --model of other commands names no networks: that of train does.
    [train] = [command for command in commands if command.path == "rueda train"]
    networks = next(option.words for option in train.options if "--model" in option.names)
    for option in (option for command in commands for option in command.options):
        if option.value == "NAME" and not option.words:
            option.words = networks
    return commands


# In a loader's function a plain declare would be local. Bash takes the = of --option=word for a word of its own.
# In front of words, @ stands for files.
BASH = r"""# bash completion of rueda, made from its --help
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


def bash(commands):
    def row(key, files, words):
        return f"\n  ['{key}']='{'@' * files}{' '.join(words)}'"

    offers = [row(command.path, command.files, [option.names[-1] for option in command.options]
                  + [name for name, _ in command.commands]) for command in commands]  # fmt: skip
    values = [row(f"{command.path} {option.names[-1]}", option.files, option.words)
              for command in commands for option in command.options if option.value]  # fmt: skip
    return BASH.format(offers="".join(offers), values="".join(values))


def quoted(text):
    """For zsh, within a word in single quotes."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_value(option):
    """What _arguments completes after the option."""
    words = " ".join(option.words)
    action = f"({words})" if words else " "
    if option.files:
        action = f"{{compadd {words}; _files}}" if words else "_files"
    elif option.is_list and words:
        action = f"_values -s , list {words}"
    optional = ":" * option.value.startswith("[")
    return f":{optional}{quoted(option.value)}:{action}"


def zsh_option(option):
    """Of _arguments; a value may follow in the same word or the next one."""
    text = f"[{quoted(brief(option.about))}]"
    if option.value:
        text += zsh_value(option)
    repeated = "*" * ("may be repeated" in option.about)
    mark = "=" * (bool(option.value) and not option.value.startswith("["))
    return [f"'{repeated}{name}{mark * name.startswith('--')}{text}'" for name in option.names]


def zsh(commands):
    text = "#compdef rueda\n# zsh completion of rueda, made from its --help\n"
    for command in commands:
        function = command.path.replace(" ", "_")
        words = [word for option in command.options for word in zsh_option(option)]
        call = "_arguments"
        if command.files:
            words.append("'*: :_files'")
        if command.commands:
            below = " ".join(f'{name}\\:"{quoted(about)}"' for name, about in command.commands)
            words += [f"'1: :(({below}))'", "'*:: :->below'"]
            call = '  local state line curcontext="$curcontext"\n  _arguments -C -A "-*"'
        text += f"_{function}() {{\n  {call.strip()} \\\n    " + " \\\n    ".join(words)
        text += f" && return\n  _call_function - _{function}_$words[1]\n}}\n" if command.commands else "\n}\n"
    return text + '_rueda "$@"\n'


FISH = r"""# fish completion of rueda, made from its --help
function __rueda_is_at --description 'Whether the line so far names this command'
    set -l at rueda
    for word in (commandline -opc)[2..-1]
        contains -- "$at $word" {paths}
        and set at "$at $word"
    end
    test "$at" = "$argv"
end
complete -c rueda -f
"""


def fish_text(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_option(option):
    words = ["-l " + name[2:] if name.startswith("--") else "-s " + name[1:] for name in option.names]
    offered = " ".join(option.words)
    if option.is_list and offered:
        offered = f"(__fish_append , {offered})"
    if option.value:  # an optional one too: fish would expect it behind a = alone
        words.append("-rF" if option.files else "-x")
    if offered:
        words.append(f"-a {fish_text(offered)}")
    return " ".join([*words, "-d " + fish_text(brief(option.about))])


def fish(commands):
    lines = []
    for command in commands:
        here = f"complete -c rueda -n '__rueda_is_at {command.path}'"
        lines += [f"{here} -a {name} -d {fish_text(about)}" for name, about in command.commands]
        lines += [f"{here} {fish_option(option)}" for option in command.options]
        lines += [f"{here} -F"] * command.files
    paths = " ".join(fish_text(command.path) for command in commands)
    return FISH.format(paths=paths) + "\n".join(lines) + "\n"


def texts(helps):
    """Of bash, zsh and fish."""
    commands = commands_of(helps)
    return bash(commands), zsh(commands), fish(commands)
