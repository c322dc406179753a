#!/bin/sh
# What scripts/env.sh sets for Open MPI 4 and for PRRTE of Open MPI 5, and what it leaves alone.
#
# usage: env_test.sh ENV_SH
set -eu

script=$1
home=$(mktemp -d)
trap 'rm -r "$home"' EXIT
failures=0

# value_of VARIABLE [SETTING...]: after the script was sourced with these variables alone.
value_of() {
  variable=$1
  shift
  # shellcheck disable=SC2016
  env -i PATH="$PATH" HOME="$home" "$@" sh -eu -c '. "$1"; eval "printf %s \"\${$2:-}\""' sh \
    "$script" "$variable"
}

# expect VALUE VARIABLE [SETTING...]
expect() {
  expected=$1
  shift
  found=$(value_of "$@")
  if [ "$found" != "$expected" ]; then
    echo "$*: '$found' instead of '$expected'" >&2
    failures=$((failures + 1))
  fi
}

expect 1 OMPI_MCA_rmaps_base_oversubscribe
if [ ! -e /sys/class/infiniband ] && [ ! -e /sys/class/cxi ]; then
  expect ^ofi OMPI_MCA_btl
  expect ^ofi,psm,psm2 OMPI_MCA_mtl
else
  expect '' OMPI_MCA_btl
  expect '' OMPI_MCA_mtl
fi
expect self,tcp OMPI_MCA_btl OMPI_MCA_btl=self,tcp
expect :oversubscribe PRTE_MCA_rmaps_default_mapping_policy
expect none OMPI_MCA_hwloc_base_binding_policy
expect none PRTE_MCA_hwloc_default_binding_policy
expect slot PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_rmaps_default_mapping_policy=slot
expect 0 OMPI_MCA_mpi_yield_when_idle OMPI_MCA_mpi_yield_when_idle=0
mkdir "$home/.prte" "$home/.openmpi"
echo 'rmaps_default_mapping_policy = node' >"$home/.prte/mca-params.conf"
echo 'mpi_yield_when_idle = 0' >"$home/.openmpi/mca-params.conf"
expect '' PRTE_MCA_rmaps_default_mapping_policy
expect '' OMPI_MCA_mpi_yield_when_idle
expect 1 OMPI_MCA_rmaps_base_oversubscribe
root=$([ "$(id -u)" -ne 0 ] || echo 1)
expect "$root" OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
expect "$root" PRTE_ALLOW_RUN_AS_ROOT_CONFIRM

[ "$failures" -eq 0 ]
