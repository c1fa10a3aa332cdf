#!/usr/bin/env python3
"""Computes the references of what torchvision does to images, of rueda's draws, and of SGD.

usage: torch_preprocessing.py FOLDER
"""

import sys

import numpy as np
import torch
import torchvision
from torchvision import transforms
from torchvision.transforms import functional

import formula
import reference_file
from torch_reference import DEVIATION, MEAN

IMAGES = 4
# Origin of the crop in the image padded by 4, and whether it is flipped.
CROPS = (
    (4, 4, False),
    (4, 4, True),
    (0, 0, False),
    (8, 8, False),
    (0, 8, True),
    (8, 0, True),
    (3, 6, False),
    (7, 1, True),
)
RATES = (0.1, 0.2, 0.05, 0.4, 0.01, 0.1)


def versions(*modules):
    return {m.__name__: m.__version__.split("+", maxsplit=1)[0] for m in modules}


def normalised():
    """ToTensor and Normalize, and how far float32 is from the same in float64."""
    pipeline = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)])
    pixels = formula.images(0, IMAGES)
    values = np.stack([pipeline(image).numpy() for image in np.moveaxis(pixels, 1, 3)])
    mean, deviation = (np.array(v).reshape(3, 1, 1) for v in (MEAN, DEVIATION))
    exact = (pixels / 255.0 - mean) / deviation
    return {
        **formula.digest("normalised", exact),
        "framework_error": reference_file.rounded(formula.relative_error(values, exact)),
    }


def cropped(top, left, flip):
    """pad, crop and hflip, before normalisation."""
    images = torch.from_numpy(formula.images(0, IMAGES))
    result = functional.crop(functional.pad(images, [4]), top, left, 32, 32)
    result = functional.hflip(result) if flip else result
    name = f"crop {top} {left} {flip}"
    return {
        "name": name,
        "top": top,
        "left": left,
        "flip": flip,
        **formula.digest(name, result.numpy()),
    }


def draws(seed, epoch, count):
    """The augmentation of samples 0 ... count - 1: (shift_y, shift_x, flip)."""
    random = formula.random_bits(seed, 0x6175676D, epoch, np.arange(count, dtype=np.uint64))
    shift_y = formula.to_below(random, 9).astype(int) - 4
    shift_x = formula.to_below(random << np.uint64(20), 9).astype(int) - 4
    flip = (random >> np.uint64(3)).astype(int) & 1
    return np.stack([shift_y, shift_x, flip], axis=1).tolist()


def sgd(momentum, weight_decay, nesterov):
    """torch.optim.SGD over 6 steps with changing rates: the values after each step."""
    values = torch.from_numpy(formula.unit("sgd/values", 32)).requires_grad_()
    gradients = torch.from_numpy(formula.unit("sgd/gradients", 32 * len(RATES)).reshape(-1, 32))
    options = {"momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov}
    optimizer = torch.optim.SGD([values], lr=RATES[0], **options)
    steps = []
    for rate, gradient in zip(RATES, gradients, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        values.grad = gradient.clone()
        optimizer.step()
        steps.append(values.tolist())
    return {**options, "rates": list(RATES), "values": steps}


def main(folder):
    preprocessing = {
        "versions": versions(torch, torchvision),
        "images": IMAGES,
        "normalised": normalised(),
        "crops": [cropped(*crop) for crop in CROPS],
        "draws": {"seed": 1, "epoch": 2, "samples": draws(1, 2, 64)},
    }
    reference_file.write(folder, "preprocessing", preprocessing)
    optimizer = {
        "versions": versions(torch),
        "cases": [sgd(0.9, 5e-4, False), sgd(0.9, 5e-4, True), sgd(0.0, 0.0, False)],
    }
    reference_file.write(folder, "sgd", optimizer)


if __name__ == "__main__":
    main(*sys.argv[1:])
