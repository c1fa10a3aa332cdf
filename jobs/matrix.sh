#!/usr/bin/env bash
# Builds and tests rueda with what the system has, then with one thing exchanged at a time, and prints a table.
#
#   jobs/matrix.sh [--tests NAMES] [OTHER...]
#
#   OTHER     prefix of a oneDNN (include/oneapi), of an MPI (bin/mpicxx) or of other libraries (include),
#             or a compiler's name, as clang++
#   --tests   names as in `meson test --list`, with | between [unit|parity|mpi on 2|mpi on 3|checkpoint]
#
# Not each with each: what fails with two strangers fails with one, nearly always. Without the CUDA part.
# Builds in build-matrix-NAME, named by the last part of OTHER. Exit code 1 if anything failed.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
targets=(rueda tests/unit tests/parity tests/mpi)
tests='unit|parity|mpi on 2|mpi on 3|checkpoint'
others=(system)
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --tests) tests=${2:?--tests takes names}; shift ;;
    *) others+=("$(realpath -es "$1" 2>/dev/null || command -v "$1")") || { usage >&2; exit 2; } ;;
  esac
  shift
done
IFS='|' read -ra names <<<"$tests"

# Prints one row of the table. In a shell of its own, because it changes the environment.
try() { # OTHER
  local directory=build-matrix-${1##*/} lib=$1/lib status=0 made versions
  [ -d "$lib" ] || lib=$1/lib64
  if [ -x "$1/bin/mpicxx" ]; then
    export MPICXX="$1/bin/mpicxx" PATH="$1/bin:$PATH"
  elif [ -d "$1/include" ]; then
    export CPLUS_INCLUDE_PATH=$1/include LIBRARY_PATH=$lib LD_LIBRARY_PATH=$lib PKG_CONFIG_PATH=$lib/pkgconfig
  elif [ "$1" != system ]; then
    export CXX=$1
  fi
  if build "$directory" -Dcuda=disabled >&2; then
    stage "tests-${1##*/}" "$meson" test -C "$root/$directory" --no-rebuild "${names[@]}" >&2 || status=1
    made=$(python3 "$root/jobs/check/count_tests.py" "$root/$directory/meson-logs/testlog.json" | tail -n 1)
  else
    status=1 made='does not build'
  fi
  versions=$("$root/$directory/rueda" --version 2>/dev/null) || true
  printf '%-16s %-8s %-20.20s %s\n' "${1##*/}" "$(sed -n 's/^ *oneDNN //p' <<<"$versions")" \
    "$(sed -n 's/ Version: */ /; s/^ *MPI \([^,]*\).*/\1/p' <<<"$versions")" "$made"
  return "$status"
}

status=0
table=$(printf '%-16s %-8s %-20s %s' with oneDNN MPI tests)
for other in "${others[@]}"; do
  row=$(try "$other") || status=1
  table+=$'\n'$row
done
echo "$table"
exit "$status"
