# shellcheck shell=bash disable=SC2034
# MareNostrum 5, accelerated partition: 4 GPUs (NVIDIA Hopper) and 80 cores a node, so 20 cores for each
# GPU. Not tried there; the values are those of the published course jobs.
#
#   export RUEDA_ACCOUNT=your_account RUEDA_SITE=marenostrum5-acc
#   jobs/slurm/submit.sh jobs/slurm/one-node.sh

: "${RUEDA_QOS:=acc_debug}" # for tests; acc_training, acc_ehpc, ... as your account allows
: "${RUEDA_CORES_PER_RANK:=20}"
: "${RUEDA_GPUS_PER_NODE:=4}"
: "${RUEDA_BACKEND:=cuda}"
: "${RUEDA_LAUNCHER:=mpirun}" # of the HPC SDK, whose Open MPI takes GPU memory

. "$RUEDA_ROOT/jobs/slurm/sites/generic.sh"

site_setup() {
  module purge
  module load nvidia-hpc-sdk/24.11
}
