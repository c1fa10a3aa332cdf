"""rueda's weights into PyTorch's ResNet-18, and its into rueda.

usage: torch_exchange.py RUEDA
"""

import exchange
import torch
import torch_models
from safetensors.torch import load_file, save_file
from torch.nn import functional


class Model:
    def __init__(self):
        torch.manual_seed(4)
        self.net = torch_models.build("resnet18")

    def load(self, path):
        self.net.load_state_dict(load_file(path))

    def save(self, path):
        save_file(self.net.state_dict(), path)

    def loss(self, images, labels, training):
        mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
        deviation = torch.tensor([0.2023, 0.1994, 0.2010]).view(1, 3, 1, 1)
        self.net.train(training)
        with torch.no_grad():
            logits = self.net((torch.from_numpy(images) - mean) / deviation)
        return functional.cross_entropy(logits, torch.from_numpy(labels)).item()


if __name__ == "__main__":
    exchange.main("resnet18", "cifar10", Model)
