#!/usr/bin/env python3
"""Computes the references of the networks that come from PyTorch, of what torchvision does to images, of rueda's
draws, of smoothed labels, of SGD and of LARS.

usage: torch_reference.py FOLDER [MODEL...]
"""

import sys

import numpy as np
import torch
import torchvision
from torch.nn import functional as F
from torchvision import transforms

import formula
import measure
import torch_models

MODELS = {
    "resnet20": (32, measure.Sgd(0.1, 0.9, 1e-4, gentle_rate=0.001)),
    "resnet18": (16, measure.Sgd(0.1, 0.9, 5e-4, gentle_rate=0.001)),
}
MEAN = (0.4914, 0.4822, 0.4465)
DEVIATION = (0.2023, 0.1994, 0.2010)
FORMATS = (torch.contiguous_format, torch.channels_last)
THREADS = (1, 2)
SMALL_GAIN = 0.01
IMAGES = 4
# Origin of the crop in the image padded by 4, and whether it is flipped.
CROPS = ((4, 4, False), (4, 4, True), (0, 0, False), (8, 8, False),
         (0, 8, True), (8, 0, True), (3, 6, False), (7, 1, True))  # fmt: skip
RATES = (0.1, 0.2, 0.05, 0.4, 0.01, 0.1)
SMOOTHED = (6, 10)
# The tensors of the reference of LARS, one after the other: their shape, and what of them is zero.
LARS_TENSORS = (
    ("dense", (8, 5), ""), ("bias", (8,), ""), ("kernel", (4, 3, 3, 2), ""), ("empty", (3, 5), "values"),
    ("gamma", (7,), ""), ("idle", (2, 9), "gradients"),
)  # fmt: skip


def kind_of(name, tensor):
    """What a tensor of a state_dict is, in the words of formula.tensor."""
    if name.endswith("running_mean"):
        return "mean"
    if name.endswith("running_var"):
        return "variance"
    if tensor.dim() == 4:
        return "conv_kernel"
    if name.startswith("linear"):
        return "dense_kernel" if tensor.dim() == 2 else "dense_bias"
    return "gamma" if name.endswith("weight") else "beta"


def tensors(model):
    """The list of parameters and running statistics, in the order of the state_dict."""
    trainable = dict(model.named_parameters())
    return [
        {"name": name, "shape": list(tensor.shape), "kind": kind_of(name, tensor), "trainable": name in trainable}
        for name, tensor in model.state_dict().items()
        if tensor.is_floating_point()
    ]


def build(name, gain, dtype, memory_format):
    """A network filled by the formula."""
    model = torch_models.build(name)
    state = model.state_dict()
    for entry in tensors(model):
        value = formula.tensor(entry["name"], entry["shape"], entry["kind"], gain, "pytorch")
        state[entry["name"]] = torch.from_numpy(value)
    model.load_state_dict(state)
    return model.to(dtype=dtype, memory_format=memory_format)


def batch(first, count, dtype):
    """Normalised images and their labels."""
    pixels = torch.from_numpy(formula.images(first, count)).to(dtype)
    mean, deviation = (torch.tensor(v, dtype=dtype).reshape(1, 3, 1, 1) for v in (MEAN, DEVIATION))
    return (pixels / 255 - mean) / deviation, torch.from_numpy(formula.labels(first, count))


def arrays(named):
    return {name: tensor.detach().numpy().copy() for name, tensor in named}


def statistics(model):
    return arrays((n, t) for n, t in model.named_buffers() if t.is_floating_point())


def forward(model, images, labels):
    logits = model(images)
    return logits, F.cross_entropy(logits, labels)


def numbers(logits, loss):
    return logits.detach().numpy().copy(), loss.item()


def run_step(name, count, dtype, memory_format):
    """One training step without an update, and the inference before it."""
    model = build(name, SMALL_GAIN, dtype, memory_format)
    images, labels = batch(0, count, dtype)
    images = images.contiguous(memory_format=memory_format)
    result = {}
    model.eval()
    with torch.no_grad():
        result["inference"] = numbers(*forward(model, images, labels))
    model.train()
    logits, loss = forward(model, images, labels)
    loss.backward()
    result["training"] = numbers(logits, loss)
    result["gradients"] = arrays((n, p.grad) for n, p in model.named_parameters())
    result["statistics"] = statistics(model)
    return result


