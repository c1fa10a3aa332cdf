#!/usr/bin/env bash
# Puts rueda into control groups with limits, as containers and Slurm make them, and looks whether it sees them: a
# memory limit and a CPU quota of version 1, in a parent of its own group; the same in a made tree of version 2.
# `--batch-per-rank max` must end well inside them, and the doctor must name limits and files. Root only; needs
# a writable /sys/fs/cgroup of version 1 beside version 2 ("hybrid").
#
#   jobs/check/control_groups.sh [RUEDA]    the program, build/rueda by default
#
# Ends with exit code 0 where all was seen, 77 where this machine has no such groups.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rueda=$(realpath "${1:-$root/build/rueda}")
groups=/sys/fs/cgroup
name=rueda-$$  # short: the page cuts a path that is wider than it
scratch=$(mktemp -d)

skip() { echo "control_groups: skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may make control groups"
for kind in memory cpu unified; do
  [ -w "$groups/$kind/cgroup.procs" ] || skip "$groups/$kind is no hierarchy that can be written"
done

# shellcheck disable=SC2317  # called by the trap
remove() {
  for kind in memory cpu unified; do
    rmdir "$groups/$kind/$name/step" "$groups/$kind/$name" 2>/dev/null || true
  done
  rm -rf "$scratch"
}
trap remove EXIT
for kind in memory cpu unified; do mkdir -p "$groups/$kind/$name/step"; done
echo 700000000 >"$groups/memory/$name/memory.limit_in_bytes"
echo 100000 >"$groups/cpu/$name/cpu.cfs_quota_us"
failed=0

# within COMMAND...: in the groups of version 1
within() {
  (
    for kind in memory cpu; do echo "$BASHPID" >"$groups/$kind/$name/step/cgroup.procs"; done
    cd "$scratch"
    exec timeout 600 "$@"
  )
}

# sees WHAT FILE TEXT: whether a file of output has a text, over its line ends
sees() {
  if tr -s ' \n' ' ' <"$2" | grep -F -- "$3" >/dev/null; then
    echo "passed: $1"
  else
    echo "FAILED: $1: no '$3' in:"
    cat "$2"
    failed=1
  fi
}

within "$rueda" doctor >"$scratch/v1" || true
sees "the doctor, version 1: memory" "$scratch/v1" "$groups/memory/$name/memory.limit_in_bytes"
sees "the doctor, version 1: quota" "$scratch/v1" "time of 1 core ($groups/cpu/$name/cpu.cfs_quota_us)"
code=0
within "$rueda" train --model resnet18 --data-limit 512 --epochs 1 --eval-every 0 --batch-per-rank max \
  --run-dir run >"$scratch/train" 2>&1 || code=$?
echo "exit code $code" >>"$scratch/train"
sees "--batch-per-rank max within 700 MB" "$scratch/train" "exit code 0"
sees "the start block" "$scratch/train" "$groups/memory/$name/memory.limit_in_bytes"

tree=$scratch/tree
mkdir -p "$tree/$name/step"
for group in "$tree/$name" "$tree/$name/step"; do
  echo max >"$group/memory.max"
  echo 5000000 >"$group/memory.current"
  echo "inactive_file 0" >"$group/memory.stat"
done
echo 700000000 >"$tree/$name/memory.max"
echo "100000 100000" >"$tree/$name/cpu.max"
# shellcheck disable=SC2016  # the inner shell's own variables
unshare -m bash -c 'echo $$ >"$0/unified/$1/step/cgroup.procs"; mount --bind "$2" "$0"; exec "$3" doctor' \
  "$groups" "$name" "$tree" "$rueda" >"$scratch/v2" || true
sees "the doctor, version 2: memory" "$scratch/v2" "700 MB of memory ($groups/$name/memory.max)"
sees "the doctor, version 2: quota" "$scratch/v2" "time of 1 core ($groups/$name/cpu.max)"
exit $failed
