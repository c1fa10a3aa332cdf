"""Programs that scripts start: they end with the script, and no wait for them is without a limit. Python 3.6."""

import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1
_KILLED = 5  # seconds that the system may take to end what was killed
_libc = ctypes.CDLL(None)


def start(words, signal_at_end=signal.SIGTERM, **options):
    """As subprocess.Popen, in a process group of its own, so that Ctrl-C reaches the script alone. The program gets the
    signal when the script ends in whatever way."""
    script = os.getpid()

    def prepare():
        os.setpgrp()
        _libc.prctl(_PR_SET_PDEATHSIG, signal_at_end)
        if os.getppid() != script:  # it has ended meanwhile
            os.kill(os.getpid(), signal.SIGKILL)

    return subprocess.Popen(words, preexec_fn=prepare, **options)


def ended(process, seconds):
    """Whether it ends within so many seconds."""
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def end(process, seconds):
    """Asks it to end, and kills it after so many seconds, with all of its group. Returns whether it has ended."""
    if process.poll() is None:
        process.terminate()
        ended(process, seconds)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass  # nothing is left
    return ended(process, _KILLED)


def run(words, seconds, **options):
    """(exit code, standard output, standard error) of a program; the code is None if it was killed after so many
    seconds. An interrupt ends it too."""
    pipes = {name: subprocess.PIPE for name in ("stdout", "stderr") if name not in options}
    process = start(words, signal.SIGKILL, stdin=subprocess.DEVNULL, universal_newlines=True, **pipes, **options)
    try:
        out, error = process.communicate(timeout=seconds)
        return process.returncode, out, error
    except subprocess.TimeoutExpired:
        return None, "", ""
    finally:
        end(process, 0)
