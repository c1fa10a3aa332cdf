#!/usr/bin/env python3
"""Trains one of rueda's networks with PyTorch's DistributedDataParallel and adds its epochs to a CSV, which `rueda
report --keras-log CSV,model=MODEL` shows beside runs of rueda.

usage: torchrun --nproc-per-node P jobs/torch_ddp.py MODEL DATA CSV [options]

DATA has the data_batch_*.bin of CIFAR-10. Runs on other P belong into the same CSV. Needs numpy and PyTorch.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "bench"))
try:
    import torch
    import torch.distributed as dist
    from images import normalise, read_images
    from torch.nn.functional import cross_entropy, interpolate
    from torch.nn.parallel import DistributedDataParallel
    from torch_networks import build
except ImportError as missing:
    print(f"torch_ddp.py: {missing}; install numpy and PyTorch for {sys.executable}", file=sys.stderr)
    sys.exit(2)

HEAD = "epoch,seconds,images_per_second,loss,accuracy,ranks,global_batch\n"


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name in ("model", "data", "csv"):
        parser.add_argument(name)
    for name, value in (("batch-per-rank", 32), ("epochs", 3), ("data-limit", 50_000), ("image-size", 32)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lr", type=float, default=0.1)
    options = parser.parse_args(words)
    if Path(options.csv).exists() and not Path(options.csv).read_text(encoding="utf-8").startswith(HEAD):
        parser.error(f"{options.csv} is there and is no CSV of this script: name another")
    return options


def train_epoch(model, optimizer, images, labels, parts, size):
    """(seconds, images, loss, accuracy) over all ranks; `parts` has this rank's images of each step."""
    begin, sums = time.perf_counter(), torch.zeros(3, device=labels.device)
    for part in parts:
        inputs, wanted = images[part], labels[part]
        if size != inputs.shape[-1]:
            inputs = interpolate(inputs, (size, size), mode="bilinear", align_corners=False)
        optimizer.zero_grad(set_to_none=True)
        answers = model(inputs)
        loss = cross_entropy(answers, wanted)
        loss.backward()
        optimizer.step()
        sums[0] += len(part)
        sums[1] += len(part) * loss.detach()
        sums[2] += (answers.argmax(1) == wanted).sum()
    dist.all_reduce(sums)
    count, loss, right = sums.tolist()  # which waits for a GPU, too
    return time.perf_counter() - begin, count, loss / count, right / count


def main():
    options, is_gpu = options_of(sys.argv[1:]), torch.cuda.is_available()
    dist.init_process_group("nccl" if is_gpu else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", rank % torch.cuda.device_count()) if is_gpu else torch.device("cpu")
    torch.manual_seed(1)
    pixels, labels = read_images(options.data, options.data_limit)
    images, labels = torch.from_numpy(normalise(pixels)).to(device), torch.from_numpy(labels).to(device)
    model = DistributedDataParallel(build(options.model).to(device))
    optimizer, batch = torch.optim.SGD(model.parameters(), options.lr, 0.9), ranks * options.batch_per_rank
    if rank == 0 and not Path(options.csv).exists():
        Path(options.csv).write_text(HEAD, encoding="utf-8")
    for epoch in range(1, options.epochs + 1):
        whole = torch.randperm(len(labels)).split(batch)  # the same on each rank
        parts = [part.to(device)[rank::ranks] for part in whole if len(part) >= 2 * ranks]
        seconds, count, loss, right = train_epoch(model, optimizer, images, labels, parts, options.image_size)
        if rank == 0:
            row = f"{epoch},{seconds:.6f},{count / seconds:.3f},{loss:.6f},{right:.6f},{ranks},{batch}\n"
            with open(options.csv, "a", encoding="utf-8") as file:
                file.write(row)
            print(row, end="", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
