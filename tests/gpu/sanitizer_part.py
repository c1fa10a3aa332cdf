"""compute-sanitizer's tools over the small tests of the CUDA part: own kernels by all of them, single
operations, in which NVIDIA's kernels run as well, by the one that finds what own code hands them."""

from runner import Failure, Item, NotRun
from training import require

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SMALL = {"cuda": "[device]~[large]", "backend_cuda": "[operations]~[large]"}
ERROR_CODE = 99


def items(places):
    return [item(places, tool, "cuda") for tool in TOOLS] + [item(places, "memcheck", "backend_cuda")]


def item(places, tool, program):
    name = tool if program == "cuda" else f"{tool}, operations"
    return Item("sanitizer", name, 180, lambda shell: check(shell, places, tool, program), needs=20)


def check(shell, places, tool, program):
    require(places, 1, program)
    if places.sanitizer is None:
        raise NotRun("no compute-sanitizer")
    words = [places.sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", ERROR_CODE]
    words += [places.programs[program], SMALL[program]]
    done = shell.run(words, LD_LIBRARY_PATH=places.library_path)
    remarks = [line for line in done.stdout.splitlines() if line.startswith("=========")]
    if done.returncode != 0:
        said = remarks[:20] or done.stderr.splitlines()[-5:]
        raise Failure(f"exit code {done.returncode}", {"remarks": said})
    return {"summary": remarks[-1] if remarks else ""}
