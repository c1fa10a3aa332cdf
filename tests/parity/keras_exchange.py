"""rueda's weights into Keras' ResNet50V2, and its into rueda.

usage: keras_exchange.py RUEDA
"""

import exchange
import keras
import numpy as np
from safetensors.numpy import load_file, save_file


class Model:
    def __init__(self):
        keras.utils.set_random_seed(5)
        self.net = keras.applications.ResNet50V2(
            weights=None, classes=10, input_shape=(32, 32, 3), classifier_activation=None
        )

    def load(self, path):
        weights = load_file(path)
        for variable in self.net.weights:
            variable.assign(weights.pop(variable.path))
        assert not weights, f"unknown to the model: {list(weights)}"

    def save(self, path):
        save_file({v.path: v.numpy() for v in self.net.weights}, path)

    def loss(self, images, labels, training):
        logits = np.asarray(self.net(images.transpose(0, 2, 3, 1), training=training), np.float64)
        logits -= logits.max(1, keepdims=True)
        rows = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return -rows[np.arange(len(labels)), labels].mean()


if __name__ == "__main__":
    exchange.main("resnet50v2", "scale", Model)
