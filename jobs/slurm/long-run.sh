#!/usr/bin/env bash
# A long training that survives time limits and preemption. Two minutes before the time limit Slurm sends
# USR1 to this script, which sends it to the run. The run writes a checkpoint and ends with exit code 75; the
# job goes back into the queue and continues there. A run that is killed without a warning continues from its
# last checkpoint; CHECKPOINT_EVERY says how often it writes one [1epoch].
#
#   jobs/slurm/submit.sh --time=08:00:00 jobs/slurm/long-run.sh [options of rueda train]
#SBATCH --job-name=rueda-long
#SBATCH --output=%x.%j.out
#SBATCH --open-mode=append
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:4
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
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

run_again=75 # rueda's exit code for: stopped, saved, to be continued
step=
# shellcheck disable=SC2317
hand_on() {
  echo "USR1: the time is almost up."
  [ -z "$step" ] || kill -USR1 "$step" 2>/dev/null || true
}

# `wait` returns at every signal; then it must be called again.
await_step() {
  local code=0
  while true; do
    wait "$step" && code=0 || code=$?
    kill -0 "$step" 2>/dev/null || return "$code"
  done
}

check_machine "$nodes" "$tasks" --backend "$RUEDA_BACKEND"
prepare "$nodes" "$tasks" train --config "$RUEDA_ROOT/jobs/recipes/high-accuracy.toml" "${data[@]}" \
  --backend "$RUEDA_BACKEND" --run-dir "$run_dir" --checkpoint-every "${CHECKPOINT_EVERY:-1epoch}" \
  --resume auto "$@"
trap hand_on USR1
"${command[@]}" &
step=$!
code=0
await_step || code=$?

if [ "$code" -eq "$run_again" ]; then
  echo "Stopped with its state saved: back into the queue."
  scontrol requeue "$SLURM_JOB_ID"
elif [ "$code" -ne 0 ]; then
  echo "The run ended with exit code $code and is not repeated."
fi
exit "$code"
