#!/usr/bin/env bash
# Builds a CUDA-aware Open MPI 4.1 in a folder that can be moved. For machines without MPI, or whose MPI
# takes no device pointers.
#
#   jobs/cluster/build_openmpi_cuda.sh PREFIX     e.g. build-openmpi/prefix; `. PREFIX/env.sh` activates it
#
# Environment:
#   CUDA_HOME   toolkit with include/cuda.h [/usr/local/cuda]. Only headers are used; libcuda.so.1 is
#               opened when a program runs, so neither GPU nor driver is needed here
#   TARBALL     a local openmpi-4.1.*.tar.*, of 4.1.7 or newer but on x86-64; without it apt fetches
#               Debian's source package
#   JOBS        processes of make [all cores]
#
# Needs gcc, g++, make, perl, xz, and dpkg-dev unless TARBALL is set. Takes 4 to 8 minutes on two
# cores. Builds in PREFIX.work, which may be removed afterwards. PREFIX must be a folder of its own: absent, empty, or
# an earlier build of this script, of which PREFIX/.rueda-files lists every file. It is replaced when the new one works.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  "" | -*) usage >&2; exit 2 ;;
esac
# shellcheck source=jobs/owned.sh
. "$(dirname "${BASH_SOURCE[0]}")/../owned.sh"
prefix=$(realpath -ms "$1")
work=$prefix.work
built=$work/stage/opt/openmpi-cuda
cuda=${CUDA_HOME:-/usr/local/cuda}
jobs=${JOBS:-$(nproc)}

fail() {
  echo "build_openmpi_cuda: $*" >&2
  exit 2
}
say() { printf '[%4d s] %s\n' "$SECONDS" "$*"; }

# Runs a command with its output in a log, whose end is shown if it fails.
logged() { # log command...
  local log=$work/$1
  shift
  "$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; fail "failed: $1; the whole output is in $log"; }
}

