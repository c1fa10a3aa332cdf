"""`rueda report`: tables and findings of runs, on the terminal and in a directory. docs/report.md has what is
written."""

import os
from dataclasses import dataclass, field

from . import start
from .base.json_view import InputFile, read_json
from .base.text import printable
from .command_line import CommandLine, number, one_of
from .start import Unusable

_PURPOSES = ("time", "cost", "knee", "efficiency")
_LAYOUTS = ("book", "sa-miri", "lab5", "sa-miri-2021", "nyu")
_MOST_PREDICTION_BYTES = 64_000_000
_LONGEST_PATH = 4000

_EXAMPLE = """  rueda report study --out study/report
  rueda report runs/one runs/two runs/four --purpose cost"""


@dataclass
class Report:
    """Everything that a report says, in no form yet."""

    title: str
    made_with: str  # program and version
    series: list  # of SeriesFigures
    tables: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    layouts: dict = field(default_factory=dict)  # hand-ins: name to tables
    comparison: object = None
    predictions: list = field(default_factory=list)  # what `rueda predict --json` wrote
    all_runs: list = field(default_factory=list)  # every run with an epoch, also repeats


def _add_outputs(line):
    line.add_argument("--out", metavar="DIR", default="", help="Writes report.md, report.json, tables/*.csv, plots and "
                      "report.html to this directory; without it, only the overview is printed")  # fmt: skip
    line.add_argument("--title", metavar="TEXT", default="",
                      help="Heading of the report, instead of one that names its runs")
    line.add_argument("--layout", metavar="|".join(_LAYOUTS), type=one_of(_LAYOUTS), nargs="+",
                      action="extend", default=[],
                      help="Writes the tables of a hand-in too, by the task numbers of its course: book "
                      "(Torres, chapter 10), sa-miri (its course of 2025), lab5 (CC-MEI), sa-miri-2021, nyu (lab on "
                      "data parallelism); may be repeated")  # fmt: skip
    line.add_argument("--hand-in", metavar="DIR", default="", help="Makes the folder to hand in by the one --layout: "
                      "document, tables, charts, the runs' records for --check, and answers.md, which you complete "
                      "before you run it again")  # fmt: skip
    line.add_choice("--plots", ("auto", "on", "off"), default="auto",
                    help="Draws plots, report.html and hand-in.html with Python's matplotlib; auto: if "
                    "it is installed")  # fmt: skip
    line.add_argument("--slides", action="store_true",
                      help="Also writes slides.html, a sheet for each task with figure, table and facts, to "
                      "complete and print")  # fmt: skip


def command_line():
    line = CommandLine("report",
                       "Makes tables and findings of a scaling study's runs; needs no MPI and no GPU", _EXAMPLE)
    line.add_argument("places", metavar="RUN_DIR", nargs="*",
                      help="Run directories of rueda train, or directories that hold "
                      "some, up to five levels deep")  # fmt: skip
    line.add_argument("--keras-log", metavar="FILE[,...]", nargs="+", action="extend", default=[],
                      help="Compares this output of "
                      "Keras' fit(), or a CSV with the columns epoch and seconds, with the runs; facts that it lacks "
                      "may follow, as in FILE,ranks=4: model=NAME, ranks=P, batch=GLOBAL, images=N, size=PIXELS, "
                      "processor=cpu|gpu; may be repeated")  # fmt: skip
    line.add_choice("--published", ("book", "nyu", "all"),
                    help="Compares these published runs with the runs (docs/report.md)")
    line.add_argument("--check", metavar="DIR", default="",
                      help="Compares the CSV tables in DIR with what the runs give, and "
                      "prints what differs by more than their rounding: exit code 0, or 1 if something differs; "
                      "without runs, each folder in DIR as the hand-in of a group with its runs")  # fmt: skip
    line.add_argument("--prediction", metavar="FILE", nargs="+", action="extend", default=[],
                      help="Shows this file of rueda predict --json with the runs; may be repeated")  # fmt: skip
    _add_outputs(line)
    line.add_choice("--purpose", ("all", *_PURPOSES), default="all",
                    help="Recommends a number of ranks by this: time: the "
                    "shortest epoch; cost: the fewest device hours; knee: the maximum of speedup x efficiency; "
                    "efficiency: the most ranks that keep --efficiency")  # fmt: skip
    line.add_argument("--efficiency", metavar="PERCENT", type=number, default=80.0,
                      help="Minimum efficiency of the recommendation by efficiency")  # fmt: skip
    return line


def _must_draw(options):
    return options.slides or options.plots == "on"


def _check(line, options):
    """Refuses what does not go together."""
    for wrong, why in (
        (not (options.places or options.keras_log or options.published or options.check),
         "name at least one run directory, --keras-log or --published"),
        (options.slides and options.plots == "off", "--slides draws, and --plots off does not: give one of the two"),
        (options.hand_in and options.check,
         "--hand-in makes a hand-in, and --check compares one: give one of the two"),
        (options.hand_in and len(options.layout) != 1,
         "--hand-in needs the layout of one course: give --layout once"),
        (options.slides and not options.out, "--slides writes a file: say where with --out"),
        (not options.out and not options.hand_in and (options.plots == "on" or options.layout),
         "--plots on and --layout write files: say where with --out or --hand-in"),
        (not 0 < options.efficiency <= 100, "--efficiency must be above 0 and at most 100 (percent)"),
    ):  # fmt: skip
        if wrong:
            line.error(why)


def _read_prediction(word):
    file = InputFile(word, "give what `rueda predict --json` wrote", name=f"--prediction {word}")
    return read_json(file, _MOST_PREDICTION_BYTES).value


