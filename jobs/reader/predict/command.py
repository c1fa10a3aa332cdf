"""`rueda predict`: reads the command line, predicts, prints the tables and writes the files that were asked for."""

import json

from ..base.definitions import DEFINITIONS
from ..base.files import obstacle_to_output, write_whole
from ..base.owned import write_owned
from ..base.text import in_utf8
from ..command_line import CommandLine, number, whole_number
from ..start import Failed, Unusable, need, path_of
from ..tables.table import to_csv, to_markdown, to_text
from .changes import parse_changes
from .model import Given, Target
from .quantities import parse_measured, parse_rank_list, parse_rate, parse_seconds, parse_share
from .tables import Price

_VERSION = 1  # `rueda_predict` of the JSON: raised when a field changes its meaning or goes
_MOST_IMAGES = 1_000_000_000
_MOST_CLASSES = 100_000
_MOST_PIXELS = 4096
_MOST_OF_A_NODE = 1_000_000
_MOST_BUCKET_MB = 1e6
_MOST_NOISE = 1e12
_EXAMPLE = """  rueda predict runs/ --ranks 1,2,4,...,1024 --what-if bandwidth=2x
  rueda predict runs/ --cross-validate
  rueda predict --model resnet50v2 --compute 544ms --batch-per-rank 2048 \\
    --alpha 10us --bandwidth 100GB/s"""


_AMOUNTS = (
    ("alpha", parse_seconds, "TIME", "Latency of a message between nodes, instead of a fitted one"),
    ("bandwidth", parse_rate, "RATE",
     "Bandwidth between nodes, for example 10GB/s: 1/beta, with beta in seconds per byte"),
    ("inside-alpha", parse_seconds, "TIME", "Latency of a message within a node"),
    ("inside-bandwidth", parse_rate, "RATE", "Bandwidth within a node"),
    ("add-rate", parse_rate, "RATE", "Bytes that a rank adds per second"),
    ("compute", parse_seconds, "TIME", "Time of a step of --batch-per-rank images on one rank, instead of runs"),
    ("fixed", parse_seconds, "TIME", "Part of --compute that does not depend on the batch"),
    ("message-noise", parse_share, "SHARE",
     "Standard deviation of a message's time relative to its mean, for --simulate"),
)  # fmt: skip
"""What may be given instead of being fitted."""


def _add_scenario(group, line):
    group.add_argument("--ranks", metavar="LIST", default="1,2,4,...,64",
                       help="Predicts for these numbers of ranks, each up to 16384")
    group.add_argument("--model", metavar="NAME", type=str.lower, default="",
                       help="Network to predict [that of the runs]")
    group.add_argument("--image-size", metavar="PIXELS", type=whole_number, default=0,
                       help="Side of the images; 0: as in the runs, or 32 without runs [0]")
    group.add_argument("--classes", metavar="N", type=whole_number, default=0,
                       help="Number of classes; 0: as in the runs, or 10 without runs [0]")
    group.add_argument("--batch-per-rank", metavar="N", type=whole_number, default=0,
                       help="Images of each rank in a step; 0: as in the runs [0]")
    group.add_argument("--global-batch", metavar="N", type=whole_number, default=0,
                       help="Images of all ranks in a step, instead of --batch-per-rank; 0: not given [0]")
    group.add_argument("--images", metavar="N", type=whole_number, default=0,
                       help="Images of an epoch; 0: as in the runs, or 50000 without runs [0]")
    line.add_choice("--algorithm", DEFINITIONS["algorithms"], group,
                    help="Algorithm that sums the gradients; best: the fastest one for each bucket [as in the runs, or "
                         "ring]")
    line.add_choice("--overlap", ("auto", "on", "off"), group, default="auto",
                    help="Whether communication runs during backward; auto: as in the runs")
    group.add_argument("--bucket-mb", metavar="MB", type=number,
                       help="Size of the buckets, cut as training would cut them [as in the runs, or 25]")
    group.add_argument("--ranks-per-node", metavar="N", type=whole_number, default=0,
                       help="Ranks that share a node and its inner links; 0: all links are of one kind [0]")
    group.add_argument("--links-per-node", metavar="N", type=whole_number, default=1,
                       help="Messages that can leave a node at full speed at the same time")


