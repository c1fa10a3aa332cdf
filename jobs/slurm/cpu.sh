#!/usr/bin/env bash
# One process on CPU cores, without MPI's ranks: the sequential baseline of the book.
#
#   jobs/slurm/submit.sh jobs/slurm/cpu.sh [options of rueda train]
#SBATCH --job-name=rueda-cpu
#SBATCH --output=%x.%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=20
#SBATCH --time=01:15:00
set -euo pipefail
RUEDA_ROOT=${RUEDA_ROOT:-${SLURM_SUBMIT_DIR:-$(dirname "$0")/../..}}
# shellcheck source=jobs/slurm/common.sh
. "$RUEDA_ROOT/jobs/slurm/common.sh"

check_machine 1 1 --backend cpu
launch 1 1 train --config "$RUEDA_ROOT/jobs/recipes/book-seq.toml" "${data[@]}" --backend cpu \
  --run-dir "$run_dir" --overwrite "$@"
