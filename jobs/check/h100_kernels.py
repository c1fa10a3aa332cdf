"""The kernels of a step among those that ncu saw in a run on an H100: docs/results/h100/kernels-resnet18-128-bf16.csv.

ncu watched the whole run of one step, and the file is added up by name. It has the hashes of the parameters, the check
for NaN, three packings of weights (two come before the step), and a trial of each plan of cuDNN besides its work in the
step. The tuning file names the engine of each plan. A plan of N layers was launched N + 1 times, so the number of plans
behind a kernel is the number of launches that were trials. Sizes are gone, so a kernel's time and bytes are divided in
proportion to launches.
"""

import csv
import itertools
import re
from dataclasses import dataclass

PLAN = re.compile(r"(forward|data gradient|weight gradient) bf16 128x(\d+)x\d+x\d+ by (\d+)x\d+x(\d+)x\d+ "
                  r"stride (\d+) .*")
# How the name of a convolution's kernel begins and continues, and which engines of which direction launch it.
ENGINES = [
    ("sm90_xmma_fprop_implicit_gemm_.*128x128x64", "forward", "eng62{k2=0,"),
    ("sm90_xmma_fprop_implicit_gemm_.*256x64x32", "forward", "eng62{k2=4,"),
    ("cutlass.*s16816fprop_optimized_bf16_128x128", "forward", "eng45{k2=0,"),
    ("cutlass.*s16816fprop_optimized_bf16_256x64", "forward", "eng45{k2=4,"),
    ("cutlass.*s16816fprop_optimized_bf16_64x128", "forward", "eng45{k2=7,"),
    ("cudnn_generated.*convFwd", "forward", "eng71{"),
    ("sm90_xmma_dgrad_implicit_gemm_bf16.*128x128x64", "data gradient", "eng67{k2=0,"),
    ("sm90_xmma_dgrad_implicit_gemm_bf16.*256x64x32", "data gradient", "eng67{k2=4,"),
    ("sm90_xmma_dgrad_implicit_gemm_indexed.*128x128x64", "data gradient", "eng73{k2=0,"),
    ("sm90_xmma_dgrad_implicit_gemm_indexed.*256x128x64", "data gradient", "eng73{k2=3,"),
    ("sm90_xmma_dgrad_implicit_gemm_indexed.*256x64x64", "data gradient", "eng73{k2=4,"),
    ("cutlass.*s16816dgrad", "data gradient", "eng64{"),
    ("sm80_xmma_dgrad", "data gradient", "eng22{"),
    ("sm90_xmma_wgrad_indexed.*128x64x64.*segment", "weight gradient", "eng65{k2=1,"),
    ("sm90_xmma_wgrad_indexed.*64x64x64.*segment", "weight gradient", "eng65{k2=5,"),
    ("cutlass.*ImplicitGemmConvolution", "weight gradient", "eng49{"),
    ("cudnn_generated.*convBwdFilter", "weight gradient", "eng70{"),
]
# What engines launch besides, and the kernels that it accompanies. The workspace is set up for parts of a sum over
# pixels ("segment_k_on"): the other engines with as many launches ask for none (tests/cuda/cudnn_plans.txt).
HELPERS = [
    ("wgrad_indexed.*tilesize64x64x64.*split_k", "wgrad_indexed.*tilesize64x64x64.*segment_k_on"),
    ("cask_plugin.*init_device_workspace", "wgrad_indexed.*segment_k_on"),
    ("cutlass.*ReduceSplitK", "cutlass.*ImplicitGemmConvolution"),
    ("wgrad_indexed.*tilesize128x64x64.*split_k", None),  # two launches: of one plan that one layer has
]
BEFORE = {"sum_shares": 0, "::Narrow>": 1 / 3, "CopyChannels<kernels::Bfloat16, float>": 1 / 3}  # shares of the step
KINDS = {
    "StatisticsSums": "batch norm: statistics",
    "Apply<": "batch norm: apply",
    "GradientSums<": "batch norm: gradient sums",
    "InputGradient<": "batch norm: input gradient",
    "rueda::": "update, packed copies and other own kernels",
}
CONVOLUTIONS = "convolutions, by cuDNN"
DENSE = "dense layer, by cuBLAS"


