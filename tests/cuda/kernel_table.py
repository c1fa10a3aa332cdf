#!/usr/bin/env python3
"""Judges kernels by their machine code, without a GPU: registers, spilled bytes, blocks that fit on a
multiprocessor, and how many 16-byte loads a thread has in flight. Compares with the table in
docs/results/kernels.md and fails where a kernel became worse.

usage: kernel_table.py [--write] NVCC OBJECT.o...

--write puts what was found into the table instead. Kernels without 16-byte accesses have no row; variants
of a kernel that differ in flags share one, with the worst of each number.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "results" / "kernels.md"
COLUMNS = ["registers", "spilled bytes", "blocks", "loads in flight", "instructions a load"]
HEADER = "| kernel | GPU | " + " | ".join(COLUMNS) + " |\n|---|---|" + "---|" * len(COLUMNS) + "\n"
ROW = re.compile(r"^\| `(.+)` \| (sm_\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|$", re.M)
COMPILER = re.compile(r"compiled by nvcc ([\d.]*\d)")
BLOCK_WARPS = 8  # kBlockThreads
ROOFLINE = ROOT / "src" / "commands" / "roofline.cpp"
SHARE = re.compile(r'"batch norm: ([a-z ]+)", [\d.]+, \d+ \* \d+, (\d+) \* (\d+)')
KERNELS = {"statistics": "StatisticsSums", "apply": "Apply", "gradient sums": "GradientSums",
           "input gradient": "InputGradient"}  # fmt: skip
SHARED_KIB = {"sm_80": 164, "sm_90": 228}  # of a multiprocessor; CUDA takes 1 KiB a block for itself
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
    """Like sum_columns<8, GradientSums<bf16>>, by symbol; flags are left out."""
    names = subprocess.run(["c++filt"], check=True, capture_output=True, text=True, input="\n".join(mangled)).stdout
    names = re.sub(r"_GLOBAL__N__\w+|\(anonymous namespace\)", "anonymous", names)
    names = re.sub(r"\(.*|^void |(\w+::)+(?=[\w{])|, (true|false)", "", names, flags=re.M)
    names = names.replace("Bfloat16", "bf16").replace("> >", ">>").replace("> >", ">>")
    return dict(zip(mangled, names.splitlines()))


def loops(code):
    """Innermost loops: lists of (operation, operands)."""
    jumps = [(int(m[1], 16), int(at[0], 16)) for m in code if m[2].startswith("BRA")
             for at in [re.findall(r"0x([0-9a-f]+)", m[3])] if at and int(at[0], 16) <= int(m[1], 16)]
    inner = [j for j in jumps if not any(o != j and j[1] <= o[1] and o[0] <= j[0] for o in jumps)]
    return [[(m[2], m[3]) for m in code if begin <= int(m[1], 16) <= end] for end, begin in inner]


def most_in_flight(loop):
    """The most 16-byte loads issued before the first instruction that reads what one of them loads."""
    waiting, most = [], 0
    for operation, operands in loop + loop:
        wide = operation.startswith("LDG.E") and ".128" in operation
        first, _, rest = operands.partition(",")
        used = {int(r) for r in re.findall(r"\bR(\d+)", operands if operation.startswith("ST") else rest)}
        while waiting and any(r <= u < r + 4 for r in waiting for u in used):
            waiting.pop(0)  # loads come back in order, about
        if wide:
            waiting.append(int(first[1:]))
            most = max(most, len(waiting))
    return most


def measured(usage, code, arch):
    """One row's numbers; None of a kernel without 16-byte accesses."""
    if not any(".128" in m[2] and m[2][:3] in ("LDG", "STG") for m in code):
        return None
    registers, stack, shared = (int(usage[word]) for word in ("REG", "STACK", "SHARED"))
    warps = 65536 // (-(-registers * 32 // 256) * 256)
    blocks = min(warps // BLOCK_WARPS, 8, SHARED_KIB[arch] * 1024 // (shared + 1024))
    found = [(most_in_flight(loop), len(loop) / wide) for loop in loops(code)
             if (wide := sum(1 for op, _ in loop if op.startswith("LDG.E") and ".128" in op))]
    loads, cost = max(found, key=lambda f: (f[0], -f[1]), default=(0, 0.0))
    return [registers, stack, blocks, loads, round(cost, 1)]


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
            numbers = measured(usage[mangled], list(INSTRUCTION.finditer(code)), arch)
            if numbers:
                yield (names[mangled], arch), numbers


def worse(now, known, same_compiler):
    if now[1] > known[1]:
        return f"{now[1]} bytes spilled, {known[1]:.0f} before: hold fewer values at once"
    if now[3] < known[3]:
        return f"{now[3]} 16-byte loads in flight, {known[3]:.0f} before: load all rows before using the first"
    if now[2] < known[2] and same_compiler:
        return f"{now[2]} blocks fit, {known[2]:.0f} before ({now[0]} registers, {known[0]:.0f}): see __launch_bounds__"
    return None


def roofline_faults(rows):
    """Shares that `rueda summary --roofline` takes for other numbers than these."""
    for name, loads, blocks in SHARE.findall(ROOFLINE.read_text()):
        row = rows.get((f"each_pack_of_columns<8, {KERNELS[name]}<bf16>>", "sm_90"))
        if row and (row[3], row[2]) != (int(loads), int(blocks)):
            yield f"{ROOFLINE.name} has {loads} loads and {blocks} blocks for {name}, not {row[3]} and {row[2]}"


def find_tool(nvcc):
    """cuobjdump: nvcc's own, else from PATH, else the one that jobs/test.sh installs. It calls nvdisasm."""
    installed = map(str, ROOT.glob("build-logs/disassembler/nvidia/*/bin"))
    os.environ["PATH"] = ":".join([str(Path(nvcc).resolve().parent), os.environ["PATH"], *installed])
    return shutil.which("cuobjdump") if shutil.which("nvdisasm") else None


def main(write, nvcc, *objects):
    tool = find_tool(nvcc)
    if not tool:
        print("skipped: there is no cuobjdump and nvdisasm, neither of nvcc nor in PATH")
        return 77
    rows = {}
    for file in objects:
        for key, now in rows_of(tool, file):
            known = rows.get(key, now)
            rows[key] = [min(a, b) if name in ("blocks", "loads in flight") else max(a, b)
                         for name, a, b in zip(COLUMNS, now, known)]
    table = "".join(f"| `{kernel}` | {arch} | {' | '.join(map(str, rows[kernel, arch]))} |\n"
                    for kernel, arch in sorted(rows))
    version = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    release = re.search(r"V([\d.]+)", version)[1]
    print(f"compiled by nvcc {release}\n\n{HEADER}{table}")
    text = TABLE.read_text()
    if write:
        text = COMPILER.sub(f"compiled by nvcc {release}", text)
        TABLE.write_text(text[:text.index(HEADER) + len(HEADER)] + table)
        return 0
    built = {arch for _, arch in rows}
    for arch in sorted(SHARED_KIB.keys() - built):
        print(f"{arch} is not checked: -Dgpu_archs does not have it")
    known = {(m[1], m[2]): [float(n) for n in m.groups()[2:]] for m in ROW.finditer(text) if m[2] in built}
    same_compiler = COMPILER.search(text)[1] == release
    if not same_compiler:
        print("the table is of another nvcc: spilled bytes and loads in flight are compared, blocks are not")
    faults = [f"{kernel} for {arch}: {fault}" for (kernel, arch), now in rows.items() if (kernel, arch) in known
              for fault in [worse(now, known[kernel, arch], same_compiler)] if fault]
    faults += [f"{kernel} for {arch} is only in {'the build' if (kernel, arch) in rows else TABLE.name}"
               for kernel, arch in sorted(rows.keys() ^ known.keys())]
    faults += roofline_faults(rows)
    print("\n".join(faults or ["as the table"]))
    if faults:
        print(f"If that is meant, write the table anew, as {TABLE} says")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv, *[word for word in sys.argv[1:] if word != "--write"]))
