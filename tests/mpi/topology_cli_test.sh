#!/bin/sh
# cohom-info --topology as a user meets it, alone and under mpirun.
#
# usage: topology_cli_test.sh COHOM_INFO MPIRUN...
#   MPIRUN...  launcher with its flags, up to where the number of ranks stands, e.g. mpirun -n
set -u

if [ $# -lt 2 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
program=$1
checks=$(dirname "$0")/cli_checks.sh
machine=$(dirname "$0")/../files/two_packages.xml
shift
launcher=$*
# shellcheck source=tests/mpi/cli_checks.sh
. "$checks"

# shows TEXT: a line of the output that is this.
shows() { grep -qxF -e "$1" out || fail "no line: $1"; }

"$program" --topology >out 2>err || fail "cohom-info --topology alone"
grep -q '^machine, by ' out || fail "no machine"
grep -q '^  this process may run on core' out || fail "no cores"
grep -q ' on 1 node' out && fail "one rank has no others to be drawn with"

expect 0 --topology
shows '3 ranks on 1 node; switches are not known'
shows '  node 0: ranks 0-2'
grep -q '^    rank 2: cores\{0,1\} [0-9]' out || fail "no cores of rank 2"
[ "$(grep -c '^machine' out)" -eq 1 ] || fail "not one machine"

COHOM_TOPOLOGY=nodes=2,1:switches=2x1:order=cyclic
export COHOM_TOPOLOGY
expect 0 --topology
shows '3 ranks on 2 nodes'
shows '  node 0, switch 0: ranks 0,2'
shows '  node 1, switch 1: rank 1'

COHOM_TOPOLOGY=nodes=2x2
expect_refusal 'COHOM_TOPOLOGY=nodes=2x2: its nodes have 4 ranks, and this job has 3' --topology
unset COHOM_TOPOLOGY

# A machine that hwloc is told of.
if "$program" --topology | grep -q '^machine, by hwloc'; then
  HWLOC_XMLFILE=$machine "$program" --topology >out 2>err || fail "another machine"
  sed -n '/^  package 0/,/^  this/p' out | sed '$d' >packages
  cat >wanted <<'TEXT'
  package 0: cores 0-1
    NUMA domain 0: 1 GiB, cores 0-1
  package 1: cores 2-3
    NUMA domain 1: 1 GiB, cores 2-3
TEXT
  cmp -s wanted packages || fail "the packages should be: $(cat wanted)"
  for device in 'ib0, mlx5_0 (0000:17:00.0)' 'eth0 (0000:97:00.0)' '0000:18:00.0' 'card1'; do
    grep -qF "    $device" out || fail "no device $device"
  done
fi

finish
