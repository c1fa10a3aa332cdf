#!/usr/bin/env bash
# One process on one GPU: the book's baseline that is compared with cpu.sh.
#
#   jobs/slurm/submit.sh jobs/slurm/one-gpu.sh [options of rueda train]
#SBATCH --job-name=rueda-one-gpu
#SBATCH --output=%x.%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:1
#SBATCH --time=00:30:00
set -euo pipefail
RUEDA_ROOT=${RUEDA_ROOT:-${SLURM_SUBMIT_DIR:-$(dirname "$0")/../..}}
# shellcheck source=jobs/slurm/common.sh
. "$RUEDA_ROOT/jobs/slurm/common.sh"

check_machine 1 1 --backend "$RUEDA_BACKEND"
launch 1 1 train --config "$RUEDA_ROOT/jobs/recipes/book-seq.toml" "${data[@]}" \
  --backend "$RUEDA_BACKEND" --run-dir "$run_dir" --overwrite "$@"
