"""Made run directories whose every number follows from the times of single steps: run.json, steps.csv and epochs.csv as
the program writes them. The sums here are written out plainly, as a truth of their own."""

import json
import math
from pathlib import Path

from reader.base.definitions import PHASES
from reader.base.statistics import spread_of

HEADER = ("epoch,step,rank,samples,global_samples,seconds," + ",".join(PHASES) + ",all_reduce_busy,all_reduce_add,"
          "train_loss,train_accuracy,learning_rate,prepare_busy,copy_busy,copy_bytes,all_reduce_wait,parts,part_norm2,"
          "gradient_norm2")
EPOCHS_HEADER = ("epoch,ranks,steps,samples,loss,accuracy,val_loss,val_accuracy,learning_rate,seconds,val_seconds,"
                 "images_per_second,images_per_second_per_rank,resumed_at_step,"
                 + ",".join(f"{name}_seconds"
                            for name in PHASES) + ",joules,noise_scale,noise_scale_low,noise_scale_high,"
                 "learning_efficiency")
HASH = "0123456789abcdef"


def even_times(epoch, step, rank):
    """A step of 0.1 s in which nobody waits."""
    return {"forward": 0.03, "backward": 0.06, "all_reduce": 0.004, "optimizer": 0.005, "other": 0.001}


def noise_json(batch, parts, steps, scale, low, high, gradient_norm2=0.5):
    """`gradient_noise` of an epoch with this noise scale."""
    return {"scale": scale, "low": low, "high": high, "gradient_norm2": gradient_norm2,
            "variance": scale * gradient_norm2,
            "batch": batch, "parts": parts, "steps": steps, "learning_efficiency": scale / (scale + batch),
            "reason": None}


def no_noise_json(batch, parts, steps, reason):
    """The same where it is not determined."""
    known = {"gradient_norm2": 0.001, "variance": 100.0} if parts > 1 else {"gradient_norm2": None, "variance": None}
    return {"scale": None, "low": None, "high": None, **known, "batch": batch, "parts": parts, "steps": steps,
            "learning_efficiency": None, "reason": reason}


def spread(values):
    return dict(vars(spread_of(values)),
                **{} if values else dict.fromkeys(("min", "mean", "median", "p90", "max", "deviation")))


def range_of(values):
    made = spread_of(values)
    return {"min": made.min, "mean": made.mean, "max": made.max}


