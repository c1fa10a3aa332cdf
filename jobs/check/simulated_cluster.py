#!/usr/bin/env python3
"""Steps of training on simulated clusters, beside what `rueda predict` says: a table and a picture. Needs matplotlib.

usage: simulated_cluster.py [--write] [--ranks LIST] SIMULATED_CLUSTER RUEDA
       simulated_cluster.py --records [--ranks LIST] RECORD_KEEPING

SIMULATED_CLUSTER and RUEDA are programs of a build (ninja -C build rueda tests/simulated-cluster). --write puts the
table and the picture into docs/results/ (jobs/site/pictures.py then notes it); 4,096 ranks take some minutes.

--records: what rank 0 of so many ranks keeps, writes and spends between the steps of 20 epochs of 50 steps, by the
program tests/record-keeping, in Markdown.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "jobs"))

from reader import start  # noqa: E402
from reader.base.files import save_figure  # noqa: E402
from reader.charts.style import settings, style_at  # noqa: E402

TABLE = ROOT / "docs" / "results" / "simulated-cluster.csv"
MODELS = {"resnet20": "ResNet-20, 1.1 MB of gradients", "resnet18": "ResNet-18, 45 MB"}
ALGORITHMS = ("ring", "doubling", "halving", "auto")
RANKS = "16,64,256,1024,4096"
# One rank a host, links of 100 Gbit/s. Computing takes as long for both networks, so that they differ in bytes alone.
ALPHA, BANDWIDTH, ADDS, COMPUTE = 20e-6, 12e9, 20e9, 20e-3
TIME_LIMIT = 3600  # seconds, of one network
COLUMNS = ("model", "ranks", "all_reduce", "step_ms", "efficiency", "predicted_efficiency", "messages", "megabytes")


def lines_of(command):
    """What the command prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    if done.returncode:
        sys.exit(f"simulated_cluster: {command[0]} failed: {done.stderr.strip()[:400]}")
    return done.stdout.splitlines()


def simulate(binary, model, ranks):
    """An object for each number of ranks and way to sum."""
    return [json.loads(line) for line in lines_of([
        binary, "--model", model, "--ranks", ranks, "--all-reduce", ",".join(ALGORITHMS), "--update", "0",
        "--compute", str(COMPUTE), "--alpha", str(ALPHA), "--beta", str(1 / BANDWIDTH), "--gamma", str(1 / ADDS),
    ])]  # fmt: skip


def predict(binary, model, ranks, algorithm):
    """Efficiency of a full step by number of ranks, by the formulas."""
    images = 64 * max(map(int, ranks.split(",")))  # two full steps of the most ranks
    with tempfile.TemporaryDirectory(prefix="rueda-simulated-") as folder:
        file = Path(folder, "predicted.json")
        word = {"auto": "best"}.get(algorithm, algorithm)
        lines_of([
            binary, "predict", "--model", model, "--image-size", "32", "--compute", f"{1e3 * COMPUTE:g}ms",
            "--batch-per-rank", "32", "--images", str(images), "--alpha", f"{ALPHA * 1e6:g}us",
            "--bandwidth", f"{BANDWIDTH / 1e9:g}GB/s",
            "--add-rate", f"{ADDS / 1e9:g}GB/s", "--ranks", ranks, "--algorithm", word, "--overlap", "on",
            "--json", str(file),
        ])  # fmt: skip
        forecast = json.loads(file.read_text(encoding="utf-8"))["forecast"]
    return {row["ranks"]: COMPUTE / row["step_seconds"] for row in forecast["rows"]}


def simulated_rows(arguments):
    """As COLUMNS."""
    rows = []
    for model in MODELS:
        predicted = {word: predict(arguments.rueda, model, arguments.ranks, word) for word in ALGORITHMS}
        for one in simulate(arguments.simulated_cluster, model, arguments.ranks):
            rows.append((
                model, one["ranks"], one["all_reduce"], 1e3 * one["step_seconds"], one["efficiency"],
                predicted[one["all_reduce"]][one["ranks"]], one["messages"], one["bytes"] / 1e6,
            ))  # fmt: skip
    return rows


def draw(figure, rows):
    """A panel for each network: simulated points with lines, the formulas as crosses."""
    panels = figure.subplots(1, len(MODELS), sharey=True)
    for axes, (model, title) in zip(panels, MODELS.items()):
        for number, word in enumerate(ALGORITHMS):
            of_line = [row for row in rows if (row[0], row[2]) == (model, word)]
            look = style_at(number)
            ranks = [row[1] for row in of_line]
            axes.plot(ranks, [100 * row[4] for row in of_line], color=look.colour, linestyle=look.dash,
                      marker=look.marker, label=word)  # fmt: skip
            axes.plot(ranks, [100 * row[5] for row in of_line], color="black", linestyle="none", marker="+",
                      markersize=9, zorder=3, label="predicted" if number == 0 else None)  # fmt: skip
        axes.set_title(title)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [str(count) for count in ranks])
        axes.set_xlabel("ranks P, one a host (log scale)")
    panels[0].set_ylabel("efficiency, %")
    panels[0].set_ylim(0, 105)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncol=1 + len(ALGORITHMS))
    figure.tight_layout(rect=(0, 0.08, 1, 1))


def draw_picture(rows, picture):
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(settings()):
        figure = Figure(figsize=(10, 4.6))
        draw(figure, rows)
        save_figure(figure, picture)


def write(rows):
    """The table and the picture of the page."""
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
    draw_picture(rows, TABLE.with_suffix(".png"))


def print_records(program, ranks):
    """Each in a process of its own: memory that one took stays."""
    print("| P | gathered an epoch, MB | between two epochs, ms | in a step, µs | memory, MB | run.json, MB "
          "| steps.csv, MB an epoch |\n|" + "---:|" * 7)  # fmt: skip
    for count in ranks.split(","):
        with tempfile.TemporaryDirectory(prefix="rueda-records-") as folder:
            one = json.loads(lines_of([program, "--ranks", count, "--folder", folder])[-1])
        print(f"| {one['ranks']:,} | {one['gathered_megabytes']:.3g} | {1e3 * one['epoch_seconds']:.3g} "
              f"| {1e6 * one['step_seconds']:.3g} | {one['memory_megabytes']:.3g} | {one['run_json_megabytes']:.3g} "
              f"| {one['steps_csv_megabytes'] / one['epochs']:.3g} |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put table and picture into docs/results/")
    parser.add_argument("--ranks", default=RANKS, help="numbers of ranks")
    parser.add_argument("--records", action="store_true", help="what rank 0 keeps")
    parser.add_argument("simulated_cluster", metavar="PROGRAM", type=start.path_of,
                        help="SIMULATED_CLUSTER, or RECORD_KEEPING")  # fmt: skip
    parser.add_argument("rueda", metavar="RUEDA", type=start.path_of, nargs="?")
    arguments = parser.parse_args()
    if arguments.records:
        return print_records(arguments.simulated_cluster, arguments.ranks)
    if not arguments.rueda:
        parser.error("RUEDA is missing")
    rows = simulated_rows(arguments)
    for row in rows:
        print("{:9} {:5} {:9} {:9.3f} ms  {:6.1%} simulated {:6.1%} predicted".format(*row[:6]))
    if arguments.write:
        write(rows)


if __name__ == "__main__":
    start.run("simulated_cluster", main, "see --help")
