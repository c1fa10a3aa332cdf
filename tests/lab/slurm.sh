#!/usr/bin/env bash
# A real Slurm on this one machine: slurmctld and several slurmd, without systemd, control groups or
# /etc/slurm. Its nodes may claim more cores than there are, and GPUs that do not exist. Needs root and
#   apt-get install --no-install-recommends slurmctld slurmd slurm-client munge
#
#   slurm.sh start              returns when every node is idle
#   eval "$(slurm.sh env)"      so that srun, sbatch, squeue, ... and Open MPI below them find it
#   slurm.sh status             its daemons and nodes
#   slurm.sh stop               cancels the jobs, ends its daemons, removes its folder
#
# Variables, the same for all calls:
#   LAB_SLURM_DIR     folder (/tmp/rueda-lab-slurm)
#   LAB_SLURM_NODES   nodes n1, n2, ... (2)
#   LAB_SLURM_CPUS    cores that each node claims (4)
#   LAB_SLURM_GPUS    GPUs that each node claims (4)
#   LAB_SLURM_TIMEOUT seconds after which a node that does not answer is given up (300, which is Slurm's own default)
#   LAB_SLURM_PORT    first of NODES + 1 free ports on the loopback device (26817)
set -euo pipefail

self=$(readlink -f "${BASH_SOURCE[0]}")
dir=${LAB_SLURM_DIR:-/tmp/rueda-lab-slurm}
cpus=${LAB_SLURM_CPUS:-4}
gpus=${LAB_SLURM_GPUS:-4}
port=${LAB_SLURM_PORT:-26817}
mapfile -t names < <(seq -f n%g "${LAB_SLURM_NODES:-2}")
controller=$(hostname -s)
export SLURM_CONF=$dir/slurm.conf

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "$self"; }
die() {
  echo "slurm.sh: $*" >&2
  exit 2
}

# Runs a command under a hostname of its own. Open MPI takes ranks with one hostname to share memory,
# and names that memory by hostname and local rank: those of two nodes would write into each other's.
as_host() { # name command...
  local name=$1
  shift
  # shellcheck disable=SC2016
  unshare --uts sh -c 'hostname "$0" && exec "$@"' "$name" "$@"
}

