"""The first row of lesson 8 in plain Python: its samples, weights and batches, and the noise scale by its definition
and as ranks measure it."""

from math import exp, log1p, tanh

FEATURES, HIDDEN, SAMPLES, BATCH, STEPS, RATE = 8, 16, 2048, 256, 16, 0.5


def draws():
    """In [0, 1), from a linear congruential generator of 32 bits."""
    state = 1
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield (state >> 8) / 2**24


def gradient(sample, network):
    """Of one sample: the loss, d loss / d score, and of each hidden unit its value and d loss / d its argument."""
    x, label = sample
    units, bias = network
    values = [tanh(sum(a * b for a, b in zip(w, x)) + offset) for w, offset, _ in units]
    score = sum(out * value for (_, _, out), value in zip(units, values)) + bias
    error = 1 / (1 + exp(-score)) - label
    backs = [error * out * (1 - value * value) for (_, _, out), value in zip(units, values)]
    return log1p(exp(-score if label else score)), error, values, backs


def mean_gradient(samples, network):
    """One list in the order of `flat`, the mean of single squares, and the mean loss."""
    total, squares, losses = [0.0] * (HIDDEN * (FEATURES + 2) + 1), 0.0, 0.0
    for sample in samples:
        x = sample[0]
        loss, error, values, backs = gradient(sample, network)
        losses += loss
        # A product of two vectors has the product of their squares.
        squares += ((1 + sum(a * a for a in x)) * sum(b * b for b in backs)
                    + error * error * (1 + sum(v * v for v in values)))
        for unit in range(HIDDEN):
            at = unit * (FEATURES + 2)
            for i in range(FEATURES):
                total[at + i] += backs[unit] * x[i]
            total[at + FEATURES] += backs[unit]
            total[at + FEATURES + 1] += error * values[unit]
        total[-1] += error
    return [value / len(samples) for value in total], squares / len(samples), losses / len(samples)


def square(values):
    return sum(value * value for value in values)


def made(draw):
    """Samples (features, label) and the flat weights of the start."""
    samples = []
    for _ in range(SAMPLES):
        score, x = 3 * next(draw) - 1.5, []
        for i in range(FEATURES):
            x.append(next(draw) - 0.5)
            score += x[-1] * (i - 3)
        samples.append((x, score > 0))
    return samples, [next(draw) - 0.5 for _ in range(HIDDEN * (FEATURES + 2) + 1)]


def network_of(flat):
    each = [flat[i * (FEATURES + 2) : (i + 1) * (FEATURES + 2)] for i in range(HIDDEN)]
    return [(unit[:FEATURES], unit[FEATURES], unit[FEATURES + 1]) for unit in each], flat[-1]


def first_row(ranks):
    """The mean loss and the noise scales measured and true, over the first 16 steps."""
    draw = draws()
    samples, flat = made(draw)
    losses = variance = length = true_variance = true_length = 0.0
    for _ in range(STEPS):
        for i in range(BATCH):
            other = i + int(next(draw) * (SAMPLES - i))
            samples[i], samples[other] = samples[other], samples[i]
        network = network_of(flat)
        whole, squares, loss = mean_gradient(samples, network)
        losses += loss
        true_length += square(whole)
        true_variance += (squares - square(whole)) * SAMPLES / (SAMPLES - 1)
        parts = [samples[BATCH * r // ranks : BATCH * (r + 1) // ranks] for r in range(ranks)]
        means = [mean_gradient(part, network)[0] for part in parts]
        step = [sum(len(part) * one for part, one in zip(parts, of)) / BATCH for of in zip(*means)]
        # Between groups as in an analysis of variance: the parts' distances from the mean, by their samples.
        apart = sum(len(part) * square(a - b for a, b in zip(mean, step))
                    for part, mean in zip(parts, means)) / (ranks - 1)
        variance += apart
        length += square(step) - apart * (1 / BATCH - 1 / SAMPLES)
        flat = [weight - RATE * value for weight, value in zip(flat, step)]
    return losses / STEPS, variance / length, true_variance / true_length