class MadeRun:
    """`times(epoch, step, rank)` gives the seconds of phases; epochs, steps count from 1, ranks from 0. `images` of an
    epoch make full steps of sum(parts), and a partial one of the rest. `noise(epoch)` gives what was measured of the
    gradient's noise, or None."""

    def __init__(self, parts=(10,), epochs=3, images=60, times=even_times, model="resnet20", backend="cpu", hosts=None,
                 options=None, busy=None, flops=242e6, started_at="2024-05-06T07:08:09Z", timed=None, noise=None):
        self.parts, self.images, self.times, self.busy = (
            list(parts), images, times, busy or (lambda *_: (0.01, 0.0, 0.001)))
        self.numbers, self.noise = range(1, epochs + 1), noise or (lambda epoch: None)
        self.model, self.backend, self.hosts = model, backend, hosts or ["node1"] * len(parts)
        self.options, self.flops, self.started_at, self.timed = options or {}, flops, started_at, timed
        self.ranks, self.batch = range(len(parts)), sum(parts)
        self.steps = range(1, -(-images // self.batch) + 1)

    def samples(self, step, rank):
        left = min(self.batch, self.images - (step - 1) * self.batch)
        return self.parts[rank] if left == self.batch else left * self.parts[rank] // self.batch

    def phases(self, epoch, step, rank):
        return {name: self.times(epoch, step, rank).get(name, 0.0) for name in PHASES}

    def seconds(self, epoch, step, rank):
        return sum(self.phases(epoch, step, rank).values())

    def is_full(self, step):
        return step * self.batch <= self.images

    def epoch_seconds(self, epoch):
        return max(sum(self.seconds(epoch, step, rank) for step in self.steps) for rank in self.ranks)

    def rank_json(self, epoch, rank):
        sums = {name: sum(self.phases(epoch, step, rank)[name] for step in self.steps) for name in PHASES}
        full = [step for step in self.steps if self.is_full(step)]
        seconds = [self.seconds(epoch, step, rank) for step in full]
        own = [self.seconds(epoch, step, rank) - self.phases(epoch, step, rank)["all_reduce"] for step in full]
        busy, wait, add = (sum(self.busy(epoch, step, rank)[part] for step in self.steps) for part in range(3))
        return {"rank": rank, "seconds": sum(sums.values()),
                "samples": sum(self.samples(step, rank) for step in self.steps),
                "phases": sums, "all_reduce_busy": busy, "all_reduce_wait": wait, "all_reduce_add": add,
                "prepare_busy": 0.0,
                "copy_busy": 0.0, "copy_bytes": 0.0, "core_share": 0.99 if self.backend == "cpu" else None,
                "full_step_seconds": spread(seconds), "full_step_compute_seconds": spread(own)}

    def kind_json(self, epochs, full):
        """Steps of one kind over epochs: means of each rank, then over ranks."""
        pairs = [(epoch, step) for epoch in epochs for step in self.steps if self.is_full(step) is full]
        if not pairs:
            return None, spread([])

        def means(of):
            return range_of([sum(of(*pair, rank) for pair in pairs) / len(pairs) for rank in self.ranks])

        j = {"count": len(pairs), "seconds": means(self.seconds),
             "phases": {name: means(lambda e, s, r, name=name: self.phases(e, s, r)[name]) for name in PHASES}}
        for part, key in enumerate(("all_reduce_busy", "all_reduce_wait", "all_reduce_add")):
            j[key] = means(lambda e, s, r, part=part: self.busy(e, s, r)[part])
        j["all_reduce_transfer"] = means(lambda e, s, r: self.busy(e, s, r)[0] - sum(self.busy(e, s, r)[1:]))
        return j, spread([max(self.seconds(*pair, rank) for rank in self.ranks) for pair in pairs])

    def communication_json(self, epochs):
        pairs = [(epoch, step) for epoch in epochs for step in self.steps]

        def means(of):
            return range_of([sum(of(*pair, rank) for pair in pairs) / len(pairs) for rank in self.ranks])

        parts = {name: means(lambda e, s, r, part=part: self.busy(e, s, r)[part])
                 for part, name in enumerate(("busy", "wait", "add"))}
        return {"steps": len(pairs), "bytes_per_step": 1_084_400, **parts,
                "exposed": means(lambda e, s, r: self.phases(e, s, r)["all_reduce"]),
                "transfer": means(lambda e, s, r: self.busy(e, s, r)[0] - sum(self.busy(e, s, r)[1:])),
                "busy_slowest_rank": None, "algbw_GBps": None, "busbw_GBps": None, "buckets": []}

    def efficiency_json(self, epoch):
        """The replay of docs/metrics.md on an ideal network."""
        useful = [sum(self.seconds(epoch, step, rank) - self.phases(epoch, step, rank)["all_reduce"]
                      for step in self.steps)
                  for rank in self.ranks]
        clocks = [0.0] * len(self.ranks)
        for step in self.steps:
            after = [self.phases(epoch, step, r)["optimizer"] + self.phases(epoch, step, r)["other"]
                     for r in self.ranks]
            own = [self.seconds(epoch, step, r) - self.phases(epoch, step, r)["all_reduce"] for r in self.ranks]
            summed = max(clock + mine - end for clock, mine, end in zip(clocks, own, after))
            clocks = [summed + end for end in after]
        return {"useful_mean": sum(useful) / len(useful), "useful_max": max(useful), "ideal_network": max(clocks)}

    def score(self, epoch):
        """(loss, accuracy) of each step; unknown where nothing is computed."""
        return (None, None) if self.backend == "timed" else (2.3 / epoch, 0.1 * epoch)

    def epoch_json(self, epoch):
        ranks = [self.rank_json(epoch, rank) for rank in self.ranks]
        full, full_spread = self.kind_json([epoch], True)
        partial, partial_spread = self.kind_json([epoch], False)
        seconds = self.epoch_seconds(epoch)
        loss, accuracy = self.score(epoch)
        return {"epoch": epoch, "steps": len(self.steps), "batch_per_rank": self.parts, "resumed_at_step": None,
                "loss": loss, "accuracy": accuracy,
                "samples": self.images, "val_loss": None, "val_accuracy": None, "val_samples": None,
                "val_seconds": None,
                "learning_rate": 0.1, "seconds": seconds, "images_per_second": self.images / seconds,
                "images_per_second_per_rank": self.images / seconds / len(self.ranks), "parameter_hash": HASH,
                "phases": {name: range_of([rank["phases"][name] for rank in ranks]) for name in PHASES},
                "full_step_seconds": full_spread, "partial_step_seconds": partial_spread, "full_step": full,
                "partial_step": partial, "communication": self.communication_json([epoch]), "input": None,
                "efficiency": self.efficiency_json(epoch), "ranks": ranks,
                "energy": {"joules": None, "host_joules": None}, "gradient_noise": self.noise(epoch)}

    def summary_json(self):
        steady = list(self.numbers)[1:] or list(self.numbers)
        middle = spread_of([self.epoch_seconds(epoch) for epoch in steady]).median
        full, full_spread = self.kind_json(steady, True)
        training = sum(map(self.epoch_seconds, self.numbers))
        return {"outcome": "completed", "failure": None, "diverged": False, "epochs_completed": len(self.numbers),
                "steady_epoch_seconds": middle, "steady_images_per_second": self.images / middle,
                "steady_includes_warm_up": len(self.numbers) == 1, "steady_full_step_seconds": full_spread,
                "steady_full_step": full, "steady_communication": self.communication_json(steady),
                "startup_seconds": 0.75,
                "training_seconds": training, "evaluation_seconds": 0.0, "total_seconds": training + 1.0,
                "seconds_to_target": None}

    def words(self):
        return {"model": self.model, "backend": self.backend, "epochs": len(self.numbers), "lr": 0.1,
                "precision": "fp32",
                "batch-per-rank": self.batch // len(self.parts), "global-batch": 0, "balance": "equal", **self.options}

    def ranks_json(self):
        return [{"rank": rank, "local_rank": rank, "host": self.hosts[rank], "backend": self.backend,
                 "device": "Processor A",
                 "uuid": None, "threads": 1, "cores": 1.0, "memory_bytes": 10_000_000 + rank} for rank in self.ranks]

    def document(self):
        """run.json."""
        return {
            "schema": "rueda-run", "schema_version": 1, "command_line": f"rueda train --model {self.model}",
            "started_at": self.started_at, "outcome": "completed",
            "versions": {"rueda": "1.0.0", "MPI": "Open MPI 4.1.4"},
            "working_directory": "/somewhere", "config": self.words(),
            "model": {"name": self.model, "image_size": 32, "classes": 10, "trainable_parameters": 269_722,
                      "non_trainable_parameters": 1_376, "train_flops_per_image": self.flops},
            "data": {"source": "synthetic", "train_images": self.images, "test_images": 100},
            "batch": {"global": self.batch, "per_rank": self.parts, "micro_batches": 1, "micro_batch": max(self.parts),
                      "micro_batch_asked": max(self.parts), "steps_per_epoch": len(self.steps)},
            "timed": self.timed, "learning_rate": 0.1,
            "all_reduce": {"algorithm": "ring", "transport": "host", "gradient_bytes": 1_084_400, "bucket_mb": 25.0,
                           "bucket_bytes": [1_084_400], "overlaps_backward": True},
            "world_size": len(self.ranks), "hosts": list(dict.fromkeys(self.hosts)), "ranks": self.ranks_json(),
            "startup": {"mpi": {"min": 0.25, "mean": 0.25, "max": 0.25}, "data": {"min": 0.5, "mean": 0.5, "max": 0.5}},
            "epochs": [self.epoch_json(epoch) for epoch in self.numbers], "summary": self.summary_json()}  # fmt: skip

    def ranks_csv(self):
        spread = ("min", "mean", "median", "p90", "max", "deviation")
        sums = ("all_reduce_busy", "all_reduce_wait", "all_reduce_add", "prepare_busy", "copy_busy", "copy_bytes",
                "core_share")
        spreads = ("full_step_seconds", "full_step_compute_seconds")
        lines = [",".join(["epoch", "rank", "batch", "samples", "seconds", *PHASES, *sums, "joules", "full_steps",
                           *(f"{name}_{part}" for name in spreads for part in spread)])]
        for epoch in self.numbers:
            for rank in self.ranks:
                row = self.rank_json(epoch, rank)
                values = [epoch, rank, self.parts[rank], row["samples"], row["seconds"],
                          *(row["phases"][name] for name in PHASES),
                          *(row.get(name) for name in sums), None, row[spreads[0]]["count"],
                          *(row[name][part] for name in spreads for part in spread)]
                lines.append(",".join("nan" if value is None else repr(value) for value in values))
        return "\n".join(lines) + "\n"

    def write_as_of_many(self, folder):
        """As the program writes a run of more than 16 ranks. Returns the path of its run.json."""
        path = self.write(folder)
        document = self.document()
        document["schema_version"] = 2
        for epoch in document["epochs"]:
            ranks = epoch.pop("ranks")
            del epoch["batch_per_rank"]
            epoch["world_size"] = len(ranks)
            shares = [rank["core_share"] for rank in ranks if rank.get("core_share") is not None]
            epoch["over_ranks"] = {"seconds": vars(spread_of([rank["seconds"] for rank in ranks])),
                                   "core_share": vars(spread_of(shares))}
        path.write_text(json.dumps(document).replace("NaN", "null"), encoding="utf-8")
        (path.parent / "ranks.csv").write_text(self.ranks_csv(), encoding="utf-8")
        return path

    def steps_csv(self):
        lines = [HEADER]
        for epoch in self.numbers:
            for step in self.steps:
                for rank in self.ranks:
                    busy, wait, add = self.busy(epoch, step, rank)
                    phases = self.phases(epoch, step, rank)
                    score = [math.nan] * 2 if self.backend == "timed" else self.score(epoch)
                    values = [epoch, step, rank, self.samples(step, rank),
                              sum(self.samples(step, r) for r in self.ranks),
                              self.seconds(epoch, step, rank), *phases.values(), busy, add, *score, 0.1,
                              0, 0, 0, wait]
                    measured = [len(self.parts), 0.75, 0.5] if rank == 0 and self.noise(epoch) else [None] * 3
                    lines.append(",".join("" if value is None else repr(value) for value in values + measured))
        return "\n".join(lines) + "\n"

    def epochs_csv(self):
        lines = [EPOCHS_HEADER]
        for epoch in map(self.epoch_json, self.numbers):
            values = [epoch[name]
                      for name in ("epoch", "steps", "samples", "loss", "accuracy", "learning_rate", "seconds",
                                               "images_per_second", "images_per_second_per_rank")]
            number, steps, samples, loss, accuracy, rate, seconds, images, each = values
            row = [number, len(self.ranks), steps, samples, loss, accuracy, None, None, rate, seconds, None,
                   images, each, None, *(epoch["phases"][name]["mean"] for name in PHASES), None]
            noise = epoch["gradient_noise"] or {}
            row += [noise.get(name) for name in ("scale", "low", "high", "learning_efficiency")]
            lines.append(",".join("" if value is None else repr(value) for value in row))
        return "\n".join(lines) + "\n"

    def write(self, folder):
        """Returns the path of its run.json."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(self.document()), encoding="utf-8")
        (folder / "steps.csv").write_text(self.steps_csv(), encoding="utf-8")
        (folder / "epochs.csv").write_text(self.epochs_csv(), encoding="utf-8")
        return folder / "run.json"
