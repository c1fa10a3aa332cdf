#!/usr/bin/env bash
# Tests and measures rueda on a machine with a GPU: the tests on the device, compute-sanitizer, training
# compared with PyTorch, the all-reduce over device buffers. Needs bash and Python 3.10 or newer. Names what
# else is missing and leaves it out.
#
#   jobs/gpu-check.sh [--minutes 9] [--only tests,bench,ring,sanitizer] [--out DIR] [--resume FILE]
#
# Runs from a build tree or from an unpacked bundle (jobs/bundle.sh), with the Open MPI in it or else the one
# in PATH. Writes gpu-check.json and gpu-check.md; ends with "N passed, N failed, N not run".
# --resume takes an earlier gpu-check.json and runs what did not pass.
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
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$root/tests/gpu/gpu_check.py" "$@"
