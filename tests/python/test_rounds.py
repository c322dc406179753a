"""Rounds: bits on all ranks, errors, state."""

import math
import pickle

import cohom
import numpy
import pytest

from lockstep import reduce_together

CODECS = {"raw": 1e-12, "exact": 1e-12, "sparse": 1e-12, "sketch": 1e-12, "thc": 0.05,
          "thc:levels=full": 0.01, "packed": 0.2, "packed:bits=8": 0.01, "signcount": 1,
          "sparse+thc": 0.05, "topk": 1, "topk:0.5,select=threshold": 0.2,
          "lowrank": 1, "lowrank:rank=32,columns=32": 1e-12}
POOR = {"bit_or": False, "small_max": False, "unsigned": False}


def vectors(ranks, count, dtype="float32", seed=1):
    """Return a random vector a rank."""
    draws = numpy.random.default_rng(seed)
    return [draws.standard_normal(count).astype(dtype) for _ in range(ranks)]


def rounds_of(codec, ranks, count, dtype="float32", **options):
    """Return a Rounds a rank."""
    return [cohom.Rounds(codec, count, dtype, rank, ranks, **options) for rank in range(ranks)]


def error_of(result, inputs):
    """Return the energy of the error over that of all inputs."""
    wanted = numpy.sum(numpy.array(inputs, "float64"), axis=0)
    energy = sum(float(numpy.sum(numpy.square(each, dtype="float64"))) for each in inputs)
    return float(numpy.sum((result - wanted) ** 2)) / energy


@pytest.mark.parametrize("options", [{}, {"all_to_all": True}, POOR], ids=["reduce", "owners",
                                                                          "poor"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("codec", CODECS)
def test_all_ranks_have_the_sum(codec, ranks, options):
    inputs = vectors(ranks, 3001)
    outputs = [numpy.empty_like(each) for each in inputs]
    kinds = reduce_together(rounds_of(codec, ranks, 3001, **options), inputs, outputs)
    assert (kinds == []) == (ranks == 1)
    for output in outputs:
        assert output.tobytes() == outputs[0].tobytes()
    assert error_of(outputs[0].astype("float64"), inputs) <= CODECS[codec] + 1e-10


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_types_and_means(dtype, op):
    inputs = vectors(4, 500, dtype)
    exact = [math.fsum(column) for column in zip(*(each.tolist() for each in inputs))]
    wanted = numpy.array(exact) / (4 if op == "mean" else 1)
    reduce_together(rounds_of("exact", 4, 500, dtype, op=op), inputs)
    assert inputs[0].tobytes() == wanted.astype(dtype).tobytes()


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 1000])
def test_counts(count):
    inputs = vectors(3, count)
    wanted = numpy.sum(numpy.array(inputs, "float64"), axis=0).astype("float32")
    reduce_together(rounds_of("exact", 3, count), inputs)
    assert inputs[2].tobytes() == wanted.tobytes()


def test_ways_have_the_same_bits():
    results = set()
    for options in ({}, {"all_to_all": True}, POOR, {"all_to_all": True, **POOR}):
        inputs = vectors(4, 20_000)
        reduce_together(rounds_of("thc", 4, 20_000, **options), inputs)
        results.add(inputs[0].tobytes())
    assert len(results) == 1


def test_owners_are_all_to_all_and_all_gather():
    kinds = reduce_together(rounds_of("thc", 3, 20_000, all_to_all=True), vectors(3, 20_000))
    assert {"all_reduce", "all_to_all", "all_gather"} == set(kinds)


def test_numbers_that_are_not_finite_stay_so():
    inputs = vectors(2, 1000)
    inputs[0][500] = numpy.inf
    inputs[1][501] = numpy.nan
    reduce_together(rounds_of("thc", 2, 1000), inputs)
    assert numpy.isinf(inputs[1][500]) and numpy.isnan(inputs[0][501])


