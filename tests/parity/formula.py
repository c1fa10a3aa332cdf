"""Values that both sides compute: tensors, images and labels from a hash of their names, and digests.

The hash is that of src/base/random.hpp; tests/parity/digest.hpp computes the same
values in C++, bit for bit. A tensor is named and indexed, in row-major order, as in the framework
that it comes from.
"""

import numpy as np

SEED = 20
PROJECTIONS = 8
SAMPLES = 4
MASK = (1 << 64) - 1


def mix64(x):
    """The finaliser of splitmix64, of an array of uint64."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def key_of(name):
    """FNV-1a of a name."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def random_bits(seed, *keys):
    """Random bits of a seed and keys, each a number or an array of them."""
    h = mix64(np.atleast_1d(np.uint64(seed)))
    for key in keys:
        h = mix64(h ^ np.asarray(key, np.uint64))
    return h


def bits(name, first, count):
    """The bits number `first` and following of a name."""
    return random_bits(SEED, key_of(name), np.arange(first, first + count, dtype=np.uint64))


def to_below(random, bound):
    """Whole numbers in [0, bound) from random bits."""
    return ((random >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32)


def unit(name, count):
    """Numbers in [-1, 1), exact in float32."""
    return (bits(name, 0, count) >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0


def fan_in(shape, origin):
    """Inputs of one output unit; kernels end in `out` in Keras, and begin with it in PyTorch."""
    return int(np.prod(shape[:-1] if origin == "keras" else shape[1:]))


def tensor(name, shape, kind, gain, origin):
    """The value of a parameter or a running statistic, float32.

    `gain` scales convolutions and what follows from that for running statistics. A small one makes
    variances small, so that a wrong epsilon of batch normalisation shows.
    """
    u = unit(name, int(np.prod(shape)))
    if kind in ("conv_kernel", "dense_kernel"):
        bound = np.sqrt(6.0 / fan_in(shape, origin))
        values = (gain * bound if kind == "conv_kernel" else bound) * u
    else:
        values = {
            "conv_bias": 0.1 * gain * u,
            "dense_bias": 0.1 * u,
            "gamma": 1.0 + 0.25 * u,
            "beta": 0.25 * u,
            "mean": 0.25 * gain * u,
            "variance": gain * gain * (1.0 + 0.5 * u),
        }[kind]
    return values.astype(np.float32).reshape(shape)


def images(first, count):
    """Images `first` and following: uint8, (count, 3, 32, 32)."""
    size = 3 * 32 * 32
    pixels = bits("image", first * size, count * size) >> np.uint64(56)
    return pixels.astype(np.uint8).reshape(count, 3, 32, 32)


def labels(first, count):
    """The classes, 0 to 9, of the same images."""
    return (bits("label", first, count) % np.uint64(10)).astype(np.int64)


def samples(name, values, count=SAMPLES):
    """Elements of a tensor at places drawn from its name."""
    flat = np.asarray(values, np.float64).reshape(-1)
    return flat[to_below(bits("sample/" + name, 0, count), flat.size)].tolist()


def digest(name, values):
    """What is stored of a tensor: its L2 norm, sums under random signs, and some elements.

    The mean of the squared differences of two tensors' projections estimates the squared norm of
    the difference of the tensors, whichever elements differ.
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    signs = bits("sign/" + name, 0, flat.size)
    projections = []
    for k in range(PROJECTIONS):
        positive = (signs >> np.uint64(k)) & np.uint64(1) != 0
        projections.append(float(np.sum(np.where(positive, flat, -flat))))
    norm = float(np.sqrt(np.sum(flat * flat)))
    return {"norm": norm, "projections": projections, "samples": samples(name, flat)}


def relative_error(values, exact):
    """The norm of the difference over the norm of the exact values."""
    exact = np.asarray(exact, np.float64)
    difference = np.asarray(values, np.float64) - exact
    return float(np.linalg.norm(difference) / np.linalg.norm(exact))
