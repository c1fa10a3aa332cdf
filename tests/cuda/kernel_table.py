#!/usr/bin/env python3
"""Judges kernels by their machine code, without a GPU: registers, spilled bytes, blocks that fit on a
multiprocessor, loads that a thread has in flight, and what all of its threads have on their way to and from
memory. Compares with kernels.csv beside it, and fails where a kernel became worse, keeps too little of the
memory busy, waits for the bus more than once, or does not begin by waiting for the kernel before. docs/cuda.md says
more.

usage: kernel_table.py [--write] NVCC OBJECT.o...

--write makes the table anew. Variants of a kernel that differ in flags share a row, with the worst of each number.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("kernels.csv")
COLUMNS = ["registers", "spilled bytes", "blocks", "loads in flight", "KB in flight", "instructions a load"]
UNLISTED = ["bytes an instruction", "waits for the bus", "goes ahead"]  # judged, with no column
LEAST = ("blocks", "loads in flight", "KB in flight")  # the worst of these is the smallest
NVCC_COLUMN = "nvcc"  # which compiled the row
BLOCK_WARPS = 8  # kBlockThreads
# What a multiprocessor has to have on its way to use the memory's rate: an H100's 3.35 TB/s for the 600 ns that
# a load takes, by 132 multiprocessors. An A100 needs 11.
LEAST_KB = 15
# What its memory moves while one of its threads issues an instruction: 14.4 bytes a cycle of 1.76 GHz, 128 threads.
# A kernel that moves less has to wait for its instructions, not for the memory.
LEAST_BYTES_AN_INSTRUCTION = 0.11
SHARED_KIB = {"sm_80": 164, "sm_90": 228}  # of a multiprocessor; CUDA takes 1 KiB a block for itself
EARLY = {"sm_90"}  # where a kernel may begin before the one before has ended
# A wait for the kernel before, and what has to come after it: accesses to memory, and that the next may begin, which it
# may at the end of this one, too.
WAIT, AFTER_WAIT = "ACQBULK", {"LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "RED", "REDG", "PREEXIT", "EXIT"}
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@\S+\s+)?(\S+)\s*(.*?)\s*;", re.M)


def dump(tool, what, file):
    """The part of cuobjdump's output for each architecture: {"sm_90": text}."""
    text = subprocess.run([tool, what, file], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^arch = (sm_\w+)$", text, flags=re.M)[1:]
    whole = dict.fromkeys(parts[::2], "")
    for arch, part in zip(parts[::2], parts[1::2]):
        whole[arch] += part
    return whole


def readable(mangled):
    """Like sum_columns<8, GradientSums<bf16>>, by symbol; flags are left out, and a lambda has its function's name."""
    names = subprocess.run(["c++filt"], check=True, capture_output=True, text=True, input="\n".join(mangled)).stdout
    names = re.sub(r"_GLOBAL__N__\w+|\(anonymous namespace\)", "anonymous", names)
    names = re.sub(r"(\w+)\([^()]*\)(?: const)?::\{lambda\([^()]*\)#\d+\}", r"\1", names)
    names = re.sub(r"\(.*|^void |&|(\w+::)+(?=\w)|, (true|false)|<(true|false)> ?", "", names, flags=re.M)
    names = names.replace("Bfloat16", "bf16").replace("> >", ">>").replace("> >", ">>")
    return dict(zip(mangled, names.splitlines()))


def width(operation):
    """Bytes that an access to global memory moves for a thread; 0 of everything else."""
    if operation[:4] not in ("LDG.", "STG."):
        return 0
    return next((bytes for part, bytes in ((".128", 16), (".64", 8), ("16", 2), ("8", 1)) if part in operation), 4)


def loads_of(loop):
    return [width(operation) for operation, _ in loop if operation.startswith("LDG")]


def loops(code):
    """Loops that load, without those around them: lists of (operation, operands)."""
    jumps = [(int(m[1], 16), int(at[0], 16)) for m in code if m[2].startswith("BRA")
             for at in [re.findall(r"0x([0-9a-f]+)", m[3])] if at and int(at[0], 16) <= int(m[1], 16)]
    bodies = {(begin, end): [(m[2], m[3]) for m in code if begin <= int(m[1], 16) <= end] for end, begin in jumps}
    loading = {place: loop for place, loop in bodies.items() if loads_of(loop)}
    return [loop for place, loop in loading.items()
            if not any(o != place and place[0] <= o[0] and o[1] <= place[1] for o in loading)]


def most_in_flight(loop):
    """Bytes and loads: the most issued before the first instruction that reads what one of them loads."""
    waiting, most = [], (0, 0)
    for operation, operands in loop + loop:
        first, _, rest = operands.partition(",")
        used = {int(r) for r in re.findall(r"\bR(\d+)", operands if operation.startswith("ST") else rest)}
        while waiting and any(r <= u < r + (bytes + 3) // 4 for r, bytes in waiting for u in used):
            waiting.pop(0)  # loads come back in order, about
        if operation.startswith("LDG"):
            waiting.append((int(first[1:]), width(operation)))
            most = max(most, (sum(bytes for _, bytes in waiting), len(waiting)))
    return most


def moved_in_a_wait(loop):
    """Bytes of the loads in flight and of the stores that belong to them, the loads, instructions for each, and what
    all of its accesses move for an instruction."""
    bytes, loads = most_in_flight(loop)
    loaded = sum(loads_of(loop))
    moved = sum(width(operation) for operation, _ in loop)
    return bytes * moved / loaded, loads, len(loop) / len(loads_of(loop)), moved / len(loop)


def widest(loops):
    """Those that have the widest loads: others add up what blocks have left."""
    most = max((max(loads_of(loop)) for loop in loops), default=0)
    return [loop for loop in loops if max(loads_of(loop)) == most]


def goes_ahead(code):
    """Whether it touches memory, or lets the next kernel begin, before it waits for the one before."""
    names = (m[2].partition(".")[0] for m in code)
    return next(name for name in names if name == WAIT or name in AFTER_WAIT) != WAIT


def measured(usage, code, arch):
    """One row's numbers. A kernel without a loop does a handful of accesses, which keep no memory busy."""
    registers, stack, shared = (int(usage[word]) for word in ("REG", "STACK", "SHARED"))
    warps = 65536 // (-(-registers * 32 // 256) * 256)
    blocks = min(warps // BLOCK_WARPS, 8, SHARED_KIB[arch] * 1024 // (shared + 1024))
    moved, loads, cost, density = max(map(moved_in_a_wait, widest(loops(code))), default=(0, 0, 0.0, 0.0))
    kilobytes = blocks * BLOCK_WARPS * 32 * moved / 1000
    # Loads and fences that reach beyond the GPU: each is a way over the bus and back.
    bus = sum(1 for m in code if m[2].endswith(".SYS") and m[2].startswith(("LD", "MEMBAR", "ATOM")))
    ahead = arch in EARLY and goes_ahead(code)
    return [registers, stack, blocks, loads, round(kilobytes, 1), round(cost, 1), density, bus, ahead]


def rows_of(tool, file):
    usages = dump(tool, "-res-usage", file)
    for arch, text in dump(tool, "-sass", file).items():
        if arch not in SHARED_KIB:
            continue
        usage = {name: dict(re.findall(r"(\w+):(\d+)", line))
                 for name, line in re.findall(r"Function (\S+):\s*\n(.*)", usages[arch])}
        functions = re.split(r"Function : (\S+)", text)[1:]
        names = readable(functions[::2])
        for mangled, code in zip(functions[::2], functions[1::2]):
            yield (names[mangled], arch), measured(usage[mangled], list(INSTRUCTION.finditer(code)), arch)


def worst_rows(tool, objects):
    rows = {}
    for file in objects:
        for key, now in rows_of(tool, file):
            rows[key] = [min(a, b) if name in LEAST else max(a, b)
                         for name, a, b in zip(COLUMNS + UNLISTED, now, rows.get(key, now))]
    return rows


def is_judged(kernel, kernels):
    """Not where the same kernel takes packs of 16 bytes as well: then this one has what does not lie or divide so.
    Nor what is few by nature."""
    wide = {f"<{width}, ".join(kernel.split("<1, ", 1)) for width in (4, 8)}
    return "Few<" not in kernel and ("<1, " not in kernel or not wide & kernels)


def weak(rows):
    """What is wrong with a kernel whatever it was before."""
    kernels = {kernel for kernel, _ in rows}
    for (kernel, arch), row in rows.items():
        waits = row[3] > 0 and row[6] > LEAST_BYTES_AN_INSTRUCTION
        if waits and row[4] < LEAST_KB and is_judged(kernel, kernels):
            yield f"{kernel} for {arch}: {row[4]} KB in flight, not {LEAST_KB}: packs of 16 bytes, several at once"
        if row[7] > 1:
            yield f"{kernel} for {arch} waits for the bus {row[7]} times: keep what it reads on the device, one fence"
        if row[8]:
            yield f"{kernel} for {arch} goes ahead of the kernel before: wait_for_previous_kernel() comes first"


def worse(now, known, same_compiler):
    if now[1] > known[1]:
        return f"{now[1]} bytes spilled, {known[1]:.0f} before: hold fewer values at once"
    if now[3] < known[3]:
        return f"{now[3]} loads in flight, {known[3]:.0f} before: load all rows before using the first"
    if now[2] < known[2] and same_compiler:
        return f"{now[2]} blocks fit, {known[2]:.0f} before ({now[0]} registers, {known[0]:.0f}): see __launch_bounds__"
    return None


def find_tool(nvcc):
    """cuobjdump: nvcc's own, else from PATH, else the one that jobs/test.sh installs. It calls nvdisasm."""
    installed = map(str, ROOT.glob("build-logs/disassembler/nvidia/*/bin"))
    os.environ["PATH"] = ":".join([str(Path(nvcc).resolve().parent), os.environ["PATH"], *installed])
    return shutil.which("cuobjdump") if shutil.which("nvdisasm") else None


def known_rows(built):
    """The table's rows of the architectures `built`, and the compilers that made them."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["GPU"] in built]
    known = {(row["kernel"], row["GPU"]): [float(row[name]) for name in COLUMNS] for row in rows}
    return known, {row[NVCC_COLUMN] for row in rows}


def write_table(file, rows, release):
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["kernel", "GPU", *COLUMNS, NVCC_COLUMN])
    writer.writerows([*key, *rows[key][:len(COLUMNS)], release] for key in sorted(rows))


def faults_of(rows, release):
    known, compilers = known_rows({arch for _, arch in rows})
    same_compiler = compilers == {release}
    if not same_compiler:
        print("the table is of another nvcc: spilled bytes and loads in flight are compared, blocks are not")
    faults = [f"{kernel} for {arch}: {fault}" for (kernel, arch), now in rows.items() if (kernel, arch) in known
              for fault in [worse(now, known[kernel, arch], same_compiler)] if fault]
    faults += [f"{kernel} for {arch} is only in {'the build' if (kernel, arch) in rows else TABLE.name}"
               for kernel, arch in sorted(rows.keys() ^ known.keys())]
    return faults + list(weak(rows))


def main(write, nvcc, *objects):
    tool = find_tool(nvcc)
    if not tool:
        print("skipped: there is no cuobjdump and nvdisasm, neither of nvcc nor in PATH")
        return 77
    rows = worst_rows(tool, objects)
    version = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    release = re.search(r"V([\d.]+)", version)[1]
    write_table(sys.stdout, rows, release)
    if write:
        with TABLE.open("w", newline="", encoding="utf-8") as file:
            write_table(file, rows, release)
        return 0
    for arch in sorted(SHARED_KIB.keys() - {arch for _, arch in rows}):
        print(f"{arch} is not checked: -Dgpu_archs does not have it")
    faults = faults_of(rows, release)
    print("\n".join(faults or ["as the table"]))
    if faults:
        print("If that is meant, make the table anew by --write")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv, *[word for word in sys.argv[1:] if word != "--write"]))
