#!/usr/bin/env bash
# Starts a small Slurm of three nodes on this machine and does to its jobs what a busy cluster does: kills a rank,
# kills a node, warns a job while the doctor runs, sends back one element of an array, studies in a shell of srun,
# starts a step without PMIx. Needs root, which installs what is missing (Debian, Ubuntu), and a build (jobs/setup.sh).
#
#   jobs/check/slurm.sh [CASE...]     such as FaultsTest.test_a_dead_node_is_left_out
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
case ${1:-} in
  -h | --help)
    sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"
    exit ;;
esac
if [ "$(id -u)" -ne 0 ]; then
  echo "slurm.sh: starting the daemons of Slurm needs root" >&2
  exit 2
fi
missing=no
for program in slurmctld slurmd munged srun; do command -v "$program" >/dev/null || missing=yes; done
if [ "$missing" = yes ]; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge
fi
export RUEDA_TEST_LONG=1
exec python3 -EB "$root/tests/cli/slurm_faults_test.py" "$root/build/rueda" "${@:-FaultsTest}"
