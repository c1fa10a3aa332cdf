#!/usr/bin/env bash
# Makes a release of a commit: the archive of its sources, and a repository of Spack that installs rueda from it. The
# same commit gives the same bytes. Each site can do this from a clone, because rueda has no public address.
#
#   jobs/site/release.sh [--commit COMMIT] [--out DIR] [--url ADDRESS]
#
#   --commit   [HEAD]
#   --out      where both go [build-release]
#   --url      the folder in which Spack will find the archive [file://DIR]
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

fail() {
  echo "release: $*" >&2
  exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=jobs/owned.sh
. "$root/jobs/owned.sh"

commit=HEAD out=$root/build-release url=
while [ $# -gt 0 ]; do
  case $1 in
    --commit) commit=${2:?--commit takes a commit}; shift 2 ;;
    --out) out=${2:?--out takes a folder}; shift 2 ;;
    --url) url=${2:?--url takes the address of a folder}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done
out=$(realpath -m -s "$out")
url=${url:-file://$out}
url=${url%/}
[[ $url =~ ^[a-z]+://[A-Za-z0-9._~/%@:+-]+$ ]] ||
  fail "give --url as https://HOST/FOLDER or file:///FOLDER, not ${url@Q}"
commit=$(git -C "$root" rev-parse --verify --quiet --end-of-options "$commit^{commit}") ||
  fail "$root has no such commit: run this in a clone"
version=$(git -C "$root" show "$commit:meson.build" | sed -n "s/^  version: '\(.*\)',\$/\1/p")
reason=$(obstacle_to_replace "$out")
[ -z "$reason" ] || fail "$out $reason; give another --out"

# Neither git's own settings nor the version of its gzip may change a byte.
pack() { # folder
  git -C "$root" -c tar.umask=0022 archive --format=tar --prefix="rueda-$version/" "$commit" |
    gzip --no-name -9 >"$1/rueda-$version.tar.gz"
}

write_recipe() { # folder
  local sum repository=$1/spack_repo/rueda
  sum=$(sha256sum <"$1/rueda-$version.tar.gz")
  mkdir -p "$repository/packages/rueda"
  printf "repo:\n  namespace: rueda\n  api: v2.0\n" >"$repository/repo.yaml"
  git -C "$root" show "$commit:jobs/site/package.py" | sed -E "
    s|^(    url = ).*|\1\"$url/rueda-$version.tar.gz\"|
    s|^(    version\().*|\1\"$version\", sha256=\"${sum%% *}\")|" >"$repository/packages/rueda/package.py"
}

mkdir -p "$(dirname "$out")"
staging=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$staging"' EXIT
mkdir "$staging/new"
pack "$staging/new"
write_recipe "$staging/new"
record_folder "$staging/new"
replace_folder "$staging/new" "$out" "$staging/earlier"
cat <<END
rueda $version of ${commit:0:10}: $out/rueda-$version.tar.gz
  spack repo add $out/spack_repo/rueda
  spack install rueda
END
