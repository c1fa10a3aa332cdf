#!/usr/bin/env bash
# Puts the job in which it runs back into the queue. Nodes that are given are left out from then on.
#
#   jobs/slurm/requeue.sh [NODE...]
set -euo pipefail

: "${SLURM_JOB_ID:?this puts the job in which it runs back into the queue}"
# The number of an array's last element is that of the whole array.
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}}
job=${job:-$SLURM_JOB_ID}

trap '' TERM # by which Slurm ends the job, this script included, once it is in the queue
out=$(timeout 60 scontrol show job "$job" | sed -n 's/^ *ExcNodeList=//p')
[ "$out" != "(null)" ] || out=
timeout 60 scontrol requeue "$job"
[ $# -gt 0 ] || exit 0
# Slurm changes these nodes only while the job waits, and kills this script half a minute after TERM. A busy controller
# may not answer at once.
for pause in 1 2 4 0; do
  if timeout 15 scontrol update "JobId=$job" "ExcNodeList=$(IFS=, && echo "$*")${out:+,$out}"; then exit 0; fi
  sleep "$pause"
done
echo "Slurm refuses to leave out $*" >&2
