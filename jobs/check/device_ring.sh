#!/usr/bin/env bash
# Runs the ring on device buffers through a real CUDA-aware Open MPI, without a GPU. A stand-in driver keeps
# "device" memory in shared host memory and counts the copies. The counts show that device buffers go from
# device to device through CUDA IPC, and through the host only when CUDA IPC is off or fails.
#
#   jobs/check/device_ring.sh [PREFIX]
#
# PREFIX is a CUDA-aware Open MPI 4.1 from jobs/cluster/build_openmpi_cuda.sh. Without PREFIX the script
# builds one in build-openmpi/prefix, once, in 4 to 8 minutes. Ends with "N passed, N failed".
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
given=${1:-}

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
prefix=$(realpath -m "${given:-$root/build-openmpi/prefix}")
cd "$root"

if [ -z "$given" ] && [ ! -r "$prefix/env.sh" ]; then
  stage openmpi jobs/cluster/build_openmpi_cuda.sh "$prefix"
fi
[ -r "$prefix/env.sh" ] || {
  echo "device_ring: no $prefix/env.sh: make that prefix with jobs/cluster/build_openmpi_cuda.sh" >&2
  exit 2
}
driver=build/tests/standin/driver
targets=(tests/standin/driver/device_ring tests/standin/rueda-standin)
build build -Dcuda=enabled

# build/ may be linked with Debian's Open MPI, which has the same binary interface.
# shellcheck source=/dev/null
. "$prefix/env.sh"
export LD_LIBRARY_PATH=$root/$driver:$LD_LIBRARY_PATH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
counters=$scratch/counters
mkdir "$counters"
passed=0
failed=0

# MB of one kind of copy, over all ranks of the last run.
megabytes() { # device_to_device|device_to_host|host_to_device
  cat "$counters"/* 2>/dev/null | awk -v kind="$1" '$1 == kind { sum += $3 } END { printf "%d", sum / 1e6 }'
}

count() { # verdict
  if [ "$1" = passed ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# Whether the copies of the last run are those expected.
as_expected() { # alone|direct|staged
  local direct=$1 staged=$2
  case $3 in
    alone) [ "$direct" -eq 0 ] && [ "$staged" -eq 0 ] ;;
    direct) [ "$direct" -gt 0 ] && [ "$staged" -lt $((direct / 10)) ] ;;  # the first messages are staged
    staged) [ "$direct" -eq 0 ] && [ "$staged" -gt 0 ] ;;
  esac
}

# Runs one case and prints its row of the table.
run_case() { # label ranks alone|direct|staged|any command...
  local label=$1 ranks=$2 expected=$3 verdict=passed direct staged
  shift 3
  rm -f "$counters"/*
  RUEDA_DRIVER_COUNTERS=$counters timeout 120 mpirun -n "$ranks" --oversubscribe --bind-to none "$@" \
    >"$logs/device-ring.log" 2>&1 || verdict="failed: exit code $?"
  direct=$(megabytes device_to_device)
  staged=$(megabytes device_to_host)
  if [ "$verdict" = passed ] && ! as_expected "$direct" "$staged" "$expected"; then
    verdict="failed: not $expected"
  fi
  printf '%-34s %5s %13s %12s %12s   %s\n' "$label" "$ranks" "$direct" "$staged" \
    "$(megabytes host_to_device)" "$verdict"
  count "$verdict"
  [ "$verdict" = passed ] || tail -n 20 "$logs/device-ring.log" >&2
}

without_ipc=(--mca btl_smcuda_use_cuda_ipc 0)
mkdir -p "$logs"
printf '%-34s %5s %13s %12s %12s\n' '' ranks 'direct, MB' 'to host, MB' 'to dev., MB'
run_case 'ring' 1 alone "$driver/device_ring"
for ranks in 2 3 4; do
  run_case 'ring' "$ranks" direct "$driver/device_ring"
  run_case 'ring, btl_smcuda_use_cuda_ipc=0' "$ranks" staged "${without_ipc[@]}" "$driver/device_ring"
done
for fault in no-peer pool-memory open-fails; do
  run_case "ring, $fault" 2 staged -x "RUEDA_DRIVER_FAULT=$fault" "$driver/device_ring"
done

# The whole program over a stand-in for the CUDA runtime, which takes device memory from the driver
# and copies past its counters: they count MPI's copies alone. Each rank has a GPU of its own: it sees all
# of them, or that one alone.
# shellcheck disable=SC2016 # each rank's shell expands them
train=(-x "RUEDA_STANDIN_DRIVER=$driver/libcuda.so.1" -x RUEDA_STANDIN_DEVICES=4 bash -c '
  [ "$0" = all ] || export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK
  exec build/tests/standin/rueda-standin train --backend cuda --model resnet20 --image-size 16 \
    --data-limit 128 --global-batch 8 --epochs 1 --eval-every 0 --progress off "$@"')

run_training() { # label alone|direct|staged transport all|own folder [option of mpirun...]
  local label=$1 expected=$2 transport=$3 visible=$4 folder=$5
  shift 5
  run_case "$label" "$ranks" "$expected" "$@" "${train[@]}" "$visible" --transport "$transport" \
    --run-dir "$scratch/$folder"
}

# Whether all runs in these folders ended with the same parameters.
same_bits() { # label folder...
  local label=$1 verdict=passed
  shift
  if [ "$(cd "$scratch" && sed -n 's/.*"parameter_hash": //p' "${@/%//run.json}" | sort -u | wc -l)" -ne 1 ]; then
    verdict='failed: the parameters differ'
  fi
  count "$verdict"
  printf '%-34s %5s %41s   %s\n' "$label" "$ranks" '' "$verdict"
}

for ranks in 2 4; do
  run_training 'train, device' direct device all "direct-$ranks"
  run_training 'train, device, own GPU visible' direct device own "own-$ranks"
  run_training 'train, device, no CUDA IPC' staged device all "no-ipc-$ranks" "${without_ipc[@]}"
  run_training 'train, staged' alone staged all "staged-$ranks"
  same_bits 'train, the same bits' "direct-$ranks" "own-$ranks" "no-ipc-$ranks" "staged-$ranks"
  # The program maps the memory itself: nothing is left for MPI to copy.
  run_case 'train, shared' "$ranks" alone "${train[@]}" all --all-reduce shared --run-dir "$scratch/shared-$ranks"
  run_case 'train, staged, fixed order' "$ranks" alone "${train[@]}" all --transport staged --reduce-order fixed \
    --run-dir "$scratch/fixed-$ranks"
  same_bits 'train, shared, the bits of both' "shared-$ranks" "fixed-$ranks"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
