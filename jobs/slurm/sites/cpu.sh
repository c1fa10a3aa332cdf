# shellcheck shell=bash disable=SC2034
# A site without GPUs: every rank computes on RUEDA_CORES_PER_RANK cores. generic.sh explains the rest.

: "${RUEDA_GPUS_PER_NODE:=0}"
: "${RUEDA_BACKEND:=cpu}"
: "${RUEDA_CORES_PER_RANK:=16}"

. "$RUEDA_ROOT/jobs/slurm/sites/generic.sh"
