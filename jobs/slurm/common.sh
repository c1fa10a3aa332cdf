# shellcheck shell=bash
# What the job scripts share: reads the site, prints the job, starts ranks. To be sourced inside a job, with
# RUEDA_ROOT set.

if [ -z "${SLURM_JOB_ID:-}" ]; then
  echo "rueda: this is a job script; use jobs/slurm/submit.sh $0, or sbatch $0" >&2
  exit 2
fi

# shellcheck source=jobs/slurm/in_job.sh
. "$RUEDA_ROOT/jobs/slurm/in_job.sh"
ulimit -c 0 # Open MPI's crashes would leave their memory in the user's folder
# shellcheck source=jobs/slurm/load_site.sh
. "$RUEDA_ROOT/jobs/slurm/load_site.sh"
# scale.sh reads them.
export RUEDA RUEDA_DATA RUEDA_MPI RUEDA_CONTAINER
# Modules may use variables that are not set.
set +u
site_setup
set -u

nodes=$SLURM_JOB_NUM_NODES
tasks=${SLURM_NTASKS_PER_NODE:-1} # of each node
cores=${SLURM_CPUS_PER_TASK:-1}
read -ra container <<<"$RUEDA_CONTAINER"
data=()
[ -z "$RUEDA_DATA" ] || data=(--data "$RUEDA_DATA")
# The directory of the job's run or runs.
# shellcheck disable=SC2034
run_dir=runs/${SLURM_JOB_NAME:-rueda}-$SLURM_JOB_ID

print_job() {
  local gpus=${SLURM_JOB_GPUS:-${SLURM_STEP_GPUS:-}}
  cat <<END
Job name:       $SLURM_JOB_NAME
Job ID:         $SLURM_JOB_ID
Submitted in:   $SLURM_SUBMIT_DIR
Partition:      $SLURM_JOB_PARTITION
Account:        ${SLURM_JOB_ACCOUNT:-none}
Nodes:          $nodes ($SLURM_JOB_NODELIST)
Tasks:          ${SLURM_NTASKS:-$((nodes * tasks))}
Tasks per node: $tasks
Cores per task: $cores
GPUs per node:  ${SLURM_GPUS_ON_NODE:-0}${gpus:+ ($gpus)}
Site file:      $site
END
  if [ -n "$gpus" ] && command -v nvidia-smi >/dev/null; then nvidia-smi -L || true; fi
}

# Binds ranks to cores of their own if the node really has them.
mpirun_binding() { # ranks per node
  if [ "$(nproc)" -ge $(($1 * cores)) ]; then
    echo "--use-hwthread-cpus --map-by ppr:$1:node:pe=$cores --bind-to hwthread"
  else
    echo "--map-by ppr:$1:node --bind-to none"
  fi
}

# Sets `command` to what runs rueda on the first nodes of the job. Every rank sees all GPUs of its node
# and takes its own; hidden from each other, they could not exchange memory directly.
prepare() { # nodes, ranks of each, words of rueda...
  local start
  case $RUEDA_LAUNCHER in
    srun)
      # When a rank ends early, the others have ten seconds to end. Killed at once, their exit code would be
      # that of the signal, and the one that gives the reason would be lost.
      start=(srun --mpi="$RUEDA_MPI" --kill-on-bad-exit=0 --wait=10 --nodes="$1"
        --ntasks="$(($1 * $2))" --ntasks-per-node="$2" --cpus-per-task="$cores" --cpu-bind=cores) ;;
    mpirun)
      read -ra start < <(mpirun_binding "$2")
      start=(mpirun -n "$(($1 * $2))" "${start[@]}")
      [ "$(id -u)" -ne 0 ] || start+=(--allow-run-as-root) ;;
    *)
      echo "rueda: RUEDA_LAUNCHER is srun or mpirun, not $RUEDA_LAUNCHER; see $site" >&2
      exit 2 ;;
  esac
  command=("${start[@]}" "${container[@]}" "$RUEDA" "${@:3}")
}

launch() { # as prepare
  prepare "$@"
  "${command[@]}"
}

# Sets `command` to the doctor, or to nothing where the site leaves it out.
prepare_doctor() { # nodes, ranks of each, words of rueda doctor...
  prepare "$1" "$2" doctor "${data[@]}" "${@:3}"
  [ "$RUEDA_DOCTOR" != off ] || command=(true)
}

# Ends the job with the doctor's report if training would not work.
check_machine() { # as prepare_doctor
  prepare_doctor "$@"
  "${command[@]}"
}

print_job
