#!/usr/bin/env bash
# Gets or makes a data set in the layout of CIFAR-10's binary version, which rueda trains on.
#
#   jobs/data.sh cifar10 [DIR]         from its author's address to DIR/cifar-10-batches-bin; DIR is data if not given
#   jobs/data.sh fashion-mnist [DIR]   70,000 photographs of clothes, from Debian's package, to DIR/fashion-mnist
#   jobs/data.sh convert IN OUT        your own images: folders of pictures, .npy, IDX, CIFAR-100
#   jobs/data.sh --help                every source and option; docs/data.md says more
#
# jobs/data does the work, in Python 3.9 or newer.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if ! python=$(command -v python3); then
  echo "data.sh: python3 was not found: install it, or load its module" >&2
  exit 2
fi

# An empty entry is the current folder, whose random.py would be run.
modules=:${PYTHONPATH:-}:
while [[ $modules == *::* ]]; do modules=${modules//::/:}; done
modules=${modules#:}
export PYTHONPATH=${modules%:}

# -u: what the disk does not take fails where it is printed, not when Python ends.
# UTF8: the names of classes are UTF-8 in a set, whatever the locale says.
PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 exec "$python" -u "$root/jobs/data" "$@"
