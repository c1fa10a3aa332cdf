#!/usr/bin/env bash
# Makes Debian's packages of this tree for the release of Debian that it runs on: rueda, and rueda-doc with documents and
# recipes. Installs the packages that the build needs and that are missing. jobs/site/debian describes the packages.
#
#   jobs/site/package_deb.sh [--out DIR]
#
#   --out   where the packages go [build-deb]
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

out=$root/build-deb
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$(realpath -m "${2:?--out takes a folder}"); shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done
if ! command -v dpkg >/dev/null; then
  echo "package_deb: this is not a Debian system; docs/install.md has other ways" >&2
  exit 2
fi

release=$(. /etc/os-release && echo "$ID$VERSION_ID")

# The tools look for debian/ at the top. The package of an older release has the lower version, so that an upgrade of
# the system replaces it.
copy_source() { # folder
  copy_tree "$1"
  mv "$1/jobs/site/debian" "$1/debian"
  sed -i "1s/)/~$release)/" "$1/debian/changelog"
}

# Debian's own Meson and Python, whatever else comes first in PATH.
build_debs() { # folder
  cd "$1" && PATH=/usr/sbin:/usr/bin:/sbin:/bin dpkg-buildpackage --build=full --unsigned-source --unsigned-changes
}

packages=("${build_packages[@]}" build-essential debhelper dh-python)
install_packages
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
copy_source "$staging/rueda"
stage debian build_debs "$staging/rueda"
mkdir -p "$out"
find "$staging" -maxdepth 1 -type f -exec cp -t "$out" {} +
ls "$out"/rueda*"~${release}_"*.deb
