#!/usr/bin/env bash
# Installs what is missing, builds, checks the style and runs the tests. The last line is
# "N passed, N failed"; the exit code is 0 only if nothing failed.
#
#   jobs/test.sh                      all but the long tests
#   jobs/test.sh --all                the long tests, too: what takes minutes and rarely finds anything
#   jobs/test.sh --quick              lint, unit tests, MPI on 2 and 3 ranks and the command line: less than
#                                     2 minutes after a build. Prints which tests it leaves out
#   jobs/test.sh --gpu-equipment      what stands for a GPU where nvcc is and no GPU: the stand-in for CUDA's
#                                     libraries and the interpreter of PTX, long tests too
#   jobs/test.sh --sanitize           all tests in build-asan, with the address and undefined behaviour
#                                     sanitizers, without a GPU
#   jobs/test.sh --sanitize-threads   the suite in build-tsan, with the thread sanitizer
#   jobs/test.sh --sanitize-all       both, one after the other
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

directory=build
quick=
equipment=
long=
sanitizer=
options=()
case ${1:-} in
  "") ;;
  --all) long=yes ;;
  --quick) quick='unit|mpi on [23]|cli' ;;
  --gpu-equipment) equipment=yes ;;
  --sanitize)
    directory=build-asan
    sanitizer=address,undefined
    ;;
  --sanitize-threads)
    directory=build-tsan
    sanitizer=thread
    ;;
  --sanitize-all)
    status=0
    "${BASH_SOURCE[0]}" --sanitize || status=1
    "${BASH_SOURCE[0]}" --sanitize-threads || status=1
    exit "$status"
    ;;
  -h | --help) usage; exit 0 ;;
  *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
esac
if [ -n "$sanitizer" ]; then
  options=("-Db_sanitize=$sanitizer" -Db_lundef=false -Dbuildtype=debug -Doptimization=1 -Dcuda=disabled
    -Dcpp_args=-g1)
fi
# Alone and without precompiled headers a source that lacks an include does not compile.
[ "$directory" != build-asan ] || options+=(-Db_pch=false -Dunity=off)

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"

# What a sanitizer can learn nothing from: scripts alone, more ranks of what 3 ranks do, and what measures
# memory, of which a sanitizer takes more and more.
not_sanitized='(soak|scripts|plots|documents|gpu_(check|figures)|headers compile alone|scale|lab|slurm)(, long)?'
not_sanitized+='|mpi on [4-9]'

# The names of tests: all, or those that further options of meson choose.
list_tests() { "$meson" test -C "$directory" --no-rebuild --list "$@" 2>/dev/null | sed 's/^.* \/ //'; }

# The tests to run, one a line.
chosen_tests() {
  if [ -n "$quick" ]; then
    list_tests --no-suite long | grep -xE "$quick"
  elif [ -n "$equipment" ]; then
    list_tests --suite gpu-equipment
  elif [ -n "$sanitizer" ]; then
    list_tests | grep -vxE "$not_sanitized"
  elif [ -n "$long" ]; then
    list_tests
  else
    list_tests --no-suite long
  fi
}

# Uses the meson that built; it records every test in testlog.json. Three tests more than cores, because
# some of them mostly wait.
run_tests() {
  local names=() patience=()
  mapfile -t names < <(chosen_tests)
  if [ -n "$sanitizer" ]; then
    patience=(--timeout-multiplier 10)
    export RUEDA_TEST_PATIENCE=10
  fi
  if [ "$sanitizer" = thread ]; then see_openmp; fi
  # A python3 that is a launcher, as pyenv's is, takes 0.1 s at each start; the system's has NumPy, too.
  if [ -x /usr/bin/python3 ]; then
    mkdir -p "$logs/bin" && ln -sfn /usr/bin/python3 "$logs/bin/python3"
    export PATH="$logs/bin:$PATH"
  fi
  "$meson" test -C "$directory" --no-rebuild --print-errorlogs --num-processes $(($(nproc) + 3)) \
    "${patience[@]}" "${names[@]}"
}

