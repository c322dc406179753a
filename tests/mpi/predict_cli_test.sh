#!/bin/sh
# cohom-info --predict as a user meets it, under mpirun and without.
#
# usage: predict_cli_test.sh COHOM_INFO MPIRUN...
#   MPIRUN...  launcher with its flags, up to where the number of ranks stands, e.g. mpirun -n
set -u

if [ $# -lt 2 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
program=$1
checks=$(dirname "$0")/cli_checks.sh
shift
launcher=$*
# shellcheck source=tests/mpi/cli_checks.sh
. "$checks"

expect 0 --predict 512K --codec thc
grep -q '^3 ranks, 3 a node; measured: .*inside a node.*hardware thread' out || fail "no measures"
grep -q 'between nodes' out && fail "there is one node"
[ "$(grep -c '^native' out)" -eq 1 ] || fail "not one row of native"
grep -q '^thc .*direct (auto) .* [mu]s ' out || fail "no row of what auto takes"

# Two nodes, as far as the ranks know.
COHOM_TOPOLOGY=nodes=2,1
export COHOM_TOPOLOGY
expect 0 --predict 256K,64 --codec raw
grep -q '^64 ranks, 2 a node; measured: .*inside a node.*between nodes .*Gbit/s' out ||
  fail "no measures between nodes"
unset COHOM_TOPOLOGY

expect 2 --predict 16Q
grep -qF "cohom-info: --predict '16Q' should be" err || fail "16Q"
expect 2 --network eth10
expect 2 --predict 1M --json

"$program" --predict 1M,16 --network eth1 >out 2>err || fail "a network that has a name"
grep -q '^16 ranks; eth1: 1 Gbit/s' out || fail "not that network"
"$program" --predict 1M >out 2>err && fail "one rank has no network"
grep -q 'run it under mpirun, or name a network' err || fail "what to do"

finish
