"""`python3 jobs/reader report ...` from a checkout; `rueda report ...` runs the same from the program's archive.

A command is a module with main(words), which returns the exit code. It imports what needs LIBRARIES of start.py only
after start.need(...), which comes after its command line has been read: --help needs none. Paths of the user go
through start.path_of.
"""

import sys
from importlib import import_module
from pathlib import Path

COMMANDS = {"report": "reader.report", "predict": "reader.predict.command"}
REMEDY = "give the directories of runs of rueda train"


def main():
    from reader import start

    def run():
        if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
            raise start.Unusable(f"give one of the commands {', '.join(COMMANDS)}")
        return import_module(COMMANDS[sys.argv[1]]).main(sys.argv[2:])

    start.run("rueda", run, REMEDY, needs=())


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # not this folder, whose modules are parts of a package
    main()
