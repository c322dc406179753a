#!/bin/sh
# cohom-tune as a user meets it, and what programs make of its file.
#
# usage: tune_cli_test.sh COHOM_TUNE COHOM_BENCH MPIRUN...
#   MPIRUN...  launcher with its flags, up to where the number of ranks stands, e.g. mpirun -n
set -u

if [ $# -lt 3 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
tune=$1
bench=$2
checks=$(dirname "$0")/cli_checks.sh
shift 2
launcher=$*
program=$tune
# shellcheck source=tests/mpi/cli_checks.sh
. "$checks"

# native_calls: what the file json says, a row a line.
native_calls() { sed -n 's/^.*"native_calls": \([0-9]*\).*$/\1/p' json; }

expect 0 --codec thc --codec raw --size 512K:1M --calls 20 decisions
ways='(native|own|recursive_halving)'
[ "$(grep -cE "^3 (thc|raw) f32 (524288|786432|1048576) $ways\$" decisions)" -eq 6 ] ||
  fail "six decisions of three ranks: $(cat decisions)"
[ "$(grep -cE '^(thc|raw) ' out)" -eq 6 ] || fail "six lines"
cp decisions before
expect 0 --codec signcount --size 64,512K decisions
grep -qxF 'signcount does not race, and has no line, for bytes: 64' out || fail "what does not race"
grep -v -xF -f decisions before >gone && fail "what the file had is gone: $(cat gone)"
for collective in reduce_scatter reduce; do
  expect 0 --collective $collective --codec thc --size 512K --calls 20 decisions
  [ "$(grep -cE "^3 thc f32 524288 (native|own) $collective\$" decisions)" -eq 1 ] ||
    fail "a decision on $collective: $(cat decisions)"
done
grep -v -xF -f decisions before >gone && fail "what the file had of others is gone: $(cat gone)"

# A program goes as the file says, from its first call on, and does not race.
program=$bench
sed -i -E "s/^3 thc f32 524288 $ways\$/3 thc f32 524288 native/
  s/^3 raw f32 524288 $ways\$/3 raw f32 524288 own/
  s/^3 thc f32 524288 $ways reduce\$/3 thc f32 524288 own reduce/" decisions
echo '3 signcount f32 524288 recursive_doubling' >>decisions
COHOM_DECISIONS=decisions
export COHOM_DECISIONS
expect 0 --native auto --codec thc --codec raw --codec packed --size 512K --iterations 30 \
  --warmup 0 --quiet --json json
[ "$(native_calls | tr '\n' ' ')" = "30 0 0 " ] || fail "native calls: $(native_calls)"
expect 0 --native auto --codec signcount --size 512K --iterations 3 --quiet
grep -q ' timed by recursive_doubling' out || fail "the algorithm that the file names"
expect 0 --native auto --collective reduce --codec thc --size 512K --iterations 30 --warmup 0 \
  --quiet --json json
[ "$(native_calls | tr '\n' ' ')" = "0 " ] || fail "native calls of reduce: $(native_calls)"

# Before a call, who is to write a file finds out whether that can be done.
COHOM_DECISIONS=write:nowhere/decided
expect_refusal 'no file can be made in folder nowhere: No such file or directory' \
  --native auto --codec thc --size 512K --quiet
COHOM_DECISIONS=write:
expect_refusal 'COHOM_DECISIONS=write: names no file' --native auto --codec thc --size 512K --quiet
echo 'no decisions' >text
COHOM_DECISIONS=write:text
expect_refusal 'decisions in text: its first line should be' --native auto --codec thc \
  --size 512K --quiet

# What is decided in one run goes into the file.
COHOM_DECISIONS=write:decided
COHOM_LOG=info
export COHOM_LOG
expect 0 --native auto --codec thc --size 512K --iterations 30 --quiet
unset COHOM_LOG
grep -qE "^3 thc f32 524288 $ways\$" decided || fail "nothing is decided: $(cat decided)"
# The log says when and why, and in the end how often and what for.
time='[0-9.e+-]+ m?s'
way="(native|thc by [a-z_]+)"
kind='thc, f32, about 524288 bytes'
grep -qE "$kind: after [0-9]+ calls $way, $time \($way: $time" err || fail "no decision in the log"
ends="; in the end $way, $time \(.*\); (saved|lost) about $time beside native alone"
grep -qE "$kind: [0-9]+ calls? by native, [0-9]+ by thc by .*$ends" err || fail "no summary"
grep -qE '[0-9]+ calls, .* made plans: [0-9]+ by native, [0-9]+ raw in place of a codec' err ||
  fail "no counts of all calls"

echo '3 thc f32 524288 neither' >>decisions
COHOM_DECISIONS=decisions
expect_refusal 'decisions in decisions: line ' --native auto --codec thc --size 512K --quiet
COHOM_DECISIONS=none
expect_refusal 'decisions in none: there is no such file' --native auto --codec thc --size 512K
unset COHOM_DECISIONS

program=$tune
expect_refusal 'FILE is required'
expect_refusal "--dtype 'f16' should be f32 or f64" --dtype f16 f
expect_refusal "codec \"thcc\" is unknown" --codec thcc f
expect_refusal "no call could go by MPI's own reduction" --codec exact --size 512K f
expect_refusal "--collective 'gather' should be allreduce, reduce_scatter, reduce or allgather" \
  --collective gather f
expect_refusal 'no file can be made in folder none: No such file' --size 512K none/f
mkfifo fifo
expect_refusal 'decisions in fifo: it is no regular file' --size 512K fifo
expect_refusal 'its first line should be' --size 512K json

finish
