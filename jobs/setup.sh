#!/usr/bin/env bash
# Installs the Debian packages that are missing and builds rueda into build/.
# Other scripts source it for its functions.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build-logs

# What the program is built with, and what a clone, its tests, its reports and its charts need besides. The only list: Debian's
# packages and the containers' are compared with it (tests/cli/release_test.py).
build_packages=(g++ pkgconf libopenmpi-dev libdnnl-dev meson ninja-build libspdlog-dev libfmt-dev libcli11-dev
  libtomlplusplus-dev nlohmann-json3-dev libarchive-dev zlib1g-dev libhwloc-dev python3)
packages=("${build_packages[@]}" git ca-certificates openmpi-bin catch2 python3-jinja2 python3-matplotlib
  python3-numpy python3-pandas)

# shellcheck source=jobs/env.sh
. "$root/jobs/env.sh"

# Ends the script unless the value of an option is a whole number. Only then may it come into arithmetic, where
# bash would run what other text says.
whole_number() { # option value
  [[ ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] && return 0
  echo "$1 takes a whole number from 1 on, not '${2:-}'" >&2
  exit 2
}

# Runs a command with its output in a log and prints the label and the seconds in one line. On a terminal
# that line shows meanwhile how far the command is. If the command fails, prints the end of the log.
stage() { # label command...
  local label=$1 log status=0 begin=$EPOCHREALTIME
  shift
  mkdir -p "$logs"
  log=$logs/${label// /-}.log
  if [ -t 1 ]; then
    "$@" >"$log" 2>&1 </dev/null &
    show_progress "$!" "$label" "$begin" "$log"
    wait "$!" || status=$?
  else
    "$@" >"$log" 2>&1 </dev/null || status=$?
  fi
  if [ "$status" -eq 0 ]; then
    printf '%-10s %6s s\n' "$label" "$(seconds_since "$begin")"
    return 0
  fi
  printf '%-10s failed after %s s; the end of %s:\n' "$label" "$(seconds_since "$begin")" "$log" >&2
  tail -n "${RUEDA_LOG_LINES:-40}" "$log" >&2
  return "$status"
}

# The number of what is done and of all there is, as ninja and meson write it. A command in the background
# does not see Ctrl-C, so it is ended here.
show_progress() { # process label EPOCHREALTIME of the beginning, log
  trap 'trap "" TERM; kill 0; exit 130' INT
  while kill -0 "$1" 2>/dev/null; do
    printf '\r%-10s %6s s  %s\033[K' "$2" "$(seconds_since "$3")" \
      "$(tail -c 2000 "$4" 2>/dev/null | grep -oE '^ *\[?[0-9]+/[0-9]+' | tail -n 1 | tr -d '[ ')"
    sleep 0.5
  done
  trap - INT
  printf '\r\033[K'
}

seconds_since() { # EPOCHREALTIME of the beginning
  awk -v begin="${1/,/.}" -v now="${EPOCHREALTIME/,/.}" 'BEGIN { printf "%.1f", now - begin }'
}

missing_packages() { # package...
  { dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true; } |
    awk -v wanted="$*" '
      $2 == "installed" { have[$1] = 1 }
      END {
        n = split(wanted, name, " ")
        for (i = 1; i <= n; i++) if (!(name[i] in have)) print name[i]
      }'
}

apt_install() { # package...
  local install=(apt-get install -y --no-install-recommends "$@") as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  if apt-cache show "$@" >/dev/null 2>&1 && "${as_root[@]}" "${install[@]}"; then return 0; fi
  "${as_root[@]}" apt-get update && "${as_root[@]}" "${install[@]}"
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    echo "This is not a Debian system: it needs what these packages have: ${packages[*]}" >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages "${packages[@]}")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "Packages are missing, and there is no sudo. Run as root:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 2
  fi
  stage packages apt_install "${missing[@]}" || {
    echo "Run as root: apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 2
  }
}

# Meson from PATH if it is new enough, else Debian's, which another Python may hide.
find_meson() {
  local candidate version
  for candidate in "$(command -v meson || true)" /usr/bin/meson; do
    [ -x "$candidate" ] || continue
    version=$("$candidate" --version 2>/dev/null) || continue
    if printf '1.0.1\n%s\n' "$version" | sort -C -V; then
      echo "$candidate"
      return 0
    fi
  done
  echo "Meson 1.0.1 or newer was not found" >&2
  return 2
}

# The tree without git's own files and without what .gitignore names.
copy_tree() { # folder
  mkdir -p "$1" &&
    tar -C "$root" -c --exclude-vcs --exclude='./build*' --exclude=./runs --exclude=./data --exclude=__pycache__ . |
    tar -C "$1" -x
}

configured() { # build directory
  [ -f "$1/build.ninja" ] && [ -f "$1/meson-private/coredata.dat" ]
}

# What build() builds: everything, or the named targets.
targets=()

# Sources compiled together read the headers of the libraries once: half the time of a first build.
unity=(-Dunity=on -Dunity_size=16)

# Options of a build without what the quickstart can do without, and those of one with all. A mark in the build directory
# tells such a build from one that somebody wanted without CUDA.
small=(-Dcuda=disabled -Dtests=false)
whole=(-Dcuda=auto -Dtests=true)
small_mark="small-build"

build() { # directory relative to the root, meson options...
  local directory=$root/$1 name=$1
  shift
  meson=$(find_meson)
  if ! configured "$directory"; then
    stage configure "$meson" setup "$directory" "$root" "${unity[@]}" "$@" || return
    [ "$*" != "${small[*]}" ] || touch "$directory/$small_mark"
  elif [ $# -eq 0 ] && [ -e "$directory/$small_mark" ]; then
    stage configure "$meson" setup --reconfigure "$directory" "$root" "${whole[@]}" || return
    rm "$directory/$small_mark"
  fi
  stage "$name" "$meson" compile -C "$directory" "${targets[@]}"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  if [ $# -gt 0 ]; then
    echo "usage: jobs/setup.sh      installs the Debian packages that are missing and builds rueda into build/" >&2
    exit 2
  fi
  install_packages
  build build
fi
