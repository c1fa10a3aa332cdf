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
# sbatch runs a copy: then Slurm knows where the script lies. Nothing is looked for in the current folder.
if [ -z "${RUEDA_ROOT:-}" ]; then
  RUEDA_ROOT=$(cd "$(dirname "$0")/../.." && pwd)
  [ -r "$RUEDA_ROOT/jobs/slurm/common.sh" ] ||
    RUEDA_ROOT=$(timeout 60 scontrol show job "${SLURM_JOB_ID:-}" | sed -n 's|^ *Command=\(.*\)/jobs/slurm/.*|\1|p')
fi
: "${RUEDA_ROOT:?set it to the folder of rueda}"
# shellcheck source=jobs/slurm/common.sh
. "$RUEDA_ROOT/jobs/slurm/common.sh"

case " $* " in
  *" --only "* | *" --report-only "*) ;; # a part of what scale.sh --submit sent
  *) check_machine "$nodes" "$tasks" --backend "$RUEDA_BACKEND" ;;
esac
"$RUEDA_ROOT/jobs/scale.sh" --launcher "$RUEDA_LAUNCHER" "$@"
