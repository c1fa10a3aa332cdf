#!/usr/bin/env bash
# A scaling study in one command: runs every model on every number of ranks with every batch, several times,
# each in a directory of its own, and makes the report. Does not repeat finished runs.
#
#   jobs/scale.sh cpu                        a study that ends in minutes on two cores
#   jobs/scale.sh book --out runs/book       ResNet50V2 and 152V2 on 1, 2 and 4 devices
#   jobs/scale.sh --help                     every option; docs/report.md says more
#
# jobs/scaling does the work, in Python 3.6 or newer, which login nodes have.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if ! python=$(command -v python3); then
  echo "scale.sh: python3 was not found: install it, or load its module" >&2
  exit 2
fi

# shellcheck source=jobs/slurm/in_job.sh
. "$root/jobs/slurm/in_job.sh"
# -u: what the disk does not take fails where it is printed, not when Python ends.
exec "$python" -EBu "$root/jobs/scaling" "$@"
