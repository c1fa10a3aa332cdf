#!/usr/bin/env python3
"""Computes the references of tf.image.resize.

usage: keras_preprocessing.py FOLDER
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

import formula
import reference_file

IMAGES = 4
SIZES = (128, 48, 20, 33)
SAMPLES = 16


def weights(size):
    """The matrix (size, 32) of bilinear interpolation with half-pixel centres."""
    centres = np.maximum((np.arange(size) + 0.5) * 32 / size - 0.5, 0.0)
    low = np.floor(centres).astype(int)
    high = np.minimum(low + 1, 31)
    matrix = np.zeros((size, 32))
    matrix[np.arange(size), low] += 1.0 - (centres - low)
    matrix[np.arange(size), high] += centres - low
    return matrix


def resized(size):
    """The digest of the images in `size` by `size` pixels, channels first, values in 0 ... 1.

    TensorFlow interpolates in float32 only. What is stored is the same in float64, and how far
    TensorFlow is from it.
    """
    pixels = formula.images(0, IMAGES)
    values = tf.image.resize(np.moveaxis(pixels, 1, 3).astype(np.float32) / 255, (size, size))
    values = np.moveaxis(values.numpy(), 3, 1)
    exact = np.einsum("yi,ncij,xj->ncyx", weights(size), pixels / 255.0, weights(size))
    name = f"resized {size}"
    return {
        "name": name,
        "size": size,
        **formula.digest(name, exact),
        "samples": formula.samples(name, exact, SAMPLES),
        "framework_error": reference_file.rounded(formula.relative_error(values, exact)),
    }


def main(folder):
    resize = {
        "versions": {"tensorflow": tf.__version__},
        "images": IMAGES,
        "sizes": [resized(size) for size in SIZES],
    }
    reference_file.write(folder, "resize", resize)


if __name__ == "__main__":
    main(*sys.argv[1:])
