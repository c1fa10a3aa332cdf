#!/usr/bin/env bash
# Starts a training again, from its last checkpoint, until it ends by itself: jobs/run-again.sh --help.
set -euo pipefail

jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# In a job the site decides how MPI behaves.
if [ -z "${SLURM_JOB_ID:-}" ]; then
  # shellcheck source=jobs/env.sh
  . "$jobs/env.sh"
fi
# -u: what the disk does not take fails where it is printed, not when Python ends.
exec python3 -EBu "$jobs/run_again.py" "$@"
