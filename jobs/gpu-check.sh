#!/usr/bin/env bash
# Tests and measures rueda on a machine with a GPU, in three calls that each take minutes, or a bit of everything
# without a letter. Needs bash and Python 3.9 or newer. Names what else is missing and leaves it out.
#
#   jobs/gpu-check.sh A    does it live: test programs; times engines, counts what each kernel moves
#   jobs/gpu-check.sh B    speed, compared with PyTorch
#   jobs/gpu-check.sh C    ranks that share the GPU, all-reduce over device buffers, compute-sanitizer
#
#   [--minutes N] [--only smoke,tune,tests,bench,ring,sanitizer] [--out DIR] [--with ARCHIVE] [--resume FILE]
#
# Runs from a build tree or from an unpacked bundle (jobs/bundle.sh), with the Open MPI in it or else the one
# in PATH. Writes DIR/gpu-check-LETTER.json and .md after each step, and what each command said into DIR/logs;
# ends with "N passed, N failed, N not run". A and B write DIR/gpu-check-carry.tar.xz, which B takes by --with.
# --resume takes an earlier gpu-check.json and runs what did not pass, or all if that was another kind of GPU.
# RUEDA_TORCH_PYTHON names a Python with PyTorch if python3 has none.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=jobs/env.sh
. "$root/jobs/env.sh"
for prefix in "$root/openmpi" "$root/build-openmpi/prefix"; do
  if [ -r "$prefix/env.sh" ]; then
    # shellcheck source=/dev/null
    . "$prefix/env.sh"
    break
  fi
done
# One rank without mpirun then needs no network and starts no daemon, which ncu and compute-sanitizer would watch too.
export OMPI_MCA_ess_singleton_isolated=1
export PYTHONDONTWRITEBYTECODE=1
exec python3 -EB "$root/tests/gpu/gpu_check.py" "$@"
