# shellcheck shell=bash disable=SC2034
# Any Slurm site. Copy this file to jobs/slurm/site.sh and fill it in: all job scripts, submit.sh and
# scale.sh --submit then use it. The environment wins.

# Options of sbatch. The site decides where they are empty.
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

# `off` leaves the doctor out of jobs, for example of those that end in two minutes.
: "${RUEDA_DOCTOR:=on}"

# Paths. The program: built here, or in the bin of a bundle. The data: as for `rueda train --data`; empty
# for those of the recipes.
[ -x "$RUEDA_ROOT/bin/rueda" ] && : "${RUEDA:=$RUEDA_ROOT/bin/rueda}"
: "${RUEDA:=$RUEDA_ROOT/build/rueda}"
: "${RUEDA_DATA:=}"
: "${RUEDA_CONTAINER:=}" # words before the program: "singularity exec --nv --bind $PWD image.sif"

# Modules and variables, on the first node of a job before anything starts.
site_setup() {
  : # module purge; module load gcc openmpi cuda
}