@dataclass
class Kernel:
    name: str
    launches: float
    microseconds: float
    megabytes: float

    def times(self, share):
        return Kernel(self.name, self.launches * share, self.microseconds * share, self.megabytes * share)


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [Kernel(row["kernel"], int(row["launches"]), int(row["nanoseconds"]) / 1e3,
                       (int(row["bytes_read"]) + int(row["bytes_written"])) / 1e6)
                for row in csv.DictReader(file)]  # fmt: skip


def layers_of(key):
    """How many convolutions of ResNet-18 are like this one; none of another batch, or with an epilogue."""
    match = PLAN.fullmatch(key)
    if match is None or " + " in key:
        return None
    channels, filters, side, stride = map(int, match.groups()[1:])
    if channels == filters and side == 3 and stride == 1:
        return 4 if channels == 64 else 3
    return 1


def plans_of(engines, direction, engine):
    """The plans of these engines, each with the number of its layers."""
    return [(key, layers) for key, taken in engines.items()
            if (layers := layers_of(key)) and key.startswith(direction) and taken.startswith(engine)]  # fmt: skip


def divide(rows, plans):
    """The number of plans behind each of `rows`, by name, from the launches of each. Fails where there are several."""
    if len(rows) == 1:
        ways = {(len(plans),)} if rows[0].launches == sum(plans) + len(plans) else set()
    else:
        first, second = rows
        ways = {(size, len(plans) - size)
                for size in range(len(plans) + 1) for some in itertools.combinations(plans, size)
                if sum(some) + size == first.launches
                and sum(plans) + len(plans) - first.launches == second.launches}  # fmt: skip
    if len(ways) != 1:
        raise ValueError(f"{rows[0].name}: the launches do not tell which were trials")
    return {row.name: number for row, number in zip(rows, ways.pop())}


def trials(kernels, engines):
    """Of each kernel of a convolution, the number of launches that were the trial of a plan."""
    found = {}
    for pattern, direction, engine in ENGINES:
        rows = [one for one in kernels if re.search(pattern, one.name) and "split_k" not in one.name]
        found.update(divide(rows, [layers for _, layers in plans_of(engines, direction, engine)]))
    main = dict(found)
    for pattern, accompanied in HELPERS:
        for one in (one for one in kernels if re.search(pattern, one.name)):
            names = [name for name in main if accompanied and re.search(accompanied, name)]
            found[one.name] = sum(main[name] for name in names) if names else 1
    return main, found


def beside_tuner(kernels, engines, seconds):
    """Microseconds of a launch by the tuner, less those by ncu, of each group of plans that launch one kernel alone."""
    for pattern, direction, engine in ENGINES:
        rows = [one for one in kernels if re.search(pattern, one.name) and "split_k" not in one.name]
        if any(accompanied and re.search(accompanied, one.name) for _, accompanied in HELPERS for one in rows):
            continue
        tuner = sum(1e6 * min(seconds[key].values()) * (layers + 1)
                    for key, layers in plans_of(engines, direction, engine))
        yield (tuner - sum(one.microseconds for one in rows)) / sum(one.launches for one in rows)


def kind_of(name):
    for sign, kind in KINDS.items():
        if sign in name:
            return kind
    return DENSE


def step(kernels, engines):
    """Kernels of the step by kind, and how many trials there were of plans, and launches of them in all."""
    main, found = trials(kernels, engines)
    kinds = {kind: [] for kind in (CONVOLUTIONS, *KINDS.values(), DENSE)}
    for one in kernels:
        if one.name in found:
            kinds[CONVOLUTIONS].append(one.times(1 - found[one.name] / one.launches))
        else:
            share = next((share for sign, share in BEFORE.items() if sign in one.name), 1)
            kinds[kind_of(one.name)].append(one.times(share))
    sums = {kind: Kernel(kind, *(sum(getattr(one, field) for one in of) for field in
                                 ("launches", "microseconds", "megabytes"))) for kind, of in kinds.items()}  # fmt: skip
    return sums, sum(main.values()), sum(one.launches for one in kernels if one.name in main)
