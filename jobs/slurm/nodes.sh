#!/usr/bin/env bash
# Several nodes, a rank on each GPU of each. Their number is sbatch's: submit.sh --nodes=8 ...
#
#   jobs/slurm/submit.sh --nodes=2 jobs/slurm/nodes.sh [options of rueda train]
#SBATCH --job-name=rueda-nodes
#SBATCH --output=%x.%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:4
#SBATCH --time=01:00:00
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

check_machine "$nodes" "$tasks" --backend "$RUEDA_BACKEND"
launch "$nodes" "$tasks" train --config "$RUEDA_ROOT/jobs/recipes/book-resnet50v2.toml" \
  "${data[@]}" --backend "$RUEDA_BACKEND" --run-dir "$run_dir" --overwrite "$@"
