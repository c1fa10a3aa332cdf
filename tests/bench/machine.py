"""What the benchmark ran on."""

import os
import platform
from pathlib import Path

# Those that decide how fast oneDNN, and with it all contestants, can be.
EXTENSIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "avx512_fp16")


def describe_machine(cores):
    fields = processor_fields()
    flags = fields.get("flags", "").split()
    return {
        "processor": fields.get("model name", platform.machine()),
        "extensions": [name for name in EXTENSIONS if name in flags],
        "cores": cores,
        "load_before": os.getloadavg()[0],
    }


def processor_fields():
    """The first processor's lines in /proc/cpuinfo."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}
