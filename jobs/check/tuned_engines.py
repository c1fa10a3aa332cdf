#!/usr/bin/env python3
"""What the convolutions of a tuning file took, beside the roofline of the GPU.

usage: jobs/check/tuned_engines.py TUNING.json [--flops 803e12] [--bytes 3.02e12] [--most 20]

--flops and --bytes are the rates of a large product and of a copy, a second; the defaults are an H100's in bf16. Prints
the convolutions that lose most against max(FLOPs / rate, bytes / rate), and the constants of

    fixed + max(FLOPs / (rate x share x side / (side + half)), bytes / rate)

that fit best, by least squares of the logarithm. Side: the shorter side of the weights as a matrix. Left out of the
fit: plans with an epilogue, and the convolutions of a network's image, padded or as windows of its rows.
"""

import argparse
import itertools
import json
import math
import re
from dataclasses import dataclass

KEY = re.compile(
    r"(forward|data gradient|weight gradient) bf16 (\d+)x(\d+)x(\d+)x(\d+) by (\d+)x\d+x(\d+)x(\d+) "
    r"stride (\d+)(?:x(\d+))? padding (\d+)(?:x(\d+))?(.*)"
)
PADDED_IMAGE = 8  # channels, in files that were written before images were read by windows
FIXED = [micro * 1e-6 for micro in range(6, 25)]
SHARES = [percent / 100 for percent in range(75, 100, 3)]  # larger ones fit as well, and mean nothing
HALVES = range(10, 90, 8)


@dataclass
class Timed:
    name: str
    flops: float
    bytes: float
    side: int
    fits: bool  # counts in the fit
    engine: str
    seconds: float

    def floor(self, flops, copied):
        return max(self.flops / flops, self.bytes / copied)

    def modelled(self, flops, copied, fixed, share, half):
        return fixed + max(self.flops / (flops * share * self.side / (self.side + half)), self.bytes / copied)


def timed(name, engines):
    """Nothing for what is no convolution in bf16."""
    match = KEY.fullmatch(name)
    if match is None:
        return None
    what, epilogue = match[1], match[13]
    images, channels, height, width, filters, rows, columns, down = (int(match[i]) for i in range(2, 10))
    across = int(match[10] or down)
    out = images * -(-height // down) * -(-width // across)
    touched = images * height * width if max(rows, columns) >= down else out
    weights = filters * channels * rows * columns
    moved = touched * channels + out * filters * (2 if "residual" in epilogue else 1) + weights
    inner, outer = (filters, channels) if what == "data gradient" else (channels, filters)
    engine = min(engines, key=engines.get)
    return Timed(name, 2.0 * out * weights, 2.0 * moved, min(outer, inner * rows * columns),
                 not epilogue and channels != PADDED_IMAGE and rows == columns, engine, engines[engine])  # fmt: skip


def fit(found, flops, copied):
    """The constants, and the root of the mean square of log(model / measured)."""

    def error(constants):
        return sum(math.log(one.modelled(flops, copied, *constants) / one.seconds) ** 2 for one in found)

    best = min(itertools.product(FIXED, SHARES, HALVES), key=error)
    return best, math.sqrt(error(best) / len(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--flops", type=float, default=803e12)
    parser.add_argument("--bytes", type=float, default=3.02e12)
    parser.add_argument("--most", type=int, default=20, help="lines of the table")
    given = parser.parse_args()
    with open(given.file, encoding="utf-8") as file:
        content = json.load(file)
    found = [one for key, engines in content["seconds"].items() if (one := timed(key, engines))]
    print("| lost us | took us | floor us | share | engine | convolution |\n|---:|---:|---:|---:|---|---|")
    for one in sorted(found, key=lambda one: one.floor(given.flops, given.bytes) - one.seconds)[: given.most]:
        floor = one.floor(given.flops, given.bytes)
        print(f"| {1e6 * (one.seconds - floor):.0f} | {1e6 * one.seconds:.0f} | {1e6 * floor:.0f} "
              f"| {100 * floor / one.seconds:.0f} % | `{one.engine}` | {one.name} |")  # fmt: skip
    fitted = [one for one in found if one.fits]
    (fixed, share, half), spread = fit(fitted, given.flops, given.bytes)
    print(f"\n{content['device']}, cuDNN {content['cudnn']}: {len(fitted)} of {len(found)} convolutions fit "
          f"{1e6 * fixed:.0f} us + max(FLOPs / (rate x {share:.2f} x side / (side + {half})), bytes / rate), to "
          f"{100 * spread:.0f} %")  # fmt: skip


if __name__ == "__main__":
    main()
