#!/usr/bin/env bash
# Calls sbatch with the options of the site file (account, QOS, cores, ...). Options before the script go to
# sbatch and win; words after it go to the script.
#
#   jobs/slurm/submit.sh [options of sbatch] SCRIPT [words]
#   RUEDA_SITE=marenostrum5-acc jobs/slurm/submit.sh --time=00:20:00 jobs/slurm/one-gpu.sh
#
# The site file is that of RUEDA_SITE (a path with a slash, or a name in jobs/slurm/sites), else
# jobs/slurm/site.sh if you made one, else sites/generic.sh.
set -euo pipefail

case ${1:-} in
  "" | -h | --help)
    sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"
    [ $# -gt 0 ] && exit 0 || exit 2 ;;
esac

RUEDA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export RUEDA_ROOT # the job finds the scripts there; sbatch runs a copy of its own
# shellcheck source=jobs/slurm/load_site.sh
. "$RUEDA_ROOT/jobs/slurm/load_site.sh"
RUEDA_SITE=$(readlink -f "$site")
export RUEDA_SITE

if ! command -v sbatch >/dev/null; then
  echo "rueda: sbatch was not found: run this on a login node of a Slurm cluster" >&2
  exit 2
fi

options=(--cpus-per-task="$RUEDA_CORES_PER_RANK")
[ -z "$RUEDA_ACCOUNT" ] || options+=(--account="$RUEDA_ACCOUNT")
[ -z "$RUEDA_PARTITION" ] || options+=(--partition="$RUEDA_PARTITION")
[ -z "$RUEDA_QOS" ] || options+=(--qos="$RUEDA_QOS")
[ -z "$RUEDA_RESERVATION" ] || options+=(--reservation="$RUEDA_RESERVATION")
[ "$RUEDA_GPUS_PER_NODE" != 0 ] || options+=(--gres=none)
read -ra more <<<"$RUEDA_SBATCH_OPTIONS"
exec sbatch "${options[@]}" "${more[@]}" "$@"