def _add_machine(group):
    for name, _, metavar, words in _AMOUNTS:
        group.add_argument(f"--{name}", metavar=metavar, help=words)
    group.add_argument("--what-if", metavar="CHANGES", default="",
                       help="Predicts for a changed machine: bandwidth, latency, inside-bandwidth, inside-latency, "
                            "add-rate, compute-time, noise, each as =2x or =VALUE, separated by commas; balance, "
                            "alone: for ranks that share each batch by their speed (train --balance speed)")


def _add_questions(group, line):
    line.add_choice("--goal", ("epoch", "learning"), group, default="epoch",
                    help="What is predicted: an epoch, or also how long each number of ranks takes, with "
                         "its best batch, to learn as much as one rank in an epoch, by the gradient noise "
                         "scale of the runs")
    group.add_argument("--gradient-noise-scale", metavar="IMAGES", type=number,
                       help="Noise scale for --goal learning [that of the runs]")
    group.add_argument("--simulate", action="store_true", help="Simulates a noisy ring message by message")
    group.add_argument("--seed", metavar="N", type=whole_number, default=1, help="Seed of the noise, for --simulate")
    group.add_argument("--cross-validate", action="store_true",
                       help="Fits to the runs on --fit-ranks and predicts the others")
    group.add_argument("--fit-ranks", metavar="LIST", default="",
                       help="Fits only to runs on these numbers of ranks [all; 1,2 with --cross-validate]")
    group.add_argument("--measured", metavar="LIST", default="",
                       help="Explains the loss of epoch times that were measured elsewhere, given as 1:13.6s,4:5.4s")
    group.add_argument("--price", metavar="AMOUNT", type=number,
                       help="Price of a rank for an hour; adds the cost of an epoch")
    group.add_argument("--watts", metavar="W", type=number,
                       help="Power that a rank draws; adds the energy of an epoch")
    group.add_argument("--efficiency", metavar="SHARE", default="80%",
                       help="Answers up to how many ranks the efficiency stays at or above this")


def _command_line():
    line = CommandLine("predict", "Predicts epochs on any number of ranks from runs; needs no MPI", _EXAMPLE)
    line.add_argument("runs", metavar="RUN_DIR", nargs="*",
                      help="Fits the model to these runs: run directories, directories that hold some, or run.json "
                           "files")
    line.add_argument("--bench", metavar="FILE", action="append", default=[], dest="benches",
                      help="Fits alpha and beta to this record of rueda bench all-reduce --json; may be repeated")
    line.add_argument("--json", metavar="FILE", default="", help="Writes all tables to this file")
    line.add_argument("--extra-p", metavar="FILE", default="",
                      help="Writes what the runs measured to this file, for Extra-P")
    line.add_argument("--out", metavar="DIR", default="",
                      help="Writes predict.md, predict.json and a CSV file of each table to this directory")
    _add_scenario(line.add_argument_group("Scenario"), line)
    _add_machine(line.add_argument_group("Machine"))
    _add_questions(line.add_argument_group("Questions"), line)
    return line


def _require(holds, otherwise):
    if not holds:
        raise Unusable(otherwise)


def _check_ranges(o):
    _require(not (o.batch_per_rank and o.global_batch),
             "--batch-per-rank and --global-batch exclude each other: give one of the two")
    _require(max(o.batch_per_rank, o.global_batch, o.images) <= _MOST_IMAGES,
             f"batches and --images must be at most {_MOST_IMAGES}")
    _require(o.image_size <= _MOST_PIXELS, f"--image-size must be from 0 to {_MOST_PIXELS}")
    _require(o.classes <= _MOST_CLASSES, f"--classes must be from 0 to {_MOST_CLASSES}")
    _require((o.given.message_noise or 0) <= 1, "--message-noise must be from 0 to 100%")
    _require(0 <= (o.bucket_mb or 0) <= _MOST_BUCKET_MB, "--bucket-mb must be from 0 to 1000000")
    _require(o.given.step_seconds is None or o.batch_per_rank > 0,
             "--compute is the time of a step of --batch-per-rank images: give that, too")
    _require(o.links_per_node >= 1, "--links-per-node must be 1 or more")
    _require(max(o.links_per_node, o.ranks_per_node) <= _MOST_OF_A_NODE,
             f"--ranks-per-node and --links-per-node must be at most {_MOST_OF_A_NODE}")
    _require(o.ranks_per_node > 0 or (o.given.inside_alpha is None and o.given.inside_bandwidth is None),
             "--inside-alpha and --inside-bandwidth are of the links within a node: give --ranks-per-node, too")


