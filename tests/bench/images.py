"""What the workers of PyTorch and Keras share: images from the file that rueda reads, and the timing."""

import resource
from pathlib import Path
from time import perf_counter

import numpy

SIDE = 32
CHANNELS = 3
RECORD = 1 + CHANNELS * SIDE * SIDE  # label, then red, green and blue rows
MEAN = numpy.array([0.4914, 0.4822, 0.4465], dtype=numpy.float32)
DEVIATION = numpy.array([0.2023, 0.1994, 0.2010], dtype=numpy.float32)


def read_images(folder, count):
    """The first `count` images (N, C, H, W), pixels from 0 to 1, and their labels (N)."""
    files = [Path(folder, f"data_batch_{number}.bin").read_bytes() for number in range(1, 6)]
    records = numpy.frombuffer(b"".join(files), dtype=numpy.uint8).reshape(-1, RECORD)[:count]
    pixels = records[:, 1:].reshape(-1, CHANNELS, SIDE, SIDE).astype(numpy.float32) / 255
    return pixels, records[:, 0].astype(numpy.int64)


def normalise(images):
    """(N, C, H, W) less CIFAR-10's mean, divided by its deviation; by channel."""
    return (images - MEAN[:, None, None]) / DEVIATION[:, None, None]


def time_steps(task, batches, step, versions):
    """Passes over the batches; seconds and losses of the steps, and the most memory of this process."""
    seconds, losses = [], []
    for images, labels in task["passes"] * batches:
        begin = perf_counter()
        losses.append(step(images, labels))
        seconds.append(perf_counter() - begin)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"step_seconds": seconds, "losses": losses, "versions": versions, "peak_bytes": peak}
