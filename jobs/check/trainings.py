"""What real_images.py and learning.py share, which train on real images: checks, results, pictures, their end."""

import csv
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "bench"))

from frameworks import UsageError, check_binary  # noqa: E402

LIMIT = 12 * 3600  # seconds of a training, many times what one takes


def numbers(option, text, least=0):
    """'1,2,3' as a list, each number once."""
    words = text.split(",")
    if not all(word.isascii() and word.isdecimal() and len(word) < 10 and int(word) >= least for word in words):
        raise UsageError(f"{option} '{text}' is not a list of numbers from {least} on, as 1,2,3")
    return list(dict.fromkeys(map(int, words)))


def check_inputs(arguments, remedy):
    """That the program and the test images are there; remedy: what makes the images."""
    check_binary(arguments.binary)
    if not Path(arguments.data, "test_batch.bin").is_file():
        raise UsageError(f"{arguments.data} holds no test_batch.bin: call {remedy}, or give --data")


def figures_of(file, parse, remove):
    """parse(text of the file). Throws where it is damaged; without `remove` it is made anew."""
    try:
        return parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, csv.Error) as error:
        raise UsageError(f"{file} is damaged ({error!r}): remove {remove}, and it is trained again") from None


def steps_of(text):
    """Of steps.csv: the rows of rank 0, which are those of the steps, as dicts; and the training loss of each."""
    rows = [row for row in csv.DictReader(text.splitlines()) if row["rank"] == "0"]
    return rows, [float(row["train_loss"]) for row in rows]


def draw(script, record, picture):
    """Has a script beside this one draw the picture."""
    words = [sys.executable, str(Path(__file__).with_name(script)), str(picture)]
    if subprocess.run(words, input=json.dumps(record), text=True, timeout=600, check=False).returncode:
        raise UsageError(f"{picture} was not drawn, see above; the results stay, so the same call only draws")


def end_of(name, run):
    """The exit code of the script `name`, whose work is `run`. What goes wrong is said in one line."""
    try:
        run()
    except (UsageError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
