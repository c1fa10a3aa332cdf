#!/usr/bin/env bash
# What Open MPI needs on a laptop, a login node or in a container. Does not change values that are set.
#
#   . jobs/env.sh                            once in a shell, for every mpirun after it
#   jobs/env.sh mpirun -n 4 rueda train      for this command alone

if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT:-1}"
  export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
fi

# More ranks than cores: allowed, also by Open MPI 5. Open MPI then lets a waiting rank leave its core to the others. With
# a core for each rank it does not, and should not: beside another program each message would cost a time slice.
export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe:-1}"
export PRTE_MCA_rmaps_default_mapping_policy="${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}"

# No warning about network hardware that is not there.
export OMPI_MCA_btl_base_warn_component_unused="${OMPI_MCA_btl_base_warn_component_unused:-0}"

# A container without CAP_SYS_PTRACE (bit 19) may forbid reading another process's memory; Open MPI
# then reports an error for every large message before it falls back.
rueda_in_container() { [ -e /.dockerenv ] || [ -e /run/.containerenv ]; }
rueda_may_trace() {
  local capabilities
  capabilities=$(awk '/^CapEff:/ { print $2 }' /proc/self/status 2>/dev/null)
  [ -n "$capabilities" ] && (((16#$capabilities >> 19) & 1))
}
if rueda_in_container && ! rueda_may_trace; then
  : "${OMPI_MCA_btl_vader_single_copy_mechanism:=none}"
  export OMPI_MCA_btl_vader_single_copy_mechanism
fi
unset -f rueda_in_container rueda_may_trace

if ! (return 0 2>/dev/null); then # not sourced
  if [ $# -eq 0 ]; then
    echo "env.sh: source it, as in  . $0  or give a command, as in  $0 mpirun -n 4 rueda train" >&2
    exit 2
  fi
  exec "$@"
fi
