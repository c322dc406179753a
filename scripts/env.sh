# shellcheck shell=sh
# Settings for Open MPI on one machine, with root and with more ranks than cores. Source it:
#     . scripts/env.sh
# Whatever you have set yourself, in the environment or in ~/.openmpi/mca-params.conf, stays.

# _cohom_mca <parameter> <value>
_cohom_mca() {
  if grep -qs "^[[:space:]]*$1[[:space:]]*=" "${HOME:-}/.openmpi/mca-params.conf"; then
    return 0
  fi
  eval "export OMPI_MCA_$1=\"\${OMPI_MCA_$1:-$2}\""
}

# mpirun refuses to start as root unless told twice. In a container one often is.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT:-1}"
  export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
fi

# Without it mpirun refuses more ranks than cores.
_cohom_mca rmaps_base_oversubscribe 1

# A rank that waits gives its core to one that works. Otherwise, with more ranks than cores, it spins
# until its time slice ends, and the smallest message takes milliseconds.
_cohom_mca mpi_yield_when_idle 1

# By default two ranks are bound to one core each, which their threads would then share; with other
# jobs on the machine the scheduler places ranks better than a fixed binding does.
_cohom_mca hwloc_base_binding_policy none

# Ranks read large messages from each other's memory (CMA). Containers often forbid that: a system
# call filter is active and tracing is not allowed. Then every read would fail with a message, so
# large messages are copied through shared memory.
_cohom_filter=$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status 2>/dev/null)
_cohom_capabilities=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status 2>/dev/null)
if [ "${_cohom_filter:-0}" -eq 2 ] && [ $((0x${_cohom_capabilities:-0} >> 19 & 1)) -eq 0 ]; then
  _cohom_mca btl_vader_single_copy_mechanism none
fi

unset _cohom_filter _cohom_capabilities
unset -f _cohom_mca