def train_on(model, optimizer, images, labels):
    """One training step; its logits and loss."""
    optimizer.zero_grad()
    logits, loss = forward(model, images, labels)
    loss.backward()
    optimizer.step()
    return numbers(logits, loss)


def run_train(name, count, sgd, dtype, memory_format):
    """Two steps on one batch, and from the same beginning 20 steps on different ones."""
    def start(rate):
        model = build(name, 1.0, dtype, memory_format).train()
        return model, torch.optim.SGD(
            model.parameters(), lr=rate, momentum=sgd.momentum, weight_decay=sgd.weight_decay
        )

    model, optimizer = start(sgd.learning_rate)
    result = {"training": train_on(model, optimizer, *batch(0, count, dtype))}
    result["updated"] = arrays(model.named_parameters())
    train_on(model, optimizer, *batch(0, count, dtype))
    result["updated_twice"] = arrays(model.named_parameters())
    model, optimizer = start(sgd.gentle_rate)
    steps = (batch(s * count, count, dtype) for s in range(measure.LOSSES))
    result["losses"] = [train_on(model, optimizer, *step)[1] for step in steps]
    return result


def reference(name):
    """What is stored of a network."""
    count, sgd = MODELS[name]
    torch.set_num_threads(2)
    exact_step = run_step(name, count, torch.float64, FORMATS[0])
    exact_train = run_train(name, count, sgd, torch.float64, FORMATS[0])
    steps, trains = [], []
    for threads in THREADS:
        torch.set_num_threads(threads)
        for memory_format in FORMATS:
            steps.append(run_step(name, count, torch.float32, memory_format))
            trains.append(run_train(name, count, sgd, torch.float32, memory_format))
    listed = tensors(torch_models.build(name))
    return {
        "model": name,
        "origin": "pytorch",
        "versions": versions(torch),
        "batch": count,
        "image_size": 32,
        "seed": formula.SEED,
        "counts": measure.counts(listed),
        "tensors": listed,
        "step": measure.step(exact_step, steps),
        "train": measure.train(exact_train, trains, sgd),
    }


def versions(*modules):
    return {m.__name__: m.__version__.split("+", maxsplit=1)[0] for m in modules}


def normalised():
    """ToTensor and Normalize, and how far float32 is from the same in float64."""
    pipeline = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)])
    pixels = formula.images(0, IMAGES)
    values = np.stack([pipeline(image).numpy() for image in np.moveaxis(pixels, 1, 3)])
    mean, deviation = (np.array(v).reshape(3, 1, 1) for v in (MEAN, DEVIATION))
    exact = (pixels / 255.0 - mean) / deviation
    return {
        **formula.digest("normalised", exact),
        "framework_error": measure.rounded(formula.relative_error(values, exact)),
    }


def cropped(top, left, flip):
    """pad, crop and hflip, before normalisation."""
    images = torch.from_numpy(formula.images(0, IMAGES))
    result = transforms.functional.crop(transforms.functional.pad(images, [4]), top, left, 32, 32)
    result = transforms.functional.hflip(result) if flip else result
    name = f"crop {top} {left} {flip}"
    return {"name": name, "top": top, "left": left, "flip": flip, **formula.digest(name, result.numpy())}


def draws(seed, epoch, count):
    """The augmentation of samples 0 ... count - 1: (shift_y, shift_x, flip)."""
    random = formula.random_bits(seed, 0x6175676D, epoch, np.arange(count, dtype=np.uint64))
    shift_y = formula.to_below(random, 9).astype(int) - 4
    shift_x = formula.to_below(random << np.uint64(20), 9).astype(int) - 4
    flip = (random >> np.uint64(3)).astype(int) & 1
    return np.stack([shift_y, shift_x, flip], axis=1).tolist()