def _read(options):
    """(Study, observations): these by depth of the model, rueda's runs first, then what others printed."""
    from .handin.keras_log import parse_keras_log_option, read_keras_log
    from .handin.published import published
    from .runs.places import depth_of, load_study
    from .study.observation import observe_all

    study = load_study(options.places)
    found = observe_all(study.runs)
    for word in options.keras_log:
        found += read_keras_log(parse_keras_log_option(word))
    if options.published:
        found += published(options.published)
    return study, sorted(found, key=lambda seen: depth_of(seen.model))


def _add_tables(report, study, observations, options):
    from .handin.layouts import layout_tables
    from .tables.acceleration import acceleration_table
    from .tables.study_tables import study_tables
    from .tables.table import without_empty

    report.tables = study_tables(study, report.series) + without_empty([acceleration_table(observations)])
    for layout in options.layout:
        report.layouts[layout] = layout_tables(layout, report.series, observations)
        if not report.layouts[layout]:
            raise Unusable(f"--layout {layout}: nothing that was read fits into its tables; jobs/scale.sh "
                           f"{layout} makes the runs that they ask for")  # fmt: skip


def _run_named(study, place):
    """The run of a place that is its directory or file; None for a directory that holds several."""
    place = os.path.normpath(place)
    return next((run for run in study.runs if place in map(os.path.normpath, (run.file, run.file.parent))), None)


def _comparison_of(study, places):
    """Of exactly two runs that were named."""
    from .findings.comparison import compare

    if len(places) != 2 or len(study.runs) != 2:
        return None
    a, b = (_run_named(study, place) for place in places)
    return None if a is None or b is None or a is b else compare(a, b)


def _title_of(options, study, report):
    """As given, else by what is reported."""
    from .findings.comparison import comparison_title
    from .runs.run import folder_name

    if options.title:
        return options.title
    if report.comparison:
        return comparison_title(report.comparison)
    alone = len(study.runs) == 1 and len(report.series) == 1
    return f"Run {folder_name(study.runs[0].file)}" if alone else "Scaling study"


def make_report(options, study, observations):
    """A Report of what was read, by the options of the command line."""
    from .findings.records import records_findings
    from .findings.study_findings import findings
    from .study.figures import evaluate
    from .study.series import make_series

    report = Report(title="", made_with=program(), series=evaluate(make_series(observations)), all_runs=study.runs)
    _add_tables(report, study, observations, options)
    purposes = _PURPOSES if options.purpose == "all" else (options.purpose,)
    report.findings = findings(study, report.series, purposes, options.efficiency / 100)
    report.findings += records_findings(study, options.places)
    report.predictions = [_read_prediction(word) for word in options.prediction]
    report.comparison = _comparison_of(study, options.places)
    report.title = _title_of(options, study, report)
    return report


def program():
    """The program that started the reader, and its version."""
    return " ".join(["rueda", os.environ.get("RUEDA_VERSION", "")]).strip()


def _compare_hand_in(options):
    """Of one group with its runs, or of a class, whose groups have theirs in their folders. Returns the exit code."""
    from .handin.grading import check_class, compare_hand_in

    if not (options.places or options.keras_log or options.published):
        check_class(options.check, options.out)
        return 0
    study, observations = _read(options)
    compare_hand_in(options.check, options.places, study, observations, options.out)
    return 0


def _print_overview(report):
    from .findings.comparison import comparison_text
    from .findings.finding import findings_text
    from .tables.scaling import overview_table
    from .tables.table import to_text

    text = to_text(overview_table(report.series)) + findings_text(report.findings)
    print(text + (comparison_text(report.comparison) if report.comparison else ""), end="")


def _can_draw(options):
    """Before anything is written: this Python may have to give its place to another, which has the libraries."""
    if not (options.out or options.hand_in) or options.check or options.plots == "off":
        return False
    try:
        start.need("matplotlib", "jinja2")
    except Unusable as error:
        if _must_draw(options):
            option = "--slides" if options.slides else "--plots on"
            raise Unusable(f"{option} {error}; or leave it out and draw elsewhere with jobs/plot_report.py") from None
        return False
    return True


def _draw(options, report):
    """Plots, page and slides."""
    from .findings.report_json import report_json
    from .page import output

    output.write_all(start.path_of(options.out), report_json(report), ("png", "pdf"), options.slides)
    print(f"Drawn: report.html, plots/*.png, plots/*.pdf{', slides.html' if options.slides else ''}")


def _write(options, report, draws):
    from .report_files import write_report

    write_report(start.path_of(options.out), options.out, report)
    written = ["report.md, report.json, tables/*.csv", *[f"{layout}.md, {layout}/*.csv" for layout in options.layout]]
    print(f"\nWritten to {printable(options.out, _LONGEST_PATH)}: {', '.join(written)}")
    if draws:
        _draw(options, report)
    elif options.plots != "off":
        print("No plots and no report.html: there is no Python with matplotlib here. jobs/plot_report.py draws them "
              "elsewhere.")  # fmt: skip


def _write_hand_in(options, report, draws):
    from .handin.folder import write_hand_in

    write_hand_in(options.hand_in, options.layout[0], options.title, options.places, report, draws)
    if not draws and options.plots != "off":
        print("No charts and no hand-in.html: there is no Python with matplotlib here.")


def main(words):
    """Returns the exit code."""
    line = command_line()
    options = line.parse(words)
    _check(line, options)
    draws = _can_draw(options)
    start.need("numpy")
    if options.check:
        return _compare_hand_in(options)
    if options.hand_in:
        from .handin.folder import check_place

        check_place(options.hand_in, options.places, options.out)
    study, observations = _read(options)
    report = make_report(options, study, observations)
    _print_overview(report)
    if options.out:
        _write(options, report, draws)
    if options.hand_in:
        _write_hand_in(options, report, draws)
    return 0
