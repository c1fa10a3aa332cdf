"""compute-sanitizer's tools over the small tests of the CUDA part: own kernels by all of them, single
operations, in which NVIDIA's kernels run as well, by the one that finds what own code hands them."""

from runner import Failure, Item, NotRun
from training import require

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SMALL = {"cuda": "[device]~[large]", "backend_cuda": "[operations]~[large]"}
ERROR_CODE = 99


def items(tools):
    return [item(tools, tool, "cuda") for tool in TOOLS] + [item(tools, "memcheck", "backend_cuda")]


def item(tools, tool, program):
    name = tool if program == "cuda" else f"{tool}, operations"
    return Item("sanitizer", name, 180, lambda shell: check(shell, tools, tool, program), needs=20)


def check(shell, tools, tool, program):
    require(tools, 1, program)
    if tools.sanitizer is None:
        raise NotRun("no compute-sanitizer")
    words = [tools.sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", ERROR_CODE]
    words += [tools.programs[program], SMALL[program]]
    done = shell.run(words, LD_LIBRARY_PATH=tools.library_path)
    remarks = [line for line in done.stdout.splitlines() if line.startswith("=========")]
    if done.returncode != 0:
        said = remarks[:20] or done.stderr.splitlines()[-5:]
        raise Failure(f"exit code {done.returncode}", {"remarks": said})
    return {"summary": remarks[-1] if remarks else ""}
