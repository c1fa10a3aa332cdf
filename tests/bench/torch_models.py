"""The benchmark's networks in PyTorch: ResNet-18 for CIFAR-10, and ResNet-50 V2 as in Keras."""

from torch import nn
from torch.nn import functional

CLASSES = 10
KERAS_EPSILON = 1.001e-5


class BasicBlock(nn.Module):
    """Two 3x3 convolutions; a 1x1 convolution on the shortcut where the shape changes."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels_in != channels:
            conv = nn.Conv2d(channels_in, channels, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(channels))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """3x3 stem, four stages of two blocks, global average pooling."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()
        )
        blocks, channels_in = [], 64
        for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [BasicBlock(channels_in, channels, stride), BasicBlock(channels, channels, 1)]
            channels_in = channels
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(512, CLASSES)

    def forward(self, x):
        return self.linear(self.blocks(self.stem(x)).mean((2, 3)))


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


class ResNet50V2(nn.Module):
    """The stride of a stack is in its last block; the last stack has none."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 7, 2, padding=3)
        self.pool = nn.Sequential(nn.ZeroPad2d(1), nn.MaxPool2d(3, 2))
        blocks, channels_in = [], 64
        for channels, count, stride in ((64, 3, 2), (128, 4, 2), (256, 6, 2), (512, 3, 1)):
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


MODELS = {"resnet18": ResNet18, "resnet50v2": ResNet50V2}
