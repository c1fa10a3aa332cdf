#!/usr/bin/env python3
"""Trains the benchmark's steps with Keras on TensorFlow; prints their seconds and losses as JSON.

usage: keras_worker.py TASK    (JSON, from frameworks.py)
"""

import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import tensorflow as tf
from images import normalise, read_images, time_steps
from keras import layers

CLASSES = 10


def conv_bn(x, channels, kernel, stride):
    x = layers.Conv2D(channels, kernel, stride, padding="same", use_bias=False)(x)
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def basic_block(x, channels, stride):
    """Two 3x3 convolutions; a 1x1 convolution on the shortcut where the shape changes."""
    y = layers.ReLU()(conv_bn(x, channels, 3, stride))
    y = conv_bn(y, channels, 3, 1)
    if stride != 1 or x.shape[-1] != channels:
        x = conv_bn(x, channels, 1, stride)
    return layers.ReLU()(layers.Add()([x, y]))


def resnet18(side):
    """3x3 stem, four stages of two blocks, global average pooling."""
    image = keras.Input((side, side, 3))
    x = layers.ReLU()(conv_bn(image, 64, 3, 1))
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        x = basic_block(basic_block(x, channels, stride), channels, 1)
    return keras.Model(image, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(x)))


def resnet50v2(side):
    return keras.applications.ResNet50V2(
        weights=None, classes=CLASSES, input_shape=(side, side, 3), classifier_activation=None
    )


MODELS = {"resnet18": resnet18, "resnet50v2": resnet50v2}


def make_batches(task):
    """Resized and normalised images (N, H, W, C), labels; a pair per batch."""
    pixels, labels = read_images(task["data"], task["batches"] * task["batch"])
    images = tf.constant(normalise(pixels).transpose(0, 2, 3, 1))
    for begin in range(0, len(labels), task["batch"]):
        end = begin + task["batch"]
        resized = tf.image.resize(images[begin:end], [task["image_size"]] * 2)
        yield resized, tf.constant(labels[begin:end])


def make_step(model, optimizer):
    """One compiled function for the whole step, without what else train_on_batch does."""

    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            logits = tf.cast(model(images, training=True), tf.float32)
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(entropy)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    return train_step


def main():
    task = json.loads(sys.argv[1])
    tf.config.threading.set_intra_op_parallelism_threads(task["threads"])
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy("mixed_bfloat16" if task["precision"] == "bf16" else "float32")
    batches = list(make_batches(task))
    model = MODELS[task["model"]](task["image_size"])
    optimizer = keras.optimizers.SGD(task["lr"], momentum=task["momentum"])
    optimizer.build(model.trainable_variables)
    train_step = make_step(model, optimizer)
    versions = {"Keras": keras.__version__, "TensorFlow": tf.__version__}
    time_steps(task, batches, lambda images, labels: float(train_step(images, labels)), versions)


if __name__ == "__main__":
    main()
