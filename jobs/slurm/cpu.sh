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
# sbatch runs a copy: then Slurm knows where the script lies. Nothing is looked for in the current folder.
if [ -z "${RUEDA_ROOT:-}" ]; then
  RUEDA_ROOT=$(cd "$(dirname "$0")/../.." && pwd)
  [ -r "$RUEDA_ROOT/jobs/slurm/common.sh" ] ||
    RUEDA_ROOT=$(timeout 60 scontrol show job "${SLURM_JOB_ID:-}" | sed -n 's|^ *Command=\(.*\)/jobs/slurm/.*|\1|p')
fi
: "${RUEDA_ROOT:?set it to the folder of rueda}"
# shellcheck source=jobs/slurm/common.sh
. "$RUEDA_ROOT/jobs/slurm/common.sh"

check_machine 1 1 --backend cpu
launch 1 1 train --config "$RUEDA_ROOT/jobs/recipes/book-seq.toml" "${data[@]}" --backend cpu \
  --run-dir "$run_dir" --overwrite "$@"
