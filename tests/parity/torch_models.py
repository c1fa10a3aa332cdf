"""The CIFAR networks in PyTorch, written from the papers; names as in rueda's graphs."""

import torch
from torch import nn
from torch.nn import functional as F


def conv3x3(inputs, filters, stride):
    return nn.Conv2d(inputs, filters, 3, stride=stride, padding=1, bias=False)


class PadShortcut(nn.Module):
    """He et al.'s shortcut without parameters ("option A")."""

    def __init__(self, filters, stride):
        super().__init__()
        self.filters = filters
        self.stride = stride

    def forward(self, x):
        before = (self.filters - x.shape[1]) // 2
        after = self.filters - x.shape[1] - before
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, after))


def projection(inputs, filters, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, filters, 1, stride=stride, bias=False), nn.BatchNorm2d(filters)
    )


class BasicBlock(nn.Module):
    """conv-bn-relu-conv-bn, plus the shortcut, then relu."""

    def __init__(self, inputs, filters, stride, shortcut):
        super().__init__()
        self.conv1 = conv3x3(inputs, filters, stride)
        self.bn1 = nn.BatchNorm2d(filters)
        self.conv2 = conv3x3(filters, filters, 1)
        self.bn2 = nn.BatchNorm2d(filters)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != filters:
            self.shortcut = shortcut(inputs, filters, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.shortcut(x))


class CifarResNet(nn.Module):
    """A stem of 3x3, stages of basic blocks, global average pooling, a linear classifier."""

    def __init__(self, filters, blocks, shortcut, classes=10):
        super().__init__()
        self.conv1 = conv3x3(3, filters[0], 1)
        self.bn1 = nn.BatchNorm2d(filters[0])
        inputs = filters[0]
        for s, width in enumerate(filters, 1):
            stage = []
            for b in range(blocks):
                stride = 2 if b == 0 and s > 1 else 1
                stage.append(BasicBlock(inputs, width, stride, shortcut))
                inputs = width
            self.add_module(f"layer{s}", nn.Sequential(*stage))
        self.stages = len(filters)
        self.linear = nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for s in range(1, self.stages + 1):
            x = getattr(self, f"layer{s}")(x)
        return self.linear(torch.mean(x, (2, 3)))


def build(name):
    """resnet18 of kuangliu/pytorch-cifar, or resnet20 of He et al."""
    if name == "resnet18":
        return CifarResNet([64, 128, 256, 512], 2, projection)
    return CifarResNet([16, 32, 64], 3, lambda _, filters, stride: PadShortcut(filters, stride))
