#!/usr/bin/env bash
# Unpacks a bundle in a root directory that holds only glibc, bash and three small programs, and trains
# there on the CPU: on one rank and, if the bundle has its Open MPI, on two.
#
#   jobs/check/bundle.sh rueda-bundle-VERSION.tar.xz
#
# The bundle must have the CPU backend and need no CUDA library. Pack it with
#   jobs/bundle.sh --with-mpi PREFIX -- -Dcuda=disabled
# Needs root or user namespaces. Ends with "N passed, N failed".
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  "" | -*) usage >&2; exit 2 ;;
esac
archive=$(realpath "$1")
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT

# Copies a program and the libraries that it needs, with their paths.
add() { # program
  local file
  {
    realpath "$1"
    ldd "$1" | grep -o '/[^ ]*'
  } | while read -r file; do
    mkdir -p "$bare/$(dirname "$file")"
    cp -L "$file" "$bare/$file"
  done
}

glibc=(libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libresolv.so.2 libutil.so.1)
folder=$(dirname "$(ldd /bin/bash | awk '$1 == "libc.so.6" { print $3 }')")
mkdir -p "$bare"/usr/{bin,lib,lib64} "$bare"/{dev/shm,tmp,proc,etc,root}
for link in bin lib lib64; do ln -s "usr/$link" "$bare/$link"; done
mkdir -p "$bare/$folder"
for program in bash env id dirname; do add "$(command -v "$program")"; done
ln -s bash "$bare/bin/sh"
for library in "${glibc[@]}"; do cp -L "$folder/$library" "$bare/$folder/"; done
echo 'root:x:0:0:root:/root:/bin/bash' >"$bare/etc/passwd"
touch "$bare/dev/null" "$bare/dev/urandom"
tar -C "$bare" -xf "$archive"

# Besides the files there is only what every system has: /proc and two devices.
inside() { # command...
  # shellcheck disable=SC2016
  timeout --kill-after=10 600 unshare --map-root-user --mount --pid --fork bash -c '
    set -e
    bare=$1
    shift
    mount -t proc proc "$bare/proc" 2>/dev/null || mount --rbind /proc "$bare/proc"
    for device in null urandom; do mount --bind "/dev/$device" "$bare/dev/$device"; done
    exec chroot "$bare" /bin/env -i PATH=/bin:/usr/bin HOME=/root /bin/bash -c "$@"' \
    inside "$bare" "$@"
}

passed=0
failed=0
try() { # label command
  local log
  if log=$(inside "cd /rueda-bundle && $2" 2>&1); then
    echo "$1: passed"
    passed=$((passed + 1))
  else
    printf '%s: failed\n%s\n' "$1" "$(tail -n 20 <<<"$log")" >&2
    failed=$((failed + 1))
  fi
}

train='bin/rueda train --data synthetic --model resnet20 --image-size 16 --data-limit 64
  --batch-per-rank 16 --epochs 2 --eval-every 0 --threads 1'
train=${train//$'\n'/ }
try 'one rank' "$train"
if [ -d "$bare/rueda-bundle/openmpi" ]; then
  try 'two ranks' ". openmpi/env.sh && mpirun --oversubscribe -n 2 $train"
  try 'mpi tests on two' '. openmpi/env.sh && mpirun --oversubscribe -n 2 bin/mpi'
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
