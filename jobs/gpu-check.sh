#!/usr/bin/env bash
# Tests and measures rueda on a machine with a GPU, in five calls of 5 to 10 minutes, or in one that does all without a
# number. Needs bash and Python 3.9 or newer. Names what else is missing and leaves it out.
#
#   jobs/gpu-check.sh 1    does it live: test programs, doctor; what levers would gain
#   jobs/gpu-check.sh 2    speed, with engines that are timed first
#   jobs/gpu-check.sh 3    where the time goes: a step's kernels (ncu); graphs off, kernels in turn, PyTorch's cuDNN
#   jobs/gpu-check.sh 4    PyTorch beside it, its whole step as one CUDA graph
#   jobs/gpu-check.sh 5    ranks that share the GPU, all-reduce over device buffers, compute-sanitizer
#
#   [--minutes N] [--only PART,...] [--out DIR] [--with ARCHIVE] [--resume FILE]      --help has the parts
#
# Runs from a build tree or from an unpacked bundle (jobs/bundle.sh), with the Open MPI in it or else the one
# in PATH. Writes DIR/gpu-check-NUMBER.json and .md after each step, with what was expected (tests/gpu/expected.json)
# beside what was measured, and what each command said into DIR/logs; ends with "N passed, N failed, N not run".
# 2, 3 and 4 write DIR/gpu-check-carry.tar.xz, which later calls take by --with. --resume takes an earlier
# gpu-check.json and runs what did not pass, or all if that was another kind of GPU.
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
