#!/usr/bin/env bash
# A scaling study inside one allocation: jobs/scale.sh with its options. Sent again with the same options it
# continues. (scale.sh --submit sends a job for each configuration instead, so that no GPU is idle.)
#
#   jobs/slurm/submit.sh jobs/slurm/study.sh book --out study-book
#SBATCH --job-name=rueda-study
#SBATCH --output=%x.%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:4
#SBATCH --time=02:00:00
set -euo pipefail
RUEDA_ROOT=${RUEDA_ROOT:-${SLURM_SUBMIT_DIR:-$(dirname "$0")/../..}}
# shellcheck source=jobs/slurm/common.sh
. "$RUEDA_ROOT/jobs/slurm/common.sh"

case " $* " in
  *" --only "* | *" --report-only "*) ;; # a part of what scale.sh --submit sent
  *) check_machine "$nodes" "$tasks" --backend "$RUEDA_BACKEND" ;;
esac
"$RUEDA_ROOT/jobs/scale.sh" --launcher "$RUEDA_LAUNCHER" "$@"
