"""The first sections of the page, which answer what a reader looks for: of two runs what differs, of a study how far it
scales, of runs that do not scale how they learned; and on what machine, when and by what command."""

from ..charts.comparison import comparison_of
from ..charts.quantity import figure, is_hollow, ordered
from ..charts.report import curve_of, entries, estimate, is_own, name_of, run_of, text, texts_of
from ..findings.measured import measured_lines
from .parts import Block, Section, charts_block, table_view, tables_block
from .samples import strips

_LOST_IN = {"all_reduce": "exposed all-reduce", "rest": "uneven ranks and time between steps"}
_SCALED = {"speedup": ("speedup", "ratio"), "efficiency": ("eff., %", "percent")}
_TIMED = {"epoch_seconds": ("epoch, s", "seconds"), "images_per_second": ("images/s", "rate")}
_EVALUATED_AT_ONCE = 2  # evaluations that the head of a page has


def facts(report, where="report.json"):
    """[(what, text)]: machine, hosts, time, command and versions of the runs, and of the report. `where` has all
    commands."""
    measured = report.get("measured")
    lines = measured_lines(measured, where) if isinstance(measured, dict) else []
    made = text(report.get("made_with"))
    return [(what, text(words)) for what, words in lines] + [("Report", f"made with {made}")] * bool(made)


def _learns(point):
    """The speedup of learning, where it is determined and not that of throughput."""
    learning = estimate(point, "learning_speedup")
    return f"of learning {learning.text('ratio')}, " if learning and learning != figure(point, "speedup") else ""


def _headline(series):
    """What one looks for first: how far it scales with a core for every thread, and what that cost most."""
    points = [point for point in ordered(series)
              if figure(point, "efficiency").known and figure(point, "speedup").known]
    found = ([point for point in points if not is_hollow(point)] or points)[-1:]
    if not found or len(points) < 2:
        return []
    point = found[0]
    words = f"{int(point['ranks'])} ranks: speedup {figure(point, 'speedup').text('ratio')}, {_learns(point)}"
    words += f"efficiency {figure(point, 'efficiency').text('percent')}"
    most = text((point.get("losses") or {}).get("most"))
    return [(name_of(series), words + (f"; most lost in {_LOST_IN.get(most, most)}" if most else ""))]


def _learned(run):
    """The last accuracy of a run, and its best one if that was another and no epoch was left out."""
    for whose, key in (("test", "val_accuracy"), ("training", "accuracy")):
        curve = curve_of(run or {}, key)
        if curve.points:
            (epoch, last), (at, best) = curve.points[-1], max(curve.points, key=lambda point: point[1])
            words = f"{whose} accuracy {100 * last:.1f} % after epoch {epoch:.0f}"
            better = best > last and curve.known == len(curve.points)
            return words + (f" (best {100 * best:.1f} % after epoch {at:.0f})" if better else "")
    return ""


def _result(report, series):
    """The headline of a configuration of one P."""
    point = series["points"][0]
    epoch = estimate(point, "epoch_seconds")
    words = [_learned(run_of(report, point)), f"{epoch.value:.3g} s an epoch" if epoch else ""]
    return name_of(series), "; ".join(filter(None, words))


def _marks(series, point):
    known = {"shares cores": is_hollow(point), "includes warm-up": point.get("includes_warm_up") is True,
             "nothing computed": series.get("processor") == "timed", "disturbed": point.get("disturbed") is True,
             "single run": point.get("repeats") == 1 and is_own(series)}  # fmt: skip
    return ", ".join(word for word, applies in known.items() if applies) or " "


def _table(report, figures):
    """A row for each point with the estimates `figures`: key to (heading, how it is shown)."""
    rows = []
    for series in report["series"]:
        for point in ordered(series):
            name = name_of(series) if point is ordered(series)[0] else " "
            rows.append([name, point["ranks"], *[figure(point, key) for key in figures], _marks(series, point)])
    named = [("series", "text"), ("P", "count"), *figures.values(), ("marks", "text")]
    return Block("table", table_view({"columns": [{"heading": heading, "show": show} for heading, show in named],
                                      "rows": rows}))


def _first_with(drawn, topic):
    return [one for one in drawn if topic in one[0].topics][:1]


def _scaling(report, drawn):
    """Headlines, a table and two charts, which together fill a screen."""
    shown = _first_with(drawn, "speedup") + _first_with(drawn, "phase")
    headlines = [line for series in report["series"] for line in _headline(series)]
    return [Block("headlines", headlines), _table(report, {**_TIMED, **_SCALED}), *charts_block(shown)], shown


def evaluations(drawn):
    """Confusion matrices, each with the sample images of its evaluation. Returns blocks and their charts."""
    shown = [one for one in drawn if "confusion" in one[0].topics]
    return [Block("evaluated", (charts_block([one])[0].content, strips(one[0].evaluation))) for one in shown], shown


def _single(report, drawn):
    """How the runs learned, then what they take."""
    learning = [one for one in drawn if one[0].section == "Learning curves"][:2]
    evaluated, matrices = evaluations(drawn)
    if len(matrices) > _EVALUATED_AT_ONCE:
        evaluated, matrices = [], []
    speed = _first_with(drawn, "throughput" if len(report["series"]) > 1 else "phase")
    results = Block("headlines", [_result(report, series) for series in report["series"]])
    blocks = [results, *charts_block(learning), *evaluated, _table(report, _TIMED), *charts_block(speed)]
    return blocks, learning + matrices + speed


def _compared(comparison, drawn):
    """Sentences, what differs, and the charts of both."""
    shown = [one for one in drawn if one[0].section == "Comparison"]
    said = Block("items", texts_of(comparison, "findings"))
    return [said, *charts_block(shown), *tables_block(entries(comparison, "tables"))], shown


def head(report, drawn):
    """[Section] that come first, and the charts that they show."""
    sections, shown = [], []
    comparison = comparison_of(report)
    if comparison:
        blocks, shown = _compared(comparison, drawn)
        sections.append(Section("Comparison", "runs", blocks))
    scales = any(len(series["points"]) > 1 for series in report["series"])
    if report["series"]:
        blocks, more = (_scaling if scales else _single)(report, drawn)
        sections.append(Section("Summary", "scaling" if scales else "runs", blocks))
        shown = shown + more
    return sections, shown
