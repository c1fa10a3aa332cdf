"""What was expected of a GPU before it was measured (expected.json), beside what was measured."""

import json
from pathlib import Path

FILE = Path(__file__).with_name("expected.json")
AS_EXPECTED, ELSEWHERE, REFUTED, MISSING = "as expected", "not as expected", "REFUTED", "not measured"


def read():
    return json.loads(FILE.read_text(encoding="utf-8"))


def find(data, path):
    """The value at the end of a path of keys; a dict of conditions chooses a row of a list. None: not there."""
    for key in path:
        if isinstance(key, dict):
            data = next((row for row in data or [] if all(row.get(name) == value for name, value in key.items())), None)
        else:
            data = data.get(key) if isinstance(data, dict) else None
    return data


def measured(figure, results):
    """What the step of this name has found. Its status counts only if it ran."""
    result = next((one for one in results if one["name"] == figure["step"]), {})
    if figure["figure"] == ["status"]:
        status = result.get("status")
        return status if status in ("passed", "failed") else None
    return find(result.get("data"), figure["figure"])


def lies_in(value, bounds):
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)


def verdict(figure, value):
    if value is None:
        return MISSING
    if "is" in figure:
        return AS_EXPECTED if value == figure["is"] else REFUTED
    if not lies_in(value, figure.get("holds", figure["within"])):
        return REFUTED
    return AS_EXPECTED if lies_in(value, figure["within"]) else ELSEWHERE


def judged(call, device, rehearsal, results):
    """Each figure of the call (of all, without one) with what was measured, and what that says. Nothing is judged on
    another kind of GPU or in a rehearsal."""
    every = read()
    rows = []
    for figure in every["figures"]:
        if call in (None, figure["call"]):
            value = measured(figure, results)
            row = {**figure, "measured": value, "verdict": verdict(figure, value)}
            if value is not None and rehearsal:
                row["verdict"] = "a rehearsal"
            elif value is not None and every["gpu"] not in device:
                row["verdict"] = f"expected of an {every['gpu']}"
            rows.append(row)
    return rows