def test_error_feedback_is_saved_and_put_back():
    codec = "thc:error_feedback=on"
    first = rounds_of(codec, 2, 5000)
    reduce_together(first, vectors(2, 5000))
    saved = pickle.loads(pickle.dumps([each.state for each in first]))
    assert len(saved[0]) == 4 * 5000
    goes_on, again = vectors(2, 5000, seed=2), vectors(2, 5000, seed=2)
    reduce_together(first, goes_on)
    second = rounds_of(codec, 2, 5000)
    for rounds, state in zip(second, saved):
        rounds.state = state
    reduce_together(second, again, step=1)
    assert goes_on[0].tobytes() == again[0].tobytes()
    with pytest.raises(ValueError, match="state has 3 bytes; it should have 20000"):
        second[0].state = b"abc"


def test_other_steps_have_other_draws():
    results = []
    for step in (0, 1, 0):
        inputs = vectors(2, 5000)
        reduce_together(rounds_of("thc", 2, 5000), inputs, step=step)
        results.append(inputs[0].tobytes())
    assert results[0] == results[2] != results[1]


@pytest.mark.parametrize("arguments, error, text", [
    (("thx", 10, "float32", 0, 2), cohom.Error, "did you mean thc"),
    (("thc:bits=40", 10, "float32", 0, 2), cohom.Error, "bits"),
    (("thc", 10, "float32", 2, 2), cohom.Error, "rank is 2; it should be 0 to 1"),
    (("thc", 10, "float32", 0, 0), cohom.Error, "ranks is 0"),
    (("thc", 10, "int32", 0, 2), TypeError, "dtype is 'int32'; it should be one of float32"),
    (("thc", -1, "float32", 0, 2), ValueError, "count is -1"),
])
def test_wrong_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        cohom.Rounds(*arguments)


def test_a_wrong_operation():
    with pytest.raises(ValueError, match="op is 'max'; it should be 'sum' or 'mean'"):
        cohom.Rounds("thc", 10, "float32", 0, 2, op="max")


@pytest.mark.parametrize("changed, name", [
    ({"codec": "thc:bits=3"}, "codec"), ({"count": 99}, "count"), ({"op": "mean"}, "op"),
    ({"ranks": 3}, "ranks"), ({"all_to_all": True}, "all_to_all")])
def test_ranks_that_disagree(changed, name):
    arguments = {"codec": "thc", "count": 100, "dtype": "float32", "ranks": 2}
    ranks = [cohom.Rounds(rank=0, **arguments), cohom.Rounds(rank=1, **{**arguments, **changed})]
    arrays = [numpy.zeros(each.count, "float32") for each in ranks]
    steps = [each.steps(array) for each, array in zip(ranks, arrays)]
    first = [next(each) for each in steps]
    words = [numpy.frombuffer(each.words, each.dtype) for each in first]
    for each in words:
        each[:] = numpy.maximum(*words)
    for each in steps:
        with pytest.raises(cohom.Error, match=f"ranks disagree about {name}") as raised:
            next(each)
        assert raised.value.kind == "mismatch"


# Of one rank; the other one is to learn of it, and not to wait.
@pytest.mark.parametrize("wrong, error, text", [
    (numpy.zeros(99, "float32"), ValueError, "array has 99 elements of float32; it should have 1"),
    (numpy.zeros(100, "float64"), ValueError, "array has 100 elements of float64"),
    (None, TypeError, "array")])
def test_a_wrong_array_is_an_error_on_all_ranks(wrong, error, text):
    ranks = rounds_of("thc", 2, 100)
    right = numpy.ones(100, "float32")
    steps = [ranks[0].steps(right), ranks[1].steps(wrong)]
    words = [numpy.frombuffer(step.words, step.dtype) for step in map(next, steps)]
    for each in words:
        each[:] = numpy.maximum(*words)
    with pytest.raises(cohom.Error, match="another rank.s arguments are wrong"):
        next(steps[0])
    with pytest.raises(error, match=text):
        next(steps[1])
    inputs = [right.copy(), right.copy()]
    reduce_together(ranks, inputs)  # they go on
    assert numpy.allclose(inputs[0], 2, atol=0.5)


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(cohom.Error("mismatch", "ranks disagree")))
    assert (error.kind, str(error)) == ("mismatch", "ranks disagree")