def sgd(momentum, weight_decay, nesterov):
    """torch.optim.SGD over 6 steps with changing rates: the values after each step."""
    values = torch.from_numpy(formula.unit("sgd/values", 32)).requires_grad_()
    gradients = torch.from_numpy(formula.unit("sgd/gradients", 32 * len(RATES)).reshape(-1, 32))
    options = {"momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov}
    optimizer = torch.optim.SGD([values], lr=RATES[0], **options)
    steps = []
    for rate, gradient in zip(RATES, gradients, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        values.grad = gradient.clone()
        optimizer.step()
        steps.append(values.tolist())
    return {**options, "rates": list(RATES), "values": steps}


def smoothed_labels(smoothing):
    """cross_entropy with label smoothing: the mean over a batch, and its gradient."""
    rows, classes = SMOOTHED
    values = formula.unit("smoothing/logits", rows * classes).reshape(SMOOTHED)
    logits = (8 * torch.from_numpy(values)).requires_grad_()
    labels = torch.arange(rows) * 3 % classes
    loss = F.cross_entropy(logits, labels, label_smoothing=smoothing)
    loss.backward()
    return {"smoothing": smoothing, "loss": loss.item(), "gradients": logits.grad.flatten().tolist()}


def label_smoothing():
    rows, classes = SMOOTHED
    cases = [smoothed_labels(smoothing) for smoothing in (0.0, 0.1, 0.5)]
    return {"versions": versions(torch), "rows": rows, "classes": classes, "cases": cases}


class Lars(torch.optim.Optimizer):
    """Algorithm 1 of You, Gitman and Ginsburg (arXiv 1708.03888), with the epsilon and the exceptions of MLPerf:
    tensors of one dimension, biases and the parameters of batch norms, have neither a rate of their own nor decay."""

    def __init__(self, parameters, **options):
        super().__init__(parameters, options)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self.update(p, p.grad, group)

    def update(self, p, gradient, group):
        rate = group["lr"]
        if p.dim() > 1:
            decay = group["weight_decay"]
            value_norm, gradient_norm = p.norm(), gradient.norm()
            if value_norm > 0 and gradient_norm > 0:
                rate *= group["trust"] * value_norm / (gradient_norm + decay * value_norm + group["epsilon"])
            gradient = gradient + decay * p
        velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
        velocity.mul_(group["momentum"]).add_(rate * gradient)
        p.sub_(rate * gradient + group["momentum"] * velocity if group["nesterov"] else velocity)


def lars_values(tensor, kind, step=0):
    """The values or gradients of a tensor."""
    name, shape, zero = tensor
    count = int(np.prod(shape))
    values = formula.unit(f"lars/{kind}/{name}", count * (step + 1))[count * step:]
    return torch.from_numpy(np.zeros(shape) if zero == kind else values.reshape(shape))


def lars(**options):
    """Lars over 6 steps with changing rates: the values of all tensors after each step."""
    parameters = [lars_values(tensor, "values").requires_grad_() for tensor in LARS_TENSORS]
    optimizer = Lars(parameters, lr=RATES[0], **options)
    steps = []
    for step, rate in enumerate(RATES):
        optimizer.param_groups[0]["lr"] = rate
        for tensor, parameter in zip(LARS_TENSORS, parameters, strict=True):
            parameter.grad = lars_values(tensor, "gradients", step)
        optimizer.step()
        steps.append([value for parameter in parameters for value in parameter.flatten().tolist()])
    return {**options, "rates": list(RATES), "values": steps}


def write_optimizers(folder):
    optimizer = {
        "versions": versions(torch),
        "cases": [sgd(0.9, 5e-4, False), sgd(0.9, 5e-4, True), sgd(0.0, 0.0, False)],
    }
    measure.write(folder, "sgd", optimizer)
    decayed = {"momentum": 0.9, "weight_decay": 0.01}
    of_lars = {
        "versions": versions(torch),
        "tensors": [{"name": n, "shape": list(shape), "zero": zero} for n, shape, zero in LARS_TENSORS],
        "cases": [
            lars(**decayed, nesterov=False, trust=0.1, epsilon=0.0),
            lars(**decayed, nesterov=True, trust=0.5, epsilon=0.25),
            lars(momentum=0.0, weight_decay=0.0, nesterov=False, trust=0.001, epsilon=0.0),
        ],
    }
    measure.write(folder, "lars", of_lars)


def write_preprocessing(folder):
    preprocessing = {
        "versions": versions(torch, torchvision),
        "images": IMAGES,
        "normalised": normalised(),
        "crops": [cropped(*crop) for crop in CROPS],
        "draws": {"seed": 1, "epoch": 2, "samples": draws(1, 2, 64)},
    }
    measure.write(folder, "preprocessing", preprocessing)
    measure.write(folder, "label_smoothing", label_smoothing())


def main(folder, *names):
    torch.use_deterministic_algorithms(True)
    write_preprocessing(folder)
    write_optimizers(folder)
    for name in names or MODELS:
        measure.write(folder, name, reference(name))
        print(f"{name}: written", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
