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


def basic_block(x, channels, stride, pads):
    """Two 3x3 convolutions; where the shape changes, the shortcut pads channels or is a 1x1 convolution."""
    y = layers.ReLU()(conv_bn(x, channels, 3, stride))
    y = conv_bn(y, channels, 3, 1)
    if stride != 1 or x.shape[-1] != channels:
        half = (channels - x.shape[-1]) // 2
        padding = [[0, 0], [0, 0], [0, 0], [half, half]]
        x = keras.ops.pad(x[:, ::stride, ::stride], padding) if pads else conv_bn(x, channels, 1, stride)
    return layers.ReLU()(layers.Add()([x, y]))


def cifar_resnet(side, stages, blocks, pads):
    """3x3 stem, stages of basic blocks, global average pooling."""
    image = keras.Input((side, side, 3))
    x = layers.ReLU()(conv_bn(image, stages[0], 3, 1))
    for channels in stages:
        for block in range(blocks):
            x = basic_block(x, channels, 1 if block or channels == stages[0] else 2, pads)
    return keras.Model(image, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(x)))


def resnet50v2(side):
    return keras.applications.ResNet50V2(
        weights=None, classes=CLASSES, input_shape=(side, side, 3), classifier_activation=None
    )


MODELS = {
    "resnet20": lambda side: cifar_resnet(side, (16, 32, 64), 3, pads=True),
    "resnet18": lambda side: cifar_resnet(side, (64, 128, 256, 512), 2, pads=False),
    "resnet50v2": resnet50v2,
}


def make_batches(task):
    """Resized and normalised images (N, H, W, C), labels; a pair per batch."""
    pixels, labels = read_images(task["data"], task["batches"] * task["batch"])
    images = tf.constant(normalise(pixels).transpose(0, 2, 3, 1))
    for begin in range(0, len(labels), task["batch"]):
        end = begin + task["batch"]
        resized = tf.image.resize(images[begin:end], [task["image_size"]] * 2)
        yield resized, tf.constant(labels[begin:end])


def make_step(model, optimizer, with_xla):
    """One compiled function for the whole step, without what else train_on_batch does."""

    @tf.function(jit_compile=with_xla)
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
    train_step = make_step(model, optimizer, bool(task["compile"]))
    versions = {"Keras": keras.__version__, "TensorFlow": tf.__version__}
    report = time_steps(task, batches, lambda images, labels: float(train_step(images, labels)), versions)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
