"""The head of report.html, which answers first what a reader looks for: of two runs what differs, of a study how far
it scales, of runs that do not scale how they learned."""

from ..charts.comparison import comparison_of
from ..charts.quantity import is_hollow, ordered
from ..charts.report import curve_of, entries, estimate, is_own, name_of, run_of, text, texts_of
from .html_parts import charts_html, clean, items, table_html
from .samples import strip

_LOST_IN = {"all_reduce": "exposed all-reduce", "rest": "uneven ranks and time between steps"}
_SCALED = {"speedup": ("speedup", "ratio"), "efficiency": ("eff., %", "percent")}
_TIMED = {"epoch_seconds": ("epoch, s", "seconds"), "images_per_second": ("images/s", "rate")}
_EVALUATED_AT_ONCE = 2  # evaluations that the head of a page has


def _headline(series):
    """What one looks for first: how far it scales with a core for every thread, and what that cost most."""
    points = [point for point in ordered(series) if estimate(point, "efficiency") and estimate(point, "speedup")]
    found = ([point for point in points if not is_hollow(point)] or points)[-1:]
    if not found or len(points) < 2:
        return ""
    words = f"{int(found[0]['ranks'])} ranks: speedup {estimate(found[0], 'speedup').value:.2f}, "
    words += f"efficiency {100 * estimate(found[0], 'efficiency').value:.1f} %"
    most = text((found[0].get("losses") or {}).get("most"))
    if most:
        words += f"; most lost in {_LOST_IN.get(most, most)}"
    return f"<li><b>{clean(name_of(series))}</b>, {clean(words)}</li>\n"


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


def _result_line(report, series):
    """Of a configuration of one P."""
    point = series["points"][0]
    epoch = estimate(point, "epoch_seconds")
    words = [_learned(run_of(report, point)), f"{epoch.value:.3g} s an epoch" if epoch else ""]
    return f"<li><b>{clean(name_of(series))}</b>: {clean('; '.join(filter(None, words)))}</li>\n"


def _marks(series, point):
    known = {"shares cores": is_hollow(point), "includes warm-up": point.get("includes_warm_up") is True,
             "nothing computed": series.get("processor") == "timed",
             "disturbed": point.get("disturbed") is True, "single run": point.get("repeats") == 1 and is_own(series)}  # fmt: skip
    return ", ".join(word for word, applies in known.items() if applies) or " "


def _table(report, figures):
    """A row for each point with the estimates `figures`: key to (heading, how it is shown)."""
    rows = []
    for series in report["series"]:
        for point in ordered(series):
            value = [(estimate(point, key) or (None,))[0] for key in figures]
            name = name_of(series) if point is ordered(series)[0] else " "
            rows.append([name, point["ranks"], *value, _marks(series, point)])
    named = [("series", "text"), ("P", "count"), *figures.values(), ("marks", "text")]
    return table_html({"columns": [{"heading": heading, "show": show} for heading, show in named], "rows": rows})


def _first_with(drawn, topic):
    return [one for one in drawn if topic in one[0].topics][:1]


def _scaling(report, drawn):
    """Headlines, a table and two charts, which together fill a screen."""
    shown = _first_with(drawn, "speedup") + _first_with(drawn, "phase")
    headlines = f'<ul class="headlines">{"".join(map(_headline, report["series"]))}</ul>\n'
    return headlines + _table(report, {**_TIMED, **_SCALED}) + charts_html(shown), shown


def evaluations(drawn):
    """Confusion matrices, each with the sample images of its evaluation. Returns them and their charts."""
    shown = [one for one in drawn if "confusion" in one[0].topics]
    parts = [
        f'<div class="evaluated">{charts_html([one])}<div>{strip(one[0].evaluation)}</div></div>\n' for one in shown
    ]
    return "".join(parts), shown


def _single(report, drawn):
    """How the runs learned, then what they take."""
    learning = [one for one in drawn if one[0].section == "Learning curves"][:2]
    html, evaluated = evaluations(drawn)
    if len(evaluated) > _EVALUATED_AT_ONCE:
        html, evaluated = "", []
    several = len(report["series"]) > 1
    speed = _first_with(drawn, "throughput" if several else "phase")
    lines = "".join(_result_line(report, series) for series in report["series"])
    html = f'<ul class="headlines">{lines}</ul>\n' + charts_html(learning) + html
    return html + _table(report, _TIMED) + charts_html(speed), learning + evaluated + speed


def _compared(comparison, drawn):
    """Sentences, what differs, and the charts of both."""
    shown = [one for one in drawn if one[0].section == "Comparison"]
    tables = "".join(map(table_html, entries(comparison, "tables")))
    return items(texts_of(comparison, "findings")) + charts_html(shown) + tables, shown


def head(report, drawn):
    """[(heading, class, HTML)] of the first sections, and the charts that they show."""
    sections, shown = [], []
    comparison = comparison_of(report)
    if comparison:
        html, shown = _compared(comparison, drawn)
        sections.append(("Comparison", "runs", html))
    scales = any(len(series["points"]) > 1 for series in report["series"])
    if report["series"]:
        html, more = (_scaling if scales else _single)(report, drawn)
        sections.append(("Summary", "scaling" if scales else "runs", html))
        shown = shown + more
    return sections, shown
