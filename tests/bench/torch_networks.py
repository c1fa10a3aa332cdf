"""The benchmark's networks in PyTorch: ResNet-18 for CIFAR-10, and the ResNets V2 as in Keras."""

import sys
from pathlib import Path

from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "parity"))

import torch_models  # noqa: E402

CLASSES = 10
# Blocks of each stack.
V2_COUNTS = {"resnet50v2": (3, 4, 6, 3), "resnet101v2": (3, 4, 23, 3), "resnet152v2": (3, 8, 36, 3)}
KERAS_EPSILON = 1.001e-5


class PreActivationBottleneck(nn.Module):
    """1x1, 3x3 with the stride, 1x1; normalised before, biases on the last convolution only."""

    def __init__(self, channels_in, channels, stride, shortcut_by_convolution):
        super().__init__()
        channels_out = 4 * channels
        self.preact_bn = nn.BatchNorm2d(channels_in, eps=KERAS_EPSILON)
        self.conv1 = nn.Conv2d(channels_in, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels, eps=KERAS_EPSILON)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels, eps=KERAS_EPSILON)
        self.conv3 = nn.Conv2d(channels, channels_out, 1)
        self.conv0 = nn.Conv2d(channels_in, channels_out, 1) if shortcut_by_convolution else None
        self.pool = nn.MaxPool2d(1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        activated = functional.relu(self.preact_bn(x))
        shortcut = self.conv0(activated) if self.conv0 else self.pool(x)
        y = functional.relu(self.bn1(self.conv1(activated)))
        y = functional.relu(self.bn2(self.conv2(y)))
        return self.conv3(y) + shortcut


class ResNetV2(nn.Module):
    """Four stacks of so many blocks. The stride of a stack is in its last block; the last has none."""

    def __init__(self, counts):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 7, 2, padding=3)
        self.pool = nn.Sequential(nn.ZeroPad2d(1), nn.MaxPool2d(3, 2))
        blocks, channels_in = [], 64
        for channels, count, stride in zip((64, 128, 256, 512), counts, (2, 2, 2, 1)):
            for i in range(count):
                own_stride = stride if i == count - 1 else 1
                blocks.append(PreActivationBottleneck(channels_in, channels, own_stride, i == 0))
                channels_in = 4 * channels
        self.blocks = nn.Sequential(*blocks)
        self.post_bn = nn.BatchNorm2d(channels_in, eps=KERAS_EPSILON)
        self.predictions = nn.Linear(channels_in, CLASSES)

    def forward(self, x):
        y = self.blocks(self.pool(self.stem(x)))
        return self.predictions(functional.relu(self.post_bn(y)).mean((2, 3)))


def build(name):
    """One of V2_COUNTS, or a network of tests/parity."""
    return ResNetV2(V2_COUNTS[name]) if name in V2_COUNTS else torch_models.build(name)
