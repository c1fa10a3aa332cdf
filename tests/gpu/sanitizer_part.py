"""compute-sanitizer's tools over the small tests of the CUDA part."""

from runner import Failure, Item, NotRun
from training import require

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SMALL = "[device]~[large]"
ERROR_CODE = 99


def items(places):
    return [item(places, tool) for tool in TOOLS]


def item(places, tool):
    return Item("sanitizer", tool, 180, lambda shell: check(shell, places, tool), needs=20)


def check(shell, places, tool):
    require(places, 1, "cuda")
    if places.sanitizer is None:
        raise NotRun("no compute-sanitizer")
    words = [places.sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", ERROR_CODE]
    words += [places.programs["cuda"], SMALL]
    done = shell.run(words, LD_LIBRARY_PATH=places.library_path)
    remarks = [line for line in done.stdout.splitlines() if line.startswith("=========")]
    if done.returncode != 0:
        said = remarks[:20] or done.stderr.splitlines()[-5:]
        raise Failure(f"exit code {done.returncode}", {"remarks": said})
    return {"summary": remarks[-1] if remarks else ""}
