#!/usr/bin/env bash
# Runs the checks of .clang-tidy on sources of the product. Prints what they find; exit code 1 if they find something.
#
#   jobs/tidy.sh [FILE...]    without files: all of src and mpi, which takes about a quarter of an hour
#
# Configures build-tidy, which has a compile command for each source alone, and builds nothing in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v clang-tidy-14 >/dev/null; then
  echo "clang-tidy-14 was not found: install the package clang-tidy-14" >&2
  exit 2
fi

if [ ! -f build-tidy/compile_commands.json ]; then
  mkdir -p build-logs
  meson setup build-tidy -Dunity=off -Db_pch=false -Dcuda=disabled >build-logs/tidy.log || {
    tail -n 20 build-logs/tidy.log >&2
    exit 2
  }
fi

ninja -C build-tidy src/reader_archive.hpp src/version_config.hpp >build-logs/tidy.log

# clang 14 cannot compile the views of GCC's library, nor its search, so sources that use them are left out.
sources=("$@")
if [ $# -eq 0 ]; then
  mapfile -t sources < <(find src mpi -name '*.cpp' -exec grep -LE 'views::|ranges::search' {} + | sort)
fi
for source in "${sources[@]}"; do
  if [ ! -f "$source" ]; then
    echo "$source is no file: give sources of src or mpi" >&2
    exit 2
  fi
done

failed=0
for source in "${sources[@]}"; do
  clang-tidy-14 --quiet -p build-tidy "$source" 2>/dev/null || failed=1
done
exit "$failed"
