#!/usr/bin/env bash
# Searches for input that breaks a reader. Runs each target of tests/fuzz with libFuzzer and the address and
# undefined behaviour sanitizers, built with clang++ in build-fuzz.
#
#   jobs/fuzz.sh [--seconds N] [--jobs N] [TARGET...]
#
#   --seconds N   for each target, one after the other [120]
#   --jobs N      processes that search at a time [1]
#   TARGET        a name in the table of tests/fuzz/targets.cpp [all of them]
#
# New inputs that reach further go to build-fuzz/corpus/TARGET and are taken up by the next run; what
# breaks a reader goes to build-fuzz/found/TARGET. The last line is "N passed, N failed".
# docs/reliability.md says what to do with a find.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

seconds=120
workers=1
chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) whole_number "$@"; seconds=$2; shift 2 ;;
    --jobs) whole_number "$@"; workers=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
    *) chosen+=("$1"); shift ;;
  esac
done

cd "$root"

# Memory in MB, a single allocation in MB, seconds for one input: no input needs more.
limits=(-rss_limit_mb=2560 -malloc_limit_mb=1024 -timeout=20)
directory=build-fuzz

find_clang() {
  local candidate
  for candidate in "${CXX:-}" clang++-{21..17} clang++; do
    case $candidate in *clang*) ;; *) continue ;; esac
    [[ $("$candidate" --version 2>/dev/null) =~ version\ ([0-9]+) ]] || continue
    if [ "${BASH_REMATCH[1]}" -ge 17 ]; then command -v "$candidate" && return 0; fi
  done
  echo "clang++ 17 or newer with libFuzzer was not found: install clang-19, libclang-rt-19-dev and libomp-19-dev" >&2
  return 2
}

# Mutation finds in short inputs nearly all that it finds in long ones.
longest_of() {
  case $1 in
    archive | pickle) echo 16384 ;;
    recipe) echo 1000000 ;;  # as much as is read: nested text is dangerous by its length
    *) echo 8192 ;;
  esac
}

search() { # target
  local target=$1 own=$directory/corpus/$1 found=$directory/found/$1 more=()
  [ "$workers" -le 1 ] || more=("-fork=$workers" -ignore_crashes=0)
  mkdir -p "$own" "$found"
  RUEDA_FUZZ_TARGET=$target "$directory/tests/fuzz/fuzz" "$own" "tests/fuzz/corpus/$target" \
    "${limits[@]}" -max_len="$(longest_of "$target")" -max_total_time="$seconds" \
    "${more[@]}" -artifact_prefix="$found/" -print_final_stats=1
}

CXX="$(find_clang) -fopenmp-version=50" # a later one is unknown to Meson 1.0
export CXX
mapfile -t all < <(sed -n 's/^    {"\([a-z_]*\)", ".*/\1/p' tests/fuzz/targets.cpp)
[ ${#chosen[@]} -gt 0 ] || chosen=("${all[@]}")
for target in "${chosen[@]}"; do
  [[ " ${all[*]} " == *" $target "* ]] ||
    { echo "no target is called $target: give some of ${all[*]}" >&2; exit 2; }
done
targets=(fuzz)
export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=0"
export LSAN_OPTIONS="suppressions=$root/tests/support/lsan.supp:print_suppressions=0"
build "$directory" -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debug \
  -Doptimization=1 -Dcuda=disabled

passed=0
failed=0
for target in "${chosen[@]}"; do
  if stage "fuzz $target" search "$target"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
