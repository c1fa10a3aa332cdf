#!/usr/bin/env bash
# Runs the kernels as nvcc compiled them, without a GPU: their PTX on the interpreter of tests/ptx. Every launcher
# with all shapes and variants against float64, each under several orders of threads, then the tests of the CUDA
# part and the networks. The default suite has some of it. Prints what is wrong, and at the end which instructions
# no thread came to. Takes about three minutes after a build.
#
#   jobs/check/ptx.sh [PART...]    parts of the sweep: elementwise conversions losses norms columns images large
#   RUEDA_PTX_SEED=N jobs/check/ptx.sh    another order of threads in the tests
#
# With parts the tests and networks are left out.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
cd "$root"
targets=(tests/ptx/sweep_ptx tests/ptx/cuda_ptx tests/ptx/backend_ptx tests/ptx/parity_ptx)
build build -Dcuda=enabled

if [ $# -gt 0 ]; then
  for part; do build/tests/ptx/sweep_ptx whole "$part"; done
  exit
fi
build/tests/ptx/sweep_ptx whole
build/tests/ptx/cuda_ptx
build/tests/ptx/backend_ptx '~[long]' '~stream input: the bits of resident input' '~training memory*'
build/tests/ptx/parity_ptx '~twenty*' -c resnet20
