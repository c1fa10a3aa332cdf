#!/usr/bin/env bash
# From a fresh clone to a trained network: installs what is missing, builds, draws a small data set,
# trains ResNet-20 on it with two ranks. Idempotent; the second time it only trains.
#
#   jobs/quickstart.sh [--ranks N] [--epochs E]
set -euo pipefail

usage() { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

whole_number() { # option value
  [[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] && return 0
  echo "$1 takes a whole number from 1 to 9999, not '${2:-}'" >&2
  exit 2
}

ranks=2
epochs=()
while [ $# -gt 0 ]; do
  case $1 in
    --ranks) whole_number "$@"; ranks=$2; shift 2 ;;
    --epochs) whole_number "$@"; epochs=(--epochs "$2"); shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"

install_packages
targets=(rueda)
build build
# Draws nothing when the same data set is there already.
stage data build/rueda synth --out data/synth --format bin --train 5000 --test 1000 --seed 1

# Unbound: Open MPI binds each of two ranks to a single core by default, whatever its threads.
mpirun --bind-to none -n "$ranks" build/rueda train --config jobs/recipes/quickstart.toml \
  "${epochs[@]}"
