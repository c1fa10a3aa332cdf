#!/usr/bin/env bash
# A long training that survives time limits and preemption. Two minutes before the time limit Slurm sends
# USR1 to this script, which sends it to the run. The run writes a checkpoint and ends with exit code 75; the
# job goes back into the queue and continues there. A run that is killed without a warning is started again from its
# last checkpoint (jobs/run-again.sh); CHECKPOINT_EVERY says how often it writes one [1epoch].
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

# Before anything else: a job that preemption puts back is often warned again at once. Slurm sends TERM to all
# processes of a job that it ends, also of one that goes back into the queue, and kills the others as soon as this
# script has ended: so it stays until the run has saved, or its job is without lost nodes.
warned=
child=
# shellcheck disable=SC2317
hand_on() { # signal
  [ "$1" = TERM ] || echo "USR1: the time is almost up."
  [ "$warned" = TERM ] || warned=$1
  [ -z "$child" ] || kill "-$1" "$child" 2>/dev/null || true
}
trap 'hand_on USR1' USR1
trap 'hand_on TERM' TERM

# sbatch runs a copy: then Slurm knows where the script lies. Nothing is looked for in the current folder.
if [ -z "${RUEDA_ROOT:-}" ]; then
  RUEDA_ROOT=$(cd "$(dirname "$0")/../.." && pwd)
  [ -r "$RUEDA_ROOT/jobs/slurm/common.sh" ] ||
    RUEDA_ROOT=$(timeout 60 scontrol show job "${SLURM_JOB_ID:-}" | sed -n 's|^ *Command=\(.*\)/jobs/slurm/.*|\1|p')
fi
: "${RUEDA_ROOT:?set it to the folder of rueda}"
# shellcheck source=jobs/slurm/common.sh
. "$RUEDA_ROOT/jobs/slurm/common.sh"

# `wait` returns at every signal; then it must be called again.
run_command() {
  local code=0
  "${command[@]}" &
  child=$!
  if [ -n "$warned" ]; then # before `child` was set; a process that just begins loses a signal
    sleep 1
    kill "-$warned" "$child" 2>/dev/null || true
  fi
  while true; do
    wait "$child" && code=0 || code=$?
    kill -0 "$child" 2>/dev/null || break
  done
  child=
  return "$code"
}

# Ends the job, which continues later if the warning came before the run could take it.
finish() { # exit code
  if [ "$warned" = USR1 ] && [ "$1" -ne 0 ] && [ "$1" -ne 2 ] && [ "$1" -ne "$back_in_queue" ]; then
    "$RUEDA_ROOT/jobs/slurm/requeue.sh"
  fi
  exit "$1"
}

back_in_queue=75
code=0
prepare_doctor "$nodes" "$tasks" --backend "$RUEDA_BACKEND"
run_command || code=$?
[ -z "$warned" ] || [ "$code" -ne 0 ] || code=$((128 + $(kill -l "$warned"))) # as a command that it ends
[ "$code" -eq 0 ] || finish "$code"
prepare "$nodes" "$tasks" train --config "$RUEDA_ROOT/jobs/recipes/high-accuracy.toml" "${data[@]}" \
  --backend "$RUEDA_BACKEND" --run-dir "$run_dir" --checkpoint-every "${CHECKPOINT_EVERY:-1epoch}" \
  --resume auto "$@"
command=("$RUEDA_ROOT/jobs/run-again.sh" --requeue -- "${command[@]}")
run_command || code=$?
finish "$code"
