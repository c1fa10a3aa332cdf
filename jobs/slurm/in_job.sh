# shellcheck shell=bash
# How scripts start ranks from here: in a job as its site says, elsewhere as env.sh says. To be sourced.
#
# A shell of `srun --pty` lies between: it is a step that holds the cores of its job, and a step that is started there
# would wait for them for ever. SLURM_OVERLAP lets srun share them, as its --overlap does. The step of salloc's shell
# holds none; its number is one of the last of 32 bits.

rueda_holds_cores() { [[ ${SLURM_STEP_ID:-} =~ ^[0-9]+$ ]] && [ "$SLURM_STEP_ID" -lt 4294967280 ]; }
if rueda_holds_cores; then
  export SLURM_OVERLAP=1
fi
if [ -z "${SLURM_JOB_ID:-}" ] || rueda_holds_cores; then
  # shellcheck source=jobs/env.sh
  . "$(dirname "${BASH_SOURCE[0]}")/../env.sh"
fi
unset -f rueda_holds_cores
