#!/usr/bin/env python3
"""One run of a Keras network, in a process of its own because TensorFlow fixes its threads at start.

usage: keras_run.py MODEL float64|float32 THREADS FILE

Writes the results to FILE with pickle; keras_reference.py starts it and reads them.
"""

import os
import pickle
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import formula
import measure

# Batch, and the optimizer of the recipe or None where only forward passes are compared.
MODELS = {
    "resnet50v2": (4, measure.Sgd(0.01, 0.0, 0.0, gentle_rate=1e-5)),
    "resnet101v2": (2, None),
    "resnet152v2": (2, None),
}
IMAGE_SIZE = 128
SMALL_GAIN = 0.01
BUILDERS = {
    "resnet50v2": keras.applications.ResNet50V2,
    "resnet101v2": keras.applications.ResNet101V2,
    "resnet152v2": keras.applications.ResNet152V2,
}


def empty(name, image_size=IMAGE_SIZE, classes=10):
    """A network of Keras that returns logits."""
    keras.backend.clear_session()
    return BUILDERS[name](
        weights=None,
        input_shape=(image_size, image_size, 3),
        classes=classes,
        classifier_activation=None,
    )


def kind_of(variable):
    """What a variable is, in the words of formula.tensor."""
    last = variable.path.rsplit("/", maxsplit=1)[1]
    if last in ("kernel", "bias"):
        return ("dense_" if variable.path.startswith("predictions") else "conv_") + last
    return last.removeprefix("moving_")


def build(name, gain):
    """A network filled by the formula."""
    model = empty(name)
    for v in model.weights:
        v.assign(formula.tensor(v.path, tuple(v.shape), kind_of(v), gain, "keras"))
    return model


def resized(pixels):
    """Images (N, 3, 32, 32) as Keras sees them: resized, channels last."""
    return tf.image.resize(np.moveaxis(pixels, 1, 3), (IMAGE_SIZE, IMAGE_SIZE)).numpy()


def batch(first, count):
    """Images in 0 ... 1 and their labels.

    The resize computes in float32. Of whole pixels to a multiple of 32 it is exact, so in float64
    the division comes after it; in float32 it comes before, as in programs that use Keras.
    """
    pixels = formula.images(first, count)
    if keras.config.floatx() == "float64":
        images = resized(pixels.astype(np.float32)).astype(np.float64) / 255.0
    else:
        images = resized(pixels.astype(np.float32) / np.float32(255.0))
    return tf.constant(images), formula.labels(first, count)


def forward(model, images, labels, training):
    logits = model(images, training=training)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return logits, tf.reduce_mean(losses)


def numbers(logits, loss):
    return logits.numpy(), float(loss)


def arrays(variables):
    return {v.path: v.numpy() for v in variables}


def gradients(model, images, labels):
    """Logits, loss and gradients of one training step."""
    with tf.GradientTape() as tape:
        logits, loss = forward(model, images, labels, True)
    return logits, loss, tape.gradient(loss, [v.value for v in model.trainable_variables])


def run_step(name, count, backward):
    """Inference, and one training step without an update."""
    model = build(name, SMALL_GAIN)
    images, labels = batch(0, count)
    result = {"inference": numbers(*forward(model, images, labels, False))}
    if not backward:
        result["training"] = numbers(*forward(model, images, labels, True))
        return result
    logits, loss, grads = gradients(model, images, labels)
    result["training"] = numbers(logits, loss)
    paths = [v.path for v in model.trainable_variables]
    result["gradients"] = {path: g.numpy() for path, g in zip(paths, grads, strict=True)}
    result["statistics"] = arrays(model.non_trainable_variables)
    return result


def train_on(model, optimizer, images, labels):
    """One training step; its logits and loss."""
    logits, loss, grads = gradients(model, images, labels)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return numbers(logits, loss)


def run_train(name, count, sgd):
    """Two steps on one batch, and from the same beginning 20 steps on different ones."""
    def start(rate):
        return build(name, 1.0), keras.optimizers.SGD(rate, sgd.momentum)

    model, optimizer = start(sgd.learning_rate)
    result = {"training": train_on(model, optimizer, *batch(0, count))}
    result["updated"] = arrays(model.trainable_variables)
    train_on(model, optimizer, *batch(0, count))
    result["updated_twice"] = arrays(model.trainable_variables)
    model, optimizer = start(sgd.gentle_rate)
    steps = (batch(s * count, count) for s in range(measure.LOSSES))
    result["losses"] = [train_on(model, optimizer, *step)[1] for step in steps]
    return result


def main(name, dtype, threads, file):
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.config.set_floatx(dtype)
    count, sgd = MODELS[name]
    result = {"step": run_step(name, count, sgd is not None)}
    if sgd is not None:
        result["train"] = run_train(name, count, sgd)
    Path(file).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
