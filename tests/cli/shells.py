"""What bash, zsh and fish offer for a line, by the completions in an installed share folder."""

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

BASH = '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rueda; printf "%s\\n" "${COMPREPLY[@]}"'
FISH = "source $argv[1]; complete --do-complete $argv[2]"
# A shell as a user starts it, whose TAB completes as ever and writes what was offered to a file.
ZSHRC = r"""
PROMPT= RPROMPT=
fpath=("$COMPLETIONS" $fpath)
autoload -Uz compinit
compinit -D -u
compadd() {
  local -a offered
  [[ " $* " == *" -[OAD] "* ]] || builtin compadd -O offered "$@"
  (( ! $#offered )) || print -rl -- $offered >>"$OFFERED"
  builtin compadd "$@"
}
tell() { _main_complete; compstate[insert]= compstate[list]=; print -n -- '<told>'; }
zle -C tell complete-word tell
bindkey '^I' tell
bindkey '^U' kill-whole-line
print -n -- '<ready>'
"""
PATIENCE = 30  # seconds until a shell answers


def environment_of(folder):
    names = ("PATH", "LANG", "LD_LIBRARY_PATH")
    return {"HOME": str(folder), "TERM": "dumb", **{name: os.environ[name] for name in names if name in os.environ}}


def output(folder, *words):
    done = subprocess.run(words, cwd=folder, env=environment_of(folder), capture_output=True, text=True,
                          timeout=PATIENCE, check=True)  # fmt: skip
    return done.stdout.splitlines()


def bash_offers(share, folder, lines):
    """A list for each line; the words of a line are as bash splits it."""
    return [output(folder, "bash", "-c", BASH, share / "bash-completion/completions/rueda", "rueda",
                   *line.replace("=", " = ").split(" ")) for line in lines]  # fmt: skip


def fish_offers(share, folder, lines):
    """A list for each line, of the last word or the part of it that is completed."""
    script = share / "fish/vendor_completions.d/rueda.fish"
    return [[offer.split("\t")[0].rpartition("=")[2].rpartition(",")[2]
             for offer in output(folder, "fish", "--no-config", "-c", FISH, script, "rueda " + line)]
            for line in lines]  # fmt: skip


def wait_for(word, terminal):
    seen, end = b"", time.monotonic() + PATIENCE
    while word not in seen:
        if not select.select([terminal], [], [], max(end - time.monotonic(), 0))[0]:
            raise TimeoutError(f"zsh did not come to {word} but to {seen}")
        seen += os.read(terminal, 1 << 16)


def zsh_offers(share, folder, lines):
    """A list for each line, of the last word or the part of it that is completed."""
    home = Path(folder, "zsh-home")
    home.mkdir(exist_ok=True)
    (home / ".zshrc").write_text(ZSHRC, encoding="utf-8")
    offered = home / "offered"
    env = {**environment_of(home), "ZDOTDIR": str(home), "OFFERED": str(offered),
           "COMPLETIONS": str(share / "zsh/site-functions")}  # fmt: skip
    controller, terminal = pty.openpty()
    shell = subprocess.Popen(["zsh", "-d", "-i"], cwd=folder, env=env, stdin=terminal, stdout=terminal, stderr=terminal,
                             start_new_session=True)  # fmt: skip
    try:
        wait_for(b"<ready>", controller)
        for line in lines:
            offered.write_text("", encoding="utf-8")
            os.write(controller, f"\x15rueda {line}\t".encode())
            wait_for(b"<told>", controller)
            yield sorted({text.replace("\\", "") for text in offered.read_text(encoding="utf-8").splitlines()})
    finally:
        shell.kill()
        shell.wait()
        os.close(controller)
        os.close(terminal)


OFFERS = {"bash": bash_offers, "zsh": zsh_offers, "fish": fish_offers}
MISSING = [shell for shell in OFFERS if not shutil.which(shell)]
