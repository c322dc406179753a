#!/bin/sh
# cohom-reproducible as a user meets it: what it refuses, whose bits depend on the deal, and what
# `compare` makes of several runs.
#
# usage: reproducible_cli_test.sh COHOM_REPRODUCIBLE BENCHMARKS MPIRUN...
#   BENCHMARKS  the folder of that name
#   MPIRUN...   launcher with its flags, up to where the number of ranks stands, e.g. mpirun -n
# Needs Debian's python3-numpy.
set -u

if [ $# -lt 3 ]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
program=$1
benchmarks=$2
checks=$(dirname "$0")/cli_checks.sh
shift 2
launcher=$*
# shellcheck source=tests/mpi/cli_checks.sh
. "$checks"

expect_refusal "--method 'kahn' should be one of plain, kahan" --method plain,kahn
expect_refusal "--method 'plain,' has an empty item" --method plain,
expect_refusal "--dtype 'bf16' should be f32 or f64" --dtype bf16
expect_refusal "--size '8K,16K' should be one size" --size 8K,16K
expect_refusal "--size '128M' should be one size of at most 64M" --size 128M
expect_refusal 'no whole number of f64 elements' --size 12 --type f64
expect_refusal '0 is not 1 or more' --vectors 0
expect_refusal '--vectors 65537 should be at most 65536' --vectors 65537
expect_refusal '-1 is not a whole number' --deal -1
expect_refusal 'unknown input' --input gauss2
expect_refusal 'inf as f32; all should be finite' --input wide:600
expect_refusal 'method binned adds numbers below' --dtype f64 --input wide:2000 --size 8K
expect_refusal 'nowhere/out.json: cannot be written' --json nowhere/out.json
expect_refusal '--results nowhere/plain.npy: cannot be written' --results nowhere

data=$benchmarks/data/digits_step100.npy
flags="--size 64K --vectors 20 --check-only"
mkdir blocks
# shellcheck disable=SC2086
expect 0 $flags --input "$data" --json blocks.json --results blocks
for deal in 1 2; do
  # shellcheck disable=SC2086
  expect 0 $flags --input "$data" --deal $deal --json deal$deal.json
done
# More ranks than vectors, so that some have none; a range that takes several integers.
expect 0 --size 4K --vectors 2 --input wide:1000 --dtype f64 --method plain,kahan,reprosum \
  --iterations 2 --json wide.json
expect 0 --size 8 --vectors 7 --dtype f64 --check-only --json one.json
timeout 120 "$benchmarks/reproducible/compare" --program "$program" --ranks 1,3 --deals 1 \
  --size 16K --vectors 24 --input "$data" --iterations 2 --json compared.json >out 2>err ||
  fail "compare"
[ "$(grep -c '^| ' out)" -eq 7 ] || fail "compare: not a head and six methods"
"$benchmarks/reproducible/compare" --program "$program" --ranks 1 --method none >out 2>err &&
  fail "compare: exit status 0 for an unknown method"
grep -q "^compare: .*--method 'none'" err || fail "compare: what the program said is not first"
grep -q "^The command was: .*mpirun" err || fail "compare: the message has no command"
grep -q "should be one of plain" err || fail "compare: the message does not say why"

/usr/bin/python3 - <<'PYTHON' || fail "the reports are not as they should be"
import json

import numpy


def load(name):
    with open(name, encoding="utf-8") as stream:
        document = json.load(stream)
    return document, {row["method"]: row for row in document["results"]}


METHODS = ["plain", "kahan", "double-double", "reprosum", "binned", "exact"]
runs = [load(f"{name}.json") for name in ("blocks", "deal1", "deal2")]
assert [document["deal"] for document, _ in runs] == [None, 1, 2]
for document, results in runs:
    assert document["schema"] == "cohom-reproducible/1" and document["ranks"] == 3
    assert list(results) == METHODS and sum(document["dealt"]) == document["vectors"] == 20
    for row in results.values():
        assert row["identical_across_ranks"] is True and row["time_s"] is None, row
        assert (row["correctly_rounded"] == 1) == (row["max_ulp"] == 0), row
    # 20 vectors of floats fit doubles' 53 bits, but for those far below the largest: nearly all.
    assert results["reprosum"]["correctly_rounded"] > 0.9999, results
    assert results["exact"]["correctly_rounded"] == 1, results
    assert results["plain"]["correctly_rounded"] < results["kahan"]["correctly_rounded"] < 1
    assert results["kahan"]["correctly_rounded"] < results["binned"]["correctly_rounded"], results
hashes = {method: {results[method]["result_hash"] for _, results in runs} for method in METHODS}
for method, found in hashes.items():
    assert len(found) == (1 if method in ("reprosum", "binned", "exact") else 3) or \
        method == "double-double", hashes
raw = 65536
assert [row["collective_bytes"] / raw for row in runs[0][1].values()
        if row["method"] not in ("reprosum", "exact")] == [1, 1, 2, 6]
assert (runs[0][1]["reprosum"]["collective_bytes"] - 8) % (2 * raw) == 0
sums = {method: numpy.load(f"blocks/{method}.npy") for method in METHODS}
assert all(found.dtype == numpy.float32 and found.size == 16384 for found in sums.values())
assert numpy.allclose(sums["plain"], sums["reprosum"], rtol=1e-3, atol=1e-6)

wide, results = load("wide.json")
assert wide["dealt"] == [0, 1, 1], wide
# Two numbers: one addition, which rounds once.
for method in "plain", "kahan", "reprosum":
    assert results[method]["correctly_rounded"] == 1, results
    assert results[method]["time_s"]["median"] > 0, results
assert results["reprosum"]["collective_bytes"] >= 8 + 10 * 4096, results
assert load("one.json")[0]["elements"] == 1

compared, results = load("compared.json")
assert compared["ranks"] == [1, 3] and list(results) == METHODS
for method in "reprosum", "binned":
    for change in "by_ranks", "by_deal":
        assert results[method][change] == {"elements": 0, "max_ulp": 0}, results[method]
    assert len(results[method]["hashes"]) == 1
assert results["plain"]["by_ranks"]["elements"] > 1000, results["plain"]
assert results["plain"]["by_deal"]["max_ulp"] >= 1, results["plain"]
assert list(results["plain"]["time_s"]) == ["1", "3"] and results["plain"]["time_s"]["3"] > 0
PYTHON

finish
