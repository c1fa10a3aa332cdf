#!/usr/bin/env bash
# Computes the references of the parity tests with PyTorch and Keras and compares them with
# tests/parity/reference. Needed to change the references; the tests themselves need no framework.
#
#   jobs/check/parity.sh            compares; the last line is "parity: N files equal" or "... differences".
#                                   If build/rueda exists, also exchanges weights with both frameworks
#   jobs/check/parity.sh --update   also replaces the stored files
#
# Makes two virtual environments in build-parity/ with the versions of tests/parity/requirements-*.txt (some
# GB, by pip), unless RUEDA_TORCH_PYTHON and RUEDA_KERAS_PYTHON name interpreters. Takes 15 to 30 minutes on
# two cores.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

update=no
case ${1:-} in
  "") ;;
  --update) update=yes ;;
  -h | --help) usage; exit 0 ;;
  *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
stored=tests/parity/reference

# The interpreter of a virtual environment with the given requirements, made when it is missing.
interpreter() { # torch|keras
  local folder=build-parity/$1
  if [ ! -e "$folder/ready" ]; then
    python3 -m venv "$folder" >&2
    "$folder/bin/pip" install --quiet --requirement "tests/parity/requirements-$1.txt" >&2
    touch "$folder/ready"
  fi
  echo "$folder/bin/python"
}

export PYTHONPYCACHEPREFIX=$PWD/build-parity/pycache
mkdir -p build-parity
torch=${RUEDA_TORCH_PYTHON:-$(interpreter torch)}
keras=${RUEDA_KERAS_PYTHON:-$(interpreter keras)}

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
nice "$torch" tests/parity/torch_reference.py "$fresh"
nice "$keras" tests/parity/keras_reference.py "$fresh"

status=0
if [ -x build/rueda ]; then
  nice "$torch" tests/parity/exchange.py build/rueda torch || status=1
  nice "$keras" tests/parity/exchange.py build/rueda keras || status=1
else
  echo "parity: there is no build/rueda, so no weights are exchanged"
fi
python3 tests/parity/compare.py "$stored" "$fresh" || status=$?
if [ "$update" = yes ]; then
  mkdir -p "$stored"
  cp "$fresh"/*.json "$stored"
  echo "parity: the files in $stored are the new ones"
  status=0
fi
exit "$status"
