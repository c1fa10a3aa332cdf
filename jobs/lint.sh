#!/usr/bin/env bash
# Checks what needs no build: format, includes, scripts, size. Prints only what is wrong.
#
#   jobs/lint.sh         checks
#   jobs/lint.sh --fix   rewrites C++ in the project's format first
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
report_fault() {
  echo "lint: $*" >&2
  failed=1
}

fix=no
case ${1:-} in
  "") ;;
  --fix) fix=yes ;;
  *) echo "usage: jobs/lint.sh [--fix]" >&2; exit 2 ;;
esac

mapfile -t sources < <(find include src mpi cuda tests docs -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | sort)
mapfile -t scripts < <({ find jobs tests .ci -type f -name '*.sh'; echo .ci/run; } | sort)
mapfile -t python < <(find jobs tests -type f -name '*.py' | sort)

formatter=$(command -v clang-format-14 || command -v clang-format || echo false)
if [[ $("$formatter" --version) == *'version 14.'* ]]; then
  [ "$fix" = no ] || "$formatter" -i "${sources[@]}"
  printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 50 "$formatter" --dry-run --Werror ||
    report_fault "run jobs/lint.sh --fix"
else
  report_fault "clang-format 14 was not found: install clang-format-14"
fi

python3 tests/check_includes.py || report_fault "a file includes what its room must not"
python3 jobs/site/drawings.py --check || report_fault "a drawing is stale: run jobs/site/drawings.py"

for script in "${scripts[@]}"; do
  bash -n "$script" || report_fault "$script does not parse"
done
if command -v shellcheck >/dev/null; then
  shellcheck --external-sources "${scripts[@]}" || report_fault "shellcheck has remarks"
fi

PYTHONPYCACHEPREFIX=build-logs/pycache python3 -m py_compile "${python[@]}" ||
  report_fault "a script does not compile"

if ! table=$(python3 jobs/size.py 2>&1); then
  echo "$table" >&2
  report_fault "something is larger than docs/CONTRIBUTING.md allows"
fi

exit "$failed"
