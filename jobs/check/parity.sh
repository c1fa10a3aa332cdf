#!/usr/bin/env bash
# Computes anew, with PyTorch and Keras, what the parity tests hold rueda to, and compares it with
# tests/parity/reference. For who changes the references; the tests themselves need no framework.
#
#   jobs/check/parity.sh            compares; the last line is "parity: N files equal" or "... differences".
#                             Where build/rueda is there, also hands weights to both and back.
#   jobs/check/parity.sh --update   replaces the stored files by the new ones as well
#
# Makes two virtual environments below build-parity/ with the versions of
# tests/parity/requirements-*.txt (some GB, by pip). RUEDA_TORCH_PYTHON and RUEDA_KERAS_PYTHON name
# interpreters to be used instead. Takes a quarter to half an hour on two cores.
set -euo pipefail

usage() { sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

update=no
case ${1:-} in
  "") ;;
  --update) update=yes ;;
  -h | --help) usage; exit 0 ;;
  *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
stored=tests/parity/reference
fresh=build-parity/reference

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

rm -rf "$fresh"
nice "$torch" tests/parity/torch_preprocessing.py "$fresh"
nice "$keras" tests/parity/keras_preprocessing.py "$fresh"
nice "$torch" tests/parity/torch_reference.py "$fresh"
nice "$keras" tests/parity/keras_reference.py "$fresh"

status=0
if [ -x build/rueda ]; then
  nice "$torch" tests/parity/torch_exchange.py build/rueda || status=1
  nice "$keras" tests/parity/keras_exchange.py build/rueda || status=1
else
  echo "parity: there is no build/rueda, so weights are not exchanged"
fi
python3 tests/parity/compare.py "$stored" "$fresh" || status=$?
if [ "$update" = yes ]; then
  mkdir -p "$stored"
  cp "$fresh"/*.json "$stored"
  echo "parity: the files in $stored are the new ones"
  status=0
fi
exit "$status"
