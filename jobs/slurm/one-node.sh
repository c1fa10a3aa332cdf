#!/usr/bin/env bash
# Trains on 1, then 2, then 4 GPUs of a node, a rank on each: the book's parallel training. RANKS="2" runs
# only some of these. jobs/slurm/study.sh measures more, repeats and makes a report.
#
#   jobs/slurm/submit.sh jobs/slurm/one-node.sh [options of rueda train]
#SBATCH --job-name=rueda-one-node
#SBATCH --output=%x.%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:4
#SBATCH --time=01:15:00
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

check_machine 1 "$tasks" --backend "$RUEDA_BACKEND"
for ranks in ${RANKS:-1 2 4}; do
  launch 1 "$ranks" train --config "$RUEDA_ROOT/jobs/recipes/book-resnet50v2.toml" "${data[@]}" \
    --backend "$RUEDA_BACKEND" --run-dir "$run_dir/np$ranks" --overwrite "$@"
done
