#!/usr/bin/env bash
# Starts a training again, from its last checkpoint, until it ends by itself.
#
#   jobs/run-again.sh [--most N] -- mpirun -n 4 rueda train --run-dir DIR --checkpoint-every 50steps ...
#
# A run that failed, or lost a rank or a host, is started again with --resume auto: at once after the first failure,
# later ones in a row after 1, 2, 4 ... 60 s. It gives up after N failures without a new checkpoint [5], and at once
# where a restart cures nothing: exit code 2 (wrong input) and 75 (stopped as asked, with its state saved).
# Hosts that --host or --hostfile names and that no longer answer are left out, with their ranks; the global batches
# stay. RUEDA_PROBE is the command that tries a host: PROBE HOST true [ssh -o BatchMode=yes -o ConnectTimeout=5].
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }
refuse() { echo "run-again: $1" >&2; exit 2; }

most=5
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --most) most=${2:?--most takes a number}; shift ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
[ $# -gt 1 ] || { usage >&2; exit 2; }
shift
command=("$@")

# The value of one of these options in the command, and where it stands.
at=
value_of() { # NAME...
  local i name
  for ((i = 0; i < ${#command[@]} - 1; i++)); do
    for name in "$@"; do
      if [ "${command[i]}" = "$name" ]; then at=$((i + 1)); value=${command[at]}; return 0; fi
    done
  done
  return 1
}
value_of --run-dir || refuse "the command names no --run-dir, where its checkpoints are: add one"
checkpoints=$value/checkpoints
value_of --resume || command+=(--resume auto)
value_of --checkpoint-every || echo "run-again: without --checkpoint-every the run begins anew each time" >&2

newest() { # none before the first one
  { find "$checkpoints" -maxdepth 1 -name '[^.]*' -printf '%f\n' 2>/dev/null || true; } | sort | tail -n 1
}

# Leaves out hosts that do not answer. A line HOST slots=N, or HOST:N.
drop_lost_hosts() {
  local entries entry host slots=0 left=() file=
  if value_of --hostfile -hostfile --machinefile; then
    file=$value
    mapfile -t entries < <(sed 's/#.*//; /^[[:space:]]*$/d; s/[[:space:]]\{1,\}slots=/:/' "$file")
  elif value_of --host -host -H; then
    IFS=, read -ra entries <<<"$value"
  else
    return 0
  fi
  local where=$at
  for entry in "${entries[@]}"; do
    host=${entry%%:*}
    if ${RUEDA_PROBE:-ssh -o BatchMode=yes -o ConnectTimeout=5} "$host" true </dev/null; then
      left+=("$entry")
      [ "$host" = "$entry" ] && slots=$((slots + 1)) || slots=$((slots + ${entry##*:}))
    else
      echo "run-again: $host does not answer and is left out" >&2
    fi
  done
  [ ${#left[@]} -gt 0 ] || refuse "no host answers"
  [ ${#left[@]} -lt ${#entries[@]} ] || return 0
  command[where - 1]=--host
  command[where]=$(IFS=,; echo "${left[*]}")
  if value_of -n -np --np && [ "$value" -gt "$slots" ]; then command[at]=$slots; fi
}

job=
pass_on() { [ -z "$job" ] || kill -"$1" "$job" 2>/dev/null || true; }
for signal in TERM INT USR1; do
  # shellcheck disable=SC2064
  trap "pass_on $signal" "$signal"
done

failures=0
last=$(newest)
while true; do
  "${command[@]}" &
  job=$!
  code=0
  # `wait` returns at every signal; then it must be called again.
  while true; do
    wait "$job" && code=0 || code=$?
    kill -0 "$job" 2>/dev/null || break
  done
  case $code in 0 | 2 | 75) exit "$code" ;; esac
  now=$(newest)
  [ "$now" = "$last" ] && failures=$((failures + 1)) || failures=1
  last=$now
  if [ "$failures" -ge "$most" ]; then
    echo "run-again: $failures failures in a row without a new checkpoint, the last with exit code $code" >&2
    exit "$code"
  fi
  pause=$((failures < 2 ? 0 : failures > 7 ? 60 : 1 << (failures - 2)))
  echo "run-again: exit code $code; again from ${now:-the beginning} in $pause s" >&2
  sleep "$pause"
  drop_lost_hosts
done
