#!/usr/bin/env bash
# Tries packages and image from nothing, each release of Debian in bare roots of its own (debootstrap): builds the
# packages by the build stage's commands of jobs/site/Dockerfile, runs Debian's lintian over them, installs rueda by the
# final stage's commands and then rueda-doc, trains on two ranks (jobs/site/debian/tests), removes both, and shows that
# nothing is left.
#
#   jobs/check/packages.sh [RELEASE...]      [bookworm trixie]: Debian 12 and 13
#
# Needs root, and 3 GB for each release. Packages come from the archive that apt uses here. Works in
# build-deb/RELEASE, where the bare root stays for the next time, and the packages.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
# shellcheck source=jobs/owned.sh
. "$root/jobs/owned.sh"

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  -*) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
esac
releases=("$@")
[ $# -gt 0 ] || releases=(bookworm trixie)

need() { # remedy
  echo "packages: $1" >&2
  exit 2
}

check_needs() {
  [ "$(id -u)" -eq 0 ] || need "run it as root, who alone can make a root"
  command -v debootstrap >/dev/null || need "install debootstrap"
  unshare --mount --pid --fork true 2>/dev/null || need "allow namespaces (unshare), in a container by --privileged"
  archive=$(archive_of_apt)
  [ -n "$archive" ] || need "let apt use Debian's archive, and run apt-get update"
  mkdir -p "$logs"
  /usr/lib/apt/apt-helper download-file "${archive}dists/stable/InRelease" "$logs/InRelease" &>/dev/null ||
    need "let this machine reach $archive, which apt uses"
}

archive_of_apt() {
  local uris
  # shellcheck disable=SC2016
  uris=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null)
  echo "${uris%%$'\n'*}"
}

# Proxies and the like, which the roots need as apt needs them here.
apt_settings() {
  apt-config dump Acquire | grep -E '^Acquire::(https?|Check|Retries)' || true
}

# Runs a command inside with a process tree of its own, which ends with it, so that nothing stays mounted.
in_root() { # root, command...
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -euc '
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    mount --rbind -o ro /sys "$0/sys"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      chroot "$0" "$@"' "$@"
}

# The commands of a stage of the Dockerfile.
stage_commands() { # stage
  sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$root/jobs/site/Dockerfile" |
    awk -v wanted="$1" '$1 == "FROM" { here = $4 == wanted } here && sub(/^RUN /, "")'
}

run_stage() { # root, stage
  in_root "$1" sh -euxc "$(stage_commands "$2")"
}

# Each of the following is a stage, where bash goes on after a command that fails: hence &&.

# With the two packages that Debian never removes again, or that leave a file behind: adduser and netbase.
make_bare_root() { # release, folder
  local http_proxy=
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
  export http_proxy
  rm -rf "$2.part" &&
    debootstrap --variant=minbase --include=adduser,netbase "$1" "$2.part" "$archive" &&
    apt_settings >"$2.part/etc/apt/apt.conf.d/90host" &&
    rm -f "$2.part"/var/cache/apt/archives/*.deb &&
    mv "$2.part" "$2"
}

lint_packages() { # root
  in_root "$1" apt-get install -y --no-install-recommends lintian &&
    in_root "$1" sh -c 'lintian --fail-on error,warning --info --tag-display-limit 0 --allow-root /packages/*.changes'
}

build_debs() { # folder of the release
  rm -rf "$1/build" "$1/packages" &&
    cp -a "$1/bare" "$1/build" &&
    copy_tree "$1/build/src/rueda" &&
    in_root "$1/build" apt-get update &&
    run_stage "$1/build" build &&
    cp -r "$1/build/packages" "$1/packages" &&
    lint_packages "$1/build"
}

install_both() { # folder of the release
  rm -rf "$1/try" &&
    cp -a "$1/bare" "$1/try" &&
    cp -r "$1/packages" "$1/try/packages" &&
    run_stage "$1/try" final &&
    cp -r "$1/packages" "$1/try/packages" &&
    in_root "$1/try" apt-get update &&
    in_root "$1/try" sh -c 'apt-get install -y --no-install-recommends /packages/rueda-doc_*.deb'
}

train_there() { # folder of the release
  cp "$root/jobs/site/debian/tests/train" "$1/try/tmp/train" &&
    mkdir "$1/try/tmp/work" &&
    in_root "$1/try" test -s /usr/share/doc/rueda/docs/tutorial.md &&
    in_root "$1/try" env HOME=/tmp/work AUTOPKGTEST_TMP=/tmp/work /tmp/train &&
    rm -r "$1"/try/tmp/*
}

# What a root holds, without what apt, dpkg and adduser keep about themselves.
contents() { # root
  (cd "$1" && find etc home opt root srv usr var) | grep -vE '^var/(cache|log|lib/apt)/|^(etc|var/lib/dpkg)/.*-(old)?$' | sort
}

remove_both() { # folder of the release
  in_root "$1/try" apt-get purge -y rueda rueda-doc python3-jinja2 python3-matplotlib python3-munkres python3-numpy \
    python3-pandas &&
    in_root "$1/try" apt-get autoremove --purge -y -o APT::AutoRemove::SuggestsImportant=false &&
    diff <(contents "$1/bare") <(contents "$1/try")
}

check_needs
for release in "${releases[@]}"; do
  [[ $release =~ ^[a-z]+$ ]] || need "give names of Debian's releases, such as trixie, not ${release@Q}"
  work=$root/build-deb/$release
  claim_folder "$work" packages.sh || need "move $work away: it $obstacle"
  [ -d "$work/bare" ] || stage "root of $release" make_bare_root "$release" "$work/bare"
  stage "build on $release" build_debs "$work"
  stage "install on $release" install_both "$work"
  stage "train on $release" train_there "$work"
  sed -n '/^rueda /p' "$logs/train-on-$release.log" | head -n 1
  stage "remove on $release" remove_both "$work"
  echo "Nothing is left on $release. The packages:"
  rm -rf "$work/build" "$work/try"
  ls "$work"/packages/*.deb
done
