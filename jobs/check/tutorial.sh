#!/usr/bin/env bash
# Runs the commands of docs/tutorial.md in order, in a folder of their own, and writes what they print into the page,
# with its pictures and figures. Takes about ten minutes on two idle cores; other load makes the figures useless.
#
#   jobs/check/tutorial.sh [BUILD]            writes docs/tutorial.md and docs/pictures/tutorial-*.png
#   jobs/check/tutorial.sh --check [BUILD]    writes nothing: runs on a few made images, and compares the lines that are
#                                             printed with those of the page, without their numbers
#
# BUILD: the folder that has the program [build]. Exit code 1: a command failed, or the page does not fit.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mode=--write
if [ "${1:-}" = --check ]; then
  mode=--check
  shift
fi
build=$(cd "${1:-$root/build}" && pwd)

scratch=$(mktemp -d --tmpdir rueda-tutorial-XXXXXX)
trap 'rm -rf "$scratch"' EXIT
ln -s "$root/jobs" "$scratch/jobs"
ln -s "$build" "$scratch/build"

PYTHONDONTWRITEBYTECODE=1 python3 "$root/jobs/check/tutorial.py" "$mode" "$root/docs/tutorial.md" "$scratch"
