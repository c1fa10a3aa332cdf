#!/usr/bin/env python3
"""Compares regenerated references with the stored ones.

usage: compare.py STORED REGENERATED

Names, shapes and counts must be equal and results agree to 1e-9, relative to a tensor's norm.
A result may be zero but for rounding (the gradient of a bias in front of a batch normalisation);
so a deviation below 1e-6 of the framework's own error in float32 counts as agreement, too. That
error depends on processor and threads and is held to a factor of 10 only where it is of a whole
part of a file; versions are printed. The last line is `parity: N files equal`, or exit code 1.
"""

import json
import math
import sys
from pathlib import Path

RELATIVE = 1e-9
OF_ERROR = 1e-6
LOOSE = 10.0
MEASURED = ("framework_error", "loss_error")


def near(stored, new, scale, error):
    return abs(stored - new) <= RELATIVE * max(scale, abs(stored)) + OF_ERROR * error


def numbers(value):
    """The numbers in nested lists."""
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [value]


def lists_agree(stored, new, scale, error):
    """Whether lists of results agree; `scale` and `error` are the norm and absolute error."""
    a, b = numbers(stored), numbers(new)
    return len(a) == len(b) and all(near(x, y, scale, error) for x, y in zip(a, b))


def digest_differs(stored, new):
    norm = stored["norm"]
    error = stored.get("framework_error", 0.0) * norm
    pairs = ((stored[key], new[key]) for key in ("norm", "projections", "samples"))
    return not all(lists_agree(a, b, norm, error) for a, b in pairs)


def output_differs(stored, new):
    scale = math.sqrt(sum(x * x for x in numbers(stored["logits"])))
    return not (
        lists_agree(stored["logits"], new["logits"], scale, 0.0)
        and near(stored["loss"], new["loss"], 0.0, 0.0)
    )


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def errors(value):
    """All measured errors below a value."""
    if not isinstance(value, dict):
        return []
    found = [v for k, v in value.items() if k in MEASURED and v > 0]
    return found + numbers(value.get("spread", [])) + [e for v in value.values() for e in errors(v)]


def loosely_differs(stored, new):
    """Whether the medians of the measured errors are more than a factor apart."""
    a, b = (sorted(errors(v)) for v in (stored, new))
    return bool(a) and not 1 / LOOSE <= b[len(b) // 2] / a[len(a) // 2] <= LOOSE


def differences(path, stored, new):
    """The paths, as text, at which two references differ."""
    if path.endswith(("/versions", "/spread")) or path.rsplit("/", 1)[-1] in MEASURED:
        return []
    if isinstance(stored, dict) and isinstance(new, dict):
        if "projections" in stored and "projections" in new:
            return [path] if digest_differs(stored, new) else []
        if "logits" in stored and "logits" in new:
            return [path] if output_differs(stored, new) else []
        if list(stored) != list(new):
            return [f"{path} (names)"]
        return [d for k in stored for d in differences(f"{path}/{k}", stored[k], new[k])]
    if isinstance(stored, list) and all(map(is_number, numbers(stored))):
        return [] if lists_agree(stored, new, 0.0, 0.0) else [path]
    return [] if stored == new else [path]


def compare(stored, new):
    """What differs between two files."""
    a, b = (json.loads(path.read_text(encoding="utf-8")) for path in (stored, new))
    if a.get("versions") != b.get("versions"):
        print(f"{stored.name}: stored by {a.get('versions')}, now {b.get('versions')}")
    found = differences(stored.stem, a, b)
    for case in ("step", "train"):
        if loosely_differs(a.get(case, {}), b.get(case, {})):
            found.append(f"{stored.stem}/{case} (errors in float32, by more than a factor of 10)")
    return found


def main(stored, regenerated):
    names = sorted({p.name for folder in (stored, regenerated) for p in Path(folder).glob("*.json")})
    found = []
    for name in names:
        pair = Path(stored, name), Path(regenerated, name)
        missing = [f"{path} is missing" for path in pair if not path.is_file()]
        found += missing or compare(*pair)
    for text in found:
        print(f"differs: {text}")
    verdict = f"{len(found)} differences" if found or not names else f"{len(names)} files equal"
    print(f"parity: {verdict}")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
