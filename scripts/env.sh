# shellcheck shell=sh
# Settings for Open MPI 4 and 5 on one machine, with root and with more ranks than cores. Source it:
#     . scripts/env.sh
# Whatever you have set yourself, in the environment, in ~/.openmpi/mca-params.conf or in
# ~/.prte/mca-params.conf, stays. Open MPI 5 starts its ranks by PRRTE, which has variables of its
# own.

# _cohom_set <OMPI|PRTE> <parameter> <value> <file of the user's parameters>
_cohom_set() {
  if grep -qs "^[[:space:]]*$2[[:space:]]*=" "$4"; then
    return 0
  fi
  eval "export $1_MCA_$2=\"\${$1_MCA_$2:-$3}\""
}
_cohom_mca() { _cohom_set OMPI "$1" "$2" "${HOME:-}/.openmpi/mca-params.conf"; }
_cohom_prte() { _cohom_set PRTE "$1" "$2" "${HOME:-}/.prte/mca-params.conf"; }

# mpirun and prterun refuse to start as root unless told twice. In a container one often is.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT:-1}"
  export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
  export PRTE_ALLOW_RUN_AS_ROOT="${PRTE_ALLOW_RUN_AS_ROOT:-1}"
  export PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="${PRTE_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
fi

# Without it mpirun refuses more ranks than cores.
_cohom_mca rmaps_base_oversubscribe 1
_cohom_prte rmaps_default_mapping_policy :oversubscribe

# A rank that waits gives its core to one that works. Otherwise, with more ranks than cores, it
# spins until its time slice ends, and the smallest message takes milliseconds.
_cohom_mca mpi_yield_when_idle 1

# By default two ranks are bound to one core each, which their threads would then share; with other
# jobs on the machine the scheduler places ranks better than a fixed binding does.
_cohom_mca hwloc_base_binding_policy none
_cohom_prte hwloc_default_binding_policy none

# Without an adapter of a cluster there is nothing to find behind libfabric. Open MPI would load it,
# and with it a library that sleeps for 0.2 s in each process (libinfinipath of Debian 12).
if [ ! -e /sys/class/infiniband ] && [ ! -e /sys/class/cxi ]; then
  _cohom_mca mtl ^ofi,psm,psm2
  _cohom_mca btl ^ofi
fi

# Ranks read large messages from each other's memory (CMA). Containers often forbid that: a system
# call filter is active and tracing is not allowed. Then every read would fail with a message, so
# large messages are copied through shared memory. Open MPI 4 calls that btl vader, 5 has it in
# smsc.
_cohom_filter=$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status 2>/dev/null)
_cohom_capabilities=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status 2>/dev/null)
if [ "${_cohom_filter:-0}" -eq 2 ] && [ $((0x${_cohom_capabilities:-0} >> 19 & 1)) -eq 0 ]; then
  _cohom_mca btl_vader_single_copy_mechanism none
  _cohom_mca smsc ^cma
fi

unset _cohom_filter _cohom_capabilities
unset -f _cohom_mca _cohom_prte _cohom_set
