"""What the program and the reader both need to know, once: the program prints it (`rueda definitions`), and
definitions.json, beside this module, is its output. A test compares the two."""

import json
import pkgutil

DEFINITIONS = json.loads(pkgutil.get_data(__package__, "definitions.json"))
PHASES = tuple(phase["key"] for phase in DEFINITIONS["phases"])
"""The phases of a step, in their order; they add up to the step."""
FACTORS = {factor["key"]: factor["heading"] for factor in DEFINITIONS["factors"]}
"""Key and heading of the factors of efficiency. The four in the middle are factors of the last, the first three of
these factors of the first."""
FILES, LIMITS, THRESHOLDS = (DEFINITIONS[name] for name in ("files", "limits", "thresholds"))


def options_by_timing(timing):
    """Names of the options of train by how a study treats runs that differ in one: "none" as repeats, "variant" as
    different kinds of runs, "series" by what the option leads to."""
    return [option["name"] for option in DEFINITIONS["options"] if option["timing"] == timing]
