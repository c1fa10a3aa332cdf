"""The figures in the sentences of the pages that jobs/check/tutorial.sh writes, from what their commands left."""

import json
import re
from statistics import median

# What a sentence says of the factor by which most is lost.
MEANINGS = {
    "computation scaling": "the two ranks together computed longer than one alone, for the same images",
    "transfer": "steps waited for messages, or time passed between them",
    "load balance": "one rank was slower than the other all the time",
    "serialisation": "the ranks were late in turn",
}

# The factor that has to cost most in the studies of docs/why-not-scaling.md, as each is made to show.
MADE_FOR = {"slow-rank": "computation scaling", "jitter": "serialisation", "slow-link": "transfer",
            "small-batch": "transfer", "strong": "computation scaling"}
IDEAL = 0.98  # an efficiency from which on the report looks for no cause
COSTLIEST = re.compile(r"most by ([a-z ]+) \(([\d.]+)\)")


def read(file):
    return json.loads(file.read_text(encoding="utf-8"))


def speed_text(images_per_second):
    return f"{images_per_second:.0f}" if images_per_second >= 100 else f"{images_per_second:.1f}"


def percent(share):
    return f"{100 * share:.1f} %"


def answer(report, together, alone, ranked):
    """The study in one sentence. Each part is the report's own, so it holds on both sides of its limits."""
    series = next(one for one in report["series"] if one["scaling"] == "weak")
    one, two = series["points"]
    says = [found["text"] for found in report["findings"] if found["about"] == series["label"]]
    efficiency = two["efficiency"]
    text = (f"On two ranks an epoch of {two['images']:,.0f} images takes {two['epoch_seconds']['value']:.2f} "
            f"s in place of {one['epoch_seconds']['value']:.2f} s, which is {two['speedup']['value']:.2f} times as "
            f"fast (efficiency {percent(efficiency['value'])}; repeats leave {percent(efficiency['low'])} to "
            f"{percent(efficiency['high'])})")
    most = next((match for said in says if (match := COSTLIEST.search(said))), None)
    if efficiency["value"] >= IDEAL:
        text += "; next to nothing is lost"
    elif most:
        text += f"; most of the loss is {most[1]} ({most[2]}): {MEANINGS[most[1]]}"
    else:
        text += "; no single cause of what is missing is determined"
    return (f"{text}. Two trainings that exchange no message, at the same time, make "
            f"{percent(together / alone)} of the speed of one alone each, and the two ranks of one training "
            f"{percent(ranked / alone)}.")


def mistake(evaluation):
    names = [one["name"] for one in evaluation["classes"]]
    count, row, column = max((count, row, column) for row, counts in enumerate(evaluation["confusion"])
                             for column, count in enumerate(counts) if row != column)
    return f"{names[row]} taken for {names[column]} ({count} of {evaluation['classes'][row]['images']})"


def of_tutorial(scratch):
    """Name to text. Fails where a run is missing."""
    def speed(name):
        return read(scratch / name / "run.json")["summary"]["steady_images_per_second"]

    report = read(scratch / "study/report/report.json")
    points = next(one for one in report["series"] if one["scaling"] == "weak")["points"]
    alone, ranked = (point["images_per_second_per_rank"]["value"] for point in points)
    together = median([speed("runs/left"), speed("runs/right")])
    one, two = speed("runs/one"), speed("runs/two")
    cores = read(scratch / "runs/one/run.json")["ranks"][0]["cores"]
    return {
        "cores": f"{cores:g} cores", "one_speed": speed_text(one), "two_speed": speed_text(two),
        "two_ratio": f"{two / one:.2f}", "alone": speed_text(alone), "together": speed_text(together),
        "ranked": speed_text(ranked), "answer": answer(report, together, alone, ranked),
        "mistake": mistake(read(scratch / "evaluation.json")),
    }


def of_studies(scratch):
    """None: the page of causes lets the reports speak."""
    return {}


def must_hold(scratch):
    """Ends the script where a page claims for certain what did not happen. A small run on a busy machine may be so."""
    for name, factor in MADE_FOR.items():
        if not (scratch / name).is_dir():
            continue
        found = [text for one in read(scratch / name / "report/report.json")["findings"]
                 if (text := one["text"]) and COSTLIEST.search(text)]
        if not found or COSTLIEST.search(found[0])[1] != factor:
            raise SystemExit(f"tutorial: in {name} most should be lost by {factor}, and the report says: {found}")


FIGURES = {"tutorial": of_tutorial, "why-not-scaling": of_studies}
