#!/usr/bin/env bash
# Builds rueda with each oneDNN and each MPI, tests every pair, and prints a table.
#
#   jobs/matrix.sh [--tests NAMES] [PREFIX...]
#
#   PREFIX    of a oneDNN (include/oneapi) or of an MPI (bin/mpicxx); the system's come first
#   --tests   names as in `meson test --list`, with | between [unit|parity|mpi on 2|checkpoint]
#
# Builds in build-matrix-ONEDNN-MPI, named by the last parts of the prefixes. Exit code 1 if anything failed.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
targets=(rueda tests/unit tests/parity tests/mpi)
tests='unit|parity|mpi on 2|checkpoint'
onednns=(system)
mpis=(system)
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --tests) tests=${2:?--tests takes names}; shift ;;
    *)
      if [ -d "$1/include/oneapi" ]; then
        onednns+=("$(realpath "$1")")
      elif [ -x "$1/bin/mpicxx" ]; then
        mpis+=("$(realpath "$1")")
      else
        echo "$1 has neither include/oneapi nor bin/mpicxx" >&2
        exit 2
      fi ;;
  esac
  shift
done
IFS='|' read -ra names <<<"$tests"

# Prints what came of one pair. In a shell of its own, because it changes the environment.
try() { # oneDNN MPI build-directory
  local lib=$1/lib options=()
  [ -d "$lib" ] || lib=$1/lib64
  [ "$1" = system ] || options=("-Dcpp_args=-isystem$1/include" "-Dcpp_link_args=-L$lib -Wl,-rpath,$lib")
  [ "$2" = system ] || export MPICXX="$2/bin/mpicxx" PATH="$2/bin:$PATH"
  build "$3" "${options[@]}" >&2 || { echo "does not build"; return 1; }
  stage "tests-$3" "$meson" test -C "$root/$3" --no-rebuild "${names[@]}" >&2 || true
  python3 "$root/jobs/check/count_tests.py" "$root/$3/meson-logs/testlog.json" | tail -n 1
}

rows=()
status=0
for onednn in "${onednns[@]}"; do
  for mpi in "${mpis[@]}"; do
    row=$(try "$onednn" "$mpi" "build-matrix-${onednn##*/}-${mpi##*/}") || status=1
    rows+=("$(printf '%-20s %-20s %s' "${onednn##*/}" "${mpi##*/}" "$row")")
  done
done
printf '%-20s %-20s %s\n' oneDNN MPI tests
printf '%s\n' "${rows[@]}"
exit "$status"
