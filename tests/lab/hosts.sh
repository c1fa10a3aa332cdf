#!/usr/bin/env bash
# Several "hosts" on this machine: network namespaces with an address and a hostname each, joined by
# the program wire, a switch of a known rate and delay, so that one MPI world runs over TCP between them. Needs root,
# iproute2 and mpirun (Open MPI).
#
#   hosts.sh up N RATE DELAY        hosts 0 to N-1, e.g. up 4 1gbit 50us (one way; rate 0: no limit)
#   hosts.sh run P -- COMMAND...    P ranks by mpirun, as many on each host, neighbours together
#   hosts.sh exec I -- COMMAND...   the command on host I
#   hosts.sh down                   ends what `up` made, and what runs there
#
# Variables, the same for all calls:
#   LAB_NAME     hosts are called LAB_NAME0, LAB_NAME1, ... (lab); hosts of different names are not connected
#   LAB_WIRE     the program wire (build/tests/lab/wire)
#   LAB_MPIRUN   more options for mpirun
#   LAB_BEFORE   words before mpirun, as of a script that starts it
#   LAB_INTERFACES   options for mpirun that say which interfaces MPI uses (those of the switch); empty: it chooses
set -euo pipefail

self=$(readlink -f "${BASH_SOURCE[0]}")
root=$(dirname "$self")/../..
name=${LAB_NAME:-lab}
wire=${LAB_WIRE:-$root/build/tests/lab/wire}
folder=/tmp/rueda-lab-$name
subnet=10.77.0
queue_bytes=16000000 # longer than TCP fills, so that nothing is lost

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "$self"; }
die() {
  echo "hosts.sh: $*" >&2
  exit 2
}

# scaled TEXT UNIT=FACTOR...: 1gbit -> 1000000000
scaled() {
  awk -v text="$1" -v units="${*:2}" 'BEGIN {
    n = split(units, pair, " ")
    for (i = 1; i <= n; i++) { split(pair[i], p, "="); factor[p[1]] = p[2] }
    unit = text; sub(/^[0-9.]+/, "", unit)
    if (text == "0") { print 0; exit }
    if (!(unit in factor) || unit == text) exit 1
    printf "%.0f\n", (text + 0) * factor[unit]
  }'
}
bits() { scaled "$1" bit=1 kbit=1e3 mbit=1e6 gbit=1e9 || die "rate $1: for example 1gbit, or 0"; }
nanoseconds() { scaled "$1" ns=1 us=1e3 ms=1e6 s=1e9 || die "delay $1: for example 50us, or 0"; }

mac() { printf '02:77:00:00:00:%02x' "$1"; }
count() { cat "$folder/count" 2>/dev/null || die "no hosts called $name; up first"; }

# The command in a namespace, under its name as hostname.
enter() { # host command...
  local host=$1
  shift
  # shellcheck disable=SC2016
  exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
}

start_wire() { # hosts bits/s ns
  local hosts=() i
  [ -x "$wire" ] || die "$wire is not there: ninja -C build tests/lab/wire"
  for ((i = 0; i < $1; i++)); do hosts+=("$name$i"); done
  setsid "$wire" "$2" "$3" "$queue_bytes" net0 "${hosts[@]}" \
    </dev/null >"$folder/wire.out" 2>"$folder/wire.err" &
  echo $! >"$folder/wire.pid"
  for ((i = 0; i < 100; i++)); do
    if grep -qs ready "$folder/wire.out"; then return 0; fi
    kill -0 "$!" 2>/dev/null || break
    sleep 0.05
  done
  cat "$folder/wire.err" >&2
  return 1
}

set_address() { # number of the host
  ip -n "$name$1" link set net0 address "$(mac "$1")"
  ip -n "$name$1" addr add "$subnet.$(($1 + 1))/24" dev net0
  ip -n "$name$1" link set net0 gso_max_size "$bundle"
  ip -n "$name$1" link set net0 up
}

make_hosts() { # hosts bits/s ns
  # TCP bundles what a link sends in 1 ms. It does not see this link's rate, and a longer bundle is late as a whole.
  local i bundle=$(($2 / 8000))
  if [ "$bundle" -eq 0 ] || [ "$bundle" -gt 65536 ]; then bundle=65536; fi
  for ((i = 0; i < $1; i++)); do
    ip netns add "$name$i"
    ip -n "$name$i" link set lo up
  done
  start_wire "$@"
  for ((i = 0; i < $1; i++)); do set_address "$i"; done
}

up() { # hosts rate delay
  local rate delay
  rate=$(bits "$2")
  delay=$(nanoseconds "$3")
  case $1 in *[!0-9]* | '') die "$1: give a number of hosts" ;; esac
  if [ "$1" -lt 2 ] || [ "$1" -gt 100 ]; then die "2 to 100 hosts"; fi
  [ ! -e "$folder" ] || die "hosts called $name exist already: run down first"
  mkdir "$folder"
  echo "$1" >"$folder/count"
  trap down EXIT
  make_hosts "$1" "$rate" "$delay"
  trap - EXIT
  echo "$1 hosts: $rate bit/s, $delay ns"
}

run() { # ranks command...
  local ranks=$1 places='' each n i
  shift
  [ "${1:-}" != -- ] || shift
  n=$(count)
  each=$(((ranks + n - 1) / n))
  for ((i = 0; i < n && i * each < ranks; i++)); do places+=${places:+,}$name$i:$each; done
  # No binding: on each host the first rank would be bound to the same core. Yield: each rank thinks
  # that the machine's cores are its own. Shared memory is used between ranks of one hostname.
  # shellcheck disable=SC2086
  enter "${name}0" ${LAB_BEFORE:-} mpirun --allow-run-as-root -np "$ranks" --host "$places" --oversubscribe \
    --map-by slot --bind-to none \
    --mca plm rsh --mca plm_rsh_agent "$self agent" --mca plm_rsh_no_tree_spawn 1 \
    --mca oob_tcp_if_include "$subnet.0/24" ${LAB_INTERFACES---mca btl_tcp_if_include $subnet.0/24} \
    --mca pml ob1 --mca btl self,vader,tcp --mca mpi_yield_when_idle 1 ${LAB_MPIRUN:-} "$@"
}

stop_wire() {
  local pid i
  [ -s "$folder/wire.pid" ] || return 0
  pid=$(cat "$folder/wire.pid")
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = wire ] || return 0
  kill "$pid"
  for ((i = 0; i < 100; i++)); do
    [ -e "/proc/$pid" ] || break
    sleep 0.05
  done
  cat "$folder/wire.err"
}

down() {
  local i n
  [ -e "$folder/count" ] || return 0
  n=$(count)
  stop_wire
  for ((i = 0; i < n; i++)); do
    # What still runs there would keep the namespace.
    ip netns pids "$name$i" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del "$name$i" 2>/dev/null || true
  done
  rm -r "$folder"
}

case ${1:-} in
  up) [ $# = 4 ] || die "up N RATE DELAY"; up "$2" "$3" "$4" ;;
  run) [ $# -ge 3 ] || die "run P -- COMMAND..."; shift; run "$@" ;;
  exec)
    [ $# -ge 3 ] || die "exec I -- COMMAND..."
    host=$name$2
    shift 2
    [ "$1" != -- ] || shift
    enter "$host" "$@" ;;
  agent) # as mpirun calls ssh: host, command line
    host=$2
    shift 2
    enter "$host" sh -c "$*" ;;
  down) down ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
