#!/bin/sh
# The commands as a user meets them: what cohom-bench refuses and how, and what it writes.
#
# usage: bench_cli_test.sh COHOM_BENCH COHOM_INFO EMULATED MPIRUN...
#   EMULATED   an emulated device, as COHOM_CUDA_LIBRARY takes it
#   MPIRUN...  launcher with its flags, up to where the number of ranks stands, e.g. mpirun -n
# Needs Debian's python3-numpy to make an input; python3's standard library looks into the JSON.
set -u

if [ $# -lt 4 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
program=$1
info=$2
emulated=$3
checks=$(dirname "$0")/cli_checks.sh
never_slower=$(realpath "$(dirname "$0")/../../benchmarks/never_slower")
shift 3
launcher=$*
# shellcheck source=tests/mpi/cli_checks.sh
. "$checks"

printf 'hello' >text.npy
printf '\223NUMPY\001\000v\000' >truncated.npy
printf 'PK\003\004' >truncated.npz

refuses '--bogus' --bogus
expect_refusal 'transport "ufx" is unknown; did you mean ucx; transports: mpi, ucx' --transport ufx
refuses 'unknown suffix' --size 64Q
refuses "should be allreduce, reduce_scatter, reduce or allgather" --collective scatter
expect_refusal 'should be a multiple of the 3 ranks' --collective reduce_scatter --size 64K
expect_refusal 'should be a multiple of the 3 ranks' --collective allgather --size 64K
refuses 'no whole number of f64 elements' --size 1000012 --dtype f64
refuses '--dtype' --dtype f8
refuses '--check-only does no timing' --check-only --iterations 3
refuses 'so --profile has no meaning' --check-only --profile
refuses 'so --native-apart has no meaning' --check-only --native-apart
refuses 'did you mean thc' --codec thk
expect_refusal 'give it, as auto:nmse=1e-3 does' --codec auto
refuses 'bitz' --codec thc:bitz=4
refuses 'bits=99' --codec raw --codec thc:bits=99
refuses 'lane' --codec thc:lane=4
expect_refusal 'did you mean ring' --algorithm direct,rng
refuses "--algorithm 'ring,,direct' has an empty item" --algorithm ring,,direct
refuses "--size '64K,' has an empty item" --size 64K,
refuses 'fabric cannot merge' --codec raw --dtype f16 --algorithm fabric
refuses 'unknown input' --input gauss2
refuses 'density' --input sparse:2
expect_refusal 'missing.npy: cannot be opened' --input missing.npy
refuses 'text.npy: is no .npy file' --input text.npy
refuses 'truncated.npy: truncated' --input gauss --input truncated.npy
refuses 'truncated.npz: truncated or damaged' --input truncated.npz
expect_refusal 'nowhere/out.json: cannot be written' --json nowhere/out.json
refuses "--json: '' should be the path of a file" --json ''

COHOM_CODEK=raw
export COHOM_CODEK
expect 0 --codec raw --algorithm ring --size 8K --check-only
[ "$(grep -c 'COHOM_CODEK; did you mean COHOM_CODEC$' err)" -eq 1 ] ||
  fail "not one warning of a misspelt variable"
"$info" >out 2>err || fail "cohom-info"
grep -q 'COHOM_CODEK; did you mean COHOM_CODEC$' err || fail "cohom-info: no warning"
unset COHOM_CODEK

# Defaults are what the variables say; a full disk is an error.
COHOM_CODEC=thc COHOM_ALGORITHM=tree
export COHOM_CODEC COHOM_ALGORITHM
expect 0 --size 8K --check-only
grep -q '^ *8K *thc *tree ' out || fail "COHOM_CODEC and COHOM_ALGORITHM are not taken"
grep -q '^ *8K *raw ' out && fail "not COHOM_CODEC alone"
unset COHOM_CODEC COHOM_ALGORITHM
for full in '--size 8K --check-only' --help; do
  # The launcher hands on what a rank prints; one process needs none.
  # shellcheck disable=SC2086
  "$program" $full >/dev/full 2>err && fail "$full to a full disk: exit status 0"
  grep -q 'standard output: cannot be written: No space left on device' err ||
    fail "$full to a full disk: no message"
done

export COHOM_BENCH_COUNTERS=false
expect_refusal 'COHOM_BENCH_COUNTERS: "false" failed' --size 8K
export COHOM_BENCH_COUNTERS='echo no'
expect_refusal 'should print a JSON object' --size 8K
echo '{"drops": 0.5}' >fraction.json
export COHOM_BENCH_COUNTERS='cat fraction.json'
expect_refusal 'no whole number for drops' --size 8K
# Each time with another name; reads for the head of the table, before and after a row.
cat >renamed.sh <<'SCRIPT'
echo >>renamings
echo "{\"drops$(wc -l <renamings)\": 0}"
SCRIPT
export COHOM_BENCH_COUNTERS='sh renamed.sh'
expect 2 --codec raw --algorithm ring --size 8K --iterations 1
grep -q 'should print the same counters each time, not drops2 and then drops3' err ||
  fail "counters with other names are not refused"
grep -q MPI_ABORT err && fail "counters with other names: ended by MPI_Abort"
# Counts how often it was asked.
cat >count.sh <<'SCRIPT'
echo >>asked
echo "{\"drops\": $(wc -l <asked), \"lost\": 7}"
SCRIPT
export COHOM_BENCH_COUNTERS='sh count.sh'
expect 0 --codec raw --codec thc --algorithm direct --size 100012 --iterations 3 --profile \
  --json counted.json
unset COHOM_BENCH_COUNTERS
expect 0 --help
grep -q -e --check-only out || fail "--help does not list the flags"

flags="--codec raw --codec thc --algorithm ring,direct,tree,recursive_doubling,fabric
       --size 8K,100012 --input gauss --input smooth --seed 3 --quiet"
# shellcheck disable=SC2086
expect 0 $flags --iterations 2 --warmup 1 --json timed.json
# shellcheck disable=SC2086
expect 0 $flags --check-only --json checked.json
expect 0 --codec raw --codec thc --algorithm ring,direct --size 8K,16K --iterations 3 \
  --native-apart --json apart.json
# shellcheck disable=SC2086
"$never_slower" --native-apart --codec raw --size 4K,64K --runs 2 --iterations 2 \
  --bench "$program" -- $launcher 2 >out 2>err || fail "never_slower"
[ "$(grep -c '^| 64K | [0-9.]* | [0-9.]* to [0-9.]* |$' out)" -eq 2 ] ||
  fail "never_slower prints no tables"
expect 0 --codec thc:error_feedback=on --codec thc --algorithm ring,direct --size 100012 \
  --steps 10 --check-only --json steps.json
expect 0 --codec thc --dtype bf16 --op mean --size 100012 --in-place --nonblocking \
  --iterations 2 --json variants.json
expect 0 --codec thc --algorithm fabric --dtype bf16 --size 64K --check-only
expect 0 --codec signcount --codec signcount:vote=majority --codec marsit --algorithm ring,direct \
  --size 4M --check-only --json signs.json
for collective in allreduce reduce_scatter reduce allgather; do
  expect 0 --collective "$collective" --codec raw --codec thc --algorithm direct --size 480000 \
    --in-place --iterations 2 --json "$collective.json"
done
expect 0 --codec sparse --algorithm ring,fabric --input sparse:0.05:blocks --size 100012 \
  --check-only
grep -q -e '=raw' out || fail "no column says whether the bits are raw's"
# Of four elements one is wrong in whatever order floats add it: 2^24, 1 and 2^-25.
/usr/bin/python3 - <<'PYTHON' || fail "no file of ties"
import numpy
rows = [[2**24, 1, -0.0, 3e38], [1, 2, -0.0, 3e38], [2**-25, 3, -0.0, 1]]
numpy.save("ties.npy", numpy.tile(numpy.array(rows, numpy.float32), 512))
PYTHON
expect 0 --codec raw --algorithm ring,tree,direct --size 8K --input ties.npy --rounding \
  --check-only --json ties.json
grep -q 'correctly rounded  native rounded' out || fail "--rounding shows no columns"
[ "$(grep -c '0.750000 *0.750000' out)" -eq 3 ] || fail "the columns of --rounding are wrong"
expect 0 --codec raw --algorithm ring --size 8K --input ties.npy --op mean --in-place --rounding \
  --check-only --json means.json
expect 0 --codec raw --algorithm ring --size 8M --input ties.npy --check-only --json sampled.json
expect 0 --codec raw --algorithm ring --size 65M --check-only --json long.json
grep -q 'correctly rounded' out && fail "columns that nobody asked for"
# Latencies: 1, 7 and 256 doubles beside native.
expect 0 --codec raw --algorithm auto --dtype f64 --size 8,56,2K --iterations 50 --json short.json
COHOM_LOG=info
export COHOM_LOG
expect 0 --codec sketch:gamma=0.5 --codec sketch --algorithm ring,fabric --input sparse:0.05 \
  --size 400K --check-only
unset COHOM_LOG
grep -q 'round leftover runs' err || fail "the log does not say what did not peel"
"$info" --json >info.json 2>err || fail "cohom-info --json"
"$info" >out 2>err || fail "cohom-info"
grep -q recursive_doubling out || fail "cohom-info does not list the algorithms"

if grep -q '"ucx": null' info.json; then
  expect_refusal 'this library was built without UCX' --transport ucx
else
  # shellcheck disable=SC2086
  expect 0 $flags --check-only --transport ucx --json ucx.json
fi

expect_refusal "--memory 'video' should be host, pinned or cuda" --memory video
COHOM_CUDA_LIBRARY=/nowhere/libcohom_cuda.so
export COHOM_CUDA_LIBRARY
expect_refusal '/nowhere/libcohom_cuda.so' --memory cuda
# A device that is emulated: the bits of the host's memory.
COHOM_CUDA_LIBRARY=$emulated
for memory in host pinned cuda; do
  expect 0 --codec thc --codec sketch --codec sketch:cells=f32 --algorithm ring --in-place \
    --size 64K --iterations 1 --memory "$memory" --json "in_$memory.json"
done
"$info" >out 2>err || fail "cohom-info with a device"
grep -q 'emulated device 1' out || fail "cohom-info does not list the devices"
grep -q 'no driver: it is emulated' out || fail "cohom-info does not say which driver there is"
grep -qF 'sketch (with cells=i64)' out ||
  fail "cohom-info does not say which form of sketch runs on devices"
unset COHOM_CUDA_LIBRARY

python3 - <<'PYTHON' || fail "the reports are not as they should be"
import collections
import json
import os


def load(name):
    with open(name, encoding="utf-8") as stream:
        return json.load(stream)


def one_hash(rows):
    """Check that all algorithms gave thc the same bits."""
    hashes = collections.defaultdict(set)
    for row in rows:
        if row["codec"] != "raw":
            hashes[row["codec"], row["bytes"], row["input"]].add(row["result_hash"])
    assert hashes and all(len(found) == 1 for found in hashes.values()), hashes


timed, checked = load("timed.json"), load("checked.json")
assert timed["schema"] == "cohom-bench/1" and timed["ranks"] == 3, timed
for key in "host", "git", "version", "mpi", "command", "date":
    assert timed[key], key
assert len(timed["results"]) == len(checked["results"]) == 2 * 5 * 2 * 2
for row in timed["results"]:
    for key in ("bytes codec algorithm transport memory dtype input time_s native_time_s speedup "
                "algbw busbw wire_bytes_per_rank wire_bytes_all_ranks wire_bytes_formula vnmse "
                "max_abs_error identical_across_ranks result_hash extended iterations").split():
        assert key in row, key
    assert row["transport"] == "mpi" and row["memory"] == "host" and row["dtype"] == "f32"
    assert row["identical_across_ranks"] is True, row
    for times in row["time_s"], row["native_time_s"]:
        assert 0 < times["min"] <= times["median"] <= times["p99"], row
    assert row["native_time_s"]["algorithm"] in row["native_time_s"]["candidates"]
    assert row["vnmse"] < (1e-12 if row["codec"] == "raw" else 0.1), row
    assert row["iterations"] == 2
    if row["algorithm"] == "fabric":
        assert row["wire_bytes_per_rank"] is None and row["mpi_bytes"] > 0, row
        assert row["wire_bytes_formula_by_ranks"] == {}, row
    else:
        by_ranks = row["wire_bytes_formula_by_ranks"]
        assert list(by_ranks) == [str(2**k) for k in range(1, 11)], row
        assert by_ranks["2"] < row["wire_bytes_formula"] < by_ranks["1024"], row
        # Ranks also exchange words about errors, which the formula leaves out: some hundred bytes.
        way = row["codec"], row["algorithm"]
        posted = way == ("raw", "recursive_doubling")  # once, on the board
        expected = row["bytes"] if posted else row["wire_bytes_formula"]
        assert 0 <= row["wire_bytes_per_rank"] - expected <= 2048, row
        assert row["mpi_bytes"] is None
    assert "counters" not in row and "profile_s" not in row, row
for name in "pinned", "cuda":
    for here, there in zip(load("in_host.json")["results"], load(f"in_{name}.json")["results"]):
        assert here["result_hash"] == there["result_hash"], there
        assert there["memory"].startswith(name), there
assert [row["path"] for row in load("in_cuda.json")["results"]] == ["staged", "staged", "copied"]
assert [row["runs_on"] for row in load("in_pinned.json")["results"]] == ["host"] * 3
one_hash(timed["results"])
apart = collections.defaultdict(list)
for row in load("apart.json")["results"]:
    apart[row["bytes"]].append(row["native_time_s"])
assert [len(times) for times in apart.values()] == [4, 4], apart
assert all(time == times[0] for times in apart.values() for time in times), apart
for row in load("counted.json")["results"]:
    assert row["counters"] == {"drops": 1, "lost": 0}, row
    phases = "agree encode merge decode wire wait other".split()
    profile = row["profile_s"]
    assert list(profile) == phases + ["processor"], row
    assert all(profile[phase] >= 0 for phase in phases), row
    assert (profile["agree"] > 0) == (row["codec"] == "thc"), row
    # Means over ranks and calls; a call takes as long as its slowest rank.
    assert 0 < sum(profile[phase] for phase in phases) <= row["time_s"]["p99"], row
    assert 0 < profile["processor"] <= row["time_s"]["p99"], row
# Correctness has a run of its own: it cannot depend on what was timed.
assert [row["result_hash"] for row in timed["results"]] == [
    row["result_hash"] for row in checked["results"]]
assert all(row["time_s"] is None for row in checked["results"])

if os.path.exists("ucx.json"):
    ucx = load("ucx.json")["results"]
    assert {row["transport"] for row in ucx} == {"ucx"}, ucx
    # No transport changes a bit, or sends a byte more.
    for key in "result_hash", "wire_bytes_all_ranks":
        assert [row[key] for row in ucx] == [row[key] for row in checked["results"]], key

steps = load("steps.json")["results"]
one_hash(steps)
feedback, plain = steps[0], steps[2]
assert feedback["codec"] != plain["codec"]
assert feedback["vnmse_running_sum"] < plain["vnmse_running_sum"] < plain["vnmse"], steps

for row in load("ties.json")["results"]:
    assert row["correctly_rounded"] == row["native_correctly_rounded"] == 0.75, row
    assert row["rounding_checked"] == 2048, row
(means,) = load("means.json")["results"]
# (3e38 + 3e38 + 1) / 3 does not overflow, raw's sum does.
assert means["correctly_rounded"] <= 0.75 and means["native_correctly_rounded"] is None, means
(sampled,) = load("sampled.json")["results"]
assert sampled["rounding_checked"] == 2**20 and sampled["elements"] == 2**21, sampled
assert abs(sampled["correctly_rounded"] - 0.75) < 0.01, sampled
# Of more than 2^24 elements sums are not kept; of 120,000 they are, in several parts.
for (row, *_) in load("long.json")["results"], load("allreduce.json")["results"]:
    assert row["codec"] == "raw" and row["vnmse"] < 1e-12, row
short = load("short.json")["results"]
assert [row["elements"] for row in short] == [1, 7, 256], short
for row in short:
    assert row["iterations"] == 50 and row["time_s"]["median"] < 0.1, row
    assert 0 < row["native_time_s"]["median"] < 0.1, row

signs = load("signs.json")["results"]
one_hash(signs)
for row in signs:
    assert 1 <= row["wire_bytes_per_rank"] / row["wire_bytes_formula"] < 1.02, row

whole = load("allreduce.json")["results"]
for collective in "reduce_scatter", "reduce":
    for row, all_of_it in zip(load(f"{collective}.json")["results"], whole, strict=True):
        assert row["collective"] == collective and row["native_time_s"]["median"] > 0, row
        assert row["wire_bytes_all_ranks"] < 0.9 * all_of_it["wire_bytes_all_ranks"], row
        assert row["vnmse"] <= max(1e-12, 1.5 * all_of_it["vnmse"]), row
        assert 1 <= row["wire_bytes_per_rank"] / row["wire_bytes_formula"] < 1.02, row

for row, all_of_it in zip(load("allgather.json")["results"], whole, strict=True):
    assert row["collective"] == "allgather" and row["native_time_s"]["median"] > 0, row
    assert row["identical_across_ranks"], row
    assert row["wire_bytes_all_ranks"] < 0.6 * all_of_it["wire_bytes_all_ranks"], row
    assert row["vnmse"] <= max(1e-12, 1.5 * all_of_it["vnmse"]), row

(variant,) = load("variants.json")["results"]
assert variant["dtype"] == "bf16" and variant["op"] == "mean" and variant["in_place"], variant
assert "user op" in variant["native_time_s"]["algorithm"], variant
assert variant["vnmse"] < 0.1, variant

info = load("info.json")
assert {"raw", "thc"} <= {codec["name"] for codec in info["codecs"]}
assert info["isa"]["active"] in info["isa"]["supported"]
names = {transport["name"] for transport in info["transports"]}
assert {"loopback", "mpi"} <= names and ("ucx" in names) == (info["ucx"] is not None), info
if info["ucx"]:
    assert info["ucx"]["version"].count(".") == 2, info["ucx"]
    assert "self" in {resource["transport"] for resource in info["ucx"]["resources"]}, info["ucx"]
PYTHON

# Ctrl-C leaves no rank behind. The ranks are known by a path that nobody else has.
# shellcheck disable=SC2086
$launcher 3 "$program" --codec raw --size 1M --iterations 1000000 --json "$folder/endless.json" \
  >out 2>err &
mpirun_pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  grep -q '^# cohom' out && break
  sleep 0.5
done
kill -INT "$mpirun_pid"
wait "$mpirun_pid"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  pgrep -f "$folder/endless.json" >/dev/null || break
  sleep 0.5
done
pgrep -f "$folder/endless.json" >/dev/null && fail "ranks are left after Ctrl-C"

finish
