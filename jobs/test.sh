#!/usr/bin/env bash
# Installs what is missing, builds, checks the style, runs every test. The last line is
# "N passed, N failed"; the exit code is 0 only if nothing failed.
#
#   jobs/test.sh              everything
#   jobs/test.sh --sanitize   the unit tests, built into build-asan with address and undefined
#                             behaviour sanitizers
#   jobs/test.sh --sanitize-threads
#                             training and communication thread, built into build-tsan with the
#                             thread sanitizer
set -euo pipefail

usage() { sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

directory=build
options=()
suites=()
case ${1:-} in
  "") ;;
  --sanitize)
    directory=build-asan
    # Without precompiled headers, as a check that no source relies on what they include.
    options=('-Db_sanitize=address,undefined' -Db_lundef=false -Dbuildtype=debug -Doptimization=1
      -Db_pch=false)
    suites=(--suite unit)
    ;;
  --sanitize-threads)
    directory=build-tsan
    options=(-Db_sanitize=thread -Db_lundef=false -Dbuildtype=debug -Doptimization=1 -Dcuda=disabled)
    suites=(--suite threads)
    ;;
  -h | --help) usage; exit 0 ;;
  *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
esac

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"

# By the meson that built; it records every test in testlog.json. One test more than cores, because some
# of them mostly wait.
run_tests() {
  "$meson" test -C "$directory" --no-rebuild --print-errorlogs --num-processes $(($(nproc) + 1)) "${suites[@]}"
}

# For the tests of job scripts, which are counted as skipped without it. Its services need not run: the
# tests start daemons of their own.
install_slurm() {
  local missing
  command -v dpkg-query >/dev/null || return 0
  mapfile -t missing < <(missing_packages slurmctld slurmd slurm-client munge)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then return 0; fi # who is not root cannot start it
  stage slurm apt_install "${missing[@]}" || true
}

count() { /usr/bin/env python3 jobs/count_tests.py "$@"; }

export LSAN_OPTIONS="suppressions=$root/tests/support/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"

install_packages
[ "$directory" != build ] || install_slurm
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
count "${also[@]}" "$log"
