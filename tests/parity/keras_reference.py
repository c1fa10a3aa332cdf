#!/usr/bin/env python3
"""Computes the references of the networks that come from Keras, and of tf.image.resize.

usage: keras_reference.py FOLDER [MODEL...]
"""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import formula
import keras_run
import measure

THREADS = (1, 2)
LAYER_FACTS = ("filters", "kernel_size", "strides", "padding", "use_bias", "epsilon", "momentum", "pool_size", "units")
IMAGES = 4
SIZES = (128, 48, 20, 33)
SAMPLES = 16


def run(name, dtype, threads):
    """The results of keras_run.py."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "results")
        command = [sys.executable, Path(__file__).with_name("keras_run.py")]
        subprocess.run([*command, name, dtype, str(threads), file], check=True)
        return pickle.loads(file.read_bytes())


def layers(model):
    """What a graph of the same network must have, layer by layer."""
    listed = []
    for layer in model.layers:
        config = layer.get_config()
        facts = {key: config[key] for key in LAYER_FACTS if key in config}
        listed.append({"name": layer.name, "class": type(layer).__name__, **facts})
    return listed


def tensors(model):
    """The list of parameters and running statistics, in the order of model.weights."""
    return [
        {"name": v.path, "shape": list(v.shape), "kind": keras_run.kind_of(v), "trainable": v.trainable}
        for v in model.weights
    ]


def counts(name, listed):
    """The counts with 10 classes, and those of the network as it is published, with 1000."""
    published = measure.counts(tensors(keras_run.empty(name, 224, 1000)))
    return {**measure.counts(listed), **{f"{k}_1000": v for k, v in published.items()}}


def reference(name):
    """What is stored of a network."""
    count, sgd = keras_run.MODELS[name]
    exact = run(name, "float64", 2)
    runs = [run(name, "float32", threads) for threads in THREADS]
    model = keras_run.empty(name)
    listed = tensors(model)
    result = {
        "model": name,
        "origin": "keras",
        "versions": {"keras": keras.__version__, "tensorflow": tf.__version__},
        "batch": count,
        "image_size": keras_run.IMAGE_SIZE,
        "seed": formula.SEED,
        "counts": counts(name, listed),
        "tensors": listed,
        "layers": layers(model),
        "step": measure.step(exact["step"], [r["step"] for r in runs]),
    }
    if sgd is not None:
        result["train"] = measure.train(exact["train"], [r["train"] for r in runs], sgd)
    return result


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
        "framework_error": measure.rounded(formula.relative_error(values, exact)),
    }


def main(folder, *names):
    versions, sizes = {"tensorflow": tf.__version__}, [resized(size) for size in SIZES]
    measure.write(folder, "resize", {"versions": versions, "images": IMAGES, "sizes": sizes})
    for name in names or keras_run.MODELS:
        measure.write(folder, name, reference(name))
        print(f"{name}: written", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