def test_version_and_codecs():
    assert cohom.__version__.count(".") == 2
    assert {"raw", "thc", "packed", "exact"} <= set(cohom.codecs())


@pytest.mark.parametrize("options", [{}, {"all_to_all": True}, POOR], ids=["reduce", "owners",
                                                                          "poor"])
@pytest.mark.parametrize("codec", ["raw", "exact", "thc", "packed", "signcount", "sparse"])
def test_parts_of_a_sum(codec, options):
    inputs = vectors(3, 3 * 1001)
    whole = [each.copy() for each in inputs]
    reduce_together(rounds_of(codec, 3, 3 * 1001, **options), whole)
    parts = [numpy.empty(1001, "float32") for _ in range(3)]
    reduce_together(rounds_of(codec, 3, 1001, collective="reduce_scatter", **options), inputs,
                    parts)
    joined = numpy.concatenate(parts).astype("float64")
    assert error_of(joined, inputs) <= CODECS[codec] + 1e-10
    if codec == "exact":
        assert joined.tobytes() == whole[0].astype("float64").tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("codec", ["thc", "signcount", "sketch"])
def test_numbers_that_are_not_finite_take_little_more_than_uncompressed_ones(codec, dtype):
    inputs = vectors(2, 1 << 16, dtype)
    for each in inputs:
        each[::100] = math.nan  # some in each block
    sent = {}

    def counted(steps):
        for step in steps:
            words = step.words if step.kind == "all_reduce" else step.send
            sent[step.name] = sent.get(step.name, 0) + len(words)
            yield step

    ranks = rounds_of(codec, 2, 1 << 16, dtype, **POOR)
    first = ranks[0].steps
    ranks[0].steps = lambda *arguments: counted(first(*arguments))
    reduce_together(ranks, inputs)
    assert numpy.isnan(inputs[0]).sum() == len(inputs[0][::100])
    assert inputs[0].tobytes() == inputs[1].tobytes()
    assert 0 < sent["escape"] <= 1.6 * inputs[0].nbytes


@pytest.mark.parametrize("codec", ["raw", "exact", "thc", "packed", "signcount", "sparse+thc"])
def test_parts_of_all_ranks(codec):
    inputs = vectors(4, 1001)
    outputs = [numpy.empty(4 * 1001, "float32") for _ in inputs]
    kinds = reduce_together(rounds_of(codec, 4, 1001, collective="allgather"), inputs, outputs)
    assert kinds == ["all_reduce", "all_gather", "all_gather"]
    alone = [each.copy() for each in inputs]
    for vector in alone:
        reduce_together(rounds_of(codec, 1, 1001), [vector])
    for output in outputs:
        assert output.tobytes() == numpy.concatenate(alone).tobytes()


def test_parts_have_the_right_lengths():
    rounds = cohom.Rounds("raw", 10, "float32", 0, 1, collective="reduce_scatter")
    with pytest.raises(ValueError, match="out is None; a reduce_scatter should have an array"):
        next(rounds.steps(numpy.ones(20, "float32")))
    rounds = cohom.Rounds("raw", 10, "float32", 0, 2, collective="reduce_scatter")
    with pytest.raises(ValueError, match="array has 10 elements of float32; it should have 20"):
        rounds.buffers(numpy.ones(10, "float32"), numpy.ones(10, "float32"))
    with pytest.raises(ValueError, match="collective is 'scatter'; it should be one of allreduce"):
        cohom.Rounds("raw", 10, "float32", 0, 2, collective="scatter")
    with pytest.raises(cohom.Error, match="take a codec without error feedback"):
        cohom.Rounds("thc:error_feedback=on", 10, "float32", 0, 2, collective="allgather")
    with pytest.raises(cohom.Error, match="op is mean, and an allgather adds nothing"):
        cohom.Rounds("thc", 10, "float32", 0, 2, collective="allgather", op="mean")
