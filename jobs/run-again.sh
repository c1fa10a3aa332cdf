#!/usr/bin/env bash
# Starts a training again, from its last checkpoint, until it ends by itself: jobs/run-again.sh --help.
set -euo pipefail

jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=jobs/slurm/in_job.sh
. "$jobs/slurm/in_job.sh"
# -u: what the disk does not take fails where it is printed, not when Python ends.
exec python3 -EBu "$jobs/run_again.py" "$@"
