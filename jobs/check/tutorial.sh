#!/usr/bin/env bash
# Runs the commands of docs/tutorial.md and docs/why-not-scaling.md in order, each page's in a folder of its own, and
# writes what they print into the page, with its pictures and figures. Takes about twelve minutes on two idle cores;
# other load makes the figures useless.
#
#   jobs/check/tutorial.sh [BUILD [PAGE]...]            writes docs/PAGE.md and its pictures
#   jobs/check/tutorial.sh --check [BUILD [PAGE]...]    writes nothing: runs on a few made images, and compares the lines
#                                                       that are printed with those of the page, without their numbers
#
# BUILD: the folder that has the program [build]. Exit code 1: a command failed, or a page does not fit.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mode=--write
if [ "${1:-}" = --check ]; then
  mode=--check
  shift
fi
build=$(cd "${1:-$root/build}" && pwd)
pages=("${@:2}")
[ ${#pages[@]} -gt 0 ] || pages=(tutorial why-not-scaling)

scratch=$(mktemp -d --tmpdir rueda-tutorial-XXXXXX)
trap 'rm -rf "$scratch"' EXIT

for page in "${pages[@]}"; do
  mkdir "$scratch/$page"
  ln -s "$root/jobs" "$scratch/$page/jobs"
  ln -s "$build" "$scratch/$page/build"
  PYTHONDONTWRITEBYTECODE=1 python3 "$root/jobs/check/tutorial.py" "$mode" "$root/docs/$page.md" "$scratch/$page"
done
