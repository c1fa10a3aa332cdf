"""Small reports for the tests of what draws them, with figures that are easy to follow."""

import json


def estimate(value, low=None, high=None):
    return {"value": value, "low": value if low is None else low, "high": value if high is None else high}


def point(ranks, seconds, **more):
    """5,000 images in an epoch, whose time beyond P = 1 may be 0.1 s less and 0.2 s more."""
    less, longer = (0.1, 0.2) if ranks > 1 else (0, 0)
    made = {
        "ranks": ranks, "hosts": 1, "rank_batch": 64, "global_batch": 64 * ranks, "repeats": 3,
        "oversubscribed": False, "includes_warm_up": False,
        "epoch_seconds": estimate(seconds, seconds - less, seconds + longer),
        "images_per_second": estimate(5000 / seconds), "phases": None, "communication": None,
    }  # fmt: skip
    return {**made, **more}


def scaled(points):
    """With the speedups and efficiencies that follow from the first point, on one rank."""
    base = points[0]["epoch_seconds"]["value"] if points else None
    for one in points:
        speedup = base / one["epoch_seconds"]["value"] if one["epoch_seconds"] else None
        one["speedup"] = estimate(speedup) if speedup else None
        one["efficiency"] = estimate(speedup / one["ranks"]) if speedup else None
    return points


def series(name, points, scaling="weak", source="rueda", **more):
    return {
        "id": name, "label": f"{name}, 64 per rank", "source": source, "model": name, "variant": "",
        "processor": "cpu", "image_size": 32, "scaling": scaling, "batch": 64, "points": scaled(points), **more,
    }  # fmt: skip


def phases(**seconds):
    names = ("load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other")
    return {name: seconds.get(name, 0) for name in names}


def communication(**known):
    names = ("inferred", "inferred_same_batch", "measured", "exposed", "wait", "transfer", "add",
             "bytes_per_step", "algbw_GBps", "busbw_GBps")  # fmt: skip
    return {**{name: known.get(name) for name in names}, "buckets": known.get("buckets", [])}


def resnet20():
    """Three points, the last one with more threads than cores."""
    known = communication(
        inferred=1.0, measured=1.5, exposed=0.75, wait=0.5, transfer=0.75, add=0.25, bytes_per_step=40e6,
        busbw_GBps=1.5,
        buckets=[{"bytes": 10e6, "busy_median_seconds": 0.01, "transfer_median_seconds": 0.005},
                 {"bytes": 30e6, "busy_median_seconds": 0.02, "transfer_median_seconds": None}],
    )  # fmt: skip
    step = phases(forward=0.03, backward=0.06, all_reduce=0.01)
    return series("resnet20", [
        point(1, 8.0, phases=phases(forward=0.03, backward=0.06)),
        point(2, 5.0, phases=step, communication=known),
        point(4, 4.0, oversubscribed=True, phases=step, communication=known),
    ])  # fmt: skip


def table(name="scaling", title="Scaling", rows=(("resnet20", 2, 5.0, 0.8),), notes=("Steady epochs.",)):
    columns = [("model", "model", "text"), ("ranks", "P", "count"), ("epoch_seconds", "epoch, s", "seconds"),
               ("efficiency", "efficiency, %", "percent")]  # fmt: skip
    return {
        "id": name, "title": title, "rows": [list(row) for row in rows], "notes": list(notes),
        "columns": [dict(zip(("key", "heading", "show"), one)) for one in columns],
    }  # fmt: skip


def batches(rows):
    names = ("model", "ranks", "rank_batch", "marks")
    columns = [{"key": name, "heading": name, "show": "text" if name in ("model", "marks") else "count"}
               for name in names]
    return {"id": "batches", "title": "Batches", "columns": columns, "rows": [list(row) for row in rows], "notes": []}


def curve(values, epochs=None, known=None):
    epochs = epochs or list(range(1, len(values) + 1))
    return {"known": known or len(values), "epochs": epochs, "values": list(values)}


def run(path, loss=(2, 1), accuracy=(0.3, 0.6), val_loss=(2.5,), val_accuracy=(0.5,), evaluation=None, **more):
    """What a run learned in two epochs, the last of which was evaluated."""
    learning = {
        "epochs": len(loss), "loss": curve(loss), "accuracy": curve(accuracy),
        "val_loss": curve(val_loss, [2]), "val_accuracy": curve(val_accuracy, [2]),
    }  # fmt: skip
    return {"path": path, "name": path, "model": "resnet20", "learning": learning, "evaluation": evaluation, **more}


def evaluation(names=("cat", "dog"), counts=((3, 1), (2, 4))):
    """Ten test images, with one sample of each kind."""
    classes = [
        {"name": name, "images": sum(row), "correct": row[i], "predicted": sum(one[i] for one in counts)}
        for i, (name, row) in enumerate(zip(names, counts))
    ]  # fmt: skip
    sample = {"image": 7, "label": 0, "predicted": 1, "probability": 0.75, "rgb": "ff8000" * 1024}
    return {
        "weights": "runs/one/weights.safetensors", "val_loss": 1.5, "val_accuracy": 0.7, "val_samples": 10,
        "confusion": [list(row) for row in counts], "classes": classes,
        "samples": {"first": [{**sample, "image": 0, "predicted": 0}], "mistakes": [sample]},
    }  # fmt: skip


def alone(name, path):
    """A series of one run."""
    one = series(name, [point(1, 8.0, repeats=1, run=path, phases=phases(forward=0.03, backward=0.06))], "single")
    one["points"][0].update(speedup=None, efficiency=None)  # as a report has it
    return one


def report(all_series, tables=(), **more):
    return {
        "schema": "rueda-report", "schema_version": 2, "title": "A study", "made_with": "rueda 1.2.3",
        "series": all_series, "runs": [], "comparison": None, "tables": list(tables), "findings": [], "layouts": {},
        "predictions": [], **more,
    }  # fmt: skip


def write(folder, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
