#!/usr/bin/env bash
# Packs rueda for a machine without compilers, root or network. The archive holds the program, its tests,
# the job scripts and the shared libraries that a bare node lacks. It runs wherever it is unpacked.
#
#   jobs/bundle.sh [--with-mpi PREFIX] [--with-cuda] [--most MB] [--out FILE] [-- MESON_OPTION...]
#
#   --with-mpi   builds with the Open MPI in PREFIX and packs it (jobs/cluster/build_openmpi_cuda.sh makes
#                one). Without it the node's MPI must have the binary interface of the one here
#   --with-cuda  packs cuDNN and cuBLAS, more than 1 GB. Without it the node must have them where they are
#                here, or in LD_LIBRARY_PATH
#   --most       fails if the archive is larger than so many MB (10^6 bytes)
#   --out        [rueda-bundle-VERSION.tar.xz]
#
# Builds in build-bundle or build-bundle-mpi, without NCCL (218 MB) unless -Dnccl=enabled asks for it. The node needs a glibc as new as the one here.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

with_mpi=
with_cuda=no
most=
out=
while [ $# -gt 0 ]; do
  case $1 in
    --with-mpi) with_mpi=${2:?--with-mpi takes the folder of an Open MPI}; shift 2 ;;
    --with-cuda) with_cuda=yes; shift ;;
    --most) whole_number "$@"; most=$2; shift 2 ;;
    --out) out=$(realpath -m "${2:?--out takes a file}"); shift 2 ;;
    --) shift; break ;;
    -h | --help) usage; exit 0 ;;
    *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done
meson_options=("${unity[@]}" -Dnccl=disabled "$@")

directory=build-bundle
if [ -n "$with_mpi" ]; then
  [ -r "$with_mpi/env.sh" ] || {
    echo "bundle: no $with_mpi/env.sh: make that prefix with jobs/cluster/build_openmpi_cuda.sh" >&2
    exit 2
  }
  with_mpi=$(realpath "$with_mpi")
  directory=build-bundle-mpi
  # shellcheck source=/dev/null
  . "$with_mpi/env.sh"
fi
cd "$root"

# glibc comes with the loader, libcuda and its like with the driver.
left_out=('libc.so*' 'libm.so*' 'libdl.so*' 'librt.so*' 'libpthread.so*' 'libresolv.so*'
  'libutil.so*' 'libmvec.so*' 'libcuda.so*' 'libnvidia-*' 'libmpi*' 'libopen-*')
[ "$with_cuda" = yes ] || left_out+=('libcudnn*' 'libcublas*' 'libnvrtc*' 'libcudart*' 'libnvJitLink*')

# Builds anew if the build directory was configured with other options.
configure_bundle() {
  local options="$with_mpi ${meson_options[*]}"
  meson=$(find_meson)
  if configured "$directory" && [ "$(cat "$directory/bundle-options" 2>/dev/null)" = "$options" ]; then
    return
  fi
  if [ -L "$directory" ] || { [ -n "$(ls -A "$directory" 2>/dev/null)" ] && [ ! -d "$directory/meson-private" ]; }; then
    echo "bundle: $root/$directory is no build directory of this script: move it away" >&2
    exit 2
  fi
  rm -rf "$directory"
  stage configure "$meson" setup "$directory" "${meson_options[@]}"
  echo "$options" >"$directory/bundle-options"
}

# The programs that this build has, as NAME PATH: those that jobs/gpu-check.sh and jobs/check/bundle.sh run.
programs() {
  local name path
  while read -r name path; do
    if grep -q "^build $path:" "$directory/build.ninja"; then echo "$name $path"; fi
  done <<'LIST'
rueda rueda
mpi tests/mpi
cuda tests/cuda/cuda
backend_cuda tests/cuda/backend_cuda
parity_cuda tests/cuda/parity_cuda
LIST
}

# The same few lines start each program. They set the library path of that program alone: other programs
# of the shell, PyTorch for example, must not load these libraries.
copy_programs() {
  local name path
  mkdir -p "$bundle/bin" "$bundle/libexec" "$bundle/lib"
  cat >"$bundle/bin/rueda" <<'STARTER'
#!/usr/bin/env bash
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=/dev/null
if [ -r "$here/openmpi/env.sh" ]; then . "$here/openmpi/env.sh"; fi
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec "$here/libexec/${0##*/}" "$@"
STARTER
  chmod +x "$bundle/bin/rueda"
  while read -r name path; do
    strip -o "$bundle/libexec/$name" "$directory/$path"
    [ "$name" = rueda ] || ln -s rueda "$bundle/bin/$name"
  done < <(programs)
}

copy_libraries() {
  local options=() pattern name path list
  for pattern in "${left_out[@]}"; do options+=(--without "$pattern"); done
  list=$(python3 jobs/cluster/shared_libraries.py "${options[@]}" "$bundle"/libexec/*)
  while read -r name path; do
    if [ -n "$name" ]; then cp -L "$path" "$bundle/lib/$name"; fi
  done <<<"$list"
  [ "$with_cuda" = no ] || copy_what_cudnn_opens
}

# cuDNN opens its parts by name when it needs them. So no program lists them.
copy_what_cudnn_opens() {
  local shim part
  shim=$(ldd "$bundle/libexec/rueda" | awk '$1 ~ /^libcudnn\.so/ { print $3 }')
  for part in "${shim%/*}"/libcudnn_*.so.[0-9]*; do
    [ ! -e "$part" ] || cp -L "$part" "$bundle/lib/"
  done
}

# What the jobs and gpu-check.sh read, in the tree's own folders.
copy_scripts() {
  mkdir -p "$bundle/tests" "$bundle/cuda/libraries" "$bundle/docs"
  cp -r jobs "$bundle/jobs"
  cp -r tests/bench tests/gpu "$bundle/tests/"
  mkdir -p "$bundle/tests/parity"
  cp -r tests/parity/torch_models.py tests/parity/reference "$bundle/tests/parity/"
  cp cuda/libraries/find_library.py "$bundle/cuda/libraries/"
  cp -r docs/cluster.md docs/courses docs/run-json.md docs/metrics.md "$bundle/docs/"
  cp README.md LICENSE "$bundle/"
  find "$bundle" -name __pycache__ -prune -exec rm -rf {} +
}

install_packages
configure_bundle
mapfile -t targets < <(programs | awk '{ print $2 ":executable" }') # tests/cuda has a library of the same name
build "$directory"

version=$("$directory/rueda" --version | awk 'NR == 1 { gsub(/[()]/, ""); print $2 ($3 ? "-" $3 : "") }')
out=${out:-$root/rueda-bundle-$version.tar.xz}
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
bundle=$staging/rueda-bundle
mkdir "$bundle"
copy_programs
copy_libraries
copy_scripts
if [ -n "$with_mpi" ]; then cp -r "$with_mpi" "$bundle/openmpi"; fi
stage archive env XZ_OPT=-T0 tar -C "$staging" -cJf "$out" rueda-bundle
if [ -n "$most" ] && [ "$(stat -c %s "$out")" -gt $((most * 1000000)) ]; then
  echo "bundle: $out is larger than --most $most MB. Its largest libraries:" >&2
  du -a --apparent-size "$bundle/lib" | sort -rn | sed -n '2,6p' >&2
  exit 1
fi
echo "$out: $(du -h --apparent-size "$out" | cut -f 1), unpacked $(du -sh "$bundle" | cut -f 1)"
