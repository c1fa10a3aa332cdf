"""Clocks, power and temperature of the GPU beside a call, as nvidia-smi reports them five times a second."""

import csv
from contextlib import ExitStack
from statistics import median

from runner import beside, text_of

# Name in the report, nvidia-smi's field.
FIELDS = {
    "SM clock, MHz": "clocks.sm", "memory clock, MHz": "clocks.mem", "power, W": "power.draw",
    "temperature, C": "temperature.gpu",
}  # fmt: skip
PERIOD_MS = 200


class GpuWatch:
    """Runs nvidia-smi from `start` to `end`; gpu.csv keeps its lines."""

    def __init__(self, nvidia_smi, file):
        self.file, self.why, self.seen = file, "", 0
        self.words = [nvidia_smi, f"--query-gpu={','.join(FIELDS.values())}", "--format=csv,noheader,nounits",
                      f"--loop-ms={PERIOD_MS}", "--id=0"]  # fmt: skip
        self.stack = ExitStack()

    def start(self):
        if self.words[0] is None:
            self.why = "no nvidia-smi"
            return
        try:
            self.stack.enter_context(beside(self.words, self.file))
        except OSError as error:
            self.why = str(error)

    def take(self):
        """Minimum, median and maximum of each field since the call before; why there is nothing, if that is so."""
        rows, self.seen = read_rows(self.file, self.seen)
        if not rows:
            return {"not recorded": self.why or "nvidia-smi gave no figures"}
        columns = {name: [row[i] for row in rows] for i, name in enumerate(FIELDS)}
        return {name: [min(values), median(values), max(values)] for name, values in columns.items()}

    def end(self):
        self.stack.close()


def read_rows(file, skipped):
    """The rows of numbers after the first `skipped` lines, and the number of lines that are complete."""
    lines = [line for line in text_of(file).splitlines(True) if line.endswith("\n")]
    return [row for row in map(numbers, csv.reader(lines[skipped:])) if row], len(lines)


def numbers(words):
    """Nothing for a line that is not a number for each field, as "[N/A]"."""
    try:
        row = [float(word) for word in words]
    except ValueError:
        return None
    return row if len(row) == len(FIELDS) else None