# The thread sanitizer does not see how g++'s OpenMP library synchronises a team. LLVM's library has the
# same functions, and its tool Archer reports them to the sanitizer.
see_openmp() {
  local llvm=/usr/lib/llvm-14/lib
  if [ ! -e "$llvm/libarcher.so" ]; then
    echo "$llvm/libarcher.so was not found: install libomp-14-dev" >&2
    return 2
  fi
  export LD_PRELOAD="$llvm/libomp.so.5" OMP_TOOL_LIBRARIES="$llvm/libarcher.so"
}

# For the tests of job scripts; without it they are counted as skipped. The tests start daemons of
# their own.
install_slurm() {
  local missing
  command -v dpkg-query >/dev/null || return 0
  mapfile -t missing < <(missing_packages slurmctld slurmd slurm-client munge)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then return 0; fi # only root can start it
  stage slurm apt_install "${missing[@]}" || true
}

# For the training on real images and the module file, whose tests are skipped without them.
install_images_and_modules() {
  local missing wanted=(dataset-fashion-mnist)
  command -v dpkg-query >/dev/null || return 0
  [ -e /usr/share/lmod/lmod/init/bash ] || wanted+=(environment-modules) # one excludes the other
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ ${#missing[@]} -eq 0 ] || stage "images and modules" apt_install "${missing[@]}" || true
}

# Many toolkits lack a disassembler. The test of the kernels' machine code is skipped without one.
install_disassembler() {
  if ! command -v nvcc || command -v nvdisasm || [ -d "$logs/disassembler" ]; then return 0; fi >/dev/null
  stage nvdisasm python3 -m pip install --no-deps --target "$logs/disassembler" nvidia-cuda-cuobjdump \
    nvidia-cuda-nvdisasm || true
}

# For the tests of the TensorBoard export, which are skipped without it: Debian has no package. The Python is that of the
# tests; what else the three need it has from Debian. Anew only where it is missing.
install_tensorboard() {
  local python=/usr/bin/python3 part=$logs/tensorboard.part
  [ -x "$python" ] || python=python3
  ! "$python" -c 'import tensorboard' 2>/dev/null && [ ! -d "$logs/tensorboard" ] || return 0
  rm -rf "$part"
  if stage tensorboard timeout 300 "$python" -m pip install --disable-pip-version-check --retries 1 --no-deps \
    --target "$part" tensorboard protobuf absl-py; then mv -T "$part" "$logs/tensorboard"; fi
}

count() { /usr/bin/env python3 jobs/check/count_tests.py "$@"; }

# Open MPI's libraries have no frame pointers, and its plug-ins are unloaded when leaks are reported: only
# whole stacks contain the names of the suppressions.
# A library that a test loads (LD_PRELOAD) comes before the sanitizer's; that does no harm.
export ASAN_OPTIONS="fast_unwind_on_malloc=0:verify_asan_link_order=0"
export LSAN_OPTIONS="suppressions=$root/tests/support/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
export TSAN_OPTIONS="suppressions=$root/tests/support/tsan.supp:ignore_noninstrumented_modules=1"

packages+=(clang-format-14)  # Debian 12 has it, Debian 13 has not
[ "$sanitizer" != thread ] || packages+=(libomp-14-dev)
install_packages
if [ -n "$quick" ]; then
  targets=(rueda tests/unit tests/mpi)
elif [ "$directory" = build ] && [ -z "$equipment" ]; then
  install_slurm
  install_images_and_modules
  install_disassembler
  install_tensorboard
fi
lint=pass
if [ "$directory" = build ]; then stage lint jobs/lint.sh || lint=fail; fi
build "$directory" "${options[@]}" || {
  count --also "lint=$lint" --also build=fail
  exit 1
}
log=$directory/meson-logs/testlog.json
rm -f "$log"
RUEDA_LOG_LINES=200 stage tests run_tests || true
also=(--also "lint=$lint")
[ "$directory" = build ] || also=()
if [ -n "$quick" ]; then echo "not run: $(list_tests | grep -vxE "$quick" | paste -sd\; | sed "s|;|; |g")"; fi
count "${also[@]}" "$log"
