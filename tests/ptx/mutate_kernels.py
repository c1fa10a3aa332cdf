#!/usr/bin/env python3
"""Puts faults into the CUDA kernels one at a time, and says what the interpreter of PTX sees of each.

usage: tests/ptx/mutate_kernels.py [--build DIR] [--only TEXT] [--table]

Works on a copy of cuda/kernels. nvcc compiles one file of it, to PTX alone, and the objects of DIR (build), which
must have tests/ptx/sweep_ptx and shapes_ptx, are the rest of the program. First come the shapes of the default suite,
then all of them under more orders of threads. Exit code 1 if a fault is not seen or its wording is not there. --table
prints Markdown. The faults are MUTANTS: name, file, wording before, wording after, the file that nvcc compiles, and
the part and the kernel of the sweep, or "shapes": then no result is wrong, and the table of launches has to see it.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300  # seconds of a sweep: a kernel that hangs is seen
NVCC = ["-std=c++20", "-O3", "-fmad=false", "--extended-lambda", "-lineinfo", "--no-compress", "-w",
        "--generate-code=arch=compute_90,code=compute_90", "-Xcompiler", "-fPIC,-ffp-contract=off"]
INCLUDES = ["-I", ROOT / "include", "-I", ROOT / "src"]

Mutant = collections.namedtuple("Mutant", "name file before after unit part kernel")
SUMS = ("batch_norm", "columns", "column_sums")
NORM = ("batch_norm", "norms", "norm_statistics")
HASH = ("elementwise", "conversions", "element_hash")
ADD = ("activations", "elementwise", "add_activations")
SGD = ("elementwise", "elementwise", "sgd_update")
LARS = ("elementwise", "elementwise", "lars_update")
STEP = ("softmax_loss", "losses", "write_step_sums")
DENSE = ("dense", "losses", "dense_forward")
SHAPES = ("activations", "shapes", "")
SQUARES = ("square_sums", "losses", "square_sums")
C, L, E, S, Q = "columns.cuh", "launch.cuh", "elementwise.cu", "softmax_loss.cu", "square_sums.cu"
SLICES, D = "slices.cuh", "dense.cu"

MUTANTS = [Mutant(*row) for row in (
    # Barriers, fences, counters.
    ("no fence before the counter", C, "    __threadfence();\n    last =", "    last =", *SUMS),
    ("no fence after the counter", C, "] = 0;\n      __threadfence();", "] = 0;", *SUMS),
    ("no barrier before the counter", C, "  __syncthreads();\n  if (thread_of_block() == 0) {",
     "  if (thread_of_block() == 0) {", *SUMS),
    ("no barrier after the counter", C, "  __syncthreads();\n  return last;", "  return last;", *SUMS),
    ("a counter is not reset", C, "      arrived[blockIdx.x] = 0;\n", "", *SUMS),
    ("a counter is not atomic", C, "atomicAdd(arrived + blockIdx.x, 1U) + 1", "++arrived[blockIdx.x]", *SUMS),
    ("no barrier between steps of a sum", C, "    __syncthreads();\n    if (threadIdx.y >= half)",
     "    if (threadIdx.y >= half)", *SUMS),
    ("a barrier in a branch", C, "    __syncthreads();\n    if (threadIdx.y >= half) continue;",
     "    if (threadIdx.y >= half) continue;\n    __syncthreads();", *SUMS),
    ("no barrier after the table of channels", C, "int(thread));\n  __syncthreads();", "int(thread));", *NORM),
    ("no barrier in the last sum", C, "= mine[s];\n  __syncthreads();", "= mine[s];", *SUMS),
    ("no system fence before an announcement", S, "  __threadfence_system();\n", "", "softmax_loss", "losses",
     "count_up"),
    ("no barrier in the sum of losses", S, "    __syncthreads();\n", "", "softmax_loss", "losses", "sum_losses"),
    ("what was found is not reset", S, "  scratch->arrived[1] = 0;\n", "", *STEP),
    ("blocks write what they found", S, "if (bad) atomicAdd(scratch->arrived + 1, 1U);",
     "if (bad) scratch->arrived[1] = 1;", *STEP),
    ("every block writes the sums", S, "if (!is_last_of_columns(scratch->arrived) || threadIdx.x != 0)",
     "is_last_of_columns(scratch->arrived);\n  if (threadIdx.x != 0)", *STEP),
    ("every block adds the pieces", Q, "  if (!is_last_of_columns(scratch->arrived)) return;",
     "  is_last_of_columns(scratch->arrived);", *SQUARES),
    # Kernels that begin before the one before has ended.
    ("no wait for the kernel before", L, "  wait_for_previous_kernel();\n  run_packs", "  run_packs", *ADD),
    ("a load before the wait", Q, "  wait_for_previous_kernel();\n  const double sum = range_sum(squares, count, "
     "threadIdx.x);", "  const double sum = range_sum(squares, count, threadIdx.x);\n  wait_for_previous_kernel();",
     "square_sums", "losses", "write_part_squares"),
    ("the next kernel begins too early", L,
     "  cudaGridDependencySynchronize();\n  cudaTriggerProgrammaticLaunchCompletion();",
     "  cudaTriggerProgrammaticLaunchCompletion();\n  cudaGridDependencySynchronize();", *ADD),
    ("one thread waits for all", C, "  wait_for_previous_kernel();\n  using",
     "  if (threadIdx.x == 0) wait_for_previous_kernel();\n  using", *SUMS),
    # Masks, bounds, places.
    ("a piece beyond its range", Q, "left < length ? left : length", "length", *SQUARES),
    ("the range after a piece's", SLICES, "numbers[middle] <= value", "numbers[middle] < value", *SQUARES),
    ("the second launch writes where the first did", Q, "    to += ranges.size;\n", "", *SQUARES),
    ("a sum of one split too many", C, "from < gridDim.y ? partial", "from <= gridDim.y ? partial", *SUMS),
    ("a row too far", C, "(count - 1) * stride < rows", "(count - 1) * stride <= rows", *SUMS),
    ("no mask of channels", C, "  if (channel < channels) {\n    const TileChannels",
     "  {\n    const TileChannels", *SUMS),
    ("no mask of the tile's end", C, "thread >= kChannels || channel >= end", "thread >= kChannels", *NORM),
    ("past the end", L, "before + count - end; k", "before + count - end + 1; k", "activations", "elementwise",
     "accumulate"),
    ("wide accesses that are not aligned", L, "% sizeof(Pack<One, width>) / sizeof(One);",
     "% sizeof(Pack<One, width>) / sizeof(One) % 2;", "activations", "elementwise", "accumulate"),
    ("two threads for an element", L, "return std::size_t(gridDim.x) * blockDim.x;",
     "return std::size_t(gridDim.x) * blockDim.x - 1;", "elementwise", "conversions", "update_running"),
    ("an index of 32 bits", L, "return first + std::size_t(k) * step;",
     "return unsigned(first + std::size_t(k) * step);", "activations", "large", "add_activations"),
    ("a window beyond the image", "pooling.cu", "row < w.in.height &&", "row <= w.in.height &&", "pooling", "images",
     "max_pool"),
    ("a window beyond the row", "make_batch.cu", "at < w.row;", "at <= w.row;", "make_batch", "images", "unroll_rows"),
    ("a window before the row", "make_batch.cu", "at >= 0 &&", "at >= -1 &&", "make_batch", "images", "unroll_rows"),
    ("no zeros after a window", "make_batch.cu", "first + k < w.values && ", "", "make_batch", "images", "unroll_rows"),
    ("packed values of the first tensor for all", E, "nullptr : packed + begin;", "nullptr : packed;", *LARS),
    ("a slice that is too long", SLICES, "slices.at[k].count;", "slices.at[k].count + 1;", *LARS),
    ("blocks of the slice before", SLICES, "numbers[middle] <= value", "numbers[middle] < value", *LARS),
    ("a slice's blocks go past its end", SLICES, "first_block[k + 1] : blocks;", "blocks : blocks;", *LARS),
    ("no packs of a slice's own", SLICES, "(before - slices.at[k].begin) % width;", "before % width;", *LARS),
    ("gradients in bf16 are not taken", E, "arrays.at(begin, narrow, rule)", "arrays.at(begin, gradients, rule)", *SGD),
    ("a unit too many", D, "unit + d.pairs() < d.units ?", "unit + d.pairs() <= d.units ?", *DENSE),
    ("an input too many", D, "WarpThreads(), d.inputs,", "WarpThreads(), d.inputs + 1,", *DENSE),
    # Shapes of launches: blocks, threads, steps.
    ("a block too few", L, "std::min((work - 1) / kBlockThreads + 1, kMaxBlocks)",
     "std::clamp<std::size_t>((work - 1) / kBlockThreads, 1, kMaxBlocks)", *SHAPES),
    ("a warp too few", L, "dim3(unsigned(blocks)), dim3(kBlockThreads)",
     "dim3(unsigned(blocks)), dim3(kBlockThreads - 32)", *SHAPES),
    ("a row of blocks too few", C, "unsigned(std::min(useful, most))",
     "unsigned(std::clamp<std::size_t>(useful - 1, 1, most))", *SHAPES),
    ("a slice's blocks too few", SLICES, "std::min(pieces(slice.count, elements), kMaxBlocks)",
     "std::min((slice.count + elements / 2) / elements, kMaxBlocks)", *SGD),
    ("no block for what is little", L, "(work - 1) / kBlockThreads + 1", "work / kBlockThreads", *ADD),
    ("a thread at the end too many", L, "i < count; i += index_stride()", "i <= count; i += index_stride()",
     "softmax_loss", "losses", "softmax_cross_entropy"),
    ("the last element is left", L, "k < before + count - end; k", "k + 1 < before + count - end; k", *ADD),
    ("a step too long", L, "return std::size_t(gridDim.x) * blockDim.x;",
     "return std::size_t(gridDim.x) * blockDim.x + 1;", "elementwise", "conversions", "update_running"),
    ("a row too far at each step", C, "stride = gridDim.y * blockDim.y;", "stride = gridDim.y * blockDim.y + 1;",
     *SUMS),
    ("shared memory for half the threads", S, "shared[2][kBlockThreads];", "shared[2][kBlockThreads / 2];",
     "softmax_loss", "losses", "sum_losses"),
    ("shared memory for all threads but one", C, "shared[kSums * kBlockThreads * width];",
     "shared[kSums * kBlockThreads * width - 1];", *SUMS),
    # Values.
    ("a lane is not added", L, "distance = kWarpLanes / 2", "distance = kWarpLanes / 4", *DENSE),
    ("the first unit's bias for both", D, "d.bias[other]", "d.bias[unit]", *DENSE),
    ("gradients in place of packed values", E, "w.at(k, i)); });\n    narrow.store(packed",
     "g.at(k, i)); });\n    narrow.store(packed", *SGD),
    ("the first tensor's norm for all", E, "value_squares[k], gradient", "value_squares[0], gradient", *LARS),
    ("halves of a pair swapped", L, "pair_from_floats(pair, first, second)",
     "pair_from_floats(pair, second, first)", *ADD),
    ("the low half of a word twice", L, ": word & 0xffff0000U;", ": word << 16U;", *ADD),
    ("a sum that is not atomic", E, "atomicAdd(sum, mine)", "*sum += mine", *HASH),
    ("a shuffle too short", L, "0xffffffffU, sum, distance)", "0xffffffffU, sum, distance / 2)", *HASH),
    ("a shuffle in a branch", E, "  mine = lanes_sum(mine);",
     "  if (first_index() < count) mine = lanes_sum(mine);", *HASH),
    ("the end of the packs rounded up", L, "before + (count - before) / width * width;",
     "before + (count - before + width - 1) / width * width;", *ADD),
    ("statistics without a pivot", "batch_norm.cu", "return kernels::to_float(static_cast<const T*>(w.x)[c]); }",
     "return 0.0F * kernels::to_float(static_cast<const T*>(w.x)[c]); }", *NORM),
    ("no pivot in the mean", "batch_norm.cu", "float(channel(c) + shift)", "float(shift)", *NORM),
)]


def shorten(path):
    """Batch norm without the kernels that take nvcc longest."""
    text = re.sub(r"\nvoid norm_apply\(.*?(?=\nvoid column_sums\()",
                  "\nvoid norm_apply(const NormWork&, cudaStream_t) {}\n"
                  "void norm_gradient_sums(const NormWork&, const NormGradient&, cudaStream_t) {}\n"
                  "void norm_input_gradient(const NormWork&, const NormGradient&, cudaStream_t) {}\n",
                  path.read_text(), flags=re.S)
    path.write_text(text)


def put_in(mutant, tree):
    """Whether the wording was there, once."""
    shutil.copytree(ROOT / "cuda/kernels", tree / "cuda/kernels")
    path = tree / "cuda/kernels" / mutant.file
    text = path.read_text()
    if text.count(mutant.before) != 1:
        return False
    path.write_text(text.replace(mutant.before, mutant.after))
    if mutant.unit == "batch_norm":
        shorten(tree / "cuda/kernels/batch_norm.cu")
    return True


def link_command(build, target):
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True, capture_output=True,
                              text=True).stdout
    return commands.splitlines()[-1]


def program_of(mutant, build, work):
    """The sweep or the table of launches with this mutant in it, or None if it does not compile."""
    unit = work / "mutant.o"
    source = work / "tree/cuda/kernels" / f"{mutant.unit}.cu"
    done = subprocess.run(["nvcc", *NVCC, *INCLUDES, "-I", work / "tree", "-c", source, "-o", unit])
    if done.returncode != 0:
        return None
    target = f"tests/ptx/{'shapes' if mutant.part == 'shapes' else 'sweep'}_ptx"
    link = link_command(build, target).replace(f"-o {target}", f"-o {work}/program {unit}")
    subprocess.run(link, shell=True, cwd=build, check=True)
    return work / "program"


def first_fault(program, how, mutant):
    """What a sweep sees first, or None."""
    try:
        done = subprocess.run([program, how, mutant.part, mutant.kernel], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if ": " in line]
    if not lines:
        return f"exit code {done.returncode}"
    reasons = lines[0].split(": ", 1)[1].split("; ")
    findings = [reason for reason in reasons if " at " in reason]  # of the interpreter; others are of the sweep
    return re.split(r" at |: ", (findings or reasons)[0])[0]


def cuts_otherwise(program):
    """Whether blocks are others than the table says."""
    table = {**os.environ, "RUEDA_SHAPES_TABLE": ROOT / "tests/cuda/launches.csv"}
    return subprocess.run([program], env=table, capture_output=True).returncode != 0


def judged(mutant, build):
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if not put_in(mutant, work / "tree"):
            return False, "the wording is not there once", ""
        program = program_of(mutant, build, work)
        if program is None:
            return False, "does not compile", ""
        if mutant.part == "shapes":
            seen = cuts_otherwise(program)
            return seen, "other blocks" if seen else "not seen", ""
        for how in ("quick", "whole"):
            if seen := first_fault(program, how, mutant):
                return True, seen, how
        return False, "not seen", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--only", default="", help="only the faults whose name has this")
    parser.add_argument("--table", action="store_true", help="print Markdown")
    options = parser.parse_args()
    missed = 0
    if options.table:
        print("| fault | file | seen by | as | shapes |\n|---|---|---|---|---|")
    for mutant in MUTANTS:
        if options.only not in mutant.name:
            continue
        seen, what, how = judged(mutant, options.build.resolve())
        missed += not seen
        form = "| {} | `{}` | {} {} | {} | {} |" if options.table else "{}, {}: {} {}: {} {}"
        print(form.format(mutant.name, mutant.file, mutant.part, mutant.kernel, what, how), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
