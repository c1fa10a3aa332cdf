"""How fast a GPU could train a network at best: the sum, over the kernels of a step, of the longer of
what their arithmetic and what their memory traffic takes.

Counted is what conventional fusion leaves (floor F): batch norm, ReLU and residual addition in one
pass, statistics in two, ReLU masks recomputed, the residual read in the convolution's epilogue, the
skip's gradient added inside the batch norm's backward. Every tensor is assumed not to fit the cache.
"""

from dataclasses import dataclass

V2_COUNTS = {"resnet50v2": (3, 4, 6, 3), "resnet101v2": (3, 4, 23, 3), "resnet152v2": (3, 8, 36, 3)}
CLASSES = 10
# Bytes of an element, channels that the image is padded to, and bytes per parameter and step: weights
# read twice, gradient written, then gradient, weight and momentum by the optimizer, and its copy.
PRECISIONS = {"bf16": (2, 8, 2 + 2 + 4 + 4 + 8 + 8 + 2), "tf32": (4, 4, 4 + 4 + 4 + 4 + 8 + 8)}


@dataclass
class Kernel:
    """One pass over memory: floating-point operations, elements read and written; per image."""

    flops: float
    elements: float


class Counter:
    """Collects the kernels of forward and backward, and the number of trainable parameters."""

    def __init__(self, image_channels):
        self.kernels = []
        self.parameters = 0
        self.image_channels = image_channels

    def move(self, *elements):
        self.kernels += [Kernel(0, count) for count in elements]

    def conv(self, side, inputs, outputs, kernel, stride=1, bias=False, first=False):
        """Forward, gradient of the weights, gradient of the input; returns the side of the output."""
        out = (side + 2 * ((kernel - 1) // 2) - kernel) // stride + 1
        stored = self.image_channels if first else inputs
        flops = 2 * kernel * kernel * stored * outputs * out * out
        whole = side * side * stored
        touched = out * out * inputs if kernel == 1 and stride > 1 else whole
        made = out * out * outputs
        self.kernels += [Kernel(flops, touched + made), Kernel(flops, made + touched)]
        if not first:
            self.kernels.append(Kernel(flops, made + whole))
        self.parameters += kernel * kernel * inputs * outputs + (outputs if bias else 0)
        return out

    def batch_norm(self, side, channels, residual=False, forks=False):
        """`residual`: an addition goes with it; `forks`: its input also goes round the block."""
        count = side * side * channels
        self.move(count, count * (3 if residual else 2))
        self.move(2 * count, count * (5 if residual else 4 if forks else 3))
        self.parameters += 2 * channels

    def pool(self, side_in, side_out, channels):
        before, after = side_in * side_in * channels, side_out * side_out * channels
        self.move(before + after, before + 2 * after)

    def classifier(self, side, channels):
        self.move(side * side * channels, side * side * channels)
        self.kernels.append(Kernel(6 * channels * CLASSES, 3 * (channels + CLASSES)))
        self.parameters += channels * CLASSES + CLASSES


def count_resnet18(side, image_channels):
    net = Counter(image_channels)
    side = net.conv(side, 3, 64, 3, first=True)
    net.batch_norm(side, 64)
    inputs = 64
    for channels, stage_stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (stage_stride, 1):
            out = net.conv(side, inputs, channels, 3, stride)
            net.batch_norm(out, channels)
            net.conv(out, channels, channels, 3)
            if stride != 1 or inputs != channels:
                net.conv(side, inputs, channels, 1, stride)
                net.batch_norm(out, channels)
            net.batch_norm(out, channels, residual=True)
            inputs, side = channels, out
    net.classifier(side, inputs)
    return net


def count_block_v2(net, side, inputs, channels, stride, projects):
    net.batch_norm(side, inputs, forks=True)
    if projects:
        net.conv(side, inputs, 4 * channels, 1, stride, bias=True)
    elif stride > 1:
        net.move(2 * (side // stride) ** 2 * inputs, 2 * (side // stride) ** 2 * inputs)
    net.conv(side, inputs, channels, 1)
    net.batch_norm(side, channels)
    out = net.conv(side, channels, channels, 3, stride)
    net.batch_norm(out, channels)
    net.conv(out, channels, 4 * channels, 1, bias=True)
    net.move(out * out * 4 * channels)
    return out


def count_resnet_v2(counts, side, image_channels):
    net = Counter(image_channels)
    stem = net.conv(side, 3, 64, 7, 2, bias=True, first=True)
    side = (stem + 2 - 3) // 2 + 1
    net.pool(stem, side, 64)
    inputs = 64
    for channels, count, last_stride in zip((64, 128, 256, 512), counts, (2, 2, 2, 1)):
        for block in range(count):
            stride = last_stride if block == count - 1 else 1
            side = count_block_v2(net, side, inputs, channels, stride, block == 0)
            inputs = 4 * channels
    net.batch_norm(side, inputs)
    net.classifier(side, inputs)
    return net


def count(model, side, precision):
    image_channels = PRECISIONS[precision][1]
    if model in V2_COUNTS:
        return count_resnet_v2(V2_COUNTS[model], side, image_channels)
    if model == "resnet18":
        return count_resnet18(side, image_channels)
    raise ValueError(f"the floor of {model} is not counted")


def images_per_second(model, side, batch, precision, flops_per_second, bytes_per_second):
    """The floor, of one device whose product and copy run at the given rates."""
    net = count(model, side, precision)
    element_bytes, _, parameter_bytes = PRECISIONS[precision]
    seconds = sum(
        max(kernel.flops / flops_per_second, kernel.elements * element_bytes / bytes_per_second)
        for kernel in net.kernels
    )
    return 1 / (seconds + net.parameters * parameter_bytes / bytes_per_second / batch)
