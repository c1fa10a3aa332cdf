# shellcheck shell=bash disable=SC2034
# Any Slurm site. Copy this file to jobs/slurm/site.sh and fill it in; it is then used by all job
# scripts, by submit.sh, and by scale.sh --submit. What is set in the environment wins.

# What sbatch is to be told. Left empty, the site decides.
: "${RUEDA_ACCOUNT:=}"
: "${RUEDA_PARTITION:=}"
: "${RUEDA_QOS:=}"
: "${RUEDA_RESERVATION:=}"
: "${RUEDA_SBATCH_OPTIONS:=}" # more, for example "--exclusive --mem=0"

# A node: cores for each rank, GPUs, and what trains (auto, cpu, cuda).
: "${RUEDA_CORES_PER_RANK:=8}"
: "${RUEDA_GPUS_PER_NODE:=4}"
: "${RUEDA_BACKEND:=auto}"

# How ranks start: srun, with the kind of MPI that `srun --mpi=list` shows; or mpirun.
: "${RUEDA_LAUNCHER:=srun}"
: "${RUEDA_MPI:=pmix}"

# Where things are. The program: built here, or in a bundle's bin; the data as for `rueda train --data`,
# empty for what the recipes say.
[ -x "$RUEDA_ROOT/bin/rueda" ] && : "${RUEDA:=$RUEDA_ROOT/bin/rueda}"
: "${RUEDA:=$RUEDA_ROOT/build/rueda}"
: "${RUEDA_DATA:=}"
: "${RUEDA_CONTAINER:=}" # words before the program: "singularity exec --nv --bind $PWD image.sif"

# Modules and variables, on the first node of a job before anything starts.
site_setup() {
  : # module purge; module load gcc openmpi cuda
}