def _options_of(words):
    """Reads the words and checks the rest. Raises Unusable naming the option."""
    line = _command_line()
    o = line.parse(words)
    try:
        _validate(o)
    except Unusable as error:
        line.error(str(error))
    return o


def _validate(o):
    o.ranks = parse_rank_list("--ranks", o.ranks)
    fit_ranks = o.fit_ranks or ("1,2" if o.cross_validate else "")
    o.fit_ranks = parse_rank_list("--fit-ranks", fit_ranks) if fit_ranks else []
    given = [parse(f"--{name}", word) if (word := getattr(o, name.replace("-", "_"))) is not None else None
             for name, parse, _, _ in _AMOUNTS]
    o.given = Given(*given, o.batch_per_rank)
    _check_ranges(o)
    o.changes = parse_changes(o.what_if)
    o.epochs = [parse_measured(word) for word in o.measured.split(",")] if o.measured else []
    _require(o.runs or not (o.cross_validate or o.extra_p),
             "--cross-validate and --extra-p need runs: give their directories")
    _require(o.gradient_noise_scale is None or o.goal == "learning",
             "--gradient-noise-scale is for --goal learning: give that, too")
    _require(o.gradient_noise_scale is None or 0 < o.gradient_noise_scale <= _MOST_NOISE,
             f"--gradient-noise-scale must be above 0 and at most {_MOST_NOISE:g} images")
    _require((o.price or 0) >= 0, "--price must be 0 or more")
    _require((o.watts or 0) >= 0, "--watts must be 0 or more")
    o.target = Target(o.model, o.image_size, o.classes, o.ranks_per_node, o.links_per_node)
    o.price = Price(o.price, o.watts, parse_share("--efficiency", o.efficiency))


def _json_of(tables):
    content = {"rueda_predict": _VERSION}
    for table in tables:
        content[table.id] = {"title": table.title, "rows": table.row_objects(), "notes": table.all_notes()}
    return json.dumps(content, indent=1) + "\n"


def _extra_p_of(tables):
    """The measured runs as Extra-P reads them, an object a line. All runs with or without overlap share a call path, in
    which P is the parameter."""
    measured = next((table for table in tables if table.id == "measured"), None)
    if measured is None:
        raise Unusable("--extra-p: no run is of this network and image size; give such runs, or another --model")
    lines = []
    for row in measured.row_objects():
        for key, value in row.items():
            if key.startswith("measured_") and value is not None:
                lines.append({"params": {"p": row["ranks"]}, "callpath": f"overlap {row['overlap']}",
                              "metric": key.removeprefix("measured_"), "value": value})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _write_folder(word, tables):
    text = "# Prediction\n" + "".join("\n" + to_markdown(table) for table in tables)
    files = {f"{table.id}.csv": to_csv(table) for table in tables}
    files = {**files, "predict.md": text, "predict.json": _json_of(tables)}
    contents = {name: in_utf8(content) for name, content in files.items()}
    write_owned(path_of(word), word, {"": contents}, "move it away, or name another folder with --out")


def _check_output(option, word):
    """Before the work: what could not be written after it."""
    obstacle = obstacle_to_output(path_of(word)) if word else ""
    _require(not obstacle, f"{option} {word}: a file cannot be written there: {obstacle}; name one in a folder that "
                           "exists and that you may write into")


def _write(option, word, text):
    try:
        write_whole(path_of(word), in_utf8(text))
    except OSError as error:
        raise Failed(f"{option} {word} cannot be written: {error.strerror}; look at where it goes") from None


def main(words):
    """Returns the exit code. Raises Unusable and OSError."""
    options = _options_of(words)
    need("numpy")
    _check_output("--json", options.json)
    _check_output("--extra-p", options.extra_p)
    from .prediction import Prediction

    tables = Prediction(options).tables()
    for table in tables:
        print(to_text(table))
    if options.json:
        _write("--json", options.json, _json_of(tables))
    if options.extra_p:
        _write("--extra-p", options.extra_p, _extra_p_of(tables))
    if options.out:
        _write_folder(options.out, tables)
    return 0