# Debian's source package by apt, which checks its hashes. Private lists: the system's stay as they are.
fetch_tarball() {
  local options sources=/etc/apt/sources.list.d/debian.sources
  [ -r "$sources" ] || fail "no $sources: set TARBALL to a tarball of Open MPI 4.1"
  mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/download"
  sed -E 's/^Types:.*/Types: deb-src/' "$sources" >"$work/apt/src.sources"
  options=(-qq -o "Dir::Etc::sourcelist=$work/apt/src.sources" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache" -o APT::Sandbox::User=root)
  logged apt-update.log apt-get "${options[@]}" update
  (cd "$work/download" && logged apt-source.log apt-get "${options[@]}" source --download-only openmpi)
  TARBALL=$(find "$work/download" -name 'openmpi_*.orig.tar.*' | head -n 1)
}

# Before the work, and again when the new build takes the place.
check_prefix() {
  local reason
  reason=$(obstacle_to_replace "$prefix")
  [ -z "$reason" ] || fail "$prefix $reason; give a PREFIX of its own, or make room: mv ${prefix@Q} ${prefix@Q}.old"
}

# Without Debian's patches: they change inputs of autotools, which would then run again.
unpack() {
  rm -rf "$work/src" "$work/build" "$work/stage"
  mkdir -p "$work/src" "$work/build"
  tar -xf "$TARBALL" -C "$work/src" --strip-components=1
}

# Up to 4.1.6, smcuda hangs at times on processors that order memory weakly (open-mpi/ompi#12270).
check_version() {
  local version
  version=$(awk -F= '/^(major|minor|release)=/ { printf "%s%d", dot, $2; dot = "." }' "$work/src/VERSION")
  [ "$(uname -m)" = x86_64 ] || [ "$(printf '%s\n' 4.1.7 "$version" | sort -V | head -n 1)" = 4.1.7 ] ||
    fail "Open MPI $version can hang on $(uname -m): set TARBALL to one of 4.1.7 or newer"
}

# Shared memory with CUDA IPC (smcuda), TCP, self, and nothing else; hwloc, libevent and PMIx inside.
configure() {
  local flags="-O2 -DNDEBUG -ffile-prefix-map=$work/=" left_out
  left_out=btl-openib,btl-uct,btl-usnic,btl-ofi,btl-portals4,btl-sm,pml-cm,pml-v,pml-monitoring
  left_out+=,vprotocol,crs,snapc,sstore,filem,common-monitoring,osc-monitoring,coll-monitoring
  left_out+=,topo-treematch,io-ompio,fs,fbtl,fcoll,sharedfp,common-ompio,reachable-netlink,compress
  left_out+=,ras-simulator
  cd "$work/build"
  "$work/src/configure" --prefix=/opt/openmpi-cuda --with-cuda="$cuda" \
    --with-hwloc=internal --with-libevent=internal --with-pmix=internal --without-zlib \
    --disable-mpi-fortran --disable-oshmem --disable-mpi-java --enable-mpi-cxx \
    --without-verbs --without-ucx --without-ofi --without-psm --without-psm2 --without-portals4 \
    --without-knem --without-xpmem --without-usnic --without-slurm --without-tm --without-sge \
    --without-lsf --without-alps --without-moab --without-hcoll --without-mxm \
    --disable-hwloc-pci --disable-libxml2 --disable-static --enable-shared \
    --disable-dependency-tracking --disable-man-pages --without-memory-manager --disable-io-romio \
    --enable-contrib-no-build=libompitrace --enable-mca-no-build="$left_out" \
    --with-package-string='CUDA-aware, relocatable' CFLAGS="$flags" CXXFLAGS="$flags"
  grep -q '^#define OPAL_CUDA_SUPPORT 1' opal/include/opal_config.h
}

strip_programs() {
  find bin lib -type f | while read -r file; do
    if head -c 4 "$file" | grep -q ELF; then strip --strip-unneeded "$file"; fi
  done
}

# The settings that this Open MPI needs, in files of its prefix.
write_settings() {
  cat >>etc/openmpi-mca-params.conf <<'CONF'
# Device buffers: smcuda inside a node (CUDA IPC, or staged), tcp between nodes (staged).
# vader is left out: it would treat a device pointer as a host pointer.
pml = ob1
btl = smcuda,self,tcp
# Without an NVIDIA driver host buffers work all the same.
opal_warn_on_missing_libcuda = 0
CONF
  cat >env.sh <<'ENV'
# shellcheck shell=bash
# To be sourced by bash: makes this Open MPI the one in use.
rueda_openmpi=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
export OPAL_PREFIX=$rueda_openmpi PATH=$rueda_openmpi/bin:$PATH
export LD_LIBRARY_PATH=$rueda_openmpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH=$rueda_openmpi/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
# One machine without ssh: the usual launcher refuses to start, the isolated one does not.
if ! command -v ssh >/dev/null && ! command -v rsh >/dev/null; then export OMPI_MCA_plm=isolated; fi
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
unset rueda_openmpi
ENV
  # shellcheck disable=SC2016  # pkg-config replaces it
  sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' lib/pkgconfig/*.pc
}

finish() {
  cd "$built"
  rm -rf share/man share/doc
  find lib -name '*.la' -delete
  strip_programs
  write_settings
  cd /
}

check() { # in a shell of its own
  # shellcheck source=/dev/null
  . "$built/env.sh"
  local info
  info=$(ompi_info --parsable --all)
  [[ $info == *mca:mpi:base:param:mpi_built_with_cuda_support:value:true* ]] ||
    fail "$built was built without CUDA support"
  mpirun -n 2 --oversubscribe ompi_info --version >/dev/null
}

[ -r "$cuda/include/cuda.h" ] || fail "no $cuda/include/cuda.h: set CUDA_HOME to a CUDA toolkit"
[ "$prefix" != / ] || fail "/ is no PREFIX: give a folder of its own"
check_prefix
claim_folder "$work" build_openmpi_cuda.sh || fail "$work $obstacle; give another PREFIX"
[ -n "${TARBALL:-}" ] || fetch_tarball
TARBALL=$(realpath "$TARBALL")
unpack
check_version
say "unpacked $(basename "$TARBALL")"
(logged configure.log configure)
say configured
logged make.log make -C "$work/build" -j"$jobs"
say built
logged install.log make -C "$work/build" -j"$jobs" install DESTDIR="$work/stage"
finish
(check)
record_folder "$built"
check_prefix
replace_folder "$built" "$prefix" "$work/earlier"
say "installed in $prefix, $(du -sh "$prefix" | cut -f1): mpirun starts two ranks, CUDA support is built in"
