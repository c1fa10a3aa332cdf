"""What jobs/data.sh runs: python3 jobs/data ARGUMENTS."""

import argparse
import signal
import sys
from pathlib import Path

if sys.version_info < (3, 9):
    sys.exit("data.sh: it needs Python 3.9 or newer, and python3 is older: load a newer one's module")

import cifar10  # noqa: E402
import convert  # noqa: E402
import fashion  # noqa: E402
from common import Fault, plain  # noqa: E402

DESCRIPTION = """\
Gets or makes a data set in the layout of CIFAR-10's binary version, for `rueda train --data`. A set that is already
there is left alone; one that cannot be made whole is not made.
"""

EPILOG = """\
examples
  jobs/data.sh cifar10
  jobs/data.sh fashion-mnist
  jobs/data.sh fashion-mnist data --from FOLDER     four IDX files that you have
  jobs/data.sh convert pictures data/mine           pictures/CLASS/*.png, or pictures/train/CLASS/... and test/CLASS/...
  jobs/data.sh convert cifar-100-binary.tar.gz data/cifar-100-coarse --labels coarse
"""


def share(text):
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError("a number between 0 and 1")
    return number


def add_source(sources, name, get, text):
    source = sources.add_parser(name, help=text, description=text)
    source.set_defaults(get=get)
    source.add_argument("--overwrite", action="store_true", help="replace another data set that is there")
    return source


def command_line(words):
    parser = argparse.ArgumentParser(prog="jobs/data.sh", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    sources = parser.add_subparsers(metavar="SOURCE", required=True)
    source = add_source(sources, "cifar10", cifar10.get, f"CIFAR-10 from its author's address, to DIR/{cifar10.FOLDER}")
    source.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path("data"), help="[data]")
    source.add_argument("--url", help=f"of a mirror [{cifar10.URL}]")
    source.add_argument("--md5", metavar="SUM", help="of the archive there [the official one]")
    source = add_source(sources, "fashion-mnist", fashion.get,
                        "Fashion-MNIST from Debian's package, to DIR/fashion-mnist")
    source.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path("data"), help="[data]")
    source.add_argument("--from", dest="source", metavar="FOLDER", type=Path,
                        help="take its four IDX files from there, not from the package")
    source = add_source(sources, "convert", convert.get, "a set of your own to the folder OUT: IDX files, folders of "
                        "pictures by class, .npy or .npz arrays, CIFAR-100")
    source.add_argument("source", metavar="IN", type=Path)
    source.add_argument("folder", metavar="OUT", type=Path)
    source.add_argument("--names", metavar="FILE", type=Path,
                        help="the names of the classes, one a line [their numbers, or those of IN]")
    source.add_argument("--labels", choices=("fine", "coarse"), help="of CIFAR-100: 100 classes or 20 [fine]")
    source.add_argument("--test-share", type=share, default=0.2, metavar="X",
                        help="of each class, where IN has no train and test [0.2]")
    return parser.parse_args(words)


def interrupt(number, frame):
    raise KeyboardInterrupt


def main():
    # INT too: a shell's background jobs would ignore it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends without a word where nobody reads on
    try:
        options = command_line(sys.argv[1:])
        options.get(options)
        return 0
    except Fault as fault:
        print(f"data.sh: {fault}", file=sys.stderr)
        return 2
    except OSError as error:
        place = plain(error.filename or "the output")
        print(f"data.sh: {place}: {error.strerror or plain(error)}; free it, or give another place", file=sys.stderr)
        return 2
    except MemoryError:
        print("data.sh: there is not enough memory for what is read in one piece: use a machine with more",
              file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("data.sh: interrupted; the same command goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