controller_conf() {
  cat <<END
ClusterName=lab
SlurmctldHost=$controller(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdTimeout=${LAB_SLURM_TIMEOUT:-300}
SlurmdUser=root
AuthInfo=socket=$dir/munge/socket,cred_expire=5
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/pid/slurmctld
SlurmctldLogFile=$dir/log/slurmctld.log
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0
ReturnToService=2
KillWait=5
MinJobAge=3600
MessageTimeout=60
BatchStartTimeout=60
JobRequeue=1
GresTypes=gpu
END
  # cred_expire: a requeued job waits a second longer than this; the default is two minutes.
  # MinJobAge: scontrol shows a job for so many seconds after its end. The timeouts are for busy machines.
}

# Without control groups, binding and accounting, which a container does not allow.
# TmpFS holds the sockets of the pmix plugin: nodes that shared one could not run a step together.
# config_overrides: the claimed cores hold, not those of the machine.
node_conf() {
  local i memory gres=''
  memory=$(awk '/^MemTotal/ { print int($2 / 1024 / 2) }' /proc/meminfo)
  [ "$gpus" = 0 ] || gres=Gres=gpu:$gpus
  cat <<END
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp/%n
SlurmdPidFile=$dir/pid/slurmd-%n
SlurmdLogFile=$dir/log/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
PropagateResourceLimits=NONE
END
  for i in "${!names[@]}"; do
    echo "NodeName=${names[i]} NodeHostname=${names[i]} NodeAddr=127.0.0.1 Port=$((port + 1 + i))" \
      "CPUs=$cpus RealMemory=$memory $gres State=UNKNOWN"
  done
  echo "PartitionName=main Nodes=$(IFS=, && echo "${names[*]}") Default=YES MaxTime=1-0 State=UP"
}

# Slurm 22.05 counts a GPU without a device file as none; these files behave as /dev/null.
gres_conf() {
  local i
  for ((i = 0; i < gpus; i++)); do mknod "$dir/gpu$i" c 1 3; done
  [ "$gpus" = 0 ] || echo "Name=gpu File=$dir/gpu[0-$((gpus - 1))]"
}

configure() {
  local name
  mkdir -p "$dir"/{state,spool,tmp,log,pid,munge}
  for name in "${names[@]}"; do mkdir -p "$dir/spool/$name" "$dir/tmp/$name"; done
  chmod 755 "$dir" "$dir"/*
  gres_conf >"$dir/gres.conf"
  { controller_conf && node_conf; } >"$dir/slurm.conf"
  # Named, the plugin does nothing; left to find out, slurmd wants /sys/fs/cgroup mounted, and systemd.
  echo "CgroupPlugin=cgroup/v1" >"$dir/cgroup.conf"
}

start_munge() {
  (umask 077 && head -c 1024 /dev/urandom >"$dir/munge/key")
  munged --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
    --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --num-threads=2
}

client() { timeout 10 "$@"; } # a Slurm command, which without its controller waits for minutes

# sinfo's own filter by state would count nodes that have not reported yet.
idle_nodes() { client sinfo -h -N -o '%N %T' 2>/dev/null | sort -u | grep -c ' idle$' || true; }

await_nodes() {
  local i
  for ((i = 0; i < 300; i++)); do
    if [ "$(idle_nodes)" = ${#names[@]} ]; then return 0; fi
    sleep 0.1
  done
  client sinfo -N -l >&2 || true
  tail -n 20 "$dir"/log/*.log >&2
  die "not every node is idle after 30 s"
}

start() {
  local name program
  [ "$(id -u)" = 0 ] || die "needs root"
  for program in slurmctld slurmd munged; do
    command -v "$program" >/dev/null || die "$program is not installed"
  done
  [ ! -e "$dir" ] || die "$dir is in use; stop first"
  configure
  start_munge
  as_host "$controller" slurmctld -f "$SLURM_CONF" -c
  for name in "${names[@]}"; do as_host "$name" slurmd -f "$SLURM_CONF" -N "$name"; done
  await_nodes
}

# The process of a pid file, while it is the program that was started under it.
living() { # pid file, program
  local pid
  [ -s "$1" ] || return 0
  pid=$(<"$1")
  if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]; then echo "$pid"; fi
}

daemons() {
  local name
  for name in "${names[@]}"; do living "$dir/pid/slurmd-$name" slurmd; done
  living "$dir/pid/slurmctld" slurmctld
  living "$dir/munge/pid" munged
}

cancel_jobs() {
  local state i
  for state in PENDING RUNNING SUSPENDED; do
    client scancel --full --state="$state" --partition=main || true
  done
  for ((i = 0; i < 100; i++)); do
    [ -n "$(client squeue -h -t R,CG,PD 2>/dev/null)" ] || break
    sleep 0.1
  done
}

await_end() { # pid
  local i
  for ((i = 0; i < 100; i++)); do
    [ -e "/proc/$1" ] || return 0
    sleep 0.1
  done
  kill -KILL "$1" 2>/dev/null || true
}

stop() {
  local pids pid
  [ -e "$dir/pid" ] || return 0
  [ -z "$(living "$dir/pid/slurmctld" slurmctld)" ] || cancel_jobs
  mapfile -t pids < <(daemons)
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do await_end "$pid"; done
  rm -rf "$dir"
}

# yield: more ranks than cores.
environment() {
  cat <<END
export SLURM_CONF=$SLURM_CONF
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
END
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  status) daemons | xargs -r ps -o pid,args -p && client sinfo -N -l ;;
  env) environment ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
