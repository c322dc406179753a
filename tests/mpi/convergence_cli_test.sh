#!/bin/sh
# cohom-convergence as a user meets it: what it refuses; broken bounds end it with status 1.
#
# usage: convergence_cli_test.sh COHOM_CONVERGENCE MPIRUN...
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

printf 'hello' >no_digits.u8
printf '%065d' 0 >one_image.u8
printf '%0195d' 0 >wrong_classes.u8

expect_refusal '--codec is required'
expect_refusal 'did you mean thc' --codec raw --codec thk
expect_refusal 'did you mean ring' --codec raw --algorithm rng
expect_refusal '-3 is not a whole number' --codec raw --steps -3
expect_refusal '0 is not 1 or more' --codec raw --every 0
expect_refusal '--rate nan should be' --codec raw --rate nan
expect_refusal "--require 'raw<=nan' should be" --codec raw --require 'raw<=nan'
expect_refusal 'add --codec raw' --codec thc --require 'thc<=2'
expect_refusal 'nowhere: cannot be read' --codec raw --problem digits --data nowhere
expect_refusal 'not a multiple of 65' --codec raw --problem digits --data no_digits.u8
expect_refusal '1 images for 3 ranks' --codec raw --problem digits --data one_image.u8
expect_refusal 'image 0 is of class 48' --codec raw --problem digits --data wrong_classes.u8
expect_refusal 'nowhere/out.json: cannot be written' --codec raw --json nowhere/out.json

# Hardly trained, one sign of three ranks is worse than the mean, and raw is as good as itself.
flags="--codec raw --codec marsit:period=none --steps 40"
# shellcheck disable=SC2086
expect 0 $flags --require 'raw<=1' --require 'marsit:period=none<=2' --json report.json
[ "$(grep -c ': holds$' out)" -eq 2 ] || fail "not two bounds that hold"
grep -q '"losses"' report.json || fail "no curves in the report"
# shellcheck disable=SC2086
expect 1 $flags --require 'raw<=1' --require 'marsit:period=none<=1.01'
[ "$(grep -c ': BROKEN$' out)" -eq 1 ] || fail "not one broken bound"
# What diverges ends at infinity or at no number, and keeps no bound.
expect 1 --codec raw --steps 400 --rate 1e6 --require 'raw<=1'

finish
